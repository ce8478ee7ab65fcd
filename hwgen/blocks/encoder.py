"""The encoder: rounds bits of a wide format, or a code of another format, to a code."""

from dataclasses import replace

from amaranth.hdl import Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Format, Rounding, WideFormat
from golden.bits import MAX_SCALE_BITS
from golden.options import options
from golden.refusal import BadValue, check_choice, check_flag, check_integer
from hwgen.blocks.arguments import check_names, code_format, random_width
from hwgen.blocks.block import Block, Option
from hwgen.blocks.options import (
    FLAGS,
    FORMAT,
    NAN_TO_ZERO,
    OPTIMIZE,
    OVERFLOW,
    RANDOM_BITS,
    ROUNDING,
    SCALE_BITS,
    scale_line,
)
from hwgen.blocks.words import Rules, code_lines, code_rules, label
from hwgen.datapath.goal import AREA, GOALS, SPEED
from hwgen.datapath.ports import FLAG_BITS, flag_port
from hwgen.netlist.component import Checked
from hwgen.rounding.direct import ROUNDINGS as DIRECT_ROUNDINGS
from hwgen.rounding.direct import Direct
from hwgen.rounding.position import code_parts, scaled
from hwgen.rounding.rounder import Rounder
from hwgen.rounding.source import hybrid_threshold, scaled_parts, source_parts


class Encoder(Checked, wiring.Component):
    """Round bits of a wide format, or a code of another format, to a code; combinational.

    Parameters
    ----------
    fmt : Format or str
    source : Format or str
        ``binary32``, ``binary16``, ``bfloat16``, ``dlfloat16``, or a format of codes.
    rounding, overflow : str, optional
        One of the format's. Default: the format's (specification, section 0).
    nan_to_zero : bool
        Whether NaN becomes code 0.
    random_bits : int, optional
        Width of ``random``, 1 to 32; with stochastic roundings only. Default: 16.
    rounding_pin : bool
        With ``hybrid`` only: whether a pin selects ``hybrid`` or ``ties_to_away``.
    flags : bool
        Whether there is a port ``flags``.
    scale_bits : int
        Width of ``scale``, up to 10; 0: no port and no scale.
    optimize : str
        ``area``, or ``speed``: the code as sums of products, mostly in less than 0.7 of the delay, see
        :mod:`hwgen.rounding.direct`. For signed formats with zero whose codes depend on up to 8 fraction bits
        (10 of the source's subnormals), from wide formats with infinity, without flags and scale, in ``ties_to_even``,
        ``ties_to_away`` or ``toward_zero``.

    Members
    -------
    bits : ``In(source width)``
    scale : ``In(scale_bits)``
        Exponent, in two's complement, of a power of two that multiplies the number before it is rounded once.
    random : ``In(random_bits)``
        With stochastic roundings only: uniformly distributed, fresh for every input.
    hybrid : ``In(1)``
        With ``rounding_pin`` only: 1 is ``hybrid``, for HiFloat8's backward pass; 0 is ``ties_to_away``, for its
        forward pass.
    code : ``Out(fmt.width)``
    flags : ``Out(4)``
        With ``flags`` only: a :class:`golden.Flag` word, as :meth:`golden.Format.encode_with_flags` returns it.
    """

    def __init__(
        self,
        fmt: Format | str,
        source: Format | str = "binary32",
        *,
        rounding: str | None = None,
        overflow: str | None = None,
        nan_to_zero: bool = False,
        random_bits: int | None = None,
        rounding_pin: bool = False,
        flags: bool = False,
        scale_bits: int = 0,
        optimize: str = AREA,
    ):
        self.fmt = code_format("fmt", fmt)
        nan_to_zero = check_flag("nan_to_zero", nan_to_zero)
        self.chosen = chosen = options(self.fmt, source, rounding, overflow, nan_to_zero)
        check_names("source", chosen.source, self.fmt)
        self.source, self.nan_to_zero = chosen.source, nan_to_zero
        self.rounding, self.overflow = chosen.rounding, chosen.overflow
        self.random_bits = random_width(self.rounding, random_bits)
        self.rounding_pin, self.has_flags = check_flag("rounding_pin", rounding_pin), check_flag("flags", flags)
        if rounding_pin and self.rounding is not Rounding.HYBRID:
            raise BadValue("rounding_pin", f"needs rounding 'hybrid', not {self.rounding.value!r}")
        self.scale_bits = check_integer("scale_bits", scale_bits, 0, MAX_SCALE_BITS)
        self.optimize = check_choice("optimize", optimize, GOALS)
        if self.optimize == SPEED and (missing := self._missing_for_speed()):
            raise BadValue("optimize", f"{optimize!r} needs {missing}")
        ports = {"bits": In(self.source.width)}
        if self.scale_bits:
            ports["scale"] = In(self.scale_bits)
        if self.random_bits is not None:
            ports["random"] = In(self.random_bits)
        if rounding_pin:
            ports["hybrid"] = In(1)
        super().__init__({**ports, "code": Out(self.fmt.width), **flag_port(flags)})

    def elaborate(self, _platform: object) -> Module:
        """Split the source into fields, round, assemble the code."""
        m = Module()
        if self.optimize == SPEED:
            m.d.comb += self.code.eq(self._direct().code(m, self.bits, self.fmt.width))
            return m
        signals = {
            "random": None if self.random_bits is None else self.random,
            "threshold": hybrid_threshold(self.source, self.bits) if self.rounding is Rounding.HYBRID else None,
            "pin": self.hybrid if self.rounding_pin else None,
        }
        rounder = Rounder(self.fmt, self.rounding, self.overflow, nan_to_zero=self.nan_to_zero, **signals)
        signaling: Value = Const(0, 1)
        if isinstance(self.source, WideFormat):
            if self.scale_bits:
                parts = scaled_parts(m, self.source, self.bits, rounder, self.scale)
            else:
                parts = source_parts(m, self.source, self.bits, rounder)
            signaling = parts.is_nan & ~self.bits[self.source.fraction_bits - 1]
        else:
            parts = code_parts(m, self.source, self.bits)
            parts = scaled(m, parts, self.scale) if self.scale_bits else parts
        if not self.has_flags:
            m.d.comb += self.code.eq(rounder.code(m, parts))
            return m
        code, flags = rounder.code_and_flags(m, parts, signaling)
        m.d.comb += [self.code.eq(code), self.flags.eq(flags)]
        return m

    def _missing_for_speed(self) -> str | None:
        """What a code as sums of products needs, and the encoder lacks."""
        if self.has_flags:
            return "an encoder without flags"
        if self.scale_bits:
            return "an encoder without a scale"
        if self.rounding not in DIRECT_ROUNDINGS:
            known = ", ".join(rounding.value for rounding in DIRECT_ROUNDINGS)
            return f"one of the roundings {known}, not {self.rounding.value!r}"
        if not isinstance(self.source, WideFormat) or self.source.infinity is None:
            return f"an encoder from binary32, binary16 or bfloat16, not from {self.source.name!r}"
        if not (self.fmt.signed and self.fmt.has_zero):
            return f"a signed format with zero, not {self.fmt.name!r}"
        if places := self._direct().places_refused:
            return f"codes that depend on {places}"
        return None

    def _direct(self) -> Direct:
        assert isinstance(self.source, WideFormat)
        rounder = Rounder(self.fmt, self.rounding, self.overflow, nan_to_zero=self.nan_to_zero)
        return Direct(self.source, rounder)


