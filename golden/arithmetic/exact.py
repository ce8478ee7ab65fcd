"""A fixed-point accumulator that holds every product of two formats, and every sum of N products, without rounding.

The state is the vector {nan, neg_inf, pos_inf, value[W-1:0]}: sticky flags above a two's complement value whose lsb
weighs ``2**lsb_exponent``. In NumPy the state is an array of uint64 limbs on the last axis, little end first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arithmetic.fixed import add_numbers, rounded_to_odd
from golden.arithmetic.sums import Products, add_lanes, product_cuts, product_sums
from golden.bits import (
    BLOCK,
    MAX_SCALE_BITS,
    as_array,
    as_exponents,
    as_integers,
    broadcast,
    check_shapes,
    one_lane,
    scale_range,
)
from golden.catalog import get
from golden.encode import random_words
from golden.flags import Flag
from golden.formats import Format
from golden.options import target_options
from golden.refusal import BadKind, BadValue, about, check_integer
from golden.rounding import codes_of
from golden.rows import DEFAULT_RANDOM_BITS
from golden.validation import MAX_WIDTH
from golden.wide import IEEE, POSITIVE, check_zero

MAX_TERMS, DEFAULT_TERMS = 1 << 24, 1024


def _stay_normal(factors: Sequence[Format], low: int = 0, high: int = 0) -> bool:
    """Whether products times 2**low to 2**high, and sums of ``MAX_TERMS`` of them, are normal numbers of binary64."""
    least = sum(fmt.ulp_exponent for fmt in factors) + low
    most = sum(fmt.exponent_range[1] + 1 for fmt in factors) + high + MAX_TERMS.bit_length()
    return -1022 <= least <= most <= 1023


def check_scale(a: Format, b: Format, scale_bits: int) -> tuple[int, int]:
    """Smallest and largest scale of the products of two formats.

    Refuse scales with which products, or sums of ``MAX_TERMS`` products, exceed the normal numbers of binary64.
    """
    low, high = scale_range(scale_bits)
    if scale_bits and not _stay_normal((a, b), low, high):
        problem = f"must be fewer than {scale_bits} for products as far from 1 as those of {a.name} and {b.name}"
        raise BadValue("scale_bits", problem)
    return low, high


def check_range(argument: str, factors: Sequence[Format]) -> None:
    """Refuse factors whose products, or sums of ``MAX_TERMS`` products, exceed the normal numbers of binary64."""
    if not _stay_normal(factors):
        names = ", ".join(dict.fromkeys(fmt.name for fmt in factors))
        raise BadValue(argument, f"must leave products in the range of binary64, and those of {names} exceed it")


def as_scale(a: Format, b: Format, scale: ArrayLike | None, scale_bits: int) -> NDArray[np.int64]:
    """Check the scales of products of two formats, exponents of powers of two; None becomes 0."""
    low, high = check_scale(a, b, scale_bits)
    powers = as_integers("scale", 0 if scale is None else scale, low, high, f" for scale_bits {scale_bits}")
    return powers.astype(np.int64)


def operand(argument: str, name: str | Format) -> Format:
    """Look up the format of an operand; refuse formats that are too wide for tables."""
    with about(argument):
        fmt = get(name)
    if fmt.width > MAX_WIDTH:
        raise BadValue(argument, f"must have at most {MAX_WIDTH} bits, not the {fmt.width} of {fmt.name}")
    return fmt


class ExactAccumulator:
    """The ``exact`` accumulator for products of two formats: its widths and its arithmetic.

    Parameters
    ----------
    a_format, b_format : str or Format
    terms : int
        Number of products whose sum always fits.
    scale_bits : int
        Bits of the scale in two's complement; products are multiplied by ``2**scale``. 0 means no scale.

    Attributes
    ----------
    value_width : int
        W: bits of the value with its sign, derived from the largest product (specification, section 6).
    lsb_exponent : int
        Every product is a multiple of ``2**lsb_exponent``.
    width : int
        W + 3.
    limbs : int
        uint64 words of the state.
    """

    def __init__(self, a_format: str | Format, b_format: str | Format, terms: int, scale_bits: int = 0):
        a, b = self.a_format, self.b_format = operand("a_format", a_format), operand("b_format", b_format)
        self.terms = check_integer("terms", terms, 1, MAX_TERMS)
        low, high = self.scales = check_scale(a, b, scale_bits)
        self.scale_bits = int(scale_bits)
        self.lsb_exponent = a.ulp_exponent + b.ulp_exponent + low
        largest = (
            Fraction(a.largest_magnitude) * Fraction(b.largest_magnitude) * Fraction(2) ** (high - self.lsb_exponent)
        )
        self.value_width = int(self.terms * largest).bit_length() + 1
        self.width = self.value_width + 3
        self.limbs = -(-self.width // 64)

    @property
    def pos_inf_bit(self) -> int:
        """Position of the sticky +Inf flag; -Inf and NaN follow above."""
        return self.value_width

    @property
    def readout_scales(self) -> tuple[int, int]:
        """Smallest and largest scale of a readout: all values stay normal numbers of binary64."""
        low, high = scale_range(MAX_SCALE_BITS)
        return max(low, -1022 - self.lsb_exponent), min(high, 1024 - self.value_width - self.lsb_exponent)

    def zeros(self, shape: tuple[int, ...] = ()) -> NDArray[np.uint64]:
        """Cleared accumulators: limbs of shape ``(*shape, limbs)``."""
        return np.zeros((*shape, self.limbs), np.uint64)

    def accumulate(
        self, a: ArrayLike, b: ArrayLike, acc: ArrayLike, scale: ArrayLike | None = None
    ) -> NDArray[np.uint64]:
        """``acc + a * b * 2**scale``, exactly; sums beyond W bits wrap.

        A NaN product, 0 * Inf, and infinities of both signs set ``nan``. An infinite product sets the flag of its sign.
        None of them changes the value.
        """
        return exact_sums(self, *one_lane(a, b), acc, scale)[0]

    def flags(self, a: ArrayLike, b: ArrayLike, acc: ArrayLike, scale: ArrayLike | None = None) -> NDArray[np.uint8]:
        """Words of :class:`golden.Flag` for ``acc`` plus all products along the last axis of ``a`` and ``b``.

        Overflow: the sum does not fit into W bits. Invalid: 0 * Inf, or infinities of both signs without a NaN. The sum
        is never inexact.
        """
        return exact_sums(self, a, b, acc, scale, flagged=True)[1]

    def decode(self, acc: ArrayLike) -> NDArray[np.float64]:
        """Values of accumulators, infinities and NaN by their flags: float64, without the axis of limbs.

        Values of more than 53 significant bits are rounded to odd, see :func:`golden.arithmetic.fixed.rounded_to_odd`.
        """
        state = self.checked(acc)
        pos, neg, nan = self._special_bits(state)
        value = rounded_to_odd(self._extended(state), self.lsb_exponent)
        return np.where(nan, np.nan, np.where(pos, np.inf, np.where(neg, -np.inf, value)))

    def encode(
        self,
        acc: ArrayLike,
        to: str | Format,
        rounding: str | None = None,
        overflow: str | None = None,
        nan_to_zero: bool = False,
        random: ArrayLike | None = None,
        random_bits: int = DEFAULT_RANDOM_BITS,
        zero: str = IEEE,
        scale: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Round accumulators, multiplied by 2**scale, once, to codes or to bits of a wide format.

        The options are those of :meth:`golden.Format.encode`, and ``zero`` is that of :func:`golden.mac`. ``hybrid`` is
        refused because it depends on the bits of a source. ``scale`` are integers that broadcast to the shape of the
        result, from -512 to 511 or as far as values stay normal in binary64. The result has no axis of limbs; NaN has
        no sign.
        """
        positive = check_zero(zero) == POSITIVE
        with about("to"):
            to = get(to)
        chosen = target_options(to, rounding, overflow, nan_to_zero)
        values = self.decode(acc)
        if scale is not None:
            values = np.ldexp(values, as_exponents("scale", scale, values.shape, *self.readout_scales))
        negative = np.signbit(values) & ~np.isnan(values)
        words, random_bits = random_words(chosen, random, random_bits, values.shape)
        threshold = None if words is None else 2.0**random_bits - words.astype(np.float64)
        codes = codes_of(to, values, negative, chosen, threshold, random_bits)
        return np.where(codes == to.sign_bit, 0, codes) if positive and to.has_negative_zero else codes

    def _extended(self, state: NDArray[np.uint64], further: int = 0) -> NDArray[np.uint64]:
        """The value without flags, sign-extended to all limbs and ``further`` more."""
        limbs = range(self.limbs + further)
        masks = np.array([self._value_bits(limb) for limb in limbs], np.uint64)
        signs = np.where(self._bit(state, self.value_width - 1)[..., np.newaxis], ~masks, np.uint64(0))
        value: NDArray[np.uint64] = state[..., np.minimum(limbs, self.limbs - 1)] & masks | signs
        return value

    def _with_flags(self, total: NDArray[np.uint64], flags: Iterable[NDArray[np.bool_]]) -> NDArray[np.uint64]:
        """States of sums, whose bits beyond W are dropped, and of sticky flags; overwrites the sums."""
        pos, neg, nan = flags
        for limb in range(self.limbs):
            total[..., limb] &= self._value_bits(limb)
        for i, flag in enumerate((pos, neg, nan | (pos & neg))):
            limb, bit = divmod(self.pos_inf_bit + i, 64)
            total[..., limb] |= flag.astype(np.uint64) << np.uint64(bit)
        return total

    def checked(self, acc: ArrayLike) -> NDArray[np.uint64]:
        """Limbs of accumulators; refuse other types and shapes, and bits beyond the width."""
        state = as_array("acc", acc)
        is_kind = state.dtype.newbyteorder("=") == np.uint64
        if not is_kind or state.shape[-1:] != (self.limbs,):
            refusal = BadValue if is_kind else BadKind
            problem = f"must be uint64 limbs with a last axis of {self.limbs}, not {state.dtype} of shape {state.shape}"
            raise refusal("acc", problem)
        spare = 64 * self.limbs - self.width
        if spare and np.any(state[..., -1] >> np.uint64(64 - spare)):
            raise BadValue("acc", f"must have no bits beyond its {self.width}")
        return state.astype(np.uint64, copy=False)

    def _value_bits(self, limb: int) -> np.uint64:
        """Mask of the bits of a limb that belong to the value."""
        return np.uint64((1 << min(max(self.value_width - 64 * limb, 0), 64)) - 1)

    def _special_bits(self, state: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], ...]:
        """The sticky flags +Inf, -Inf and NaN."""
        return tuple(self._bit(state, self.pos_inf_bit + i) for i in range(3))

    @staticmethod
    def _bit(state: NDArray[np.uint64], position: int) -> NDArray[np.bool_]:
        limb, bit = divmod(position, 64)
        return np.asarray(state[..., limb] >> np.uint64(bit) & np.uint64(1), np.bool_)


