"""The largest magnitude of numbers, and the scale of a block that it gives (specification, section 11)."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arithmetic.blocks import POLICIES, default_policy, element_options, scale_exponents
from golden.arithmetic.exact import operand
from golden.bits import as_axes
from golden.catalog import get
from golden.formats import Format
from golden.options import check_source
from golden.refusal import check_choice

SPECIALS = PROPAGATE, IGNORE = "propagate", "ignore"
"""What a NaN or an infinity among numbers does to their largest magnitude.

``propagate``
    A NaN makes it NaN, as in :func:`numpy.max` and :func:`torch.amax`; an infinity is larger than all numbers.
``ignore``
    It counts as the smallest magnitude, which is zero unless the format has none. C's ``fmaxf``, and the kernels of
    libraries that use it, ignore NaNs.
"""


class Magnitudes:
    """The magnitudes of a format's codes in order: ranks are integers that are ordered as the magnitudes are.

    Infinity has a higher rank than all numbers, NaN the highest. Ranks begin at 0, the smallest magnitude.
    """

    def __init__(self, fmt: Format):
        self.fmt = fmt

    @cached_property
    def _levels(self) -> NDArray[np.float64]:
        values = np.abs(self.fmt.values)
        return np.unique(values[~np.isnan(values)])

    @cached_property
    def nan(self) -> int:
        """The rank of NaN, whether the format has one or not."""
        if not self.fmt.has_tables:
            assert self.fmt.canonical_nan is not None
            return self.fmt.canonical_nan
        return len(self._levels)

    @cached_property
    def infinity(self) -> int:
        """The rank of infinity, or of NaN if there is no infinity."""
        if not self.fmt.has_tables:
            assert self.fmt.infinity is not None
            return self.fmt.infinity
        return self.nan - bool(np.isinf(self._levels[-1]))

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The rank of every code."""
        values = np.abs(self.fmt.values)
        return np.where(np.isnan(values), self.nan, np.searchsorted(self._levels, values))

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The code of every rank: the positive one, if there is one."""
        every, found = np.arange(1 << self.fmt.width), np.zeros(self.nan + 1, np.int64)
        order = np.argsort(np.signbit(self.fmt.values), kind="stable")[::-1]
        found[self.ranks[order]] = every[order]
        found[self.nan] = self.fmt.canonical_nan or 0
        return found

    def ranks_of(self, bits: NDArray[Any]) -> NDArray[np.int64]:
        """The ranks of checked codes."""
        if self.fmt.has_tables:
            return self.ranks.take(bits)
        magnitudes = bits.astype(np.int64) & (self.fmt.sign_bit - 1)
        return np.where(magnitudes > self.infinity, self.nan, magnitudes)

    def codes_of(self, ranks: NDArray[np.int64]) -> NDArray[Any]:
        """The codes of ranks."""
        codes = self.codes.take(ranks) if self.fmt.has_tables else ranks
        return np.asarray(codes, self.fmt.code_dtype)

    def counted(self, bits: NDArray[Any], nan: str, infinity: str) -> NDArray[np.int64]:
        """The ranks of checked codes, 0 for those that the policies ignore."""
        ranks = self.ranks_of(bits)
        ignored = (ranks == self.nan) & (nan == IGNORE)
        if self.infinity < self.nan:
            ignored |= (ranks == self.infinity) & (infinity == IGNORE)
        return np.where(ignored, 0, ranks)


@lru_cache(64)
def magnitudes(fmt: Format) -> Magnitudes:
    """The magnitudes of a format."""
    return Magnitudes(fmt)


def amax(
    bits: ArrayLike,
    source: str | Format = "binary32",
    axis: int | tuple[int, ...] | None = None,
    *,
    nan: str = PROPAGATE,
    infinity: str = PROPAGATE,
) -> NDArray[Any]:
    """The largest magnitude of numbers, as a code of their format.

    Parameters
    ----------
    bits : unsigned integers
        Bits of a wide format, for example ``x.view(np.uint32)``, or codes.
    source : str or Format
        Their format: ``binary32``, ``binary16``, ``bfloat16``, ``dlfloat16``, or one format of codes.
    axis : int or integers, optional
        The axes along which the largest is taken, as in :func:`numpy.max`: all by default.
    nan, infinity : str
        What a NaN or an infinity does, one of :data:`golden.arithmetic.amax.SPECIALS`.

    Returns
    -------
    uint8 (up to 8 bits), uint16 or uint32 array
        The code of the magnitude, positive unless only a negative number has it, as -128 of ``int8``; NaN is the
        canonical one. Of no numbers, or ignored ones alone, it is the smallest magnitude.
    """
    fmt = check_source(source)
    policies = check_choice("nan", nan, SPECIALS), check_choice("infinity", infinity, SPECIALS)
    order, codes = magnitudes(fmt), fmt.as_codes(bits, "bits")
    ranks = order.counted(codes, *policies)
    return order.codes_of(np.asarray(ranks.max(axis=as_axes(axis, codes.ndim), initial=0)))


def amax_scale(
    largest: ArrayLike,
    element_format: str | Format,
    source: str | Format = "binary32",
    policy: str | None = None,
    center: int | None = None,
) -> NDArray[np.uint8]:
    """The scale that a largest magnitude gives, as :func:`golden.quantize_block` chooses it for ``e8m0``.

    Parameters
    ----------
    largest : unsigned integers
        Largest magnitudes as :func:`golden.amax` returns them: codes of ``source``.
    element_format : str or Format
        The format of the elements, which are to be divided by the scale.
    source : str or Format
    policy, center
        As in :func:`golden.quantize_block`.

    Returns
    -------
    uint8 array
        Codes of ``e8m0``: code s is the scale 2**(s - 127). It is NaN if the magnitude is not finite.
    """
    elements, fmt, scales = operand("element_format", element_format), check_source(source), get("e8m0")
    element_options("element_format", elements)
    chosen = default_policy(elements) if policy is None else check_choice("policy", policy, POLICIES)
    numbers = np.abs(fmt.numbers(fmt.as_codes(largest, "largest")))
    is_special = ~np.isfinite(numbers)
    assert scales.canonical_nan is not None
    exponents = scale_exponents(np.where(is_special, 0.0, numbers), elements, chosen, center)
    return np.where(is_special, scales.canonical_nan, exponents + 127).astype(np.uint8)
