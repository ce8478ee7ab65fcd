"""Stochastic roundings of binary32 by a table of binades, which is faster than their definition.

In a binade of the source, the values of nearly every format are equally far apart, 2**q. There, a number x of the
significand s gives the integer t = floor(x * 2**(N - q)) by a shift of s, and its N lower bits are the position between
two neighbours. So (t + random) >> N is the rounded number in units of 2**q, the index into the binade's codes.
``stochastic_b`` has a further random bit of 1, and ``stochastic_c`` rounds t to nearest even instead of down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.bits import BLOCK
from golden.formats import Format
from golden.options import Options
from golden.rounding import codes_of, encode_directly, grid
from golden.rows import Rounding

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HIDDEN, _FRACTION_BITS, _BIAS = 1 << 23, 23, 127
_BELOW_ALL = 25
"""A shift that leaves nothing of a significand, even rounded."""

_BY_DEFINITION = np.uint32(0xFFFFFFFF)
"""Stands for the codes of binades without equally distant values, of infinities and NaNs; these are rounded by
definition."""


@dataclass(frozen=True, eq=False)
class Binades:
    """Codes by binade: sign and exponent field of binary32.

    Attributes
    ----------
    shifts : array of shape (512,)
        Places by which a significand moves right to become t.
    starts : array of shape (512,)
        Where the binade's codes begin in ``codes``, less the first index that occurs; modulo the type's range.
    codes : uint32 array
    lifted : int
        Places by which all significands move left before.
    """

    shifts: NDArray[Any]
    starts: NDArray[Any]
    codes: NDArray[np.uint32]
    lifted: int


def encode(
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
    steps = [_step(fmt, exponent - _BIAS) for exponent in range(255)]
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
            pieces.append(_codes(fmt, values, bool(sign), chosen, marked))
            starts[place], moves[place] = size - first, below + lifted
            size += values.size
    return Binades(moves, starts.astype(kind), np.concatenate(pieces), lifted)


def _step(fmt: Format, exponent: int) -> int | None:
    """The exponent q of the distance of values from 2**exponent to twice as much; None if it varies."""
    values = grid(fmt).values
    low, high = 2.0**exponent, 2.0 ** (exponent + 1)
    if low >= values[-1] or (high <= values[0] and not fmt.has_zero):
        return exponent  # all numbers overflow, or become the smallest value
    first = int(np.searchsorted(values, low, side="right")) - 1
    last = min(int(np.searchsorted(values, high)), len(values) - 1)
    distances = np.unique(np.diff(values[first : last + 1]))
    fraction, step = np.frexp(distances[0])
    if distances.size > 1 or fraction != 0.5 or values[first] % distances[0]:
        return None
    return int(step) - 1


def _codes(
    fmt: Format, values: NDArray[np.float64], negative: bool, chosen: Options, marked: bool
) -> NDArray[np.uint32]:
    never = np.full(values.shape, 1.0)  # a threshold that values of the format do not reach
    signs = np.full(values.shape, negative)
    signed = -values if negative else values
    return codes_of(fmt, signed, signs, chosen, never, 0, marked=marked).astype(np.uint32)
