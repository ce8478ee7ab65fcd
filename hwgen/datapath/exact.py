"""The adder of an exact MAC: a product, in fixed point, into an accumulator that holds every bit of it."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib.wiring import PureInterface

from golden import ExactAccumulator
from hwgen.datapath.adder import Total
from hwgen.datapath.arithmetic import named
from hwgen.datapath.fixed import Addend, addend
from hwgen.datapath.ports import flag_word
from hwgen.datapath.product import ProductShape
from hwgen.netlist.book import chapter


def add_exact(
    m: Module, accumulator: ExactAccumulator, layout: ProductShape, product: PureInterface, acc_in: Value
) -> Total:
    """``acc_in + product`` in fixed point.

    The state is {nan, neg_inf, pos_inf, value}; its flags are sticky, and products that are not finite leave the value
    alone. A sum that has no room wraps and overflows. It is invalid where 0 * infinity comes in, or where infinities of
    both signs have, and no NaN.
    """
    width = accumulator.value_width
    term = addend(m, "product", product, layout, width, accumulator.lsb_exponent)
    chapter(m, f"Add: {width} bits in two's complement")
    value = named(m, "value", acc_in[:width])
    summand = named(m, "addend", term.magnitude ^ term.sign.replicate(width))
    total = named(m, "total", (value + summand + term.sign)[:width])
    specials, opposite = sticky_specials(m, acc_in[width:], [term])
    no_room = ~(value[-1] ^ summand[-1]) & (total[-1] ^ value[-1])
    flags = flag_word(Const(0, 1), Const(0, 1), no_room, term.is_invalid | opposite)
    return Total(Cat(total, specials), no_room, flags)


def sticky_specials(m: Module, before: Value, addends: Sequence[Addend]) -> tuple[Value, Value]:
    """{nan, neg_inf, pos_inf} after some addends, and whether only infinities of both signs make it NaN."""
    chapter(m, "Specials: NaN and infinities stay once they have come")
    pos_inf, neg_inf, nan = (
        named(m, name, bit) for name, bit in zip(("pos_inf", "neg_inf", "nan"), before, strict=True)
    )
    pos_inf = named(m, "pos_inf_out", reduce(or_, (one.is_inf & ~one.sign for one in addends), pos_inf))
    neg_inf = named(m, "neg_inf_out", reduce(or_, (one.is_inf & one.sign for one in addends), neg_inf))
    is_nan = reduce(or_, (one.is_nan for one in addends), nan)
    nan = named(m, "nan_out", is_nan | (pos_inf & neg_inf))
    return Cat(pos_inf, neg_inf, nan), pos_inf & neg_inf & ~is_nan
