"""The adder of an exact MAC: a fixed-point accumulator that no product leaves a bit of outside."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import ExactAccumulator
from hwgen.datapath.fixed import aligned
from hwgen.datapath.flags import flag_port, word
from hwgen.datapath.multiplier import ProductShape, invalid_port


class ExactAdder(wiring.Component):
    """``acc_out = acc_in + product`` in fixed point; combinational.

    Parameters
    ----------
    accumulator : golden.ExactAccumulator
        Its widths.
    product : ProductShape
    overflow, flags : bool
        Whether to tell of it, of them.

    Members
    -------
    sign, exponent, significand, is_zero, is_inf, is_nan : ``In``
        A product as ``Multiplier`` delivers it; with ``flags`` ``is_invalid``, too.
    acc_in, acc_out : ``accumulator.width`` bits
        {nan, neg_inf, pos_inf, value}; the flags are sticky, and products that are not finite leave the value alone.
    overflow : ``Out(1)``
        If asked for: whether the sum had no room, and wrapped.
    flags : ``Out(4)``
        If asked for: that as overflow; and whether 0 * infinity came in, or infinities of both signs have, and no NaN, as invalid.
    """

    def __init__(self, accumulator: ExactAccumulator, product: ProductShape, overflow: bool = False, flags: bool = False):
        self.accumulator, self.product, self.tells_overflow, self.tells_flags = accumulator, product, overflow, flags
        super().__init__(
            {
                "sign": In(1),
                "exponent": In(product.exponent_shape.width),
                "significand": In(product.significand_bits),
                "is_zero": In(1),
                "is_inf": In(1),
                "is_nan": In(1),
                **invalid_port(flags),
                "acc_in": In(accumulator.width),
                "acc_out": Out(accumulator.width),
                **({"overflow": Out(1)} if overflow else {}),
                **flag_port(flags),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Shift, complement, add; flags beside it."""
        m = Module()
        width = self.accumulator.value_width
        magnitude = Signal(width, name="magnitude")
        m.d.comb += magnitude.eq(aligned(m, self, self.product, width, self.accumulator.lsb_exponent))
        value = Signal(width, name="value")
        addend = Signal(width, name="addend")
        total = Signal(width, name="total")
        pos_inf, neg_inf, nan = Signal(name="pos_inf"), Signal(name="neg_inf"), Signal(name="nan")
        pos_inf_out, neg_inf_out, nan_out = Signal(name="pos_inf_out"), Signal(name="neg_inf_out"), Signal(name="nan_out")
        infinite = self.is_inf & ~self.is_nan
        m.d.comb += [
            Cat(value, pos_inf, neg_inf, nan).eq(self.acc_in),
            addend.eq(magnitude ^ self.sign.replicate(width)),
            total.eq(value + addend + self.sign),
            pos_inf_out.eq(pos_inf | (infinite & ~self.sign)),
            neg_inf_out.eq(neg_inf | (infinite & self.sign)),
            nan_out.eq(nan | self.is_nan | (pos_inf_out & neg_inf_out)),
            self.acc_out.eq(Cat(total, pos_inf_out, neg_inf_out, nan_out)),
        ]
        no_room = ~(value[-1] ^ addend[-1]) & (total[-1] ^ value[-1])
        if self.tells_overflow:
            m.d.comb += self.overflow.eq(no_room)
        if self.tells_flags:
            opposite = pos_inf_out & neg_inf_out & ~(nan | self.is_nan)
            m.d.comb += self.flags.eq(word(Const(0, 1), Const(0, 1), no_room, self.is_invalid | opposite))
        return m
