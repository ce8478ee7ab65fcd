"""The difference of the exponents of product and accumulator, and the exponent of a result before it is rounded."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hwgen.datapath.accumulator import Accumulator
from hwgen.datapath.arithmetic import addend, extended, named, plus, range_shape, reaches
from hwgen.datapath.fast.prefix import total, two_rows
from hwgen.datapath.fast.product import FastProduct
from hwgen.datapath.fast.shape import TwoPathShape
from hwgen.datapath.frame import AdderShape
from hwgen.netlist.book import chapter


@dataclass(frozen=True)
class Difference:
    """How far the operands are apart.

    ``places`` is the product's exponent minus the accumulator's, minus 1. ``exponent`` is that of the operand that
    leads: if ``product_leads``, the product, whose exponent is larger; otherwise the accumulator. ``too_large`` says
    that no accumulator makes the sum finite.
    """

    places: Value
    product_leads: Value
    exponent: Value
    too_large: Value


def difference(m: Module, shape: TwoPathShape, product: FastProduct, acc: Accumulator) -> Difference:
    """Add the exponents.

    The accumulator's exponent e enters as its complement, which is worth -e - 1: nothing is negated, and the 1 that is
    too much is a place that the accumulator moves right by wires. Its exponent is its field, plus 1 without a hidden
    bit: the hidden bit is the last carry-in.
    """
    width, has_subnormals = shape.difference_bits, shape.accumulator.has_subnormals
    chapter(m, f"Exponent difference: product minus accumulator minus 1; places {width} bits")
    offset = AdderShape(shape.accumulator, shape.product).offset
    constant = offset - int(has_subnormals)
    carry = acc.hidden if has_subnormals else Const(constant & 1, 1)
    field = acc.field
    not_acc = Cat(~field, Const(1, 1).replicate(max(width - len(field), 0)))[:width]
    not_acc = named(m, "not_acc_field", not_acc)
    constant -= 0 if has_subnormals else constant & 1
    minus_acc = plus(m, "offset_minus_acc_field", not_acc, constant % (1 << width))
    minus_acc = named(m, "offset_minus_acc_field", minus_acc, note=f"not_acc_field {addend(constant)}")
    rows = [*(extended(exponent, width) for exponent in product.exponents), minus_acc]
    first, second = two_rows(m, "places", rows, [product.at_least_two])
    places = total(m, "places", first, second, carry)
    product_leads = named(m, "product_leads", ~places[-1] & ~product.is_zero)

    shape_of_product = range_shape(*shape.product_exponents)
    width, one = shape_of_product.width, Const(1, 1)
    exponent, *others = (extended(term, width) for term in product.exponents)
    for term in others:
        exponent = (Cat(one, exponent) + Cat(one, term))[1 : width + 1]  # the carry-in is free
    offset = (offset - len(others)) % (1 << width)
    if offset or not isinstance(product.at_least_two, Const):
        exponent = named(m, "product_exponent_before_offset", exponent)
        exponent = plus(m, "product_exponent", exponent, offset, product.at_least_two)
    exponent = named(m, "product_exponent", exponent, shape_of_product)
    limit, bits = shape.largest_exponent, shape.largest_exponent.bit_length()
    is_large: Value = Const(0, 1)
    if shape.product_exponents[1] > limit:
        is_large = reaches(exponent, limit + 1)
    leading = Mux(product_leads, extended(exponent, bits), extended(acc.exponent, bits))
    leading = named(m, "leading_exponent", leading)
    return Difference(places, product_leads, leading, named(m, "product_too_large", product_leads & is_large))
