"""How products and an accumulator are summed: aligned, in bulk, in a frame of fixed point, or as a floating-point sum.

The frames are those of :mod:`hwgen.datapath.bounded`.
"""

from dataclasses import replace

from amaranth.hdl import Module, Value
from amaranth.lib import wiring

from golden import Format
from golden.wide import ALIGNED, RVBNA, aligned_bits, state_format
from hwgen.datapath.aligned import AlignedShape, aligned_sum
from hwgen.datapath.arithmetic import named
from hwgen.datapath.bounded import BoundedShape, SpanningShape, rounded_sum, spanning_sum
from hwgen.datapath.bulk import BulkShape, bulk_sum
from hwgen.datapath.fast.aligned import GroupedShape, grouped_sum
from hwgen.datapath.floated import floated_sum
from hwgen.datapath.goal import AREA
from hwgen.datapath.multiplier import lanes_of
from hwgen.datapath.product import ProductShape, Scale
from hwgen.datapath.rows import SumShape
from hwgen.datapath.sums import Sum
from hwgen.netlist.book import chapter


def sum_product_shape(a_format: Format, b_format: Format, accumulator: str) -> ProductShape:
    """The shape of the products that :func:`summed` takes: not normalized, and without a scale."""
    keeps_exponents = accumulator in (RVBNA, *ALIGNED)
    return ProductShape.of(a_format, b_format, normalized=False, keeps_exponents=keeps_exponents)


def summed(
    m: Module,
    ports: wiring.Component,
    layout: ProductShape,
    lanes: int,
    accumulator: str,
    scale: Scale,
    *,
    positive: bool,
    random: Value | None,
    flags: bool,
    fabric: str,
    goal: str = AREA,
) -> Sum:
    """The accumulator, any but ``exact``, plus the scaled sum of all products.

    ``ports`` has the codes of all lanes, and the accumulator as ``acc_in``, or none: then ``accumulator`` is the format
    that the products' sum alone is rounded to. The scale of aligned accumulators is not 0; the goal ``speed`` needs an
    accumulator that rounds each sum. With ``positive`` a zero is +0. A ``random`` word rounds the sum stochastically.
    Without ``flags`` not all of them are computed.
    """
    if accumulator == RVBNA:
        items = lanes_of(m, ports, layout, lanes, None, flags=flags)
        return bulk_sum(m, items, BulkShape.of(layout, lanes, scale, fabric), ports.acc_in, scale, flags=flags)
    target, fraction_bits, acc = state_format(accumulator), aligned_bits(accumulator), getattr(ports, "acc_in", None)
    frame = SumShape(layout, lanes, fabric=fabric, goal=goal)  # of a floating-point sum, if no frame fits
    if scale.is_one and random is None and acc is not None:
        bounded = BoundedShape(layout, lanes, target, fabric=fabric, goal=goal)
        spanning = SpanningShape(layout, lanes, target, fabric=fabric, goal=goal)
        frame = bounded if bounded.fits else spanning if spanning.fits else frame
    rows = frame if fraction_bits is None or flags else None
    negate = acc[-1] if acc is not None and isinstance(frame, BoundedShape | SpanningShape) else None
    adders = goal != AREA and not layout.of_integers
    items = lanes_of(m, ports, layout, lanes, rows, negate=negate, flags=flags, adders=adders)

    def rounded(m: Module) -> Sum:
        """The sum, rounded once."""
        if isinstance(frame, BoundedShape):
            return rounded_sum(m, items, frame, acc, positive)
        if isinstance(frame, SpanningShape):
            return spanning_sum(m, items, frame, acc, positive)
        return floated_sum(m, items, frame, target, acc, scale, positive=positive, random=random, flags=flags)

    if fraction_bits is None:
        return rounded(m)
    aligned = AlignedShape(layout, lanes, fraction_bits, scale.exponents, fabric)
    if goal == AREA:
        total = aligned_sum(m, items, aligned, acc, scale, positive)
    else:
        total = grouped_sum(m, items, GroupedShape(layout, lanes, fraction_bits), acc, positive)
    if not flags:
        return total
    # Whether a truncated sum is the exact one is not a matter of what was cut: cut parts can cancel each other.
    m.submodules.exact_sum = exact = Module()
    reference = rounded(exact)
    chapter(m, "Compare: the truncated sum with the exact one")
    zero = named(m, "both_are_zero", ~(total.bits[:-1].any() | reference.bits[:-1].any()))
    differs = named(m, "differs", (total.bits != reference.bits) & ~zero)
    inexact = named(m, "sum_is_inexact", total.finite & (total.overflow | reference.inexact | differs))
    tiny = reference.underflow | ~reference.bits[target.fraction_bits : -1].any()
    underflow = named(m, "underflow", inexact & tiny)
    return replace(total, inexact=inexact, underflow=underflow)
