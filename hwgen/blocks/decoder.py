"""The decoder: a code in, its parts or the bits of a wider format out."""

from amaranth.hdl import Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from golden import Format, get
from hwgen.datapath.code_ports import code, code_ports
from hwgen.datapath.unpacked import exponent_range, exponent_shape, precision, unpack
from hwgen.rounding.position import Parts
from hwgen.rounding.rounder import Rounder

TARGETS = ("binary16", "bfloat16", "binary32", "dlfloat16", "unpacked")


def check_target(target: str) -> str:
    """Return a decoder's target, or raise ValueError if there is none of that name."""
    if target not in TARGETS:
        raise ValueError(f"Target must be one of {', '.join(TARGETS)}, not {target!r}")
    return target


class Decoder(wiring.Component):
    """Decode a code; combinational.

    Parameters
    ----------
    fmt : Format or str
    target : str
        ``binary16``, ``bfloat16``, ``binary32``, ``dlfloat16`` or ``unpacked``.

    Members
    -------
    code : ``In(fmt.width)``
        And ``code_select`` where ``fmt`` is of two formats.
    bits : ``Out(target width)``
        The value in the target format: exact wherever the target holds it; otherwise rounded to nearest (ties to even, in
        ``dlfloat16`` away), overflow to infinity, gradual underflow. NaN is the target's canonical one.
    sign, exponent, significand, is_zero, is_inf, is_nan : ``Out``
        Instead of ``bits``, with target ``unpacked``: value = significand * 2**(exponent - (width of significand - 1)). ``exponent``
        are two's complement bits; ``significand`` is normalized; both are zero unless the value is finite and not zero. ``sign`` is
        the code's first bit.
    """

    def __init__(self, fmt: Format | str, target: str = "unpacked"):
        self.fmt = get(fmt)
        self.target = check_target(target)
        ports = code_ports("code", self.fmt)
        if target == "unpacked":
            ports |= {
                "sign": Out(1),
                "exponent": Out(exponent_shape(self.fmt).width),
                "significand": Out(precision(self.fmt)),
                "is_zero": Out(1),
                "is_inf": Out(1),
                "is_nan": Out(1),
            }
        else:
            ports["bits"] = Out(get(target).width)
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        """Take the code apart; put the target's bits together."""
        del platform
        m = Module()
        u = unpack(m, self.fmt, code(self, "code", self.fmt))
        if self.target == "unpacked":
            m.d.comb += [
                getattr(self, name).eq(getattr(u, name)) for name in ("sign", "exponent", "significand", "is_zero", "is_inf", "is_nan")
            ]
            return m
        target = get(self.target)
        parts = Parts(
            u.sign, u.exponent, 0, exponent_range(self.fmt), Const(1, 1), u.significand[:-1], Const(0, 1), u.is_zero, u.is_inf, u.is_nan
        )
        rounder = Rounder(target, target.roundings[0], target.overflows[0])
        m.d.comb += self.bits.eq(rounder.code(m, parts))
        return m
