"""Clocked modules, cycle by cycle: models of their registers, and stimuli with the outputs that they expect."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.blocks.block import RESETS, Pipeline
from hwgen.datapath.random import Random

CARE = "care_"
"""Prefix of the flags that say whether a cycle's value of an output is compared."""

Cycle = dict[str, int]
"""Values before the rising edge of the clock: of all ports except the clock, and a flag for each output."""

Step = Callable[[Mapping[str, int], Mapping[str, int]], Mapping[str, int]]
"""A function of operands and the outputs before a step; it returns the outputs after it."""

RESET_CYCLES = 2


def stepped(source: Random, states: Any) -> tuple[NDArray[Any], NDArray[np.uint64]]:
    """The words of all lanes that each state makes, lane 0 lowest, and the state after it."""
    width, lanes = source.random_bits, source.lanes
    joined = np.zeros(np.shape(states), np.uint64 if width * lanes <= 64 else object)
    for lane in range(lanes):
        words, states = source.lfsr.step(states)
        joined = joined | words.astype(joined.dtype) << joined.dtype.type(width * lane)
    return joined, states


class RegisterState:
    """A register, cycle by cycle, from its reset on."""

    def __init__(self, source: Random):
        self._source = source
        self._go(source.random_seed)

    def _go(self, state: int) -> None:
        words, after = stepped(self._source, np.array([state], np.uint64))
        self.word, self._after = int(words[0]), int(after[0])

    def clock(self, *, rst: int, enable: int) -> None:
        """Go to the next cycle: a rising edge with these inputs."""
        if rst or enable:
            self._go(self._source.random_seed if rst else self._after)


@dataclass(frozen=True)
class Pattern:
    """How often controls are 1 in random cycles."""

    valid: float = 0.75
    enable: float = 0.75
    clear: float = 1 / 16
    """Probabilities of ``in_valid``, ``enable`` and ``clear``."""


RANDOM, BACK_TO_BACK, IDLE, CLEARS = Pattern(), Pattern(1, 1, 1 / 64), Pattern(0.2, 0.3), Pattern(clear=0.5)


class ElementState:
    """The registers of a block with ``clear`` and ``enable``, see :class:`hwgen.Pe`; ``step`` says what they hold next.

    ``cleared`` are the outputs after ``clear``.
    """

    def __init__(self, cleared: Mapping[str, int], interleave: int, stages: int, step: Step):
        self.cleared, self.stages = cleared, stages
        self._interleave, self._step = interleave, step
        self._reset()

    def _reset(self) -> None:
        self._accumulators = [self.cleared] * self._interleave
        self._coming = [self.cleared] * (self.stages + 1)  # future values of the outputs, the next ones first
        self._time = 0

    @property
    def outputs(self) -> Mapping[str, int]:
        """Values of the outputs in this cycle."""
        return self._coming[0]

    def clock(self, pins: Mapping[str, int], *, rst: int, clear: int, enable: int) -> None:
        """Go to the next cycle: a rising edge with these inputs."""
        if rst:
            self._reset()
            return
        turn = self._time % self._interleave
        state = self.cleared if clear else self._accumulators[turn]
        if enable:
            state = self._step(pins, state)
        self._accumulators[turn] = state
        self._coming = [*self._coming[1:], state]
        self._time += 1


class PipelineState:
    """The ranks of registers of a pipeline.

    ``nothing`` are values of the outputs where they are not valid; they are not compared.
    """

    def __init__(self, stages: int, nothing: Mapping[str, int]):
        self._nothing, self._stages = nothing, stages
        self.forget()

    def forget(self) -> None:
        """Make all ranks unknown, as they are before a reset."""
        self._ranks: list[tuple[bool, int, Mapping[str, int]]] = [(True, 0, self._nothing)] * self._stages

    @property
    def is_empty(self) -> bool:
        """Whether no rank is valid."""
        return not any(valid for _, valid, _ in self._ranks)

    @property
    def outputs(self) -> Cycle:
        """Values of the outputs in this cycle, and whether they are known."""
        unknown, valid, outputs = self._ranks[-1]
        care = {CARE + name: int(not unknown and valid) for name in outputs}
        return {"out_valid": valid, **outputs, CARE + "out_valid": int(not unknown), **care}

    def clock(self, results: Mapping[str, int], *, rst: int, enable: int, valid: int) -> None:
        """Go to the next cycle: a rising edge with inputs that have these results."""
        if rst:
            self._ranks = [(False, 0, self._nothing)] * len(self._ranks)
        elif enable:
            self._ranks = [(False, valid, results if valid else self._nothing), *self._ranks[:-1]]


