"""Options of sums: what is added to what, checked once, for the reference model and for hardware."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arithmetic.blocks import scales_named
from golden.arithmetic.exact import (
    DEFAULT_TERMS,
    MAX_TERMS,
    ExactAccumulator,
    as_scale,
    check_range,
    check_scale,
    operand,
)
from golden.bits import check_shapes, scale_range
from golden.formats import Format
from golden.options import check_random_bits
from golden.refusal import BadValue, check_choice, check_flag, check_integer
from golden.rows import DEFAULT_RANDOM_BITS, Overflow, Rounding
from golden.wide import ALIGNED, IEEE, NONE, RVBNA, WideFormat, check_accumulator, check_zero, state_format

STOCHASTIC = ("binary16", "bfloat16", "dlfloat16")
"""Accumulators that can round stochastically."""

IEEE_LIKE = ("binary16", "bfloat16", "binary32")
"""Accumulators that have variants: what other people's hardware does where ours does as IEEE 754 has it."""
ROUNDINGS = (Rounding.STOCHASTIC.value, Rounding.TOWARD_ZERO.value)
OVERFLOWS = Overflow.INFINITY.value, Overflow.SATURATE.value
DAZ = ALL, CODES, ACCUMULATOR = "all", "codes", "accumulator"
"""Operands whose subnormals are zeros ("denormals are zeros")."""
FTZ = BEFORE, AFTER = "before_rounding", "after_rounding"
"""When it is found that a result is tiny, and flushed to zero: see IEEE 754-2019, section 7.5."""
VARIANTS = ("accumulator_rounding", "accumulator_overflow", "daz", "ftz")
"""Arguments that choose a variant, unless the first one is ``stochastic``."""


class SumKeywords(TypedDict, total=False):
    """Keywords of :meth:`SumOptions.of` that every sum has."""

    accumulator: str
    terms: int | None
    scale_bits: int
    zero: str
    flags: bool
    accumulator_rounding: str | None
    random_bits: int | None
    accumulator_overflow: str | None
    daz: str | None
    ftz: str | None


