"""Evaluates a netlist on all inputs and compares it with the reference model, on all cores."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hwgen.blocks.block import Design
from hwgen.reference import reference
from synth.proof.bitslice import Batch, Evaluator, Mismatch
from synth.proof.cases import Sweep
from synth.proof.evidence import Evidence
from synth.proof.gates import Netlist
from synth.proof.parts import Check, Counterexamples, Save, require

SHOWN = 5
"""Largest number of counterexamples in the evidence."""

COMPILE_FROM = 1 << 22
"""Number of cases from which compiling a netlist saves time."""


def run(
    design: Design, netlist: Netlist, sweep: Sweep, evidence: Evidence, save: Save, workers: int | None = None
) -> None:
    """Compare all inputs with the reference model and complete the evidence; parts that it has as done are skipped.

    Raises
    ------
    RuntimeError
        If the chunks of ``sweep`` do not contain every value of the held bits exactly once.
    """
    nets, running = netlist.input_nets(sweep.running_port)[: sweep.running_bits], sweep.running
    code = Evaluator(netlist, nets, compiled=sweep.cases >= COMPILE_FROM)
    groups = [sweep.groups(chunk) for chunk in range(sweep.chunks)]
    counts = np.bincount(np.concatenate(groups).astype(np.int64), minlength=sweep.cases >> sweep.running_bits)
    require(bool((counts == 1).all()), "the groups do not contain every value of the held bits exactly once")
    check = Check(evidence, [len(held) << sweep.running_bits for held in groups], save)

    def work(chunk: int) -> int | tuple[Batch, Mismatch]:
        count = 0
        for batch in sweep.batches(chunk):
            if check.stopping.is_set():
                break
            mismatch = code.compare(batch.groups, running, batch.expected)
            if mismatch:
                return batch, mismatch
            count += len(batch.groups)
        return count

    def judge(chunk: int, result: int | tuple[Batch, Mismatch]) -> Counterexamples:
        if isinstance(result, tuple):
            batch, mismatch = result
            cases = code.differing(batch, running, mismatch)[:SHOWN]
            return [counterexample(design, pins, netlist.evaluate(pins)) for pins in cases]
        size = len(groups[chunk])
        require(result == size, f"{result} of the {size} groups in chunk {chunk} were evaluated")
        return []

    with ThreadPoolExecutor(workers or os.cpu_count()) as executor:
        check.run(executor, work, judge)


def counterexample(design: Design, pins: dict[str, int], got: dict[str, int]) -> dict[str, Any]:
    """The record of a case that differs: hexadecimal port values, and a sentence."""
    model = reference(design)
    answer = model.answer(pins)
    columns = {"inputs": pins, "got": got, "golden": answer}
    digits = {name: {port: f"{value:#x}" for port, value in values.items()} for name, values in columns.items()}
    ins, outs, right = (", ".join(map(" ".join, values.items())) for values in digits.values())
    return {**digits, "sentence": f"{ins}: {outs}, expected {right} ({model.explain(pins, got, answer)})"}
