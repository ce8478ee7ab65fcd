"""From a number to a code: the rounding of all blocks to a format.

Rounding up adds 1 to the ordinal of the number's lower neighbour (see :mod:`hwgen.rounding.neighbour`); the carry runs
into the exponent. Then the ordinal becomes a code (see :mod:`hwgen.rounding.packing`).
"""

from typing import TypeVar

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from numpy.typing import NDArray

from golden import Format, Overflow, Rounding
from golden.rows import Family
from hwgen.datapath.arithmetic import carry_out, moved_right, named
from hwgen.netlist.book import chapter
from hwgen.rounding.holes import closed, closed_parts
from hwgen.rounding.neighbour import LowerNeighbour, cut, lower_neighbour
from hwgen.rounding.ordinals import ordinals
from hwgen.rounding.packing import Packer, below_smallest
from hwgen.rounding.position import Parts, Position, position

_Bits = TypeVar("_Bits", Value, NDArray[np.bool_])


def rounds_up(rounding: Rounding, half: _Bits, below: _Bits, odd: _Bits, *, never: _Bits) -> _Bits:
    """Whether a rounding that needs no more than these rounds up, in hardware or for an array of numbers.

    ``half`` says whether a number lies in or above the middle between its neighbours, ``below`` whether it exceeds the
    lower neighbour or that middle, ``odd`` whether the lower neighbour has an odd code. ``never`` are zeros.
    """
    match rounding:
        case Rounding.TOWARD_ZERO:
            return never
        case Rounding.TIES_TO_EVEN:
            return half & (below | odd)
        case Rounding.TIES_TO_AWAY:
            return half
    raise ValueError(f"{rounding.value} needs more than the bits after the lower neighbour")


