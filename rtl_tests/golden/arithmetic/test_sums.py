"""Sums in binary64 against fractions: every format, parts of products, rounding to odd; faults are found."""

import itertools
import sys
from fractions import Fraction

import numpy as np
import pytest

import golden
from golden.arithmetic.exact import operand
from golden.arithmetic.sums import add_lanes, cuts, odd_sum, pack, product_cuts, product_sums
from golden.bits import BLOCK
from golden.wide import wide
from rtl_tests.golden.arithmetic.test_aligned import aligned, multiplied, split
from rtl_tests.golden.arithmetic.test_mac import NAN, SHAPE, nearest
from rtl_tests.support.blocks import generator
from rtl_tests.support.boundaries import INFINITE, SIGN

NAMES = [name for name in golden.names() if golden.get(name).width <= 9]
"""All formats of codes."""
MANY_PARTS = ("e5m2b4", "gc_1_6_1_b31", "e8m0", "posit8_2")
"""Formats whose products are cut into more than two parts."""
ROWS = 64


def directed_codes(fmt, lanes, target, rng):
    """Zeros, smallest and largest values, specials, lanes that cancel, powers of two beside the smallest values."""
    finite = np.flatnonzero(np.isfinite(fmt.values) & (fmt.values != 0))
    order = finite[np.argsort(np.abs(fmt.values[finite]), kind="stable")]
    zeros = np.flatnonzero(fmt.values == 0) if fmt.has_zero else order[:1]
    a, b = rng.choice(finite, (2, ROWS, lanes))
    kind = np.arange(ROWS) % 8
    for needed, choice in ((0, zeros), (1, order[:4]), (2, order[-6:]), (4, order[:4]), (5, order[:4]), (6, zeros)):
        rows = kind == needed
        a[rows], b[rows] = rng.choice(choice, (2, rows.sum(), lanes))
    rows = kind == 3
    a[rows], b[rows] = rng.integers(0, 1 << fmt.width, (2, rows.sum(), lanes))

    fraction, exponent = np.frexp(fmt.values[finite])
    powers = finite[np.abs(fraction) == 0.5]
    exponents = np.add.outer(*[exponent[np.abs(fraction) == 0.5] - 1] * 2)
    f, bias = SHAPE[target]
    for needed, most in ((4, bias), (5, bias - f - 1), (6, bias)):  # acc may be as large, or twice this an ulp of it
        largest = exponents[exponents <= most].max()
        x, y = np.nonzero((exponents <= largest) & (exponents > largest - 3))
        rows = np.flatnonzero(kind == needed)
        pick = rng.integers(0, x.size, rows.size)
        a[rows, 0], b[rows, 0] = powers[x[pick]], powers[y[pick]]
        a[rows[::2], -1], b[rows[::2], -1] = rng.choice(order[:4], (2, rows[::2].size))

    opposite = b[:, 0] ^ fmt.sign_bit
    rows = (kind == 7) & np.isfinite(fmt.values[opposite])
    a[rows, -1], b[rows, -1] = a[rows, 0], opposite[rows]
    a[rows, 1:-1], b[rows, 1:-1] = rng.choice(order[:4], (2, rows.sum(), max(lanes - 2, 0)))
    return a, b


def directed_accumulators(sums, target, rng):
    """Bits within ulps of minus each sum; with the sum near half an ulp; far above and below; zeros; anything."""
    f, bias = SHAPE[target]
    bits = []
    for total in sums:
        kind, sign = rng.integers(0, 10), int(rng.integers(0, 2)) * SIGN[target]
        exponent = round(np.log2(float(abs(total)))) if total else 0
        fraction = int(rng.choice([0, 1, (1 << f) - 1, rng.integers(0, 1 << f)]))
        if kind < 4 and total:
            near = nearest(target, abs(total)) + int(rng.choice([-2, -1, 0, 0, 0, 1, 2]))
            bits.append(min(max(near, 0), INFINITE[target]) | (total > 0) * SIGN[target])
        elif kind < 8:
            distance = f + 1 if kind < 6 else f + rng.integers(0, 3) if kind < 7 else rng.integers(-60, 60)
            bits.append(min(max(exponent + bias + int(distance), 0), 2 * bias) << f | fraction | sign)
        elif kind == 8:
            bits.append(int(rng.choice([0, SIGN[target], 1, INFINITE[target] - 1, NAN[target]])) | sign)
        else:
            bits.append(int(rng.integers(0, 2 * SIGN[target])))
    return np.array(bits).astype(golden.get(target).code_dtype)


