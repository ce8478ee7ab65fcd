"""Unpacked codes: class, sign, exponent and normalized significand."""

from amaranth.hdl import Const, Module, Mux, Shape, Signal, Value
from amaranth.lib.wiring import PureInterface, Signature

from golden import Biased, Fixed, Format, Kind, SignMagnitude, Special
from golden.rows import Row
from hwgen.datapath.arithmetic import named, range_shape
from hwgen.datapath.product import number_signature
from hwgen.netlist.book import attributes, chapter


def exponent_shape(fmt: Format) -> Shape:
    """Smallest shape in two's complement for every exponent."""
    low, high = fmt.exponent_range
    return range_shape(min(low, -1), high)


def unpacked_signature(fmt: Format) -> Signature:
    """An unpacked number: value = significand * 2**(exponent - (width of significand - 1)).

    Members
    -------
    sign : ``Out(1)``
        The code's sign bit, for all classes.
    exponent : ``Out(exponent_shape(fmt))``
    significand : ``Out(fmt.precision)``
        Normalized: its first bit is 1 for every finite nonzero value, also a subnormal one. For other values it and the
        exponent are zero.
    is_zero, is_inf, is_nan : ``Out(1)``
    """
    return number_signature(exponent_shape(fmt), fmt.precision)


def matches(code: Value, special: Special) -> Value:
    """Whether a code is one of a special value's."""
    bits = [i for i in range(len(code)) if special.mask >> i & 1]
    low, high = bits[0], bits[-1] + 1
    if len(bits) == high - low:
        return code[low:high] == special.value >> low
    return (code & special.mask) == special.value


def unpack(m: Module, fmt: Format, code: Value, out: PureInterface) -> None:
    """Add the hardware that unpacks ``code`` into ``out``, which has an :func:`unpacked_signature`."""
    body = fmt.width - 1
    widths = f"{fmt.width} bits; exponent {len(out.exponent)} bits, significand {fmt.precision} bits"
    outputs = (Value.cast(getattr(out, name)) for name in unpacked_signature(fmt).members)
    chapter(m, f"Decode: {fmt.name}, {widths}, normalized", *outputs)
    m.d.comb += out.sign.eq(code[-1])
    magnitude = named(m, "magnitude", Mux(code[-1], -code, code) if fmt.twos_complement else code, body)

    kinds: dict[Kind, Value] = dict.fromkeys((Kind.ZERO, Kind.INF, Kind.NAN), Const(0, 1))
    earlier: Value = Const(0, 1)
    for i, special in enumerate(fmt.specials):
        matched = matches(code, special)
        overlaps = any((special.value ^ other.value) & special.mask & other.mask == 0 for other in fmt.specials[:i])
        kinds[special.kind] |= matched & ~earlier if overlaps else matched
        earlier = earlier | matched
    m.d.comb += [out.is_inf.eq(kinds[Kind.INF]), out.is_nan.eq(kinds[Kind.NAN])]

    row_exponent = Signal(exponent_shape(fmt), name="row_exponent", attrs=attributes(m))
    row_significand = Signal(fmt.precision, name="row_significand", attrs=attributes(m))
    hits = [
        named(m, f"is_row_{i}", magnitude[body - len(row.prefix) :] == int(row.prefix, 2))
        if row.prefix
        else Const(1, 1)
        for i, row in enumerate(fmt.rows)
    ]
    for i, (row, hit) in enumerate(zip(fmt.rows, hits, strict=True)):
        with m.If(hit) if i == 0 else m.Elif(hit) if row.prefix else m.Else():
            unpack_row = _normal_row if row.hidden else _subnormal_row
            unpack_row(m, row, magnitude, row_exponent, row_significand)
    zero = kinds[Kind.ZERO]
    if not all(row.hidden for row in fmt.rows):
        zero = zero | (~row_significand[-1] & ~(kinds[Kind.INF] | kinds[Kind.NAN]))
    zero_or_special = named(m, "zero_or_special", out.is_zero | out.is_inf | out.is_nan)
    m.d.comb += [
        out.is_zero.eq(zero),
        out.exponent.eq(Mux(zero_or_special, 0, row_exponent)),
        out.significand.eq(Mux(zero_or_special, 0, row_significand)),
    ]


def _normal_row(m: Module, row: Row, magnitude: Value, exponent: Signal, significand: Signal) -> None:
    k = row.fraction_bits
    field = magnitude[k : k + row.exponent.bits]
    match row.exponent:
        case Fixed(exponent=constant):
            m.d.comb += exponent.eq(constant)
        case Biased(bias=bias):
            m.d.comb += exponent.eq(field - bias)
        case SignMagnitude(bits=bits):
            size = Const(1, 1) if bits == 1 else (magnitude[k : k + bits - 1] | Const(1 << (bits - 1), bits))
            m.d.comb += exponent.eq(Mux(field[-1], -size, size))
    width = len(significand)
    fraction = magnitude[max(k + 1 - width, 0) : k] if k else Const(0, 1)
    m.d.comb += significand.eq(fraction << max(width - 1 - k, 0) | 1 << (width - 1))


def _subnormal_row(m: Module, row: Row, magnitude: Value, exponent: Signal, significand: Signal) -> None:
    """A fraction without hidden bit; wires move its first 1 to the front, a case for each of its places."""
    assert isinstance(row.exponent, Fixed)
    k, width = row.fraction_bits, len(significand)
    for zeros in range(k):
        first = k - 1 - zeros
        with m.If(magnitude[first]) if zeros == 0 else m.Elif(magnitude[first]):
            m.d.comb += exponent.eq(row.exponent.exponent - 1 - zeros)
            m.d.comb += significand.eq(magnitude[max(first + 1 - width, 0) : first + 1] << max(width - 1 - first, 0))
