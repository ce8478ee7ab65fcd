"""Other people's modules, to be measured as ours are: their files become one module of plain Verilog with our ports."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from golden.refusal import BadValue
from hwgen.blocks.block import Design
from hwgen.netlist.emit import check_name
from hwgen.sources import Sources, sources
from hwgen.tools import yosys
from hwgen.tools.yosys import YosysError
from hwgen.wrapper import WRAPPER, wrap
from synth.area.jobs import Job
from synth.proof.gates import NetlistError

UNPROVED = "nothing was proved of this module; hwgen verify compares it with the reference model"

_FLATTEN = """\
read_slang --threads 1 --ignore-timing --ignore-assertions --allow-use-before-declare --no-synthesis-define {standard}\
--relax-enum-conversions --top {top} module.sv
hierarchy -top {top}
proc
flatten
opt_clean
{renamed}write_verilog -noattr plain.v
write_json ports.json
"""


class Subject(NamedTuple):
    """A module to be measured: the block, whose name is the module's, and for a user's module plain Verilog."""

    design: Design
    text: str | None = None
    words: tuple[str, ...] = ()
    """The options that name the files, for the command that repeats the measurement."""

    def jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs, whose commands name the files as well."""
        return [replace(job, command=" ".join([job.command, *self.words])) for job in jobs]


@contextmanager
def refusing(user: Sources | None, design: Design, arguments: argparse.Namespace) -> Iterator[None]:
    """Turn errors about a user's file, or libraries, into refusals that name the module and the place."""
    top = arguments.top or design.name
    try:
        yield
    except NetlistError as error:
        if user is None:
            raise
        raise BadValue("--verilog", str(error).replace(WRAPPER.format(top), top), ": ") from error
    except YosysError as error:
        if error.killed or not (user or arguments.liberty):
            raise
        option, reason = "--liberty", yosys.reason(error.log)
        if user is not None:
            option, reason = "--verilog", user.named(reason).replace(WRAPPER.format(top), top)
            reason += "; name your module with --top" if arguments.top is None and "not found" in reason else ""
        raise BadValue(option, f"{top} cannot be mapped: {reason}", ": ") from error


def subject(design: Design, arguments: argparse.Namespace, *, is_second: bool = False) -> Subject:
    """The user's module of ``--verilog``, said to be unproved, or the generated one; a second one has another name."""
    arguments = argparse.Namespace(**{**vars(arguments), "nan": None})  # a rule of comparison, without gates
    user = sources(arguments)
    if user is None:
        return Subject(design)
    top = design.name if arguments.top is None else check_name(arguments.top, "--top")
    name = f"{top}_theirs" if is_second and top == design.ours.name else top
    is_system_verilog, text, outer = user.main.suffix == ".sv", user.text, top
    words = [user.words, *([] if arguments.top else [f"--top {shlex.quote(top)}"])]
    with refusing(user, design, arguments):
        wrapper = wrap(design, arguments, text, top, is_system_verilog)
        if wrapper is not None:
            design, text, outer = wrapper.design, text + wrapper.text, wrapper.top
        renamed = f"rename {outer} {name}\n" if outer != name else ""
        standard = "" if is_system_verilog else "--std 1364-2005 "
        script = _FLATTEN.format(top=outer, renamed=renamed, standard=standard)
        made = yosys.run(script, {"module.sv": text}, ["plain.v", "ports.json"])
    theirs = json.loads(made["ports.json"])["modules"][name]["ports"]
    for port in design.ports:
        width = len(theirs[port.name]["bits"]) if port.name in theirs else None
        if width != port.width:
            problem = f"must give {top} the {port.direction} {port.name} of {port.width} bits"
            raise BadValue("--ports", f"{problem}, which has {'none' if width is None else f'one of {width}'}")
    if not is_second:
        print(f"{top}: {UNPROVED}", file=sys.stderr if arguments.json else sys.stdout)
    return Subject(replace(design, given_name=name), made["plain.v"], tuple(words))
