"""A lookup table for encoding binary32: for each pattern of upper bits, two codes and the lower bits where they change.

For deterministic roundings, the table is exact if the boundaries between codes have few fraction bits. Then the upper
bits of an input, together with a sticky bit for the lower bits, decide on which side of each boundary it lies; mostly
16 upper bits suffice. Hybrid rounding has a table because its threshold consists of lower bits. Encoders and
exhaustive checks use these tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.bits import BLOCK
from golden.formats import Format
from golden.options import Options
from golden.rounding import encode_directly, grid
from golden.rows import Rounding
from golden.wide import wide

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_FEWEST_UPPER_BITS, _MOST_UPPER_BITS = 16, 20
"""Every table has at least 2^16 entries; one of more than 2^20 exceeds a processor's cache."""

_HYBRID_UPPER_BITS = 18
"""The other 14 bits of a binary32 are the threshold of hybrid rounding."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Codes of all binary32 inputs, by their upper bits; a step is all inputs with the same upper bits.

    Attributes
    ----------
    limits : int32 array, shape (2**upper_bits,)
        The largest lower bits with the first code; -1 if none has it.
    first, others : arrays of the same shape
        Codes of the inputs up to the limit, and of the inputs above it.
    """

    limits: NDArray[np.int32]
    first: NDArray[Any]
    others: NDArray[Any]

    @property
    def upper_bits(self) -> int:
        """Number of upper bits, which index the table."""
        return self.limits.size.bit_length() - 1

    @property
    def lower_bits(self) -> int:
        """Number of lower bits, which vary within a step."""
        return 32 - self.upper_bits

    @cached_property
    def are_exact(self) -> bool:
        """Whether each first code belongs to a single input, with all lower bits zero."""
        return not self.limits.any()

    @cached_property
    def _table(self) -> NDArray[Any]:
        """First and other codes interleaved: indexed by the upper bits with a sticky bit, if they :attr:`are_exact`."""
        return np.stack([self.first, self.others], axis=1).reshape(-1)

    @cached_property
    def _needs_no_sticky(self) -> bool:
        """Whether the sticky bit never changes a code, because every boundary rounds up.

        A NaN whose payload is only in the lower bits has the upper bits of an infinity, so formats that distinguish NaN
        from infinity need the sticky bit.
        """
        return bool(np.array_equal(self.first, self.others))

    def codes(self, raw: NDArray[np.uint32]) -> NDArray[Any]:
        """Codes of raw bits, of any shape."""
        flat = np.ascontiguousarray(raw).reshape(-1)
        codes = np.empty(flat.shape, self.first.dtype)
        look_up = self._through_one_table if self.are_exact else self._by_limits
        for start in range(0, flat.size, BLOCK):
            look_up(flat[start : start + BLOCK], codes[start : start + BLOCK])
        return codes.reshape(raw.shape)

    def _through_one_table(self, block: NDArray[np.uint32], out: NDArray[Any]) -> None:
        dropped = self.lower_bits - 1  # the uppermost lower bit is ored into the sticky bit's position
        index = block >> np.uint32(dropped)
        if not self._needs_no_sticky:
            index |= (block & np.uint32((1 << dropped) - 1)) != 0
        self._table.take(index, out=out, mode="wrap")

    def _by_limits(self, block: NDArray[np.uint32], out: NDArray[Any]) -> None:
        index = block >> np.uint32(self.lower_bits)
        reached = (block & np.uint32((1 << self.lower_bits) - 1)).view(np.int32) <= self.limits.take(index)
        out[:] = np.where(reached, self.first.take(index), self.others.take(index))

    def by_upper_half(self) -> NDArray[np.int32]:
        """A row for each upper half of an input; equal rows have equal codes for all 2^16 lower halves."""
        halves = np.arange(1 << 16)
        if self.upper_bits < 16:
            above = halves >> (16 - self.upper_bits)
            offset = (halves & ((1 << (16 - self.upper_bits)) - 1)) << 16  # of the half in its step
            limits, span = self.limits[above] - offset, 16
            columns = [limits, self.first[above], self.others[above]]
        else:
            steps = halves[:, np.newaxis] << (self.upper_bits - 16) | np.arange(1 << (self.upper_bits - 16))
            columns, span = [self.limits[steps], self.first[steps], self.others[steps]], self.lower_bits
        last = (1 << span) - 1
        limits, first, others = (np.asarray(column, np.int32).reshape(1 << 16, -1) for column in columns)
        first, others = np.where(limits < 0, others, first), np.where(limits >= last, first, others)
        return np.concatenate([np.where(first == others, -1, limits), first, others], axis=1)


@cache
def steps(fmt: Format, chosen: Options, *, marked: bool = False) -> Steps | None:
    """The table of an encoder from binary32, optionally with marked codes; None if there is none of a useful size."""
    if not fmt.has_tables:
        return None
    reads_more = chosen.rounding.is_stochastic or chosen.rounding.reads_source
    if not reads_more and (kept := _upper_bits(fmt)) <= _MOST_UPPER_BITS:
        table = encode_directly(fmt, np.arange(1 << kept) << (32 - kept), chosen, marked=marked)
        return Steps(np.zeros(table.size // 2, np.int32), table[0::2], table[1::2])
    if chosen.rounding is Rounding.HYBRID and _upper_bits(fmt) == _FEWEST_UPPER_BITS:
        return _hybrid(partial(encode_directly, fmt, chosen=chosen, marked=marked))
    return None


@cache
def _upper_bits(fmt: Format) -> int:
    """Number of upper bits, the last one sticky, that place a binary32 input among the values and midpoints."""
    values, flush = grid(fmt).values, grid(fmt).flush_below
    boundaries = np.concatenate([values, (values[:-1] + values[1:]) / 2, [flush, (flush + fmt.smallest) / 2]])
    boundaries = boundaries[boundaries < 2.0**128]  # no finite input reaches the others
    exact = wide("binary32").nearest(boundaries)
    if not np.array_equal(wide("binary32").numbers(exact), boundaries):
        return 32
    used = int(np.bitwise_or.reduce(exact))
    zeros = (used & -used).bit_length() - 1
    return max(_FEWEST_UPPER_BITS, 33 - zeros)


def _hybrid(codes: Callable[[NDArray[np.int64]], NDArray[Any]]) -> Steps:
    """The table of hybrid rounding.

    Inputs with the same upper 18 bits have at most two codes, and bisection finds the limit between them: no boundary
    of the format lies between such inputs, and the threshold grows faster with the lower bits than the position between
    the neighbours. An infinity and the NaNs above it are such a pair as well.
    """
    span = 1 << (32 - _HYBRID_UPPER_BITS)
    upper = np.arange(1 << _HYBRID_UPPER_BITS) * span
    first, others = codes(upper), codes(upper | (span - 1))
    low, high = np.zeros(upper.shape, np.int32), np.full(upper.shape, span, np.int32)
    while span := span >> 1:
        middle = (low + high) >> 1
        same = codes(upper | middle) == first
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return Steps(low, first, others)
