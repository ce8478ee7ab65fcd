"""The quantizer: a block of numbers becomes a scale, a power of two that they share, and codes of elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Format, Rounding, WideFormat, get
from golden.arithmetic.blocks import (
    CEIL,
    FLOOR,
    POLICIES,
    default_policy,
    element_exponent,
    element_options,
    first_rounded_up,
)
from golden.explain import hexadecimal, overflow_rule
from golden.names import canonical, check_name
from golden.options import Options
from golden.refusal import check_choice, check_integer
from golden.validation import EXPONENT_LIMIT
from golden.wide import wide
from hwgen.blocks.arguments import code_format, random_width
from hwgen.blocks.block import Block, Option
from hwgen.blocks.options import FORMAT, LANES, MAX_LANES, RANDOM_BITS, ROUNDING
from hwgen.blocks.words import Rules, label
from hwgen.datapath.arithmetic import any_of, largest, named, range_shape, reaches
from hwgen.netlist.book import chapter
from hwgen.netlist.component import Checked
from hwgen.netlist.parts import Repeated
from hwgen.rounding.position import Parts
from hwgen.rounding.rounder import Rounder
from hwgen.rounding.source import dividend_parts, hybrid_threshold, lowest_dividend

SOURCES = ("binary32", "bfloat16")
"""Sources of a quantizer: those with the exponents of scales."""
E8M0 = get("e8m0")
SCALE_EXPONENTS = E8M0.exponent_range


class Quantizer(Checked, wiring.Component):
    """Quantize a block of numbers to codes of elements and a scale; combinational.

    ::

        bits ─► fields ─┬─► largest exponent ─► scale ─┬─────────► scale
                        └──────────► exponent over the scale ─► round ─► codes

    Parameters
    ----------
    fmt : Format or str
        Format of the elements: one with a sign.
    source : str
        ``binary32`` or ``bfloat16``.
    lanes : int
        Number of elements in a block, 1 to 32.
    policy : str, optional
        How the logarithm of the largest magnitude becomes the exponent of the scale, one of
        :data:`golden.arithmetic.blocks.POLICIES`. Default: as in :func:`golden.quantize_block`.
    center : int, optional
        Exponent of the binade of elements to which the largest magnitude is brought. Default: that of the largest
        element of full precision.
    rounding : str, optional
        Of the elements: one of the format's, but ``mptorch``. Default: the format's.
    random_bits : int, optional
        Bits of ``random`` for each lane, 1 to 32; with stochastic roundings only. Default: 16.

    Members
    -------
    bits : ``In(lanes * source width)``
        Numbers of all lanes, lane 0 in the least significant bits.
    random : ``In(lanes * random_bits)``
        With stochastic roundings only: uniformly distributed, fresh for every input; lane 0 lowest.
    codes : ``Out(lanes * fmt.width)``
        As :func:`golden.quantize_block` returns them, lane 0 in the least significant bits.
    scale : ``Out(8)``
        A code of ``e8m0``.
    """

    def __init__(
        self,
        fmt: Format | str,
        source: str = "binary32",
        *,
        lanes: int = MAX_LANES,
        policy: str | None = None,
        center: int | None = None,
        rounding: str | None = None,
        random_bits: int | None = None,
    ):
        self.fmt = code_format("fmt", fmt)
        self.source = check_name("source", source, SOURCES)
        self.chosen = element_options("fmt", self.fmt, self.source, rounding)
        self.rounding, self.overflow = self.chosen.rounding, self.chosen.overflow
        self.lanes = check_integer("lanes", lanes, 1, MAX_LANES)
        self.policy = check_choice("policy", default_policy(self.fmt) if policy is None else policy, POLICIES)
        self.top = element_exponent(self.fmt, center)
        self.center = None if self.top == element_exponent(self.fmt) else center
        self.random_bits = random_width(self.rounding, random_bits)
        widths = {"bits": wide(self.source).width, "random": self.random_bits or 0, "codes": self.fmt.width}
        ports = {name: (Out if name == "codes" else In)(self.lanes * width) for name, width in widths.items() if width}
        super().__init__({**ports, "scale": Out(E8M0.width)})

    @property
    def shape(self) -> ScaleShape:
        """Widths of the scale and what it depends on."""
        source = wide(self.source)
        random = self.random[: self.random_bits] if self.random_bits else None
        rounder = self._elements.rounder(self.bits[: source.width], random)
        return ScaleShape.of(self.fmt, self.policy, self.top, source, rounder)

    @property
    def _elements(self) -> ElementRounding:
        return ElementRounding(self.fmt, self.chosen, self.random_bits)

    def elaborate(self, _platform: object) -> Module:
        """Fields of all numbers, the scale, then the elements."""
        m = Module()
        source, rounding = wide(self.source), self._elements
        words = [self.bits.word_select(lane, source.width) for lane in range(self.lanes)]
        random = [
            self.random.word_select(lane, self.random_bits) if self.random_bits else None for lane in range(self.lanes)
        ]
        rounder, shape = rounding.rounder(words[0], random[0]), self.shape
        numbers = []
        for lane, word in enumerate([] if shape.reads_fields else words):
            m.submodules[f"lane_{lane}"] = part = Module()
            numbers.append(dividend_parts(part, source, word, rounder, shape.depth))
        m.submodules.block = block = Module()
        scale, is_special = block_scale(block, shape, words, numbers)
        m.d.comb += self.scale.eq(scale | is_special.replicate(E8M0.width))
        quotient = QuotientShape(*shape.quotient_exponents)
        # the exponent of a quotient is that of the number, a field minus the bias, minus that of the scale
        constant = quotient.offset - source.bias - SCALE_EXPONENTS[0]
        offset = named(block, "offset_less_scale", (constant - scale)[: quotient.width])
        codes = []
        for lane, word in enumerate(words):
            m.submodules[f"element_{lane}"] = element = Element(shape, quotient, rounding)
            m.d.comb += [element.bits.eq(word), element.offset_less_scale.eq(offset), element.is_special.eq(is_special)]
            if random[lane] is not None:
                m.d.comb += element.random.eq(random[lane])
            codes.append(element.code)
        m.d.comb += self.codes.eq(Cat(*codes))
        return m


@dataclass(frozen=True)
class ElementRounding:
    """How elements are rounded."""

    fmt: Format
    chosen: Options
    random_bits: int | None = None

    def rounder(self, bits: Value, random: Value | None = None) -> Rounder:
        """The rounder of a number with these bits of the source."""
        rounding = self.chosen.rounding
        threshold = hybrid_threshold(self.chosen.source, bits) if rounding is Rounding.HYBRID else None
        return Rounder(self.fmt, rounding, self.chosen.overflow, random=random, threshold=threshold)


class Element(Repeated):
    """Divide a number by the scale of its block, and round it to a code; combinational.

    ``offset_less_scale`` is added to the number's exponent. The code is 0 if ``is_special``: an infinity or a NaN is in
    the block.
    """

    part, follows = "element", "Scale"

    def __init__(self, shape: ScaleShape, quotient: QuotientShape, rounding: ElementRounding):
        self.shape, self.quotient, self.rounding = shape, quotient, rounding
        self.identity = shape, quotient, rounding
        self.heading = f"Elements: code {shape.fmt.width} bits, the number over the scale, rounded"
        self.summary = f"one element, a number over the scale of its block, rounded to {shape.fmt.name}"
        self.is_worth_a_module = shape.reads_fields  # otherwise the scale needs part of it
        inputs = {"bits": In(shape.source.width), "offset_less_scale": In(quotient.width), "is_special": In(1)}
        if rounding.random_bits:
            inputs["random"] = In(rounding.random_bits)
        super().__init__({**inputs, "code": Out(shape.fmt.width)})

    def elaborate(self, _platform: object) -> Module:
        """Fields of the number, the exponent of the quotient, then the code."""
        m = Module()
        rounder = self.rounding.rounder(self.bits, self.random if self.rounding.random_bits else None)
        number = dividend_parts(m, self.shape.source, self.bits, rounder, self.shape.depth)
        width = self.quotient.width
        chapter(m, f"Divide: quotient_exponent {width} bits, that of the number over the scale")
        exponent = named(m, "quotient_exponent", (number.exponent + self.offset_less_scale)[:width])
        code = rounder.code(m, self.quotient.parts(number, exponent))
        m.d.comb += self.code.eq(code & (~self.is_special).replicate(len(self.code)))
        return m


@dataclass(frozen=True)
class ScaleShape:
    """Widths of the scale and what it depends on."""

    fmt: Format
    """Format of the elements."""
    source: WideFormat
    policy: str
    top: int
    """Exponent of the elements to which the largest magnitude is brought."""
    depth: int
    """The smallest scale, or less if a center among subnormal elements has scales depend on smaller numbers."""
    lowest_exponent: int
    """Exponent of numbers that are so small that they were not normalized."""

    @classmethod
    def of(cls, fmt: Format, policy: str, top: int, source: WideFormat, rounder: Rounder) -> ScaleShape:
        """The shape of the scale of elements that have this rounder."""
        further = rounder.normalized_from + rounder.may_lack_hidden - top - 1
        depth = SCALE_EXPONENTS[0] - max(further, 0)
        return cls(fmt, source, policy, top, depth, lowest_dividend(source, rounder, depth))

    @property
    def increment(self) -> int:
        """The most that the policy adds to the exponent of the largest number."""
        return int(self.policy != FLOOR)

    @property
    def reads_fields(self) -> bool:
        """Whether blocks of subnormals have the smallest scale, so that exponent fields decide."""
        return -self.source.bias + self.increment - self.top <= SCALE_EXPONENTS[0]

    @property
    def level_0(self) -> int:
        """Exponent of the numbers of level 0; levels are exponents, counted from there."""
        return -self.source.bias if self.reads_fields else self.lowest_exponent

    @property
    def special_level(self) -> int:
        """The level of infinities and NaNs."""
        return self.source.bias + 1 - self.level_0

    @property
    def code_of_level_0(self) -> int:
        """The code of the scale of a block of level 0, if there were no smallest scale."""
        return self.level_0 - self.top - SCALE_EXPONENTS[0]

    @property
    def largest_code(self) -> int:
        """The code of the scale of the largest finite numbers, if there were no largest scale."""
        return self.code_of_level_0 + self.special_level - 1 + self.increment

    @property
    def quotient_exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a number over the scale."""
        largest_scale = min(self.largest_code + SCALE_EXPONENTS[0], SCALE_EXPONENTS[1])
        return self.lowest_exponent - largest_scale, max(self.top, self.source.bias - SCALE_EXPONENTS[1])


