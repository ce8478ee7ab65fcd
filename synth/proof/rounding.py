"""Sums and rounding as a solver's terms: whether bits of a wide format are an exact number, rounded once."""

from fractions import Fraction
from typing import NamedTuple

from bitwuzla import RoundingMode

from golden import WideFormat
from synth.proof.bits import Bits, Bool, Float, cat, ite

EXPONENT_BITS = 14
"""Of exponents in claims, with their sign; wide enough for all of them."""

_GUARD = 4
"""Places below the accumulator's last bit at which a number far below it is represented by its sign alone."""

SPECIAL, ZERO, BELOW, ABOVE, NEAR, ALONE = "special", "zero", "below", "above", "near", "alone"
"""Kinds of parts: with any infinity or NaN; with 0; with the accumulator far below, far above, or neither; without."""

_FLOAT_BITS = 12
"""Exponent bits of the floating-point numbers to which the solver rounds; wide enough for all of them."""


class Exact(NamedTuple):
    """The number ``magnitude * 2**base``; the exponent has a sign and :data:`EXPONENT_BITS`."""

    magnitude: Bits
    base: Bits

    def is_below(self, number: Fraction) -> Bool:
        """Whether it is less than another number, ``odd * 2**exponent``."""
        odd, exponent = number.numerator, 1 - number.denominator.bit_length()
        while not odd & 1:
            odd, exponent = odd >> 1, exponent + 1
        size = self.magnitude.width
        wide = self.magnitude.to(max(size + odd.bit_length() + 1, EXPONENT_BITS))
        limit, places = wide.constant(odd), exponent - self.base
        distance = abs(places).to(wide.width)
        below_limit = (wide < limit << distance) | (distance >= size)
        above = ite(distance >= odd.bit_length(), self.magnitude == 0, wide << distance < limit)
        return ite(places < 0, above, below_limit)


class Rounded(NamedTuple):
    """Whether the bits are the rounded number; and the flags of a finite sum."""

    claim: Bool
    inexact: Bool
    tiny: Bool
    overflow: Bool


class Part(NamedTuple):
    """Numbers whose accumulator's last bit weighs ``2**distance`` of their last bits, more or less."""

    kind: str
    distance: int = 0


def sum_of(
    target: WideFormat,
    part: Part,
    acc: Bits,
    number: Bits,
    weight: Bits,
    acc_weight: Bits,
    below: int,
    random_bits: int = 0,
) -> tuple[Exact, Bool, Bool]:
    """The sum of a number with a sign and an accumulator's magnitude; whether it is negative, and whether it is 0.

    Weights are exponents of last bits. An accumulator far below is represented by a 1 that is ``below`` places under
    the number's last bit, a number far below the accumulator by its sign, more places below for each random bit.
    """
    k, some = target.fraction_bits, cat(acc[:-1] != 0)
    significand = cat(acc[:k], some if target.flush else acc[k:-1] != 0)
    if part.kind in (BELOW, ALONE):
        terms, base = ((number, below), (some, 0)), weight - below
    elif part.kind == ABOVE:
        guard = _GUARD + random_bits
        terms, base = ((cat(number != 0, number[-1]).signed, 0), (significand, guard)), acc_weight - guard
    else:
        below = max(-part.distance, 0)
        terms, base = ((number, below), (significand, max(part.distance, 0))), weight - below
    size = max(word.width + places for word, places in terms) + 2
    first, second = (word.to(size).signed << places for word, places in terms)
    total = first + second
    return Exact(abs(total), base), total[-1], total == 0


def rounded_to(target: WideFormat, body: Bits, exact: Exact) -> Rounded:
    """Whether ``body``, bits without sign, is a number rounded to nearest: ties to even, or away without subnormals.

    The solver's own floating-point theory rounds numbers of the normal range. Subnormals are rounded as multiples of
    the smallest one.
    """
    flush = target.flush
    nearest, down, up = (
        exact.magnitude.rounded(mode, _FLOAT_BITS, target.precision)
        for mode in (RoundingMode.RNA if flush else RoundingMode.RNE, RoundingMode.RTZ, RoundingMode.RTP)
    )
    claim, lost = number(target, body, exact.base) == nearest, down != up
    is_small = exact.is_below(Fraction(2) ** (-target.bias if flush else 1 - target.bias))
    if flush:
        claim = ite(is_small, body == 0, claim)
        lost |= (body == 0) & (exact.magnitude != 0)  # also the number of code 0 if that were normal
    else:
        code, is_cut = _subnormal(target, exact)
        claim, lost = ite(is_small, body == code, claim), ite(is_small, is_cut, lost)
    ulp = Fraction(2) ** (target.exponent_range[1] - target.fraction_bits)
    overflow = ~exact.is_below(Fraction(target.largest) + ulp / 2)
    last = target.canonical_nan if flush else target.infinity
    assert last is not None
    claim = ite(overflow, body == last & (1 << body.width) - 1, claim)
    return Rounded(claim, lost | overflow, exact.is_below(Fraction(target.smallest_normal)), overflow)