def exact_sums(
    unit: ExactAccumulator,
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike,
    scale: ArrayLike | None,
    *,
    flagged: bool = False,
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """:meth:`ExactAccumulator.accumulate` of all products along the last axis; its flags, empty unless ``flagged``."""
    fa, fb = unit.a_format, unit.b_format
    state = unit.checked(acc)
    left, right = broadcast(fa.as_codes(a, "a"), fb.as_codes(b, "b"))
    powers = as_scale(fa, fb, scale, unit.scale_bits)
    scaled = {} if scale is None else {"scale": powers.shape}
    shape, lanes = check_shapes(acc=state.shape[:-1], a=left.shape[:-1], **scaled), left.shape[-1]
    left, right = (np.broadcast_to(array, (*shape, lanes)).reshape(-1, lanes) for array in (left, right))
    before = np.broadcast_to(state, (*shape, unit.limbs)).reshape(-1, unit.limbs)
    factors = np.broadcast_to(np.ldexp(1.0, powers), shape).reshape(-1)
    sums, flags = np.empty_like(before), np.zeros(len(before) if flagged else 0, np.uint8)
    for start in range(0, len(before), BLOCK):
        block = slice(start, start + BLOCK)
        parts = product_sums(fa, fb, left[block], right[block])
        specials = unit._special_bits(before[block])
        undefined = np.zeros(len(before[block]), np.bool_)
        rows = np.flatnonzero(~np.isfinite(parts[0]))
        if rows.size:  # such products set flags, and only the others are added
            few = Products(fa, fb, left[block][rows], right[block][rows], np.ones(rows.size))
            products, undefined[rows] = few.exact(), few.undefined().any(axis=-1)
            kinds = (products == np.inf, products == -np.inf, np.isnan(products))
            for flag, lane_flags in zip(specials, kinds, strict=True):
                flag[rows] |= lane_flags.any(axis=0)
            finite, added = np.where(np.isfinite(products), products, 0.0), np.empty((len(parts), rows.size))
            add_lanes(finite, product_cuts(fa, fb, lanes), added)
            parts[:, rows] = added
        total = unit._extended(before[block], 1) if flagged else before[block]  # with one more limb no sum wraps
        for part in parts * factors[block]:
            total = add_numbers(total, part, unit.lsb_exponent)
        if flagged:
            pos, neg, nan = specials
            overflow = np.any(total != unit._extended(total, 1), axis=-1)
            invalid = undefined | (pos & neg & ~nan)
            flags[block] = overflow * np.uint8(Flag.OVERFLOW) | invalid * np.uint8(Flag.INVALID)
        sums[block] = unit._with_flags(total[..., : unit.limbs], specials)
    return sums.reshape(*shape, unit.limbs), flags.reshape(shape) if flagged else flags
