"""Stimuli: inputs that exercise specials, boundaries, ties and cancellation."""

import numpy as np
from numpy.typing import NDArray

import golden
from golden import ExactAccumulator, Format
from golden.exact import scale_range
from golden.rounding import grid


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


def directed_accumulators(
    a: Format,
    b: Format,
    codes_a: NDArray[np.uint64],
    codes_b: NDArray[np.uint64],
    accumulator: Format,
    rng: np.random.Generator,
    scale: NDArray[np.int64] | None = None,
    scale_bits: int = 0,
) -> NDArray[np.uint64]:
    """Return an accumulator for each pair of codes that makes the addition a difficult case.

    One of: a special, subnormal or other corner; the negative of the rounded product or a neighbour (cancellation,
    exact zeros and their signs); a value several binades away in either direction (alignment, sticky bits, ties); a
    random pattern.
    """
    corners = np.array(_corners(accumulator), np.uint64)
    size, sign = codes_a.size, np.uint64(accumulator.sign_bit)
    nothing = np.zeros(size, np.uint64)
    products = golden.mac(codes_a, codes_b, nothing, a, b, accumulator.name, scale=scale, scale_bits=scale_bits)
    products = products.astype(np.uint64)
    kind = rng.integers(0, 8, size)
    step = rng.integers(-2, 3, size)
    body = (products & (sign - np.uint64(1))).astype(np.int64)
    opposite = np.clip(body + step, 0, int(sign) - 1).astype(np.uint64) | (~products & sign)
    fraction_bits = accumulator.rows[-1].fraction_bits
    far = body + (rng.integers(-fraction_bits - 3, fraction_bits + 4, size) << fraction_bits)
    far = np.clip(far, 0, int(sign) - 1).astype(np.uint64)
    few_bits = far & ~np.uint64((1 << max(fraction_bits - 3, 0)) - 1)
    signs = rng.integers(0, 2, size).astype(np.uint64) * sign
    patterns = rng.integers(0, 2 * int(sign), size).astype(np.uint64)
    corner = corners[rng.integers(0, corners.size, size)]
    choices = [corner, opposite, opposite, far | signs, far | signs, few_bits | signs]
    return np.select([kind == k for k in range(len(choices))], choices, patterns)


def dot_cases(
    unit: ExactAccumulator, accumulator: str, lanes: int, rng: np.random.Generator, scale: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return operands of fused dot products: codes ``a`` and ``b`` of shape (number of scales, lanes), accumulators.

    The formats are those of ``unit``. Codes are one of: random; of moderate size, so that sums stay finite; with two
    lanes or more, such that the first two products cancel. See :func:`directed_accumulators` for the accumulators.
    """
    a, b, count = unit.a_format, unit.b_format, scale.size
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
    if accumulator == "exact":
        acc = exact_accumulators(unit, left[:, 0], right[:, 0], rng, scale)
    else:
        acc = directed_accumulators(a, b, left[:, 0], right[:, 0], golden.get(accumulator), rng, scale, unit.scale_bits)
    return left, right, acc


def _corners(accumulator: Format) -> list[int]:
    k = accumulator.rows[-1].fraction_bits
    top = accumulator.sign_bit - 1
    unsigned = [0, 1, 2, (1 << k) - 1, 1 << k, (1 << k) + 1, top, top - 1]
    if accumulator.infinity is not None:
        unsigned += [accumulator.infinity, accumulator.infinity - 1, accumulator.infinity + 1, accumulator.infinity - 2]
    return [x | s for x in unsigned for s in (0, accumulator.sign_bit)]


def exact_accumulators(
    unit: ExactAccumulator,
    codes_a: NDArray[np.uint64],
    codes_b: NDArray[np.uint64],
    rng: np.random.Generator,
    scale: NDArray[np.int64] | None = None,
) -> NDArray[np.uint64]:
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
