"""Checks of arguments that several components share, done before anything is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from inspect import Parameter, Signature, signature
from operator import or_
from typing import Any, Unpack

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib.wiring import In, Out

import golden
from golden import DEFAULT_RANDOM_BITS, WIDE, ExactAccumulator, Format, Rounding
from golden.arithmetic.options import SumKeywords, SumOptions
from golden.names import check_name
from golden.options import check_random_bits
from golden.refusal import BadValue, about, check_choice, check_flag, check_integer
from golden.wide import ACCUMULATORS, ALIGNED, POSITIVE, aligned_bits, check_bulk_lanes
from hwgen.blocks.options import MAX_LANES
from hwgen.datapath.aligned import AlignedShape
from hwgen.datapath.arithmetic import named
from hwgen.datapath.compress import PARTIAL, PRODUCTS, prefix_sum
from hwgen.datapath.goal import AREA, ASIC, FABRICS, GOALS, SPEED
from hwgen.datapath.multiplier import Lane, Multiplier, lanes_of
from hwgen.datapath.ports import flag_word, sum_ports
from hwgen.datapath.product import ProductShape, Scale
from hwgen.datapath.rows import SumShape, excess, sum_with
from hwgen.datapath.summation import sum_product_shape, summed
from hwgen.datapath.sums import sticky_specials
from hwgen.netlist.component import Checked

FACTORS = ("binary16", "bfloat16")
"""Sources and accumulators that can be multiplied, too."""


def code_format(argument: str, fmt: Format | str, *, is_factor: bool = False) -> Format:
    """Return a format of codes; refuse wide formats, which are only sources, decoder targets and accumulators.

    With ``is_factor``, the :data:`FACTORS` are formats of codes, too.
    """
    with about(argument):
        known = golden.get(fmt)
        if known.name in WIDE and not (is_factor and known.name in FACTORS):
            raise BadValue(None, f"{known.name!r} is a source, decoder target or accumulator, not a format of codes")
    return known


def check_names(argument: str, fmt: Format, *others: Format) -> None:
    """Refuse two different formats of the same name: a header or module name could not distinguish them."""
    if any(fmt.name == other.name and fmt != other for other in others):
        problem = f"format {fmt.name!r} stands for two different formats here; give one of them another name"
        raise BadValue(None, problem).about(argument)


def operand_formats(a_format: Format | str, b_format: Format | str | None) -> tuple[Format, Format]:
    """Return the formats of both operands; the second defaults to the first."""
    a = code_format("a_format", a_format, is_factor=True)
    if b_format is None:
        return a, a
    b = code_format("b_format", b_format, is_factor=True)
    check_names("b_format", b, a)
    return a, b


def random_width(rounding: Rounding, random_bits: int | None) -> int | None:
    """Return the width of the port ``random``; None if the rounding needs no random bits."""
    if rounding.is_stochastic:
        width = DEFAULT_RANDOM_BITS if random_bits is None else random_bits
        check_random_bits(width)
        return int(width)
    if random_bits is not None:
        raise BadValue("random_bits", f"needs a stochastic rounding, not {rounding.value!r}")
    return None


MAX_FAST_BITS = 160
"""Longest sum of products for which a dot product is built for speed. Longer ones, as of e8m0, were not measured; with
a scale, their close path grows with the square.
"""


class Accumulating(Checked):
    """A mixin of components that add products of codes to an accumulator: their options, checked, and their outputs.

    A constructor takes the options that all sums have as ``**sums``; its signature shows each of them. It passes its
    arguments to :meth:`_keep`, which checks those that several components have, and makes them attributes.

    The fields of ``sums`` are attributes of the component, too. ``exact`` is None unless the accumulator is ``exact``;
    ``lanes`` is the number of products. Only with ``takes_aligned`` may the accumulator be :data:`golden.wide.RVBNA` or
    one of :data:`golden.wide.ALIGNED`, and only with ``takes_variants`` may it describe other people's modules.
    """

    takes_aligned, takes_variants = True, False
    sums: SumOptions
    a_format: Format
    b_format: Format
    accumulator: str
    terms: int | None
    scale_bits: int
    block_scale: Format | None
    has_flags: bool
    zero: str
    random_bits: int | None
    exact: ExactAccumulator | None
    scale: Signal
    a_scale: Signal
    b_scale: Signal
    acc_in: Signal
    acc_out: Signal
    random: Signal
    overflow: Signal
    flags: Signal
    __signature__: Signature

    def __init_subclass__(cls, **arguments: Any):
        super().__init_subclass__(**arguments)
        own = signature(cls.__init__)  # `help` and the defaults of options read the signature of the class
        parameters = [each for name, each in own.parameters.items() if name not in ("self", "sums")]
        if "sums" in own.parameters:
            known = signature(SumOptions.of).parameters
            parameters += [known[name].replace(kind=Parameter.KEYWORD_ONLY) for name in SumKeywords.__annotations__]
        cls.__signature__ = own.replace(parameters=parameters)

    def _check(
        self,
        a_format: Format | str,
        b_format: Format | str | None,
        *,
        lanes: int = 1,
        block_scale: Format | str | None = None,
        overflow: bool = False,
        fabric: str = ASIC,
        optimize: str = AREA,
        target: str | None = None,
        **sums: Unpack[SumKeywords],
    ) -> None:
        """``target`` is the format of a sum without accumulator, which then must be :data:`golden.wide.NONE`."""
        formats = operand_formats(a_format, b_format)
        if target is not None:
            sums["accumulator"] = check_name("target", target, WIDE)
        if "accumulator" in sums and not self.takes_aligned:
            check_name("accumulator", sums["accumulator"], ACCUMULATORS)
        options = SumOptions.of(*formats, block_scale=block_scale, **sums)
        self.sums = options if target is None else options.alone()
        vars(self).update(vars(self.sums))  # the rows of options name attributes of the component
        self.of_others = self.sums.variants
        if not self.takes_variants:
            self.check_ours()
        self.exact, accumulator = self.sums.exact, self.accumulator
        if self.exact is None and sums.get("terms") is not None:
            raise BadValue("terms", f"needs accumulator 'exact', not {accumulator!r}")
        self.lanes = check_integer("lanes", lanes, 1, MAX_LANES)
        check_bulk_lanes("lanes", accumulator, self.lanes)
        if self.terms is not None and self.terms < self.lanes:
            raise BadValue("terms", f"must be at least the {self.lanes} lanes, not {self.terms}")
        self.has_overflow = check_flag("overflow", overflow)
        self.fabric = check_choice("fabric", fabric, FABRICS)
        self.optimize = check_choice("optimize", optimize, GOALS)
        if self.optimize != AREA:
            self._check_speed()

    def _check_speed(self) -> None:
        """Refuse to build for speed what was not written, or not measured, for it."""
        names = " and ".join(dict.fromkeys(repr(fmt.name) for fmt in (self.a_format, self.b_format)))
        is_aligned, formats = self.accumulator in ALIGNED, (self.a_format, self.b_format)
        if self.accumulator not in WIDE and not (self.is_dot and (is_aligned or self.exact is not None)):
            others = ", an aligned one, or exact," if self.is_dot else ","
            need = f"an accumulator that rounds each sum{others} not {self.accumulator!r}"
        elif is_aligned and (self.is_floated or any(fmt.has_lowest or not fmt.sign_bit for fmt in formats)):
            need = f"signed formats, no integers among them, and no scale with {self.accumulator!r}"
        elif self.random_bits is not None:
            need = f"sums that are rounded to the nearest, not accumulator_rounding {self.accumulator_rounding!r}"
        elif self.fabric != ASIC:
            need = f"fabric {ASIC!r}, not {self.fabric!r}: it has no carry chains"
        elif self.is_dot and (bits := SumShape(self._layout, self.lanes).sum_bits) > MAX_FAST_BITS:
            need = f"products whose sum has at most {MAX_FAST_BITS} bits, not {bits} as with {names}"
        elif is_aligned and not AlignedShape(self._layout, self.lanes, aligned_bits(self.accumulator) or 0).is_bounded:
            need = f"sums that are normal numbers or the accumulator with {self.accumulator!r}, unlike some of {names}"
        else:
            return
        raise BadValue("optimize", f"{self.optimize!r} needs {need}")

    @property
    def _layout(self) -> ProductShape:
        """The shape of the products that are added to an accumulator."""
        if self.exact is not None:
            return ProductShape.of(self.a_format, self.b_format, normalized=False, scale_bits=self.scale_bits)
        return sum_product_shape(self.a_format, self.b_format, self.accumulator)

    @property
    def accumulator_rounding(self) -> str | None:
        """See :class:`SumOptions`."""
        return self.sums.accumulator_rounding

    @property
    def is_dot(self) -> bool:
        """Whether products are added up before they meet the accumulator, as in a :class:`hwgen.Dot`."""
        return False

    @property
    def is_floated(self) -> bool:
        """Whether a scale, dlfloat16, random bits, or no accumulator need the products' sum as a floating-point number.

        A sum that fits no frame (:mod:`hwgen.datapath.summation`), near the ends of a long range, becomes one, too.
        """
        is_scaled = bool(self.scale_bits) or self.block_scale is not None
        return is_scaled or self.sums.state.flush or self.random_bits is not None or self.sums.target is not None

    @property
    def accumulator_width(self) -> int:
        """Width of the accumulator's state in bits."""
        return self.sums.state.width if self.exact is None else self.exact.width

    def _sum_ports(self) -> dict[str, Any]:
        """The accumulator before and after the addition, and the status; words of a stochastic rounding."""
        width = self.accumulator_width
        before = {} if self.sums.target is not None else {"acc_in": In(width)}
        ports = {**before, **self._random_port(), "acc_out": Out(width)}
        return {**ports, **sum_ports(self.has_overflow, self.has_flags)}

    def _random_port(self) -> dict[str, Any]:
        return {} if self.random_bits is None else {"random": In(self.random_bits)}

    @property
    def _words(self) -> Signal | None:
        """The port ``random``, if there is one."""
        return None if self.random_bits is None else self.random

    def _add_outputs(self, m: Module, acc_out: Value, overflow: Value, flags: Callable[[], Value]) -> None:
        """Drive the outputs: the accumulator after the addition, and its status, as far as there are ports for it."""
        m.d.comb += self.acc_out.eq(acc_out)
        if self.has_overflow:
            m.d.comb += self.overflow.eq(overflow)
        if self.has_flags:
            m.d.comb += self.flags.eq(flags())

    def _add_rounded(self, m: Module) -> None:
        """Drive the outputs with the accumulator, any but ``exact``, plus the scaled sum of all products."""
        total = summed(
            m,
            self,
            self._layout,
            self.lanes,
            self.sums.target or self.accumulator,
            self._factor(m),
            positive=self.zero == POSITIVE,
            random=self._words,
            flags=self.has_flags,
            fabric=self.fabric,
            goal=self.optimize,
        )
        self._add_outputs(m, total.bits, total.overflow, lambda: total.flags(m, self.flags))

    def _add_exact(self, m: Module) -> None:
        """Drive the outputs with an accumulator that is ``exact`` plus all products, in fixed point."""
        assert self.exact is not None
        layout, width = self._layout, self.exact.value_width
        spare = int(self.has_overflow or self.has_flags)  # an empty accumulator has room for all lanes
        shape = SumShape(layout, self.lanes, fabric=self.fabric)
        is_fast = self.optimize == SPEED
        partial = is_fast and layout.of_integers
        words = {"finite": True, "flags": self.has_flags, "partial": partial, "adders": is_fast and not partial}
        lanes = lanes_of(m, self, layout, self.lanes, shape, **words)
        value = named(m, "value", self.acc_in[:width])
        wide_value = Cat(value, value[-1].replicate(spare))
        if is_fast:
            total = self._prefix_sum(m, lanes, shape, wide_value)
        else:
            total = sum_with(m, [lane.row for lane in lanes], shape, wide_value, width + spare)
        products = [lane.product for lane in lanes]
        classes = [(product.sign, product.is_inf & ~product.is_nan, product.is_nan) for product in products]
        specials, opposite = sticky_specials(m, self.acc_in[width:], classes)
        no_room, zero = ~(total[width - 1 :].all() | ~total[width - 1 :].any()), Const(0, 1)

        def flags() -> Value:
            invalid = reduce(or_, (product.is_invalid for product in products), opposite)
            return flag_word(zero, zero, no_room, invalid)

        self._add_outputs(m, Cat(total[:width], specials), no_room, flags)

    def _prefix_sum(self, m: Module, lanes: Sequence[Lane], shape: SumShape, value: Value) -> Value:
        """``value`` plus the products of all lanes, by full adders and a parallel prefix."""
        if not lanes[0].partial:
            rows, constant = [(0, lane.row) for lane in lanes], -self.lanes << shape.product_bits
            return prefix_sum(m, "total", rows, constant, value, len(value), PRODUCTS)[0]
        size, count = self.a_format.width, self.b_format.width
        rows = [(place, lane.row.word_select(place, size)) for lane in lanes for place in range(count)]
        return prefix_sum(m, "total", rows, -self.lanes * excess(size, count), value, len(value), PARTIAL)[0]

    def _factor(self, m: Module) -> Scale:
        """What all products are multiplied by."""
        if self.block_scale is None:
            return Scale.of_port(self.scale) if self.scale_bits else Scale.none()
        shape = ProductShape.of(self.block_scale, self.block_scale, normalized=False)
        m.submodules.scales = scales = Multiplier(shape)
        m.d.comb += [scales.a.eq(self.a_scale), scales.b.eq(self.b_scale)]
        return Scale.of_blocks(scales.product, shape)
