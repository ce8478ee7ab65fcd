"""Checks a block's gates against its reference model: faster than a simulator, for ports of any width."""

from collections.abc import Mapping, Sequence

from hwgen.blocks.block import Design
from hwgen.reference import reference
from rtl_tests.support.blocks import texts
from synth.area.digest import sha256
from synth.proof.gates import arrange
from synth.proof.mapping import read, read_adders

_ANSWERS: dict[tuple[str, str], Sequence[dict[str, int]]] = {}
"""The reference model's answers, by the design and the cases: several faults are looked for with the same cases."""


def mismatches(
    design: Design, cases: Sequence[Mapping[str, int]], verilog: str | None = None
) -> list[tuple[Mapping[str, int], dict[str, int]]]:
    """Return the cases for which gates and reference model differ, with the outputs of the gates."""
    model, key = reference(design), (design.name, sha256(repr((design.formats, cases))))
    text = texts([design])[design.name] if verilog is None else verilog
    if design.kind == "dot":  # full adders are mapped much faster than gates
        netlist = read_adders(text, design.name, pipeline=design.pipeline)
    else:
        netlist = read(text, design.name, pipeline=design.pipeline, thorough=False)
    found = arrange(netlist, model.inputs, model.outputs, model.made_of).answers(cases)
    if key not in _ANSWERS:
        _ANSWERS[key] = model.answers(cases)
    answers = _ANSWERS[key]
    return [(case, got) for case, got, right in zip(cases, found, answers, strict=True) if got != right]
