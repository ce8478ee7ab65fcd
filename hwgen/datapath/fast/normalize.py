"""Normalization in which the first 1 is found beside the shift, or even beside the addition in front of it.

:func:`hwgen.datapath.arithmetic.normalized` looks for the first 1 in the value that each stage leaves, one stage after
the other. Here it is known of every place beforehand whether a 1 is in it or above. The last of these bits in the front
half says whether a stage moves the value, and half of them remain. So a stage takes no longer than a multiplexer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

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


def or_from_above(m: Module, value: Value) -> Value:
    """For each place, whether there is a 1 in it or above."""
    span = 1
    while span < len(value):
        value = named(m, f"one_in_{2 * span}_from_here", value | (value >> span))
        span *= 2
    return value


def all_below(m: Module, name: str, value: Value) -> Value:
    """For each place and for the one above all, whether all places below it have a 1."""
    span = 1
    while span < len(value):
        value = named(m, f"{name}_ones_in_{2 * span}", value & Cat(Const(-1, span), value[:-span]))
        span *= 2
    return Cat(Const(1, 1), value)


def signed_magnitude(m: Module, name: str, value: Value, negative: Value) -> tuple[Value, Value]:
    """The magnitude of a number in two's complement, and for each place, whether there is a 1 in it or above.

    The magnitude of a negative number is its complement plus 1. That reaches a place if the complement does, or if the
    1 is carried into it, past ones only.
    """
    complement = named(m, f"{name}_or_less_1", value ^ negative.replicate(len(value)))
    carries = all_below(m, name, complement)[:-1] & negative.replicate(len(value))
    carries = named(m, f"{name}_carries", carries)
    above = named(m, f"{name}_from_above", or_from_above(m, complement) | carries)
    return named(m, name, complement ^ carries), above


def moves_to_first(m: Module, above: Value, most: int) -> list[tuple[int, Value]]:
    """The stages that move a value left until its first 1 is in front, the largest first, and whether each does.

    ``above`` says for each place whether there is a 1 in it or above; without a 1 in the first ``most`` places, they
    move the value by that number.
    """
    steps = most.bit_length()
    window, moves = Cat(Const(-1, (1 << steps) - most), above[-most:]), []
    for step in (1 << k for k in reversed(range(steps))):
        move = named(m, f"moves_left_{step}", ~window[step])
        window = Mux(move, window[:step], window[step:])
        if step > 1:
            window = named(m, f"one_from_above_after_{step}", window)
        moves.append((step, move))
    return moves


def normalized(m: Module, value: Value, above: Value, *, name: str = "") -> tuple[Value, Value]:
    """Move a value left until its first bit is 1, or to its last place; by how many places.

    Parameters
    ----------
    above : Value
        For each place, whether there is a 1 in it or above.
    name : str
        Name of the moved value; default: one by the last step.
    """
    moves = moves_to_first(m, above, len(value) - 1)
    for step, move in moves:
        moved = f"moved_left_{step}" if step > 1 or not name else name
        value = named(m, moved, Mux(move, Cat(Const(0, step), value)[: len(value)], value))
    return value, Cat(move for _, move in reversed(moves))


def _anticipated(m: Module, a: Value, b: Value) -> Value:
    """Marks for the sum of two numbers in two's complement, without their sign's place.

    The first mark is in the place of the first bit of ``a + b`` that differs from the sign, or one above it. No carry
    is needed: each mark follows from three neighbouring places, whose bits differ (``alternates``), are ``both`` 1, or
    ``neither``. After Schmookler and Nowka, Leading zero anticipation and detection, ARITH 2001, section 3.
    """
    alternates = named(m, "addends_differ", a ^ b)
    both, neither = named(m, "addends_both_1", a & b), named(m, "addends_both_0", ~(a | b))
    passes, here = alternates[1:], (both[:-1], neither[:-1])
    below_not_both = named(m, "below_not_both_1", ~Cat(Const(0, 1), both[:-2]))
    below_not_neither = named(m, "below_not_both_0", ~Cat(Const(1, 1), neither[:-2]))
    after = named(m, "here_if_above_differ", (here[0] & below_not_neither) | (here[1] & below_not_both))
    otherwise = named(m, "here_if_above_are_alike", (here[1] & below_not_neither) | (here[0] & below_not_both))
    marks = (passes & after) | (~passes & otherwise)
    first = ~alternates[-1] & alternates[-2]  # behind equal signs
    return named(m, "first_bit_is_here_or_below", Cat(marks[:-1], marks[-1] | first))


def normalized_sum(
    m: Module, addends: tuple[Value, Value], total: Value, sticky: Value, most: int, precision: int
) -> Normalized:
    """Move a sum left until its first bit differs from its sign, by at most ``most`` places, and cut it.

    Parameters
    ----------
    m : Module
    addends : tuple of Value
        Two numbers in two's complement, from which the place of the first bit is found beside the sum, or one too few.
    total : Value
        Their sum, with its sign, and as wide.
    sticky : Value
        Whether there are any ones below.
    most : int
    precision : int
        Bits that are kept before the half bit.
    """
    kept, negative, value = precision + 1, total[-1], total[:-1]
    chapter(
        m, f"Normalize: {len(value)} bits, shifted left to the first bit that is not the sign, found beside the sum"
    )
    above = or_from_above(m, _anticipated(m, *addends))
    moves = moves_to_first(m, above, most)
    below, all_places = sticky, sum(step for step, _ in moves) + 1
    rest = all_places

    def move_left(step: int, move: Value, again: str = "") -> None:
        nonlocal value, below, rest
        value = named(m, f"moved_left_{step}{again}", Mux(move, Cat(Const(0, step), value)[: len(value)], value))
        rest -= step
        if spare := max(len(value) - kept - rest, 0):
            below = named(m, f"below_after_{step}{again}", below | value[:spare].any())
            value = value[spare:]

    for step, move in moves:
        move_left(step, move)
    # The place found may be one too early, unless the move is limited: then the first bit stays below.
    once_more = named(m, "moves_left_1_again", ~(value[-1] ^ negative) & above[-most])
    move_left(1, once_more, "_again")
    room = named(m, "places_not_moved", Cat(~move for _, move in reversed(moves)))
    return Normalized(value, below, room, all_places, ~once_more)


def packed(m: Module, kept: Value, up: Value, exponents: list[Value], late: Value) -> Value:
    """Fraction and exponent of a rounded number: what the carries choose is there before they are.

    Parameters
    ----------
    kept : Value
        Its significand, not rounded.
    up : Value
        Whether 1 is added in the last place.
    exponents : list of Value
        The exponent less 1, and this plus 1, 2 and 3.
    late : Value
        Whether 1 is added to the exponent.
    """
    fraction = kept[:-1]
    carries = named(m, "fraction_carries", all_below(m, "fraction", fraction))
    plus_1 = named(m, "fraction_plus_1", fraction ^ carries[:-1])
    by_late = [Mux(late, after, before) for before, after in pairwise(exponents)]
    low, high = (Mux(kept[-1], after, before) for before, after in pairwise(by_late))
    low, high = named(m, "exponent_if_no_carry", low), named(m, "exponent_if_carry", high)
    return Cat(Mux(up, plus_1, fraction), Mux(up & carries[-1], high, low))
