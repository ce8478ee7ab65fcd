"""Audit other people's units: check each with ``hwgen compare``, and write a page with verdicts, areas and delays.

::

    python -m examples.audit units.toml -o build/audit

The units are files that you have fetched; none is part of this project. ``units.toml`` says where they are and what
they should be::

    [[unit]]
    name = "their MAC"
    version = "commit 1a2b3c4"
    folder = "../peers/theirs"                # relative to this file; paths in the command are relative to the folder
    command = "mac --format ocp_e4m3 --verilog rtl/mac.sv --top mac --ports a=op_a_i,b=op_b_i,acc_in=c_i,acc_out=d_o"

A unit fails if it differs, cannot be read, or was not measured; then the exit status is 1.
"""

import argparse
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple


class Unit(NamedTuple):
    """A unit, and the output of its comparison."""

    name: str
    version: str
    command: str
    status: int
    output: str

    @property
    def verdict(self) -> str:
        """The line of the output that has the verdict, or else the reason why there is none."""
        lines = self.output.splitlines() or ["no output"]
        return next((line for line in lines if "the reference model" in line or line.startswith("hwgen: ")), lines[0])

    @property
    def figures(self) -> list[str]:
        """The table of areas and delays."""
        lines = self.output.splitlines()
        starts = [place for place, line in enumerate(lines) if line.startswith("figure ")]
        return lines[starts[0] :] if starts else []


def audited(table: dict[str, str], folder: Path, evidence: Path) -> Unit:
    """Compare a unit with the reference model and with our module."""
    words = [sys.executable, "-m", "hwgen", "compare", *shlex.split(table["command"]), "-o", str(evidence)]
    process = subprocess.run(words, cwd=folder / table["folder"], capture_output=True, check=False)
    output = (process.stdout + process.stderr).decode(errors="replace")
    return Unit(table["name"], table["version"], table["command"], process.returncode, output)


def page(units: list[Unit]) -> str:
    """The page, in Markdown."""
    lines = ["# Audit", "", "| unit | version | verdict |", "|---|---|---|"]
    lines += [f"| {unit.name} | {unit.version} | {unit.verdict} |" for unit in units]
    for unit in units:
        lines += ["", f"## {unit.name}, {unit.version}", "", "```", f"$ hwgen compare {unit.command}"]
        lines += [*(unit.figures or unit.output.splitlines()), "```"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Audit all units of a file."""
    parser = argparse.ArgumentParser(prog="python -m examples.audit", description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="TOML file of the units")
    parser.add_argument("-o", dest="output", type=Path, default=Path("build/audit"), help="folder to write to")
    arguments = parser.parse_args()
    tables = tomllib.loads(arguments.file.read_text(encoding="utf-8"))["unit"]
    output = arguments.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    units = [audited(table, arguments.file.resolve().parent, output / "evidence") for table in tables]
    (output / "audit.md").write_text(page(units), encoding="utf-8")
    print(output / "audit.md")
    return int(any(unit.status for unit in units))


if __name__ == "__main__":
    sys.exit(main())
