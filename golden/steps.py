"""Tables for encoding binary32, which are faster than the roundings' definition and give the same codes.

:class:`Steps` has, for each pattern of upper bits, two codes and the lower bits where they change. For deterministic
roundings, it is exact if the boundaries between codes have few fraction bits. Then the upper bits of an input, together
with a sticky bit for the lower bits, decide on which side of each boundary it lies; mostly 16 upper bits suffice.
Hybrid rounding has such a table because its threshold consists of lower bits. Exhaustive checks use these tables, too.

:class:`Binades` serves the stochastic roundings. In a binade of the source, the values of nearly every format are
equally far apart, 2**q. There, a number x of the significand s gives the integer t = floor(x * 2**(N - q)) by a shift
of s, and its N lower bits are the position between two neighbours. So (t + random) >> N is the rounded number in units
of 2**q, the index into the binade's codes. ``stochastic_b`` has a further random bit of 1, and ``stochastic_c`` rounds
t to nearest even instead of down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.bits import BLOCK
from golden.formats import Format
from golden.options import Options
from golden.rounding import codes_of, encode_directly, grid
from golden.rows import Rounding
from golden.wide import wide

_FEWEST_UPPER_BITS, _MOST_UPPER_BITS = 16, 20
"""Every table has at least 2^16 entries; one of more than 2^20 exceeds a processor's cache."""

_HYBRID_UPPER_BITS = 18
"""The other 14 bits of a binary32 are the threshold of hybrid rounding."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Codes of all binary32 inputs, by their upper bits; a step is all inputs with the same upper bits."""

    limits: NDArray[np.int32]
    """The largest lower bits with the first code; -1 if none has it."""
    first: NDArray[Any]
    """Codes of the inputs up to the limit."""
    others: NDArray[Any]
    """Codes of the inputs above the limit."""

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
    boundaries = np.concatenate([values, grid(fmt).middles, [flush, (flush + fmt.smallest) / 2]])
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


# -- stochastic roundings ----------------------------------------------------------------------------------------------

_HIDDEN, _FRACTION_BITS, _BIAS = 1 << 23, 23, 127
_BELOW_ALL = 25
"""A shift that leaves nothing of a significand, even rounded."""

_BY_DEFINITION = np.uint32(0xFFFFFFFF)
"""Stands for the codes of binades without equally distant values, of infinities and NaNs; these are rounded by
definition."""


@dataclass(frozen=True, eq=False)
class Binades:
    """Codes by the 512 binades, which are given by sign and exponent field of binary32."""

    shifts: NDArray[Any]
    """Places by which a binade's significands move right to become t."""
    starts: NDArray[Any]
    """Where a binade's codes begin in ``codes``, less the first index that occurs; modulo the type's range."""
    codes: NDArray[np.uint32]
    lifted: int
    """Places by which all significands move left before."""


def by_binades(
    fmt: Format, raw: NDArray[Any], chosen: Options, words: NDArray[Any], random_bits: int, *, marked: bool = False
) -> NDArray[Any]:
    """Codes of binary32 bits, equal to those of :func:`golden.rounding.encode_directly`."""
    table = _binades(fmt, chosen, random_bits, marked)
    flat, random = np.ascontiguousarray(raw).reshape(-1), np.ascontiguousarray(words).reshape(-1)
    codes = np.empty(flat.shape, np.min_scalar_type((2 << fmt.width) - 1) if marked else fmt.code_dtype)
    rounding, kind = chosen.rounding, table.shifts.dtype.type
    further = int(rounding is Rounding.STOCHASTIC_B)
    rest: list[NDArray[np.int64]] = []
    for start in range(0, flat.size, BLOCK):
        bits, word = flat[start : start + BLOCK].astype(np.uint32), random[start : start + BLOCK].astype(kind)
        binade = (bits >> np.uint32(_FRACTION_BITS)).astype(np.intp)
        bits &= np.uint32(_HIDDEN - 1)
        bits |= np.uint32(_HIDDEN)
        number = bits.astype(kind, copy=False)
        if table.lifted:
            number <<= kind(table.lifted)
        shift = table.shifts.take(binade, mode="wrap")
        if rounding is Rounding.STOCHASTIC_C:
            number += ((number >> shift) & kind(1)) + ((kind(1) << (shift - kind(1))) - kind(1))  # no shift is 0
        number >>= shift
        if further:
            word += word + kind(1)
        number += word
        number >>= kind(random_bits + further)
        number += table.starts.take(binade, mode="wrap")  # modulo the type's range, like the starts
        block = table.codes.take(number.astype(np.intp), mode="wrap")
        codes[start : start + BLOCK] = block
        if block.max(initial=0) == _BY_DEFINITION:
            rest.append(np.flatnonzero(block == _BY_DEFINITION) + start)
    if rest:
        places = np.concatenate(rest)
        codes[places] = encode_directly(fmt, flat[places], chosen, random[places], random_bits, marked=marked)
    return codes.reshape(raw.shape)


