"""A lane of a sum of products: the exact product of two codes, and its row in the sum's fixed point."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.datapath.multiplier import Multiplier
from hwgen.datapath.ports import code_widths
from hwgen.datapath.product import ProductShape
from hwgen.datapath.rows import SumShape, finite_row, product_row
from hwgen.netlist.parts import Repeated


class Lane(Repeated, Multiplier):
    """The product of two codes, and the row that the sum adds; combinational.

    Parameters
    ----------
    layout : ProductShape
    shape : SumShape, optional
        The sum that the row is for; without it there is no row.
    negates, masks : bool
        Whether there are ports ``negate`` and ``enable``.
    finite : bool
        Whether the row of a product that is not finite is 0; otherwise it is any number.
    flags, adders : bool
        See :class:`hwgen.datapath.multiplier.Multiplier`.

    Members
    -------
    a, b, scale, product
        See :class:`hwgen.datapath.multiplier.Multiplier`.
    negate : ``In(1)``
        Negate the row.
    enable : ``In(1)``
        Add the product; otherwise the row is 0.
    row : ``Out``
        See :class:`hwgen.datapath.rows.SumShape`.
    """

    part = "lane"

    def __init__(
        self,
        layout: ProductShape,
        shape: SumShape | None,
        *,
        negates: bool = False,
        masks: bool = False,
        finite: bool = False,
        flags: bool = False,
        adders: bool = False,
    ):
        self.shape, self.negates, self.masks, self.finite = shape, negates, masks, finite
        self.identity = layout, shape, negates, masks, finite, flags, adders
        formats = " and ".join(dict.fromkeys(operand.fmt.name for operand in (layout.a, layout.b)))
        self.heading, self.summary = "Lanes: exact products", f"one lane, the exact product of two codes of {formats}"
        if shape is not None:
            self.heading += f"; row {shape.row_bits} bits, bit 0 weighs 2^{shape.lsb_exponent}"
            self.summary += ", and its row in the sum"
        controls = {"negate": In(1)} if negates else {}
        controls |= {"enable": In(1)} if masks else {}
        row = {} if shape is None else {"row": Out(shape.row_bits)}
        super().__init__(layout, flags=flags, adders=adders, controls=controls, others=row)

    def elaborate(self, platform: object) -> Module:
        """A multiplier, then the shift to fixed point."""
        m, product = super().elaborate(platform), self.product
        if self.shape is None:
            return m
        if self.finite:
            row = finite_row(m, "row", product, self.shape, ~self.enable if self.masks else None)
        else:
            sign = product.sign ^ self.negate if self.negates else product.sign
            row = product_row(m, "row", product, self.shape, sign, Const(0, 1))
        m.d.comb += self.row.eq(row)
        return m


def lanes_of(
    m: Module,
    ports: wiring.Component,
    layout: ProductShape,
    count: int,
    shape: SumShape | None,
    *,
    negate: Value | None = None,
    enable: Value | None = None,
    finite: bool = False,
    flags: bool,
    adders: bool = False,
) -> list[Lane]:
    """A lane for each pair of a component's codes; all lanes have the same scale and the same controls.

    Parameters
    ----------
    m : Module
    ports : wiring.Component
        Has the codes of all lanes, lane 0 in the least significant bits.
    layout : ProductShape
    count : int
        Number of lanes.
    shape, finite, flags, adders
        See :class:`Lane`.
    negate, enable : Value, optional
    """
    lanes = []
    for number in range(count):
        lane = Lane(
            layout,
            shape,
            negates=negate is not None and shape is not None,
            masks=enable is not None,
            finite=finite,
            flags=flags,
            adders=adders,
        )
        m.submodules[f"lane_{number}"] = lane
        lanes.append(lane)
        if layout.scale_bits:
            m.d.comb += lane.scale.eq(ports.scale)
        if lane.negates:
            m.d.comb += lane.negate.eq(negate)
        if lane.masks:
            m.d.comb += lane.enable.eq(enable)
        for port, width in (code_widths("a", layout.a.fmt) | code_widths("b", layout.b.fmt)).items():
            m.d.comb += getattr(lane, port).eq(getattr(ports, port).word_select(number, width))
    return lanes
