"""Aligned sums, the rule of tensor cores: addends are truncated below the largest exponent, and so is their sum.

The addends are compared by exponents, those of their rows, which are never normalized: the largest exponent of the
addends that are not zero decides where all of them are cut. What remains is short, whatever the range of the format
(specification, section 10; :mod:`golden.arithmetic.aligned`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from golden import WideFormat
from golden.wide import wide
from hwgen.datapath.arithmetic import any_of, extended, largest, named, plus, range_shape, reaches
from hwgen.datapath.goal import ASIC, FPGA
from hwgen.datapath.multiplier import Lane
from hwgen.datapath.normalize import normalized
from hwgen.datapath.product import ProductShape, Scale
from hwgen.datapath.rows import SumShape, chained, in_frame, zero_is_silent
from hwgen.datapath.sums import Specials, Sum, specials
from hwgen.netlist.book import chapter
from hwgen.netlist.parts import Repeated

FEWEST_COUNTED = 4
"""From this number of rows, counting their signs once takes fewer adders than a bit of each in two places."""

FEWEST_CUT_BEHIND = 8
"""From this number of rows, it takes fewer gates to cut the numbers of their ones than each of them."""

FEW_LEVELS = 6
"""Up to this number of levels, it takes fewer gates to look for each than to leave lanes out bit by bit."""


@dataclass(frozen=True)
class AlignedShape:
    """Widths of an aligned sum.

    Exponents are compared as levels: numbers that are not negative, a constant apart from the exponent of a product's
    shape, which is that of its rows, and from the accumulator's field. Every addend keeps ``fraction_bits`` after the
    binary point of the largest exponent. ``scale_exponents`` are the smallest and the largest one of a common scale.
    """

    product: ProductShape
    lanes: int
    fraction_bits: int
    scale_exponents: tuple[int, int] = (0, 0)
    fabric: str = ASIC

    jams: ClassVar[bool] = False
    """Whether addends are rounded to odd, not truncated."""

    @property
    def target(self) -> WideFormat:
        """The accumulator's format."""
        return wide("binary32")

    @property
    def kept_fraction(self) -> int:
        """Fraction bits of the result."""
        return min(self.fraction_bits, self.target.fraction_bits)

    @property
    def _lowest(self) -> int:
        """Operands with a lowest number in two's complement, whose exponents are 1 more than those of their rows."""
        return sum(operand.fmt.has_lowest for operand in (self.product.a, self.product.b))

    @property
    def bias(self) -> int:
        """A product's exponent minus that of its rows."""
        return self.product.bias + self._lowest

    @property
    def point(self) -> int:
        """Bits of a product's significand after the point that belongs to the exponents of its rows."""
        return self.product.fraction_bits - self._lowest

    @property
    def integer_bits(self) -> int:
        """Bits of a product's significand before that point."""
        return self.product.integer_bits + self._lowest

    @property
    def addend_bits(self) -> int:
        """Bits of an aligned product without sign."""
        return self.integer_bits + self.fraction_bits

    @property
    def sum_bits(self) -> int:
        """Bits of the sum's magnitude: the accumulator's significand is below 2."""
        product = ((1 << self.product.a.significand_bits) - 1) * ((1 << self.product.b.significand_bits) - 1)
        largest = self.lanes * (product << self.fraction_bits >> self.point)
        return (largest + (2 << self.fraction_bits) - 1).bit_length()

    @property
    def exponent_offset(self) -> int:
        """Level of a product of exponent 0: exponents in two's complement become levels by their inverted sign."""
        shape = self.product.exponent_shape
        return 1 << (shape.width - 1) if shape.signed else 0

    @property
    def frame(self) -> SumShape:
        """The fixed frame that all products fit, each of them exact."""
        return SumShape(self.product, self.lanes, fabric=self.fabric)

    @property
    def lsb_level(self) -> int:
        """Level of the weight of the frame's last bit."""
        return self.frame.lsb_exponent + self.bias + self.exponent_offset

    @property
    def is_framed(self) -> bool:
        """Whether products are cut in the fixed frame, which is not longer than an aligned product."""
        return self.frame.product_bits <= self.addend_bits

    @property
    def has_few_levels(self) -> bool:
        """Whether products have so few levels that each is looked for in all lanes at once."""
        return self.is_framed and self.levels[1] - self.levels[0] < FEW_LEVELS

    @property
    def counted_rows(self) -> int:
        """Rows of the frame whose ones are counted before they are cut: the most that a word of ones can count."""
        if self.lanes < FEWEST_CUT_BEHIND or self.fabric == FPGA:
            return 0
        most = (1 << (self.lanes + 1).bit_length() - 1) - 1
        return most if self.lanes - most < FEWEST_COUNTED else self.lanes

    @property
    def levels(self) -> tuple[int, int]:
        """Smallest and largest level of a product that is not zero."""
        low, high = self.product.exponents
        return low + self.exponent_offset, high + self.exponent_offset

    @property
    def field_of_level_0(self) -> int:
        """The accumulator's field, or the result's, whose numbers have level 0 if the scale is 1."""
        return self.target.bias - self.bias - self.exponent_offset

    @property
    def acc_levels(self) -> tuple[int, int]:
        """Smallest and largest level of a finite accumulator."""
        (low, high), origin = self.scale_exponents, self.field_of_level_0
        return 1 - origin - high, (1 << self.target.exponent_bits) - 2 - origin - low

    @property
    def level_bits(self) -> int:
        """Bits of the largest level, unless the accumulator is so large that it keeps no bit of any product."""
        return min(self.levels[1] + self.addend_bits, max(self.levels[1], self.acc_levels[1])).bit_length()

    @property
    def acc_can_dominate(self) -> bool:
        """Whether accumulators have larger levels than fit: the largest one that does stands for them."""
        return bool(self.acc_levels[1] >> self.level_bits)

    @property
    def acc_can_be_below(self) -> bool:
        """Whether accumulators have negative levels: with any product but zero these are never the largest."""
        return self.acc_levels[0] < 0

    @property
    def largest_fields(self) -> tuple[int, int]:
        """Smallest and largest field of the largest level, if a product is not zero."""
        (low, high), origin = self.scale_exponents, self.field_of_level_0
        highest = (1 << self.level_bits) - 1 + origin + high
        return self.levels[0] + origin + low, max(highest, (1 << self.target.exponent_bits) - 1)

    @property
    def raised_field(self) -> int | None:
        """The field that stands for smaller ones of the largest level: with it a subnormal result ends in bit 0.

        None if there are no smaller ones, or if each addend is aligned by itself.
        """
        lowest = 1 + self.fraction_bits - self.kept_fraction
        return lowest if self.is_framed and self.largest_fields[0] < lowest else None

    @property
    def fields(self) -> tuple[int, int]:
        """Smallest and largest exponent field of a sum's first bit, if a product is in it.

        These are fields of numbers without a limited range: they are negative for tiny numbers.
        """
        top = self.sum_bits - 1 - self.fraction_bits
        # A larger accumulator keeps no bit of any product: the sum is that accumulator.
        highest = min(self.levels[1] + self.addend_bits - 1, max(self.levels[1], self.acc_levels[1]))
        (low, high), origin = self.scale_exponents, self.field_of_level_0
        lowest = self.levels[0] + origin + low if self.raised_field is None else self.raised_field
        return lowest + top, highest + origin + high + top

    @property
    def is_bounded(self) -> bool:
        """Whether sums neither overflow nor are subnormal, unless they are the accumulator itself."""
        low, high = self.fields
        return low - (self.sum_bits - 1) >= 1 and high < (1 << self.target.exponent_bits) - 1


