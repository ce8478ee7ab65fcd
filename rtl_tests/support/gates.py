"""Checks a block's gates against its reference model: faster than a simulator, for ports of any width."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hwgen.blocks.block import Design
from hwgen.reference import reference
from rtl_tests.support.blocks import texts
from synth.proof.bitslice import CASES, Evaluator
from synth.proof.gates import arrange
from synth.proof.mapping import read, read_adders


def mismatches(
    design: Design, cases: Sequence[Mapping[str, int]], verilog: str | None = None
) -> list[tuple[Mapping[str, int], dict[str, int]]]:
    """Return the cases for which gates and reference model differ, with the outputs of the gates."""
    model = reference(design)
    inputs, outputs = model.inputs, model.outputs
    text = texts([design])[design.name] if verilog is None else verilog
    if design.kind == "dot":  # full adders are mapped much faster than gates
        netlist = read_adders(text, design.name, pipeline=design.pipeline)
    else:
        netlist = read(text, design.name, pipeline=design.pipeline, thorough=False)
    netlist = arrange(netlist, inputs, outputs, model.made_of)
    size = -(-len(cases) // CASES) * CASES
    planes = np.concatenate([_planes([case[name] for case in cases], width, size) for name, width in inputs.items()])
    evaluator = Evaluator(netlist, range(2, netlist.first_gate), compiled=False)
    bits = np.unpackbits(evaluator.evaluate(0, planes).view(np.uint8), axis=1, bitorder="little")[:, : len(cases)]
    wrong, answers = [], model.answers(cases)
    for number, case in enumerate(cases):
        column = iter(bits[:, number].tolist())
        got = {name: sum(next(column) << place for place in range(width)) for name, width in outputs.items()}
        if got != answers[number]:
            wrong.append((case, got))
    return wrong


def _planes(values: Sequence[int], width: int, size: int) -> NDArray[np.uint64]:
    """Bit planes: for each bit of the values, 64 cases a word, zeros after the last case."""
    octets = b"".join(value.to_bytes(-(-width // 8), "little") for value in values)
    rows = np.frombuffer(octets, np.uint8).reshape(len(values), -1)
    bits = np.zeros((width, size), np.uint8)
    bits[:, : len(values)] = np.unpackbits(rows, axis=1, bitorder="little")[:, :width].T
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
