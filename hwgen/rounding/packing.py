"""From an ordinal to a code: overflow, special values, the sign, and status flags."""

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from golden import Format, Overflow, Rounding
from hwgen.datapath.arithmetic import reaches
from hwgen.datapath.ports import flag_word
from hwgen.netlist.book import attributes, chapter
from hwgen.rounding.neighbour import LowerNeighbour
from hwgen.rounding.ordinals import code_masks
from hwgen.rounding.position import Position


class Packer:
    """The hardware that turns the ordinal of a rounded number into a code.

    Parameters
    ----------
    fmt : Format
    at : Position
        The number before rounding.
    rounding, overflow, nan_to_zero
        As checked by :func:`golden.options.options`.
    """

    def __init__(self, fmt: Format, at: Position, rounding: Rounding, overflow: Overflow, nan_to_zero: bool):
        self.fmt, self.at, self.parts, self.order = fmt, at, at.parts, at.order
        self.rounding, self.overflow, self.nan_to_zero = rounding, overflow, nan_to_zero

    def code(self, ordinal: Signal) -> Value:
        """The code of an ordinal with the sign, or the code that replaces it out of range."""
        fmt, order, parts = self.fmt, self.order, self.parts
        body, magnitudes = fmt.width - 1, fmt.sign_bit - 1
        chapter(self.at.m, f"Code: {fmt.width} bits, from the ordinal; overflow, NaN and sign")
        finite_code, infinite_code = self._overflow_code(infinite=False), self._overflow_code(infinite=True)
        # The ordinal after the last one can become the code for overflow directly, if it fits and the sign is kept.
        natural = order.last + 1 < 1 << order.width and finite_code <= magnitudes
        overflow = self.at.named("beyond_ordinals", self._beyond(ordinal, order.last + 1 if natural else order.last))
        rounded = self._unsigned(ordinal, finite_code if natural else None)
        instead: Value = Const(finite_code & magnitudes, body)
        if infinite_code != finite_code:
            instead = Mux(parts.is_inf, Const(infinite_code & magnitudes, body), instead)
        nan_code = 0 if fmt.canonical_nan is None or self.nan_to_zero else fmt.canonical_nan & magnitudes
        number = Mux(overflow, instead, rounded)
        unsigned_code = self.at.named("unsigned_code", Mux(parts.is_nan, Const(nan_code, body), number))
        to_nan: Value = Const(0, 1)
        if fmt.has_nan and finite_code == fmt.canonical_nan:
            to_nan = overflow | (ordinal == order.last + 1) if natural else overflow
            if infinite_code != fmt.canonical_nan:
                to_nan = to_nan & ~parts.is_inf
        elif fmt.has_nan and infinite_code == fmt.canonical_nan:
            to_nan = parts.is_inf
        return self._with_sign(unsigned_code, to_nan)

    def flags(self, lower: LowerNeighbour, moved: Value, ordinal: Value, nonzero: Value, signaling: Value) -> Value:
        """Status flags of an encoder.

        Parameters
        ----------
        lower : LowerNeighbour
            The number's lower neighbour.
        moved : Value
            Whether the number is a value of the format, but was rounded to another one.
        ordinal : Value
            The ordinal that the number was rounded to.
        nonzero, signaling : Value
            Whether the source is not zero, and whether it is a signaling NaN.
        """
        fmt, at, order, parts = self.fmt, self.at, self.order, self.parts
        chapter(at.m, "Flags: inexact, underflow, overflow, invalid")
        # Numbers below the smallest value have the lower neighbour zero. Without subnormals and without a first gap
        # the exponent decides. (Out of range the ordinal is meaningless.)
        next_to_zero = (lower.ordinal == order.zero) & ~at.at_least(order.top_exponent + 1)
        below_smallest = next_to_zero if order.subnormals or order.first_missing else at.under
        below_normals = next_to_zero if order.first_missing or not order.segments else at.under
        finite = at.named("is_finite", ~(parts.is_inf | parts.is_nan))
        overflow = at.named("overflow_flag", self._beyond(ordinal, order.last) & finite)
        nonzero = at.named("is_nonzero", nonzero)
        lost = at.named("lost", (lower.beyond | below_smallest | moved) & nonzero & finite)
        invalid = signaling if fmt.has_nan and not self.nan_to_zero else parts.is_nan
        if not fmt.has_infinity or self._overflow_code(infinite=True) != fmt.infinity:
            invalid = invalid | parts.is_inf
        return flag_word(lost | overflow, lost & below_normals, overflow, invalid)

    def _beyond(self, ordinal: Value, limit: int) -> Value:
        """Whether the number is out of range: it is special, too large, or rounded to an ordinal above the limit."""
        order, parts = self.order, self.parts
        if parts.special_exponent is None:
            beyond = self.at.at_least(order.top_exponent + 1) | parts.is_inf | parts.is_nan
        else:
            beyond = self.at.at_least(min(order.top_exponent + 1, parts.special_exponent))
        can_round_past = parts.exponents[1] >= order.top_exponent and order.past_top > limit
        return beyond | reaches(ordinal, limit + 1) if can_round_past else beyond

    def _unsigned(self, ordinal: Value, past_last: int | None) -> Value:
        """The code of an ordinal, without the sign."""
        body, masks = self.fmt.width - 1, list(code_masks(self.fmt, self.order, past_last))
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
            number: Value = Mux(sign, -unsigned_code, unsigned_code)[: fmt.width]
            nan: Value = Const(canonical or 0, fmt.width)
        else:
            number = sign if fmt.has_negative_zero else sign & self._not_zero(unsigned_code)
            nan = sign if fmt.nan_keeps_sign else Const((canonical or 0) >> (fmt.width - 1), 1)
        if canonical is None:
            number = number if fmt.twos_complement else number & ~is_nan
        elif self.nan_to_zero:
            number = Mux(is_nan, 0, Mux(to_nan, nan, number))
        else:
            number = Mux(is_nan | to_nan, nan, number)
        return number if fmt.twos_complement else Cat(unsigned_code, self.at.named("code_sign", number))

    def _not_zero(self, unsigned_code: Value) -> Value:
        """Whether the code is not zero; derived from the input if that is simple."""
        parts = self.parts
        infinity_looks_small = parts.special_exponent is None and not isinstance(parts.is_inf, Const)
        if self.order.first_missing or not isinstance(parts.hidden, Const) or infinity_looks_small:
            return unsigned_code.any()
        match self.rounding:
            case Rounding.TIES_TO_AWAY:
                return self.at.relevant
            case Rounding.TIES_TO_EVEN:  # the smallest relevant number is a tie
                larger = self.at.at_least(self.at.lowest_relevant + 1) | parts.fraction.any() | parts.rest
                return self.at.relevant & larger
            case _:
                return unsigned_code.any()

    def _overflow_code(self, *, infinite: bool) -> int:
        """Magnitude bits of the code for infinities, or for finite numbers that are too large."""
        fmt, largest = self.fmt, self.fmt.largest_code
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
