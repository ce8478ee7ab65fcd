"""Sources and targets whose ranges hardly meet, and operands of one bit, on the gates for all inputs."""

import pytest

from hwgen.blocks.catalog import build
from rtl_tests.support.selection import one_of_each
from rtl_tests.synth.proof.test_exhaustive import check
from synth.proof.evidence import EQUAL

ABOVE = {
    "codes": ("encoder", "gc_1_5_2_b33", {"source": "ocp_e4m3"}),
    "codes to NaN": ("encoder", "gc_1_5_2_b33", {"source": "Binary3p2sf", "overflow": "nan", "flags": True}),
    "codes far above": ("encoder", "e2m1", {"source": "gc_1_4_3_bm20"}),
    "codes to odd": ("encoder", "e5m2b1", {"source": "gc_1_4_3_bm20", "rounding": "to_odd", "flags": True}),
    "codes, at random": (
        "encoder", "hif8", {"source": "gc_1_4_3_bm40", "rounding": "stochastic_c", "random_bits": 3, "flags": True}
    ),
    "half precision": ("encoder", "gc_1_4_3_b60", {"source": "binary16"}),
    "half precision, away": ("encoder", "gc_1_4_3_b60", {"source": "binary16", "rounding": "ties_to_away"}),
    "half precision, down": (
        "encoder", "gc_1_4_3_b60", {"source": "binary16", "rounding": "toward_negative", "flags": True}
    ),
    "codes to half precision": ("decoder", "gc_1_4_3_bm80", {"target": "binary16"}),
    "codes to dlfloat16": ("decoder", "gc_1_4_3_bm80", {"target": "dlfloat16"}),
    "sums": ("readout", "gc_1_4_3_bm80", {"target": "hif8", "terms": 4}),
    "sums to no zero": ("readout", "gc_1_4_3_bm80", {"target": "e8m0", "terms": 4}),
    "sums to no zero, saturated": (
        "readout", "gc_1_4_3_bm80", {"target": "e8m0", "terms": 4, "overflow": "saturate"}
    ),
}  # fmt: skip
"""Blocks whose source has numbers above the target's range only, or whose zero has such an exponent."""


@pytest.mark.parametrize("name", one_of_each(lambda name: (ABOVE[name][0], *ABOVE[name][2]), ABOVE))
def test_zero_stays_zero_below_a_range_of_large_numbers(name):
    block, fmt, options = ABOVE[name]
    evidence = check(build(block, fmt, **options))
    assert (evidence.verdict, evidence.counterexamples) == (EQUAL, [])


SINGLE_BITS = {
    "exact mac": ("mac", "Binary3p1uf", {"accumulator": "exact", "terms": 4}),
    "exact mac with infinities": ("mac", "Binary3p1se", {"accumulator": "exact", "terms": 4}),
    "dot product": ("dot", "Binary3p1sf", {"lanes": 1}),
    "mac": ("mac", "Binary3p1ue", {"accumulator": "binary16"}),
}


@pytest.mark.parametrize("name", SINGLE_BITS)
def test_operands_of_precision_1(name):
    block, fmt, options = SINGLE_BITS[name]
    assert check(build(block, fmt, **options)).verdict == EQUAL
