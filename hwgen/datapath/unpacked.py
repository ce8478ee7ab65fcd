"""What passes between blocks: a number taken apart into class, sign, exponent and normalized significand."""

from amaranth.hdl import Const, Module, Mux, Shape, Signal, Value, signed, unsigned

from golden import Biased, Fixed, Format, Kind, SignMagnitude, Special
from golden.rows import Row
from golden.validation import MAX_WIDTH


def precision(fmt: Format) -> int:
    """Bits of the unpacked significand: the format's widest, hidden bit included."""
    return fmt.precision if fmt.width <= MAX_WIDTH else fmt.rows[-1].fraction_bits + 1


def exponent_range(fmt: Format) -> tuple[int, int]:
    """Exponents of the smallest and the largest finite value."""
    if fmt.width <= MAX_WIDTH:
        return fmt.exponent_range
    normal = fmt.rows[-1]
    assert isinstance(normal.exponent, Biased)
    return 1 - normal.exponent.bias - normal.fraction_bits, normal.exponent.bias


def exponent_shape(fmt: Format) -> Shape:
    """Two's complement shape that holds every exponent."""
    low, high = exponent_range(fmt)
    return signed(max((~low if low < 0 else low).bit_length(), (~high if high < 0 else high).bit_length()) + 1)


class Unpacked:
    """Signals of a number in parts: value = significand * 2**(exponent - (width of significand - 1)).

    Members
    -------
    sign : 1 bit
        The code's sign bit, whatever the class.
    exponent : two's complement
    significand : unsigned
        Normalized: its first bit is 1 for every finite nonzero value, subnormals too. It and the exponent are zero otherwise.
    is_zero, is_inf, is_nan : 1 bit each
    """

    def __init__(self, fmt: Format):
        self.fmt = fmt
        self.sign = Signal(name="sign")
        self.exponent = Signal(exponent_shape(fmt), name="exponent")
        self.significand = Signal(unsigned(precision(fmt)), name="significand")
        self.is_zero = Signal(name="is_zero")
        self.is_inf = Signal(name="is_inf")
        self.is_nan = Signal(name="is_nan")


def matches(code: Value, special: Special) -> Value:
    """Whether a code is one of a special's."""
    bits = [i for i in range(len(code)) if special.mask >> i & 1]
    low, high = bits[0], bits[-1] + 1
    if len(bits) == high - low:
        return code[low:high] == special.value >> low
    return (code & special.mask) == special.value


def unpack(m: Module, fmt: Format, code: Value) -> Unpacked:
    """Add to ``m`` what takes ``code`` apart, row by row."""
    out = Unpacked(fmt)
    body = fmt.width - 1
    m.d.comb += out.sign.eq(code[-1])
    magnitude = Signal(body, name="magnitude")
    m.d.comb += magnitude.eq(Mux(code[-1], -code, code) if fmt.twos_complement else code[:-1])

    found = dict.fromkeys((Kind.ZERO, Kind.INF, Kind.NAN), Const(0, 1))
    earlier: Value = Const(0, 1)
    for special in fmt.specials:
        hit = matches(code, special)
        overlaps = any(
            (special.value ^ other.value) & special.mask & other.mask == 0 for other in fmt.specials[: fmt.specials.index(special)]
        )
        found[special.kind] = found[special.kind] | (hit & ~earlier if overlaps else hit)
        earlier = earlier | hit
    m.d.comb += [out.is_inf.eq(found[Kind.INF]), out.is_nan.eq(found[Kind.NAN])]

    row_exponent = Signal(out.exponent.shape(), name="row_exponent")
    row_significand = Signal(len(out.significand), name="row_significand")
    for i, row in enumerate(fmt.rows):
        hit = magnitude[body - len(row.prefix) :] == int(row.prefix, 2) if row.prefix else Const(1, 1)
        with m.If(hit) if i == 0 else m.Elif(hit) if row.prefix else m.Else():
            if row.hidden:
                _normal_row(m, row, magnitude, row_exponent, row_significand)
            else:
                _subnormal_row(m, row, magnitude, row_exponent, row_significand)
    subnormals = any(not row.hidden for row in fmt.rows)
    nonzero_special = found[Kind.INF] | found[Kind.NAN]
    zero = found[Kind.ZERO]
    if subnormals:
        zero = zero | (~row_significand[-1] & ~nonzero_special)
    m.d.comb += out.is_zero.eq(zero)
    finite = ~(out.is_zero | out.is_inf | out.is_nan)
    m.d.comb += [
        out.exponent.eq(Mux(finite, row_exponent, 0)),
        out.significand.eq(Mux(finite, row_significand, 0)),
    ]
    return out


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
    """A fraction without hidden bit: its first 1 moves to the front, by concatenation."""
    assert isinstance(row.exponent, Fixed)
    k, width = row.fraction_bits, len(significand)
    for zeros in range(k):
        first = k - 1 - zeros
        with m.If(magnitude[first]) if zeros == 0 else m.Elif(magnitude[first]):
            m.d.comb += exponent.eq(row.exponent.exponent - 1 - zeros)
            m.d.comb += significand.eq(magnitude[max(first + 1 - width, 0) : first + 1] << max(width - 1 - first, 0))