@dataclass(frozen=True)
class _Levels:
    """The largest level; its exponent field; each product's level; whether any product is not zero."""

    largest: Value
    field: Value
    products: list[Value]
    any_product: Value


def aligned_sum(m: Module, lanes: Sequence[Lane], shape: AlignedShape, acc: Value, scale: Scale, positive: bool) -> Sum:
    """Align, add and truncate; with ``positive`` a zero is +0. ``inexact`` and ``underflow`` are not computed."""
    target, k = shape.target, shape.target.fraction_bits
    chapter(
        m, f"Accumulator: {target.name}; acc_significand {k + 1} bits; acc_level counts from the products' exponents"
    )
    exponent, significand = acc_parts(m, acc, k)
    levels = _levels(m, lanes, shape, exponent, significand, scale)
    framed = _framed(m, lanes, shape, levels, acc[-1], scale) if shape.is_framed else None
    items = [] if framed else list(enumerate(zip(lanes, levels.products, strict=True)))
    rows = [_row(m, number, lane, shape, level, levels.largest, acc[-1]) for number, (lane, level) in items]
    field, lost = (framed.field, framed.lost) if framed else (levels.field, Const(0, 1))
    chapter(
        m, f"Align the accumulator: acc_row {1 + shape.fraction_bits} bits, bit 0 weighs as in the rows of the lanes"
    )
    distance = named(m, "acc_distance", (field - exponent)[: len(field)])
    acc_row = named(m, "acc_row", _moved(m, "acc_", significand, k, distance, shape)[0])

    width = shape.sum_bits + 1
    chapter(m, f"Sum: {shape.lanes} products and the accumulator; total {width} bits; its sign and magnitude")
    if framed:
        total = _added(m, [framed.row, Cat(acc_row, Const(0, 1))], framed.unit, width, shape.fabric)
    else:
        total = sum_of_rows(m, rows, acc_row, width, shape.addend_bits, shape.fabric)
    total = named(m, "total", total)
    negative = named(m, "total_negative", total[-1])
    magnitude = magnitude_of(m, total[:-1], negative, lost)
    if shape.is_bounded:
        body, overflow, is_zero = _bounded(m, shape, magnitude, field)
    else:
        body, overflow, is_zero = _limited(m, shape, magnitude, field, lost)

    chapter(m, "Specials: no product but zeros, infinities and NaN; the sign")
    products = [lane.product for lane in lanes]
    passes = shape.is_bounded and shape.acc_can_dominate  # an infinite accumulator is larger than all finite products
    special = specials(m, products, shape.product, acc, k, scale, acc_passes=passes)
    choose_acc = named(m, "choose_acc", ~(levels.any_product | special.force))
    choose_sum = named(m, "choose_sum", levels.any_product & ~special.force)
    number, sum_sign = body & choose_sum.replicate(len(body)), (negative ^ acc[-1]) & ~is_zero
    bits = joined(m, shape, acc, special, (choose_acc, choose_sum), number, sum_sign, positive)
    return Sum(bits, overflow & choose_sum, invalid=special.invalid, finite=special.finite)


