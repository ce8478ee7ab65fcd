"""Unpacked codes: class, sign, exponent and normalized significand."""

from amaranth.hdl import Const, Module, Mux, Shape, Signal, Value, signed
from amaranth.lib.wiring import PureInterface, Signature

from golden import Biased, Fixed, Format, Kind, SignMagnitude, Special
from golden.rows import Row
from hwgen.datapath.arithmetic import named, range_shape
from hwgen.datapath.ports import magnitude as code_magnitude
from hwgen.datapath.ports import magnitude_rows
from hwgen.datapath.ports import sign as code_sign
from hwgen.datapath.product import number_signature
from hwgen.netlist.book import attributes, chapter


def exponent_shape(fmt: Format) -> Shape:
    """Smallest shape in two's complement for every exponent."""
    low, high = fmt.exponent_range
    return range_shape(min(low, -1), high)


def unpacked_signature(fmt: Format) -> Signature:
    """An unpacked number: value = significand * 2**(exponent - (width of significand - 1)).

    The sign is the code's sign bit, for all classes, and 0 in formats without a sign. The significand is normalized:
    its first bit is 1 for every finite nonzero value, also a subnormal one. For other values it and the exponent are
    zero.
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
    body, rows = fmt.magnitude_bits, magnitude_rows(fmt)
    widths = f"{fmt.width} bits; exponent {len(out.exponent)} bits, significand {fmt.precision} bits"
    outputs = (Value.cast(getattr(out, name)) for name in unpacked_signature(fmt).members)
    chapter(m, f"Decode: {fmt.name}, {widths}, normalized", *outputs)
    m.d.comb += out.sign.eq(code_sign(fmt, code))
    magnitude = named(m, "magnitude", code_magnitude(fmt, code))

    kinds: dict[Kind, Value] = dict.fromkeys((Kind.ZERO, Kind.INF, Kind.NAN), Const(0, 1))
    earlier: Value = Const(0, 1)
    for i, special in enumerate(fmt.specials):
        matched = matches(code, special)
        if sum(other.kind is special.kind for other in fmt.specials) > 1:
            matched = named(m, f"is_special_{i}", matched)
        overlaps = any((special.value ^ other.value) & special.mask & other.mask == 0 for other in fmt.specials[:i])
        kinds[special.kind] |= matched & ~earlier if overlaps else matched
        earlier = earlier | matched
    m.d.comb += [out.is_inf.eq(kinds[Kind.INF]), out.is_nan.eq(kinds[Kind.NAN])]

    hits = [
        named(m, f"is_row_{i}", magnitude[body - len(row.prefix) :] == int(row.prefix, 2))
        if row.prefix
        else Const(1, 1)
        for i, row in enumerate(rows)
    ]
    numbers = [
        (_normal_row if row.hidden else _subnormal_row)(m, f"row_{i}", fmt, row, magnitude)
        for i, row in enumerate(rows)
    ]
    row_exponent = Signal(exponent_shape(fmt), name="row_exponent", attrs=attributes(m))
    row_significand = Signal(fmt.precision, name="row_significand", attrs=attributes(m))
    for row, hit, (exponent, significand) in zip(rows, hits, numbers, strict=True):
        with m.If(hit) if hit is hits[0] else m.Elif(hit) if row.prefix else m.Else():
            m.d.comb += [row_exponent.eq(exponent), row_significand.eq(significand)]
    zero = kinds[Kind.ZERO]
    if not all(row.hidden for row in rows):
        zero = zero | (~row_significand[-1] & ~(kinds[Kind.INF] | kinds[Kind.NAN]))
    zero_or_special = named(m, "zero_or_special", out.is_zero | out.is_inf | out.is_nan)
    m.d.comb += [
        out.is_zero.eq(zero),
        out.exponent.eq(Mux(zero_or_special, 0, row_exponent)),
        out.significand.eq(Mux(zero_or_special, 0, row_significand)),
    ]


def _normal_row(m: Module, name: str, fmt: Format, row: Row, magnitude: Value) -> tuple[Value, Value]:
    """Exponent and significand of the codes in a row with a hidden 1."""
    k, width, shape = row.fraction_bits, fmt.precision, exponent_shape(fmt)
    field = magnitude[k : k + row.exponent.bits]
    match row.exponent:
        case Fixed(exponent=constant):
            exponent: Value = Const(constant, shape)
        case Biased(bias=bias):
            exponent = named(m, f"{name}_exponent", field - bias, shape)
        case SignMagnitude(bits=bits):
            size = Const(1, 1) if bits == 1 else (magnitude[k : k + bits - 1] | Const(1 << (bits - 1), bits))
            exponent = named(m, f"{name}_exponent", Mux(field[-1], -size, size), signed(bits + 1))
    fraction = magnitude[max(k + 1 - width, 0) : k] if k else Const(0, 1)
    return exponent, fraction << max(width - 1 - k, 0) | 1 << (width - 1)


def _subnormal_row(m: Module, name: str, fmt: Format, row: Row, magnitude: Value) -> tuple[Value, Value]:
    """The same without hidden bit; wires move the fraction's first 1 to the front, a case for each of its places."""
    assert isinstance(row.exponent, Fixed)
    k, width = row.fraction_bits, fmt.precision
    exponent = Signal(exponent_shape(fmt), name=f"{name}_exponent", attrs=attributes(m))
    significand = Signal(width, name=f"{name}_significand", attrs=attributes(m))
    for zeros in range(k):
        first = k - 1 - zeros
        with m.If(magnitude[first]) if zeros == 0 else m.Elif(magnitude[first]):
            m.d.comb += exponent.eq(row.exponent.exponent - 1 - zeros)
            m.d.comb += significand.eq(magnitude[max(first + 1 - width, 0) : first + 1] << max(width - 1 - first, 0))
    return exponent, significand
