"""Compiled steps of matrix products beside ``golden.mac``: every product with every accumulator of 16 bits."""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

import golden
from golden.arithmetic import native
from golden.arithmetic.chain import Chains
from golden.arithmetic.options import SumOptions
from golden.formats import Format

STATES = 1 << 16
"""Accumulators of 16 bits."""
TOGETHER = 32
"""Products that one call takes."""


Key = tuple[float | str, int]


@cache
def distinct(fmt: Format) -> dict[Key, tuple[int, int]]:
    """Pairs of codes for all products that differ: by magnitude or ``nan``, and by sign; of specials by both signs."""
    with np.errstate(invalid="ignore"):
        products = np.multiply.outer(fmt.values, fmt.values)
    negative = (np.arange(1 << fmt.width) & fmt.sign_bit != 0).astype(np.int64)
    is_nan, is_finite = np.isnan(products), np.isfinite(products)
    signs = np.where(is_finite, np.bitwise_xor.outer(negative, negative), np.add.outer(2 * negative, negative))
    keys = np.stack([np.where(is_nan, 0, np.abs(products)), is_nan, signs]).reshape(3, -1)
    _, first = np.unique(keys, axis=1, return_index=True)
    a, b = (codes.tolist() for codes in np.unravel_index(first, products.shape))
    return {
        ("nan" if is_nan[pair] else abs(float(products[pair])), int(signs[pair])): pair
        for pair in zip(a, b, strict=True)
    }


def compiled_steps(
    fmt: Format, pairs: Sequence[tuple[int, int]], acc: NDArray, accumulator: str, count: int = 1
) -> NDArray:
    """``acc + a * b``, ``count`` times, for each pair of codes and each accumulator; shape (pairs, accumulators)."""
    shape = len(pairs), acc.size, count
    left, right = (np.array(codes, fmt.code_dtype).reshape(-1, 1, 1) for codes in zip(*pairs, strict=True))
    options = SumOptions.of(fmt, accumulator=accumulator, terms=1)
    chains = Chains(options, np.broadcast_to(left, shape), np.broadcast_to(right, shape))
    return native.run(chains, np.broadcast_to(acc, shape[:2]), 1)


def steps(accumulator: str, formats: Sequence[Format], every: int = 1) -> Iterator[tuple[Format, int, int]]:
    """Compare the products of formats; yield each format, the steps compared, and those that differ.

    A second step with the same product shows whether the first one leaves more than its bits in the registers.
    ``golden.mac`` is called once for a product that several formats have. With ``every``, only each n-th product is
    compared, in one of the formats that have it.
    """
    owners: dict[Key, list[Format]] = {}
    for fmt in formats:
        for key in distinct(fmt):
            owners.setdefault(key, []).append(fmt)
    acc = np.arange(STATES, dtype=np.uint16)
    keys = sorted(owners, key=str)[::every]
    for start in range(0, len(keys), TOGETHER):
        some = keys[start : start + TOGETHER]
        expected = np.stack([_row(owners[key][0], key, acc, accumulator) for key in some])
        chosen = [[owners[key][i % len(owners[key])]] if every > 1 else owners[key] for i, key in enumerate(some)]
        for fmt in dict.fromkeys(fmt for formats_of_key in chosen for fmt in formats_of_key):
            rows = [row for row, formats_of_key in enumerate(chosen) if fmt in formats_of_key]
            pairs = [distinct(fmt)[some[row]] for row in rows]
            once, twice = (compiled_steps(fmt, pairs, acc, accumulator, count) for count in (1, 2))
            after = expected[rows]
            wrong = (once != after) | (twice != np.take_along_axis(after, after.astype(np.intp), axis=1))
            yield fmt, wrong.size, int(wrong.sum())


def _row(fmt: Format, key: Key, acc: NDArray, accumulator: str) -> NDArray:
    a, b = distinct(fmt)[key]
    return golden.mac(a, b, acc, fmt, None, accumulator)