def joined(
    m: Module,
    shape: AlignedShape,
    acc: Value,
    special: Specials,
    chosen: tuple[Value, Value],
    number: Value,
    sum_sign: Value,
    positive: bool,
) -> Value:
    """The result: the accumulator or the sum, whichever is ``chosen``, or a special; ``number`` is 0 otherwise."""
    k, (choose_acc, choose_sum) = shape.target.fraction_bits, chosen
    dropped = k - shape.kept_fraction
    alone = Cat(Const(0, dropped), acc[dropped:-1])
    number = (alone & choose_acc.replicate(len(alone))) | number
    nan_bits = Cat(Const(0, k - 1), special.is_nan, special.force.replicate(shape.target.exponent_bits))
    code_out = named(m, "code_out", number | nan_bits)
    acc_sign = named(m, "acc_sign", acc[-1] & alone.any())
    sum_sign = named(m, "sum_sign", sum_sign)
    sign_out = (acc_sign & choose_acc) | (sum_sign & choose_sum) | (special.minus_inf & ~special.is_nan)
    if positive:
        sign_out = sign_out & code_out.any()
    return Cat(code_out, named(m, "sign_out", sign_out))


def acc_parts(m: Module, acc: Value, fraction_bits: int) -> tuple[Value, Value]:
    """The exponent and the significand of an accumulator; those of subnormals have the exponent 1."""
    field, fraction = named(m, "acc_field", acc[fraction_bits:-1]), named(m, "acc_fraction", acc[:fraction_bits])
    hidden = named(m, "acc_hidden", field.any())
    exponent = named(m, "acc_exponent", Cat(field[0] | ~hidden, field[1:]))
    return exponent, named(m, "acc_significand", Cat(fraction, hidden))


