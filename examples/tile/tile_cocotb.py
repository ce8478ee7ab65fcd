"""cocotb bench of a tile: sources and a sink of cocotbext-axi, which wait at times; the model checks each cycle.

The test's module is the tile that accelerator.v instantiates.
"""

from collections.abc import Iterator

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiStreamBus, AxiStreamSink, AxiStreamSource

import golden
from hwgen.cocotb import TileModel

FORMAT, ROWS, COLUMNS = "ocp_e4m3", 4, 4
LENGTHS = (64, 1, 3, 17, 1, 1, 5)
"""Beats of the products."""


def waits(rng: np.random.Generator, share: float) -> Iterator[bool]:
    """Whether a stream waits, cycle by cycle."""
    while True:
        yield bool(rng.random() < share)


@cocotb.test(timeout_time=20_000, timeout_unit="step")
async def products(dut):
    """Products in a row; the sink waits in half of the cycles."""
    options = {"rows": ROWS, "columns": COLUMNS, "accumulator": "exact", "target": "binary32"}
    model = TileModel(dut, FORMAT, clock=dut.clk, **options)
    unit, rng = model.design.core.exact, np.random.default_rng(1)
    ends = (("a", AxiStreamSource, ROWS, 0.3), ("b", AxiStreamSource, COLUMNS, 0.3), ("y", AxiStreamSink, COLUMNS, 0.5))
    streams = []
    for name, kind, elements, share in ends:
        stream = kind(AxiStreamBus.from_prefix(dut, name), dut.clk, dut.rst, byte_lanes=elements)
        stream.set_pause_generator(waits(rng, share))
        streams.append(stream)
    left, right, rows = streams
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 10, "step").start())
    cocotb.start_soon(model.watch())
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    expected = []
    for count in LENGTHS:
        a, b = rng.integers(0, 256, (ROWS, count)), rng.integers(0, 256, (count, COLUMNS))
        await left.send(a.T.ravel().tolist())  # a beat for each column of A
        await right.send(b.ravel().tolist())
        sums = golden.matmul(a, b, FORMAT, accumulator="exact", terms=unit.terms)
        expected.append(unit.encode(sums, "binary32"))
    for product in expected:
        frame = await rows.recv()
        np.testing.assert_array_equal(frame.tdata, product.ravel())
    assert model.products == len(LENGTHS)
    model.check(at_least=500)