@dataclass(frozen=True)
class QuotientShape:
    """Widths of the numbers over the scale."""

    low: int
    high: int
    """Smallest and largest exponent."""

    @property
    def width(self) -> int:
        """Bits of the exponent with its offset."""
        return (self.high - self.low).bit_length()

    @property
    def offset(self) -> int:
        """What is added to exponents, so that none is negative."""
        return (1 << self.width) - 1 - self.high

    def parts(self, number: Parts, exponent: Value) -> Parts:
        """The quotient of a finite number, to be encoded."""
        zero_exponent = number.exponents[0] - SCALE_EXPONENTS[0]
        exponents = self.low, self.high
        return replace(number, exponent=exponent, offset=self.offset, exponents=exponents, zero_exponent=zero_exponent)


def block_scale(m: Module, shape: ScaleShape, words: list[Value], numbers: list[Parts]) -> tuple[Value, Value]:
    """The code of the scale, as far as all numbers are finite, and whether one of them is not."""
    k, lanes = shape.source.fraction_bits, range(len(words))
    fields = [word[k:-1] for word in words]
    width = shape.special_level.bit_length()
    chapter(m, f"Largest exponent: {width} bits; what lacks a bit that another exponent has is out")
    if shape.reads_fields:
        levels = fields
    else:
        offset = -shape.level_0 - shape.source.bias
        levels = [named(m, f"lane_{lane}_level", (numbers[lane].exponent + offset)[:width]) for lane in lanes]
    level, leads = largest(m, "largest_level", {f"lane_{lane}": levels[lane] for lane in lanes})
    is_special = named(m, "is_special", reaches(level, shape.special_level))
    up: Value = Const(0, 1)
    if shape.increment:
        rounds_up = [
            named(m, f"lane_{lane}_rounds_up", leads[lane] & _rounds_up(shape, word, number))
            for lane, word, number in zip_longest(lanes, words, numbers)
        ]
        up = named(m, "scale_rounds_up", any_of(rounds_up))
    low, high = shape.code_of_level_0, shape.largest_code
    chapter(m, f"Scale: finite_scale {E8M0.width} bits, largest exponent {_less(shape.top)}")
    unlimited = named(m, "unlimited_scale", level + up + low, range_shape(low, high))
    scale = unlimited[: E8M0.width]
    least, most = (exponent - SCALE_EXPONENTS[0] for exponent in SCALE_EXPONENTS)
    if high > most:
        scale = Mux(reaches(unlimited, most + 1), most, scale)
    if low < least:
        scale = Mux(unlimited[-1], least, scale)
    if low > least:  # all levels have larger scales, but zeros the smallest
        nonzero = any_of([word[:-1].any() for word in words])
        scale = Mux(named(m, "has_nonzero", nonzero), scale, least)
    return named(m, "finite_scale", scale, E8M0.width), is_special


