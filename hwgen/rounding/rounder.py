"""From a number to a code: the rounding of all blocks to a format.

Rounding up adds 1 to the ordinal of the number's lower neighbour (see :mod:`hwgen.rounding.neighbour`); the carry runs
into the exponent. Then the ordinal becomes a code (see :mod:`hwgen.rounding.packing`).
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from golden import Format, Overflow, Rounding
from hwgen.datapath.arithmetic import carry_out, named
from hwgen.netlist.book import chapter
from hwgen.rounding.neighbour import LowerNeighbour, cut, lower_neighbour
from hwgen.rounding.ordinals import ordinals
from hwgen.rounding.packing import Packer
from hwgen.rounding.position import Parts, Position, position


class Rounder:
    """The hardware that rounds to a code of ``fmt``.

    Parameters
    ----------
    rounding, overflow, nan_to_zero
        As checked by :func:`golden.options.options`.
    random : Value, optional
        With ``stochastic``: the random bits.
    threshold : Value, optional
        With ``hybrid``: the bits that the tail is compared with.
    pin : Value, optional
        With ``hybrid``: 0 selects ``ties_to_away`` instead.
    """

    def __init__(
        self,
        fmt: Format,
        rounding: Rounding,
        overflow: Overflow,
        *,
        nan_to_zero: bool = False,
        random: Value | None = None,
        threshold: Value | None = None,
        pin: Value | None = None,
    ):
        self.fmt, self.rounding, self.overflow, self.nan_to_zero = fmt, rounding, overflow, nan_to_zero
        self.random, self.threshold, self.pin = random, threshold, pin
        self.order = ordinals(fmt)

    @property
    def tail_bits(self) -> int:
        """Bits between two neighbours that the rounding decision compares, at least the half bit."""
        compared = {Rounding.STOCHASTIC: self.random, Rounding.HYBRID: self.threshold}.get(self.rounding)
        return 1 if compared is None else len(compared)

    @property
    def fraction_bits(self) -> int:
        """How many fraction bits are needed as such; of later ones only their OR is."""
        return self.order.fraction_bits + self.tail_bits

    @property
    def lowest_relevant(self) -> int:
        """Smallest exponent of a number that can round to another value than zero."""
        order = self.order
        reach = self.tail_bits if self.rounding is Rounding.STOCHASTIC else 1
        if self.rounding in (Rounding.TOWARD_ZERO, Rounding.MPTORCH):
            reach = 0
        return order.bottom_exponent - reach - (order.bottom_fraction_bits if order.subnormals else 0)

    @property
    def normalized_from(self) -> int:
        """Smallest exponent at which numbers must be normalized; subnormals of a uniform format need not be."""
        order = self.order
        fraction_bits = {segment.fraction_bits for segment in order.segments}
        is_uniform = order.subnormals and fraction_bits <= {order.bottom_fraction_bits}
        return order.bottom_exponent if is_uniform else self.lowest_relevant

    def code(self, m: Module, parts: Parts) -> Value:
        """The code of a number; its hardware is added to ``m``."""
        _, _, ordinal, packer = self._rounded(m, parts)
        return packer.code(ordinal)

    def code_and_flags(self, m: Module, parts: Parts, nonzero: Value, signaling: Value) -> tuple[Value, Value]:
        """The code and the flags; see :meth:`hwgen.rounding.packing.Packer.flags` for the parameters."""
        lower, up, ordinal, packer = self._rounded(m, parts)
        moved = up if self.rounding is Rounding.HYBRID else Const(0, 1)  # hybrid rounds even HiFloat8's own values
        return packer.code(ordinal), packer.flags(lower, moved, ordinal, nonzero, signaling)

    def _rounded(self, m: Module, parts: Parts) -> tuple[LowerNeighbour, Value, Signal, Packer]:
        """The number's lower neighbour, whether it is rounded up, its ordinal after that, and the packer."""
        at = position(m, parts, self.order, self.lowest_relevant)
        lower = lower_neighbour(at, self.rounding, self.tail_bits)
        chapter(m, f"Round: {self.rounding.value.replace('_', ' ')}; rounding up adds 1 to the ordinal")
        up = at.named("round_up", self._round_up(at, lower))
        ordinal = at.named("ordinal", (lower.ordinal + up)[: self.order.width])
        return lower, up, ordinal, Packer(self.fmt, at, self.rounding, self.overflow, self.nan_to_zero)

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
                value = carry_out(at.m, tail, self.random, Const(0, 1))
            case Rounding.HYBRID:
                value = self._hybrid(at, at.parts.fraction[-1 - self.order.fraction_bits], tail)
                value = value if self.pin is None else Mux(self.pin, value, neighbour.half)
            case Rounding.MPTORCH:
                value = self._mptorch(at, lower, half, below, odd)
        if self.order.first_missing:
            in_gap = at.named("in_first_gap", lower == self.order.zero)
            value = Mux(in_gap, self._round_first_gap(at, half, below) & at.relevant, value)
        return value

    def _hybrid(self, at: Position, half: Value, tail: Value) -> Value:
        """HiFloat8's hybrid rounding (specification, 1.3).

        Half away from zero near 1; elsewhere up if the tail is at least the threshold, but never below 2**-23.
        """
        assert self.threshold is not None
        near_one = at.named("near_1", at.at_least(-3) & ~at.at_least(4))
        past_largest = at.named("half_in_top_binade", at.equals(self.order.top_exponent) & tail[-1])
        reached = carry_out(at.m, tail, at.named("not_threshold", ~self.threshold), Const(1, 1))
        return Mux(near_one, half, at.named("threshold_reached", reached & at.relevant) | past_largest)

    def _mptorch(self, at: Position, lower: Value, half: Value, below: Value, odd: Value) -> Value:
        """As the authors' simulator rounds: to nearest, ties to even, but away from zero between powers of two.

        Numbers below the smallest value become zero, those above the largest infinity.
        """
        powers: Value = Const(0, 1)
        for segment in self.order.segments:
            if segment.fraction_bits == 0:
                powers = powers | (at.at_least(segment.low) & ~at.at_least(segment.high + 1))
        past_largest = (lower == self.order.last) & (half | below)
        return (lower != self.order.zero) & ((half & (below | odd | powers)) | past_largest)

    def _round_first_gap(self, at: Position, half: Value, below: Value) -> Value:
        """The decision between zero and (1 + 2**-k) * 2**bottom, if the lowest binade has k fraction bits."""
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
            case Rounding.TIES_TO_EVEN if flushed:  # the pattern below, which is not used, is even
                return here & half & below
        # The middle of 0 and the smallest value is (1 + 2**-k) * 2**(bottom - 1).
        first, others = cut(parts.fraction, k)
        if self.rounding is Rounding.TIES_TO_AWAY:
            return here | (under & first.any())
        return here | (under & (first[1:].any() | (first[0] & (others | parts.rest))))

    def _stochastic_first_gap(self, at: Position) -> Value:
        """Up iff x * 2**R >= (2**R - random) * smallest, both in units of 2**(bottom - k)."""
        order, parts, m = self.order, at.parts, at.m
        assert self.random is not None
        k, r = order.bottom_fraction_bits, len(self.random)
        significand = Cat(parts.fraction, Const(1, 1))
        missing = k + r + 1 - len(significand)  # x has k + r + 1 places that count, including the one before the point
        deepest = order.bottom_exponent - max(at.lowest_relevant, parts.exponents[0])
        wide = named(m, "gap_significand", significand << max(missing, 0), max(len(significand), k + r + 1))
        amount = Mux(at.at_least(order.bottom_exponent), 0, order.bottom_exponent + parts.offset - parts.exponent)
        amount = named(m, "gap_shift", amount, range(max(deepest, 1) + 1))
        fixed = at.named("gap_position", (wide >> amount)[len(wide) - k - r - 1 :])
        needed = named(m, "gap_threshold", ((1 << r) - self.random) * ((1 << k) + 1), k + r + 2)
        return fixed >= needed
