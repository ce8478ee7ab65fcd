"""A module with our ports around a user's module with others: it renames, inverts, joins and ties them.

All tools read it behind the user's files, so that what they check is the user's module as it is used here.
"""

import difflib
import json
import re
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from golden.refusal import BadValue
from hwgen.blocks.block import RESETS, Design
from hwgen.netlist.emit import CLOCK, Port
from hwgen.tools import yosys

WRAPPER = "hwgen_ports_of_{}"
"""Name of the wrapper of a module."""

INSTANCE = "dut"
INSIDE = f"{INSTANCE}."
"""How the names of the user's nets begin in the wrapper."""

VALID = "in_valid", "out_valid"
READY = {"in_ready": "output", "out_ready": "input"}
"""The further ports of a pipeline with ``--handshake``: ``in_ready`` is an output, as ``out_valid`` is."""

_LOOK = """\
{functions}
read_slang --threads 1 --ignore-timing --ignore-assertions --allow-use-before-declare --no-synthesis-define {standard}\
--relax-enum-conversions -f parameters.f --top {top} module.sv
hierarchy -top {top}
proc
flatten
write_json ports.json
"""
"""Values of parameters are in a file of slang's options, for the script cannot have spaces or semicolons in a word."""

ASYNCHRONOUS = "ARST", "ALOAD"
"""Pins of registers whose level acts without the clock."""

_ITEM = re.compile(r"(\w+)=(~?[A-Za-z_]\w*|\{[^{}]*\})")
_TIE = re.compile(r"([A-Za-z_]\w*)=((?:\d+'[bodhBODH][0-9a-fA-F_]+)|\d+)")
_BASES = {"": 10, "b": 2, "o": 8, "d": 10, "h": 16}


@dataclass(frozen=True)
class Wrapped:
    """A user's module with our ports."""

    text: str
    """The wrapper; the user's files come before it."""
    top: str
    """Its name."""
    design: Design
    """The block that the module should be; an asynchronous reset is not among its ports."""
    is_released: bool
    """Whether it ties an asynchronous reset."""
    notes: tuple[str, ...]
    """What the wrapper leaves out or assumes: phrases for the answer."""


def wrap(
    design: Design,
    arguments: Namespace,
    text: str,
    top: str,
    system_verilog: bool,
    functions: str = "",
    files: Mapping[str, str] | None = None,
) -> Wrapped | None:
    """The wrapper that ``--ports``, ``--tie``, ``--parameter``, ``--handshake`` and ``--nan`` describe, if any is set.

    ``functions`` are commands that read cell libraries, which are ``files``. Ports that are missing or do not fit are
    refused, and the ones of theirs that might be meant are named.
    """
    has_nan = getattr(arguments, "nan", None) is not None
    if not (arguments.ports or arguments.tie or arguments.parameter or arguments.handshake or has_nan):
        return None
    nan = _nan(design) if has_nan else ""
    parameters = _once("--parameter", map(_parameter, arguments.parameter))
    links = _once("--ports", _links(arguments.ports))
    ties = _once("--tie", _ties(arguments.tie))
    script = _LOOK.format(
        functions=functions,
        top=top,
        standard="" if system_verilog else "--std 1364-2005 ",
    )
    chosen = "".join("-G " + re.sub(r"(\W)", r"\\\1", f"{name}={value}") + "\n" for name, value in parameters.items())
    inputs = {"module.sv": text, "parameters.f": chosen, **(files or {})}
    module = json.loads(yosys.run(script, inputs, ["ports.json"])["ports.json"])
    return _Wrapper(design, top, module["modules"][top], links, ties, parameters, arguments.handshake, nan).wrapped()


