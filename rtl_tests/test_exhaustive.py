"""Every case of a MAC into a 16-bit accumulator: all pairs of codes times all accumulators, on the gates that Yosys makes of the Verilog.

A product is held constant while the accumulator runs through all its values as bit planes; golden is asked once for each distinct
product.
"""

import re

import numpy as np
import pytest

import golden
from golden.explain import describe
from hwgen import build
from rtl_tests import vectors
from rtl_tests.blocks import texts
from synth.netlist import Netlist, from_planes, to_planes

EIGHT_BITS = [name for name in golden.names() if golden.get(name).width == 8]
ACCUMULATORS = np.arange(1 << 16, dtype=np.uint32)


def distinct_products(fmt):
    """All pairs of codes, sorted by product, and where each product that golden can tell from the others begins."""
    a, b = (codes.astype(np.int64) for codes in vectors.pairs(fmt, fmt))
    with np.errstate(invalid="ignore"):
        value = fmt.values[a] * fmt.values[b]
    pattern = np.where(np.isnan(value), np.nan, value).view(np.uint64).astype(object)
    sign = (a ^ b) >> (fmt.width - 1)
    key = np.array([int(p) << 1 | int(s) for p, s in zip(pattern, sign, strict=True)], object)
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], key[order][1:] != key[order][:-1]]))
    return a[order], b[order], starts


def sweep(fmt, verilog, top, accumulator):
    """Number of cases that were visited; AssertionError with the first that differs."""
    netlist = Netlist(verilog, top)
    assert list(netlist.inputs) == ["a", "b", "acc_in"]
    width = fmt.width
    planes = np.zeros((2 * width + 16, 1 << 10), np.uint64)
    planes[2 * width :] = to_planes(ACCUMULATORS, 16)
    a, b, starts = distinct_products(fmt)
    visited = 0
    for start, stop in zip(starts, [*starts[1:], a.size], strict=True):
        expected = golden.mac(a[start], b[start], ACCUMULATORS, fmt, accumulator=accumulator)
        expected_planes = to_planes(expected, 16)
        for left, right in zip(a[start:stop].tolist(), b[start:stop].tolist(), strict=True):
            for bit in range(width):
                planes[bit] = np.uint64(0xFFFFFFFFFFFFFFFF) if left >> bit & 1 else np.uint64(0)
                planes[width + bit] = np.uint64(0xFFFFFFFFFFFFFFFF) if right >> bit & 1 else np.uint64(0)
            if netlist.compare(planes, expected_planes) is not None:
                got = from_planes(netlist.evaluate(planes), 1 << 16)
                acc = int(np.flatnonzero(got != expected)[0])
                fields = f"a {describe(fmt, left)}; b {describe(fmt, right)}; acc_in {acc:#06x}"
                raise AssertionError(f"{top}: {fields}: acc_out {got[acc]:#06x}, golden {expected[acc]:#06x}")
            visited += 1 << 16
    return visited


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", EIGHT_BITS)
def test_every_case_into_binary16(name):
    design = build.mac(name)
    assert sweep(golden.get(name), texts([design])[design.name], design.name, "binary16") == 1 << 32


@pytest.mark.exhaustive
@pytest.mark.parametrize("accumulator", ["bfloat16", "dlfloat16"])
@pytest.mark.parametrize("name", ["hif8", "e5m2b1", "ocp_e4m3"])
def test_every_case_into_other_accumulators(name, accumulator):
    design = build.mac(name, accumulator=accumulator)
    assert sweep(golden.get(name), texts([design])[design.name], design.name, accumulator) == 1 << 32


def test_a_real_fault_is_found():
    """The twin: a MAC whose accumulator's sign goes wrong in one place must fail, in a sentence with fields."""
    design = build.mac("hif8")
    text = texts([design])[design.name]
    broken = re.sub(r"(wire adder__acc_leads = )([^;]+);", r"\1(\2) & ~acc_in[3];", text, count=1)
    assert broken != text
    with pytest.raises(AssertionError, match=r"^hif8_mac_binary16: a 0x\w\w = sign .*; b 0x.*; acc_in 0x\w{4}: acc_out 0x\w{4}, golden 0x"):
        sweep(golden.get("hif8"), broken, design.name, "binary16")
