"""Simulation of modules against expected outputs: many modules under one top, so that a simulator builds once.

Icarus builds quickly and gets one top per core, each with a share of the modules. :func:`simulate` writes the tops and
all vectors as files, runs ``inside/hwgen_compare.py`` under cocotb, and reports mismatches with all fields. It can run
the first failing case again, alone and with waves.
"""

import json
import os
import re
import signal
import sys
import sysconfig
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hwgen.simulate.case import TOP, VECTOR_STEPS, Case, write_bench
from hwgen.simulate.simulators import environment, verilator_environment

INSIDE = str(Path(__file__).parent / "inside")
ENTRIES = (
    "cocotb.logging:_configure",
    "cocotb._init:init_package_from_simulation",
    "hwgen_compare:close_folder",
    "cocotb.regression:_run_regression",
)
"""Functions that start Python in the simulator: cocotb's, and ours before the user's folder is on the path."""
BUILD_ARGUMENTS = {
    "icarus": ("-Wportbind",),
    "verilator": ("-CFLAGS", "-O0", "--output-split", "0", "-Wno-fatal"),
}
"""Verilator's output stays in one file: for several, the makefile of the PyPI package precompiles a header that the
compiler does not find.
"""

WAVES = {"icarus": f"build/{TOP}.fst", "verilator": "dump.vcd"}
"""Files of waves in a run's folder, as cocotb names them."""

WAVE_VECTORS = 1000
"""Largest number of vectors in the waves of a combinational module. The last of them is the first mismatch."""

LIMIT = 60.0
"""Seconds of processor time after which a simulation without progress is ended: its module does not settle."""

SHOWN = 5
"""Mismatches of each class that the complaints have."""

Tick = Callable[[int], None]
"""Called with the number of simulated vectors, from another thread."""


@dataclass(frozen=True)
class Outcome:
    """What a simulation found."""

    complaints: tuple[str, ...]
    """Lines about vectors that differ or were not visited; none if all are right."""
    built: bool
    """Whether the simulator accepted all modules."""
    junit: tuple[Path, ...]
    """Files of results in JUnit's XML, written by cocotb: a file for each top, in which each class is a test."""
    seconds: float
    """Time that the simulation of the vectors took, without build and start."""
    complete: bool = False
    """Whether all vectors were driven."""
    waves: Path | None = None
    """File of waves, if they were asked for and a case failed."""


