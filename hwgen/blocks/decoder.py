"""The decoder: converts a code to a wider format, or splits it into sign, exponent and significand."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from golden import Format, get
from golden.names import check_name
from hwgen.blocks.arguments import code_format
from hwgen.blocks.block import Block
from hwgen.blocks.options import FORMAT, TARGETS, TO
from hwgen.blocks.words import Rules, label, wide_rules
from hwgen.datapath.ports import code, code_ports
from hwgen.datapath.unpacked import unpack, unpacked_signature
from hwgen.netlist.component import Checked
from hwgen.rounding.position import code_parts
from hwgen.rounding.rounder import Rounder


class Decoder(Checked, wiring.Component):
    """Decode a code; combinational.

    Parameters
    ----------
    fmt : Format or str
    target : str
        ``binary16``, ``bfloat16``, ``binary32``, ``dlfloat16`` or ``unpacked``.

    Members
    -------
    code : ``In(fmt.width)``
        And ``code_select`` for a pair of formats.
    bits : ``Out(target width)``
        The value in the target format: exact if the target can represent it, else rounded to nearest (ties to even;
        ``dlfloat16``: away from zero) with overflow to infinity and gradual underflow. NaN is the canonical one.
    sign, exponent, significand, is_zero, is_inf, is_nan : ``Out``
        With target ``unpacked``, instead of ``bits``: value = significand * 2**(exponent - (width of significand - 1)).
        ``exponent`` is in two's complement; ``significand`` is normalized; both are zero unless the value is finite and
        not zero. ``sign`` is the code's first bit.
    """

    def __init__(self, fmt: Format | str, target: str = "unpacked"):
        self.fmt, self.target = code_format("fmt", fmt), check_name("target", target, TARGETS)
        is_unpacked = self.target == "unpacked"
        outputs = unpacked_signature(self.fmt).members if is_unpacked else {"bits": Out(get(self.target).width)}
        super().__init__({**code_ports("code", self.fmt), **outputs})

    def elaborate(self, _platform: object) -> Module:
        """Unpack the code, then assemble the target's bits."""
        m = Module()
        if self.target == "unpacked":
            unpack(m, self.fmt, code(self, "code", self.fmt), self)
            return m
        target = get(self.target)
        rounder = Rounder(target, target.roundings[0], target.overflows[0])
        m.d.comb += self.bits.eq(rounder.code(m, code_parts(m, self.fmt, code(self, "code", self.fmt))))
        return m


def _lines(core: Decoder) -> list[str]:
    if core.target == "unpacked":
        return []
    return [f"Rounding: exact if {core.target} can represent the value; else {_rules(core)['rounding']}"]


def _rules(core: Decoder) -> Rules:
    if core.target != "unpacked":
        return wide_rules(core.target)
    return {"rounding": "none: every value is exact", "overflow": "none", "nan": "the port is_nan is 1"}


DECODER = Block(
    "decoder",
    "convert a code to a wider format, or to sign, exponent and significand",
    Decoder,
    (FORMAT,),
    (TO,),
    title=lambda core: f"Decoder from {label(core.fmt)} to {core.target}",
    lines=_lines,
    rules=_rules,
    codes=("code",),
    meanings={
        "code": "code of the format",
        "bits": "bits of the wider format",
        "sign": "first bit of the code",
        "exponent": "in two's complement; 0 unless the value is finite and not zero",
        "significand": "normalized; 0 unless the value is finite and not zero",
        "is_zero": "the value is zero",
        "is_inf": "the value is infinite",
        "is_nan": "the code is NaN",
    },
)
