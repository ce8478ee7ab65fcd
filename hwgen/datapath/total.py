"""A sum in a frame, normalized and rounded: for small area step by step, for speed with much of it beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Value

from hwgen.datapath.arithmetic import named
from hwgen.datapath.fast.normalize import normalized_sum, packed
from hwgen.datapath.goal import SPEED
from hwgen.datapath.signed import Normalized, normalized_signed, rounded_magnitude


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
        See :func:`hwgen.datapath.signed.normalized_signed`; a number moves by no more than their sum.
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
    if goal == SPEED:
        most = min(sum(steps), len(total) - 2)
        first = normalized_sum(m, addends, total, sticky, most, precision)
    else:
        first = normalized_signed(m, total[:-1], negative, sticky, steps, precision)
    kept, up, lost = rounded_magnitude(m, first, negative)
    field = exponent_less_1(first)
    if goal == SPEED:
        exponents = [named(m, f"exponent_less_1_plus_{more}", (field + more)[:bits]) for more in range(4)]
        body = packed(m, kept, up, exponents, first.late)
    else:
        body = (Cat(kept[:-1], field) + Cat(up, Const(0, precision - 2), kept[-1]))[: precision - 1 + bits]
    return RoundedTotal(negative, body, kept[-1], lost)
