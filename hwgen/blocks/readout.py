"""The readout: rounds the state of an ``exact`` accumulator once, to bits of a wide format or to a code."""

from dataclasses import replace
from functools import partial

from amaranth.hdl import Cat, Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import DEFAULT_TERMS, WIDE, ExactAccumulator, Format, get
from golden.bits import MAX_SCALE_BITS, scale_range
from golden.multi import MultiFormat
from golden.options import target_options
from golden.refusal import BadValue, about, check_choice, check_flag, check_integer
from golden.wide import IEEE, POSITIVE, check_zero
from hwgen.blocks import options
from hwgen.blocks.arguments import Accumulating, check_names, random_width
from hwgen.blocks.block import Block, Option
from hwgen.blocks.words import Rules, code_lines, code_rules, label, operands, state, wide_rules
from hwgen.datapath.arithmetic import named
from hwgen.datapath.goal import AREA, GOALS
from hwgen.datapath.normalize import normalized, signed_magnitude
from hwgen.netlist.book import chapter
from hwgen.rounding.neighbour import cut
from hwgen.rounding.position import Parts, scaled
from hwgen.rounding.rounder import Rounder


class Readout(Accumulating, wiring.Component):
    """Round an accumulator; combinational.

    ::

        | nan | neg_inf | pos_inf | value |
                                     └─► sign, magnitude ─► normalize ─► rounder ─► bits or code

    Parameters
    ----------
    a_format, b_format : Format or str
        Formats of the accumulator's products; ``b_format`` defaults to ``a_format``.
    target : Format or str
        A wide format, or a format of codes.
    terms, scale_bits
        Those of the accumulator: see :class:`hwgen.Mac`. They are the attributes ``terms`` and
        ``accumulator_scale_bits``.
    result_scale_bits : int
        Width of ``scale``, up to 10; 0: no port and no scale. It is the attribute ``scale_bits``, as of all components.
    rounding, overflow : str, optional
        With a format of codes only: one of its own, except ``hybrid``, which needs the bits of a source. Default: the
        format's.
    nan_to_zero : bool
        With a format of codes only: whether NaN becomes code 0.
    random_bits : int, optional
        Width of ``random``, 1 to 32; with stochastic roundings only. Default: 16.
    zero : str
        Sign of a zero result: ``ieee``, that of the value; or ``positive``, always +0.
    optimize : str
        ``area`` or, with a wide format only, ``speed``: the value's first 1 is found beside its magnitude, which takes
        about 0.7 of the delay; the bits are the same.

    Members
    -------
    acc : ``In``
        Bits of the accumulator.
    scale : ``In(result_scale_bits)``
        Exponent, in two's complement, of a power of two that multiplies the value before it is rounded once.
    random : ``In(random_bits)``
        With stochastic roundings only: uniformly distributed, fresh for every input.
    bits or code : ``Out``
        ``bits`` of a wide format, or a ``code``.
    """

    exact: ExactAccumulator

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        target: Format | str = "binary32",
        *,
        terms: int | None = None,
        scale_bits: int = 0,
        result_scale_bits: int = 0,
        rounding: str | None = None,
        overflow: str | None = None,
        nan_to_zero: bool = False,
        random_bits: int | None = None,
        zero: str = IEEE,
        optimize: str = AREA,
    ):
        self._check(a_format, b_format, accumulator="exact", terms=terms, scale_bits=scale_bits)
        self.accumulator_scale_bits = scale_bits
        self.scale_bits = check_integer("result_scale_bits", result_scale_bits, 0, MAX_SCALE_BITS)
        (low, high), (least, most) = self.exact.readout_scales, scale_range(result_scale_bits)
        if not low <= least <= most <= high:
            raise BadValue("result_scale_bits", f"must hold scales from {low} to {high} only, not {result_scale_bits}")
        self.zero, self.optimize = check_zero(zero), check_choice("optimize", optimize, GOALS)
        with about("target"):
            self.target = get(target)
        if isinstance(self.target, MultiFormat):
            raise BadValue("target", f"must be one format, not the two of {self.target.name!r}")
        check_names("target", self.target, self.a_format, self.b_format)
        self.nan_to_zero = check_flag("nan_to_zero", nan_to_zero)
        is_wide = self.target.name in WIDE
        if is_wide:
            of_codes = {"rounding": rounding, "overflow": overflow, "random_bits": random_bits}
            for argument, value in {**of_codes, "nan_to_zero": nan_to_zero or None}.items():
                if value is not None:
                    raise BadValue(argument, f"needs a format of codes as target, not {self.target.name!r}")
        if self.optimize != AREA and not is_wide:
            raise BadValue("optimize", f"{optimize!r} needs a readout to a wide format, not to {self.target.name!r}")
        self.chosen = target_options(self.target, rounding=rounding, overflow=overflow, nan_to_zero=nan_to_zero)
        self.random_bits = random_width(self.chosen.rounding, random_bits)
        self.rounding = None if is_wide else self.chosen.rounding
        self.overflow = None if is_wide else self.chosen.overflow
        ports = {"acc": In(self.accumulator_width)}
        if self.scale_bits:
            ports["scale"] = In(self.scale_bits)
        if self.random_bits is not None:
            ports["random"] = In(self.random_bits)
        super().__init__({**ports, output(self.target): Out(self.target.width)})

    def elaborate(self, _platform: object) -> Module:
        """Normalize, then round."""
        m = Module()
        chosen, unit = self.chosen, self.exact
        random = self.random if chosen.rounding.is_stochastic else None
        rounder = Rounder(self.target, chosen.rounding, chosen.overflow, nan_to_zero=chosen.nan_to_zero, random=random)
        width, weight = unit.value_width, f"2^{unit.lsb_exponent}"
        chapter(m, f"Accumulator: value {width} bits in two's complement, bit 0 weighs {weight}; sign and magnitude")
        value = named(m, "value", self.acc[: unit.value_width])
        pos_inf, neg_inf, nan = map(partial(named, m), ("pos_inf", "neg_inf", "nan"), self.acc[unit.value_width :])
        sign = named(m, "sign", Mux(pos_inf | neg_inf, ~pos_inf, value[-1]) & ~nan)
        is_inf = named(m, "is_inf", (pos_inf | neg_inf) & ~nan)
        magnitude, above = signed_magnitude(m, "magnitude", value, value[-1], self.optimize)
        # The value has 2**steps places, zeros last, so the place of its first 1 is the complement of the shift amount.
        steps = max((unit.value_width - 1).bit_length(), 1)
        spare = (1 << steps) - unit.value_width
        chapter(m, f"Normalize: {1 << steps} bits move left to the first 1")
        above = None if above is None else Cat(Const(-1, spare), above)
        significand, places = normalized(m, Cat(Const(0, spare), magnitude), above=above)
        fraction, rest = cut(significand[:-1], min(rounder.fraction_bits, len(significand) - 1))
        lowest = unit.lsb_exponent
        exponents = lowest, lowest + unit.value_width - 1
        place, is_zero = named(m, "place", ~places), ~significand[-1]
        one = Const(1, 1)
        parts = Parts(sign, place, spare - lowest, exponents, one, fraction, rest, is_zero, is_inf, nan, ~is_zero)
        parts = scaled(m, parts, self.scale) if self.scale_bits else parts
        result = rounder.code(m, parts)
        if self.zero == POSITIVE and self.target.has_negative_zero:
            result = named(m, "signed_result", result)
            result = Cat(result[:-1], result[-1] & result[:-1].any())
        m.d.comb += getattr(self, output(self.target)).eq(result)
        return m


