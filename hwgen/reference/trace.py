"""What a clocked module does, cycle by cycle: stimuli, and what golden expects of every output that must be known by
then.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

CARE = "care_"
"""Prefix of the flags that say whether an output must have its value in a cycle."""

Cycle = dict[str, int]
"""Values of all ports but the clock before its rising edge, and a flag for each output."""

RESET_CYCLES = 2


def processing_element(
    products: Sequence[Mapping[str, int]], interleave: int, stages: int,
    add: Callable[[Mapping[str, int], int], tuple[int, Mapping[str, int]]], sticky: Sequence[str], rng: np.random.Generator,
) -> list[Cycle]:  # fmt: skip
    """A processing element that is cleared and enabled at random, and reset once on the way.

    Parameters
    ----------
    products : sequence of mappings
        Values of the ports for codes.
    interleave, stages : int
        See :class:`hwgen.blocks.pe.Pe`.
    add : callable
        From codes and an accumulator to the accumulator after them, and what of the sum is sticky.
    sticky : sequence of str
        Outputs whose bits stay until an accumulator is cleared.
    """
    cleared = {"acc": 0} | dict.fromkeys(sticky, 0)
    accumulators = [cleared] * interleave
    coming = [cleared] * (stages + 1)  # what the outputs will show, the next one first
    cycles: list[Cycle] = []
    again = RESET_CYCLES + len(products) // 2
    drain: list[Mapping[str, int]] = [dict.fromkeys(products[0], 0)] * (stages + 1)
    for at, pins in enumerate([products[0]] * RESET_CYCLES + list(products) + drain):
        resetting = at < RESET_CYCLES or at == again
        clear, enable = int(rng.integers(0, 16) == 0), int(rng.integers(0, 4) > 0)
        known = dict.fromkeys((CARE + name for name in cleared), int(at > 0))
        cycles.append({"rst": int(resetting), "clear": clear, "enable": enable, **pins, **coming[0], **known})
        if resetting:
            accumulators, coming = [cleared] * interleave, [cleared] * (stages + 1)
            continue
        shown = cleared if clear else accumulators[at % interleave]
        if enable:
            total, now = add(pins, shown["acc"])
            shown = {"acc": total} | {name: shown[name] | now[name] for name in sticky}
        accumulators[at % interleave] = shown
        coming = [*coming[1:], shown]
    return cycles


def pipeline(
    vectors: Sequence[Mapping[str, int]], expected: Sequence[Mapping[str, int]], stages: int, reset: bool, clock_enable: bool,
    rng: np.random.Generator,
) -> list[Cycle]:  # fmt: skip
    """A pipeline that gets vectors with bubbles between them, stands still now and then, and is reset once on the way.

    Parameters
    ----------
    vectors, expected : sequences of mappings
        Values of the core's inputs, and of its outputs.
    stages : int
        The latency.
    reset, clock_enable : bool
        Whether there are ports ``rst`` and ``enable``.
    """
    none: Mapping[str, int] = dict.fromkeys(expected[0], 0)
    ranks: list[tuple[bool, int, Mapping[str, int]]] = [
        (True, 0, none)
    ] * stages  # whether it may hold anything, valid, outputs
    todo = list(zip(vectors, expected, strict=True))
    cycles: list[Cycle] = []
    again = len(todo) // 2
    while todo or any(valid for _, valid, _ in ranks):
        resetting = reset and (len(cycles) < RESET_CYCLES or len(todo) == again)
        again = -1 if len(todo) == again else again
        enabled = resetting or not clock_enable or int(rng.integers(0, 4)) > 0
        valid = int(bool(todo) and int(rng.integers(0, 4)) > 0)
        pins, says = todo[-1] if todo else (vectors[0], none)
        anything, out_valid, outputs = ranks[-1]
        cycle = {"rst": int(resetting)} if reset else {}
        cycle |= {"enable": int(enabled)} if clock_enable else {}
        cycles.append({
            **cycle, "in_valid": valid, **pins, "out_valid": out_valid, **outputs,
            CARE + "out_valid": int(not anything), **{CARE + name: int(not anything and out_valid) for name in outputs},
        })  # fmt: skip
        if resetting:
            ranks = [(False, 0, none)] * stages
        elif enabled:
            ranks = [(False, valid, says if valid else none), *ranks[:-1]]
            if valid:
                todo.pop()
    return cycles
