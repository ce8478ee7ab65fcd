"""From an ordinal to a code: what replaces it beyond the range, and the sign."""

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from golden import Format, Overflow, Rounding
from golden.validation import MAX_WIDTH
from hwgen.datapath.arithmetic import reaches
from hwgen.rounding.ordinals import code_masks
from hwgen.rounding.position import Position


class Packer:
    """What makes the code of a number from the ordinal that it was rounded to.

    Parameters
    ----------
    fmt : Format
    at : Position
        The number.
    rounding, overflow, nan_to_zero
        As checked by :func:`golden.options.options`.
    """

    def __init__(self, fmt: Format, at: Position, rounding: Rounding, overflow: Overflow, nan_to_zero: bool):
        self.fmt, self.at, self.parts, self.order = fmt, at, at.parts, at.order
        self.rounding, self.overflow, self.nan_to_zero = rounding, overflow, nan_to_zero

    def code(self, ordinal: Signal) -> Value:
        """The ordinal's code, what replaces it beyond the range, and the sign."""
        fmt, order, parts = self.fmt, self.order, self.parts
        body, magnitudes = fmt.width - 1, fmt.sign_bit - 1
        finite_code, infinite_code = self._overflow_code(infinite=False), self._overflow_code(infinite=True)
        # The ordinal past the last becomes the overflow's code by itself, where it has room and the sign is not touched.
        natural = order.last + 1 < 1 << order.width and finite_code <= magnitudes
        overflow = self.at.named("overflow", self._beyond(ordinal, order.last + 1 if natural else order.last))
        rounded = self._unsigned(ordinal, finite_code if natural else None)
        instead: Value = Const(finite_code & magnitudes, body)
        if infinite_code != finite_code:
            instead = Mux(parts.is_inf, Const(infinite_code & magnitudes, body), instead)
        nan_code = 0 if fmt.canonical_nan is None or self.nan_to_zero else fmt.canonical_nan & magnitudes
        unsigned_code = self.at.named("unsigned_code", Mux(parts.is_nan, Const(nan_code, body), Mux(overflow, instead, rounded)))
        to_nan: Value = Const(0, 1)
        if fmt.has_nan and finite_code == fmt.canonical_nan:
            to_nan = overflow | (ordinal == order.last + 1) if natural else overflow
            if infinite_code != fmt.canonical_nan:
                to_nan = to_nan & ~parts.is_inf
        elif fmt.has_nan and infinite_code == fmt.canonical_nan:
            to_nan = parts.is_inf
        return self._with_sign(unsigned_code, to_nan)

    def past_largest(self, ordinal: Value) -> Value:
        """Whether the number is special, or rounded past the largest value."""
        return self._beyond(ordinal, self.order.last)

    @property
    def keeps_infinity(self) -> bool:
        """Whether infinity becomes infinity."""
        return self.fmt.has_infinity and self._overflow_code(infinite=True) == self.fmt.infinity

    @property
    def keeps_nan(self) -> bool:
        """Whether NaN becomes NaN."""
        return self.fmt.has_nan and not self.nan_to_zero

    def _beyond(self, ordinal: Value, limit: int) -> Value:
        """Whether the number has no code of its own: it is special, too large, or rounded to an ordinal past the limit."""
        order, parts = self.order, self.parts
        if parts.special_exponent is None:
            beyond = self.at.at_least(order.top_exponent + 1) | parts.is_inf | parts.is_nan
        else:
            beyond = self.at.at_least(min(order.top_exponent + 1, parts.special_exponent))
        can_round_past = parts.exponents[1] >= order.top_exponent and order.past_top > limit
        return beyond | reaches(ordinal, limit + 1) if can_round_past else beyond

    def _unsigned(self, ordinal: Value, past_last: int | None) -> Value:
        """The code of an ordinal, without the sign."""
        body, masks = self.fmt.width - 1, list(code_masks(self.fmt, past_last))
        if len(masks) == 1:
            return ordinal[:body] ^ masks[0][1]
        mask = Signal(body, name="code_mask")
        with self.at.m.Switch(ordinal):
            for bits, value in masks:
                with self.at.m.Case(bits.ljust(self.order.width, "-")):
                    self.at.m.d.comb += mask.eq(value)
        return ordinal[:body] ^ mask

    def _with_sign(self, unsigned_code: Signal, overflow_to_nan: Value) -> Value:
        fmt, sign, is_nan = self.fmt, self.parts.sign, self.parts.is_nan
        if fmt.twos_complement:
            signed_code: Value = Mux(sign, -unsigned_code, unsigned_code)[: fmt.width]
            if fmt.canonical_nan is None:
                return signed_code
            canonical: Value = Const(fmt.canonical_nan, fmt.width)
            if self.nan_to_zero:
                return Mux(is_nan, 0, Mux(overflow_to_nan, canonical, signed_code))
            return Mux(is_nan | overflow_to_nan, canonical, signed_code)
        negative = sign if fmt.has_negative_zero else sign & self._not_zero(unsigned_code)
        if fmt.canonical_nan is None:
            return Cat(unsigned_code, negative & ~is_nan)
        nan_sign: Value = Const(fmt.canonical_nan >> (fmt.width - 1), 1)
        if fmt.nan_keeps_sign:
            nan_sign = sign
        if self.nan_to_zero:
            return Cat(unsigned_code, Mux(is_nan, 0, Mux(overflow_to_nan, nan_sign, negative)))
        return Cat(unsigned_code, Mux(is_nan | overflow_to_nan, nan_sign, negative))

    def _not_zero(self, unsigned_code: Value) -> Value:
        """Whether the code is that of a number other than zero: from the input where that is simple."""
        parts = self.parts
        infinity_looks_small = parts.special_exponent is None and not isinstance(parts.is_inf, Const)
        if self.order.first_missing or not isinstance(parts.hidden, Const) or infinity_looks_small:
            return unsigned_code.any()
        match self.rounding:
            case Rounding.TIES_TO_AWAY:
                return self.at.relevant
            case Rounding.TIES_TO_EVEN:  # the smallest relevant number is a tie
                return self.at.relevant & (self.at.at_least(self.at.lowest_relevant + 1) | parts.fraction.any() | parts.rest)
            case _:
                return unsigned_code.any()

    def _overflow_code(self, *, infinite: bool) -> int:
        """Magnitude code for an infinite number, or for a finite one past the largest."""
        fmt = self.fmt
        largest = int(fmt.magnitude_codes[-1]) if fmt.width <= MAX_WIDTH else self.order.last
        if self.rounding is Rounding.TOWARD_ZERO and not infinite:
            return largest
        match self.overflow:
            case Overflow.INFINITY:
                code = fmt.infinity
            case Overflow.NAN:
                code = fmt.canonical_nan
            case Overflow.SATURATE:
                code = largest
            case Overflow.OCP_PAPER:
                code = (fmt.canonical_nan if fmt.infinity is None else fmt.infinity) if infinite else largest
        assert code is not None
        return code