def output(fmt: Format) -> str:
    """Name of the output port."""
    return "bits" if fmt.name in WIDE else "code"


def _rules(core: Readout) -> Rules:
    return wide_rules(core.target.name) if core.rounding is None else code_rules(core.target, core.chosen)


def _lines(core: Readout) -> list[str]:
    lines = code_lines(_rules(core))
    return [state(core.exact), *(lines[:1] if core.rounding is None else lines)]


_TO = Option(
    "to",
    Format,
    "format of the result: binary32, binary16, bfloat16, dlfloat16, or a format of codes",
    argument="target",
    always=True,
    suffix="_{}",
)
_SAME, _OF_CODES = "same as for the accumulator", "if --to is a format of codes (default: that format's)"
READOUT = Block(
    "readout",
    "round an exact accumulator once, to a wide format or to a code",
    Readout,
    (
        replace(options.A_FORMAT, help=f"format of the first operand, {_SAME}: a name, or path of a .toml file"),
        replace(options.B_FORMAT, help=f"format of the second operand, {_SAME} (default: the first's)"),
    ),
    (
        _TO,
        replace(options.TERMS, help=f"{_SAME} (default: {DEFAULT_TERMS})", only_with=None),
        replace(options.SCALE_BITS, attribute="accumulator_scale_bits", help=f"{_SAME}, which has the port", line=None),
        replace(
            options.SCALE_BITS,
            name="result-scale-bits",
            argument="result_scale_bits",
            attribute="scale_bits",
            help="width of the port scale, the exponent of a power of two that multiplies the value; 0: no port",
            suffix="_result_scale{}",
            line=lambda core: options.scale_line("the value is", core.scale_bits),
        ),
        replace(options.ROUNDING, help=f"rounding mode {_OF_CODES}; not hybrid"),
        replace(
            options.OVERFLOW,
            help=f"result of overflow {_OF_CODES}",
            suffix=lambda core: "" if core.overflow is core.target.overflows[0] else f"_{core.overflow}",
        ),
        options.NAN_TO_ZERO,
        options.RANDOM_BITS,
        options.ZERO,
        replace(
            options.OPTIMIZE,
            help="with a wide format as --to: what the datapath is built for: small area, or short delay at up to 1.4 "
            "times the area; the results are the same",
            line=lambda _: options.BESIDE.format("magnitude"),
        ),
    ),
    title=lambda core: f"Readout: rounds an exact accumulator of {operands(core)} to {label(core.target)}",
    lines=_lines,
    rules=_rules,
    meanings={
        "acc": "accumulator: nan, neg_inf, pos_inf, value",
        "scale": "exponent of the power of two that multiplies the value, in two's complement",
        "random": "random bits, uniformly distributed",
        "bits": "bits of the wider format",
        "code": "code of the format",
    },
)
