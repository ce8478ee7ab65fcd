"""Random words of a linear-feedback shift register (LFSR) in Galois form, for stochastic roundings."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.bits import are_integers, with_large_integers
from golden.refusal import BadKind, BadValue, PlainFields, check_integer, shown
from golden.rows import DEFAULT_RANDOM_BITS, MAX_RANDOM_BITS

EXPONENTS: Mapping[int, tuple[int, ...]] = {
    16: (16, 14, 13, 11),
    24: (24, 23, 22, 17),
    32: (32, 31, 30, 10),
    48: (48, 47, 21, 20),
    64: (64, 63, 61, 60),
}
"""By the register's width, the exponents of a primitive polynomial over GF(2), without x**0.

They are large, as an exponent e lets hardware make e bits in a cycle that do not depend on each other by it.
"""


@dataclass(frozen=True)
class Lfsr(PlainFields):
    """A register that makes one step for each random bit: all bits of all words are successive bits of one sequence.

    A step takes the register's last bit, shifts the others down, and inverts those at the places e - 1 if the bit is 1,
    for all exponents e of the polynomial. So each bit of the sequence is the exclusive or of those e bits before it.
    In a period of 2**width - 1 bits, every string of ``word_bits`` bits but the one of zeros occurs equally often, and
    that one once less.

    Parameters
    ----------
    width : int
        Bits of the register, one of :data:`EXPONENTS`.
    word_bits : int
        Bits of a word, 1 to 32, and at most ``width``.
    """

    width: int = 32
    word_bits: int = DEFAULT_RANDOM_BITS

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_integer("width", self.width, 1, max(EXPONENTS)) not in EXPONENTS:
            raise BadValue("width", f"must be {', '.join(map(str, EXPONENTS))}, not {self.width}")
        check_integer("word_bits", self.word_bits, 1, min(self.width, MAX_RANDOM_BITS))

    @property
    def mask(self) -> int:
        """The places that a 1 inverts."""
        return sum(1 << exponent - 1 for exponent in EXPONENTS[self.width])

    @property
    def period(self) -> int:
        """Number of words until they repeat, for every seed."""
        return self.states // math.gcd(self.states, self.word_bits)

    @property
    def states(self) -> int:
        """Number of states of the register but 0, which it never reaches."""
        return (1 << self.width) - 1

    def words(self, seed: ArrayLike, count: int) -> NDArray[np.uint32]:
        """The first words, on a last axis; ``seed`` are states of the register, integers but 0, of any shape.

        Bit 0 of a word comes first.
        """
        state = self._states("seed", seed, 1)
        words = np.zeros((*state.shape, check_integer("count", count, 0, 1 << 32)), np.uint32)
        for place in range(count):
            words[..., place], state = self._step(state)
        return words

    def step(self, state: ArrayLike) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """The word that each state of the register makes, and the state after it; those of 0 are 0."""
        return self._step(self._states("state", state, 0))

    def _states(self, argument: str, values: ArrayLike, least: int) -> NDArray[np.uint64]:
        states = with_large_integers(argument, values)
        if not are_integers(states):
            raise BadKind(argument, f"must be integers, not {states.dtype}")
        wrong = np.asarray((states < least) | (states > self.states), np.bool_)
        if wrong.any():
            raise BadValue(
                argument, f"must lie in {least} to 2**{self.width} - 1, not {shown(int(states[wrong].flat[0]))}"
            )
        return states.astype(np.uint64)

    def _step(self, state: NDArray[np.uint64]) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        mask, one, word = np.uint64(self.mask), np.uint64(1), np.zeros(state.shape, np.uint64)
        for bit in range(self.word_bits):
            last = state & one
            word |= last << np.uint64(bit)
            state = (state >> one) ^ (last * mask)
        return word.astype(np.uint32), state
