"""From an ordinal to a code: overflow, special values, the sign, and status flags."""

from amaranth.hdl import Cat, Const, Mux, Signal, Value, ValueLike

from golden import Format, Overflow, Rounding
from golden.overflow import replacements
from hwgen.datapath.arithmetic import reaches
from hwgen.datapath.ports import flag_word
from hwgen.netlist.book import attributes, chapter
from hwgen.rounding.neighbour import LowerNeighbour
from hwgen.rounding.ordinals import code_masks
from hwgen.rounding.position import Position


class Packer:
    """The hardware that turns the ordinal of a rounded number, which was ``at`` a position before, into a code."""

    def __init__(self, fmt: Format, at: Position, rounding: Rounding, overflow: Overflow, nan_to_zero: bool):
        self.fmt, self.at, self.parts, self.order = fmt, at, at.parts, at.order
        self.rounding, self.nan_to_zero = rounding, nan_to_zero
        self.instead = replacements(fmt, rounding, overflow)
        self.past, self.infinite = (self.instead.above,) * 2, (self.instead.plus_inf,) * 2
        if fmt.signed:  # by sign
            self.past = self.instead.above, self.instead.below
            self.infinite = self.instead.plus_inf, self.instead.minus_inf

    def code(self, ordinal: Signal) -> Value:
        """The code of an ordinal with the sign, or the code that replaces it out of range."""
        fmt, order, parts, instead = self.fmt, self.order, self.parts, self.instead
        body = fmt.magnitude_bits + fmt.has_lowest
        magnitudes = (1 << body) - 1
        chapter(self.at.m, f"Code: {fmt.width} bits, from the ordinal; overflow, NaN and sign")
        # The ordinal after the last one can become the code for overflow directly, if it fits and the sign is kept.
        natural = (
            order.last + 1 < 1 << order.width and self.past == (instead.above,) * 2 and instead.above <= magnitudes
        )
        overflow = self.at.named("beyond_ordinals", self._beyond(ordinal, order.last + 1 if natural else order.last))
        rounded = self._unsigned(ordinal, instead.above if natural else None)
        replacement = self._by_sign(*(Const(code & magnitudes, body) for code in self.past))
        if self.infinite != self.past:
            infinite = self._by_sign(*(Const(code & magnitudes, body) for code in self.infinite))
            replacement = Mux(parts.is_inf, infinite, replacement)
        nan_code = 0 if fmt.canonical_nan is None or self.nan_to_zero else fmt.canonical_nan & magnitudes
        number = Mux(overflow, replacement, rounded)
        if not fmt.signed:
            return self._without_sign(number, overflow, nan_code)
        unsigned_code = self.at.named("unsigned_code", Mux(parts.is_nan, Const(nan_code, body), number))
        past_to_nan, infinite_to_nan = (
            [code == fmt.canonical_nan for code in pair] for pair in (self.past, self.infinite)
        )
        to_nan: Value = Const(0, 1)
        if all(past_to_nan):
            to_nan = overflow | (ordinal == order.last + 1) if natural else overflow
            if not any(infinite_to_nan):
                to_nan = to_nan & ~parts.is_inf
        elif any(past_to_nan):
            finite = self._by_sign(*past_to_nan)
            to_nan = overflow & (finite | parts.is_inf if all(infinite_to_nan) else finite & ~parts.is_inf)
        elif all(infinite_to_nan):
            to_nan = parts.is_inf
        return self._with_sign(unsigned_code, to_nan)

    def _by_sign(self, positive: ValueLike, negative: ValueLike) -> Value:
        """One of two values by the number's sign; a constant if they are equal constants."""
        same = Value.cast(positive), Value.cast(negative)
        if all(isinstance(value, Const) for value in same) and len({value.value for value in same}) == 1:
            return same[0]
        return Mux(self.parts.sign, negative, positive)

    def _without_sign(self, number: Value, overflow: Value, nan_code: int) -> Value:
        """The code in a format without a sign: numbers that round to negative ones are replaced."""
        at, parts, fmt, instead = self.at, self.parts, self.fmt, self.instead
        number = at.named("number_code", number)
        negative = at.named("is_negative", parts.sign & self._rounds_to_nonzero(number, overflow))
        width = fmt.width
        below: Value = Const(instead.below, width)
        if instead.minus_inf != instead.below:
            below = Mux(parts.is_inf, Const(instead.minus_inf, width), below)
        code = Mux(negative, below, number)
        if instead.zero:
            code = Mux(parts.nonzero | parts.is_inf, code, Const(instead.zero, width))
        return at.named("code_or_nan", Mux(parts.is_nan, Const(nan_code, width), code))

    def _rounds_to_nonzero(self, number: Value, overflow: Value) -> Value:
        """Whether a number is infinite or rounds to another value than zero."""
        if self.fmt.has_zero:
            return overflow | number.any()
        return self.parts.nonzero | self.parts.is_inf

    def flags(self, lower: LowerNeighbour, moved: Value, ordinal: Value, signaling: Value) -> Value:
        """Status flags of an encoder, from the number's lower neighbour and the ordinal that it was rounded to.

        ``moved`` says that the number is a value of the format, but was rounded to another one; ``signaling`` that the
        source is a signaling NaN.
        """
        fmt, at, order, parts = self.fmt, self.at, self.order, self.parts
        chapter(at.m, "Flags: inexact, underflow, overflow, invalid")
        below_normals = next_to_zero(at, lower) if order.first_missing or not order.segments else at.under
        finite = at.named("is_finite", ~(parts.is_inf | parts.is_nan))
        beyond = self._beyond(ordinal, order.last)
        lost = lower.beyond | below_smallest(at, lower) | moved
        if not fmt.signed:
            negative = parts.sign & (ordinal != order.zero if fmt.has_zero else parts.nonzero)
            beyond, lost = beyond | negative, lost | negative
        overflow = at.named("overflow_flag", beyond & finite)
        nonzero = at.named("is_nonzero", parts.nonzero)
        lost = lost & nonzero if fmt.has_zero else lost | ~nonzero
        lost = at.named("lost", lost & finite)
        invalid = signaling if fmt.has_nan and not self.nan_to_zero else parts.is_nan
        kept = [self.infinite[0] == fmt.infinity, fmt.signed and self.infinite[1] == fmt.infinity]
        if not fmt.has_infinity or not all(kept):
            invalid = invalid | (parts.is_inf & ~self._by_sign(*kept))
        tiny = below_normals if fmt.has_zero else below_normals & nonzero
        return flag_word(lost | overflow, lost & tiny, overflow, invalid)

    def _beyond(self, ordinal: Value, limit: int) -> Value:
        """Whether the number is out of range: it is special, too large, or rounded to an ordinal above the limit."""
        order, parts = self.order, self.parts
        if parts.special_exponent is None:
            beyond = self.at.at_least(order.top_exponent + 1) | parts.is_inf | parts.is_nan
        else:
            beyond = self.at.at_least(min(order.top_exponent + 1, parts.special_exponent))
        if self.at.zero_looks_large:
            beyond = beyond & (parts.nonzero | parts.is_inf | parts.is_nan)
        if self.fmt.has_lowest:  # the last value has a negative sign
            beyond = beyond | (~parts.sign & reaches(ordinal, order.last))
        can_round_past = parts.exponents[1] >= order.top_exponent and order.past_top > limit
        return beyond | reaches(ordinal, limit + 1) if can_round_past else beyond

    def _unsigned(self, ordinal: Value, past_last: int | None) -> Value:
        """The code of an ordinal, without the sign."""
        body, masks = self.fmt.magnitude_bits + self.fmt.has_lowest, list(code_masks(self.fmt, self.order, past_last))
        if len(masks) == 1:
            return ordinal[:body] ^ masks[0][1]
        mask = Signal(body, name="code_mask", attrs=attributes(self.at.m))
        with self.at.m.Switch(ordinal):
            for bits, value in masks:
                with self.at.m.Case(bits.ljust(self.order.width, "-")):
                    self.at.m.d.comb += mask.eq(value)
        return ordinal[:body] ^ mask

    def _with_sign(self, unsigned_code: Signal, to_nan: Value) -> Value:
        fmt, sign, is_nan, canonical = self.fmt, self.parts.sign, self.parts.is_nan, self.fmt.canonical_nan
        if fmt.twos_complement:
            number: Value = self.at.named("signed_code", Mux(sign, -unsigned_code, unsigned_code)[: fmt.width])
            nan: Value = Const(canonical or 0, fmt.width)
        else:
            number = sign if fmt.has_negative_zero else sign & self._not_zero(unsigned_code)
            nan = sign if fmt.nan_keeps_sign else Const((canonical or 0) >> (fmt.width - 1), 1)
        if canonical is None:
            number = number if fmt.twos_complement else number & ~is_nan
        elif self.nan_to_zero:
            number = Mux(is_nan, 0, Mux(to_nan, nan, number))
        else:
            to_nan = is_nan | to_nan
            if fmt.twos_complement:
                to_nan = self.at.named("becomes_nan", to_nan)
            number = Mux(to_nan, nan, number)
        if fmt.twos_complement:
            return self.at.named("code_or_nan", number)
        return Cat(unsigned_code, self.at.named("code_sign", number))

    def _not_zero(self, unsigned_code: Value) -> Value:
        """Whether the code is not zero; derived from the input if that is simple."""
        parts = self.parts
        infinity_looks_small = parts.special_exponent is None and not isinstance(parts.is_inf, Const)
        is_odd = infinity_looks_small or self.at.zero_looks_large
        if self.order.first_missing or not isinstance(parts.hidden, Const) or is_odd:
            return unsigned_code.any()
        match self.rounding:
            case Rounding.TIES_TO_AWAY:
                return self.at.relevant
            case Rounding.TIES_TO_EVEN:  # the smallest relevant number is a tie
                larger = self.at.at_least(self.at.lowest_relevant + 1) | parts.fraction.any() | parts.rest
                return self.at.relevant & larger
            case _:
                return unsigned_code.any()


def next_to_zero(at: Position, lower: LowerNeighbour) -> Value:
    """Whether a number's lower neighbour is zero; out of range the ordinal is meaningless."""
    return (lower.ordinal == at.order.zero) & ~at.at_least(at.order.top_exponent + 1)


def below_smallest(at: Position, lower: LowerNeighbour) -> Value:
    """Whether a number is below the smallest value; without subnormals and first gap the exponent decides."""
    return next_to_zero(at, lower) if at.order.subnormals or at.order.first_missing else at.under