def _levels(
    m: Module,
    lanes: Sequence[Lane],
    shape: AlignedShape,
    exponent: Value,
    significand: Value,
    scale: Scale,
) -> _Levels:
    bits, origin = shape.level_bits, shape.field_of_level_0
    (low, high), dominates, origin_field = shape.acc_levels, None, Const(origin)
    width = range_shape(low, high + 1).width
    if scale.is_one:
        raw = plus(m, "acc_level", Cat(exponent, Const(0, 1 + bits)), -origin)[:width]
    else:
        least, most = scale.exponents
        origin_field = named(m, "field_of_level_0", scale.exponent + origin, range_shape(origin + least, origin + most))
        raw = (exponent - origin_field)[:width]
    raw = named(m, "acc_raw_level", raw)
    active: Value = ~raw[-1] if shape.acc_can_be_below else Const(1, 1)
    if 1 - origin - shape.scale_exponents[0] >= 0:  # otherwise zeros and subnormals are below all products
        active = active & significand.any()
    level = extended(raw, bits)
    if shape.acc_can_dominate:
        above = raw[bits:-1] if shape.acc_can_be_below else raw[bits:]
        dominates = named(m, "acc_dominates", above.any() & active)
        level = level | dominates.replicate(bits)
    chapter(m, f"Largest exponent: {bits} bits, of the products that are not zero and the accumulator")
    names, levels, used = levels_of(m, lanes, shape)
    items, counts, some = dict(zip(names, levels, strict=True)), used, None
    if shape.has_few_levels:
        level_of_all, some = _largest_of_few(m, levels, used, shape.levels)
        items, counts = {"products": level_of_all}, [some]
    items["acc"] = named(m, "acc_level", level)
    top, _ = largest(m, "largest_level", items, [*counts, named(m, "acc_active", active)])
    shape_of_field = range_shape(*shape.largest_fields)
    field = (top + origin_field)[: shape_of_field.width]
    if dominates is not None:
        field = Mux(dominates, extended(exponent, len(field)), field)
    field = named(m, "largest_field", field, shape_of_field)
    return _Levels(top, field, levels, named(m, "any_product", any_of(used)) if some is None else some)


def _largest_of_few(
    m: Module, levels: Sequence[Value], used: Sequence[Value], limits: tuple[int, int]
) -> tuple[Value, Value]:
    """The largest of the levels that are used, all within limits, and whether there is any.

    Each possible level is looked for in all lanes at once. There, a level that has its ones and more is as good as that
    level itself, because it is not smaller.
    """
    found: Value = Const(0, 1)
    bits: list[list[Value]] = [[] for _ in range(limits[1].bit_length())]
    for number in range(limits[1], limits[0] - 1, -1):
        places = [place for place in range(len(bits)) if number >> place & 1]
        hits = [
            reduce(and_, (level[place] for place in places), lead) for level, lead in zip(levels, used, strict=True)
        ]
        has = named(m, f"some_level_is_{number}", any_of(hits) & ~found)
        found = named(m, f"some_level_is_from_{number}", has | found)
        for place in places:
            bits[place].append(has)
    return named(m, "products_level", extended(Cat(map(any_of, bits)), len(levels[0]))), found


def levels_of(m: Module, lanes: Sequence[Lane], shape: AlignedShape) -> tuple[list[str], list[Value], list[Value]]:
    """For each lane: its name, the level of its product, and whether that is not zero."""
    names, signed = [f"lane_{number}" for number in range(len(lanes))], shape.product.exponent_shape.signed
    exponents = [
        Cat(lane.product.exponent[:-1], ~lane.product.exponent[-1]) if signed else lane.product.exponent
        for lane in lanes
    ]
    levels = [
        named(m, f"{name}_level", extended(Cat(value), shape.level_bits))
        for name, value in zip(names, exponents, strict=True)
    ]
    used = [named(m, f"{name}_active", ~lane.product.is_zero) for name, lane in zip(names, lanes, strict=True)]
    return names, levels, used


