"""From a number in parts to a code: the one place where hardware rounds to a format.

The significand is aligned so that the bits to keep end at a fixed place; they and the exponent make the ordinal (see
:mod:`hwgen.ordinals`) of the lower neighbour; rounding up adds 1, and the carry runs into the exponent by itself.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from golden import Format, Overflow, Rounding
from golden.validation import MAX_WIDTH
from hwgen.ordinals import code_masks, ordinals


@dataclass(frozen=True)
class Parts:
    """A number on its way to a code: value = significand / 2**(width - 1) * 2**(exponent - offset).

    ``exponents`` gives the lowest and highest exponent of the value that can occur; ``raw`` are the source's bits, from which hybrid
    rounding takes its threshold.
    """

    sign: Value
    exponent: Value
    offset: int
    exponents: tuple[int, int]
    significand: Value
    is_zero: Value
    is_inf: Value
    is_nan: Value
    raw: Value
    random: Value | None = None


class Rounder:
    """Adds to a module the hardware that rounds ``parts`` to a code of ``fmt``.

    Parameters
    ----------
    rounding, overflow, nan_to_zero
        As checked by :func:`golden.encode.options`.
    """

    def __init__(self, fmt: Format, rounding: Rounding, overflow: Overflow, nan_to_zero: bool, parts: Parts):
        self.fmt, self.rounding, self.overflow, self.nan_to_zero, self.parts = fmt, rounding, overflow, nan_to_zero, parts
        self.order = ordinals(fmt)
        self.relevant = Signal(name="relevant")
        """Finite, not zero, and large enough to round to anything but zero."""

    # -- widths -------------------------------------------------------------------------------------------------------------------

    @property
    def tail_bits(self) -> int:
        """Bits of the position between two neighbours that rounding compares with something."""
        match self.rounding:
            case Rounding.STOCHASTIC:
                assert self.parts.random is not None
                return len(self.parts.random)
            case Rounding.HYBRID:
                return 14 if len(self.parts.raw) == 32 else 2
            case _:
                return 1

    @property
    def lowest_relevant(self) -> int:
        """Smallest exponent of a value that can round to anything but zero."""
        order = self.order
        reach = self.tail_bits if self.rounding is Rounding.STOCHASTIC else 1
        if self.rounding in (Rounding.TOWARD_ZERO, Rounding.MPTORCH):
            reach = 0
        if order.subnormals:
            return order.bottom_exponent - order.bottom_fraction_bits - reach
        return order.bottom_exponent - reach

    # -- stages -------------------------------------------------------------------------------------------------------------------

    def code(self, m: Module) -> Value:
        """The code, as a value in ``m``."""
        parts = self.parts
        m.d.comb += self.relevant.eq(self._at_least(self.lowest_relevant) & ~(parts.is_zero | parts.is_nan | parts.is_inf))
        kept, tail = self._align(m)
        lower = self._ordinal(m, kept)
        up = self._round_up(m, lower, tail)
        ordinal = Signal(self.fmt.width, name="ordinal")
        m.d.comb += ordinal.eq(lower + up)
        return self._pack(m, ordinal)

    def _at_least(self, exponent: int) -> Value:
        """Whether the number's exponent reaches a constant; a constant itself where the source's range decides."""
        low, high = self.parts.exponents
        if exponent <= low:
            return Const(1, 1)
        if exponent > high:
            return Const(0, 1)
        return self.parts.exponent >= exponent + self.parts.offset

    def _is(self, exponent: int) -> Value:
        low, high = self.parts.exponents
        return self.parts.exponent == exponent + self.parts.offset if low <= exponent <= high else Const(0, 1)

    def _align(self, m: Module) -> tuple[Value, Value]:
        """Bits to keep, and the tail behind them.

        ::

            | hidden | fraction ......................... |      before the shift; the hidden bit counts below the normals only
            | kept: fraction bits of the finest binade | tail |  after it
        """
        order, parts = self.order, self.parts
        finest = order.fraction_bits
        width = len(parts.significand)
        low = parts.exponents[0]
        shifts_below = low < order.bottom_exponent and not order.first_missing
        deepest = finest - order.bottom_fraction_bits + order.bottom_exponent - max(self.lowest_relevant, low) if shifts_below else 0
        last_shift = max(deepest, *(finest - s.fraction_bits for s in order.segments), 0)
        below = Signal(name="below_normals")
        m.d.comb += below.eq(~self._at_least(order.bottom_exponent))
        shift = Signal(range(last_shift + 1), name="shift") if last_shift else Const(0, 1)
        if last_shift:
            amount: Value = Const(finest - order.segments[0].fraction_bits) if order.segments else Const(0)
            for earlier, segment in zip(order.segments, order.segments[1:], strict=False):
                if segment.fraction_bits != earlier.fraction_bits:
                    amount = Mux(self._at_least(segment.low), finest - segment.fraction_bits, amount)
            if shifts_below:
                base = order.bottom_exponent + parts.offset + finest - order.bottom_fraction_bits
                amount = Mux(below, (base - parts.exponent)[: len(shift)], amount)
            m.d.comb += shift.eq(amount)
        # Where the first value is missing, all below the normals lies in one gap, see _round_first_gap.
        counts = self.relevant & ~below if order.first_missing else self.relevant
        significand = Signal(width, name="significand_in_frame")
        m.d.comb += significand.eq(Mux(counts, Cat(parts.significand[:-1], parts.significand[-1] & below), 0))
        # In front `finest` places for the bits to keep, with the first at the hidden bit; behind, room for all that the shift moves out.
        frame_width = max(width, finest + 1) + last_shift
        frame = Signal(frame_width, name="aligned")
        m.d.comb += frame.eq((significand << (frame_width - width)) >> shift)
        cut = frame_width - 1 - finest
        return frame[cut:], frame[:cut]

    def _ordinal(self, m: Module, kept: Value) -> Value:
        """Ordinal of the lower neighbour: the exponent in front of the kept bits."""
        order, parts = self.order, self.parts
        width = self.fmt.width
        field = Signal(width, name="exponent_field")
        chosen: Value | None = None
        for segment in order.segments:
            if segment.high < parts.exponents[0] or segment.low > parts.exponents[1]:
                continue
            k = segment.fraction_bits
            if segment.offset % (1 << k) == 0:
                place = (parts.exponent + ((segment.offset >> k) - parts.offset)) << k
            else:
                place = (parts.exponent << k) + (segment.offset - (parts.offset << k))
            chosen = place[:width] if chosen is None else Mux(self._at_least(segment.low), place[:width], chosen)
        if chosen is not None:
            m.d.comb += field.eq(Mux(self.relevant & self._at_least(order.bottom_exponent), chosen, 0))
        lower = Signal(width, name="lower_ordinal")
        aligned = all(segment.offset % (1 << segment.fraction_bits) == 0 for segment in order.segments)
        m.d.comb += lower.eq(field | kept if aligned else field + kept)
        return lower

    def _round_up(self, m: Module, lower: Value, tail: Value) -> Value:
        half = tail[-1] if len(tail) else Const(0, 1)
        below = tail[:-1].any() if len(tail) > 1 else Const(0, 1)
        odd = lower[0]
        up = Signal(name="round_up")
        match self.rounding:
            case Rounding.TOWARD_ZERO:
                value: Value = Const(0, 1)
            case Rounding.TIES_TO_EVEN:
                value = half & (below | odd)
            case Rounding.TIES_TO_AWAY:
                value = half
            case Rounding.STOCHASTIC:
                assert self.parts.random is not None
                value = (self._tail_number(tail) + self.parts.random)[self.tail_bits]
            case Rounding.HYBRID:
                value = self._hybrid(half, tail)
            case Rounding.MPTORCH:
                value = self._mptorch(lower, half, below, odd)
        if self.order.first_missing:
            value = Mux(lower == 0, self._round_first_gap(m, half, below) & self.relevant, value)
        m.d.comb += up.eq(value)
        return up

    def _tail_number(self, tail: Value) -> Value:
        """The first ``tail_bits`` of the tail."""
        missing = self.tail_bits - len(tail)
        return Cat(Const(0, missing), tail) if missing > 0 else tail[len(tail) - self.tail_bits :]

    def _hybrid(self, half: Value, tail: Value) -> Value:
        """HiFloat8 (specification, 1.3): half away near 1; elsewhere the tail against bits of the source; nothing below 2**-23."""
        raw = self.parts.raw
        threshold = raw[: self.tail_bits] if self.tail_bits == 14 else Cat(Const(1, 1), raw[0])
        near_one = self._at_least(-3) & ~self._at_least(4)
        past_largest = self._is(self.order.top_exponent) & half
        compared = (self._tail_number(tail) >= threshold) & self.relevant
        return Mux(near_one, half, compared | past_largest)

    def _mptorch(self, lower: Value, half: Value, below: Value, odd: Value) -> Value:
        """The authors' simulator: half away among the powers of two, zero below the smallest, infinity above the largest."""
        powers: Value = Const(0, 1)
        for segment in self.order.segments:
            if segment.fraction_bits == 0:
                powers = powers | (self._at_least(segment.low) & ~self._at_least(segment.high + 1))
        past_largest = (lower == self.order.last) & (half | below)
        return (lower != 0) & ((half & (below | odd | powers)) | past_largest)

    # -- below the smallest value of a format whose first value is zero ---------------------------------------------------------

    def _round_first_gap(self, m: Module, half: Value, below: Value) -> Value:
        """Between zero and (1 + 2**-k) * 2**bottom, where k is the lowest binade's number of fraction bits."""
        order, parts = self.order, self.parts
        k, bottom = order.bottom_fraction_bits, order.bottom_exponent
        here, under = self._is(bottom), self._is(bottom - 1)
        fraction = parts.significand[:-1]
        flushed = self.fmt.flush and self.rounding is not Rounding.STOCHASTIC
        match self.rounding:
            case Rounding.TOWARD_ZERO | Rounding.MPTORCH:
                return Const(0, 1)
            case Rounding.STOCHASTIC:
                return self._stochastic_first_gap(m)
            case Rounding.TIES_TO_AWAY if flushed:
                return here & half
            case Rounding.TIES_TO_EVEN if flushed:  # the unused pattern below is even
                return here & half & below
        middle = 1 << (len(fraction) - k) if len(fraction) >= k else None  # of 0 and the smallest value: 1.xx * 2**(bottom - 1)
        if middle is None:
            past = fraction != 0
        elif self.rounding is Rounding.TIES_TO_AWAY:
            past = fraction >= middle
        else:
            past = fraction > middle
        return here | (under & past)

    def _stochastic_first_gap(self, m: Module) -> Value:
        """Up iff x * 2**R >= (2**R - random) * smallest, both in units of 2**(bottom - k)."""
        order, parts = self.order, self.parts
        assert parts.random is not None
        k, r = order.bottom_fraction_bits, len(parts.random)
        width = len(parts.significand)
        steps = k + r  # places of x behind 2**bottom that count
        fixed = Signal(steps + 1, name="gap_position")
        deepest = order.bottom_exponent - max(self.lowest_relevant, parts.exponents[0])
        wide = Signal(max(width, steps + 1), name="gap_significand")
        m.d.comb += wide.eq(parts.significand << max(steps + 1 - width, 0))
        amount = Signal(range(max(deepest, 1) + 1), name="gap_shift")
        m.d.comb += amount.eq(Mux(self._at_least(order.bottom_exponent), 0, order.bottom_exponent + parts.offset - parts.exponent))
        m.d.comb += fixed.eq((wide >> amount)[len(wide) - steps - 1 :])
        needed = Signal(steps + 2, name="gap_threshold")
        m.d.comb += needed.eq(((1 << r) - parts.random) * ((1 << k) + 1))
        return fixed >= needed

    # -- the code ----------------------------------------------------------------------------------------------------------------

    def _pack(self, m: Module, ordinal: Signal) -> Value:
        fmt, order, parts = self.fmt, self.order, self.parts
        body = fmt.width - 1
        finite_code, infinite_code = self._overflow_code(infinite=False), self._overflow_code(infinite=True)
        # The ordinal past the last becomes the overflow's code by itself, where it has room and the sign is not touched.
        natural = order.last + 1 < fmt.sign_bit and finite_code != fmt.canonical_nan
        magnitude = Signal(body, name="magnitude")
        masks = list(code_masks(fmt, finite_code if natural else None))
        if len(masks) == 1 and masks[0][1] == 0:
            m.d.comb += magnitude.eq(ordinal[:body])
        else:
            mask = Signal(body, name="code_mask")
            with m.Switch(ordinal[:body]):
                for bits, value in masks:
                    with m.Case(bits.ljust(body, "-")):
                        m.d.comb += mask.eq(value)
            m.d.comb += magnitude.eq(ordinal[:body] ^ mask)
        overflow = Signal(name="overflow")
        limit = order.last + 1 if natural else order.last
        past = self._at_least(order.top_exponent + 1) & ~parts.is_zero
        if parts.exponents[1] >= order.top_exponent and order.past_top > limit:
            past = past | (ordinal > limit)
        m.d.comb += overflow.eq(past)
        unsigned_code = Signal(body, name="unsigned_code")
        m.d.comb += unsigned_code.eq(Mux(parts.is_inf, infinite_code, Mux(overflow, finite_code, magnitude)))
        to_nan: Value = Const(0, 1)
        if fmt.has_nan and finite_code == fmt.canonical_nan:
            to_nan = overflow & ~parts.is_inf
        if fmt.has_nan and infinite_code == fmt.canonical_nan:
            to_nan = to_nan | parts.is_inf
        return self._with_sign(unsigned_code, to_nan)

    def _with_sign(self, unsigned_code: Signal, overflow_to_nan: Value) -> Value:
        fmt, sign, is_nan = self.fmt, self.parts.sign, self.parts.is_nan
        if fmt.twos_complement:
            signed_code: Value = Mux(sign, -unsigned_code, unsigned_code)[: fmt.width]
        elif fmt.has_negative_zero:
            signed_code = Cat(unsigned_code, sign)
        else:
            signed_code = Cat(unsigned_code, sign & unsigned_code.any())
        if fmt.canonical_nan is None:
            return Mux(is_nan, 0, signed_code)
        canonical: Value = Const(fmt.canonical_nan, fmt.width)
        if fmt.nan_keeps_sign:
            canonical = Cat(canonical[:-1], sign)
        if self.nan_to_zero:
            return Mux(is_nan, 0, Mux(overflow_to_nan, canonical, signed_code))
        return Mux(is_nan | overflow_to_nan, canonical, signed_code)

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
