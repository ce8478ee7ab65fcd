"""Stimuli: inputs that exercise specials, boundaries, ties and cancellation."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden import ExactAccumulator, Format
from golden.arithmetic.mac import fused_sums
from golden.arithmetic.options import SumOptions
from golden.bits import scale_range
from golden.rounding import grid
from golden.wide import IEEE

NO_FACTORS: Mapping[str, Any] = MappingProxyType({})
Codes = NDArray[np.uint64]
Operands = tuple[Codes, Codes, Codes]
"""Codes ``a`` and ``b`` of shape (cases, lanes), and accumulators."""


def boundaries(fmt: Format) -> NDArray[np.uint32]:
    """Return binary32 patterns: all values, midpoints and values below the smallest, each ± 1 ulp; and specials.

    Each pattern occurs with both signs.
    """
    values = grid(fmt).values
    low = values[1] * np.exp2(-np.arange(0.0, 36.0))
    marks = np.concatenate([values, (values[:-1] + values[1:]) / 2, low, 1.5 * low, [grid(fmt).flush_below]])
    with np.errstate(over="ignore"):  # e8m0 has a midpoint above the largest number of binary32
        patterns = marks.astype(np.float32).view(np.uint32).astype(np.int64)
    specials = [0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF]
    near = np.concatenate([patterns - 1, patterns, patterns + 1, specials])
    unsigned = np.unique(np.clip(near, 0, 0x7FFFFFFF)).astype(np.uint32)
    return np.concatenate([unsigned, unsigned | np.uint32(0x80000000)])


def random_binary32(fmt: Format, count: int, rng: np.random.Generator) -> NDArray[np.uint32]:
    """Return binary32 patterns with random fractions, whose exponents cover the format's and a few beyond."""
    low, high = fmt.exponent_range
    exponents = rng.integers(low - 20, high + 4, count) + 127
    fractions = rng.integers(0, 1 << 23, count)
    signs = rng.integers(0, 2, count)
    return (signs << 31 | np.clip(exponents, 0, 255) << 23 | fractions).astype(np.uint32)