def aligned_rows(m: Module, lanes: Sequence[Lane], shape: AlignedShape) -> tuple[list[tuple[Value, Value]], Value]:
    """All products in one's complement with their signs, aligned with the largest of their levels; and that level."""
    names, levels, used = levels_of(m, lanes, shape)
    top, _ = largest(m, "largest_level", dict(zip(names, levels, strict=True)), used)
    never = Const(0, 1)
    items = enumerate(zip(lanes, levels, strict=True))
    return [_row(m, number, lane, shape, level, top, never) for number, (lane, level) in items], top


class Aligner(Repeated):
    """Align a product with the largest exponent; combinational.

    The row is in one's complement, without the sign, which completes the two's complement. Magnitudes are truncated, so
    that they are negated after the shift. ``is_zero`` exists only where the significand of a zero may not be 0.
    """

    part, follows = "aligner", "Largest exponent"
    summary = "a product aligned with the largest exponent"

    def __init__(self, shape: AlignedShape):
        self.shape = self.identity = shape
        when = "rounded to odd; inverted if negative" if shape.jams else "inverted if its sign is not the accumulator's"
        self.how = f"{shape.addend_bits} bits, shifted right; {when}"
        self.heading = f"Align the lanes: row {self.how}"
        self.masks = not (zero_is_silent(shape.product.a.fmt) and zero_is_silent(shape.product.b.fmt))
        mask = {"is_zero": In(1)} if self.masks else {}
        levels = dict.fromkeys(("level", "largest_level"), In(shape.level_bits))
        significand = {"significand": In(shape.product.significand_bits)}
        super().__init__({**significand, **mask, "negative": In(1), **levels, "row": Out(shape.addend_bits)})

    def elaborate(self, _platform: object) -> Module:
        """Shift right, then invert."""
        m, shape = Module(), self.shape
        chapter(m, f"Align: {self.how}")
        significand: Value = self.significand
        if self.masks:
            significand = named(m, "nonzero_significand", Mux(self.is_zero, 0, significand))
        distance = named(m, "distance", (self.largest_level - self.level)[: shape.level_bits])
        value, lost = _moved(m, "", significand, shape.point, distance, shape)
        if shape.jams:
            value = Cat(value[0] | lost, value[1:])
        m.d.comb += self.row.eq(value ^ self.negative.replicate(len(value)))
        return m


def _row(
    m: Module, number: int, lane: Lane, shape: AlignedShape, level: Value, largest_level: Value, negate: Value
) -> tuple[Value, Value]:
    """An aligned product in one's complement, and its sign."""
    m.submodules[f"align_{number}"] = unit = Aligner(shape)
    if unit.masks:
        m.d.comb += unit.is_zero.eq(lane.product.is_zero)
    negative = named(m, f"lane_{number}_negative", lane.product.sign ^ negate)
    m.d.comb += [
        unit.significand.eq(lane.product.significand),
        unit.negative.eq(negative),
        unit.level.eq(level),
        unit.largest_level.eq(largest_level),
    ]
    return unit.row, negative


def sum_of_rows(
    m: Module, rows: Sequence[tuple[Value, Value]], acc: Value, width: int, bits: int, fabric: str
) -> Value:
    """``acc`` plus rows of some ``bits`` in one's complement, with their signs, modulo ``2**width``."""
    if fabric == FPGA:
        addends = [Cat(row, sign) for row, sign in rows]
        return chained(m, [*addends, Cat(acc, Const(0, 1))], [sign for _, sign in rows], width)
    return _sum_of_signed(m, rows, [acc], width, bits)