def _rules(core: Encoder) -> Rules:
    rules = code_rules(core.fmt, core.chosen)
    if not core.rounding_pin:
        return rules
    rule = f"if the pin hybrid is 1, {core.rounding.rule}; if it is 0, {Rounding.TIES_TO_AWAY.rule}"
    return rules | {"rounding": rule}


_FROM = Option(
    "from",
    Format,
    "format of the input: binary32, binary16, bfloat16, dlfloat16, or a format of codes",
    argument="source",
    always=True,
    suffix="_{}",
)
_ROUNDING_PIN = Option(
    "rounding-pin",
    bool,
    "with --rounding hybrid: a port hybrid that selects hybrid (1) or ties_to_away (0)",
    suffix="_pin",
    only_with=("rounding", (Rounding.HYBRID.value,)),
)
_SCALE_BITS = replace(
    SCALE_BITS,
    help="width of the port scale, the exponent of a power of two that multiplies the number; 0: no port",
    line=lambda core: scale_line("the number is", core.scale_bits),
)
_OPTIMIZE = replace(
    OPTIMIZE,
    help="what the encoder is built for: small area, or mostly less than 0.7 of the delay (signed formats, to nearest "
    "or toward zero, without flags); the codes are the same",
    line=lambda _: "Optimized for speed: each bit of the code is a sum of products of exponent and fraction",
)
ENCODER = Block(
    "encoder",
    "round a wider format, or a code of another format, to a code, in any of the format's roundings",
    Encoder,
    (FORMAT,),
    (_FROM, ROUNDING, OVERFLOW, NAN_TO_ZERO, RANDOM_BITS, _ROUNDING_PIN, FLAGS, _SCALE_BITS, _OPTIMIZE),
    title=lambda core: (
        f"Encoder from {core.source.name if isinstance(core.source, WideFormat) else label(core.source)} "
        f"to {label(core.fmt)}"
    ),
    lines=lambda core: code_lines(_rules(core)),
    rules=_rules,
    meanings={
        "bits": "bits of the source",
        "scale": "exponent of the power of two that multiplies the number, in two's complement",
        "random": "random bits, uniformly distributed",
        "hybrid": "rounding: 1 is hybrid, 0 is ties_to_away",
        "code": "code of the format",
        "flags": f"status: {FLAG_BITS}",
    },
)