def _rounds_up(shape: ScaleShape, word: Value, number: Parts | None) -> Value:
    """Whether the logarithm of a number's magnitude is rounded up; without one, by its fields."""
    k = shape.source.fraction_bits
    fraction = word[:k]
    if shape.policy == CEIL:
        return fraction.any() if number is None else number.hidden & (number.fraction.any() | number.rest)
    normal = reaches(fraction, first_rounded_up(shape.policy, shape.fmt, k, shape.top) - (1 << k))
    if number is None:
        return normal
    places = range(1, min(1 - shape.source.bias - shape.lowest_exponent, k) + 1)
    subnormal = [
        (number.exponent == 1 - place)
        & reaches(fraction, first_rounded_up(shape.policy, shape.fmt, k - place, shape.top))
        for place in places
    ]
    return any_of([word[k:-1].any() & normal, *subnormal])


def _less(exponent: int) -> str:
    """The text that subtracts an exponent."""
    return f"{'+' if exponent < 0 else '-'} {abs(exponent)}"


def _rules(core: Quantizer) -> Rules:
    assert E8M0.canonical_nan is not None
    nan = hexadecimal(E8M0, E8M0.canonical_nan)
    overflow = overflow_rule(core.fmt, core.rounding, core.overflow)
    return {
        "rounding": f"elements are rounded {core.rounding.rule}",
        "overflow": overflow.partition(";")[0].replace("overflow and infinities", "overflow"),
        "nan": f"a block with an infinity or a NaN has scale {nan}, and its elements are code 0",
    }


