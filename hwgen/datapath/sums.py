"""What the sums of products and a floating-point accumulator have in common: specials, status, the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

import numpy as np
from amaranth.hdl import Const, Module, Value
from amaranth.lib.wiring import PureInterface

from hwgen.datapath.arithmetic import named
from hwgen.datapath.ports import flag_word
from hwgen.datapath.product import ProductShape
from hwgen.datapath.scale import Scale
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
        """The flag word, if ``inexact`` includes overflow."""
        return flag_word(self.inexact, self.underflow, self.overflow, self.invalid)

    def flags(self, m: Module, port: Value) -> Value:
        """The flag word, in a chapter of its own."""
        chapter(m, "Flags: inexact, underflow, overflow, invalid", port)
        inexact = named(m, "inexact", self.inexact | self.overflow)
        return flag_word(inexact, self.underflow, self.overflow, named(m, "invalid", self.invalid))


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
