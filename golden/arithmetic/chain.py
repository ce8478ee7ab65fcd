"""Chains of sums: products are added to many accumulators in order, a group of products at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.mac import fused_sums
from golden.arithmetic.options import SumOptions
from golden.bits import BLOCK


@dataclass(frozen=True)
class Chains:
    """Products of codes of shape (rows, columns, products), and how they are added; everything is checked.

    ``left`` and ``right`` have their format's own type and are aligned; usually they are views in which one axis is
    broadcast. The scales are those of :func:`golden.fused_dot`: ``scale``, shape (rows, columns), or codes of shape
    (rows, blocks) and (blocks, columns), each for ``block`` products, a multiple of ``lanes``. ``random``, shape (rows,
    columns, steps), holds the words of stochastic accumulators.
    """

    options: SumOptions
    left: NDArray[Any]
    right: NDArray[Any]
    lanes: int = 1
    scale: NDArray[Any] | None = None
    block_scales: tuple[NDArray[Any], NDArray[Any]] | None = None
    block: int = 0
    random: NDArray[Any] | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns, and products of a sum."""
        rows, columns, depth = self.left.shape
        return rows, columns, depth

    @property
    def transposed(self) -> Chains:
        """The same sums with rows as columns."""
        left, right = self.left.swapaxes(0, 1), self.right.swapaxes(0, 1)
        scale = None if self.scale is None else self.scale.T
        block_scales = None if self.block_scales is None else (self.block_scales[1].T, self.block_scales[0].T)
        return replace(self, left=left, right=right, scale=scale, block_scales=block_scales)

    def chunk(self, first: int, products: int, words: NDArray[Any] | None) -> Chains:
        """The chains of some of the products, from a multiple of the lanes, and of the block if there are scales."""
        some, block_scales = slice(first, first + products), self.block_scales
        if block_scales is not None:
            blocks = slice(first // self.block, -(-some.stop // self.block))
            block_scales = block_scales[0][:, blocks], block_scales[1][blocks]
        left, right = self.left[..., some], self.right[..., some]
        return replace(self, left=left, right=right, block_scales=block_scales, random=words)


def run_in_numpy(chains: Chains, acc: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """The accumulators after all products, and if asked for the flags of all steps, by OR: the definition."""
    (rows, columns, depth), flagged = chains.shape, chains.options.has_flags
    sums, flags = acc.copy(), np.zeros((rows, columns) if flagged else 0, np.uint8)
    for part in _tiles(rows, columns, chains.lanes):
        for start in range(0, depth, chains.lanes):
            group = slice(start, min(start + chains.lanes, depth))
            sums[part], further = _step(chains, part, group, sums[part])
            if flagged:
                flags[part] |= further
    return sums, flags


def _step(
    chains: Chains, part: tuple[slice, slice], group: slice, acc: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    codes = chains.left[(*part, group)], chains.right[(*part, group)]
    words = None if chains.random is None else chains.random[(*part, group.start // chains.lanes)]
    add = partial(fused_sums, chains.options, *codes, acc, random=words)
    if chains.block_scales is None:
        return add(None if chains.scale is None else chains.scale[part])
    (a_scale, b_scale), number = chains.block_scales, group.start // chains.block
    scales = a_scale[part[0], number, np.newaxis], b_scale[number, part[1]]
    return add(None, *scales)


def _tiles(rows: int, columns: int, lanes: int) -> Iterator[tuple[slice, slice]]:
    """Parts of all sums whose products of a step are few enough for the cache."""
    count = max(BLOCK // lanes, 1)
    width = min(columns, count)
    height = max(count // max(width, 1), 1)
    for row in range(0, rows, height):
        for column in range(0, columns, max(width, 1)):
            yield slice(row, row + height), slice(column, column + width)
