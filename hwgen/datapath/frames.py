"""The way in which products and an accumulator are summed: aligned, in a bounded frame, or as a floating-point sum."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Module, Value
from amaranth.lib import wiring

from golden import Format, WideFormat
from golden.wide import aligned_bits, state_format
from hwgen.datapath.aligned import AlignedShape, aligned_sum
from hwgen.datapath.arithmetic import named
from hwgen.datapath.bounded import BoundedShape, SpanningShape, rounded_sum, spanning_sum
from hwgen.datapath.floated import floated_sum
from hwgen.datapath.goal import AREA
from hwgen.datapath.lane import Lane, lanes_of
from hwgen.datapath.product import ProductShape
from hwgen.datapath.rows import SumShape
from hwgen.datapath.scale import Scale
from hwgen.datapath.sums import Sum
from hwgen.netlist.book import chapter


def product_shape(a_format: Format, b_format: Format, accumulator: str) -> ProductShape:
    """The shape of the products that :func:`summed` takes: not normalized, and without a scale."""
    return ProductShape.of(a_format, b_format, normalized=False, keeps_exponents=aligned_bits(accumulator) is not None)


def summed(
    m: Module,
    ports: wiring.Component,
    layout: ProductShape,
    lanes: int,
    accumulator: str,
    scale: Scale,
    *,
    positive: bool,
    flags: bool,
    fabric: str,
    goal: str = AREA,
) -> Sum:
    """The accumulator, any but ``exact``, plus the scaled sum of all products.

    Parameters
    ----------
    m : Module
    ports : wiring.Component
        Has the codes of all lanes, and the accumulator as ``acc_in``.
    layout : ProductShape
        Of the products.
    lanes : int
    accumulator : str
    scale : Scale
        Not 0 with aligned accumulators.
    positive : bool
        Whether a zero is +0.
    flags : bool
        Whether the flags are read; without them, not all are computed.
    fabric : str
        One of :data:`hwgen.datapath.fabric.FABRICS`.
    goal : str
        One of :data:`hwgen.datapath.goal.GOALS`; ``speed`` needs an accumulator that rounds each sum.
    """
    target, fraction_bits, acc = state_format(accumulator), aligned_bits(accumulator), ports.acc_in
    frame = _frame(layout, lanes, target, scale, fabric, goal)
    rows = frame if fraction_bits is None or flags else None
    negate = acc[-1] if isinstance(frame, BoundedShape | SpanningShape) else None
    items = lanes_of(m, ports, layout, lanes, rows, negate=negate, flags=flags)
    if fraction_bits is None:
        return _rounded(m, items, frame, target, acc, scale, positive, flags)
    aligned = AlignedShape(layout, lanes, fraction_bits, scale.exponents, fabric)
    total = aligned_sum(m, items, aligned, acc, scale, positive)
    if not flags:
        return total
    # Whether a truncated sum is the exact one is not a matter of what was cut: cut parts can cancel each other.
    m.submodules.exact_sum = exact = Module()
    reference = _rounded(exact, items, frame, target, acc, scale, positive, flags)
    chapter(m, "Compare: the truncated sum with the exact one")
    zero = named(m, "both_are_zero", ~(total.bits[:-1].any() | reference.bits[:-1].any()))
    differs = named(m, "differs", (total.bits != reference.bits) & ~zero)
    inexact = named(m, "sum_is_inexact", total.finite & (total.overflow | reference.inexact | differs))
    tiny = reference.underflow | ~reference.bits[target.fraction_bits : -1].any()
    underflow = named(m, "underflow", inexact & tiny)
    return replace(total, inexact=inexact, underflow=underflow)


def _frame(
    layout: ProductShape, lanes: int, target: WideFormat, scale: Scale, fabric: str, goal: str
) -> BoundedShape | SpanningShape | SumShape:
    """The smallest frame that fits; a :class:`SumShape` alone stands for a floating-point sum."""
    if scale.is_one:
        bounded = BoundedShape(layout, lanes, target, fabric=fabric, goal=goal)
        spanning = SpanningShape(layout, lanes, target, fabric=fabric, goal=goal)
        if bounded.fits:
            return bounded
        if spanning.fits:
            return spanning
    return SumShape(layout, lanes, fabric=fabric, goal=goal)


def _rounded(
    m: Module,
    lanes: list[Lane],
    frame: BoundedShape | SpanningShape | SumShape,
    target: WideFormat,
    acc: Value,
    scale: Scale,
    positive: bool,
    flags: bool,
) -> Sum:
    if isinstance(frame, BoundedShape):
        return rounded_sum(m, lanes, frame, acc, positive)
    if isinstance(frame, SpanningShape):
        return spanning_sum(m, lanes, frame, acc, positive)
    return floated_sum(m, lanes, frame, target, acc, scale, positive=positive, flags=flags)