def expected(fmt, target, a, b, acc):
    """Bits of the sum of a list of products and an accumulator, rounded once."""
    products, signs = [], []
    with np.errstate(invalid="ignore"):
        for x, y in zip(a, b, strict=True):
            products.append(fmt.values[x] * fmt.values[y])
            signs.append(bool(x & fmt.sign_bit) != bool(y & fmt.sign_bit))
    start = float(wide(target).decode(acc))
    addends = [start, *products]
    if not np.isfinite(addends).all():
        if target == "dlfloat16":
            first = next((sign for p, sign in zip(products, signs, strict=True) if not np.isfinite(p)), None)
            return NAN[target] | (acc & SIGN[target] if np.isnan(start) else first * SIGN[target])
        infinities = {value for value in addends if np.isinf(value)}
        if np.isnan(addends).any() or len(infinities) == 2:
            return NAN[target]
        return INFINITE[target] | (infinities.pop() < 0) * SIGN[target]
    total = sum(map(Fraction, addends))
    if total == 0:
        return np.signbit(addends).all() * SIGN[target]
    return nearest(target, abs(total)) | (total < 0) * SIGN[target]


def wrong_sums(name, target, lanes):
    """Rows of directed sums that differ from fractions."""
    fmt, rng = golden.get(name), generator("sums", name, target, str(lanes))
    a, b = directed_codes(fmt, lanes, target, rng)
    values = np.where(np.isfinite(fmt.values), fmt.values, 0.0)
    pairs = [zip(values[x].tolist(), values[y].tolist(), strict=True) for x, y in zip(a, b, strict=True)]
    sums = [sum((Fraction(x) * Fraction(y) for x, y in pair), Fraction(0)) for pair in pairs]
    acc = directed_accumulators(sums, target, rng)
    ours = golden.fused_dot(a.astype(fmt.code_dtype), b.astype(fmt.code_dtype), acc, name, None, target).tolist()
    rows = zip(a.tolist(), b.tolist(), acc.tolist(), ours, strict=True)
    return [(x, y, hex(c), hex(bits)) for x, y, c, bits in rows if bits != expected(fmt, target, x, y, c)]


@pytest.mark.parametrize("lanes", [1, 2, 8, 33])
@pytest.mark.parametrize("name", NAMES)
def test_sums_equal_fractions(name, lanes):
    for target in golden.WIDE:
        assert not wrong_sums(name, target, lanes), target


def faults_found():
    cases = itertools.product(("hif8", "ocp_e5m2"), ("binary32", "binary16", "bfloat16", "dlfloat16"), (8, 33, 2))
    return any(wrong_sums(*case) for case in cases)


def nearest_instead_of_odd(acc, parts, lsb_exponent):
    with np.errstate(invalid="ignore"):
        return acc + parts.sum(axis=0)


def without_the_lowest_part(acc, parts, lsb_exponent):
    return odd_sum(acc, parts[:1], lsb_exponent)


def parts_rounded_to_one(acc, parts, lsb_exponent):
    return odd_sum(acc, parts.sum(axis=0, keepdims=True), lsb_exponent)


def magnitudes_rounded_down(acc, parts, lsb_exponent):
    total = odd_sum(acc, parts, lsb_exponent)
    return np.where(np.isfinite(total), (total.view(np.int64) & ~1).view(np.float64), total)


