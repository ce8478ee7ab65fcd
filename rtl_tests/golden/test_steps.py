"""Classes of binary32 inputs that exhaustive checks use: upper halves of a class have equal codes and flags."""

from itertools import product

import numpy as np
import pytest

import golden
from golden.encode import by_upper_half
from golden.flags import of_conversion
from golden.options import options
from golden.rounding import encode_directly
from rtl_tests.support.paper_tables import CATALOGUE
from rtl_tests.support.roundings import DIRECTED_AND_ODD
from rtl_tests.support.selection import kind_of_format, one_of_each

SEED = 20241
LOWER = np.array(
    [0, 1, 2, 0x1FFF, 0x2000, 0x2001, 0x3FFF, 0x4000, 0x7FFF, 0x8000, 0x8001, 0xC000, 0xFFFE, 0xFFFF], np.uint32
)


def words(name, bits, rounding, overflow, flags):
    """Codes by the definition of the rounding, optionally with flags in the bits above."""
    fmt = golden.get(name)
    chosen = options(fmt, "binary32", rounding, overflow)
    marked = encode_directly(fmt, bits, chosen, marked=True).ravel()
    codes, past_largest = marked & ((1 << fmt.width) - 1), marked >> fmt.width != 0
    if not flags:
        return codes
    return codes | of_conversion(fmt, chosen.source, bits.ravel(), codes, past_largest).astype(np.uint32) << fmt.width


def inputs(uppers, lower):
    """binary32 bits of all upper halves with all lower halves."""
    return uppers.astype(np.uint32)[:, None] << np.uint32(16) | lower


@pytest.mark.parametrize("flags", [False, True])
@pytest.mark.parametrize("name", one_of_each(kind_of_format, CATALOGUE))
def test_upper_halves_of_one_class_have_the_same_codes_by_definition(name, flags):
    fmt, rng = golden.get(name), np.random.default_rng(SEED)
    for rounding, overflow in product(fmt.roundings, fmt.overflows):
        if rounding == "mptorch" and overflow != "infinity":
            continue
        if rounding in DIRECTED_AND_ODD and overflow != fmt.overflows[0]:  # the overflow changes single codes only
            continue
        rows = by_upper_half(fmt, rounding, overflow, flags=flags)
        if rows is None:
            assert rounding.is_stochastic or (rounding == "hybrid" and flags)
            continue
        _, firsts, inverse, counts = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
        shared = np.flatnonzero(counts[inverse.ravel()] > 1)
        assert firsts.size < 10_000
        assert shared.size > 40_000
        some = rng.choice(shared, 300)
        lower = np.concatenate([LOWER, rng.integers(0, 1 << 16, 6, dtype=np.uint32)])
        own, other = (inputs(uppers, lower) for uppers in (some, firsts[inverse.ravel()[some]]))
        np.testing.assert_array_equal(*(words(name, bits, rounding, overflow, flags) for bits in (own, other)))


def test_classes_that_are_too_wide_are_found():
    """Without their last column, rows do not distinguish inputs with nonzero lower bits."""
    lower = np.array([0, 1], np.uint32)
    rows = by_upper_half(golden.get("hif8"), "ties_to_even")
    for kept, equal in ((rows, True), (rows[:, :-1], False)):
        _, firsts, inverse = np.unique(kept, axis=0, return_index=True, return_inverse=True)
        own, other = (inputs(uppers, lower) for uppers in (np.arange(1 << 16), firsts[inverse.ravel()]))
        codes = [words("hif8", bits, "ties_to_even", "infinity", False) for bits in (own, other)]
        assert np.array_equal(*codes) == equal


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "rounding", "flags"),
    [
        ("hif8", "ties_to_away", False),
        ("hif8", "hybrid", False),
        ("gc_1_0_7_b0", "ties_to_even", False),
        ("ocp_e4m3", "ties_to_even", True),
    ],
)
def test_all_inputs_of_one_class_have_the_same_codes(name, rounding, flags):
    fmt, lower = golden.get(name), np.arange(1 << 16, dtype=np.uint32)
    encode = fmt.encode_with_flags if flags else fmt.encode
    _, inverse = np.unique(by_upper_half(fmt, rounding, flags=flags), axis=0, return_inverse=True)
    by_class, visited = {}, 0
    for upper, number in enumerate(inverse.ravel().tolist()):
        codes = np.asarray(encode(np.uint32(upper << 16) | lower, rounding=rounding))
        assert np.array_equal(codes, by_class.setdefault(number, codes)), hex(upper)
        visited += lower.size
    assert visited == 1 << 32
