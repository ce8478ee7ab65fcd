"""Simulation in tests: the product's engine, with the simulator and the seed of the environment."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from hwgen.simulate import engine
from hwgen.simulate.case import Case
from hwgen.simulate.simulators import SIMULATORS, available

DEFAULT_SEED = 20250101


def simulate(cases: Sequence[Case], folder: Path, simulator: str | None = None) -> None:
    """Simulate all cases at once and require that every output has its expected value.

    Raises
    ------
    AssertionError
        If outputs differ, with the first mismatches of each module, a file of waves, the seed and a command that
        repeats the run; or if not all vectors were visited.
    """
    simulator = simulator or chosen_simulator()
    outcome = engine.simulate(cases, folder, simulator)
    assert not outcome.complaints, "\n".join([*outcome.complaints, repeat(cases, simulator)])


def repeat(cases: Sequence[Case], simulator: str) -> str:
    """Return a command line that repeats the run."""
    seeds = {case.seed for case in cases if case.seed is not None}
    settings = [*(f"SEED={seed}" for seed in sorted(seeds)), f"SIM={simulator}"]
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" ", 1)[0]
    command = ["-m", "pytest", test] if test else sys.argv
    return f"repeat with: {' '.join(settings)} .venv/bin/python {shlex.join(command)}"


def chosen_simulator() -> str:
    """Return the simulator in ``SIM``. Default: Icarus if installed, else Verilator."""
    name = os.environ.get("SIM") or next(iter(available()), SIMULATORS[-1])
    if name not in SIMULATORS:
        raise ValueError(f"SIM must be one of {', '.join(SIMULATORS)}, not {name!r}")
    if name not in available():
        raise ValueError(f"SIM={name} is not installed")
    return name


def seed() -> int:
    """Return the seed of random vectors: the value of ``SEED``, by default a constant."""
    text = os.environ.get("SEED") or str(DEFAULT_SEED)
    if not text.isdecimal():
        raise ValueError(f"SEED must be a non-negative integer, not {text!r}")
    return int(text)
