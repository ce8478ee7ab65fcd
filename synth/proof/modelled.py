"""Whether the arithmetic of the model in C of a module, its function ``NAME_core``, equals its gates.

Where the inputs of a module are enumerated, all of them are compared; otherwise random cases, and boundary cases of the
reference model, with and without inverted bits. The state of a model is the value of an accumulator in carry-save form,
so that the gates get two rows whose sum is that value, the second one at random, and their outputs have the sum of
theirs.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate, cycle, islice, repeat

import numpy as np

from golden.compiler import compiler, library
from golden.refusal import past_checking
from hwgen.blocks.block import Design
from hwgen.model.files import planes
from hwgen.reference import reference
from hwgen.tools.ahead import completed
from hwgen.tools.process import ToolError
from synth.proof import bitslice
from synth.proof.bitslice import Evaluator, Planes
from synth.proof.cases import Sweep, input_sweep
from synth.proof.gates import Netlist, transposed
from synth.proof.unroll import ALWAYS_0, RowsNetlist

CASES = 10**9
"""Cases of a module whose inputs are not enumerated."""
WORDS, BOUNDARIES = 1 << 13, 1 << 12
"""Words of 64 cases in a batch of these, and cases of the reference model that they begin with."""

Row = Mapping[str, int]
"""Values of ports."""
Groups = Iterable[tuple[int, Planes]]
"""Held bits of groups of cases, and planes of the others: see :mod:`synth.proof.bitslice`."""


def check_compiler() -> str:
    """The command of the C++ compiler; a ToolError if there is none."""
    path = compiler()
    if path is None:
        raise ToolError("there is no C++ compiler for the model in C")
    return path


def _compiled(design: Design) -> ctypes.CDLL:
    try:
        return library(check_compiler(), planes(design), ("-O2", "-std=c++17"))
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.decode(errors="replace").splitlines() if line.strip()]
        problem = lines[-1].strip() if lines else f"exit status {error.returncode}"
        raise ToolError(f"the C++ compiler fails on the model in C: {problem}") from error
    except OSError as error:
        raise ToolError(f"the model in C cannot be loaded: {error}") from error


def compare(
    design: Design,
    netlist: Netlist,
    workers: int | None = None,
    cases: int = CASES,
    report: Callable[[int, int], None] = lambda *_: None,
) -> tuple[int, str]:
    """Compare the model with the gates of the module, in at least ``cases`` cases if not in all.

    Return the number of equal cases, and a sentence about the first difference, empty if there is none. ``report``
    gets the numbers of cases that are done, and of all. It is a ToolError if the model cannot be compiled.
    """
    code, sweep = _compiled(design), input_sweep(design)
    nets = range(2, netlist.first_gate)
    gates = Evaluator(netlist, nets if sweep is None else netlist.input_nets(sweep.running_port)[: sweep.running_bits])
    parts = -(-cases // (64 * WORDS)) if sweep is None else sweep.chunks
    groups = _random(design) if sweep is None else partial(_enumerated, sweep)

    def work(part: int) -> tuple[int, Row | None]:
        count = 0
        for held, drawn in groups(part):
            inputs = drawn if sweep is None else _whole(gates, held, drawn)
            every = _in_rows(netlist, inputs, part) if isinstance(netlist, RowsNetlist) else inputs
            running = every if sweep is None else drawn
            outputs = np.empty((len(netlist.driven), running.shape[1]), np.uint64)
            arrays = (ctypes.c_void_p(array.ctypes.data) for array in (inputs, outputs))
            code.planes(*arrays, ctypes.c_size_t(running.shape[1]))
            mismatch = gates.compare(np.array([held], np.uint64), running, outputs)
            if mismatch:
                window = slice(mismatch.start // 64, (mismatch.start + bitslice.CASES) // 64)
                differs = gates.evaluate(held, running[:, window]) ^ outputs[:, window]
                return count, _first(netlist, every[:, window], np.bitwise_or.reduce(differs))
            count += 64 * running.shape[1] if sweep is None else 1 << sweep.running_bits
        return count, None

    total = 64 * WORDS * parts if sweep is None else 1 << netlist.first_gate - 2
    done, executor = 0, ThreadPoolExecutor(workers or os.cpu_count())
    try:
        for _, future in completed(range(parts), lambda part: executor.submit(work, part), 2 * (os.cpu_count() or 1)):
            count, pins = future.result()
            done += count
            report(done, total)
            if pins is not None:
                ins, outs = (
                    ", ".join(f"{name} {value:#x}" for name, value in ports.items())
                    for ports in (pins, netlist.evaluate(pins))
                )
                return done, f"{ins} must give {outs}"
    finally:
        executor.shutdown(cancel_futures=True)
    return done, ""


def _first(netlist: Netlist, inputs: Planes, which: Planes) -> Row:
    """Values of the inputs in the first of some cases."""
    case = int(np.flatnonzero(np.unpackbits(which.view(np.uint8), bitorder="little"))[0])
    bits = (inputs[:, case // 64] >> np.uint64(case % 64) & np.uint64(1)).tolist()
    ports = {port: netlist.input_nets(port) for port in netlist.inputs}
    return {port: sum(bits[net - 2] << place for place, net in enumerate(nets)) for port, nets in ports.items()}


def _enumerated(sweep: Sweep, chunk: int) -> Groups:
    return zip(sweep.groups(chunk).tolist(), repeat(sweep.running), strict=False)


def _whole(gates: Evaluator, held: int, running: Planes) -> Planes:
    """All inputs, in their order."""
    inputs = np.empty((len(gates.held) + len(running), running.shape[1]), np.uint64)
    inputs[np.array(gates.running) - 2] = running
    places = np.arange(len(gates.held), dtype=np.uint64)
    inputs[np.array(gates.held, int) - 2] = -(np.uint64(held) >> places & np.uint64(1))[:, np.newaxis]
    return inputs


def _random(design: Design) -> Callable[[int], Groups]:
    """Batches: uniform bits in the even ones; in the others boundary cases, where each bit is inverted in an eighth.

    They are first there as they are: of many bits, some are always inverted.
    """
    model, seed = reference(design), list(design.name.encode())
    with past_checking():
        near = model.near_stimuli(BOUNDARIES, np.random.default_rng(seed))
    places = dict(zip(model.arguments, accumulate(model.arguments.values(), initial=0), strict=False))
    cases = [sum(pins[name] << place for name, place in places.items()) for pins in islice(cycle(near), BOUNDARIES)]
    columns = transposed(cases, sum(model.arguments.values()))
    octets = b"".join(column.to_bytes(BOUNDARIES // 8, "little") for column in columns)
    boundaries = np.tile(np.frombuffer(octets, "<u8").reshape(len(columns), -1), 64 * WORDS // BOUNDARIES)

    def batch(part: int) -> Groups:
        rng = np.random.default_rng([part, *seed])
        words = [rng.integers(0, 1 << 64, boundaries.shape, np.uint64) for _ in range(3 if part % 2 else 1)]
        if not part % 2:
            return [(0, words[0])]
        words[0][:, : BOUNDARIES // 64] = 0
        return [(0, boundaries ^ (words[0] & words[1] & words[2]))]

    return batch


def _in_rows(netlist: RowsNetlist, inputs: Planes, seed: int) -> Planes:
    """The inputs of an enabled step: the rows are the accumulator, with one more bit, minus random bits, and these."""
    width, bits = netlist.outputs["acc_out"], netlist.outputs["acc_out"] - 2
    zeros = [net - netlist.input_nets("acc_in").start - bits for net in netlist.named[ALWAYS_0]]
    codes, value, specials = np.split(inputs, [len(inputs) - width, len(inputs) - 3])
    second = np.random.default_rng(seed).integers(0, 1 << 64, (bits, inputs.shape[1]), np.uint64)
    second[zeros] = 0
    first = np.concatenate([value, value[-1:]])
    borrow = np.zeros_like(second[0])
    for row, taken in zip(first, second, strict=True):
        difference = row ^ taken
        row[:], borrow = difference ^ borrow, (~row & taken) | (~difference & borrow)
    return np.concatenate([codes, first, second, specials, ~np.zeros_like(first[:1])])
