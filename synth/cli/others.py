"""Other people's modules, to be measured as ours are: their files become one module of plain Verilog with our ports."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from golden.refusal import BadValue
from hwgen.blocks.block import Design
from hwgen.netlist.emit import check_name
from hwgen.sources import Sources, sources
from hwgen.tools import yosys
from hwgen.tools.yosys import YosysError
from hwgen.wrapper import WRAPPER, wrap
from synth.area.jobs import Job

UNPROVED = "nothing was proved of this module; hwgen verify compares it with the reference model"

_FLATTEN = """\
read_slang --threads 1 --ignore-timing --ignore-assertions --allow-use-before-declare --no-synthesis-define {standard}\
--relax-enum-conversions --top {top} module.sv
hierarchy -top {top}
proc
flatten
opt_clean
rename {top} {name}
write_verilog -noattr plain.v
"""


class Subject(NamedTuple):
    """A module to be measured."""

    design: Design
    """The block; its name is that of the module."""
    text: str | None
    """Plain Verilog; None for the generated module."""
    words: tuple[str, ...]
    """The options that name the files, for the command that repeats the measurement."""

    def jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs, whose commands name the files as well."""
        return [replace(job, command=" ".join([job.command, *self.words])) for job in jobs]


def subject(design: Design, arguments: argparse.Namespace) -> Subject:
    """The user's module of ``--verilog``, or the generated one; the former is said to be unproved."""
    user = sources(arguments)
    if user is None:
        return Subject(design, None, ())
    top = design.name if arguments.top is None else check_name(arguments.top, "--top")
    try:
        design, text = _plain(design, arguments, user, top)
    except YosysError as error:
        if error.killed:
            raise
        reason = user.named(yosys.reason(error.log)).replace(WRAPPER.format(top), top)
        reason += "; name your module with --top" if arguments.top is None and "not found" in reason else ""
        raise BadValue("--verilog", f"{top} cannot be read: {reason}", ": ") from error
    print(f"{top}: {UNPROVED}", file=sys.stderr if getattr(arguments, "json", False) else sys.stdout)
    words = [user.words, *([] if arguments.top else [f"--top {shlex.quote(top)}"])]
    return Subject(design, text, tuple(words))


def _plain(design: Design, arguments: argparse.Namespace, user: Sources, top: str) -> tuple[Design, str]:
    """The block with their module's name, and the module, flattened, with our ports and their own name."""
    is_system_verilog = user.main.suffix == ".sv"
    wrapper = wrap(design, arguments, user.text, top, is_system_verilog)
    text, outer = user.text, top
    if wrapper is not None:
        design, text, outer = wrapper.design, text + wrapper.text, wrapper.top
    standard = "" if is_system_verilog else "--std 1364-2005 "
    script = _FLATTEN.format(top=outer, name=top, standard=standard)
    if outer == top:
        script = script.replace(f"rename {top} {top}\n", "")
    plain = yosys.run(script, {"module.sv": text}, ["plain.v"])["plain.v"]
    design = replace(design, given_name=top)
    _check_ports(design, plain, top)
    return design, plain


def _check_ports(design: Design, text: str, top: str) -> None:
    """Refuse a module that lacks one of our ports, or has it in another width."""
    script = f"read_verilog module.v\nhierarchy -top {top}\nwrite_json ports.json\n"
    module = json.loads(yosys.run(script, {"module.v": text}, ["ports.json"])["ports.json"])["modules"][top]
    theirs: dict[str, Any] = module["ports"]
    for port in design.ports:
        width = len(theirs[port.name]["bits"]) if port.name in theirs else None
        if width != port.width:
            problem = f"must give {top} the {port.direction} {port.name} of {port.width} bits"
            raise BadValue("--ports", f"{problem}, which has {'none' if width is None else f'one of {width}'}")