def stochastic_to(target: WideFormat, body: Bits, exact: Exact, random: Bits) -> Rounded:
    """Whether ``body``, bits without sign, is a number rounded by a random word of R bits.

    The number's position, in units of the last place, is cut to R bits after the point; the word is added to these, and
    a carry makes the number's lower neighbour the upper one. The gap from 0 to the smallest number of a format without
    subnormals is another unit: there the position is compared with 2**R - random times that number.
    """
    k, count, magnitude = target.fraction_bits, random.width, exact.magnitude
    kept, lowest = k + 1 + count, -target.bias if target.flush else 1 - target.bias
    size = max(magnitude.width, kept, EXPONENT_BITS)
    moved, first = magnitude.to(size) << size - magnitude.width, exact.base + (magnitude.width - 1)
    for places in (1 << place for place in reversed(range((size - 1).bit_length()))):
        is_far = moved[size - places :] == 0
        moved, first = ite(is_far, moved << places, moved), ite(is_far, first - places, first)
    exponent = ite(first < lowest, first.constant(lowest), first)
    dropped = exponent - first + (size - kept)
    position, width = moved >> dropped, kept + EXPONENT_BITS
    is_zero, lost = magnitude == 0, (position[:count] != 0) | (position << dropped != moved)
    field_less_1 = (exponent + (target.bias - 1)).to(width)[:]
    code = (position[:kept].to(width) + random.to(width) >> count) + (field_less_1 << k)
    if target.flush:
        smallest = (1 << k) + 1
        in_gap = (first <= lowest) & (position[:kept] < smallest << count)
        needed = (random.constant(0).to(width) + (1 << count) - random.to(width)) * smallest
        code = ite(in_gap, cat(position[:kept].to(width) >= needed).to(width), code)
        lost |= in_gap
    last = target.canonical_nan if target.flush else target.infinity
    assert last is not None
    overflow = (code >= last) & ~is_zero
    code = ite(overflow, last, ite(is_zero, 0, code))
    tiny = exact.is_below(Fraction(target.smallest_normal))
    return Rounded(body == code[: body.width], (lost | overflow) & ~is_zero, tiny, overflow)


def odd_to(target: WideFormat, body: Bits, exact: Exact) -> Rounded:
    """Whether ``body``, bits without sign, is a number rounded to odd; without the flags inexact and tiny.

    A number between two others is the odd one: truncated, and its last bit is 1. From the power of two after the
    largest number on it is infinity.
    """
    precision = target.precision
    down, up = (exact.magnitude.rounded(mode, _FLOAT_BITS, precision) for mode in (RoundingMode.RTZ, RoundingMode.RTP))
    even = body & (1 << body.width) - 2
    own = number(target, body, exact.base) == down
    normal = ite(down == up, own, body[0] & (own | (number(target, even, exact.base) == down)))
    code, is_cut = _subnormal(target, exact, to_odd=True)
    claim = ite(exact.is_below(Fraction(2) ** (1 - target.bias)), body == code, normal)
    overflow, never = ~exact.is_below(Fraction(2) ** (target.bias + 1)), is_cut & False
    assert target.infinity is not None
    return Rounded(ite(overflow, body == target.infinity, claim), never, never, overflow)


def number(target: WideFormat, body: Bits, base: Bits, dropped: int = 0, bits: int = _FLOAT_BITS) -> Float:
    """The number of a normal code without its last bits, over ``2**base``."""
    k = target.fraction_bits
    exponent = body[k:].to(EXPONENT_BITS).signed + ((1 << (bits - 1)) - 1 - target.bias) - base
    fields = cat(body[dropped:k], exponent[:bits])
    return fields.to(fields.width + 1).as_float(bits)


def _subnormal(target: WideFormat, exact: Exact, to_odd: bool = False) -> tuple[Bits, Bool]:
    """The code of a number below the smallest normal one; and whether anything is lost."""
    code_bits, few = target.width - 1, target.fraction_bits + 1  # all bits but the last few are 0
    tail = exact.magnitude.width + 1  # places for what is cut; a number cut by more is less than half
    width = max(tail + max(tail - 1, code_bits) + 1, EXPONENT_BITS)
    wide = exact.magnitude.to(width) << tail
    places = exact.base - target.ulp_exponent
    distance = abs(places).to(width)
    moved = ite(places < 0, wide >> ite(distance > tail, tail, distance), wide << distance)
    kept, rest, half = moved[tail:], moved[:tail], 1 << (tail - 1)
    up = (rest != 0) & ~kept[0] if to_odd else (rest > half) | (rest == half) & kept[0]
    return (kept[:few] + cat(up).to(few)).to(code_bits), rest != 0