class Rounder:
    """The hardware that rounds to a code of ``fmt``; the options are as :func:`golden.options.options` checks them.

    Stochastic roundings have ``random`` bits. With ``hybrid`` the tail is compared with the ``threshold``; 0 as
    ``pin`` selects ``ties_to_away`` instead.
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
        if rounding is Rounding.STOCHASTIC_B:  # a further random bit of 1
            random = Cat(Const(1, 1), random)
        self.random, self.threshold, self.pin = random, threshold, pin
        self.order = ordinals(closed(fmt))

    @property
    def tail_bits(self) -> int:
        """Bits between two neighbours that the rounding decision compares, at least the half bit."""
        compared = self.threshold if self.rounding is Rounding.HYBRID else self.random
        further = self.rounding is Rounding.STOCHASTIC_C  # rounds the tail, too
        return 1 if compared is None else len(compared) + further

    @property
    def fraction_bits(self) -> int:
        """How many fraction bits are needed as such; of later ones only their OR is."""
        return self.order.fraction_bits + self.tail_bits

    @property
    def lowest_relevant(self) -> int:
        """Smallest exponent of a number that can round to another value than zero."""
        order = self.order
        if self.fmt.posit_rounding:  # all numbers below the smallest value become that value
            return self.fmt.exponent_range[0]
        reach = {Family.STOCHASTIC: self.tail_bits, Family.NEAREST: 1, Family.SOURCE: 1}.get(self.rounding.family, 0)
        if not self.fmt.has_zero:  # all numbers below the smallest value become that value
            return order.bottom_exponent
        return order.bottom_exponent - reach - (order.bottom_fraction_bits if order.subnormals else 0)

    @property
    def is_uniform(self) -> bool:
        """Whether there are subnormals, and all binades have as many fraction bits as they."""
        fraction_bits = {segment.fraction_bits for segment in self.order.segments}
        return self.order.subnormals and fraction_bits <= {self.order.bottom_fraction_bits}

    @property
    def normalized_from(self) -> int:
        """Smallest exponent at which numbers must be normalized; subnormals of a uniform format need not be."""
        return self.order.bottom_exponent if self.is_uniform else self.lowest_relevant

    @property
    def may_lack_hidden(self) -> bool:
        """Whether subnormals may have the exponent of the lowest normal numbers, too; see :class:`Parts`."""
        return self.is_uniform and bool(self.order.segments)

    def code(self, m: Module, parts: Parts) -> Value:
        """The code of a number; its hardware is added to ``m``."""
        _, _, ordinal, packer = self._rounded(m, parts)
        return packer.code(ordinal)

    def code_and_flags(self, m: Module, parts: Parts, signaling: Value) -> tuple[Value, Value]:
        """The code and the flags; see :meth:`hwgen.rounding.packing.Packer.flags` for the parameters."""
        lower, up, ordinal, packer = self._rounded(m, parts)
        moved = up if self.rounding is Rounding.HYBRID else Const(0, 1)  # hybrid rounds even HiFloat8's own values
        return packer.code(ordinal), packer.flags(lower, moved, ordinal, signaling)

    def _rounded(self, m: Module, parts: Parts) -> tuple[LowerNeighbour, Value, Signal, Packer]:
        """The number's lower neighbour, whether it is rounded up, its ordinal after that, and the packer."""
        parts = closed_parts(m, self.fmt, parts)
        lowest = self.order.bottom_exponent if self.fmt.posit_rounding else self.lowest_relevant
        at = position(m, parts, self.order, lowest, self.fmt.has_zero)
        lower = lower_neighbour(at, self.rounding, self.tail_bits)
        chapter(m, f"Round: {self.rounding.value.replace('_', ' ')}; rounding up adds 1 to the ordinal")
        up = at.named("round_up", self._round_up(at, lower))
        rounded = (lower.ordinal + up)[: self.order.width]
        if at.zero_looks_large:
            rounded = Mux(parts.nonzero | parts.is_inf | parts.is_nan, rounded, self.order.zero)
        ordinal = at.named("ordinal", rounded)
        return lower, up, ordinal, Packer(self.fmt, at, self.rounding, self.overflow, self.nan_to_zero)

    def _round_up(self, at: Position, neighbour: LowerNeighbour) -> Value:
        lower, tail, below = neighbour.ordinal, neighbour.tail, neighbour.below
        half, odd = tail[-1], lower[0]
        match self.rounding:
            case Rounding.TOWARD_POSITIVE | Rounding.TOWARD_NEGATIVE | Rounding.TO_ODD:
                return at.named("inexact", self._inexact(at, neighbour)) & self._away(at, lower)
            case Rounding.STOCHASTIC | Rounding.STOCHASTIC_B:
                assert self.random is not None
                value: Value = carry_out(at.m, tail, self.random, Const(0, 1))
            case Rounding.STOCHASTIC_C:
                assert self.random is not None
                value = carry_out(at.m, tail[1:], self.random, tail[0] & (below | tail[1]))
            case Rounding.HYBRID:
                value = self._hybrid(at, at.parts.fraction[-1 - self.order.fraction_bits], tail)
                value = value if self.pin is None else Mux(self.pin, value, neighbour.half)
            case Rounding.MPTORCH:
                value = self._mptorch(at, lower, half, below, odd)
            case _:
                value = rounds_up(self.rounding, half, below, odd, never=Const(0, 1))
        if self.order.first_missing:
            in_gap = at.named("in_first_gap", lower == self.order.zero)
            value = Mux(in_gap, self._round_first_gap(at, half, below) & at.relevant, value)
        if self.fmt.posit_rounding:
            value = value | (at.under & at.parts.nonzero)
        return value if self.fmt.has_zero else value & at.relevant

    def _inexact(self, at: Position, neighbour: LowerNeighbour) -> Value:
        """Whether a number is no value of the format, and not one that flushes to zero."""
        if self.fmt.flush or not self.fmt.has_zero:
            return neighbour.beyond & ~at.under
        return (neighbour.beyond | below_smallest(at, neighbour)) & at.parts.nonzero

    def _away(self, at: Position, lower: Value) -> Value:
        """Whether a directed rounding of numbers between two values is away from zero."""
        if self.rounding is Rounding.TO_ODD:
            return ~lower[0]
        return at.parts.sign if self.rounding is Rounding.TOWARD_NEGATIVE else ~at.parts.sign

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
        """Round as the authors' simulator does: to nearest, ties to even, but away from zero between powers of two.

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
        flushed = self.fmt.flush and not self.rounding.is_stochastic
        match self.rounding:
            case Rounding.TOWARD_ZERO | Rounding.MPTORCH:
                return Const(0, 1)
            case Rounding.STOCHASTIC | Rounding.STOCHASTIC_B | Rounding.STOCHASTIC_C:
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
        """Up iff x * 2**R >= (2**R - random) * smallest, both in units of 2**(bottom - k).

        ``stochastic_c`` compares with the middle between 2**R - random and the integer below, where x * 2**R rounds.
        """
        order, parts, m = self.order, at.parts, at.m
        assert self.random is not None
        rounds = self.rounding is Rounding.STOCHASTIC_C
        random = Cat(Const(1, 1), self.random) if rounds else self.random
        k, r = order.bottom_fraction_bits, len(random)
        significand = Cat(parts.fraction, Const(1, 1))
        missing = k + r + 1 - len(significand)  # x has k + r + 1 places that count, including the one before the point
        deepest = order.bottom_exponent - max(at.lowest_relevant, parts.exponents[0])
        wide = named(m, "gap_significand", significand << max(missing, 0), max(len(significand), k + r + 1))
        amount = Mux(at.at_least(order.bottom_exponent), 0, order.bottom_exponent + parts.offset - parts.exponent)
        amount = named(m, "gap_shift", amount, range(max(deepest, 1) + 1))
        places = len(wide) - k - r - 1
        moved, lost = moved_right(m, wide, amount, "gap_") if rounds else (wide >> amount, Const(0, 1))
        fixed = at.named("gap_position", moved[places:])
        needed = named(m, "gap_threshold", ((1 << r) - random) * ((1 << k) + 1), k + r + 2)
        if rounds:  # in the middle up to the even integer; 2**R - random is even with random
            above = at.named("gap_past_middle", lost | moved[:places].any() | parts.rest | ~self.random[0])
            return (fixed > needed) | ((fixed == needed) & above)
        return fixed >= needed