@dataclass(frozen=True)
class SumOptions:
    """How products of codes are added to an accumulator. Make it with :meth:`of`, which checks it.

    The fields are named after arguments of :func:`golden.fused_dot`. ``terms`` is None for accumulators that round,
    ``has_flags`` is whether status flags are asked for, and ``block_scale`` is the format of the scales of two blocks.
    ``random_bits`` are the random bits of an accumulator that rounds stochastically, otherwise None; ``truncates`` says
    whether it rounds toward zero. ``unit_lanes`` are the lanes of a unit that may add fewer products, otherwise None.
    ``target`` is the format of the products' sum if there is no accumulator, which is then :data:`golden.wide.NONE`.
    """

    a_format: Format
    b_format: Format
    accumulator: str = "binary16"
    terms: int | None = None
    scale_bits: int = 0
    zero: str = IEEE
    has_flags: bool = False
    block_scale: Format | None = None
    random_bits: int | None = None
    unit_lanes: int | None = None
    target: str | None = None
    truncates: bool = False
    accumulator_overflow: str | None = None
    daz: str | None = None
    ftz: str | None = None

    @classmethod
    def of(
        cls,
        a_format: str | Format,
        b_format: str | Format | None = None,
        accumulator: str = "binary16",
        terms: int | None = None,
        scale_bits: int = 0,
        zero: str = IEEE,
        flags: bool = False,
        *,
        accumulator_rounding: str | None = None,
        random_bits: int | None = None,
        accumulator_overflow: str | None = None,
        daz: str | None = None,
        ftz: str | None = None,
        block_scale: str | Format | None = None,
    ) -> SumOptions:
        """Check options, and apply the defaults of ``b_format``, the format of ``a``, ``terms`` and ``random_bits``."""
        a = operand("a_format", a_format)
        b = a if b_format is None else operand("b_format", b_format)
        accumulator = check_accumulator(accumulator)
        zero = check_zero(zero, accumulator)
        check_scale(a, b, scale_bits)
        terms = check_integer("terms", DEFAULT_TERMS if terms is None else terms, 1, MAX_TERMS)
        terms_of_exact = terms if accumulator == "exact" else None
        plain = cls(a, b, accumulator, terms_of_exact, int(scale_bits), zero, check_flag("flags", flags))
        if random_bits is not None and accumulator_rounding in (None, Rounding.TOWARD_ZERO):
            raise BadValue("random_bits", "needs accumulator_rounding 'stochastic'")
        plain = plain.with_rounding(accumulator_rounding, DEFAULT_RANDOM_BITS if random_bits is None else random_bits)
        plain = plain.with_variant(accumulator_overflow, daz, ftz)
        if block_scale is None:
            return plain
        if scale_bits:
            raise BadValue("block_scale", f"needs 0 scale bits, not {scale_bits}: both multiply all products")
        return plain.in_blocks(block_scale, "block_scale", "block_scale")

    def with_scales(
        self, a_scale: ArrayLike | None, b_scale: ArrayLike | None, scale_format: str | Format
    ) -> SumOptions:
        """The options with the scales of two blocks, if these are given; see :func:`golden.fused_dot`."""
        if a_scale is None and b_scale is None:
            return self
        for argument, codes in (("a_scale", a_scale), ("b_scale", b_scale)):
            if codes is None:
                raise BadValue(argument, "must be given with the scale of the other operand")
        if self.scale_bits:
            raise BadValue("scale_bits", "must be 0 with the scales of blocks")
        return self.in_blocks(scale_format, "scale_format", of_exact="a_scale")

    def in_blocks(self, scales: str | Format, argument: str, of_exact: str) -> SumOptions:
        """Options for blocks with scales; refusals name ``argument``, or with ``exact`` accumulators ``of_exact``."""
        fmt = scales_named(scales, argument)
        if self.accumulator == "exact":
            raise BadValue(of_exact, "needs an accumulator that rounds, not 'exact'")
        if self.accumulator in (RVBNA, *ALIGNED) and fmt.name != "e8m0":
            raise BadValue(argument, f"must be e8m0 with accumulator {self.accumulator!r}, not {fmt.name!r}")
        check_range(argument, [self.a_format, self.b_format, fmt, fmt])
        return replace(self, block_scale=fmt)

    def with_rounding(self, rounding: str | None, random_bits: int) -> SumOptions:
        """The options with a rounding of the accumulator, one of :data:`ROUNDINGS` or None; see :func:`golden.mac`."""
        if rounding is None:
            return self
        if check_choice("accumulator_rounding", rounding, ROUNDINGS) == Rounding.TOWARD_ZERO:
            return replace(self, truncates=True)._checked_variant()
        if self.accumulator not in STOCHASTIC:
            allowed = f"{', '.join(STOCHASTIC[:-1])} or {STOCHASTIC[-1]}"
            raise BadValue("accumulator_rounding", f"needs an accumulator in {allowed}, not {self.accumulator!r}")
        return replace(self, random_bits=check_random_bits(random_bits))

    def with_variant(self, overflow: str | None, daz: str | None, ftz: str | None) -> SumOptions:
        """The options with an overflow and with flushed subnormals, or as they are for None; see :func:`golden.mac`."""
        chosen = {"accumulator_overflow": overflow, "daz": daz, "ftz": ftz}
        for (name, word), allowed in zip(chosen.items(), (OVERFLOWS, DAZ, FTZ), strict=True):
            if word is not None:
                check_choice(name, word, allowed)
        return replace(self, accumulator_overflow=overflow, daz=daz, ftz=ftz)._checked_variant()

    def _checked_variant(self) -> SumOptions:
        """The options; a variant is refused without an accumulator that has some, and with what only IEEE's sums have.

        So are flushed codes of a pair of formats, whose subnormals are not those of one range.
        """
        for argument in self.variants:
            problem, word = "", repr(getattr(self, argument))
            if self.accumulator not in IEEE_LIKE:
                problem = f"needs an accumulator in binary16, bfloat16 or binary32, not {self.accumulator!r}"
            elif self.has_flags or self.random_bits is not None:
                problem = f"cannot be combined with {'flags' if self.has_flags else 'stochastic rounding'}"
            elif (
                argument == "daz" and self.daz != ACCUMULATOR and len(self.a_format.members + self.b_format.members) > 2
            ):
                problem = "needs operands of one format each, not a pair"
            if problem:
                raise BadValue(argument, f"{word} {problem}")
        return self

    @property
    def variants(self) -> tuple[str, ...]:
        """The arguments that make sums other than those of our hardware."""
        return tuple(name for name in VARIANTS[not self.truncates :] if getattr(self, name) is not None)

    def alone(self) -> SumOptions:
        """Options for the products' sum alone, rounded as the accumulator would be."""
        return replace(self, accumulator=NONE, target=self.accumulator)

    def with_room(self, products: int) -> SumOptions:
        """Options whose ``exact`` accumulator has room for a number of products."""
        if self.accumulator != "exact":
            return self
        return replace(self, terms=check_integer("terms", max(products, 1), 1, MAX_TERMS))

    @property
    def keywords(self) -> SumKeywords:
        """The keywords of :meth:`of`, but for formats and the scales of blocks."""
        return {
            "accumulator": self.accumulator,
            "terms": self.terms,
            "scale_bits": self.scale_bits,
            "zero": self.zero,
            "flags": self.has_flags,
            "accumulator_rounding": self.accumulator_rounding,
            "random_bits": self.random_bits,
            "accumulator_overflow": self.accumulator_overflow,
            "daz": self.daz,
            "ftz": self.ftz,
        }

    @property
    def accumulator_rounding(self) -> str | None:
        """``stochastic``, ``toward_zero``, or None: to the nearest, or as the accumulator has it."""
        if self.truncates:
            return Rounding.TOWARD_ZERO.value
        return None if self.random_bits is None else Rounding.STOCHASTIC.value

    @property
    def saturates(self) -> bool:
        """Whether finite sums that overflow become the largest number: IEEE 754's toward zero do."""
        return self.accumulator_overflow == Overflow.SATURATE or (self.truncates and self.accumulator_overflow is None)

    @property
    def flush_below(self) -> float:
        """Magnitudes of sums below this are flushed to zero.

        Rounded as if the exponent range were unbounded, numbers from a quarter of the last place below the smallest
        normal number on are this one, as the tie is rounded to even.
        """
        if self.ftz is None:
            return 0.0
        quarter = 0.0 if self.ftz == BEFORE or self.truncates else 2.0 ** (self.state.ulp_exponent - 2)
        return self.state.smallest_normal - quarter

    def flushed(self, left: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Codes of both operands; with ``daz`` those of subnormals are replaced by zeros."""
        if self.daz not in (ALL, CODES):
            return left, right
        return _without_subnormals(self.a_format).take(left), _without_subnormals(self.b_format).take(right)

    def flushed_state(self, bits: NDArray[Any]) -> NDArray[Any]:
        """Bits of accumulators; with ``daz`` those of subnormals are replaced by zeros."""
        if self.daz not in (ALL, ACCUMULATOR):
            return bits
        return np.where(bits & self.state.infinity == 0, bits & self.state.sign_bit, bits).astype(bits.dtype)

    @cached_property
    def exact(self) -> ExactAccumulator | None:
        """The ``exact`` accumulator; None for other accumulators."""
        if self.terms is None:
            return None
        return ExactAccumulator(self.a_format, self.b_format, self.terms, self.scale_bits)

    @property
    def state(self) -> WideFormat:
        """The format of the bits of an accumulator other than ``exact``, or of the products' sum alone."""
        return state_format(self.target or self.accumulator)

    # -- what products are multiplied by

    @property
    def factor_exponents(self) -> tuple[int, int]:
        """All factors are multiples of 2 to the first exponent, and at most 2 to the second."""
        if self.block_scale is None:
            return scale_range(self.scale_bits)
        return 2 * self.block_scale.ulp_exponent, 2 * self.block_scale.exponent_range[1] + 2

    @property
    def spare_bits(self) -> int:
        """Bits of the significand of factors; 0 if they are powers of two."""
        return 0 if self.block_scale is None or self.block_scale.precision == 1 else 2 * self.block_scale.precision

    @property
    def lsb_exponent(self) -> int:
        """Largest ``e`` such that products, and accumulators that round, are integer multiples of ``2**e``."""
        products = self.a_format.ulp_exponent + self.b_format.ulp_exponent + self.factor_exponents[0]
        return products if self.exact is not None else min(products, self.state.ulp_exponent)

    def factors(
        self, scale: ArrayLike | None = None, a_scale: ArrayLike | None = None, b_scale: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Check scales, see :func:`golden.fused_dot`; what they multiply the products by, exact."""
        powers: NDArray[np.float64] = np.ldexp(1.0, as_scale(self.a_format, self.b_format, scale, self.scale_bits))
        fmt = self.block_scale
        if fmt is None:
            return powers
        assert a_scale is not None
        assert b_scale is not None
        a, b = fmt.as_codes(a_scale, "a_scale"), fmt.as_codes(b_scale, "b_scale")
        check_shapes(a_scale=a.shape, b_scale=b.shape)
        return fmt.values.take(a) * fmt.values.take(b)


@cache
def _without_subnormals(fmt: Format) -> NDArray[Any]:
    """Each code, or if its number is below the smallest normal one, the zero of its sign; or the only zero."""
    codes = np.arange(fmt.values.size)
    zeros = codes & (fmt.sign_bit if fmt.has_negative_zero else 0)
    return np.where(np.abs(fmt.values) < fmt.smallest_normal, zeros, codes).astype(fmt.code_dtype)
