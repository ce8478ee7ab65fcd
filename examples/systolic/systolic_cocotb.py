"""cocotb tests of the systolic array: a model checks each processing element, and golden the product."""

import os
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

import golden
from hwgen.cocotb import PeModel

ELEMENTS = ("pe_00", "pe_01", "pe_10", "pe_11")
FORMAT = "ocp_e4m3"


async def start(dut: Any) -> list[PeModel]:
    """Start the clock and the models, and reset the array."""
    models = [PeModel(getattr(dut, name), FORMAT, clock=dut.clk) for name in ELEMENTS]
    cocotb.start_soon(Clock(dut.clk, 2, "step").start())
    for model in models:
        cocotb.start_soon(model.watch())
    for name in ("clear", "enable", "a", "b"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    for _ in range(2):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    return models


def word(codes: np.ndarray) -> int:
    """Two codes as a word, the first in the low bits."""
    return int(codes[0]) | int(codes[1]) << 8


async def multiply(dut: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Drive matrices of codes, (2, K) and (K, 2); return the bits of the array's product."""
    for k in range(a.shape[1]):
        await FallingEdge(dut.clk)
        dut.clear.value, dut.enable.value = int(k == 0), 1
        dut.a.value, dut.b.value = word(a[:, k]), word(b[k])
    await FallingEdge(dut.clk)
    dut.clear.value, dut.enable.value = 0, 0
    for _ in range(3):
        await FallingEdge(dut.clk)
    bits = dut.c.value.to_unsigned()
    return np.array([bits >> 16 * place & 0xFFFF for place in range(4)], np.uint16).reshape(2, 2)


@cocotb.test()
async def products_of_random_matrices(dut: Any) -> None:
    """Matrices of moderate numbers, whose sums are rounded now and then, and matrices of any codes."""
    models = await start(dut)
    rng = np.random.default_rng(int(os.environ.get("SEED", "1")))
    fmt = golden.get(FORMAT)
    moderate = np.flatnonzero(np.abs(fmt.values) <= 8)
    for number in range(40):
        codes = moderate if number % 2 else np.arange(256)
        length = int(rng.integers(1, 12))
        a, b = rng.choice(codes, (2, length)).astype(np.uint8), rng.choice(codes, (length, 2)).astype(np.uint8)
        expected = golden.dot(a[:, np.newaxis, :], b.T[np.newaxis, :, :], FORMAT)
        got = await multiply(dut, a, b)
        assert np.array_equal(got, expected), f"{a} times {b} is {got}, expected {expected}"
    for model in models:
        model.check(at_least=400)
