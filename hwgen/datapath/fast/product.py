"""What a two-path adder begins with: a product that is normalized early, and its distance from the accumulator.

The product's exponent is still a sum of several numbers, to which the accumulator's is added as one more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import PureInterface

from golden import Biased, WideFormat
from hwgen.datapath.adder_shape import TwoPathShape
from hwgen.datapath.arithmetic import addend, any_of, extended, named, plus, range_shape, reaches
from hwgen.datapath.compress import multiplied
from hwgen.datapath.fast.prefix import total_with, two_rows
from hwgen.datapath.operand import Operand, OperandShape
from hwgen.datapath.product import NumberShape, ProductShape
from hwgen.datapath.sums import Accumulator
from hwgen.netlist.book import chapter

MOST_FRACTION_BITS = 3
"""Longest fractions whose products are tables; products of longer ones are sums of partial products."""


@dataclass(frozen=True)
class FastProduct:
    """A product whose exponent, with its bias, is the sum of ``exponents`` plus ``at_least_two``.

    ``significand`` is in [1, 2): ``at_least_two`` says whether that of the factors' significands was in [2, 4).
    """

    exponents: Sequence[Value]
    at_least_two: Value
    significand: Value
    sign: Value
    is_zero: Value
    is_inf: Value
    is_nan: Value
    is_invalid: Value


def fast_product_shape(accumulator: WideFormat, plain: ProductShape) -> ProductShape:
    """The shape of a product whose operands have biases that leave no constant in the exponents' difference.

    The first operand's field takes the multiple of half its range, which changes one of its bits; what remains is added
    to the accumulator's exponent. Fields with a table take everything.
    """
    a, b = (OperandShape(operand.fmt) for operand in (plain.a, plain.b))
    missing = accumulator.bias - int(accumulator.has_subnormals) - a.bias - b.bias
    if b.has_signed_fields:
        shares = (missing - missing // 2, missing // 2) if a.has_signed_fields else (0, missing)
    elif a.has_signed_fields:
        shares = missing, 0
    else:
        fields = [row.exponent.bits for row in a.fmt.rows if isinstance(row.exponent, Biased)]
        half = 1 << max(max(fields, default=0) - 1, 0)
        shares = (missing + half // 2) // half * half, 0
    a, b = (
        OperandShape(operand.fmt, chosen_bias=operand.bias + share)
        for operand, share in zip((a, b), shares, strict=True)
    )
    return ProductShape(a, b, scale_bits=plain.scale_bits)


def multiply(
    m: Module, shape: ProductShape, a: Operand, b: Operand, scale: Value | None, *, flags: bool
) -> FastProduct:
    """The product of two decoded operands, times 2 to the power of ``scale``."""
    factors = f"{shape.a.significand_bits} x {shape.b.significand_bits} = {shape.significand_bits} bits"
    chapter(m, f"Product: product_significand {factors}, normalized; the exponents are not added yet")
    fractions = named(m, "a_fraction", a.significand[:-1]), named(m, "b_fraction", b.significand[:-1])
    if shape.integer_bits == 1:
        at_least_two, significand = Const(0, 1), Cat(*fractions, Const(1, 1))
    elif max(map(len, fractions)) <= MOST_FRACTION_BITS:
        at_least_two, significand = _tabled(m, *fractions)
    else:
        product = named(m, "unnormalized_product", multiplied(m, a.significand, b.significand))
        at_least_two, significand = normalized_product(m, product)
    either_zero = named(m, "either_zero", a.is_zero | b.is_zero)
    either_inf = named(m, "either_inf", a.is_inf | b.is_inf)
    invalid = (a.is_zero & ~a.is_nan & b.is_inf) | (b.is_zero & ~b.is_nan & a.is_inf)
    return FastProduct(
        [a.exponent, b.exponent, *([] if scale is None else [scale.as_signed()])],
        at_least_two,
        named(m, "product_significand", significand),
        named(m, "product_sign", a.sign ^ b.sign),
        either_zero,
        either_inf,
        named(m, "product_is_nan", a.is_nan | b.is_nan | (either_zero & either_inf)),
        named(m, "product_is_invalid", invalid) if flags else Const(0, 1),
    )


def taken(m: Module, shape: NumberShape, product: PureInterface, *, flags: bool) -> FastProduct:
    """A number with the signature of a product, :func:`hwgen.datapath.product.product_signature`."""
    chapter(m, f"Product: product_significand {shape.significand_bits} bits, normalized")
    at_least_two, significand = Const(0, 1), product.significand
    if shape.integer_bits == 2:
        at_least_two, significand = normalized_product(m, significand)
    significand = named(m, "product_significand", significand)
    classes = product.sign, product.is_zero, product.is_inf, product.is_nan
    invalid = product.is_invalid if flags else Const(0, 1)
    return FastProduct([product.exponent], at_least_two, significand, *classes, invalid)


def normalized_product(m: Module, product: Value) -> tuple[Value, Value]:
    """Whether a product of significands is at least 2, and its significand in [1, 2)."""
    at_least_two = named(m, "at_least_two", product[-1])
    return at_least_two, Mux(at_least_two, product, product << 1)[: len(product)]


def _tabled(m: Module, a: Value, b: Value) -> tuple[Value, Value]:
    """Whether ``1.a * 1.b`` is at least 2, and its significand in [1, 2), from tables.

    ``at_least_two`` compares the fractions, because it must be there first. ``multiple_N`` is the normalized product of
    1.a and the N-th significand of b.
    """
    ones_a, ones_b = 1 << len(a), 1 << len(b)
    limit = 2 * ones_a * ones_b
    steps = [(first, -(-limit // (ones_a + first)) - ones_b) for first in range(ones_a)]  # the least b for each a
    corners = [
        (first, second)
        for (first, second), (_, before) in zip(steps[1:], steps, strict=False)
        if second < min(before, ones_b)
    ]
    at_least_two = any_of([reaches(a, first) & reaches(b, second) for first, second in corners])
    at_least_two = named(m, "at_least_two", at_least_two)
    bits = len(a) + len(b) + 2
    is_a = [named(m, f"a_is_{first}", a == first) for first in range(ones_a)]
    multiples = []
    for second in range(ones_b):
        products = [(ones_a + first) * (ones_b + second) for first in range(ones_a)]
        products = [product if product >= limit else product << 1 for product in products]
        columns = [[first for first, product in enumerate(products) if product >> place & 1] for place in range(bits)]
        multiple = named(m, f"multiple_{second}", Cat(_one_of(a, is_a, column) for column in columns))
        chosen = multiple & named(m, f"b_is_{second}", b == second).replicate(bits)
        multiples.append(named(m, f"multiple_{second}_if_chosen", chosen))
    places = [any_of([row[place] for row in multiples]) for place in range(bits - 1)]
    names = [named(m, f"product_significand_{place}", bit) for place, bit in enumerate(places)]
    return at_least_two, Cat(*names, Const(1, 1))


def _one_of(value: Value, hits: Sequence[Value], chosen: Iterable[int]) -> Value:
    """Whether the value is one of the ``chosen``; a single bit where that is enough."""
    members = set(chosen)
    if len(members) == len(hits):
        return Const(1, 1)
    for place, bit in enumerate(value):
        if members == {code for code in range(len(hits)) if code >> place & 1}:
            return bit
    return any_of([hits[code] for code in sorted(members)])


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
    offset = shape.offset
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
    places = total_with(m, "places", first, second, carry)
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
    (low, high), limit = shape.product_exponents, shape.highest_exponent
    bits = limit.bit_length()
    is_large: Value = Const(0, 1)
    if high > limit:  # a product that leads is not negative, and nothing else reads the sign of a scaled one
        is_large = reaches(exponent[:-1] if low < 0 and len(others) > 1 else exponent, limit + 1)
    leading = Mux(product_leads, extended(exponent, bits), extended(acc.exponent, bits))
    leading = named(m, "leading_exponent", leading)
    return Difference(places, product_leads, leading, named(m, "product_too_large", product_leads & is_large))
