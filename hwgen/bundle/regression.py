"""The bundle's folder ``tb/cocotb``: a test module, a Makefile in cocotb's way, and a file for pytest."""

from importlib.resources import files as resources

from golden import Format
from golden.multi import MultiFormat
from golden.tables import format_text
from hwgen.blocks.block import Design


def cocotb_files(design: Design) -> dict[str, str]:
    """Return the texts of ``tb/cocotb`` by path in the bundle.

    Formats of users' files are written, too: the tests need them to call the reference model.
    """
    name = design.name
    texts = {
        f"{name}_cocotb.py": _text("bench.py"),
        f"test_{name}.py": _text("runner.py"),
        "Makefile": _text("Makefile").replace("NAME", name),
    }
    return {f"tb/cocotb/{file}": text for file, text in {**texts, **format_files(design)}.items()}


def format_files(design: Design) -> dict[str, str]:
    """Return texts that describe the formats of users' files, by the names of the files."""
    return {fmt.source_name: format_text(fmt) for fmt in _members(design) if fmt.source_name}


def _text(file: str) -> str:
    return resources("hwgen.bundle.cocotb").joinpath(file).read_text(encoding="utf-8")


def _members(design: Design) -> list[Format]:
    return [member for fmt in design.formats for member in (fmt.members if isinstance(fmt, MultiFormat) else (fmt,))]
