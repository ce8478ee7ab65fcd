"""Simulation against the reference model: many modules under one top, so that a simulator builds once.

Icarus builds quickly and gets one top per core, each with a share of the modules. A top has one wide input and one wide
output; each port of each module has a slice of them, aligned to bytes. ``simulate`` writes the tops and all vectors as
files, runs ``cocotb_bench`` under cocotb, and reports mismatches with all fields. It then runs the first failing case
again, alone and with waves.
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
"""Verilator's output stays in one file: for several, the makefile of the PyPI package precompiles a header that the
compiler does not find.
"""

WAVES = {"icarus": f"build/{TOP}.fst", "verilator": "dump.vcd"}
"""Files of waves in a run's folder, as cocotb names them."""

WAVE_VECTORS = 1000
"""Largest number of vectors in the waves of a combinational module. The last of them is the first mismatch."""

Explain = Callable[[Mapping[str, int], Mapping[str, int], Mapping[str, int]], str]
"""From (inputs, got, expected), each a mapping of ports to values, to a sentence with fields and exact values."""


@dataclass(frozen=True)
class Case:
    """A module under test and its vectors.

    Parameters
    ----------
    name : str
        The module's name.
    verilog : str
        Text of the module.
    ports : mapping of str to int
        Width of each of its ports.
    inputs, outputs : mapping of str to array of unsigned integers
        Values of the inputs and expected values of the outputs: arrays of the same length. Ports of more than 64 bits
        have uint64 limbs on a last axis, little end first.
    explain : callable, optional
        Adds a sentence to the report of a mismatch.
    seed : int, optional
        Seed of the vectors.
    care : mapping of str to array of 0 and 1, optional
        For clocked modules, whose vectors depend on earlier ones: whether each vector's output is compared.
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
        ports = sorted([*self.inputs, *self.outputs])
        if sorted(self.ports) != ports:
            raise ValueError(f"{self.name}: ports are {sorted(self.ports)}, vectors are for {ports}")
        lengths = {name: len(values) for name, values in (self.inputs | self.outputs).items()}
        if len(set(lengths.values())) != 1 or not self.vectors:
            problem = f"must have the same number of vectors, at least one, not {lengths}"
            raise ValueError(f"{self.name}: all ports {problem}")

    @property
    def vectors(self) -> int:
        """The number of vectors."""
        return len(next(iter(self.inputs.values())))


def simulate(cases: Sequence[Case], folder: Path, simulator: str | None = None) -> None:
    """Simulate all cases at once and require that every output has its expected value.

    Parameters
    ----------
    cases : sequence of Case
        With different names.
    folder : Path
        Folder for the build and the vectors: a test's ``tmp_path``, or a folder under ``build/``.
    simulator : str, optional
        ``icarus`` or ``verilator``. Default: see `simulators.simulator`.

    Raises
    ------
    AssertionError
        If outputs differ, with the first mismatches of each module, a file of waves, the seed and a command that
        repeats the run; or if not all vectors were visited.
    """
    simulator = simulator or chosen_simulator()
    names = [case.name for case in cases]
    if len(set(names)) != len(names):
        raise ValueError(f"cases must have different names, not {names}")
    # a second Verilator build costs more time than a parallel simulation saves
    parts = len(os.sched_getaffinity(0)) if simulator == "icarus" else 1
    groups = [group for k in range(parts) if (group := cases[k * len(cases) // parts : (k + 1) * len(cases) // parts])]
    folders = [Path(folder).resolve() / f"bench_{simulator}_{k}" for k in range(len(groups))]
    environment = verilator_environment() if simulator == "verilator" else {}
    with mock.patch.dict(os.environ, environment), ThreadPoolExecutor(parts) as pool:
        complaints = [line for lines in pool.map(partial(_simulate, simulator), groups, folders) for line in lines]
        if complaints:
            complaints += _rerun_with_waves(simulator, cases, folders)
    assert not complaints, "\n".join([*complaints, repeat(cases, simulator)])


def repeat(cases: Sequence[Case], simulator: str) -> str:
    """Return a command line that repeats the run."""
    seeds = {case.seed for case in cases if case.seed is not None}
    settings = [*(f"SEED={seed}" for seed in sorted(seeds)), f"SIM={simulator}"]
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" ", 1)[0]
    command = ["-m", "pytest", test] if test else sys.argv
    return f"repeat with: {' '.join(settings)} .venv/bin/python {shlex.join(command)}"


def _rerun_with_waves(simulator: str, cases: Sequence[Case], folders: Sequence[Path]) -> list[str]:
    """Run the first failing case again with waves, up to its first mismatch; return a line that names their file."""
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
    case = replace(case, inputs=inputs, outputs=outputs, care=care or None)
    complaints = _simulate(simulator, [case], folder, waves=True)
    file = folder / WAVES[simulator]
    line = f"waves of {case.name}, vectors {start} to {end - 1}, each for one unit of time: {file}"
    return [line] if file.exists() else ["there are no waves:", *complaints]


def _simulate(simulator: str, cases: Sequence[Case], folder: Path, waves: bool = False) -> list[str]:
    """Simulate under one top; return the lines of the complaints."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").unlink(missing_ok=True)
    _write(cases, folder)
    runner = get_runner(simulator)
    _lend_runtime(folder / "build", waves)
    try:
        runner.build(
            sources=[folder / f"{name}.v" for name in (TOP, *(case.name for case in cases))],
            hdl_toplevel=TOP,
            build_dir=folder / "build",
            build_args=BUILD_ARGUMENTS[simulator],
            always=True,
            waves=waves,
            log_file=folder / "build.log",
        )
    except RuntimeError:
        return ["the build failed", *_tail(folder / "build.log")]
    _keep_runtime(folder / "build", waves)
    xml = folder / "results.xml"
    with contextlib.suppress(SystemExit):  # under pytest the runner exits if a test fails
        runner.test(
            test_module="rtl_tests.support.cocotb_bench",
            hdl_toplevel=TOP,
            test_dir=folder,
            results_xml=str(xml),
            extra_env={"BENCH_FOLDER": str(folder)},
            waves=waves,
            log_file=folder / "test.log",
        )
    if not (folder / "results.json").exists():
        return ["the simulation ended before all vectors were driven", *_tail(folder / "test.log")]
    complaints = complaints_about(cases, json.loads((folder / "results.json").read_text()))
    tests, failures = get_results(xml)
    if not complaints and (tests == 0 or failures):
        return [f"cocotb reports {failures} failures in {tests} tests", *_tail(folder / "test.log")]
    return complaints


