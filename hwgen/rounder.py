"""From a number in parts to a code: the one place where hardware rounds to a format.

The fraction is aligned so that the bits to keep end at a fixed place; they and the exponent make the ordinal (see
:mod:`hwgen.ordinals`) of the lower neighbour; rounding up adds 1, and the carry runs into the exponent by itself.

What segment a number is in, how far it moves, and whether it lies beyond the range or below it, all follows from whether its exponent
reaches some constants: a few ANDs and ORs each, once for all that asks. The source's infinities and NaNs lie beyond every range.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from golden import Format, Overflow, Rounding
from golden.validation import MAX_WIDTH
from hwgen.constants import carries, plus, reaches
from hwgen.operand import extended
from hwgen.ordinals import Segment, code_masks, ordinals


@dataclass(frozen=True)
class Parts:
    """A number on its way to a code: value = hidden.fraction * 2**(exponent - offset).

    Attributes
    ----------
    sign, exponent : Value
    offset : int
    hidden : Value
        Constant 1, but for a format with subnormals at exponents below its ``normalized_from``.
    fraction : Value
    rest : Value
        Whether there are ones behind ``fraction``.
    exponents : (int, int)
        Lowest and highest exponent of all numbers that can occur; of zero and specials too, where their exponents tell them.
    is_zero : Value
        Constant 0 where zero has an exponent too low for anything but zero.
    is_inf, is_nan : Value
    special_exponent : int or None
        The exponent of infinities and NaNs, above all others; None where only the flags tell them.
    """

    sign: Value
    exponent: Value
    offset: int
    exponents: tuple[int, int]
    hidden: Value
    fraction: Value
    rest: Value
    is_zero: Value
    is_inf: Value
    is_nan: Value
    special_exponent: int | None = None


class Rounder:
    """The hardware that rounds to a code of ``fmt``.

    Parameters
    ----------
    rounding, overflow, nan_to_zero
        As checked by :func:`golden.encode.options`.
    random : Value, optional
        With ``stochastic``: the random bits.
    threshold : Value, optional
        With ``hybrid``: bits that the tail must reach.
    """

    def __init__(
        self,
        fmt: Format,
        rounding: Rounding,
        overflow: Overflow,
        nan_to_zero: bool = False,
        random: Value | None = None,
        threshold: Value | None = None,
    ):
        self.fmt, self.rounding, self.overflow, self.nan_to_zero = fmt, rounding, overflow, nan_to_zero
        self.random, self.threshold = random, threshold
        self.order = ordinals(fmt)
        self._reached: dict[int, Signal] = {}

    # -- widths -------------------------------------------------------------------------------------------------------------------

    @property
    def tail_bits(self) -> int:
        """Bits of the position between two neighbours that rounding compares with something."""
        match self.rounding:
            case Rounding.STOCHASTIC:
                assert self.random is not None
                return len(self.random)
            case Rounding.HYBRID:
                assert self.threshold is not None
                return len(self.threshold)
            case _:
                return 1

    @property
    def fraction_bits(self) -> int:
        """How many fraction bits are looked at one by one; of those behind them it matters only whether there are ones."""
        return self.order.fraction_bits + self.tail_bits

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

    @property
    def normalized_from(self) -> int:
        """From which exponent on numbers must come normalized: subnormals are multiples of one unit, whatever their first 1."""
        order = self.order
        simple = order.subnormals and all(segment.fraction_bits == order.bottom_fraction_bits for segment in order.segments)
        return order.bottom_exponent if simple else self.lowest_relevant

    # -- stages -------------------------------------------------------------------------------------------------------------------

    def code(self, m: Module, parts: Parts) -> Value:
        """The code, as a value in ``m``; called once."""
        self.m, self.parts, self.segments = m, parts, self._segments(parts)
        self.exponent = extended(parts.exponent, max(len(parts.exponent), self.order.width))
        self.relevant = self._named("relevant", self._at_least(self.lowest_relevant) & ~parts.is_zero)
        self.under = self._named("below_normals", ~self._at_least(self.order.bottom_exponent))
        self.count, self.count_offset = self._count()
        self.lacking = self._lacking()
        kept, tail, below = self._align()
        lower = self._named("lower_ordinal", self._ordinal(kept))
        up = self._named("round_up", self._round_up(lower, tail, below))
        ordinal = self._named("ordinal", (lower + up)[: self.order.width])
        return self._pack(ordinal)

    def _named(self, name: str, value: Value) -> Signal:
        signal = Signal(len(value), name=name)
        self.m.d.comb += signal.eq(value)
        return signal

    def _segments(self, parts: Parts) -> list[Segment]:
        """The segments that the number's exponents reach."""
        low, high = parts.exponents
        return [segment for segment in self.order.segments if segment.high >= low and segment.low <= high]

    def _at_least(self, exponent: int) -> Value:
        """Whether the number's exponent reaches a constant; a constant itself where the source's range decides."""
        low, high = self.parts.exponents
        if exponent <= low:
            return Const(1, 1)
        if exponent > high:
            return Const(0, 1)
        if exponent not in self._reached:
            name = f"from_2_to_{'minus_' if exponent < 0 else ''}{abs(exponent)}"
            self._reached[exponent] = self._named(name, reaches(self.parts.exponent, exponent + self.parts.offset))
        return self._reached[exponent]

    def _is(self, exponent: int) -> Value:
        return self._at_least(exponent) & ~self._at_least(exponent + 1)

    def _count(self) -> tuple[Value, int]:
        """The exponent as ordinals count it, plus an offset."""
        if not self.order.ones_complement:
            return self.exponent, self.parts.offset
        return self._named("counted_exponent", plus(self.exponent, 0, self._at_least(1))), self.parts.offset + 1

    # -- alignment ----------------------------------------------------------------------------------------------------------------

    def _align(self) -> tuple[Value, Value, Value]:
        """Bits to keep, the tail behind them, and whether anything follows the tail.

        ::

            | hidden | fraction ................ |                before the shift; the hidden bit counts below the normals only
            | kept: fraction bits of the finest binade | tail |   after it
        """
        order, given, width = self.order, self.parts.fraction, self.fraction_bits
        fraction = Cat(Const(0, max(width - len(given), 0)), given)[-width:]
        rest = self.parts.rest | given[: max(len(given) - width, 0)].any()
        if self.rounding is Rounding.HYBRID:
            value, below = self._with_zero_extending(fraction[-order.fraction_bits - 1 :])
            return value[1:], self._hybrid_tail(fraction), below
        deepest = max(self.lowest_relevant, self.parts.exponents[0])
        if self._zero_extends:
            value, below = self._with_zero_extending(fraction)
        elif order.first_missing or deepest >= order.bottom_exponent:
            # Where the first value is missing, all below the normals lies in one gap, see _round_first_gap.
            value, below = self._shift_right(fraction, self.lacking)
            value = value & (~self.under).replicate(width)
        elif len(self.lacking):
            value, below = self._shift_right(Cat(fraction, self.under), self._lacking_and_depth(deepest))
            value = value[:width] & self.relevant.replicate(width)
        else:
            value, below = self._with_subnormals(fraction, deepest)
        aligned = self._named("aligned", value)
        tail_bits = width - order.fraction_bits
        return aligned[tail_bits:], aligned[:tail_bits], below | rest

    @property
    def _zero_extends(self) -> bool:
        """Whether zero stands where the lowest segment, of powers of two, would go on, and no value further below it counts."""
        order, first = self.order, self.order.segments[0] if self.order.segments else None
        if order.subnormals or order.first_missing or self.rounding is Rounding.STOCHASTIC or order.bottom_fraction_bits:
            return False
        if first is None or first not in self.segments:
            return False
        low, high = (order.count(e) + first.offset for e in (first.low, first.high))
        changing = (low ^ high).bit_length()
        return order.zero >> changing == low >> changing

    def _with_zero_extending(self, fraction: Value) -> tuple[Value, Value]:
        """Below the smallest value nothing is kept, and the hidden bit comes right behind the point."""
        value, below = self._shift_right(fraction, self.lacking)
        half = len(fraction) - self.order.fraction_bits - 1
        below = below | (self.under & value[half])
        return Cat(value[:half], Mux(self.under, self.relevant, value[half]), value[half + 1 :]), below

    def _with_subnormals(self, fraction: Value, deepest: int) -> tuple[Value, Value]:
        """Only what is below the normals moves: at first by one place, then by what the exponent is lower still."""
        order, parts = self.order, self.parts
        places = (order.bottom_exponent - 1 - deepest).bit_length()
        # bottom - 1 - exponent, where -x = ~x + 1
        further = self._named("shift", plus(~self.exponent[:places], order.bottom_exponent + parts.offset))
        moved, lost = self._shift_right(Cat(fraction, parts.hidden), further)
        subnormal = self._named("is_subnormal", self.under & self.relevant)
        width = len(fraction)
        value = (moved[1:] & subnormal.replicate(width)) | (fraction & (~self.under).replicate(width))
        return value, self.under & (lost | moved[0])

    def _shift_right(self, value: Value, amount: Value, prefix: str = "") -> tuple[Value, Value]:
        """The value moved right, and whether a 1 was lost, if anybody asks."""
        lost: Value = Const(0, 1)
        for k in reversed(range(len(amount))):
            step = 1 << k
            moved = self._named(f"{prefix}moved_right_{step}", Mux(amount[k], value >> step, value))
            if self.rounding in (Rounding.TIES_TO_EVEN, Rounding.MPTORCH):
                lost = lost | (amount[k] & value[:step].any())
            value = moved
        return value, lost

    def _lacking(self) -> Value:
        """How many fraction bits the number's binade lacks against the finest; below the normals, as many as the lowest segment's."""
        shifts = [self.order.fraction_bits - segment.fraction_bits for segment in self.segments] or [0]
        width = max(shifts).bit_length()
        if not width:
            return Const(0, 0)
        amount: Value = Const(shifts[0], width)
        for segment, earlier, shift in zip(self.segments[1:], shifts, shifts[1:], strict=False):
            if shift != earlier:
                amount = Mux(self._at_least(segment.low), Const(shift, width), amount)
        return self._named("bits_lacking", amount)

    def _lacking_and_depth(self, deepest: int) -> Value:
        """The bits that the binade lacks; below the normals, with the depth."""
        order = self.order
        lacking = order.fraction_bits - order.bottom_fraction_bits
        width = max((lacking + order.bottom_exponent - deepest).bit_length(), len(self.lacking))
        # lacking + bottom - exponent, where -x = ~x + 1
        depth = plus(~self.exponent[:width], order.bottom_exponent + self.parts.offset + lacking + 1)
        return self._named("shift", Mux(self.under, depth, self.lacking))

    # -- the ordinal --------------------------------------------------------------------------------------------------------------

    def _ordinal(self, kept: Value) -> Value:
        """Ordinal of the lower neighbour: the exponent in front of the kept bits.

        ::

            | bits that all of a segment share | bits that its exponents change | fraction |
        """
        order, segments, width = self.order, self.segments, self.order.width
        if not segments:
            return Const(order.zero, width) | kept
        shared: Value = Const(0, width)
        changing: dict[int, Value] = {}  # by what a segment lacks
        places: dict[int, tuple[int, int]] = {}
        for segment in segments:
            common, bits, constant = self._place(segment)
            shared = Mux(self._at_least(segment.low), Const(common, width), shared) if changing else Const(common, width)
            lacking = order.fraction_bits - segment.fraction_bits
            if places.get(lacking) != (bits, constant):
                place = self._changing(segment, bits, constant)
                changing[lacking] = Mux(self._at_least(segment.low), place, changing[lacking]) if lacking in changing else place
                places[lacking] = (bits, constant)
        field = self._named("exponent_field", shared | _select(self.lacking, changing))
        present = self._at_least(segments[0].low - self._zero_extends) & ~self.parts.is_zero
        lower = Mux(present, field, Const(order.zero, width))
        if any(segment.offset % (1 << segment.fraction_bits) for segment in segments):
            return (lower + kept)[:width]
        return lower | kept

    def _place(self, segment: Segment) -> tuple[int, int, int]:
        """The leading bits that a segment's ordinals share, in place; how many exponent bits follow; what is added to those."""
        k, width = segment.fraction_bits, self.order.width
        low, high = ((self.order.count(e) << k) + segment.offset for e in (segment.low, segment.high))
        bits = max((low ^ high).bit_length() - k, 0)
        if segment.offset % (1 << k):  # no bits of its own for the exponent: all are its sum with the offset
            return 0, width, segment.offset - (self.count_offset << k)
        return low >> (k + bits) << (k + bits), bits, (segment.offset >> k) - self.count_offset & (1 << bits) - 1

    def _changing(self, segment: Segment, bits: int, constant: int) -> Value:
        """The exponent's part of a segment's ordinals."""
        order, k = self.order, segment.fraction_bits
        if segment.offset % (1 << k):
            return ((self.count << k) + constant)[:bits]
        count = self.count[:bits]
        low, high = order.count(segment.low), order.count(segment.high)
        if order.ones_complement and low < 0 <= high:  # bits behind the sign, then copies of it
            digits = min(max((~low).bit_length(), high.bit_length()), bits)
            count = Cat(plus(count[:digits], -self.count_offset), (~self._at_least(1)).replicate(bits - digits))
            constant += self.count_offset
        return Cat(Const(0, k), plus(count, constant))

    # -- rounding -----------------------------------------------------------------------------------------------------------------

    def _round_up(self, lower: Value, tail: Value, below: Value) -> Value:
        half, odd = tail[-1], lower[0]
        match self.rounding:
            case Rounding.TOWARD_ZERO:
                value: Value = Const(0, 1)
            case Rounding.TIES_TO_EVEN:
                value = half & (below | odd)
            case Rounding.TIES_TO_AWAY:
                value = half
            case Rounding.STOCHASTIC:
                assert self.random is not None
                value = carries(tail, self.random, Const(0, 1))
            case Rounding.HYBRID:
                value = self._hybrid(self.parts.fraction[-1 - self.order.fraction_bits], tail)
            case Rounding.MPTORCH:
                value = self._mptorch(lower, half, below, odd)
        if self.order.first_missing:
            value = Mux(lower == self.order.zero, self._round_first_gap(half, below) & self.relevant, value)
        return value

    def _hybrid(self, half: Value, tail: Value) -> Value:
        """HiFloat8 (specification, 1.3): half away near 1; elsewhere the tail against bits of the source; nothing below 2**-23."""
        assert self.threshold is not None
        near_one = self._at_least(-3) & ~self._at_least(4)
        past_largest = self._is(self.order.top_exponent) & tail[-1]
        return Mux(near_one, half, (carries(tail, ~self.threshold, Const(1, 1)) & self.relevant) | past_largest)

    def _hybrid_tail(self, fraction: Value) -> Value:
        """The tail of a number that is not near 1: moved by what it lacks, 1 to 3 bits; by 4 below the smallest value."""
        further = plus(self.lacking, -1) | self.under.replicate(len(self.lacking))
        tail, _ = self._shift_right(Cat(fraction[1:], Const(1, 1)), self._named("lacking_but_1", further), "tail_")
        return tail[: self.tail_bits]

    def _mptorch(self, lower: Value, half: Value, below: Value, odd: Value) -> Value:
        """The authors' simulator: half away among the powers of two, zero below the smallest, infinity above the largest."""
        powers: Value = Const(0, 1)
        for segment in self.order.segments:
            if segment.fraction_bits == 0:
                powers = powers | (self._at_least(segment.low) & ~self._at_least(segment.high + 1))
        past_largest = (lower == self.order.last) & (half | below)
        return (lower != self.order.zero) & ((half & (below | odd | powers)) | past_largest)

    # -- below the smallest value of a format whose first value is zero ---------------------------------------------------------

    def _round_first_gap(self, half: Value, below: Value) -> Value:
        """Between zero and (1 + 2**-k) * 2**bottom, where k is the lowest binade's number of fraction bits."""
        order, parts = self.order, self.parts
        k, bottom = order.bottom_fraction_bits, order.bottom_exponent
        here, under = self._is(bottom), self._is(bottom - 1)
        flushed = self.fmt.flush and self.rounding is not Rounding.STOCHASTIC
        match self.rounding:
            case Rounding.TOWARD_ZERO | Rounding.MPTORCH:
                return Const(0, 1)
            case Rounding.STOCHASTIC:
                return self._stochastic_first_gap()
            case Rounding.TIES_TO_AWAY if flushed:
                return here & half
            case Rounding.TIES_TO_EVEN if flushed:  # the unused pattern below is even
                return here & half & below
        # The middle of 0 and the smallest value is (1 + 2**-k) * 2**(bottom - 1).
        first, behind = parts.fraction[max(len(parts.fraction) - k, 0) :], parts.fraction[: max(len(parts.fraction) - k, 0)]
        if len(parts.fraction) < k:
            first = Cat(Const(0, k - len(parts.fraction)), first)
        past = first.any() if self.rounding is Rounding.TIES_TO_AWAY else first[1:].any() | (first[0] & (behind.any() | parts.rest))
        return here | (under & past)

    def _stochastic_first_gap(self) -> Value:
        """Up iff x * 2**R >= (2**R - random) * smallest, both in units of 2**(bottom - k)."""
        order, parts, m = self.order, self.parts, self.m
        assert self.random is not None
        k, r = order.bottom_fraction_bits, len(self.random)
        significand = Cat(parts.fraction, Const(1, 1))
        width = len(significand)
        steps = k + r  # places of x behind 2**bottom that count
        fixed = Signal(steps + 1, name="gap_position")
        deepest = order.bottom_exponent - max(self.lowest_relevant, parts.exponents[0])
        wide = Signal(max(width, steps + 1), name="gap_significand")
        m.d.comb += wide.eq(significand << max(steps + 1 - width, 0))
        amount = Signal(range(max(deepest, 1) + 1), name="gap_shift")
        m.d.comb += amount.eq(Mux(self._at_least(order.bottom_exponent), 0, order.bottom_exponent + parts.offset - parts.exponent))
        m.d.comb += fixed.eq((wide >> amount)[len(wide) - steps - 1 :])
        needed = Signal(steps + 2, name="gap_threshold")
        m.d.comb += needed.eq(((1 << r) - self.random) * ((1 << k) + 1))
        return fixed >= needed

    # -- the code ----------------------------------------------------------------------------------------------------------------

    def _pack(self, ordinal: Signal) -> Value:
        """The ordinal's code, what replaces it beyond the range, and the sign."""
        fmt, order, parts = self.fmt, self.order, self.parts
        body, magnitudes = fmt.width - 1, fmt.sign_bit - 1
        finite_code, infinite_code = self._overflow_code(infinite=False), self._overflow_code(infinite=True)
        # The ordinal past the last becomes the overflow's code by itself, where it has room and the sign is not touched.
        natural = order.last + 1 < 1 << order.width and finite_code <= magnitudes
        overflow = self._named("overflow", self._beyond(ordinal, order.last + 1 if natural else order.last))
        rounded = self._unsigned(ordinal, finite_code if natural else None)
        instead: Value = Const(finite_code & magnitudes, body)
        if infinite_code != finite_code:
            instead = Mux(parts.is_inf, Const(infinite_code & magnitudes, body), instead)
        nan_code = 0 if fmt.canonical_nan is None or self.nan_to_zero else fmt.canonical_nan & magnitudes
        unsigned_code = self._named("unsigned_code", Mux(parts.is_nan, Const(nan_code, body), Mux(overflow, instead, rounded)))
        to_nan: Value = Const(0, 1)
        if fmt.has_nan and finite_code == fmt.canonical_nan:
            to_nan = overflow | (ordinal == order.last + 1) if natural else overflow
            if infinite_code != fmt.canonical_nan:
                to_nan = to_nan & ~parts.is_inf
        elif fmt.has_nan and infinite_code == fmt.canonical_nan:
            to_nan = parts.is_inf
        return self._with_sign(unsigned_code, to_nan)

    def _beyond(self, ordinal: Value, limit: int) -> Value:
        """Whether the number has no code of its own: it is special, too large, or rounded to an ordinal past the limit."""
        order, parts = self.order, self.parts
        if parts.special_exponent is None:
            beyond = self._at_least(order.top_exponent + 1) | parts.is_inf | parts.is_nan
        else:
            beyond = self._at_least(min(order.top_exponent + 1, parts.special_exponent))
        can_round_past = parts.exponents[1] >= order.top_exponent and order.past_top > limit
        return beyond | reaches(ordinal, limit + 1) if can_round_past else beyond

    def _unsigned(self, ordinal: Value, past_last: int | None) -> Value:
        """The code of an ordinal, without the sign."""
        body, masks = self.fmt.width - 1, list(code_masks(self.fmt, past_last))
        if len(masks) == 1:
            return ordinal[:body] ^ masks[0][1]
        mask = Signal(body, name="code_mask")
        with self.m.Switch(ordinal):
            for bits, value in masks:
                with self.m.Case(bits.ljust(self.order.width, "-")):
                    self.m.d.comb += mask.eq(value)
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
        if self.order.first_missing or not isinstance(parts.hidden, Const):
            return unsigned_code.any()
        match self.rounding:
            case Rounding.TIES_TO_AWAY:
                return self.relevant
            case Rounding.TIES_TO_EVEN:  # the smallest relevant number is a tie
                return self.relevant & (self._at_least(self.lowest_relevant + 1) | parts.fraction.any() | parts.rest)
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


def _select(index: Value, table: dict[int, Value]) -> Value:
    """The entry of a table that is indexed by bits; what is not in it does not matter."""
    if len(table) == 1:
        return next(iter(table.values()))
    half = 1 << (len(index) - 1)
    low, high = ({i % half: value for i, value in table.items() if i // half == which} for which in (0, 1))
    if low and high:
        return Mux(index[-1], _select(index[:-1], high), _select(index[:-1], low))
    return _select(index[:-1], low or high)