@cache
def _binades(fmt: Format, chosen: Options, random_bits: int, marked: bool) -> Binades:
    places = random_bits + (chosen.rounding is Rounding.STOCHASTIC_B)
    steps = [_distance(fmt, exponent - _BIAS) for exponent in range(255)]
    shifts = [
        None if step is None else _FRACTION_BITS - (exponent - _BIAS) + step - places
        for exponent, step in enumerate(steps)
    ]
    if not fmt.has_zero or (shifts[0] is not None and shifts[0] < _BELOW_ALL):  # subnormals have no hidden bit
        shifts[0] = None
    least = int(chosen.rounding is Rounding.STOCHASTIC_C)  # which rounds what is shifted out
    lifted = max(0, least - min((shift for shift in shifts if shift is not None), default=least))
    width = _FRACTION_BITS + 1 + lifted + 1
    kind = np.uint32 if max(width, places + fmt.width + 1) < 32 else np.uint64
    pieces: list[NDArray[np.uint32]] = [np.array([_BY_DEFINITION], np.uint32)]
    starts, size = np.zeros(512, np.int64), 1
    moves = np.full(512, _BELOW_ALL + lifted, kind)
    for exponent, (step, shift) in enumerate(zip(steps, shifts, strict=True)):
        if step is None or shift is None:
            continue
        e, below = exponent - _BIAS, min(shift, _BELOW_ALL)
        first = 1 << (e - step) if e >= step else 0
        values = np.ldexp(np.arange(first, 2 * first + 1 if first else 2, dtype=np.float64), step)
        for sign in (0, 1):
            place = sign << 8 | exponent
            pieces.append(_binade_codes(fmt, values, bool(sign), chosen, marked))
            starts[place], moves[place] = size - first, below + lifted
            size += values.size
    return Binades(moves, starts.astype(kind), np.concatenate(pieces), lifted)


def _distance(fmt: Format, exponent: int) -> int | None:
    """The exponent q of the distance of values from 2**exponent to twice as much; None if it varies."""
    values = grid(fmt).values
    low, high = 2.0**exponent, 2.0 ** (exponent + 1)
    if low >= values[-1] or (high <= values[1] and not fmt.has_zero):
        return exponent  # all numbers overflow, or become the smallest value
    first = int(np.searchsorted(values, low, side="right")) - 1
    last = min(int(np.searchsorted(values, high)), len(values) - 1)
    distances = np.unique(np.diff(values[first : last + 1]))
    fraction, step = np.frexp(distances[0])
    if distances.size > 1 or fraction != 0.5 or values[first] % distances[0]:
        return None
    return int(step) - 1


def _binade_codes(
    fmt: Format, values: NDArray[np.float64], negative: bool, chosen: Options, marked: bool
) -> NDArray[np.uint32]:
    never = np.full(values.shape, 1.0)  # a threshold that values of the format do not reach
    signs = np.full(values.shape, negative)
    signed = -values if negative else values
    return codes_of(fmt, signed, signs, chosen, never, 0, marked=marked).astype(np.uint32)