def scales(scale_bits: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return ``count`` values of the port ``scale``, most of them moderate."""
    low, high = scale_range(scale_bits)
    moderate = rng.integers(max(low, -8), min(high, 7) + 1, count)
    return np.where(rng.integers(0, 4, count) == 0, rng.integers(low, high + 1, count), moderate)


def scale_codes(fmt: Format, count: int, rng: np.random.Generator) -> Codes:
    """Return ``count`` codes of a scale, most of them moderate."""
    codes = np.arange(1 << fmt.width).astype(np.uint64)
    middle = codes[(fmt.values >= 2.0**-6) & (fmt.values <= 2.0**6)]
    corners = np.concatenate([codes[:3], codes[-3:]])
    kind = rng.integers(0, 8, count)
    return np.select(
        [kind == 0, kind == 1], [rng.choice(codes, count), rng.choice(corners, count)], rng.choice(middle, count)
    )


def accumulators(
    options: SumOptions,
    codes_a: Codes,
    codes_b: Codes,
    rng: np.random.Generator,
    factors: Mapping[str, Any] = NO_FACTORS,
) -> Codes:
    """Return an accumulator for each pair of codes that makes the addition a difficult case.

    Those that are rounded are one of: a special, subnormal or other corner; the negative of the rounded product or a
    neighbour (cancellation, exact zeros and their signs); a value several binades away in either direction (alignment,
    sticky bits, ties); a random pattern. ``factors`` are the scales, keywords of :meth:`SumOptions.factors`.
    """
    if options.exact is not None:
        return _exact_accumulators(options.exact, codes_a, codes_b, rng, factors.get("scale"))
    target = options.state
    corners = np.array(_corners(target), np.uint64)
    size, sign = codes_a.size, np.uint64(target.sign_bit)
    products = _sums_of_products(options, codes_a[:, np.newaxis], codes_b[:, np.newaxis], factors)
    kind = rng.integers(0, 8, size)
    step = rng.integers(-2, 3, size)
    body = (products & (sign - np.uint64(1))).astype(np.int64)
    opposite = np.clip(body + step, 0, int(sign) - 1).astype(np.uint64) | (~products & sign)
    fraction_bits = target.fraction_bits
    far = body + (rng.integers(-fraction_bits - 3, fraction_bits + 4, size) << fraction_bits)
    far = np.clip(far, 0, int(sign) - 1).astype(np.uint64)
    few_bits = far & ~np.uint64((1 << max(fraction_bits - 3, 0)) - 1)
    signs = rng.integers(0, 2, size).astype(np.uint64) * sign
    patterns = rng.integers(0, 2 * int(sign), size).astype(np.uint64)
    corner = corners[rng.integers(0, corners.size, size)]
    choices = [corner, opposite, opposite, far | signs, far | signs, few_bits | signs]
    return np.select([kind == k for k in range(len(choices))], choices, patterns)


def _sums_of_products(options: SumOptions, left: Codes, right: Codes, factors: Mapping[str, Any]) -> Codes:
    """Bits of rounded sums of products along the last axis, as IEEE 754 has them."""
    plain = replace(options, zero=IEEE, has_flags=False, random_bits=None, truncates=False)
    plain = plain.with_variant(None, None, None)
    return fused_sums(plain, left, right, np.zeros(len(left), np.uint64), **factors)[0].astype(np.uint64)


def dot_cases(
    options: SumOptions, lanes: int, count: int, rng: np.random.Generator, factors: Mapping[str, Any]
) -> Operands:
    """Return fused dot products whose accumulators are those of :func:`accumulators` for the first lane.

    Codes are one of: random; of moderate size, so that sums stay finite; with two lanes or more, such that the first
    two products cancel. ``factors`` are the scales.
    """
    a, b = options.a_format, options.b_format
    kind = rng.integers(0, 4, count)[:, np.newaxis]
    codes = []
    for fmt in (a, b):
        moderate = np.flatnonzero(np.abs(fmt.values) <= 8)
        any_code = rng.integers(0, 1 << fmt.width, (count, lanes))
        codes.append(np.where(kind == 0, any_code, rng.choice(moderate, (count, lanes))).astype(np.uint64))
    left, right = codes
    if lanes > 1:  # the second product is the negative of the first
        left[:, 1] = np.where(kind[:, 0] == 2, left[:, 0], left[:, 1])
        right[:, 1] = np.where(kind[:, 0] == 2, right[:, 0] ^ np.uint64(b.sign_bit), right[:, 1])
    return left, right, accumulators(options, left[:, 0], right[:, 0], rng, factors)


def near_cases(
    options: SumOptions, lanes: int, count: int, rng: np.random.Generator, factors: Mapping[str, Any]
) -> Operands:
    """Return fused dot products with accumulators near the sum of the products; ``factors`` are the scales.

    Codes are random, moderate, smallest, largest, powers of two, zeros or specials. In some cases one lane alone is not
    zero, lanes cancel in pairs, or all products have one sign. The accumulator is one of: a corner; minus the sum of
    the products to within a few last places; a number, often a power of two, as far from the sum as makes one of both a
    tie, a sticky bit, or nothing; a subnormal; a random pattern. See :func:`_near_exact_accumulators` for exact ones.
    """
    a, b, unit = options.a_format, options.b_format, options.exact
    precision = 24 if unit is not None else options.state.precision
    left, right = (_lane_codes(fmt, lanes, count, rng) for fmt in (a, b))
    kind, lane = rng.integers(0, 8, count), rng.integers(0, lanes, count)
    for codes, fmt in ((left, a), (right, b)):
        codes[kind == 5] = rng.choice(_by_magnitude(fmt)[-4:], (count, lanes))[kind == 5]
    for number, chosen in ((1, _smallest), (2, _level)):
        cases = np.flatnonzero(kind == number)
        left[cases, lane[cases]], right[cases, lane[cases]] = chosen(a, b, precision, cases.size, rng)
    others = (kind <= 2)[:, np.newaxis] & (np.arange(lanes) != lane[:, np.newaxis])
    left = np.where(others, left & np.uint64(a.sign_bit), left)
    for odd in range(1, lanes, 2):  # pairs of lanes with opposite products, where the formats have signs
        left[:, odd] = np.where(kind == 3, left[:, odd - 1], left[:, odd])
        right[:, odd] = np.where(kind == 3, right[:, odd - 1] ^ np.uint64(b.sign_bit), right[:, odd])
    signs_a, signs_b = np.uint64(a.sign_bit), np.uint64(b.sign_bit)
    alike = ((kind == 4) | (kind == 5))[:, np.newaxis]  # products of one sign
    left = np.where(alike, left | signs_a * rng.integers(0, 2, (count, 1)).astype(np.uint64), left)
    right = np.where(alike, right | signs_b, right)
    left = np.where(alike & (rng.integers(0, 2, (count, 1)) == 0), left & ~signs_a, left)
    if unit is not None:
        return left, right, _near_exact_accumulators(unit, left, right, rng, factors.get("scale"))
    return left, right, _near_accumulators(options, left, right, rng, factors)


def _near_accumulators(
    options: SumOptions, left: Codes, right: Codes, rng: np.random.Generator, factors: Mapping[str, Any]
) -> Codes:
    target = options.state
    count, k, sign = len(left), target.rows[-1].fraction_bits, np.uint64(target.sign_bit)
    total = _sums_of_products(options, left, right, factors)
    body = (total & (sign - np.uint64(1))).astype(np.int64)
    opposite = np.clip(body + rng.integers(-3, 4, count), 0, int(sign) - 1).astype(np.uint64) | (~total & sign)
    ranges = ((k - 3, k + 6), (-2 * k - 6, 2 * k), (-4, 2))
    places = np.choose(rng.integers(0, 3, count), [rng.integers(*limits, count) for limits in ranges])
    field = np.clip((body >> k) + places, 0, (int(sign) >> k) - 1)
    special = rng.choice(np.array([0, 0, 1, (1 << k) - 1, 1 << (k - 1)]), count)
    fraction = np.where(rng.integers(0, 2, count) == 0, rng.integers(0, 1 << k, count), special)
    signs = rng.integers(0, 2, count).astype(np.uint64) * sign
    far = (field << k | fraction).astype(np.uint64) | signs
    corner = rng.choice(np.array(_corners(target), np.uint64), count)
    subnormal = rng.integers(0, 2 << k, count).astype(np.uint64) | signs
    patterns = rng.integers(0, 2 * int(sign), count).astype(np.uint64)
    choice = rng.integers(0, 16, count)
    return np.select([choice < 1, choice < 6, choice < 14, choice < 15], [corner, opposite, far, subnormal], patterns)


def _lane_codes(fmt: Format, lanes: int, count: int, rng: np.random.Generator) -> Codes:
    """Codes of one kind in all lanes of a case; in every eighth case each lane has a kind of its own."""
    values = np.abs(fmt.values)
    codes = np.arange(values.size)
    ordered = _by_magnitude(fmt)
    pools = [
        (1, codes),
        (6, ordered),
        (4, codes[values <= 8]),
        (2, ordered[:8]),
        (2, ordered[-8:]),
        (1, _powers(fmt)),
        (1, codes[values == 0]),
        (0, codes[~np.isfinite(values)]),
    ]
    weights = np.array([weight if pool.size else 0 for weight, pool in pools])
    kinds = rng.choice(len(pools), (count, 1), p=weights / weights.sum())
    own = rng.integers(0, len(pools), (count, lanes))
    kinds = np.where(rng.integers(0, 8, (count, 1)) == 0, own, kinds)
    chosen = [
        (pool if pool.size else codes)[rng.integers(0, pool.size or codes.size, (count, lanes))] for _, pool in pools
    ]
    return np.choose(kinds, chosen).astype(np.uint64)


def _by_magnitude(fmt: Format) -> NDArray[np.int64]:
    """Codes of finite values, the smallest magnitude first."""
    finite = np.flatnonzero(np.isfinite(fmt.values))
    return finite[np.argsort(np.abs(fmt.values[finite]), kind="stable")]


def _powers(fmt: Format) -> NDArray[np.int64]:
    """Codes of powers of two."""
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(np.isfinite(fmt.values) & (np.abs(np.frexp(fmt.values)[0]) == 0.5))


def _smallest(a: Format, b: Format, _precision: int, count: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Codes of the smallest magnitude but zero, with any sign."""
    pools = []
    for fmt in (a, b):
        values = np.where(fmt.values == 0, np.inf, np.abs(fmt.values))
        pools.append(np.flatnonzero(values == np.nanmin(values)).astype(np.uint64))
    return rng.choice(pools[0], count), rng.choice(pools[1], count)


def _level(a: Format, b: Format, precision: int, count: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Powers of two whose product is 2**precision times the smallest one, or as near to it as ``b`` permits.

    An accumulator of that precision just below it is then an odd multiple of the smallest product, so that the sum can
    be one unit in the last place of a fixed point.
    """
    left, powers = rng.choice(_powers(a), count), _powers(b)
    needed = a.ulp_exponent + b.ulp_exponent + precision - np.frexp(a.values[left])[1] + 1
    distance = np.abs(np.frexp(b.values[powers])[1] - 1 - needed[:, np.newaxis])
    right = powers[np.argmin(distance, axis=1)]
    negative = rng.integers(0, 2, count) * (b.sign_bit if b.signed else 0)
    return left.astype(np.uint64), (right ^ negative).astype(np.uint64)


def _corners(accumulator: Format) -> list[int]:
    k = accumulator.rows[-1].fraction_bits
    top = accumulator.sign_bit - 1
    unsigned = [0, 1, 2, (1 << k) - 1, 1 << k, (1 << k) + 1, top, top - 1]
    if accumulator.infinity is not None:
        unsigned += [accumulator.infinity, accumulator.infinity - 1, accumulator.infinity + 1, accumulator.infinity - 2]
    return [x | s for x in unsigned for s in (0, accumulator.sign_bit)]


def _near_exact_accumulators(
    unit: ExactAccumulator, left: Codes, right: Codes, rng: np.random.Generator, scale: NDArray[np.int64] | None = None
) -> Codes:
    """Return an accumulator for each sum of products: minus the sum, or near it in its last bits, or a random one.

    A quarter of those near minus the sum are half of all numbers away: the total is at the limits, or overflows.
    """
    total = unit.zeros((len(left),))
    for a, b in zip(left.T, right.T, strict=True):
        total = unit.accumulate(a ^ np.uint64(unit.a_format.sign_bit), b, total, scale)
    low = rng.integers(0, 4, len(left)).astype(np.uint64)
    total[..., 0] ^= np.where(rng.integers(0, 2, len(left)) == 0, low, 0).astype(np.uint64)
    limb, place = divmod(unit.value_width - 1, 64)
    total[..., limb] ^= (rng.integers(0, 4, len(left)) == 0).astype(np.uint64) << np.uint64(place)
    others = _exact_accumulators(unit, left[:, 0], right[:, 0], rng, scale)
    return np.where((rng.integers(0, 3, len(left)) == 0)[:, np.newaxis], others, total)


def _exact_accumulators(
    unit: ExactAccumulator,
    codes_a: Codes,
    codes_b: Codes,
    rng: np.random.Generator,
    scale: NDArray[np.int64] | None = None,
) -> Codes:
    """Return an accumulator for each pair of codes: zero, all ones, the product's negative, or a random pattern."""
    limbs = rng.integers(0, 1 << 64, (codes_a.size, unit.limbs), dtype=np.uint64)
    kind = rng.integers(0, 5, codes_a.size)
    limbs[kind == 0] = 0
    limbs[kind == 1] = np.where(rng.integers(0, 2, (codes_a.size, 1))[kind == 1] == 1, ~np.uint64(0), np.uint64(0))
    opposite = unit.accumulate(codes_a ^ np.uint64(unit.a_format.sign_bit), codes_b, unit.zeros((codes_a.size,)), scale)
    limbs = np.where((kind == 2)[:, np.newaxis], opposite, limbs)
    spare = 64 * unit.limbs - unit.width
    limbs[:, -1] &= ~np.uint64(0) >> np.uint64(spare)
    return limbs