def _nan(design: Design) -> str:
    """What ``acc_out`` is for a net ``sum``: for any NaN that of the reference model, which all tools then compare."""
    state = None if design.exact is not None else design.core.sums.state
    if state is None or state.infinity is None:
        accumulator = design.core.sums.target or design.core.accumulator
        raise BadValue("--nan", f"'any' needs an accumulator with IEEE 754's NaNs, not {accumulator!r}")
    top, k = state.width - 2, state.fraction_bits
    return f"&sum[{top}:{k}] && |sum[{k - 1}:0] ? {state.width}'h{state.canonical_nan:x} : sum"


def _parameter(word: str) -> tuple[str, str]:
    match = re.fullmatch(r"([A-Za-z_]\w*)=(-?\d+|\d+'s?[bodhBODH][0-9a-fA-F_]+|\"[^\"\\\n]*\")", word)
    if match is None:
        raise BadValue("--parameter", f"must be NAME=VALUE with a number or a string, which {word!r} is not")
    if not match[2].startswith('"'):
        _check_fit("--parameter", word, match[2])
    return match[1], match[2]


def _check_fit(option: str, word: str, constant: str) -> None:
    """Refuse a number with digits of another base, or with more bits than it says; tools would cut it."""
    ((size, base, digits),) = re.findall(r"\A(?:(\d+)'s?(\w))?(.+)\Z", constant)
    try:
        bits = max(1, int(digits.replace("_", ""), _BASES[base.lower()]).bit_length())
        is_fit = not size or bits <= int(size)
    except ValueError:
        is_fit = False
    if not is_fit:
        raise BadValue(option, f"must have a number that fits its own size and base, not {word}")


