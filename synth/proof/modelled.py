"""Whether the model in C of a module equals its gates.

Where the inputs of a module are enumerated, all of them are compared; otherwise random cases, and boundary cases of the
reference model with inverted bits. Ports and registers are compared in the vectors of the module's testbench.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate, cycle, islice
from typing import Any, NamedTuple

import numpy as np

from golden.compiler import compiler, library
from golden.refusal import past_checking
from hwgen.blocks.block import Design
from hwgen.bundle.files import VECTORS
from hwgen.coverage.suite import suite
from hwgen.model.files import planes
from hwgen.netlist.emit import CLOCK
from hwgen.reference import reference
from hwgen.reference.trace import CARE
from hwgen.tools.ahead import completed
from hwgen.tools.process import ToolError
from synth.proof.bitslice import Batch, Evaluator, Planes
from synth.proof.cases import Sweep, input_sweep
from synth.proof.evidence import power
from synth.proof.gates import Netlist, transposed

CASES = 10**9
"""Cases of a module whose inputs are not enumerated."""
WORDS, BOUNDARIES = 1 << 13, 1 << 12
"""Words of 64 cases in a batch of these, and cases of the reference model that they begin with."""

Row = Mapping[str, int]
"""Values of ports."""
Groups = Iterator[tuple[int, Planes]]
"""Held bits of groups of cases, and planes of the others: see :mod:`synth.proof.bitslice`."""


class Comparison(NamedTuple):
    """Numbers of cases and vectors that are equal, and the first difference."""

    cases: int
    vectors: int
    difference: str | None

    @property
    def sentence(self) -> str:
        """The verdict."""
        if self.difference is not None:
            return f"the model in C differs: {self.difference}"
        return f"the model in C is equal to the module in {power(self.cases)} cases, and {self.vectors} vectors"


class Model:
    """The model of a module, compiled as C++; a ToolError without a compiler."""

    def __init__(self, design: Design):
        command = compiler()
        if command is None:
            raise ToolError("there is no C++ compiler for the model in C")
        self._reference = reference(design)
        self.code = library(command, planes(design), ("-O2", "-std=c++17"))

    def planes(self, inputs: Planes) -> Planes:
        """Bit planes of the results, from those of the arguments."""
        outputs = np.empty((sum(self._reference.results.values()), inputs.shape[1]), np.uint64)
        arrays = (np.ascontiguousarray(inputs), outputs)
        self.code.planes(*(ctypes.c_void_p(array.ctypes.data) for array in arrays), ctypes.c_size_t(inputs.shape[1]))
        return outputs

    def results(self, pins: Row) -> dict[str, int]:
        """The results of one case."""
        made = self.planes(_planes([pins] * 64, self._reference.arguments))
        bits, widths = iter((made[:, 0] & np.uint64(1)).tolist()), self._reference.results
        return {name: sum(next(bits) << place for place in range(width)) for name, width in widths.items()}


def compare(design: Design, netlist: Netlist, workers: int | None = None, cases: int = CASES) -> Comparison:
    """Compare the model with the gates of the module, in at least ``cases`` cases if not in all."""
    model, sweep, nets = Model(design), input_sweep(design), range(2, netlist.first_gate)
    with past_checking():
        rows = suite(design, VECTORS, np.random.default_rng(list(design.name.encode()))).rows()
    wrong = first_wrong(model.code, design, rows)
    if wrong is not None:
        return Comparison(0, wrong, f"vector {wrong} of the testbench")
    gates = Evaluator(netlist, nets if sweep is None else netlist.input_nets(sweep.running_port)[: sweep.running_bits])
    parts = -(-cases // (64 * WORDS)) if sweep is None else sweep.chunks
    groups = _random(design) if sweep is None else partial(_enumerated, sweep)

    def work(part: int) -> tuple[int, Row | None]:
        count = 0
        for held, running in groups(part):
            inputs = np.empty((len(nets), running.shape[1]), np.uint64)
            inputs[np.array(gates.running) - 2] = running
            inputs[np.array(gates.held, int) - 2] = _levels(held, len(gates.held))
            batch = Batch(np.array([held], np.uint64), model.planes(inputs))
            mismatch = gates.compare(batch.groups, running, batch.expected)
            if mismatch:
                return count, gates.differing(batch, running, mismatch)[0]
            count += 64 * running.shape[1] if sweep is None else 1 << sweep.running_bits
        return count, None

    done, executor = 0, ThreadPoolExecutor(workers or os.cpu_count())
    try:
        for _, future in completed(range(parts), lambda part: executor.submit(work, part), 2 * (os.cpu_count() or 1)):
            count, pins = future.result()
            done += count
            if pins is not None:
                ports = (pins, model.results(pins), netlist.evaluate(pins))
                texts = [", ".join(f"{name} {value:#x}" for name, value in values.items()) for values in ports]
                return Comparison(done, len(rows), f"{texts[0]}: {texts[1]}, but the gates make {texts[2]}")
    finally:
        executor.shutdown(cancel_futures=True)
    return Comparison(done, len(rows), None)


def first_wrong(code: ctypes.CDLL, design: Design, rows: Sequence[Row]) -> int | None:
    """The first row of values of ports that the function for DPI does not give, called for one row after the other."""
    ports = [port for port in design.ports if port.name != CLOCK]
    outputs = [port for port in ports if port.direction == "output"]
    is_returned = len(outputs) == 1 and outputs[0].width <= 64 and not design.is_clocked
    function, state = code[f"{design.name}_dpi"], []
    function.restype = ctypes.c_uint64
    if design.is_clocked:
        code[f"{design.name}_new"].restype = ctypes.c_void_p
        state = [ctypes.c_void_p(code[f"{design.name}_new"]())]
    results = {port.name: (ctypes.c_uint32 * (port.width // 32 + 1))() for port in outputs}
    for number, row in enumerate(rows):
        arguments: list[Any] = list(state)
        for port in ports:
            if port in outputs:
                arguments += [] if is_returned else [results[port.name]]
            elif port.width > 64:
                arguments.append(row[port.name].to_bytes(port.width // 8 + 4, "little"))
            else:
                arguments.append(ctypes.c_uint64(row[port.name]))
        returned = function(*arguments)
        for port in outputs:
            word = returned if is_returned else int.from_bytes(bytes(results[port.name]), "little")
            if row.get(CARE + port.name, 1) and word & (1 << port.width) - 1 != row[port.name]:
                return number
    return None


# -- cases


def _enumerated(sweep: Sweep, chunk: int) -> Groups:
    running = sweep.running
    for held in sweep.groups(chunk).tolist():
        yield held, running


def _random(design: Design) -> Callable[[int], Groups]:
    """Batches: uniform bits in the even ones; in the others boundary cases, where each bit is inverted in an eighth."""
    model, seed = reference(design), list(design.name.encode())
    with past_checking():
        near = model.near_stimuli(BOUNDARIES, np.random.default_rng(seed))
    boundaries = np.tile(_planes(list(islice(cycle(near), BOUNDARIES)), model.arguments), 64 * WORDS // BOUNDARIES)

    def batch(part: int) -> Groups:
        rng = np.random.default_rng([part, *seed])
        words = [rng.integers(0, 1 << 64, boundaries.shape, np.uint64) for _ in range(3 if part % 2 else 1)]
        yield 0, boundaries ^ (words[0] & words[1] & words[2]) if part % 2 else words[0]

    return batch


def _levels(word: int, width: int) -> Planes:
    """The bits of a word as planes of one word, all zeros or all ones."""
    return -(np.uint64(word) >> np.arange(width, dtype=np.uint64) & np.uint64(1))[:, np.newaxis]


def _planes(cases: Sequence[Row], widths: Mapping[str, int]) -> Planes:
    """Bit planes of cases, a multiple of 64."""
    places = dict(zip(widths, accumulate(widths.values(), initial=0), strict=False))
    words = [sum(pins[name] << place for name, place in places.items()) for pins in cases]
    octets = (column.to_bytes(len(cases) // 8, "little") for column in transposed(words, sum(widths.values())))
    return np.frombuffer(b"".join(octets), "<u8").reshape(-1, len(cases) // 64)