def simulate(
    cases: Sequence[Case],
    folder: Path,
    simulator: str,
    *,
    waves: bool = True,
    tick: Tick | None = None,
    shown: int = SHOWN,
) -> Outcome:
    """Simulate all cases at once in a folder, and compare every output with its expected value.

    Cases have different names; one with a folder of its own must be the only one. With ``waves`` the first case that
    fails runs again, and writes them. ``tick`` reports progress of a single case. The complaints have up to ``shown``
    mismatches of each class.
    """
    names = [case.name for case in cases]
    if len(set(names)) != len(names):
        raise ValueError(f"cases must have different names, not {names}")
    if len(cases) > 1 and any(case.folder for case in cases):
        raise ValueError("a case with a folder must be the only case")
    # a second Verilator build costs more time than a parallel simulation saves
    parts = len(os.sched_getaffinity(0)) if simulator == "icarus" and len(cases) > 1 else 1
    groups = [group for k in range(parts) if (group := cases[k * len(cases) // parts : (k + 1) * len(cases) // parts])]
    folders = [Path(folder).resolve() / f"bench_{simulator}_{k}" for k in range(len(groups))]
    changes = verilator_environment() if simulator == "verilator" else {}
    with environment(changes), _importable(INSIDE):
        run = partial(_simulate, simulator, tick=tick, shown=shown)
        if len(groups) == 1:
            runs = [run(groups[0], folders[0])]  # in this thread, which an interrupt reaches
        else:
            with ThreadPoolExecutor(len(groups)) as pool:
                runs = list(pool.map(run, groups, folders))
        complaints = [line for run in runs for line in run.complaints]
        junit, seconds = tuple(path for run in runs for path in run.junit), max(run.seconds for run in runs)
        built, complete = all(run.built for run in runs), all(run.complete for run in runs)
        lines, file = _with_waves(simulator, cases, folders) if complaints and waves else ([], None)
    return Outcome((*complaints, *lines), built, junit, seconds, complete, file)


@contextmanager
def _importable(folder: str) -> Iterator[None]:
    """Put a folder, Python's modules and cocotb first on the path of Python in the simulator: that of this process."""
    before, spec, standard = [*sys.path], find_spec("cocotb"), sysconfig.get_path("stdlib")
    assert spec is not None
    assert spec.origin is not None
    ours = [folder, standard, f"{standard}/lib-dynload", str(Path(spec.origin).parents[1])]
    sys.path[:] = [*ours, *filter(None, before)]
    try:
        yield
    finally:
        sys.path[:] = before


def _with_waves(simulator: str, cases: Sequence[Case], folders: Sequence[Path]) -> tuple[list[str], Path | None]:
    """Run the first failing case again with waves, up to its first mismatch; return a line that names their file."""
    results = [json.loads(file.read_bytes()) for folder in folders if (file := folder / "results.json").exists()]
    first = {item["case"]: item["index"] for result in results for item in reversed(result["mismatches"])}
    case = next((case for case in cases if case.name in first), None)
    if case is None:
        return [], None
    index = first[case.name]
    start = case.class_at(index)[1] if case.care else max(0, index + 1 - WAVE_VECTORS)
    folder = folders[0].with_name(f"waves_{simulator}")
    run = _simulate(simulator, [case.part(start, index + 1)], folder, waves=True)
    file = folder / WAVES[simulator]
    if not file.exists():
        return ["there are no waves:", *run.complaints], None
    size = case.per_cycle
    span = f"{case.unit}s {start // size} to {index // size}, each for {size * VECTOR_STEPS} steps of time"
    return [f"waves of {case.name}, {span}: {file}"], file


def _simulate(
    simulator: str,
    cases: Sequence[Case],
    folder: Path,
    waves: bool = False,
    tick: Tick | None = None,
    shown: int = SHOWN,
) -> Outcome:
    """Simulate under one top."""
    from cocotb_tools.runner import get_results, get_runner

    folder.mkdir(parents=True, exist_ok=True)
    results, xml = folder / "results.json", folder / "results.xml"
    for old in (results, xml, folder / "progress", folder / WAVES[simulator]):
        old.unlink(missing_ok=True)
    sources = write_bench(cases, folder)
    runner = get_runner(simulator)
    _lend_runtime(folder / "build", waves)
    try:
        runner.build(
            sources=sources,
            includes=[case.folder for case in cases if case.folder],
            hdl_toplevel=TOP,
            build_dir=folder / "build",
            build_args=BUILD_ARGUMENTS[simulator],
            always=True,
            waves=waves,
            log_file=folder / "build.log",
        )
    except RuntimeError:
        return Outcome(("the build failed", *tail(folder / "build.log")), built=False, junit=(), seconds=0.0)
    other = other_ports(folder / "build.log", TOP)
    other += open_outputs(folder / "build" / "sim.vvp", TOP, [case.ports for case in cases])
    if other:
        return Outcome(("the module has other ports", *other), built=False, junit=(), seconds=0.0)
    _keep_runtime(folder / "build", waves)
    failure, seconds, complete = "", 0.0, False
    with _watched(folder / "progress", tick):
        try:
            runner.test(
                test_module="hwgen_compare",
                hdl_toplevel=TOP,
                test_dir=cases[0].folder or folder,
                # in Icarus, $stop ends the simulation instead of asking at the terminal
                test_args=["-n"] if simulator == "icarus" else ["--trace-file", str(folder / WAVES[simulator])],
                results_xml=str(xml),
                extra_env={"BENCH_FOLDER": str(folder), "BENCH_LIMIT": str(LIMIT), "PYGPI_USERS": ",".join(ENTRIES)},
                waves=waves,
                log_file=folder / "test.log",
            )
        except RuntimeError as error:
            failure = str(error)  # ends with the simulator's exit status
    junit = (xml,) if xml.exists() else ()
    if failure.endswith(f" {-signal.SIGPROF}"):
        complaints = [_unsettled(cases, int((folder / "progress").read_bytes()))]
    elif not results.exists() or not junit:
        complaints = ["the simulation ended before all vectors were driven", *tail(folder / "test.log")]
    else:
        found = json.loads(results.read_bytes())
        complaints, seconds = complaints_about(cases, found, shown), found["seconds"]
        complete = found["steps"] == max(case.vectors for case in cases)
        tests, failures = get_results(xml)
        if not complaints and (tests == 0 or failures or failure):
            complaints = [f"cocotb reports {failures} failures in {tests} tests", *tail(folder / "test.log")]
    if complaints:
        complaints += unread_files(folder / "test.log")
    return Outcome(tuple(complaints), True, junit, seconds, complete)


@contextmanager
def _watched(file: Path, tick: Tick | None) -> Iterator[None]:
    """Call ``tick`` with the numbers that the simulation writes to a file."""
    if tick is None:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            if file.exists() and (text := file.read_bytes()):
                tick(int(text))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


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


def _unsettled(cases: Sequence[Case], first: int) -> str:
    """The complaint about a simulation without progress since the vector ``first``."""
    case = cases[0]
    name = case.class_at(first)[0] if len(cases) == 1 else ""
    place = f"{case.unit} {first // case.per_cycle}" + (f" of class {name}" if name else "")
    problem = f"needed more than {LIMIT:.0f} seconds of processor time, as a loop without delay does"
    return f"{', '.join(case.name for case in cases)}: what follows {place} {problem}"


def complaints_about(cases: Sequence[Case], results: Mapping[str, Any], shown: int = SHOWN) -> list[str]:
    """Return the lines of the complaints about the results of ``hwgen_compare``; none if all vectors passed."""
    lines = []
    for case in cases:
        visited, size = min(results["steps"], case.vectors), case.per_cycle
        if visited != case.vectors:
            lines.append(f"{case.name}: {visited // size} of {case.vectors // size} {case.unit}s were visited")
        seed = "" if case.seed is None else f" (seed {case.seed})"
        first = 0
        parts = [*case.classes.items()] if len(cases) == 1 else []
        for bad, (name, count) in zip(results["bad"], parts or [("", case.vectors)], strict=False):
            if case.name in bad:
                label = f", class {name}" if name else ""
                mismatches = (item for item in results["mismatches"] if item["case"] == case.name)
                here = [item for item in mismatches if first <= item["index"] < first + count]
                kinds = Counter(kind for item in here for kind in case.kinds_of(item["index"], item["got"]))
                among = f"among the first {len(here)} " if len(here) < bad[case.name] else ""
                listed = ", ".join(f"{kind} {number}" for kind, number in kinds.most_common())
                line = f"{case.name}{label}: {bad[case.name]} of {count // size} {case.unit}s differ{seed}"
                lines.append(line + (f": {among}{listed}" if case.kinds and listed else ""))
                lines += [case.describe(item["index"], item["got"]) for item in here[:shown]]
            first += count
    return lines


# -- what the logs of simulators say


def other_ports(log: Path, top: str) -> list[str]:
    """Warnings about ports that the file of the bench's top does not connect, or connects in another width.

    Both simulators only warn, cut off or extend the value, and leave an input open.
    """
    here = re.compile(rf"{top}\.v:.*(expects|dangling|pin)|PINMISSING.*{top}\.v:")
    return [line for line in _log_lines(log) if "arning" in line and here.search(line)]


def open_outputs(compiled: Path, top: str, known: Sequence[Collection[str]]) -> list[str]:
    """Sentences on outputs that the top leaves open, which Icarus does without a warning.

    ``compiled`` is what Icarus made; ``known`` has the ports that the top connects of its instances ``dut_0``, ...
    """
    found, tops, number = [], set(), None
    for line in _log_lines(compiled):
        if scope := re.match(r'(\w+) \.scope \w+, "(.*?)" "(.*?)" [^,;]*(?:,[^,;]*, (\w+))?;', line):
            name, module, parent = scope.group(2, 3, 4)
            tops |= {scope[1]} if parent is None and name == top else set()
            number = int(name[4:]) if parent in tops and re.fullmatch(r"dut_\d+", name) else None
        elif number is not None:
            port = re.match(r' +\.port_info \d+ /(\w+) \d+ "(.*)";', line)
            if port and port[2] not in known[number]:
                found.append(f"{module} has the {port[1].lower()} {port[2]}, which is not connected")
    return found


def unread_files(log: Path) -> list[str]:
    """Messages about files of ``$readmemh`` or ``$readmemb`` that cannot be read."""
    return [line for line in _log_lines(log) if "$readmem" in line]


def tail(log: Path) -> list[str]:
    """The last lines."""
    return _log_lines(log)[-30:]


def _log_lines(log: Path) -> list[str]:
    """All lines; none if the simulator has not started."""
    return log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
