"""Sums in two's complement, normalized as they are and rounded where they are short: step by step, or for speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest
from operator import add

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hwgen.datapath.arithmetic import named
from hwgen.datapath.fast.normalize import Normalized, normalized_sum, packed
from hwgen.datapath.goal import SPEED
from hwgen.netlist.book import chapter


def normalized_signed(
    m: Module,
    total: Value,
    addends: tuple[Value, Value],
    negative: Value,
    sticky: Value,
    steps: Sequence[int],
    precision: int,
    goal: str,
) -> Normalized:
    """Move a sum left while its first bits equal its sign, and cut it after the half bit; see :func:`rounded_total`."""
    if goal == SPEED:
        return normalized_sum(m, addends, total, sticky, min(sum(steps), len(total) - 2), precision)
    return _step_by_step(m, total[:-1], negative, sticky, steps, precision)


def _step_by_step(
    m: Module, value: Value, negative: Value, sticky: Value, steps: Sequence[int], precision: int
) -> Normalized:
    kept = precision + 1
    chapter(m, f"Normalize: {len(value)} bits, shifted left while the first bit equals the sign")
    below = sticky
    stays: dict[int, list[Value]] = {step: [] for step in steps}
    for number, step in enumerate(steps):
        front, again = value[-step:], "_again" if step in steps[:number] else ""
        move = named(m, f"moves_left_{step}{again}", Mux(negative, front.all(), ~front.any()))
        value = named(m, f"moved_left_{step}{again}", Mux(move, Cat(Const(0, step), value)[: len(value)], value))
        spare = max(len(value) - kept - sum(steps[number + 1 :]), 0)
        if spare:
            below = named(m, f"below_after_{step}{again}", below | value[:spare].any())
            value = value[spare:]
        stays[step].append(~move)
    first, *others = zip_longest(*reversed(stays.values()), fillvalue=Const(0, 1))
    room = reduce(add, (Cat(*bits) for bits in others), named(m, "places_not_moved", Cat(*first)))
    return Normalized(value, below, room, sum(steps), Const(0, 1))


def rounded_magnitude(m: Module, number: Normalized, negative: Value) -> tuple[Value, Value, Value]:
    """The first bits of the magnitude, whether to add 1 to the last one, and whether anything is lost.

    The bits are those of the one's complement of a negative number, which lacks a unit in its last place. If nothing is
    below, that unit carries: it completes a half to a whole, or is a half. Rounding is to nearest, ties to even.
    """
    value, below = number.value, number.below
    chapter(m, f"Round: {len(value)} bits to {len(value) - 1}, to nearest, ties to even")
    complement = named(m, "one_complement", value ^ negative.replicate(len(value)))
    kept, half = complement[1:], complement[0]
    missing = named(m, "unit_missing", negative & ~below)
    up = named(m, "round_up", (half & (below | negative | kept[0])) | (missing & kept[0]))
    return kept, up, below | value[0]


@dataclass(frozen=True)
class RoundedTotal:
    """The rounded magnitude of a sum, and whether this is negative.

    ``body`` has fraction and exponent field, ``leading_one`` is the first bit before rounding, and ``lost`` says that
    the sum is another number.
    """

    negative: Value
    body: Value
    leading_one: Value
    lost: Value


def rounded_total(
    m: Module,
    total: Value,
    addends: tuple[Value, Value],
    sticky: Value,
    steps: Sequence[int],
    precision: int,
    exponent_less_1: Callable[[Normalized], Value],
    bits: int,
    goal: str,
) -> RoundedTotal:
    """Normalize a sum and round it to nearest, ties to even.

    Parameters
    ----------
    m : Module
    total : Value
        In two's complement.
    addends : tuple of Value
        Two numbers, as wide as the total, that it is the sum of.
    sticky : Value
        Whether there are any ones below.
    steps : sequence of int
        Places that the stages move: the powers of two up to one of them, each once or twice, the largest first. A
        number moves by no more than their sum.
    precision : int
        Bits of the target's significand.
    exponent_less_1 : callable
        The exponent field less 1 of a number that has been normalized, but for what is ``late``.
    bits : int
        Bits of the exponent field.
    goal : str
        One of :data:`hwgen.datapath.goal.GOALS`.
    """
    negative = named(m, "total_negative", total[-1])
    first = normalized_signed(m, total, addends, negative, sticky, steps, precision, goal)
    kept, up, lost = rounded_magnitude(m, first, negative)
    field = exponent_less_1(first)
    if goal == SPEED:
        exponents = [named(m, f"exponent_less_1_plus_{more}", (field + more)[:bits]) for more in range(4)]
        body = packed(m, kept, up, exponents, first.late)
    else:
        body = (Cat(kept[:-1], field) + Cat(up, Const(0, precision - 2), kept[-1]))[: precision - 1 + bits]
    return RoundedTotal(negative, body, kept[-1], lost)
