"""Checks of arguments that several components share, done before anything is built."""

from __future__ import annotations

import golden
from golden import DEFAULT_RANDOM_BITS, DEFAULT_TERMS, WIDE, ExactAccumulator, Format, Rounding
from golden.arithmetic.blocks import check_scales, scales_named
from golden.arithmetic.exact import check_scale
from golden.names import check_name
from golden.options import check_random_bits
from golden.refusal import BadValue, about, check_choice, check_flag
from golden.wide import ACCUMULATORS, IEEE, check_accumulator, check_zero, state_format
from hwgen.datapath.fabric import ASIC, FABRICS
from hwgen.datapath.frames import product_shape
from hwgen.datapath.goal import AREA, GOALS
from hwgen.datapath.rows import SumShape
from hwgen.netlist.component import Checked


def code_format(argument: str, fmt: Format | str) -> Format:
    """Return a format of codes; refuse wide formats, which are only sources, decoder targets and accumulators."""
    with about(argument):
        known = golden.get(fmt)
        if known.name in WIDE:
            raise BadValue(None, f"{known.name!r} is a source, decoder target or accumulator, not a format of codes")
    return known


def check_names(argument: str, fmt: Format, *others: Format) -> None:
    """Refuse two different formats of the same name: a header or module name could not distinguish them."""
    if any(fmt.name == other.name and fmt != other for other in others):
        problem = f"format {fmt.name!r} stands for two different formats here; give one of them another name"
        raise BadValue(None, problem).about(argument)


def operand_formats(a_format: Format | str, b_format: Format | str | None) -> tuple[Format, Format]:
    """Return the formats of both operands; the second defaults to the first."""
    a = code_format("a_format", a_format)
    if b_format is None:
        return a, a
    b = code_format("b_format", b_format)
    check_names("b_format", b, a)
    return a, b


def check_room(terms: int | None, lanes: int) -> None:
    """Refuse an ``exact`` accumulator that is too narrow for the products of one step."""
    if terms is not None and terms < lanes:
        raise BadValue("terms", f"must be at least the {lanes} lanes, not {terms}")


def check_fabric(fabric: str, optimize: str) -> str:
    """Return a fabric; sums that are built for speed are written for cells."""
    chosen = check_choice("fabric", fabric, FABRICS)
    if optimize != AREA and chosen != ASIC:
        raise BadValue("optimize", f"{optimize!r} needs fabric {ASIC!r}, not {chosen!r}: it has no carry chains")
    return chosen


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


def check_room_for_speed(core: Accumulating, lanes: int) -> None:
    """Refuse to build a dot product for speed if the sum of its products is too long."""
    if core.optimize == AREA:
        return
    bits = SumShape(product_shape(core.a_format, core.b_format, core.accumulator), lanes).sum_bits
    if bits > MAX_FAST_BITS:
        names = " and ".join(dict.fromkeys(repr(fmt.name) for fmt in (core.a_format, core.b_format)))
        need = f"products whose sum has at most {MAX_FAST_BITS} bits, not {bits} as with {names}"
        raise BadValue("optimize", f"{core.optimize!r} needs {need}")


class Accumulating(Checked):
    """A mixin that checks and keeps the arguments of components that add products of codes to an accumulator.

    Attributes
    ----------
    a_format, b_format : Format
    accumulator : str
    exact : golden.ExactAccumulator or None
        None unless the accumulator is ``exact``.
    scale_bits : int
    block_scale : Format or None
        Format of the scales of two blocks.
    has_flags : bool
    zero : str
        Sign of a zero result, one of :data:`golden.wide.ZEROS`.
    optimize : str
        What the datapath is built for, one of :data:`hwgen.datapath.goal.GOALS`.
    takes_aligned : bool
        Whether the accumulator may be one of :data:`golden.wide.ALIGNED`.
    """

    takes_aligned = True
    a_format: Format
    b_format: Format
    accumulator: str
    exact: ExactAccumulator | None
    scale_bits: int
    block_scale: Format | None
    has_flags: bool
    zero: str
    optimize: str

    def _keep(
        self,
        a_format: Format | str,
        b_format: Format | str | None,
        accumulator: str,
        terms: int | None,
        scale_bits: int,
        flags: bool,
        zero: str = IEEE,
        block_scale: Format | str | None = None,
        optimize: str = AREA,
    ) -> None:
        self.a_format, self.b_format = operand_formats(a_format, b_format)
        if self.takes_aligned:
            self.accumulator = check_accumulator(accumulator)
        else:
            self.accumulator = check_name("accumulator", accumulator, ACCUMULATORS)
        accumulator = self.accumulator
        self.zero = check_zero(zero, accumulator)
        check_scale(self.a_format, self.b_format, scale_bits)
        self.scale_bits, self.has_flags, self.exact = int(scale_bits), check_flag("flags", flags), None
        if accumulator == "exact":
            room = DEFAULT_TERMS if terms is None else terms
            self.exact = ExactAccumulator(self.a_format, self.b_format, terms=room, scale_bits=self.scale_bits)
        elif terms is not None:
            raise BadValue("terms", f"needs accumulator 'exact', not {accumulator!r}")
        self.optimize = check_choice("optimize", optimize, GOALS)
        if self.optimize != AREA and accumulator not in WIDE:
            raise BadValue("optimize", f"{optimize!r} needs an accumulator that rounds each sum, not {accumulator!r}")
        self.block_scale = None if block_scale is None else self._check_block_scale(block_scale)

    def _check_block_scale(self, block_scale: Format | str) -> Format:
        if self.scale_bits:
            raise BadValue("block_scale", f"needs 0 scale bits, not {self.scale_bits}: both multiply all products")
        scales = scales_named(block_scale, "block_scale")
        check_scales("block_scale", self.a_format, self.b_format, self.accumulator, scales)
        return scales

    @property
    def is_dot(self) -> bool:
        """Whether products are added up before they meet the accumulator, as in a :class:`hwgen.Dot`."""
        return False

    @property
    def is_floated(self) -> bool:
        """Whether a scale or dlfloat16 needs the sum of the products as a floating-point number.

        A sum that fits no frame (:mod:`hwgen.datapath.frames`), near the ends of a long range, becomes one, too.
        """
        return bool(self.scale_bits) or self.block_scale is not None or state_format(self.accumulator).flush

    @property
    def terms(self) -> int | None:
        """Products that fit an ``exact`` accumulator; None for other accumulators."""
        return None if self.exact is None else self.exact.terms

    @property
    def accumulator_width(self) -> int:
        """Width of the accumulator's state in bits."""
        return state_format(self.accumulator).width if self.exact is None else self.exact.width
