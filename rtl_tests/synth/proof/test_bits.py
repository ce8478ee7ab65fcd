"""Terms with operators: they compute what Python's integers do, and refuse words of different widths or signs."""

import operator

import numpy as np
import pytest

from synth.proof.bits import Bool, cat, ite
from synth.proof.gates import NotShownError
from synth.proof.solver import Solver

WIDTH = 7
BINARY = [operator.add, operator.sub, operator.mul, operator.and_]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def numbers(signed):
    """Some pairs of numbers that a word can have."""
    low, high = (-(1 << WIDTH - 1), 1 << WIDTH - 1) if signed else (0, 1 << WIDTH)
    return [(low, high - 1), (3, 3), *np.random.default_rng(1).integers(low, high, (8, 2)).tolist()]


def words(solver, pair, signed):
    """The pair as constants of the solver."""
    return [solver.number(value, WIDTH) if signed else solver.word(value, WIDTH) for value in pair]


def holds(claim, solver):
    """Whether the solver proves a claim."""
    return solver.search(claim, {}) is None


@pytest.mark.parametrize("signed", [False, True])
def test_operators_compute_what_integers_do(signed):
    solver = Solver()
    claims = []
    for pair in numbers(signed):
        first, second = words(solver, pair, signed)
        for apply in BINARY:
            value = apply(*pair) % (1 << WIDTH)
            claims += [apply(one, two)[:] == value for one, two in ((first, second), (first, pair[1]))]
        for compare in COMPARISONS:
            claims += [compare(first, other) == bool(compare(*pair)) for other in (second, pair[1])]
        places = pair[1] % WIDTH
        for moved, value in ((first << places, pair[0] << places), (first >> places, pair[0] >> places)):
            claims.append(moved[:] == value % (1 << WIDTH))
        claims.append((first >> solver.word(places, 3)) == (first >> places))
        claims.append((-first)[:] == -pair[0] % (1 << WIDTH))
        claims.append(abs(first.signed) == abs(first.signed.to(WIDTH + 1))[:-1])
        claims.append(first.to(12)[:] == pair[0] % (1 << 12))
        claims.append((5 - first)[:] == (5 - pair[0]) % (1 << WIDTH))
    assert all(isinstance(claim, Bool) for claim in claims)
    assert holds(solver.all(claims), solver)


def test_bits_are_counted_from_the_least_significant_one():
    solver = Solver()
    word = solver.word(0b0101100, WIDTH)
    expected = [False, False, True, True, False, True, False]
    claims = [bit == level for bit, level in zip(word, expected, strict=True)]
    claims += [word[2] & ~word[-1], word[2:6] == 0b1011, cat(*word) == word, cat(word[:3], word[3], word[4:]) == word]
    claims += [ite(word[2], word, 0) == word, ite(word[0], 1, word) == word, ~ite(word[2], False, word[2])]
    claims += [word[0].implies(False), ~word[2].implies(False), word[0] | True, ~(word[2] ^ True)]
    assert holds(solver.all(claims), solver)


def test_a_search_returns_values():
    solver = Solver()
    word = solver.variable("word", WIDTH)
    claim = ((word & 0b11) == 1).implies(word.signed < 60)
    assert solver.search(claim | solver.any([]), {"word": word}) == {"word": 61}


def test_words_that_do_not_fit_are_refused():
    solver = Solver()
    word = solver.variable("word", WIDTH)
    for other in (word.signed, word[:3], word[0]):
        with pytest.raises(TypeError):
            _ = word + other
    for value in (1 << WIDTH, -(1 << WIDTH - 1) - 1):
        with pytest.raises(NotShownError, match=rf"^a word of {WIDTH} bits is too short for {value}$"):
            _ = word + value
    with pytest.raises(NotShownError):
        _ = word.signed < 1 << WIDTH - 1
