"""From a number in parts to a code: the one place where hardware rounds to a format.

The number's lower neighbour has an ordinal (see :mod:`hwgen.rounding.neighbour`); rounding up adds 1, and the carry runs into the
exponent by itself. What remains is the ordinal's code (see :mod:`hwgen.rounding.packing`).
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from golden import Format, Overflow, Rounding
from hwgen.datapath.arithmetic import carries
from hwgen.rounding.flags import of_conversion
from hwgen.rounding.neighbour import LowerNeighbour
from hwgen.rounding.ordinals import ordinals
from hwgen.rounding.packing import Packer
from hwgen.rounding.position import Parts, Position


class Rounder:
    """The hardware that rounds to a code of ``fmt``.

    Parameters
    ----------
    rounding, overflow, nan_to_zero
        As checked by :func:`golden.options.options`.
    random : Value, optional
        With ``stochastic``: the random bits.
    threshold : Value, optional
        With ``hybrid``: bits that the tail must reach.
    pin : Value, optional
        With ``hybrid``: 0 rounds ``ties_to_away`` instead.
    tells_flags : bool
        Whether to make flags, too.
    """

    def __init__(
        self,
        fmt: Format,
        rounding: Rounding,
        overflow: Overflow,
        nan_to_zero: bool = False,
        random: Value | None = None,
        threshold: Value | None = None,
        pin: Value | None = None,
        tells_flags: bool = False,
    ):
        self.fmt, self.rounding, self.overflow, self.nan_to_zero = fmt, rounding, overflow, nan_to_zero
        self.random, self.threshold, self.pin = random, threshold, pin
        self.order, self.tells_flags = ordinals(fmt), tells_flags

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
        """The code of a number, as a value in ``m``."""
        return self.code_and_flags(m, parts)[0]

    def code_and_flags(self, m: Module, parts: Parts, nonzero: Value | None = None, signaling: Value | None = None) -> tuple[Value, Value]:
        """The code and, if asked for, flags; see :func:`hwgen.datapath.flags.of_conversion` for what they want to know."""
        at = Position(m, parts, self.order, self.lowest_relevant)
        lower = LowerNeighbour(at, self.rounding, self.tail_bits, self.tells_flags)
        up = at.named("round_up", self._round_up(at, lower))
        ordinal = at.named("ordinal", (lower.ordinal + up)[: self.order.width])
        packer = Packer(self.fmt, at, self.rounding, self.overflow, self.nan_to_zero)
        code = packer.code(ordinal)
        if not self.tells_flags:
            return code, Const(0, 0)
        assert nonzero is not None
        assert signaling is not None
        moved = up if self.rounding is Rounding.HYBRID else Const(0, 1)  # HiFloat8's hybrid rounding moves its own values, too
        return code, of_conversion(lower, moved, packer, ordinal, nonzero, signaling)

    # -- rounding -----------------------------------------------------------------------------------------------------------------

    def _round_up(self, at: Position, neighbour: LowerNeighbour) -> Value:
        lower, tail, below = neighbour.ordinal, neighbour.tail, neighbour.below
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
                value = self._hybrid(at, at.parts.fraction[-1 - self.order.fraction_bits], tail)
                value = value if self.pin is None else Mux(self.pin, value, neighbour.half)
            case Rounding.MPTORCH:
                value = self._mptorch(at, lower, half, below, odd)
        if self.order.first_missing:
            value = Mux(lower == self.order.zero, self._round_first_gap(at, half, below) & at.relevant, value)
        return value

    def _hybrid(self, at: Position, half: Value, tail: Value) -> Value:
        """HiFloat8 (specification, 1.3): half away near 1; elsewhere the tail against bits of the source; nothing below 2**-23."""
        assert self.threshold is not None
        near_one = at.at_least(-3) & ~at.at_least(4)
        past_largest = at.equals(self.order.top_exponent) & tail[-1]
        return Mux(near_one, half, (carries(tail, ~self.threshold, Const(1, 1)) & at.relevant) | past_largest)

    def _mptorch(self, at: Position, lower: Value, half: Value, below: Value, odd: Value) -> Value:
        """The authors' simulator: half away among the powers of two, zero below the smallest, infinity above the largest."""
        powers: Value = Const(0, 1)
        for segment in self.order.segments:
            if segment.fraction_bits == 0:
                powers = powers | (at.at_least(segment.low) & ~at.at_least(segment.high + 1))
        past_largest = (lower == self.order.last) & (half | below)
        return (lower != self.order.zero) & ((half & (below | odd | powers)) | past_largest)

    # -- below the smallest value of a format whose first value is zero ---------------------------------------------------------

    def _round_first_gap(self, at: Position, half: Value, below: Value) -> Value:
        """Between zero and (1 + 2**-k) * 2**bottom, where k is the lowest binade's number of fraction bits."""
        order, parts = self.order, at.parts
        k, bottom = order.bottom_fraction_bits, order.bottom_exponent
        here, under = at.equals(bottom), at.equals(bottom - 1)
        flushed = self.fmt.flush and self.rounding is not Rounding.STOCHASTIC
        match self.rounding:
            case Rounding.TOWARD_ZERO | Rounding.MPTORCH:
                return Const(0, 1)
            case Rounding.STOCHASTIC:
                return self._stochastic_first_gap(at)
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

    def _stochastic_first_gap(self, at: Position) -> Value:
        """Up iff x * 2**R >= (2**R - random) * smallest, both in units of 2**(bottom - k)."""
        order, parts, m = self.order, at.parts, at.m
        assert self.random is not None
        k, r = order.bottom_fraction_bits, len(self.random)
        significand = Cat(parts.fraction, Const(1, 1))
        width = len(significand)
        steps = k + r  # places of x behind 2**bottom that count
        fixed = Signal(steps + 1, name="gap_position")
        deepest = order.bottom_exponent - max(at.lowest_relevant, parts.exponents[0])
        wide = Signal(max(width, steps + 1), name="gap_significand")
        m.d.comb += wide.eq(significand << max(steps + 1 - width, 0))
        amount = Signal(range(max(deepest, 1) + 1), name="gap_shift")
        m.d.comb += amount.eq(Mux(at.at_least(order.bottom_exponent), 0, order.bottom_exponent + parts.offset - parts.exponent))
        m.d.comb += fixed.eq((wide >> amount)[len(wide) - steps - 1 :])
        needed = Signal(steps + 2, name="gap_threshold")
        m.d.comb += needed.eq(((1 << r) - self.random) * ((1 << k) + 1))
        return fixed >= needed
