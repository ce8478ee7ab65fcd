"""Equivalence of netlists: ABC merges equal signals of both until the word in which they differ is the constant 0."""

import json
from collections.abc import Iterator

from hwgen.tools import yosys
from hwgen.tools.yosys import YosysError
from synth.proof.gates import Netlist

SECONDS = 300.0
"""Time after which two netlists count as not shown to be equal."""

_PROVE = """\
read_verilog miter.v
opt
techmap
opt
abc -g AND,OR,XOR -script "+strash;ifraig;dc2;dch;fraig;iprove"
opt_clean
write_json miter.json
"""

_OPERATORS = {
    "BUF": "{0}",
    "NOT": "~{0}",
    "AND": "{0} & {1}",
    "OR": "{0} | {1}",
    "XOR": "{0} ^ {1}",
    "NAND": "~({0} & {1})",
    "NOR": "~({0} | {1})",
    "XNOR": "~({0} ^ {1})",
    "ANDNOT": "{0} & ~{1}",
    "ORNOT": "{0} | ~{1}",
    "MUX": "{2} ? {1} : {0}",
    "SUM": "{0} ^ {1} ^ {2}",
    "CARRY": "({0} & {1}) | ({2} & ({0} | {1}))",
}


def are_equal(one: Netlist, other: Netlist) -> bool:
    """Whether two netlists with the same ports are shown to have the same outputs for all inputs."""
    if (one.inputs, one.outputs) != (other.inputs, other.outputs):
        return False
    width = one.first_gate - 2
    lines = [f"module miter (input [{max(width, 1) - 1}:0] a, output differs);"]
    for letter, netlist in (("p", one), ("q", other)):
        lines += _assignments(netlist, letter)
    pairs = zip(one.driven, other.driven, strict=True)
    words = [f"{_net(one, 'p', first)} ^ {_net(other, 'q', second)}" for first, second in pairs]
    text = "\n".join([*lines, f"assign differs = |{{{', '.join(words)}}};", "endmodule", ""])
    try:
        result = yosys.run(_PROVE, {"miter.v": text}, ["miter.json"], SECONDS)["miter.json"]
    except YosysError:  # also after too long a time
        return False
    bits: list[object] = json.loads(result)["modules"]["miter"]["ports"]["differs"]["bits"]
    return bits == ["0"]


def _assignments(netlist: Netlist, letter: str) -> Iterator[str]:
    for net, gate in enumerate(netlist.gates, netlist.first_gate):
        pins = [_net(netlist, letter, pin) for pin in gate.pins]
        yield f"wire {letter}{net} = {_OPERATORS[gate.kind].format(*pins)};"


def _net(netlist: Netlist, letter: str, net: int) -> str:
    return f"1'b{net}" if net < 2 else f"a[{net - 2}]" if net < netlist.first_gate else f"{letter}{net}"
