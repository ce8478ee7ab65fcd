"""Exhaustive sweeps: every input of a netlist held against golden, on all cores, counted, and continued where a run was broken off."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.blocks.design import Design
from synth.proof.bitslice import CASES, Evaluator, Mismatch
from synth.proof.cases import Batch, Sweep
from synth.proof.evidence import DIFFERENT, EQUAL, Evidence
from synth.proof.gates import Netlist
from synth.proof.questions import answer, explain

SAVE_EVERY = 2.0
"""Seconds between two notes of what is done."""

SHOWN = 5
"""Counterexamples that are put into words."""

COMPILE_FROM = 1 << 22
"""Cases from which on it pays to compile a netlist."""

Save = Callable[[Evidence], None]


class IncompleteError(RuntimeError):
    """A check that was broken off; its evidence says what is done."""


def require(condition: bool, sentence: str) -> None:
    """What a verdict rests on; unlike an assertion, under every option of Python."""
    if not condition:
        raise RuntimeError(sentence)


def evaluator(netlist: Netlist, sweep: Sweep) -> Evaluator:
    """The netlist made ready for a sweep."""
    running = netlist.input_nets(sweep.running_port)[: sweep.running_bits]
    return Evaluator(netlist, list(running), compiled=sweep.cases >= COMPILE_FROM)


def run(design: Design, netlist: Netlist, sweep: Sweep, evidence: Evidence, save: Save, workers: int | None = None) -> None:
    """Hold every input against golden and complete the evidence; parts that it names as done are not done again.

    Raises
    ------
    RuntimeError
        If the groups of the chunks are not every value of the held bits once: a fault of the sweep itself.
    """
    code = evaluator(netlist, sweep)
    running = sweep.running
    cases_per_group = 1 << sweep.running_bits
    seen = np.zeros(sweep.cases // cases_per_group, np.uint8)
    stopping = threading.Event()

    def work(chunk: int) -> tuple[int, list[tuple[Batch, Mismatch]]]:
        count, wrong = 0, []
        for batch in sweep.batches(chunk):
            if stopping.is_set():
                break
            found = code.compare(batch.groups, running, batch.expected)
            count += len(batch.groups)
            if found:
                wrong.append((batch, found))
                break
        return count, wrong

    evidence.cases, evidence.done = 0, [chunk for chunk in evidence.done if chunk < sweep.chunks]
    for chunk in evidence.done:
        np.add.at(seen, sweep.groups(chunk), 1)
        evidence.cases += len(sweep.groups(chunk)) * cases_per_group
    todo = [chunk for chunk in range(sweep.chunks) if chunk not in set(evidence.done)]
    with ThreadPoolExecutor(workers or os.cpu_count()) as executor:
        for chunk, (count, wrong) in complete(work, todo, executor, evidence, save, stopping):
            groups = sweep.groups(chunk)
            if wrong:
                evidence.counterexamples = [case for batch, found in wrong for case in _cases(design, code, running, batch, found)]
                evidence.verdict = DIFFERENT
                break
            require(count == len(groups), f"chunk {chunk} has {len(groups)} groups, of which {count} were evaluated")
            np.add.at(seen, groups, 1)
            evidence.done.append(chunk)
            evidence.cases += count * cases_per_group
    if evidence.verdict != DIFFERENT:
        require(bool((seen == 1).all()), "the sweep does not hold every value of the held bits once")
        require(evidence.cases == sweep.cases, f"{evidence.cases} of {sweep.cases} cases were visited")
        evidence.verdict = EQUAL


def complete(
    work: Callable[[int], Any], todo: Sequence[int], executor: Executor, evidence: Evidence, save: Save, stopping: threading.Event
) -> Iterator[tuple[int, Any]]:
    """Yield ``(part, work(part))`` as parts are finished; note the time, and every few seconds what is done.

    Raises
    ------
    IncompleteError
        When a worker is lost.
    """
    before, start = evidence.seconds, time.monotonic()
    noted = start
    parts = iter(todo)
    running: dict[Future[Any], int] = {}
    try:
        for part in islice(parts, 2 * (os.cpu_count() or 1)):
            running[executor.submit(work, part)] = part
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                part = running.pop(future)
                for following in islice(parts, 1):
                    running[executor.submit(work, following)] = following
                yield part, future.result()
                evidence.seconds = before + time.monotonic() - start
            if time.monotonic() - noted > SAVE_EVERY:
                save(evidence)
                noted = time.monotonic()
    except BrokenExecutor as error:
        raise IncompleteError(f"a worker was lost: {error}") from error
    finally:
        stopping.set()
        for future in running:
            future.cancel()


def _cases(design: Design, code: Evaluator, running: NDArray[np.uint64], batch: Batch, found: Mismatch) -> list[dict[str, Any]]:
    """The first cases of a batch that differ."""
    held = int(batch.groups[found.group])
    wanted = batch.expected if batch.expected.ndim == 2 else batch.expected[found.group]
    window = slice(found.start // 64, (found.start + CASES) // 64)
    got = code.evaluate(held, np.ascontiguousarray(running[:, window]))
    differs = np.bitwise_or.reduce(got ^ wanted[:, window], axis=0)
    places = np.flatnonzero(np.unpackbits(differs.view(np.uint8), bitorder="little"))
    rows = []
    for place in places[:SHOWN].tolist():
        pins = code.pins(held, found.start + place)
        rows.append(counterexample(design, pins, code.netlist.evaluate(pins)))
    return rows


def counterexample(design: Design, pins: dict[str, int], got: dict[str, int]) -> dict[str, Any]:
    """A case that differs, in digits and in words."""
    said = answer(design, pins)

    def digits(values: dict[str, int]) -> dict[str, str]:
        return {port: f"{value:#x}" for port, value in values.items()}

    words = explain(design)(pins, got, said)
    both = (", ".join(f"{port} {value}" for port, value in digits(values).items()) for values in (pins, got, said))
    ins, outs, right = both
    return {
        "inputs": digits(pins), "got": digits(got), "golden": digits(said), "sentence": f"{ins}: {outs}, golden {right} ({words})",
    }  # fmt: skip