@pytest.mark.parametrize(
    "fault", [nearest_instead_of_odd, without_the_lowest_part, parts_rounded_to_one, magnitudes_rounded_down]
)
def test_wrong_roundings_to_odd_are_found(monkeypatch, fault):
    monkeypatch.setattr(sys.modules["golden.arithmetic.mac"], "odd_sum", fault)
    assert faults_found()


def test_coarse_cuts_are_found(monkeypatch):
    monkeypatch.setattr("golden.arithmetic.sums.product_cuts", lambda *_: ())
    assert faults_found()


def rounded_to_odd(value):
    """A fraction, rounded to odd in 53 bits."""
    if value == 0:
        return value
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= abs(value) < Fraction(2) ** exponent
    unit = Fraction(2) ** (exponent - 52)
    kept, rest = divmod(abs(value), unit)
    return (kept | (rest != 0)) * unit * (1 if value > 0 else -1)


def check_odd_sums(acc, parts, total):
    for row, value in enumerate(total.tolist()):
        exact = Fraction(acc[row]) + sum(Fraction(part[row]) for part in parts)
        assert Fraction(value) == rounded_to_odd(exact), (acc[row], [part[row] for part in parts])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_parts_are_rounded_to_odd(count):
    """Parts of few bits, at all distances from each other and from the accumulator, so that ties and zeros abound."""
    rng, size = generator("odd parts", str(count)), 6000

    def few_bits(most):
        number = np.zeros(size)
        for _ in range(4):
            number += rng.integers(-1, 2, size) * 2.0 ** rng.integers(0, most + 1, size)
        return number

    high = few_bits(51)
    parts = [few_bits(50) * 2.0 ** (-51 * part) for part in range(1, count)]
    parts = np.array([high, *parts])
    acc = few_bits(22) * 2.0 ** rng.integers(-140, 50, size)
    near = np.arange(size) % 2 == 0  # 24 bits that cancel the leading ones
    fraction, exponent = np.frexp(high)
    acc = np.where(near, -np.ldexp(np.rint(fraction * 2.0**24) + rng.integers(-1, 2, size), exponent - 24), acc)
    check_odd_sums(acc, parts, odd_sum(acc, parts, -260))


def test_the_error_of_the_errors_sum_counts():
    """The last error decides here whether the sum is exact."""
    parts = np.array([[2.0**52, -(2.0**52)], [0.375 + 2.0**-54, -0.375 - 2.0**-54]])
    acc = np.array([-0.375, 0.375])
    check_odd_sums(acc, parts, odd_sum(acc, parts, -60))


def test_parts_of_specials():
    codes = np.array([[0x6F, 8], [0x6F, 0xEF], [0x80, 8], [0xEF, 1]], np.uint8)  # hif8: Inf, -Inf, NaN
    parts = product_sums(operand("a", "hif8"), operand("b", "hif8"), codes, np.full((4, 2), 8, np.uint8))
    np.testing.assert_array_equal(parts[0], [np.inf, np.nan, np.nan, -np.inf])
    assert len(parts) == 2
    assert not parts[1].any()


