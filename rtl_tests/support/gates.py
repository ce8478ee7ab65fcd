"""Checks a block's gates against its reference model: faster than a simulator, for ports of any width."""

from collections.abc import Mapping, Sequence

from hwgen.blocks.block import Design
from hwgen.reference import reference
from rtl_tests.support.blocks import texts
from synth.proof.gates import arrange
from synth.proof.mapping import read, read_adders


def mismatches(
    design: Design, cases: Sequence[Mapping[str, int]], verilog: str | None = None
) -> list[tuple[Mapping[str, int], dict[str, int]]]:
    """Return the cases for which gates and reference model differ, with the outputs of the gates."""
    model = reference(design)
    text = texts([design])[design.name] if verilog is None else verilog
    if design.kind == "dot":  # full adders are mapped much faster than gates
        netlist = read_adders(text, design.name, pipeline=design.pipeline)
    else:
        netlist = read(text, design.name, pipeline=design.pipeline, thorough=False)
    found = arrange(netlist, model.inputs, model.outputs, model.made_of).answers(cases)
    answers = model.answers(cases)
    return [(case, got) for case, got, right in zip(cases, found, answers, strict=True) if got != right]
