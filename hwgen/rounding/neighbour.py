"""The lower neighbour of a number among the values of a format, and how far beyond it the number lies.

The fraction is aligned so that the bits to keep end at a fixed place; they and the exponent make the neighbour's ordinal (see
:mod:`hwgen.rounding.ordinals`).
"""

from amaranth.hdl import Cat, Const, Mux, Value

from golden import Rounding
from hwgen.datapath.arithmetic import plus
from hwgen.rounding.ordinals import Segment
from hwgen.rounding.position import Position


class LowerNeighbour:
    """A number's lower neighbour.

    Parameters
    ----------
    at : Position
        The number.
    rounding : Rounding
        Decides what must be known of the bits behind the kept ones.
    tail_bits : int
        How many of them are looked at one by one.
    tells_beyond : bool
        Whether to tell of any.

    Attributes
    ----------
    ordinal : Value
        Of the neighbour.
    tail : Value
        The first ``tail_bits`` bits behind those that the neighbour keeps.
    half : Value
        The first bit behind those that the neighbour keeps.
    below : Value
        Whether there are ones behind the tail; with roundings that do not ask, it does not matter.
    beyond : Value
        If asked for: whether there are ones behind those that the neighbour keeps. Below the smallest value it does not matter.
    """

    def __init__(self, at: Position, rounding: Rounding, tail_bits: int, tells_beyond: bool = False):
        self.at, self.order, self.rounding = at, at.order, rounding
        self._counts_lost = tells_beyond or rounding in (Rounding.TIES_TO_EVEN, Rounding.MPTORCH)
        self.tail_bits, self.width = tail_bits, at.order.fraction_bits + tail_bits
        self.half: Value
        kept, self.tail, self.below = self._align()
        self.beyond = self.half | self.below if rounding is Rounding.HYBRID else self.tail.any() | self.below
        self.ordinal = at.named("lower_ordinal", self._ordinal(kept))

    # -- alignment ----------------------------------------------------------------------------------------------------------------

    def _align(self) -> tuple[Value, Value, Value]:
        """Bits to keep, the tail behind them, and whether anything follows the tail.

        ::

            | hidden | fraction ................ |                before the shift; the hidden bit counts below the normals only
            | kept: fraction bits of the finest binade | tail |   after it
        """
        order, given, width = self.order, self.at.parts.fraction, self.width
        fraction = Cat(Const(0, max(width - len(given), 0)), given)[-width:]
        rest = self.at.parts.rest | given[: max(len(given) - width, 0)].any()
        if self.rounding is Rounding.HYBRID:
            value, below = self._with_zero_extending(fraction[-order.fraction_bits - 1 :])
            below = below | fraction[: -order.fraction_bits - 1].any() | rest
            self.half = value[0]  # the tail is not that of numbers near 1
            return value[1:], self._hybrid_tail(fraction), below
        deepest = max(self.at.lowest_relevant, self.at.parts.exponents[0])
        if self._zero_extends:
            value, below = self._with_zero_extending(fraction)
        elif order.first_missing or deepest >= order.bottom_exponent:
            # Where the first value is missing, all below the normals lies in one gap, see Rounder._round_first_gap.
            value, below = self._shift_right(fraction, self.at.lacking)
            value = value & (~self.at.under).replicate(width)
        elif len(self.at.lacking):
            value, below = self._shift_right(Cat(fraction, self.at.under), self._lacking_and_depth(deepest))
            value = value[:width] & self.at.relevant.replicate(width)
        else:
            value, below = self._with_subnormals(fraction, deepest)
        aligned = self.at.named("aligned", value)
        self.half = aligned[self.tail_bits - 1]
        return aligned[self.tail_bits :], aligned[: self.tail_bits], below | rest

    def _hybrid_tail(self, fraction: Value) -> Value:
        """The tail of a number that is not near 1: moved by what it lacks, 1 to 3 bits; by 4 below the smallest value."""
        further = plus(self.at.lacking, -1) | self.at.under.replicate(len(self.at.lacking))
        tail, _ = self._shift_right(Cat(fraction[1:], Const(1, 1)), self.at.named("lacking_but_1", further), "tail_")
        return tail[: self.tail_bits]

    @property
    def _zero_extends(self) -> bool:
        """Whether zero stands where the lowest segment, of powers of two, would go on, and no value further below it counts."""
        order, first = self.order, self.order.segments[0] if self.order.segments else None
        if order.subnormals or order.first_missing or self.rounding is Rounding.STOCHASTIC or order.bottom_fraction_bits:
            return False
        if first is None or first not in self.at.segments:
            return False
        low, high = (order.count(e) + first.offset for e in (first.low, first.high))
        changing = (low ^ high).bit_length()
        return order.zero >> changing == low >> changing

    def _with_zero_extending(self, fraction: Value) -> tuple[Value, Value]:
        """Below the smallest value nothing is kept, and the hidden bit comes right behind the point."""
        value, below = self._shift_right(fraction, self.at.lacking)
        half = len(fraction) - self.order.fraction_bits - 1
        below = below | (self.at.under & value[half])
        return Cat(value[:half], Mux(self.at.under, self.at.relevant, value[half]), value[half + 1 :]), below

    def _with_subnormals(self, fraction: Value, deepest: int) -> tuple[Value, Value]:
        """Only what is below the normals moves: at first by one place, then by what the exponent is lower still."""
        order, parts = self.order, self.at.parts
        places = (order.bottom_exponent - 1 - deepest).bit_length()
        # bottom - 1 - exponent, where -x = ~x + 1
        further = self.at.named("shift", plus(~self.at.exponent[:places], order.bottom_exponent + parts.offset))
        moved, lost = self._shift_right(Cat(fraction, parts.hidden), further)
        subnormal = self.at.named("is_subnormal", self.at.under & self.at.relevant)
        width = len(fraction)
        value = (moved[1:] & subnormal.replicate(width)) | (fraction & (~self.at.under).replicate(width))
        return value, self.at.under & (lost | moved[0])

    def _shift_right(self, value: Value, amount: Value, prefix: str = "") -> tuple[Value, Value]:
        """The value moved right, and whether a 1 was lost, if anybody asks."""
        lost: Value = Const(0, 1)
        for k in reversed(range(len(amount))):
            step = 1 << k
            moved = self.at.named(f"{prefix}moved_right_{step}", Mux(amount[k], value >> step, value))
            if self._counts_lost:
                lost = lost | (amount[k] & value[:step].any())
            value = moved
        return value, lost

    def _lacking_and_depth(self, deepest: int) -> Value:
        """The bits that the binade lacks; below the normals, with the depth."""
        order = self.order
        lacking = order.fraction_bits - order.bottom_fraction_bits
        width = max((lacking + order.bottom_exponent - deepest).bit_length(), len(self.at.lacking))
        # lacking + bottom - exponent, where -x = ~x + 1
        depth = plus(~self.at.exponent[:width], order.bottom_exponent + self.at.parts.offset + lacking + 1)
        return self.at.named("shift", Mux(self.at.under, depth, self.at.lacking))

    # -- the ordinal --------------------------------------------------------------------------------------------------------------

    def _ordinal(self, kept: Value) -> Value:
        """Ordinal of the lower neighbour: the exponent in front of the kept bits.

        ::

            | bits that all of a segment share | bits that its exponents change | fraction |
        """
        order, segments, width = self.order, self.at.segments, self.order.width
        if not segments:
            return Const(order.zero, width) | kept
        shared: Value = Const(0, width)
        changing: dict[int, Value] = {}  # by what a segment lacks
        places: dict[int, tuple[int, int]] = {}
        for segment in segments:
            common, bits, constant = self._place(segment)
            shared = Mux(self.at.at_least(segment.low), Const(common, width), shared) if changing else Const(common, width)
            lacking = order.fraction_bits - segment.fraction_bits
            if places.get(lacking) != (bits, constant):
                place = self._changing(segment, bits, constant)
                changing[lacking] = Mux(self.at.at_least(segment.low), place, changing[lacking]) if lacking in changing else place
                places[lacking] = (bits, constant)
        field = self.at.named("exponent_field", shared | _select(self.at.lacking, changing))
        present = self.at.at_least(segments[0].low - self._zero_extends) & ~self.at.parts.is_zero
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
            return 0, width, segment.offset - (self.at.count_offset << k)
        return low >> (k + bits) << (k + bits), bits, (segment.offset >> k) - self.at.count_offset & (1 << bits) - 1

    def _changing(self, segment: Segment, bits: int, constant: int) -> Value:
        """The exponent's part of a segment's ordinals."""
        order, k = self.order, segment.fraction_bits
        if segment.offset % (1 << k):
            return ((self.at.count << k) + constant)[:bits]
        count = self.at.count[:bits]
        low, high = order.count(segment.low), order.count(segment.high)
        if order.ones_complement and low < 0 <= high:  # bits behind the sign, then copies of it
            digits = min(max((~low).bit_length(), high.bit_length()), bits)
            count = Cat(plus(count[:digits], -self.at.count_offset), (~self.at.at_least(1)).replicate(bits - digits))
            constant += self.at.count_offset
        return Cat(Const(0, k), plus(count, constant))


def _select(index: Value, table: dict[int, Value]) -> Value:
    """The entry of a table that is indexed by bits; what is not in it does not matter."""
    if len(table) == 1:
        return next(iter(table.values()))
    half = 1 << (len(index) - 1)
    low, high = ({i % half: value for i, value in table.items() if i // half == which} for which in (0, 1))
    if low and high:
        return Mux(index[-1], _select(index[:-1], high), _select(index[:-1], low))
    return _select(index[:-1], low or high)