@pytest.mark.parametrize("name", NAMES)
def test_parts_are_exact(name):
    fmt, rng = golden.get(name), generator("parts", name)
    a, b = directed_codes(fmt, 33, "binary32", rng)
    finite = np.isfinite(fmt.values[a]).all(axis=-1) & np.isfinite(fmt.values[b]).all(axis=-1)
    a, b = a[finite], b[finite]
    for spare in (0, 8):
        parts = product_sums(fmt, fmt, a, b, spare)
        assert (len(parts) > 2) == (name in MANY_PARTS or (spare > 0 and len(product_cuts(fmt, fmt, 33, 8)) > 1))
        for row in range(len(a)):
            pairs = zip(fmt.values[a[row]].tolist(), fmt.values[b[row]].tolist(), strict=True)
            assert sum(Fraction(part[row]) for part in parts) == sum(Fraction(x) * Fraction(y) for x, y in pairs)
            for part in parts:
                numerator = abs(Fraction(part[row])).numerator
                assert (numerator // (numerator & -numerator or 1)).bit_length() <= 53 - spare


@pytest.mark.parametrize("lanes", [1, 2, 5, 32, 4096])
def test_extreme_numbers_are_cut_exactly(lanes):
    """All lanes are the largest number, or one last bit less; signs alternate or not."""
    top, lsb = 40, -41
    exponents = cuts(top, lsb, lanes)
    numbers = np.full((lanes, 4), 2.0**top)
    numbers[:, 1] = 2.0**top - 2.0 ** (top - 53)
    numbers[:, 2] = 2.0 ** (exponents[0] - 1) + 2.0**lsb
    numbers[:, 3] = np.where(np.arange(lanes) % 2, -1, 1) * numbers[:, 1]
    exact = [sum(map(Fraction, column)) for column in numbers.T.tolist()]
    parts = np.empty((len(exponents) + 1, 4))
    add_lanes(numbers, exponents, parts)
    assert [sum(map(Fraction, column)) for column in parts.T.tolist()] == exact


@pytest.mark.parametrize("accumulator", ["binary32", "aligned13", "exact"])
def test_blocks_of_rows_do_not_matter(accumulator):
    rng, rows = generator("rows", accumulator), BLOCK + 700
    a, b = rng.integers(0, 256, (2, rows, 3)).astype(np.uint8)
    scale = rng.integers(-8, 8, rows)
    unit = golden.ExactAccumulator("hif8", "hif8", 1024, 4)
    acc = unit.zeros((rows,)) if accumulator == "exact" else rng.integers(0, 1 << 31, rows).astype(np.uint32)

    def sums(part):
        return golden.fused_dot(a[part], b[part], acc[part], "hif8", None, accumulator, scale=scale[part], scale_bits=4)

    pieces = [sums(slice(start, start + 1000)) for start in range(0, rows, 1000)]
    np.testing.assert_array_equal(sums(slice(None)), np.concatenate(pieces))


@pytest.mark.parametrize("name", ["ocp_e4m3", "ocp_e5m2", "hif8", "gc_1_0_7_b0", *MANY_PARTS])
def test_exact_sums_of_all_lanes_equal_chains(name):
    """A chain adds one product after another, which is never cut."""
    fmt, rng = golden.get(name), generator("exact sums", name)
    a, b = directed_codes(fmt, 6, "binary32", rng)
    unit = golden.ExactAccumulator(fmt, fmt, 8)
    total = golden.fused_dot(a, b, unit.zeros((ROWS,)), name, None, "exact", 8)
    np.testing.assert_array_equal(total, golden.dot(a, b, name, None, "exact", 8))


def test_aligned_sums_of_many_lanes():
    """The sum has more than 53 bits."""
    rng, codes = generator("many lanes"), split("ocp_e4m3")
    a, b = rng.choice([0x7E, 0x7D, 1], (2, 3, 5000), p=[0.6, 0.3, 0.1])
    acc = np.array([0x4B7FFFFF, 0xCB7FFFFF, 0], np.uint32)
    ours = golden.fused_dot(a, b, acc, "ocp_e4m3", None, "aligned40").tolist()
    for row in range(3):
        products = [multiplied(codes[x], codes[y], 0) for x, y in zip(a[row], b[row], strict=True)]
        assert ours[row] == aligned(products, int(acc[row]), 40)[0]


def test_packing_takes_the_last_bit_for_the_rest():
    total = np.array([1 + 2.0**-11 + 2.0**-52, 1 + 2.0**-11 - 2.0**-52, 1 + 2.0**-11])
    assert pack(wide("binary16"), total, np.zeros(3, np.bool_)).tolist() == [0x3C01, 0x3C00, 0x3C00]
