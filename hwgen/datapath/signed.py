"""Numbers in two's complement: normalized as they are, and rounded where they are short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest
from operator import add

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hwgen.datapath.arithmetic import named
from hwgen.netlist.book import chapter


@dataclass(frozen=True)
class Normalized:
    """A number's first bits, a half bit last, and whether there are any ones below these.

    All stages together would move it by ``most`` places. ``room`` is the number of places that the number has moved
    less, but for 1 more if ``late`` is 1.
    """

    value: Value
    below: Value
    room: Value
    most: int
    late: Value


def normalized_signed(
    m: Module, value: Value, negative: Value, sticky: Value, steps: Sequence[int], precision: int
) -> Normalized:
    """Move a number left while its first bits equal its sign, and cut it after the half bit.

    Parameters
    ----------
    m : Module
    value, negative : Value
        A number in two's complement, and its sign.
    sticky : Value
        Whether there are any ones below the number.
    steps : sequence of int
        Places that the stages move: the powers of two up to one of them, each once or twice, the largest first.
    precision : int
        Bits that are kept before the half bit.
    """
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