def _chance(rng: np.random.Generator, probability: float) -> int:
    return int(rng.random() < probability)


def processing_element(
    element: ElementState, products: Sequence[Mapping[str, int]], rng: np.random.Generator, pattern: Pattern = RANDOM
) -> list[Cycle]:
    """Return cycles of a block with random ``clear`` and ``enable``, and a reset halfway.

    ``products`` are values of the inputs for operands.
    """
    cycles: list[Cycle] = []
    halfway = RESET_CYCLES + len(products) // 2
    drain: list[Mapping[str, int]] = [dict.fromkeys(products[0], 0)] * (element.stages + 1)
    for time, pins in enumerate([products[0]] * RESET_CYCLES + list(products) + drain):
        controls = {
            "rst": int(time < RESET_CYCLES or time == halfway),
            "clear": _chance(rng, pattern.clear),
            "enable": _chance(rng, pattern.enable),
        }
        known = dict.fromkeys((CARE + name for name in element.cleared), int(time > 0))
        cycles.append({**controls, **pins, **element.outputs, **known})
        element.clock(pins, **controls)
    return cycles


def register(
    state: RegisterState, count: int, outputs: Sequence[str], rng: np.random.Generator, pattern: Pattern = RANDOM
) -> list[Cycle]:
    """Return ``count`` cycles of a register of random words after a reset, with another one halfway.

    ``random`` is its word in each cycle, and ``outputs`` are those that are compared from the first edge on.
    """
    cycles = []
    for time in range(RESET_CYCLES + count):
        controls = {
            "rst": int(time < RESET_CYCLES or time == RESET_CYCLES + count // 2),
            "enable": _chance(rng, pattern.enable),
        }
        known = dict.fromkeys((CARE + name for name in outputs), int(time > 0))
        cycles.append({**controls, "random": state.word, **known})
        state.clock(**controls)
    return cycles


def pipeline(
    ranks: Pipeline,
    vectors: Sequence[Mapping[str, int]],
    expected: Sequence[Mapping[str, int]],
    rng: np.random.Generator,
    pattern: Pattern = RANDOM,
) -> list[Cycle]:
    """Return cycles of a pipeline with random bubbles between vectors, random stalls, and a reset halfway.

    ``vectors`` and ``expected`` are values of the core's inputs and outputs; those of each are compared in some cycle.
    """
    reset, clock_enable = ranks.reset == RESETS[0], ranks.clock_enable
    state = PipelineState(ranks.stages, dict.fromkeys(expected[0], 0))
    todo = list(zip(vectors, expected, strict=True))[::-1]
    underway: list[tuple[Mapping[str, int], Mapping[str, int]]] = []
    cycles: list[Cycle] = []
    halfway = len(todo) // 2
    while todo or not state.is_empty:
        resetting = int(reset and (len(cycles) < RESET_CYCLES or len(todo) == halfway))
        halfway = -1 if len(todo) == halfway else halfway
        enabled = int(resetting or not clock_enable or _chance(rng, pattern.enable))
        valid = int(bool(todo) and _chance(rng, pattern.valid))
        pins, results = todo[-1] if todo else (vectors[0], expected[0])
        cycle = ({"rst": resetting} if reset else {}) | ({"enable": enabled} if clock_enable else {})
        cycles.append(cycle | {"in_valid": valid, **pins, **state.outputs})
        if resetting:
            todo += underway[::-1]  # a reset drops them: they enter again
            underway = []
        elif enabled:
            underway = underway[state.outputs["out_valid"] :]
            underway += [todo.pop()] if valid else []
        state.clock(results, rst=resetting, enable=enabled, valid=valid)
    return cycles
