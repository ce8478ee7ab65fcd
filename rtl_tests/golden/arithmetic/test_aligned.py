"""Aligned sums: the definition typed a second time in exact integers, from the rule of tensor cores' models."""

from fractions import Fraction
from math import inf, isnan, nan

import numpy as np
import pytest

import golden
from golden import Flag
from golden.wide import ALIGNED

SUBNORMAL = {
    "hif8": None,
    "ocp_e4m3": -6,
    "ocp_e5m2": -14,
    "e5m2b1": None,
    "e2m1": 0,
    "e3m2": -2,
    "e2m3": 0,
    "binary8p3": -15,
    "ue4m3": -6,
    "e8m0": None,
    "gc_1_0_7_b0": 1,
    "ocp_e4m3+ocp_e5m2": None,
}
"""Exponent of the codes without a hidden bit; None if there are none, or two of them."""
PLACES = 80
"""Bits after the point of the integers below: more than any significand has."""
WIDTHS = (6, 13, 23, 25, 40)


def split(name):
    """Value, exponent, and significand in units of 2^-PLACES, of every code of a format."""
    fmt = golden.get(name)
    rows = []
    for code in range(1 << fmt.width):
        member, own = fmt.split(code)
        value = member.exact_value(own)
        if value in (inf, -inf) or isnan(value) or value == 0:
            rows.append((value, 0, 0))
            continue
        magnitude, exponent = abs(Fraction(value)), 0
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        while Fraction(2) ** exponent > magnitude:
            exponent -= 1
        least = SUBNORMAL[member.name]
        exponent = exponent if least is None else max(exponent, least)
        significand = magnitude / Fraction(2) ** exponent * (1 << PLACES // 2)
        assert significand.denominator == 1
        rows.append((value, exponent, int(significand)))
    return rows


def binary32(bits):
    """Value, exponent and significand of bits of binary32."""
    field, fraction = bits >> 23 & 0xFF, bits & 0x7FFFFF
    sign = -1 if bits >> 31 else 1
    if field == 255:
        return (nan if fraction else sign * inf), 0, 0
    significand = fraction + (1 << 23 if field else 0)
    exponent = max(field, 1) - 127
    return sign * significand * Fraction(2) ** (exponent - 23), exponent, significand << (PLACES - 23)


def aligned(products, acc, width):
    """Bits and flags of the sum of products (value, exponent, significand, 0 * infinity) and an accumulator."""
    addends = [binary32(acc), *(product[:3] for product in products)]
    values = [value for value, _, _ in addends]
    invalid = any(undefined for *_, undefined in products) or (isnan(values[0]) and not acc >> 22 & 1)
    if any(isnan(value) for value in values):
        return 0x7FC00000, Flag.INVALID if invalid else 0
    if inf in values and -inf in values:
        return 0x7FC00000, Flag.INVALID
    if inf in values or -inf in values:
        return (0x7F800000 if inf in values else 0xFF800000), 0
    used = [(value, exponent, significand) for value, exponent, significand in addends if value != 0]
    if not used:
        return 0, 0
    top = max(exponent for _, exponent, _ in used)
    total = 0  # in units of 2^(top - width)
    for value, exponent, significand in used:
        kept = significand >> (top - exponent) + PLACES - width
        total += kept if value > 0 else -kept
    exact, result = sum(value for value in values), Fraction(0)
    if total == 0:
        bits = 0
    else:
        result, exponent = abs(total) * Fraction(2) ** (top - width), top - width + abs(total).bit_length() - 1
        quantum = Fraction(2) ** (max(exponent, -126) - min(width, 23))
        result = result // quantum * quantum
        if exponent >= 128:
            bits, result = 0x7F800000, inf
        elif result < Fraction(2) ** -126:
            bits = int(result / Fraction(2) ** -149)
        else:
            bits = (exponent + 127 << 23) + int(result / Fraction(2) ** (exponent - 23)) - (1 << 23)
        if total < 0:
            bits, result = bits | 1 << 31, -result
    inexact = result != exact
    flags = inexact * Flag.INEXACT | (inexact and abs(exact) < Fraction(2) ** -126) * Flag.UNDERFLOW
    return bits, flags | (abs(result) == inf) * Flag.OVERFLOW


def multiplied(x, y, scale):
    """The product of two codes' parts."""
    (left, exponent_x, significand_x), (right, exponent_y, significand_y) = x, y
    undefined = (abs(left) == inf and right == 0) or (left == 0 and abs(right) == inf)
    if undefined or isnan(left) or isnan(right):
        return nan, 0, 0, undefined
    if abs(left) == inf or abs(right) == inf:
        return (inf if (left > 0) == (right > 0) else -inf), 0, 0, False
    return left * right * Fraction(2) ** scale, exponent_x + exponent_y + scale, significand_x * significand_y, False


def stimuli(a_format, b_format, lanes, count, rng):
    """Codes and accumulators: uniform, few large ones, cancelling pairs, ulps from minus the sum, and specials."""
    fa, fb = golden.get(a_format), golden.get(b_format)
    a, b = (rng.integers(0, 1 << fmt.width, (count, lanes)) for fmt in (fa, fb))
    a, b = (np.where(rng.random(codes.shape) < 0.3, rng.integers(0, 4, codes.shape), codes) for codes in (a, b))
    if lanes > 1 and fa.signed:
        pair = rng.random(count) < 0.3
        a[:, 1] = np.where(pair, a[:, 0] ^ fa.sign_bit, a[:, 1])
        b[:, 1] = np.where(pair, b[:, 0], b[:, 1])
    with np.errstate(all="ignore"):
        sums = (fa.decode(a.astype(fa.code_dtype)) * fb.decode(b.astype(fb.code_dtype))).sum(axis=-1)
        near = (-sums).astype(np.float32).view(np.uint32).astype(np.int64) + rng.integers(-3, 4, count)
        wide = (sums * 2.0 ** rng.integers(-40, 40, count)).astype(np.float32).view(np.uint32)
    kinds = (near & 0xFFFFFFFF, wide, rng.integers(0, 1 << 32, count), rng.integers(0, 1 << 23, count))
    acc = np.choose(rng.integers(0, len(kinds) + 1, count), [*kinds, np.zeros(count, np.int64)])
    return a.astype(fa.code_dtype), b.astype(fb.code_dtype), acc.astype(np.uint32)


def compare(a_format, b_format, width, lanes, count, scale_bits=0):
    """Compare golden with the second implementation; count the finite results, and the results with each flag."""
    rng = np.random.default_rng([width, lanes, scale_bits, *a_format.encode(), *b_format.encode()])
    a, b, acc = stimuli(a_format, b_format, lanes, count, rng)
    reach = 1 << max(scale_bits - 1, 0)
    scale = rng.integers(-reach, reach, count) if scale_bits else np.zeros(count, np.int64)
    options = {"scale": scale, "scale_bits": scale_bits} if scale_bits else {}
    formats = (a_format, b_format, f"aligned{width}")
    bits, flags = golden.fused_dot_with_flags(a, b, acc, *formats, **options)
    assert np.array_equal(golden.fused_dot(a, b, acc, *formats, **options), bits)
    left, right = split(a_format), split(b_format)
    seen = np.zeros(5, int)
    for row in range(count):
        pairs = zip(a[row].tolist(), b[row].tolist(), strict=True)
        products = [multiplied(left[x], right[y], int(scale[row])) for x, y in pairs]
        expected = aligned(products, int(acc[row]), width)
        assert (bits[row], flags[row]) == expected, (a[row], b[row], hex(acc[row]), scale[row])
        seen += [int(bits[row]) & 0x7F800000 != 0x7F800000, *(flags[row] >> flag & 1 for flag in range(4))]
    return seen


FORMATS = [(name, name) for name in SUBNORMAL if name != "e8m0"] + [("ocp_e4m3", "ocp_e5m2"), ("e8m0", "e2m1")]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [8000, pytest.param(192_000, marks=pytest.mark.exhaustive)])
def test_the_definition_in_integers(width, count):
    """40,000 of 10^6 sums; ``make exhaustive`` has the rest."""
    seen = np.zeros(5, int)
    for place, (a_format, b_format) in enumerate(FORMATS):
        for lanes in (1, 2, 8)[place % 3 :: 2] or (4,):
            seen += compare(a_format, b_format, width, lanes, count // len(FORMATS) // 2 + 1)
    assert all(seen[[0, 1, 3, 4]])


@pytest.mark.parametrize("width", WIDTHS)
def test_scales(width):
    seen = compare("ocp_e5m2", "ocp_e5m2", width, 4, 1000, scale_bits=10)
    assert all(seen[[0, 1, 2, 3]])


def code(name, value):
    """The code of a value that the format has."""
    fmt = golden.get(name)
    return int(np.flatnonzero(fmt.values == value)[0])


def total(products, acc, accumulator, **options):
    """The sum of products of ocp_e5m2's values and an accumulator, as a float."""
    a, b = (np.array([code("ocp_e5m2", value) for value in column], np.uint8) for column in zip(*products, strict=True))
    bits = golden.fused_dot(a, b, np.float32(acc).view(np.uint32), "ocp_e5m2", accumulator=accumulator, **options)
    return float(bits.view(np.float32))


@pytest.mark.parametrize("width", range(6, 24))
def test_the_last_bit_that_counts(width):
    name, last = f"aligned{width}", (2.0 ** -(width // 2), 2.0 ** (width // 2 - width))
    half = (last[0] / 2, last[1])
    assert total([last], 1, name) == 1 + 2.0**-width
    assert total([half] * 8, 1, name) == 1
    assert total([half] * 8, 0, name) == 2.0 ** (2 - width)
    assert total([half] * 8, -1, name) == -1


def test_products_are_not_normalized():
    """1.5 * 1.5 is 2.25 * 2^0, so 2^-6 beside it is kept, as it is not beside 2 * 1.25."""
    small = (2.0**-3, 2.0**-3)
    assert total([(1.5, 1.5), small, (-1.5, 1.5)], 0, "aligned6") == 2.0**-6
    assert total([(2, 1.25), small, (-2, 1.25)], 0, "aligned6") == 0


def test_zeros():
    assert np.signbit(total([(-0.0, 1)], -0.0, "aligned13")) == 0
    assert np.signbit(total([(-1, 1)], 1, "aligned13")) == 0
    options = {"scale": -130, "scale_bits": 9}
    tiny = [(-(2.0**-10), 2.0**-10)]
    assert np.signbit(total(tiny, 0, "aligned13", **options)) == 1  # truncated to zero, so the sign is the sum's
    assert np.signbit(total(tiny, 0, "aligned13", zero="positive", **options)) == 0


def test_the_other_functions():
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 256, (2, 50, 7), np.uint8)
    acc = rng.normal(size=50).astype(np.float32).view(np.uint32)
    single = golden.mac(a[:, 0], b[:, 0], acc, "hif8", accumulator="Aligned13")
    assert np.array_equal(single, golden.fused_dot(a[:, :1], b[:, :1], acc, "hif8", accumulator="aligned13"))
    with_flags = golden.mac_with_flags(a[:, 0], b[:, 0], acc, "hif8", accumulator="aligned13")
    assert np.array_equal(with_flags[0], single)
    chain = np.zeros(50, np.uint32)
    for k in range(7):
        chain = golden.mac(a[:, k], b[:, k], chain, "hif8", accumulator="aligned13")
    assert np.array_equal(golden.dot(a, b, "hif8", accumulator="aligned13"), chain)


LOSSLESS = {("e2m1", 32): 12, ("e3m2", 32): 22, ("e2m3", 32): 16}
"""Blocks of OCP MX, and the least T whose aligned sums of a whole block, from an accumulator of 0, are exact."""


@pytest.mark.parametrize(("name", "lanes"), LOSSLESS)
def test_blocks_whose_sums_are_exact(name, lanes):
    """Proof: no pair of codes has a bit below the cut of the largest exponent; no sum has more bits than are kept.

    Scales multiply all of this alike, as long as the sum is a normal number.
    """
    width = LOSSLESS[name, lanes]
    codes = [(Fraction(value), exponent) for value, exponent, _ in split(name)]
    products = [(x * y, e + f) for x, e in codes for y, f in codes if x and y]
    largest_exponent, largest = max(e for _, e in products), lanes * max(abs(value) for value, _ in products)
    assert all((value / Fraction(2) ** (largest_exponent - width)).denominator == 1 for value, _ in products)
    smallest = min(abs(value) for value, _ in products)
    assert all((value / smallest).denominator == 1 for value, _ in products)
    assert largest / smallest < 1 << (width + 1)  # so the first and the last bit of a sum are at most T places apart

    fmt = golden.get(name)
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 1 << fmt.width, (2, 4000, lanes)).astype(np.uint8)
    scales = [rng.integers(100, 150, 4000).astype(np.uint8) for _ in "ab"]
    options = {"a_scale": scales[0], "b_scale": scales[1]}
    zero = np.zeros(4000, np.uint32)
    exact = golden.fused_dot(a, b, zero, name, None, "binary32", **options)
    np.testing.assert_array_equal(golden.fused_dot(a, b, zero, name, None, f"aligned{width}", **options), exact)

    rest = int(largest / smallest) & -(1 << width) | 1  # a sum with the first and the last of these bits
    pairs, values = [], {int(value / smallest): value for value, _ in products}
    while rest:
        part = max(value for value in values if value <= rest)
        pairs.append(
            next((i, j) for i, (x, _) in enumerate(codes) for j, (y, _) in enumerate(codes) if x * y == values[part])
        )
        rest -= part
    assert len(pairs) <= lanes
    words = np.array([*pairs, *[(0, 0)] * (lanes - len(pairs))], np.uint8).T
    sums = [
        golden.fused_dot(*words, np.uint32(0), name, None, accumulator)
        for accumulator in ("binary32", f"aligned{width}", f"aligned{width - 1}")
    ]
    assert sums[0] == sums[1] != sums[2]


@pytest.mark.parametrize("name", ["aligned5", "aligned41", "aligned", "aligned07", "hif8"])
def test_accumulators_that_do_not_exist(name):
    assert name not in ALIGNED
    with pytest.raises(golden.BadValue) as caught:
        golden.mac(0, 0, 0, accumulator=name)
    allowed = "binary16, bfloat16, binary32, dlfloat16, exact, rvbna, or aligned6 to aligned40"
    assert str(caught.value) == f"accumulator must be one of {allowed}, not {name!r}"
