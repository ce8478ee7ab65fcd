"""A table for encoding binary32: for each pattern of upper bits two codes, and the lower bits where the second begins.

The deterministic roundings of the formats' own bits have such a table where boundaries have few fraction bits: with its
last bit set if any below is, the upper half of an input mostly lies on the same side of every boundary; finer
boundaries take a few bits more. Hybrid rounding has one, too, because its threshold lies in the lower bits. Encoders
use these tables, and so do sweeps over all inputs.
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_DETERMINISTIC = (Rounding.TIES_TO_EVEN, Rounding.TIES_TO_AWAY, Rounding.TOWARD_ZERO, Rounding.MPTORCH)

_FEWEST_UPPER_BITS, _MOST_UPPER_BITS = 16, 20
"""A table of 2^16 codes is made for any format; one of more than 2^20 does not stay in a processor's cache."""

_HYBRID_UPPER_BITS = 18
"""The lower 14 bits of a binary32 are hybrid rounding's threshold."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Codes of all binary32 inputs, by their upper bits.

    Attributes
    ----------
    limits : int32 array, shape (2**upper_bits,)
        The largest lower bits that still have the first code; -1 where none have.
    first, others : arrays of the same shape
        Codes of the inputs up to the limit, and of those above it.
    """

    limits: NDArray[np.int32]
    first: NDArray[Any]
    others: NDArray[Any]

    @property
    def upper_bits(self) -> int:
        """How many upper bits tell the steps apart."""
        return self.limits.size.bit_length() - 1

    @property
    def lower_bits(self) -> int:
        """How many bits run from one step's beginning to the next's."""
        return 32 - self.upper_bits

    @cached_property
    def are_exact(self) -> bool:
        """Whether every first code is that of one input alone, whose lower bits are all zero."""
        return not self.limits.any()

    @cached_property
    def _table(self) -> NDArray[Any]:
        """First codes and others in turn: what the upper bits with a sticky bit below them are looked up in, if they
        :attr:`are_exact`.
        """
        return np.stack([self.first, self.others], axis=1).reshape(-1)

    @cached_property
    def _needs_no_sticky(self) -> bool:
        """Whether the sticky bit never changes a code: every boundary belongs to the values above it.

        A NaN whose payload lies in the lower bits alone looks like an infinity there, so formats that tell the two
        apart need it.
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
        lost = self.lower_bits - 1  # the uppermost of the lower bits lies in the place of the sticky one
        index = block >> np.uint32(lost)
        if not self._needs_no_sticky:
            index |= (block & np.uint32((1 << lost) - 1)) != 0
        self._table.take(index, out=out, mode="wrap")

    def _by_limits(self, block: NDArray[np.uint32], out: NDArray[Any]) -> None:
        index = block >> np.uint32(self.lower_bits)
        reached = (block & np.uint32((1 << self.lower_bits) - 1)).view(np.int32) <= self.limits.take(index)
        out[:] = np.where(reached, self.first.take(index), self.others.take(index))

    def by_upper_half(self) -> NDArray[np.int32]:
        """A row for each upper half of an input, which says all about the 2^16 codes with it: equal rows, equal codes."""
        halves = np.arange(1 << 16)
        if self.upper_bits < 16:
            above = halves >> (16 - self.upper_bits)
            begins = (halves & ((1 << (16 - self.upper_bits)) - 1)) << 16  # where the half lies in its step
            limits, span = self.limits[above] - begins, 16
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
    """The steps of an encoder from binary32, with marked codes if asked for; None where there are none, or too many for
    a table.
    """
    if not fmt.has_tables:
        return None
    if chosen.rounding in _DETERMINISTIC and (kept := _upper_bits(fmt)) <= _MOST_UPPER_BITS:
        table = encode_directly(fmt, np.arange(1 << kept) << (32 - kept), chosen, marked=marked)
        return Steps(np.zeros(table.size // 2, np.int32), table[0::2], table[1::2])
    if chosen.rounding is Rounding.HYBRID and _upper_bits(fmt) == _FEWEST_UPPER_BITS:
        return _hybrid(partial(encode_directly, fmt, chosen=chosen, marked=marked))
    return None


@cache
def _upper_bits(fmt: Format) -> int:
    """How many upper bits of a binary32 pattern, the last one set if any below is, place it among the values and
    midpoints.
    """
    values, flush = grid(fmt).values, grid(fmt).flush_below
    boundaries = np.concatenate([values, (values[:-1] + values[1:]) / 2, [flush, (flush + fmt.smallest) / 2]])
    with np.errstate(over="ignore"):
        exact = boundaries.astype(np.float32)
    if not np.all(exact == boundaries):
        return 32
    used = int(np.bitwise_or.reduce(exact.view(np.uint32)))
    zeros = (used & -used).bit_length() - 1
    return max(_FEWEST_UPPER_BITS, 33 - zeros)


def _hybrid(codes: Callable[[NDArray[np.int64]], NDArray[Any]]) -> Steps:
    """Steps of hybrid rounding.

    Inputs with the same upper 18 bits have no more than two codes, one after the other: no boundary of the format lies
    between such inputs, and of what hybrid rounding compares, the threshold grows faster with the lower bits than the
    position between the neighbours does. So the place of the step is found by bisection. (Infinity and the NaNs above
    it are such a pair, too.)
    """
    span = 1 << (32 - _HYBRID_UPPER_BITS)
    upper = np.arange(1 << _HYBRID_UPPER_BITS) * span
    first, others = codes(upper), codes(upper | (span - 1))
    reached, failed = np.zeros(upper.shape, np.int32), np.full(upper.shape, span, np.int32)
    while span := span >> 1:
        middle = (reached + failed) >> 1
        same = codes(upper | middle) == first
        reached, failed = np.where(same, middle, reached), np.where(same, failed, middle)
    return Steps(reached, first, others)
