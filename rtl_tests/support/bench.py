"""Simulation against golden: many modules under one bench top, so that a simulator builds once and a step drives them
all.

Where building costs next to nothing (Icarus), there is such a top for each core, with its share of the modules. A top
has one wide input and one wide output; each port of each module has its slice, which begins at a whole byte.
``simulate`` writes the tops and all vectors as files, lets cocotb run ``cocotb_bench``, and reports what differed with
every field. Then the first case that differed runs once more, alone and with waves.
"""

import contextlib
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
from cocotb_tools.runner import get_results, get_runner
from numpy.typing import NDArray

from hwgen.reference.trace import CARE
from rtl_tests.support.simulators import simulator as chosen_simulator
from rtl_tests.support.simulators import verilator_environment

TOP = "bench_top"
BUILD_ARGUMENTS = {"icarus": (), "verilator": ("-CFLAGS", "-O0", "--output-split", "0")}
"""Verilator's output stays in one file: of several, the makefile of the PyPI package precompiles a header that the
compiler then misses.
"""

WAVES = {"icarus": f"build/{TOP}.fst", "verilator": "dump.vcd"}
"""Where cocotb has the simulators put their waves, in a run's folder."""

WAVE_VECTORS = 1000
"""Vectors of a combinational module that waves show at most, so that their file stays small; the last is the first that
differs.
"""

Explain = Callable[[Mapping[str, int], Mapping[str, int], Mapping[str, int]], str]
"""(inputs, got, expected), each port name to value, into a sentence with fields and exact values."""


@dataclass(frozen=True)
class Case:
    """A module under test and its vectors.

    Parameters
    ----------
    name : str
        The module's name.
    verilog : str
        Its text.
    ports : mapping of str to int
        Width of each of its ports.
    inputs, outputs : mapping of str to array of unsigned integers
        What each input port is driven with, and what each output port must then say: arrays of one length. A port of
        more than 64 bits has uint64 limbs on a last axis, little end first.
    explain : callable, optional
        Says more about a mismatch than the ports' values.
    seed : int, optional
        What the vectors were drawn with.
    care : mapping of str to array of 0 and 1, optional
        Which vectors an output port must have its value for, where that is not all. Such a case is of a clocked module:
        its vectors build on each other.
    """

    name: str
    verilog: str
    ports: Mapping[str, int]
    inputs: Mapping[str, NDArray[np.unsignedinteger]]
    outputs: Mapping[str, NDArray[np.unsignedinteger]]
    explain: Explain | None = None
    seed: int | None = None
    care: Mapping[str, NDArray[np.unsignedinteger]] | None = None

    def __post_init__(self):
        if sorted(self.ports) != sorted([*self.inputs, *self.outputs]):
            raise ValueError(
                f"{self.name}: ports are {sorted(self.ports)}, vectors are for {sorted([*self.inputs, *self.outputs])}"
            )
        lengths = {name: len(values) for name, values in (self.inputs | self.outputs).items()}
        if len(set(lengths.values())) != 1 or not self.vectors:
            raise ValueError(
                f"{self.name}: the vectors of all ports must be equally many and at least one, not {lengths}"
            )

    @property
    def vectors(self) -> int:
        """How many there are."""
        return len(next(iter(self.inputs.values())))


