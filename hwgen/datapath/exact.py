"""The adder of an exact MAC: adds a product to a fixed-point accumulator wide enough for every product."""

from collections.abc import Sequence
from functools import partial, reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib.wiring import PureInterface

from golden import ExactAccumulator
from hwgen.datapath.arithmetic import named
from hwgen.datapath.product import ProductShape
from hwgen.datapath.rows import SumShape, finite_row
from hwgen.datapath.sums import Sum
from hwgen.netlist.book import chapter


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