_RUNTIME: dict[bool, list[tuple[str, bytes]]] = {}
"""Object files of Verilator's runtime, with and without waves. They are the same in all builds, and slow to compile.
Lent to later builds.
"""


def _keep_runtime(build: Path, waves: bool) -> None:
    objects = sorted(build.glob("verilated*.o"))
    if objects:
        _RUNTIME.setdefault(waves, [(file.name, file.read_bytes()) for file in objects])


def _lend_runtime(build: Path, waves: bool) -> None:
    build.mkdir(exist_ok=True)
    for name, content in _RUNTIME.get(waves, ()):
        (build / name).write_bytes(content)
        # newer than the makefile on which they depend, which is written later
        os.utime(build / name, (time.time() + 3600,) * 2)


def _tail(log: Path) -> list[str]:
    return log.read_text(errors="replace").splitlines()[-30:] if log.exists() else []


def complaints_about(cases: Sequence[Case], results: Mapping) -> list[str]:
    """Return the lines of the complaints about ``results`` of `cocotb_bench`; none if all vectors passed."""
    lines = []
    for case in cases:
        visited = min(results["steps"], case.vectors)
        if visited != case.vectors:
            lines.append(f"{case.name}: {visited} of {case.vectors} vectors were visited")
        if bad := results["bad"].get(case.name):
            seed = "" if case.seed is None else f" (seed {case.seed})"
            lines.append(f"{case.name}: {bad} of {case.vectors} vectors differ{seed}")
            mismatches = (item for item in results["mismatches"] if item["case"] == case.name)
            lines += [_describe(case, item["index"], item["got"]) for item in mismatches]
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
    """Values with zeros where ``care`` is 0."""
    shaped = care.reshape(-1, *(1,) * (values.ndim - 1))
    return np.where(shaped, values, 0).astype(values.dtype)


def _bytes(case: Case, port: str, width: int, values: NDArray) -> NDArray[np.uint8]:
    """One row per vector: the port's value in whole bytes, little end first."""
    limbs = np.asarray(values)
    if limbs.ndim == 1:
        limbs = limbs[:, None]
    count, size = len(limbs), (width + 7) // 8
    if not np.issubdtype(limbs.dtype, np.unsignedinteger) or limbs.shape[1] != (width + 63) // 64:
        problem = f"must be unsigned integers, in uint64 limbs above 64 bits, not {limbs.dtype}{limbs.shape}"
        raise ValueError(f"{case.name}: values of {width} bits for {port} {problem}")
    rows = np.ascontiguousarray(limbs.astype("<u8")).view(np.uint8).reshape(count, -1)
    if rows[:, size:].any() or (width % 8 and (rows[:, size - 1] >> (width % 8)).any()):
        raise ValueError(f"{case.name}: a value for {port} has more than {width} bits")
    return rows[:, :size]


def _write(cases: Sequence[Case], folder: Path) -> None:
    """Write the modules, the top, the vectors, and the plan that assigns slices to ports for `cocotb_bench`."""
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
        buses = (("stimulus", {**case.inputs, **flags}, stimuli), ("response", expected, responses))
        for bus, vectors, columns in buses:
            for port, values in vectors.items():
                width = case.ports.get(port, 1)
                rows = _bytes(case, port, width, values)
                padding = np.repeat(rows[-1:], steps - len(rows), axis=0)  # a shorter case repeats its last vector
                columns.append(np.concatenate([rows, padding]))
                slot[bus][port] = [8 * sizes[bus], width]
                sizes[bus] += rows.shape[1]
        slots.append({"name": case.name, "vectors": case.vectors, "outputs": slot["response"]})
        connections = []
        for bus, ports in slot.items():
            for port, (low, width) in ports.items():
                if bus == "response" and port in care:
                    net, flag = f"net_{index}_{port}", slot["stimulus"][CARE + port][0]
                    masked = f"{net} & {{{width}{{stimulus[{flag}]}}}}"
                    instances.append(f"  wire [{width - 1}:0] {net};")
                    instances.append(f"  assign response[{low + width - 1}:{low}] = {masked};")
                    connections.append(f".{port}({net})")
                elif port in case.ports:
                    connections.append(f".{port}({bus}[{low + width - 1}:{low}])")
        unused = [(low + width, -width % 8) for low, width in slot["response"].values() if width % 8]
        instances.append(f"  {case.name} dut_{index} ({', '.join(connections)});")
        instances += [f"  assign response[{low + width - 1}:{low}] = {width}'b0;" for low, width in unused]
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
