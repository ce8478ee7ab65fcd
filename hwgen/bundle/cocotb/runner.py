"""Runs the cocotb tests of this folder: ``pytest`` here, with ``SIM=icarus`` (the default) or ``SIM=verilator``."""

import os
from pathlib import Path

from cocotb_tools.runner import get_results, get_runner

HERE = Path(__file__).resolve().parent
NAME = Path(__file__).stem.removeprefix("test_")


def test_the_module() -> None:
    """Build the module, run all tests, and require that there are tests and none fails."""
    runner = get_runner(os.environ.get("SIM", "icarus"))
    build = HERE / f"sim_build_{os.environ.get('SIM', 'icarus')}"
    runner.build(sources=[HERE.parents[1] / f"{NAME}.v"], hdl_toplevel=NAME, build_dir=build, always=True)
    results = runner.test(test_module=f"{NAME}_cocotb", hdl_toplevel=NAME, test_dir=HERE)
    tests, failures = get_results(results)
    if not tests or failures:  # no assertion: it vanishes under PYTHONOPTIMIZE
        raise AssertionError(f"{failures} of {tests} tests failed")


if __name__ == "__main__":
    test_the_module()
