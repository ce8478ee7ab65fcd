"""Bulk normalization, the rule of RISC-V: products are aligned with their largest exponent, then the accumulator.

Wherever bits are lost, the last one that is kept becomes 1: numbers are rounded to odd (specification, section 10.1;
:mod:`golden.arithmetic.bulk`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from amaranth.hdl import Cat, Const, Module, Mux, Value

from golden import WideFormat
from golden.wide import bulk_bits
from hwgen.datapath.adder import FloatAdder
from hwgen.datapath.aligned import AlignedShape, aligned_rows, magnitude_of, sum_of_rows
from hwgen.datapath.arithmetic import any_of, named, range_shape, reaches
from hwgen.datapath.floated import Floated, added
from hwgen.datapath.multiplier import Lane
from hwgen.datapath.normalize import normalized
from hwgen.datapath.product import NumberShape, ProductShape, Scale
from hwgen.datapath.sums import Sum
from hwgen.netlist.book import chapter


@dataclass(frozen=True)
class BulkShape(AlignedShape):
    """Widths of bulk-normalized products, which are aligned without an accumulator."""

    jams = True

    @classmethod
    def of(cls, product: ProductShape, lanes: int, scale: Scale, fabric: str) -> "BulkShape":
        """The shape for a number of lanes and a scale."""
        return cls(product, lanes, bulk_bits(lanes), scale.exponents, fabric)

    @property
    def level_bits(self) -> int:
        """Bits of the largest level."""
        return self.levels[1].bit_length()

    @property
    def sum_bits(self) -> int:
        """Bits of the sum's magnitude."""
        return (self.lanes * ((1 << self.addend_bits) - 1)).bit_length()


@dataclass(frozen=True)
class _Result(NumberShape):
    """Widths of the sum of all products, rounded to odd in the accumulator's format, but with a leading 1."""

    bulk: BulkShape

    integer_bits = 1

    @property
    def target(self) -> WideFormat:
        """The accumulator's format."""
        return self.bulk.target

    @property
    def significand_bits(self) -> int:
        """Bits of a normal number's significand."""
        return self.target.precision

    @property
    def bias(self) -> int:
        """Exponents are levels of first bits."""
        return self.bulk.bias + self.bulk.exponent_offset

    @property
    def unlimited(self) -> tuple[int, int]:
        """Smallest and largest exponent of a sum before it is rounded, scale included."""
        (first, last), (low, high), bits = self.bulk.levels, self.bulk.scale_exponents, self.bulk.fraction_bits
        return first + low - bits, last + high + self.bulk.sum_bits - 1 - bits

    @property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent: that of a subnormal number is the place of its first 1."""
        (low, high), (_, top) = self.unlimited, self.target.exponent_range
        return max(low, self.target.ulp_exponent + self.bias), min(high, top + self.bias)

    @property
    def lsb_exponent(self) -> int:
        """Every sum is a multiple of 2 to this power."""
        return max(self.unlimited[0] - self.bias - self.target.fraction_bits, self.target.ulp_exponent)


def bulk_sum(m: Module, lanes: Sequence[Lane], shape: BulkShape, acc: Value, scale: Scale, *, flags: bool) -> Sum:
    """Align and add the products, round their sum to odd, and add it to the accumulator, rounded to odd again."""
    products, result = [lane.product for lane in lanes], _Result(shape)
    chapter(m, f"Largest exponent: {shape.level_bits} bits, of the products that are not zero")
    rows, level = aligned_rows(m, lanes, shape)
    width = shape.sum_bits + 1
    chapter(m, f"Sum: {shape.lanes} products; total {width} bits; its sign and magnitude")
    total = named(m, "total", sum_of_rows(m, rows, Const(0, 1), width, shape.addend_bits, shape.fabric))
    negative = named(m, "total_negative", total[-1])
    magnitude = magnitude_of(m, total[:-1], negative, Const(0, 1))
    widths = f"{len(magnitude)} bits, shifted left to the first 1, rounded to odd, {result.significand_bits} bits"
    chapter(m, f"Normalize: {widths}")
    value, places = normalized(m, magnitude)
    first = shape.sum_bits - 1 - shape.fraction_bits
    exponent = level + first - places + scale.exponent
    number = replace(_to_odd(m, value, exponent, result), negative=negative)
    adder = FloatAdder(shape.target, result, flags=flags, to_odd=True)
    total = added(m, products, number, adder, acc, scale, is_result=True)
    finite = ~(any_of([item.is_inf | item.is_nan for item in products]) | scale.is_nan)
    past = named(m, "products_overflow", number.is_inf & finite)
    return replace(total, overflow=total.overflow | past, inexact=Const(0, 1), underflow=Const(0, 1))


def _to_odd(m: Module, value: Value, exponent: Value, shape: _Result) -> Floated:
    """A number with a leading 1, or 0, rounded to odd in the target's format."""
    target, bits, (low, high) = shape.target, shape.significand_bits, shape.unlimited
    is_zero = named(m, "sum_is_zero", ~value[-1])
    value = Cat(Const(0, max(bits - len(value), 0)), value)
    kept, lost = value[-bits:], named(m, "below_normal", value[:-bits].any())
    smallest, largest = 1 - target.bias + shape.bias, shape.exponents[1]
    if low >= smallest:
        kept = Cat(kept[0] | lost, kept[1:])
    else:
        chapter(m, f"Subnormal sums: bits below 2^{target.ulp_exponent} are lost")
        exponent = named(m, "exponent_of_first_bit", exponent, range_shape(low, high))
        cuts = Cat(~reaches(exponent, smallest - place) for place in range(bits - 1))
        cuts = named(m, "cuts", cuts)
        lost = named(m, "below_subnormal", lost | (kept & cuts).any())
        last = named(m, "last_place", Cat(Const(1, 1), cuts) & ~Cat(cuts, Const(0, 1)))
        kept = (kept & ~Cat(cuts, Const(0, 1))) | (last & lost.replicate(bits))
        tiny = named(m, "is_below_all", ~reaches(exponent, smallest - (bits - 1)))
        exponent = Mux(tiny, smallest - (bits - 1), exponent)
    kept = named(m, "sum_significand", kept & (~is_zero).replicate(bits))
    past: Value = Const(0, 1)
    if high > largest:
        past = named(m, "sum_past_largest", reaches(exponent, largest + 1) & ~is_zero)
    exponent = named(m, "sum_exponent", exponent, shape.exponent_shape)
    return Floated(shape, kept, exponent, is_zero, Const(0, 1), past)