def _once(option: str, items: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The values by name; a name that comes twice is refused."""
    values: dict[str, str] = {}
    for name, value in items:
        if name in values:
            raise BadValue(option, f"must name {name} once")
        values[name] = value
    return values


def _links(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        for item in re.findall(r"(?:\{[^{}]*\}|[^,{}])+", word):
            match = _ITEM.fullmatch(item.strip())
            if match is None:
                problem = f"must be OURS=THEIRS, OURS=~THEIRS or OURS={{THEIRS,...}}, which {item!r} is not"
                raise BadValue("--ports", problem)
            yield match[1], match[2] if "," in match[2] else match[2].strip("{} ")


def _ties(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for item in (item for word in words for item in word.split(",")):
        match = _TIE.fullmatch(item.strip())
        if match is None:
            raise BadValue("--tie", f"must be PORT=CONSTANT, e.g. mode=2'b01, which {item!r} is not")
        _check_fit("--tie", item.strip(), match[2])
        yield match[1], match[2]


class _Wrapper:
    def __init__(
        self,
        design: Design,
        top: str,
        module: Mapping[str, Any],
        links: Mapping[str, str],
        ties: Mapping[str, str],
        parameters: Mapping[str, str],
        handshake: bool,
        nan: str,
    ):
        self.design, self.top, self.links, self.ties, self.parameters = design, top, dict(links), dict(ties), parameters
        self.module, self.handshake, self.nan = module, handshake, nan
        self.notes = ["any NaN is right where the model has one"] if nan else []
        ports = module["ports"].items()
        self.theirs = {name: Port(name, str(port["direction"]), len(port["bits"])) for name, port in ports}
        self.used: set[str] = set()

    def wrapped(self) -> Wrapped:
        """See :func:`wrap`."""
        pipeline, name = self.design.pipeline, WRAPPER.format(self.top)
        if self.handshake and (not pipeline.stages or pipeline.clock_enable):
            raise BadValue("--handshake", "needs --stages without --clock-enable")
        released = self._released()
        if released and pipeline.stages:
            self.ties[released[0]] = released[1]
            self.links.pop("rst", None)
            pipeline = replace(pipeline, reset=RESETS[1])
            note = f"the asynchronous reset {released[0]} is {released[1]}, released before the first input"
            self.notes.append(note)
        design = replace(self.design, pipeline=pipeline)
        ours = {port.name: port for port in design.ports}
        extra = {way: Port(way, direction, 1) for way, direction in READY.items()} if self.handshake else {}
        for other in self.links.keys() - {*ours, *extra}:
            raise BadValue("--ports", f"must name ports of ours, {', '.join([*ours, *extra])}; {other!r} is none")
        lines = [f"module {name} ({', '.join(ours)});"]
        lines += [f"  {port.direction} {port.range}{port.name};" for port in ours.values()]
        is_counted = bool(pipeline.stages) and not any(port in self.links or port in self.theirs for port in VALID)
        body: list[str] = []
        for port in [*ours.values(), *extra.values()]:
            if is_counted and port.name in VALID:
                continue
            if is_counted and port.name == "rst" and "rst" not in self.links and "rst" not in self.theirs:
                continue  # it only clears the wrapper's valid bits
            body += self._linked(port, design)
        body += self._tied()
        body += self._delays(design, is_counted)
        others = [port.name for port in self.theirs.values() if port.name not in self.used]
        if unused := [port for port in others if self.theirs[port].direction == "input"]:
            listed = ", ".join(map(self._shown, unused))
            raise BadValue(
                "--ports", f"or --tie must name the input{'s' if len(unused) > 1 else ''} {listed} of {self.top}"
            )
        if others:
            self.notes.append(f"not compared: {', '.join(map(self._shown, others))}")
        wires = [f"  wire {port.range}{_net(port.name)};" for port in self.theirs.values() if port.name in self.used]
        pins = ", ".join(f".{_word(port)}({_net(port)})" for port in self.theirs if port in self.used)
        chosen = ", ".join(f".{parameter}({value})" for parameter, value in self.parameters.items())
        instance = f"  {self.top} {f'#({chosen}) ' if chosen else ''}{INSTANCE} ({pins});"
        text = "\n".join([*lines, *wires, *body, instance, "endmodule", ""])
        return Wrapped(text, name, design, pipeline != self.design.pipeline, tuple(self.notes))

    def _shown(self, name: str) -> str:
        return f"{name}[{self.theirs[name].width}]"

    def _released(self) -> tuple[str, str] | None:
        """The asynchronous reset that ``rst`` drives, and its inactive level."""
        link = self.links.get("rst", "rst" if "rst" in self.theirs else "")
        port = link.lstrip("~")
        if port not in self.theirs or self.theirs[port].width != 1:
            return None
        (bit,) = self.module["ports"][port]["bits"]
        cells = list(self.module["cells"].values())
        nets = {bit} | {
            cell["connections"]["Y"][0]
            for cell in cells
            if cell["type"] in ("$not", "$logic_not") and cell["connections"]["A"] == [bit]
        }
        is_asynchronous = any(cell["connections"].get(pin, [None])[0] in nets for cell in cells for pin in ASYNCHRONOUS)
        return (port, "1'b1" if link.startswith("~") else "1'b0") if is_asynchronous else None

    def _linked(self, port: Port, design: Design) -> list[str]:
        """The assignment between a port of ours and what stands for it."""
        link = self.links.get(port.name, port.name)
        names = [name.strip() for name in link.strip("{}").split(",")] if link.startswith("{") else [link.lstrip("~")]
        is_input = port.direction == "input"
        for name in names:
            theirs = self.theirs.get(name)
            if theirs is None or theirs.direction != port.direction:
                given = f"{self.top} has no {port.direction} {name}" if port.name in self.links else "it is missing"
                raise BadValue(
                    "--ports",
                    f"must say which {port.direction} of {self.top} is {self._ours(port)}; {given}"
                    f"{self._suggested(port)}",
                )
            if name in self.used or name in self.ties:
                raise BadValue("--ports", f"and --tie must name {name} once")
            self.used.add(name)
        width = sum(self.theirs[name].width for name in names)
        if width != port.width:
            listed = ", ".join(map(self._shown, names))
            raise BadValue(
                "--ports", f"must link {self._ours(port)} to as many bits, not to {listed}{self._suggested(port)}"
            )
        nets = ", ".join(map(_net, names))
        side, tilde = (f"{{{nets}}}" if len(names) > 1 else nets), "~" if link.startswith("~") else ""
        if port.name == "in_ready":
            return []
        if port.name == "out_ready":
            return [f"  assign {side} = 1'b{0 if tilde else 1};"]
        if port.name == "out_valid" and self.handshake:
            return [f"  assign out_valid = {tilde}{side} & ~refused[{design.stages - 1}];"]
        if port.name == "acc_out" and self.nan:
            return [f"  wire {port.range}sum;", f"  assign sum = {tilde}{side};", f"  assign acc_out = {self.nan};"]
        return [f"  assign {side} = {tilde}{port.name};" if is_input else f"  assign {port.name} = {tilde}{side};"]

    def _ours(self, port: Port) -> str:
        return f"{port.name}[{port.width}]"

    def _suggested(self, port: Port) -> str:
        """The ports of theirs that might be meant: those of the same width, the most similar names first."""
        linked = {name for link in self.links.values() for name in re.findall(r"\w+", link)} - {port.name}
        free = [name for name, theirs in self.theirs.items() if theirs.direction == port.direction]
        free = [
            name for name in free if self.theirs[name].width == port.width and name not in linked | self.ties.keys()
        ]
        free.sort(key=lambda name: -difflib.SequenceMatcher(None, name.lower(), port.name).ratio())
        return (
            f"; try --ports {port.name}={free[0]}" + (f", or one of {', '.join(free[1:4])}" if free[1:] else "")
            if free
            else ""
        )

    def _tied(self) -> Iterator[str]:
        for name, constant in self.ties.items():
            port = self.theirs.get(name)
            if port is None or port.direction != "input" or name in self.used:
                inputs = ", ".join(other.name for other in self.theirs.values() if other.direction == "input")
                raise BadValue(
                    "--tie", f"must name inputs of {self.top}, {inputs}, that are not in --ports; {name!r} is none"
                )
            sized = re.match(r"(\d+)'", constant)
            if int(sized[1]) != port.width if sized else int(constant) >> port.width:
                raise BadValue("--tie", f"must give {self._shown(name)} as many bits, not {constant}")
            self.used.add(name)
            yield f"  assign {_net(name)} = {constant if sized else f'{port.width}{chr(39)}d{constant}'};"

    def _delays(self, design: Design, is_counted: bool) -> Iterator[str]:
        """Registers of the wrapper's own: valid bits that the module does not have, and inputs that it did not take."""
        stages = design.stages
        enable = "if (enable) " if design.pipeline.clock_enable else ""
        if self.handshake:
            link = self.links.get("in_ready", "in_ready")
            ready = f"{'' if link.startswith('~') else '~'}{_net(link.lstrip('~'))}"
            self.notes.append("the receiver is always ready: what the module does while it waits is not checked")
            yield f"  reg [{stages - 1}:0] refused;"
            yield f"  always @(posedge {CLOCK}) refused <= {_shifted('refused', stages, f'in_valid & {ready}')};"
        if is_counted:
            reset = "rst" if any(port.name == "rst" for port in design.ports) else "1'b0"
            self.notes.append(f"{self.top} has no valid bits: results are taken {stages} cycles after their inputs")
            yield f"  reg [{stages - 1}:0] valid;"
            yield f"  always @(posedge {CLOCK})"
            yield f"    if ({reset}) valid <= {stages}'d0;"
            yield f"    else {enable}valid <= {_shifted('valid', stages, 'in_valid')};"
            taken = f" & ~refused[{stages - 1}]" if self.handshake else ""
            yield f"  assign out_valid = valid[{stages - 1}]{taken};"


def _shifted(register: str, width: int, bit: str) -> str:
    return f"{{{register}[{width - 2}:0], {bit}}}" if width > 1 else bit


def _net(port: str) -> str:
    return _word(f"their_{port}")


def _word(name: str) -> str:
    """A name in Verilog, escaped if it has other letters than plain names."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else f"\\{name} "
