"""Cases that ``make test`` leaves to ``make exhaustive``."""

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import TypeVar

import pytest

import golden
from hwgen.blocks.block import Design

T = TypeVar("T")


def exhaustive(*values):
    """A case for ``make exhaustive``."""
    return pytest.param(*values, marks=pytest.mark.exhaustive)


def only(chosen: Collection, cases: Iterable) -> list:
    """The chosen cases, values or tuples of values; the others are for ``make exhaustive``."""
    return [case if case in chosen else exhaustive(*(case if isinstance(case, tuple) else (case,))) for case in cases]


def one_of_each(kind: Callable[..., Hashable], cases: Iterable) -> list:
    """The first case of each kind, a value or a tuple of values; the others are for ``make exhaustive``.

    ``kind`` takes the values of a case.
    """
    seen: set[Hashable] = set()
    chosen = []
    for case in cases:
        values = case if isinstance(case, tuple) else (case,)
        chosen.append(exhaustive(*values) if kind(*values) in seen else case)
        seen.add(kind(*values))
    return chosen


def first_of_each(kind: Callable[[T], Hashable], cases: Iterable[T]) -> list[T]:
    """The first case of each kind, where the others need not be run."""
    return list({kind(case): case for case in reversed([*cases])}.values())[::-1]


def in_turn(kind: Callable[[T], Hashable], cases: Iterable[T]) -> list[T]:
    """A case of each kind, of the nth kind its nth one, so that they differ in other ways, too; others need no run."""
    kinds: dict[Hashable, list[T]] = {}
    for case in cases:
        kinds.setdefault(kind(case), []).append(case)
    return [found[place % len(found)] for place, found in enumerate(kinds.values())]


def kind_of_format(name: str) -> tuple:
    """What sets the circuits of formats apart, of a format or of each one in a pair such as ``"hif8+binary8p3"``."""
    return tuple(map(_kind, name.split("+")))


def _kind(name: str) -> tuple:
    fmt = golden.get(name)
    rules = {type(row.exponent) for row in fmt.rows if row.hidden}
    return (
        golden.SignMagnitude in rules,
        len(fmt.rows) > 2,  # rows by a prefix, or with the exponents of a boundary
        all(row.hidden for row in fmt.rows),  # no subnormals
        max(row.fraction_bits for row in fmt.rows) > 3,  # products are sums of partial products
        fmt.twos_complement,
        fmt.signed,
    )


def kind_of_design(design: Design, *_: object) -> tuple:
    """The block, its accumulator's kind, and the names of its options: what sets the structures of designs apart."""
    accumulator = str(design.options.get("accumulator", ""))
    return design.kind, accumulator.rstrip("0123456789") + accumulator[-2:-1], *sorted(design.options)


def kind_of_module(block: str, name: str, options: dict) -> tuple:
    """The block, the kind of its format or formats, and its options."""
    return block, kind_of_format(name), *sorted(options.items())
