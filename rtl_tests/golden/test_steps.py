"""Classes of binary32 inputs by which sweeps ask golden: upper halves of one class have the same codes and flags, by
their definition.
"""

from itertools import product

import numpy as np
import pytest

import golden
from golden.encode import by_upper_half
from golden.flags import of_conversion
from golden.options import options
from golden.rounding import encode_directly
from rtl_tests.support.paper_tables import CATALOGUE

SEED = 20241
LOWER = np.array(
    [0, 1, 2, 0x1FFF, 0x2000, 0x2001, 0x3FFF, 0x4000, 0x7FFF, 0x8000, 0x8001, 0xC000, 0xFFFE, 0xFFFF], np.uint32
)


def words(name, bits, rounding, overflow, flags):
    """Codes by the definition of the rounding; above them, if calls for, the flags of those codes."""
    fmt = golden.get(name)
    chosen = options(fmt, "binary32", rounding, overflow)
    marked = encode_directly(fmt, bits, chosen, marked=True).ravel()
    codes, past_largest = marked & ((1 << fmt.width) - 1), marked >> fmt.width != 0
    return (
        codes | of_conversion(fmt, chosen.source, bits.ravel(), codes, past_largest).astype(np.uint32) << fmt.width
        if flags
        else codes
    )


@pytest.mark.parametrize("flags", [False, True])
@pytest.mark.parametrize("name", CATALOGUE)
def test_upper_halves_of_one_class_have_the_same_codes_by_definition(name, flags):
    fmt, rng = golden.get(name), np.random.default_rng(SEED)
    for rounding, overflow in product(fmt.roundings, fmt.overflows):
        if rounding == "mptorch" and overflow != "infinity":
            continue
        rows = by_upper_half(fmt, rounding, overflow, flags=flags)
        if rows is None:
            assert rounding == "stochastic" or (rounding == "hybrid" and flags)
            continue
        _, firsts, inverse, counts = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
        shared = np.flatnonzero(counts[inverse.ravel()] > 1)
        assert firsts.size < 10_000
        assert shared.size > 40_000
        some = rng.choice(shared, 300)
        lower = np.concatenate([LOWER, rng.integers(0, 1 << 16, 6, dtype=np.uint32)])
        own, other = (
            halves.astype(np.uint32)[:, None] << np.uint32(16) | lower
            for halves in (some, firsts[inverse.ravel()[some]])
        )
        np.testing.assert_array_equal(
            words(name, own, rounding, overflow, flags), words(name, other, rounding, overflow, flags)
        )


def test_classes_that_are_too_wide_are_seen():
    """The same rows but for what they say of inputs with lower bits."""
    lower = np.array([0, 1], np.uint32)
    rows = by_upper_half(golden.get("hif8"), "ties_to_even")
    for kept, equal in ((rows, True), (rows[:, :-1], False)):
        _, firsts, inverse = np.unique(kept, axis=0, return_index=True, return_inverse=True)
        own, other = (
            halves.astype(np.uint32)[:, None] << np.uint32(16) | lower
            for halves in (np.arange(1 << 16), firsts[inverse.ravel()])
        )
        both = [words("hif8", bits, "ties_to_even", "infinity", False) for bits in (own, other)]
        assert np.array_equal(*both) == equal


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "rounding", "flags"),
    [
        ("hif8", "ties_to_away", False), ("hif8", "hybrid", False), ("gc_1_0_7_b0", "ties_to_even", False),
        ("ocp_e4m3", "ties_to_even", True),
    ],
)  # fmt: skip
def test_upper_halves_of_one_class_have_the_same_codes_all_of_them(name, rounding, flags):
    fmt, lower = golden.get(name), np.arange(1 << 16, dtype=np.uint32)
    encode = fmt.encode_with_flags if flags else fmt.encode
    _, inverse = np.unique(by_upper_half(fmt, rounding, flags=flags), axis=0, return_inverse=True)
    known, calls = {}, 0
    for upper, number in enumerate(inverse.ravel().tolist()):
        codes = np.asarray(encode(np.uint32(upper << 16) | lower, rounding=rounding))
        assert np.array_equal(codes, known.setdefault(number, codes)), hex(upper)
        calls += lower.size
    assert calls == 1 << 32
