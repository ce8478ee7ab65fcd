"""The part of a bench that runs inside the simulator: each step drives all inputs and compares all outputs.

:mod:`hwgen.simulate.engine` writes the files that this module reads, and evaluates its results. Each class of vectors
is a test of its own, which the JUnit file names.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer
from cocotb.types import LogicArray

FOLDER = Path(os.environ["BENCH_FOLDER"])
PLAN = json.loads((FOLDER / "plan.json").read_bytes())
PROGRESS = os.open(FOLDER / "progress", os.O_WRONLY | os.O_CREAT)
LIMIT = float(os.environ["BENCH_LIMIT"])
"""Seconds of processor time between two reports of progress, after which the operating system ends the simulator."""
PARENT = os.getppid()
REPORT_EVERY = 64
"""Steps between two reports of progress, a power of two."""

RESULTS: dict[str, Any] = {"steps": 0, "seconds": 0.0, "bad": [], "mismatches": []}


def _unsigned(value: LogicArray) -> int | None:
    """``value`` as an integer; None if it has an X or Z.

    ``is_resolvable`` examines each bit in Python and is ten times slower.
    """
    try:
        return value.to_unsigned()
    except ValueError:
        return None


def _fields(response: LogicArray, ports: dict[str, list[int]]) -> dict[str, str]:
    """The output ports' values as text: hexadecimal, or bits if some are X or Z."""
    fields = {}
    for port, (low, width) in ports.items():
        bits = response[low + width - 1 : low]
        fields[port] = f"{bits.to_unsigned():#x}" if bits.is_resolvable else str(bits)
    return fields


def _vector(case: dict[str, Any], step: int) -> int:
    """A number of the step's vector, which it keeps while it is stalled."""
    if not case["numbers"]:
        return step
    with (FOLDER / case["numbers"]).open("rb") as numbers:
        numbers.seek(4 * step)
        return int.from_bytes(numbers.read(4), "little")


def _record(step: int, got: LogicArray, expected: bytes, bad: dict[str, int], last: dict[str, int]) -> None:
    """Count and record the modules whose outputs differ in a step; ``last`` are their vectors that differ."""
    correct = LogicArray.from_bytes(expected, byteorder="little")
    for case in PLAN["cases"]:
        fields = _fields(got, case["outputs"])
        if step < case["vectors"] and fields != _fields(correct, case["outputs"]):
            name, number = case["name"], _vector(case, step)
            if last.get(name) == number:
                continue
            last[name] = number
            bad[name] = bad.get(name, 0) + 1
            if bad[name] <= PLAN["recorded"]:
                RESULTS["mismatches"].append({"case": name, "index": step, "got": fields})


def _report(step: int) -> None:
    """Write the number of steps to a file, and start the time limit again.

    The limit also ends a loop without delay, in which the simulator never returns to Python.
    """
    if os.getppid() != PARENT:  # which was killed
        os._exit(1)
    os.pwrite(PROGRESS, b"%10d" % step, 0)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)


def close_folder() -> None:
    """Import nothing from the current directory, the user's folder, which cocotb is about to put on Python's path."""
    sys.path_importer_cache[os.getcwd()] = None


async def _compare(dut: Any, first: int, count: int) -> dict[str, int]:
    """Drive vectors in order; every response must equal the expected one bit for bit, without X."""
    stimulus, response, unit = dut.stimulus, dut.response, Timer(PLAN["vector_steps"], "step")
    in_size, out_size, end = PLAN["stimulus_bytes"], PLAN["response_bytes"], first + count
    bad: dict[str, int] = {}
    last: dict[str, int] = {}
    step, start = first, time.perf_counter()
    with (FOLDER / "stimuli.bin").open("rb") as stimuli, (FOLDER / "responses.bin").open("rb") as responses:
        stimuli.seek(first * in_size)
        responses.seek(first * out_size)
        while step < end and (row := stimuli.read(in_size)):
            stimulus.value = int.from_bytes(row, "little")
            expected = responses.read(out_size)
            await unit
            got = response.value
            if _unsigned(got) != int.from_bytes(expected, "little"):
                _record(step, got, expected, bad, last)
            step += 1
            if not step & (REPORT_EVERY - 1):
                _report(step)
    RESULTS["steps"] += step - first
    RESULTS["seconds"] += time.perf_counter() - start
    RESULTS["bad"].append(bad)
    (FOLDER / "results.json").write_text(json.dumps(RESULTS), encoding="utf-8")
    return bad


def _part(name: str, first: int, count: int) -> Any:
    """The test of a class of vectors."""

    @cocotb.test(name=name)
    async def part(dut: Any) -> None:
        bad, (unit, size) = await _compare(dut, first, count), PLAN["unit"]
        assert not bad, f"{sum(bad.values())} of {count // size} {unit}s differ in {', '.join(bad)}"

    return part


_report(0)  # before the first initial block
_first = 0
for _number, (_name, _count) in enumerate(PLAN["parts"]):
    globals()[f"part_{_number}"] = _part(_name, _first, _count)
    _first += _count
