"""A block ready to be emitted: its name, its header, the options that make it."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.lib import wiring

from golden import WIDE, ExactAccumulator, Format, get
from golden.mac import exact
from golden.multi import MultiFormat
from hwgen.netlist.emit import check_name, emit


@dataclass(frozen=True)
class Design:
    """A block ready to be emitted.

    Attributes
    ----------
    kind : str
        ``decoder``, ``encoder``, ``mac``, ``dot``, ``pe``, ``readout``, ``multiplier`` or ``adder``.
    name : str
        Of the Verilog module.
    make : callable
        Makes the component, a fresh one at each call.
    options : dict
        What makes the block, by the names of the command line's options; strings and integers.
    header : tuple of str
        Lines of the comment on top of the Verilog.
    formats : tuple of Format
        Of the codes: one, or those of both operands of a multiplier.
    """

    kind: str
    name: str
    make: Callable[[], wiring.Component]
    options: dict[str, Any]
    header: tuple[str, ...]
    formats: tuple[Format, ...]

    @property
    def stages(self) -> int:
        """Ranks of registers; 0 where the block is combinational, but for the accumulator of a ``pe``."""
        found: int = self.options.get("stages", 0)
        return found

    @property
    def latency(self) -> int:
        """Clock cycles from inputs to outputs."""
        return self.stages + (self.kind == "pe")

    @property
    def codes(self) -> dict[str, Format]:
        """The inputs that are codes, as golden has them, and their formats; the codes of several lanes are one word, lane 0 lowest."""
        names = {"decoder": ("code",)} | dict.fromkeys(("mac", "multiplier", "dot", "pe"), ("a", "b"))
        return dict(zip(names.get(self.kind, ()), self.formats, strict=False))

    @property
    def scale_bits(self) -> int:
        """Bits of the port ``scale``; 0 where there is none."""
        found: int = self.options.get("scale-bits", 0)
        return found

    @property
    def accumulator(self) -> ExactAccumulator:
        """The ``exact`` accumulator of a block that has one."""
        return exact(*self.formats[:2], self.options["terms"], self.scale_bits)

    @property
    def has_flags(self) -> bool:
        """Whether there is a port ``flags``."""
        return "flags" in self.options

    @property
    def lanes(self) -> int:
        """Products of a step."""
        found: int = self.options.get("lanes", 1)
        return found

    def verilog(self) -> str:
        """Text of the module."""
        return emit(self.make(), self.name, self.header)

    def command(self) -> str:
        """The options as they stand on a command line, e.g. ``mac --format hif8 --accumulator binary16``."""
        files = {fmt.name: fmt.source_name for fmt in self.formats if fmt.source_name}  # the command line knows such formats by these
        spelled = {
            key: files.get(value, value) if key.startswith("format") or key == "to" else value for key, value in self.options.items()
        }
        words = [f"--{key}" if value is True else f"--{key} {shlex.quote(str(value))}" for key, value in spelled.items()]
        return " ".join([self.kind, *words])


def block_format(name: str) -> Format:
    """The format of a name or a TOML file's path, if blocks are made for it.

    Raises
    ------
    ValueError
        With one sentence.
    """
    fmt = get(name)
    if fmt.name in WIDE:
        raise ValueError(f"{name!r} is a source, decoder target or accumulator, not one of the formats that blocks are made for")
    return fmt


def check_names(*formats: Format) -> None:
    """Raise ValueError if two different formats have one name: a command line, a header and a module's name would not tell them apart."""
    for place, fmt in enumerate(formats):
        if any(fmt.name == other.name and fmt != other for other in formats[:place]):
            raise ValueError(f"format {fmt.name!r} stands for two different formats here; give one of them another name")


def label(fmt: Format) -> str:
    """A format as headers name it."""
    if isinstance(fmt, MultiFormat):
        return f"{' or '.join(map(label, fmt.members))}, as the select pin says (0: {fmt.members[0].name}, 1: {fmt.members[1].name})"
    return f"{fmt.name} (file with SHA-256 {fmt.source_sha256})" if fmt.source_sha256 else f"{fmt.name} ({fmt.cite})"


def finished(
    kind: str,
    name: str | None,
    default: str,
    make: Callable[[], wiring.Component],
    options: dict[str, Any],
    lines: list[str],
    formats: tuple[Format, ...],
) -> Design:
    """A design whose header ends with its options.

    Raises
    ------
    ValueError
        If the name is none that Verilog takes.
    """
    chosen = check_name(default if name is None else name)
    said = ", ".join(key if value is True else f"{key} {value}" for key, value in options.items())
    return Design(kind, chosen, make, options, (*lines, f"Options: {said}"), formats)
