"""Chains of sums: products are added to many accumulators in order, a group of products at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.arithmetic import native
from golden.arithmetic.blocks import BlockScales
from golden.arithmetic.mac import fused_sums
from golden.bits import BLOCK
from golden.formats import Format
from golden.wide import IEEE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SMALL = 1 << 17
"""Products up to which NumPy is fast enough, so that nothing needs to be compiled."""
STEP = 1 << 12
"""Products that take NumPy as long as it takes to begin a step."""


@dataclass(frozen=True)
class Chains:
    """Products of codes of shape (rows, columns, products), and how they are added; everything is checked.

    ``left`` and ``right`` have their format's own type and are aligned; usually they are views in which one axis is
    broadcast. The scales are those of
    :func:`golden.fused_dot`: ``scale``, shape (rows, columns), or ``blocks``, with codes of shape (rows, blocks) and
    (blocks, columns), each for ``block`` products, a multiple of ``lanes``.
    """

    a_format: Format
    b_format: Format
    accumulator: str
    terms: int
    left: NDArray[Any]
    right: NDArray[Any]
    lanes: int = 1
    zero: str = IEEE
    scale: NDArray[Any] | None = None
    scale_bits: int = 0
    blocks: BlockScales | None = None
    block: int = 0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns, and products of a sum."""
        rows, columns, depth = self.left.shape
        return rows, columns, depth


def run(chains: Chains, acc: NDArray[Any], threads: int) -> NDArray[Any]:
    """The accumulators after all products, by compiled code if there is enough to do and a compiler.

    ``acc`` has the shape (rows, columns), of ``exact`` accumulators with limbs on a last axis.
    """
    work = chains.left.size + STEP * (chains.shape[2] // chains.lanes)
    if work > SMALL and native.supports(chains) and native.library() is not None:
        return native.run(chains, acc, threads)
    return run_in_numpy(chains, acc)[0]


def run_in_numpy(chains: Chains, acc: NDArray[Any], *, flagged: bool = False) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """The accumulators after all products, and if ``flagged`` the flags of all steps, by OR: the definition."""
    rows, columns, depth = chains.shape
    sums, flags = acc.copy(), np.zeros((rows, columns) if flagged else 0, np.uint8)
    for part in _tiles(rows, columns, chains.lanes):
        for start in range(0, depth, chains.lanes):
            group = slice(start, min(start + chains.lanes, depth))
            sums[part], further = _step(chains, part, group, sums[part], flagged)
            if flagged:
                flags[part] |= further
    return sums, flags


def _step(
    chains: Chains, part: tuple[slice, slice], group: slice, acc: NDArray[Any], flagged: bool
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    scales = chains.blocks
    block_scales: tuple[Any, Any, str | Format] = None, None, "e8m0"
    if scales is not None:
        number = group.start // chains.block
        block_scales = scales.a[part[0], number, np.newaxis], scales.b[number, part[1]], scales.fmt
    return fused_sums(
        chains.left[(*part, group)],
        chains.right[(*part, group)],
        acc,
        chains.a_format,
        chains.b_format,
        chains.accumulator,
        chains.terms,
        None if chains.scale is None else chains.scale[part],
        chains.scale_bits,
        chains.zero,
        block_scales,
        flagged=flagged,
    )


def _tiles(rows: int, columns: int, lanes: int) -> Iterator[tuple[slice, slice]]:
    """Parts of all sums whose products of a step are few enough for the cache."""
    count = max(BLOCK // lanes, 1)
    width = min(columns, count)
    height = max(count // max(width, 1), 1)
    for row in range(0, rows, height):
        for column in range(0, columns, max(width, 1)):
            yield slice(row, row + height), slice(column, column + width)
