"""What the sums with an accumulator have in common: its fields, specials, status, the result; and the exact sum."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import or_

import numpy as np
from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib.wiring import PureInterface

from golden import ExactAccumulator, WideFormat
from hwgen.datapath.arithmetic import named
from hwgen.datapath.ports import flag_word
from hwgen.datapath.product import ProductShape, Scale
from hwgen.datapath.rows import SumShape, finite_row
from hwgen.netlist.book import chapter


def _never() -> Value:
    return Const(0, 1)


@dataclass(frozen=True)
class Sum:
    """The accumulator after a sum; its status, see :func:`golden.flags.of_sum`; whether all addends are finite.

    ``inexact``, ``underflow`` and ``invalid`` are computed only where flags are.
    """

    bits: Value
    overflow: Value
    inexact: Value = field(default_factory=_never)
    underflow: Value = field(default_factory=_never)
    invalid: Value = field(default_factory=_never)
    finite: Value = field(default_factory=_never)

    @property
    def word(self) -> Value:
        """The flag word."""
        return flag_word(self.inexact, self.underflow, self.overflow, self.invalid)

    def flags(self, m: Module, port: Value) -> Value:
        """The flag word, in a chapter of its own."""
        chapter(m, "Flags: inexact, underflow, overflow, invalid", port)
        inexact = named(m, "inexact", self.inexact)
        return flag_word(inexact, self.underflow, self.overflow, named(m, "invalid", self.invalid))


@dataclass(frozen=True)
class Accumulator:
    """Fields of the accumulator. Subnormals have the hidden bit 0 and the exponent 1, their field is 0."""

    sign: Value
    field: Value
    exponent: Value
    significand: Value
    is_special: Value
    is_nan: Value
    is_signaling: Value

    @property
    def hidden(self) -> Value:
        """The significand's first bit; 0 if the number is subnormal or zero."""
        return self.significand[-1]


def unpacked(m: Module, fmt: WideFormat, acc_in: Value) -> Accumulator:
    """Split an accumulator into its fields, in a chapter of its own."""
    subnormals, k = fmt.has_subnormals, fmt.fraction_bits
    field_name = "acc_exponent" if subnormals else "acc_field"
    widths = f"{field_name} {fmt.exponent_bits} bits, acc_significand {k + 1} bits"
    chapter(m, f"Accumulator: {fmt.name}; {widths}")
    fraction, field = named(m, "acc_fraction", acc_in[:k]), named(m, "acc_field", acc_in[k:-1])
    hidden = named(m, "acc_hidden", field.any() if subnormals else field.any() | fraction.any())
    exponent = named(m, "acc_exponent", Cat(field[0] | ~hidden, field[1:]) if subnormals else field)
    is_special = named(m, "acc_special", field.all() if subnormals else field.all() & fraction.all())
    is_nan = named(m, "acc_nan", is_special & fraction.any() if subnormals else is_special)
    significand = named(m, "acc_significand", Cat(fraction, hidden))
    sign = named(m, "acc_sign", acc_in[-1])
    return Accumulator(sign, field, exponent, significand, is_special, is_nan, is_nan & ~fraction[-1])


@dataclass(frozen=True)
class Specials:
    """Whether a sum is NaN, infinite, infinite and negative (or NaN); what replaces the number; and invalidity.

    ``force`` leaves out an infinite accumulator that passes as a number would.
    """

    is_nan: Value
    is_inf: Value
    minus_inf: Value
    force: Value
    invalid: Value

    @property
    def finite(self) -> Value:
        """Whether the sum is neither."""
        return ~(self.is_nan | self.is_inf)


