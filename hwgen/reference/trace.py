"""Stimuli and expected outputs of clocked modules, cycle by cycle."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

CARE = "care_"
"""Prefix of the flags that say whether a cycle's value of an output is compared."""

Cycle = dict[str, int]
"""Values before the rising edge of the clock: of all ports except the clock, and a flag for each output."""

RESET_CYCLES = 2


def processing_element(
    products: Sequence[Mapping[str, int]],
    interleave: int,
    stages: int,
    add: Callable[[Mapping[str, int], int], tuple[int, Mapping[str, int]]],
    sticky: Sequence[str],
    rng: np.random.Generator,
) -> list[Cycle]:
    """Return cycles of a processing element with random ``clear`` and ``enable``, and a reset halfway.

    Parameters
    ----------
    products : sequence of mappings
        Values of the inputs for operands.
    interleave, stages : int
        See :class:`hwgen.blocks.pe.Pe`.
    add : callable
        From operands and an accumulator to the next accumulator and the values of the sticky outputs.
    sticky : sequence of str
        Outputs whose bits remain set until the accumulator is cleared.
    """
    cleared = {"acc": 0} | dict.fromkeys(sticky, 0)
    accumulators = [cleared] * interleave
    coming = [cleared] * (stages + 1)  # future values of the outputs, the next ones first
    cycles: list[Cycle] = []
    halfway = RESET_CYCLES + len(products) // 2
    drain: list[Mapping[str, int]] = [dict.fromkeys(products[0], 0)] * (stages + 1)
    for time, pins in enumerate([products[0]] * RESET_CYCLES + list(products) + drain):
        resetting = time < RESET_CYCLES or time == halfway
        clear, enable = int(rng.integers(0, 16) == 0), int(rng.integers(0, 4) > 0)
        known = dict.fromkeys((CARE + name for name in cleared), int(time > 0))
        cycles.append({"rst": int(resetting), "clear": clear, "enable": enable, **pins, **coming[0], **known})
        if resetting:
            accumulators, coming = [cleared] * interleave, [cleared] * (stages + 1)
            continue
        state = cleared if clear else accumulators[time % interleave]
        if enable:
            total, flags = add(pins, state["acc"])
            state = {"acc": total} | {name: state[name] | flags[name] for name in sticky}
        accumulators[time % interleave] = state
        coming = [*coming[1:], state]
    return cycles


def pipeline(
    vectors: Sequence[Mapping[str, int]],
    expected: Sequence[Mapping[str, int]],
    stages: int,
    reset: bool,
    clock_enable: bool,
    rng: np.random.Generator,
) -> list[Cycle]:
    """Return cycles of a pipeline with random bubbles between vectors, random stalls, and a reset halfway.

    Parameters
    ----------
    vectors, expected : sequences of mappings
        Values of the core's inputs and outputs.
    stages : int
        Latency in cycles.
    reset, clock_enable : bool
        Whether there are ports ``rst`` and ``enable``.
    """
    none: Mapping[str, int] = dict.fromkeys(expected[0], 0)
    ranks: list[tuple[bool, int, Mapping[str, int]]] = [(True, 0, none)] * stages  # unknown, valid, outputs
    todo = list(zip(vectors, expected, strict=True))
    cycles: list[Cycle] = []
    halfway = len(todo) // 2
    while todo or any(valid for _, valid, _ in ranks):
        resetting = reset and (len(cycles) < RESET_CYCLES or len(todo) == halfway)
        halfway = -1 if len(todo) == halfway else halfway
        enabled = resetting or not clock_enable or int(rng.integers(0, 4)) > 0
        valid = int(bool(todo) and int(rng.integers(0, 4)) > 0)
        pins, results = todo[-1] if todo else (vectors[0], none)
        unknown, out_valid, outputs = ranks[-1]
        cycle = {"rst": int(resetting)} if reset else {}
        cycle |= {"enable": int(enabled)} if clock_enable else {}
        cycle |= {"in_valid": valid, **pins, "out_valid": out_valid, **outputs, CARE + "out_valid": int(not unknown)}
        cycles.append(cycle | {CARE + name: int(not unknown and out_valid) for name in outputs})
        if resetting:
            ranks = [(False, 0, none)] * stages
        elif enabled:
            ranks = [(False, valid, results if valid else none), *ranks[:-1]]
            if valid:
                todo.pop()
    return cycles
