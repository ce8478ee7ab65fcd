"""The model of a tile: it agrees with the tile cycle by cycle, and finds a fault."""

import re
import shutil

import pytest

from hwgen.simulate.simulators import SIMULATORS, available
from hwgen.tile.block import TILE
from rtl_tests.hwgen.cocotb.test_models import run
from rtl_tests.support.blocks import texts
from rtl_tests.support.optional import NEEDS_ICARUS
from rtl_tests.support.paths import ROOT
from rtl_tests.support.selection import exhaustive

DESIGN = TILE.design("e2m1", rows=2, columns=2, accumulator="exact", terms=16)
BENCH = """
import cocotb, numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from hwgen.cocotb import TileModel

@cocotb.test()
async def all_wait(dut):
    model = TileModel(dut, "e2m1", rows=2, columns=2, accumulator="exact", terms=16, clock=dut.clk)
    cycles = model.reference.sequence("all wait", 200, np.random.default_rng(1))
    inputs = [port.name for port in model.design.ports if port.direction == "input" and port.name != "clk"]
    model.put(**{name: cycles[0][name] for name in inputs})
    cocotb.start_soon(Clock(dut.clk, 10, "step").start(start_high=False))
    cocotb.start_soon(model.watch())
    await model.drive({name: cycle[name] for name in inputs} for cycle in cycles[1:])
    await Timer(5, "step")
    assert model.products > 5
    model.check(500)
"""


@NEEDS_ICARUS
@pytest.mark.parametrize(("right", "wrong", "failures"), [("", "", 0), (".a(a_1[3:0])", ".a(~a_1[3:0])", 1)])
def test_the_model_agrees_with_the_tile_and_finds_a_fault(right, wrong, failures, tmp_path):
    text = texts([DESIGN])[DESIGN.name]
    assert right in text
    (tmp_path / "tile.v").write_text(text.replace(right, wrong) if right else text)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "tile_bench.py").write_text(BENCH)
    tests, found, log = run([tmp_path / "tile.v"], DESIGN.name, "tile_bench", folder)
    assert (tests, found) == (1, failures), log


STREAMED = TILE.design("ocp_e4m3", rows=4, columns=4, accumulator="exact", target="binary32")
"""The tile of examples/tile."""
FAULTS = {
    "": ("", ""),
    "a wrong bit": (".a(a_2[7:0])", ".a(a_2[7:0] ^ 8'h01)"),
    "a lost beat": ("      valid_1 <= enable_0;", "      valid_1 <= enable_0 & ~first_0;"),
    "a lost row": ("  wire read = due & ~waits;", "  wire read = due & ~waits & ~row[2];"),
    "a swapped pair": ("result_2, result_1,", "result_1, result_2,"),
}


@pytest.mark.parametrize(
    ("simulator", "fault"),
    [("icarus", ""), ("icarus", "a lost beat"), *(exhaustive(name, fault) for name in SIMULATORS for fault in FAULTS)],
)
def test_sources_and_a_sink(simulator, fault, tmp_path):
    """The bench of the example passes, and fails on each fault."""
    if simulator not in available():
        pytest.skip(f"{simulator} is not installed")
    right, wrong = FAULTS[fault]
    text = texts([STREAMED])[STREAMED.name]
    assert right in text
    (tmp_path / "tile.v").write_text(text.replace(right, wrong) if fault else text)
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy(ROOT / "examples" / "tile" / "tile_cocotb.py", folder)
    tests, failures, log = run([tmp_path / "tile.v"], STREAMED.name, "tile_cocotb", folder, simulator)
    assert (tests, failures) == (1, int(fault != "")), log
    # without its first beat a row is never cleared, and a simulator with X shows it
    assert not fault or re.search(r"outputs were wrong|Arrays are not equal|Timeout|non-0/1 values", log), log