def simulate(cases: Sequence[Case], folder: Path, simulator: str | None = None) -> None:
    """Simulate all cases at once and require that every output is golden's.

    Parameters
    ----------
    cases : sequence of Case
        With different names.
    folder : Path
        For the build and the vectors: a test's ``tmp_path``, or something under ``build/``.
    simulator : str, optional
        ``icarus`` or ``verilator``; by default what ``SIM`` says, see `simulators.simulator`.

    Raises
    ------
    AssertionError
        With the first mismatches of each module, a file of waves, the seed and the command that repeats the run; or
        when not all vectors were visited.
    """
    simulator = simulator or chosen_simulator()
    names = [case.name for case in cases]
    if len(set(names)) != len(names):
        raise ValueError(f"cases must have different names, not {names}")
    parts = (
        len(os.sched_getaffinity(0)) if simulator == "icarus" else 1
    )  # a Verilator build costs more than a second simulation saves
    groups = [group for k in range(parts) if (group := cases[k * len(cases) // parts : (k + 1) * len(cases) // parts])]
    folders = [Path(folder).resolve() / f"bench_{simulator}_{k}" for k in range(len(groups))]
    environment = verilator_environment() if simulator == "verilator" else {}
    with mock.patch.dict(os.environ, environment), ThreadPoolExecutor(parts) as pool:
        complaints = [line for lines in pool.map(partial(_simulate, simulator), groups, folders) for line in lines]
        if complaints:
            complaints += _waves(simulator, cases, folders)
    assert not complaints, "\n".join([*complaints, repeat(cases, simulator)])


def repeat(cases: Sequence[Case], simulator: str) -> str:
    """The command line that does the same again."""
    seeds = {case.seed for case in cases if case.seed is not None}
    settings = [*(f"SEED={seed}" for seed in sorted(seeds)), f"SIM={simulator}"]
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" ", 1)[0]
    command = ["-m", "pytest", test] if test else sys.argv
    return f"repeat with: {' '.join(settings)} .venv/bin/python {shlex.join(command)}"


def _waves(simulator: str, cases: Sequence[Case], folders: Sequence[Path]) -> list[str]:
    """Run the first case that differed once more, up to its first mismatch, with waves; a line that says where they
    are.
    """
    results = [json.loads(file.read_text()) for folder in folders if (file := folder / "results.json").exists()]
    first = {item["case"]: item["index"] for result in results for item in reversed(result["mismatches"])}
    case = next((case for case in cases if case.name in first), None)
    if case is None:
        return []
    end = first[case.name] + 1
    start = 0 if case.care else max(0, end - WAVE_VECTORS)
    inputs, outputs, care = (
        {port: values[start:end] for port, values in (ports or {}).items()}
        for ports in (case.inputs, case.outputs, case.care)
    )
    folder = folders[0].with_name(f"waves_{simulator}")
    said = _simulate(simulator, [replace(case, inputs=inputs, outputs=outputs, care=care or None)], folder, waves=True)
    file = folder / WAVES[simulator]
    told = f"waves of {case.name}, vectors {start} to {end - 1}, each for one unit of time: {file}"
    return [told] if file.exists() else ["there are no waves:", *said]


def _simulate(simulator: str, cases: Sequence[Case], folder: Path, waves: bool = False) -> list[str]:
    """Simulate under one top; what there is to complain about, a line each."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").unlink(missing_ok=True)
    _write(cases, folder)
    runner = get_runner(simulator)
    _lend_runtime(folder / "build", waves)
    try:
        runner.build(
            sources=[folder / f"{name}.v" for name in (TOP, *(case.name for case in cases))], hdl_toplevel=TOP,
            build_dir=folder / "build", build_args=BUILD_ARGUMENTS[simulator], always=True, waves=waves,
            log_file=folder / "build.log",
        )  # fmt: skip
    except RuntimeError:
        return ["the build failed", *_tail(folder / "build.log")]
    _keep_runtime(folder / "build", waves)
    xml = folder / "results.xml"
    with contextlib.suppress(SystemExit):  # under pytest the runner exits when a test fails; the results say so too
        runner.test(
            test_module="rtl_tests.support.cocotb_bench", hdl_toplevel=TOP, test_dir=folder, results_xml=str(xml),
            extra_env={"BENCH_FOLDER": str(folder)}, waves=waves, log_file=folder / "test.log",
        )  # fmt: skip
    if not (folder / "results.json").exists():
        return ["the simulation ended before all vectors were driven", *_tail(folder / "test.log")]
    complaints = judge(cases, json.loads((folder / "results.json").read_text()))
    tests, failures = get_results(xml)
    if not complaints and (tests == 0 or failures):
        return [f"cocotb reports {failures} failures in {tests} tests", *_tail(folder / "test.log")]
    return complaints


_RUNTIME: dict[bool, list[tuple[str, bytes]]] = {}
"""Object files of Verilator's own runtime, with and without waves: the same in every build, and the longest part of it.
"""


def _keep_runtime(build: Path, waves: bool) -> None:
    objects = sorted(build.glob("verilated*.o"))
    if objects:
        _RUNTIME.setdefault(waves, [(file.name, file.read_bytes()) for file in objects])


def _lend_runtime(build: Path, waves: bool) -> None:
    build.mkdir(exist_ok=True)
    for name, content in _RUNTIME.get(waves, ()):
        (build / name).write_bytes(content)
        os.utime(
            build / name, (time.time() + 3600,) * 2
        )  # newer than the makefile that is about to be written, on which they depend


def _tail(log: Path) -> list[str]:
    """The last lines of what a tool said."""
    return log.read_text(errors="replace").splitlines()[-30:] if log.exists() else []


def judge(cases: Sequence[Case], results: Mapping) -> list[str]:
    """Complaints, a line each, unless ``results`` (of `cocotb_bench`) say that every vector of every case was visited
    and none differed.
    """
    lines = []
    for case in cases:
        visited = min(results["steps"], case.vectors)
        if visited != case.vectors:
            lines.append(f"{case.name}: {visited} of {case.vectors} vectors were visited")
        if bad := results["bad"].get(case.name):
            lines.append(
                f"{case.name}: {bad} of {case.vectors} vectors differ"
                + ("" if case.seed is None else f" (seed {case.seed})")
            )
            lines += [
                _describe(case, item["index"], item["got"])
                for item in results["mismatches"]
                if item["case"] == case.name
            ]
    return lines


def _describe(case: Case, index: int, got: Mapping[str, str]) -> str:
    inputs = {port: _value(values, index) for port, values in case.inputs.items()}
    expected = {port: _value(values, index) for port, values in case.outputs.items()}
    fields = [f"{port}={value:#x}" for port, value in inputs.items()]
    fields += [f"{port}={got[port]} (expected {value:#x})" for port, value in expected.items()]
    line = f"  vector {index}: {', '.join(fields)}"
    known = all(text.startswith("0x") for text in got.values())
    if case.explain and known:
        line += "\n    " + case.explain(inputs, {port: int(text, 16) for port, text in got.items()}, expected)
    return line


def _value(values: NDArray, index: int) -> int:
    return int.from_bytes(np.atleast_1d(values[index]).astype("<u8").tobytes(), "little")


def _masked(values: NDArray, care: NDArray) -> NDArray:
    """Zeros where there is no care."""
    shaped = care.reshape(-1, *(1,) * (values.ndim - 1))
    return np.where(shaped, values, 0).astype(values.dtype)


def _bytes(case: Case, port: str, width: int, values: NDArray) -> NDArray[np.uint8]:
    """One row for each vector, the port's value in as few whole bytes as hold it, little end first."""
    limbs = np.asarray(values)
    if limbs.ndim == 1:
        limbs = limbs[:, None]
    count, size = len(limbs), (width + 7) // 8
    if not np.issubdtype(limbs.dtype, np.unsignedinteger) or limbs.shape[1] != (width + 63) // 64:
        raise ValueError(
            f"{case.name}: values of {width} bits for {port} must be unsigned in uint64 limbs, not {limbs.dtype}{limbs.shape}"
        )
    rows = np.ascontiguousarray(limbs.astype("<u8")).view(np.uint8).reshape(count, -1)
    if rows[:, size:].any() or (width % 8 and (rows[:, size - 1] >> (width % 8)).any()):
        raise ValueError(f"{case.name}: a value for {port} has more than {width} bits")
    return rows[:, :size]


def _write(cases: Sequence[Case], folder: Path) -> None:
    """Write the modules, the top, the vectors and the plan that tells `cocotb_bench` which slice is whose."""
    steps = max(case.vectors for case in cases)
    stimuli: list[NDArray[np.uint8]] = []
    responses: list[NDArray[np.uint8]] = []
    sizes = {"stimulus": 0, "response": 0}
    slots = []
    instances = []
    for index, case in enumerate(cases):
        slot: dict[str, dict[str, list[int]]] = {"stimulus": {}, "response": {}}
        care = case.care or {}
        flags = {CARE + port: np.asarray(values, np.uint8) for port, values in care.items()}
        expected = {
            port: _masked(values, care[port]) if port in care else values for port, values in case.outputs.items()
        }
        for bus, vectors, columns in (
            ("stimulus", {**case.inputs, **flags}, stimuli),
            ("response", expected, responses),
        ):
            for port, values in vectors.items():
                width = case.ports.get(port, 1)
                rows = _bytes(case, port, width, values)
                columns.append(
                    np.concatenate([rows, np.repeat(rows[-1:], steps - len(rows), axis=0)])
                )  # a shorter case stands still
                slot[bus][port] = [8 * sizes[bus], width]
                sizes[bus] += rows.shape[1]
        slots.append({"name": case.name, "vectors": case.vectors, "outputs": slot["response"]})
        connections = []
        for bus, ports in slot.items():
            for port, (low, width) in ports.items():
                if bus == "response" and port in care:
                    instances.append(f"  wire [{width - 1}:0] net_{index}_{port};")
                    flag = slot["stimulus"][CARE + port][0]
                    instances.append(
                        f"  assign response[{low + width - 1}:{low}] = net_{index}_{port} & {{{width}{{stimulus[{flag}]}}}};"
                    )
                    connections.append(f".{port}(net_{index}_{port})")
                elif port in case.ports:
                    connections.append(f".{port}({bus}[{low + width - 1}:{low}])")
        padding = [(low + width, -width % 8) for low, width in slot["response"].values() if width % 8]
        instances.append(f"  {case.name} dut_{index} ({', '.join(connections)});")
        instances += [f"  assign response[{low + width - 1}:{low}] = {width}'b0;" for low, width in padding]
        (folder / f"{case.name}.v").write_text(case.verilog)
    ports = ", ".join(
        f"{direction} wire [{8 * sizes[bus] - 1}:0] {bus}"
        for direction, bus in (("input", "stimulus"), ("output", "response"))
    )
    (folder / f"{TOP}.v").write_text("\n".join([f"module {TOP} ({ports});", *instances, "endmodule", ""]))
    (folder / "stimuli.bin").write_bytes(np.concatenate(stimuli, axis=1).tobytes())
    (folder / "responses.bin").write_bytes(np.concatenate(responses, axis=1).tobytes())
    plan = {"stimulus_bytes": sizes["stimulus"], "response_bytes": sizes["response"], "cases": slots}
    (folder / "plan.json").write_text(json.dumps(plan))