def block_scale_line(policy: str, top: int) -> str:
    """The header's words on the scale of a block."""
    low, high = SCALE_EXPONENTS
    return f"Scale: 2^({policy}(log2(largest magnitude)) {_less(top)}), from 2^{low} to 2^{high}"


def _lines(core: Quantizer) -> list[str]:
    rules = _rules(core)
    return [
        f"{block_scale_line(core.policy, core.top)}; {rules['nan']}",
        f"Rounding: {rules['rounding']}; {rules['overflow']}",
    ]


_FROM = Option(
    "from", str, "format of the numbers", SOURCES, argument="source", always=True, suffix="_{}", spelled=canonical
)
POLICY = Option(
    "policy",
    str,
    "how the logarithm of the largest magnitude is rounded to the exponent of the scale; floor is OCP's, rceil and "
    "even are those of libraries (default: floor for elements of OCP's formats, rceil for others)",
    POLICIES,
    suffix=lambda core: "" if core.policy == default_policy(core.fmt) else f"_{core.policy}",
)
CENTER = Option(
    "center",
    int,
    "exponent of the binade of elements to which the largest magnitude is brought (default: that of the largest "
    "element of full precision)",
    range(-EXPONENT_LIMIT, EXPONENT_LIMIT + 1),
    suffix=lambda core: f"_center{core.center}".replace("-", "m"),
)
QUANTIZER = Block(
    "quantizer",
    "turn a block of numbers into codes of elements and a scale, as in OCP's MX formats",
    Quantizer,
    (FORMAT,),
    (
        replace(LANES, help="number of elements in a block", always=True),
        _FROM,
        POLICY,
        CENTER,
        replace(
            ROUNDING,
            help="rounding mode of the elements (default: the format's); not mptorch",
            suffix=lambda core: "" if core.rounding is core.fmt.roundings[0] else f"_{core.rounding}",
        ),
        RANDOM_BITS,
    ),
    title=lambda core: f"Quantizer of blocks of {core.lanes}: from {core.source} to {label(core.fmt)}",
    lines=_lines,
    rules=_rules,
    meanings={
        "bits": "numbers of all lanes, lane 0 lowest",
        "random": "random bits of all lanes, uniformly distributed, lane 0 lowest",
        "codes": "codes of the elements of all lanes, lane 0 lowest",
        "scale": "scale of the block, a code of e8m0",
    },
)