def _sum_of_signed(
    m: Module,
    rows: Sequence[tuple[Value, Value]],
    others: Sequence[Value],
    width: int,
    bits: int,
    count: Value | None = None,
) -> Value:
    """``others`` plus rows as in :func:`sum_of_rows`; a ``count`` is that of the signs of rows which are in others."""
    # -s * 2**n = (1 - s) * 2**n - 2**n: the signs of all rows are inverted, and share one constant.
    terms, constant = [row for row, _ in rows], 0
    if len(rows) < FEWEST_COUNTED:
        terms += [term for _, sign in rows for term in (Cat(Const(0, bits), ~sign), sign)]
        constant -= len(rows)
    else:
        count = named(m, "negative_rows", sum((sign for _, sign in rows), Const(0, 1))[: len(rows).bit_length()])
    if count is not None:
        terms += [count, Cat(Const(0, bits), ~count)]
        constant -= (1 << len(count)) - 1
    return sum([*terms, *others], Const((constant << bits) % (1 << width), width))[:width]


def _number_of(m: Module, name: str, bits: Sequence[Value]) -> Value:
    """How many of some bits are 1: each full adder adds the numbers of two halves and one more bit."""
    halves, others = bits[: len(bits) // 2 + 1], bits[len(bits) // 2 + 1 :]
    return named(m, name, chained(m, [Cat(bit, Const(0, 1)) for bit in halves], others, len(bits).bit_length()))


def _sum_of_columns(m: Module, rows: Sequence[tuple[Value, Value]], counted: int, keeps: Value, width: int) -> Value:
    """The sum of rows, the first ``counted`` of them place by place before they are cut.

    Each place of a row that is cut has the row's sign, so there the number of ones is that of the signs.
    """
    count = _number_of(m, "negative_rows", [sign for _, sign in rows[:counted]])
    others = []
    for place, keep in enumerate(keeps):
        ones = _number_of(m, f"ones_in_place_{place}", [row[place] for row, _ in rows[:counted]])
        others.append(Cat(Const(0, place), named(m, f"cut_ones_in_place_{place}", Mux(keep, ones, count))))
    return _sum_of_signed(m, rows[counted:], others, width, len(keeps), count)


def _added(m: Module, addends: Sequence[Value], unit: Value, width: int, fabric: str) -> Value:
    """The sum of numbers in two's complement and a bit, modulo ``2**width``."""
    if fabric == FPGA:
        return chained(m, addends, [unit], width)
    return sum((extended(addend.as_signed(), width) for addend in addends), unit)[:width]


class Cutter(Repeated):
    """Cut a product in the frame of all products; combinational.

    The row is in one's complement, without the sign, which completes the two's complement. Magnitudes are cut, so that
    they are negated afterwards. ``is_zero`` exists only where the significand of a zero may not be 0.
    """

    part, follows = "aligner", "Largest exponent"
    summary = "a product cut in the frame of all products"

    def __init__(self, shape: AlignedShape, *, cuts: bool):
        self.shape, self.cuts = shape, cuts
        self.identity = shape, cuts
        bits = f"row {shape.frame.product_bits} bits, bit 0 weighs 2^{shape.frame.lsb_exponent}"
        self.heading = f"Cut the lanes: {bits}, {self._how}"
        self.masks = not all(zero_is_silent(item.fmt, alike=True) for item in (shape.product.a, shape.product.b))
        mask = {"is_zero": In(1)} if self.masks else {}
        number = {"significand": In(shape.product.significand_bits), "exponent": In(shape.product.exponent_shape)}
        keeps = {"keeps": In(shape.frame.product_bits)} if cuts else {}
        super().__init__({**number, **mask, "negative": In(1), **keeps, "row": Out(shape.frame.product_bits)})

    @property
    def _how(self) -> str:
        return f"{'cut by keeps; ' if self.cuts else ''}inverted if negative"

    def elaborate(self, _platform: object) -> Module:
        """Shift left to the frame, cut, then invert."""
        m, frame = Module(), self.shape.frame
        chapter(m, f"Cut: {frame.product_bits} bits, shifted left to the frame; {self._how}")
        significand: Value = self.significand
        if self.masks:
            significand = named(m, "nonzero_significand", Mux(self.is_zero, 0, significand))
        magnitude = in_frame(m, "", significand, self.exponent, frame)
        if self.cuts:
            magnitude = magnitude & self.keeps
        m.d.comb += self.row.eq(magnitude ^ self.negative.replicate(frame.product_bits))
        return m


@dataclass(frozen=True)
class _Framed:
    """The sum of all products, aligned with the accumulator: ``row + unit``, in two's complement.

    ``field`` is the exponent field that it is aligned with. If anything is ``lost`` below, the number is larger than
    that, by less than 1.
    """

    row: Value
    unit: Value
    field: Value
    lost: Value


def _framed(
    m: Module, lanes: Sequence[Lane], shape: AlignedShape, levels: _Levels, negate: Value, scale: Scale
) -> _Framed:
    """The sum of all products, each cut at the same place of a fixed frame; negated if ``negate`` is 1.

    What is below that place is 0 in all magnitudes, so that a single shift, behind the sum, aligns it.
    """
    frame, cut = shape.frame, shape.fraction_bits + shape.lsb_level
    chapter(m, f"Cut: place N of the frame is kept up to a largest exponent of N + {cut}")
    keeps = Cat(~reaches(levels.largest, cut + place + 1) for place in range(frame.product_bits))
    keeps = named(m, "keeps", keeps)
    rows, counted = [], shape.counted_rows
    for number, lane in enumerate(lanes):
        m.submodules[f"cut_{number}"] = unit = Cutter(shape, cuts=number >= counted)
        if unit.masks:
            m.d.comb += unit.is_zero.eq(lane.product.is_zero)
        m.d.comb += [
            unit.significand.eq(lane.product.significand),
            unit.exponent.eq(lane.product.exponent),
            unit.negative.eq(lane.product.sign),
            *([unit.keeps.eq(keeps)] if unit.cuts else []),
        ]
        rows.append((unit.row, lane.product.sign))
    chapter(m, f"Sum: {shape.lanes} products; cut_sum {frame.sum_bits} bits in two's complement")
    if counted:
        total = _sum_of_columns(m, rows, counted, keeps, frame.sum_bits)
    else:
        total = sum_of_rows(m, rows, Const(0, 1), frame.sum_bits, frame.product_bits, shape.fabric)
    total = named(m, "cut_sum", total)

    chapter(m, "Align the sum: shifted right, inverted if the accumulator is negative")
    number = named(m, "sum_or_inverse", total ^ negate.replicate(len(total)))
    field, distance = levels.field, levels.largest
    if shape.raised_field is not None:  # subnormal results end where a larger exponent's would
        raises = named(m, "is_raised", ~reaches(field, shape.raised_field))
        field = named(m, "raised_field", Mux(raises, shape.raised_field, field), field.shape())
        origin = shape.raised_field - shape.field_of_level_0
        bits = max(origin - shape.scale_exponents[0], 1).bit_length()
        raised = named(m, "raised_level", (origin - scale.exponent)[:bits])
        distance = named(m, "level_or_raised", Mux(raises, raised, extended(distance, bits)))
    row, lost = _moved(m, "sum_", number, -shape.lsb_level, distance, shape, negate)
    return _Framed(named(m, "sum_row", row), named(m, "sum_unit", negate & ~lost), field, lost)


def _moved(
    m: Module,
    prefix: str,
    significand: Value,
    fraction_bits: int,
    distance: Value,
    shape: AlignedShape,
    below: Value | None = None,
) -> tuple[Value, Value]:
    """``significand >> distance``, cut to the fraction bits of an addend; and whether any 1 is lost.

    With ``below`` it is a number in two's complement whose bits below its last one are all equal to that bit; only
    other bits are lost. The smallest stage is the first: the value then stays short for longer.
    """
    width = len(significand) - fraction_bits + shape.fraction_bits
    stages = min(width.bit_length(), len(distance))
    beyond: Value = Const(0, 1)
    if stages < len(distance):
        beyond = named(m, f"{prefix}is_below", distance[stages:].any())
    above, below = (Const(0, 1), Const(0, 1)) if below is None else (significand[-1], below)
    value, lost = significand, []
    for place in range(stages):
        step = 1 << place
        move = named(m, f"{prefix}moves_right_{step}", distance[place] | beyond)
        still, moved = Cat(below.replicate(step), value), Cat(value, above.replicate(step))
        room = min(len(still), max(width, len(significand)))
        if room < len(moved):
            lost.append(move & (moved[:-room] ^ below.replicate(len(moved) - room)).any())
        value = named(m, f"{prefix}moved_right_{step}", Mux(move, moved[-room:], still[-room:]))
    value = Cat(below.replicate(max(width - len(value), 0)), value)[-width:]
    return value, named(m, f"{prefix}lost", any_of(lost))


def _bounded(m: Module, shape: AlignedShape, magnitude: Value, field: Value) -> tuple[Value, Value, Value]:
    """Truncate a sum that is a normal number or 0; whether it is past the largest number, and whether it is 0."""
    k, kept = shape.target.fraction_bits, shape.kept_fraction
    chapter(m, f"Normalize: {len(magnitude)} bits, shifted left to the first 1, cut to {kept + 1}")
    value, places = normalized(m, magnitude)
    first = shape.sum_bits - 1 - shape.fraction_bits
    exponent = named(m, "exponent", (field + first - places)[: shape.target.exponent_bits])
    body = Cat(Const(0, k - kept), value[-1 - kept : -1], exponent)
    is_zero = named(m, "total_is_zero", ~value[-1])
    return body & value[-1].replicate(len(body)), Const(0, 1), is_zero


def magnitude_of(m: Module, total: Value, negative: Value, lost: Value) -> Value:
    """The magnitude of a number in two's complement, truncated if anything is ``lost`` below.

    A negative number is inverted above its last 1.
    """
    bits, inverts = [], named(m, "total_inverts_bit_0", negative & lost)
    for place, bit in enumerate(total, 1):
        bits.append(bit ^ inverts)
        if place < len(total):
            inverts = named(m, f"total_inverts_bit_{place}", (negative & bit) | inverts)
    return named(m, "total_magnitude", Cat(*bits))


def _limited(m: Module, shape: AlignedShape, magnitude: Value, field: Value, lost: Value) -> tuple[Value, Value, Value]:
    """The same for a sum that may be subnormal, or past the largest number; it is not 0 if anything is ``lost``."""
    k, kept, bits = shape.target.fraction_bits, shape.kept_fraction, shape.target.exponent_bits
    low, high = shape.fields
    width = len(magnitude)
    is_zero = named(m, "total_is_zero", ~(magnitude.any() | lost))
    chapter(m, f"Normalize: {width} bits, shifted left to the first 1, at most to the smallest exponent")
    first = shape.sum_bits - 1 - shape.fraction_bits
    room = named(m, "exponent_of_first_bit_less_1", field + (first - 1), range_shape(low - 1, high - 1))
    if low < 1:  # the frame begins below the smallest exponent
        stages = width.bit_length()
        distance = named(m, "distance_to_smallest", Mux(room[-1], -room, 0)[: len(room)])
        beyond = distance[stages:].any()
        for place in range(stages):
            step = 1 << place
            move = named(m, f"sum_moves_right_{step}", distance[place] | beyond)
            magnitude = named(m, f"sum_moved_right_{step}", Mux(move, magnitude >> step, magnitude)[:width])
        room = named(m, "room", Mux(room[-1], 0, room)[: len(room) - 1])
    value, places = normalized(m, magnitude, room=room)
    exponent = (room + 1 - places)[: len(room) + 1] & value[-1].replicate(len(room) + 1)  # of subnormal sums 0
    exponent = named(m, "exponent", exponent)
    past = named(m, "past_largest", reaches(exponent, (1 << bits) - 1))
    fraction = Cat(Const(0, k - kept), value[-1 - kept : -1])
    body = Cat(Mux(past, 0, fraction), Mux(past, (1 << bits) - 1, exponent[:bits]))
    return body, past, is_zero