def specials(
    m: Module,
    products: Sequence[PureInterface],
    shape: ProductShape,
    acc: Value,
    fraction_bits: int,
    scale: Scale,
    *,
    acc_passes: bool,
) -> Specials:
    """The specials of a sum with an IEEE 754 accumulator and a scale that is not 0.

    ``acc_passes`` says that the datapath passes an infinite accumulator unchanged if all products are finite.
    """
    k = fraction_bits
    special, some_fraction = named(m, "acc_special", acc[k:-1].all()), named(m, "acc_some_fraction", acc[:k].any())
    acc_nan, acc_inf = named(m, "acc_is_nan", special & some_fraction), special & ~some_fraction
    any_nan = reduce(or_, (product.is_nan for product in products), acc_nan | scale.is_nan)
    is_nan, is_inf, minus_inf, invalid = any_nan, acc_inf, Const(0, 1), acc_nan & ~acc[k - 1]
    force = is_nan
    if not acc_passes or any(np.isinf(operand.fmt.values).any() for operand in (shape.a, shape.b)):
        infinities = [(acc_inf, acc[-1]), *((product.is_inf & ~product.is_nan, product.sign) for product in products)]
        plus_inf = named(m, "plus_inf", reduce(or_, (item & ~sign for item, sign in infinities)))
        minus_inf = named(m, "minus_inf", reduce(or_, (item & sign for item, sign in infinities)))
        is_nan, is_inf = any_nan | (plus_inf & minus_inf), plus_inf | minus_inf
        force, invalid = is_nan | is_inf, invalid | (plus_inf & minus_inf & ~any_nan)
    if "is_invalid" in products[0].signature.members:
        invalid = reduce(or_, (product.is_invalid & ~scale.is_nan for product in products), invalid)
    return Specials(named(m, "is_nan", is_nan), is_inf, minus_inf, named(m, "force_special", force), invalid)


def add_exact(
    m: Module, accumulator: ExactAccumulator, layout: ProductShape, product: PureInterface, acc_in: Value
) -> Sum:
    """``acc_in + product`` in fixed point.

    The accumulator is {nan, neg_inf, pos_inf, value}. Its three class bits are sticky, and a product that is not finite
    leaves the value unchanged. A sum that does not fit wraps and overflows. It is invalid after 0 * infinity, or after
    infinities of both signs without a NaN.
    """
    width, shape = accumulator.value_width, SumShape(layout, 1)
    row = finite_row(m, "product", product, shape)
    chapter(m, f"Add: total {width} bits in two's complement")
    value, negative = named(m, "value", acc_in[:width]), named(m, "product_is_negative", ~row[-1])
    addend = named(m, "addend", Cat(row[:-1], negative.replicate(width - len(row) + 1)))
    total = named(m, "total", (value + addend)[:width])
    is_inf = named(m, "product_is_inf", product.is_inf & ~product.is_nan)
    specials, opposite = sticky_specials(m, acc_in[width:], [(product.sign, is_inf, product.is_nan)])
    no_room = ~(value[-1] ^ negative) & (total[-1] ^ value[-1])
    invalid = product.is_invalid if "is_invalid" in product.signature.members else Const(0, 1)
    return Sum(Cat(total, specials), no_room, invalid=invalid | opposite)


def sticky_specials(m: Module, before: Value, addends: Sequence[tuple[Value, Value, Value]]) -> tuple[Value, Value]:
    """{nan, neg_inf, pos_inf} after some addends, and whether it is NaN only because of infinities of both signs.

    ``addends`` are the sign of each, whether it is infinite, and whether it is NaN.
    """
    chapter(m, "Specials: NaN and infinities are sticky")
    pos_inf, neg_inf, nan = map(partial(named, m), ("pos_inf", "neg_inf", "nan"), before)
    pos_inf = named(m, "pos_inf_out", reduce(or_, (is_inf & ~sign for sign, is_inf, _ in addends), pos_inf))
    neg_inf = named(m, "neg_inf_out", reduce(or_, (is_inf & sign for sign, is_inf, _ in addends), neg_inf))
    is_nan = reduce(or_, (is_nan for _, _, is_nan in addends), nan)
    nan = named(m, "nan_out", is_nan | (pos_inf & neg_inf))
    return Cat(pos_inf, neg_inf, nan), pos_inf & neg_inf & ~is_nan
