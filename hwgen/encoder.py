"""The encoder: bits of a wide format in, a code out."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Biased, Format, Rounding, get
from golden.encode import check_random_bits, options
from hwgen.rounder import Parts, Rounder


class Encoder(wiring.Component):
    """Round bits of a wide format to a code; combinational.

    Parameters
    ----------
    fmt : Format or str
    source : str
        ``binary32``, ``binary16``, ``bfloat16`` or ``dlfloat16``.
    rounding, overflow : str, optional
        One of the format's; None is its default (specification, section 0).
    nan_to_zero : bool
        Whether NaN becomes code 0.
    random_bits : int
        Width of ``random``, 1 to 32; with ``stochastic`` only.

    Members
    -------
    bits : ``In(source width)``
    random : ``In(random_bits)``
        With ``stochastic`` only: uniformly distributed, fresh for every input.
    code : ``Out(fmt.width)``
    """

    def __init__(
        self,
        fmt: Format | str,
        source: str = "binary32",
        rounding: str | None = None,
        overflow: str | None = None,
        nan_to_zero: bool = False,
        random_bits: int = 16,
    ):
        self.fmt = get(fmt)
        self.options = options(self.fmt, source, rounding, overflow, nan_to_zero)
        ports = {"bits": In(self.options.source.width)}
        if self.options.rounding is Rounding.STOCHASTIC:
            check_random_bits(random_bits)
            ports["random"] = In(random_bits)
        super().__init__({**ports, "code": Out(self.fmt.width)})

    def elaborate(self, platform: object) -> Module:
        """Take the source apart, round, put the code together."""
        del platform
        m = Module()
        chosen = self.options
        random = self.random if chosen.rounding is Rounding.STOCHASTIC else None
        parts = source_parts(m, chosen.source, self.bits, self._lowest_relevant(), random)
        rounder = Rounder(self.fmt, chosen.rounding, chosen.overflow, chosen.nan_to_zero, parts)
        m.d.comb += self.code.eq(rounder.code(m))
        return m

    def _lowest_relevant(self) -> int:
        """Smallest exponent that can round to anything but zero; it does not depend on the parts' values."""
        chosen = self.options
        nothing = Const(0, 1)
        random = self.random if chosen.rounding is Rounding.STOCHASTIC else None
        blank = Parts(nothing, nothing, 0, (0, 0), nothing, nothing, nothing, nothing, self.bits, random)
        return Rounder(self.fmt, chosen.rounding, chosen.overflow, chosen.nan_to_zero, blank).lowest_relevant


def source_parts(m: Module, source: Format, bits: Value, lowest_relevant: int, random: Value | None) -> Parts:
    """Fields of a source format; its subnormals are normalized only where they can matter.

    ::

        | sign | exponent field | fraction |
    """
    normal = source.rows[-1]
    assert isinstance(normal.exponent, Biased)
    k, field_bits, bias = normal.fraction_bits, normal.exponent.bits, normal.exponent.bias
    fraction, field = Signal(k, name="fraction"), Signal(field_bits, name="field")
    significand = Signal(k + 1, name="significand")
    is_zero, is_inf, is_nan = Signal(name="is_zero"), Signal(name="is_inf"), Signal(name="is_nan")
    m.d.comb += [fraction.eq(bits[:k]), field.eq(bits[k:-1])]

    def parts(exponent: Value, offset: int, exponents: tuple[int, int]) -> Parts:
        return Parts(bits[-1], exponent, offset, exponents, significand, is_zero, is_inf, is_nan, bits, random)

    if source.infinity is None:  # dlfloat16: no subnormals, no infinity, one NaN-or-infinity
        m.d.comb += [
            significand.eq(fraction | 1 << k),
            is_zero.eq((field == 0) & (fraction == 0)),
            is_nan.eq(field.all() & fraction.all()),
        ]
        return parts(field, bias, (-bias, (1 << field_bits) - 1 - bias))
    m.d.comb += [is_inf.eq(field.all() & (fraction == 0)), is_nan.eq(field.all() & (fraction != 0))]
    lowest_normal, highest = 1 - bias, bias
    if lowest_relevant >= lowest_normal:
        m.d.comb += [significand.eq(fraction | 1 << k), is_zero.eq(field == 0)]
        return parts(field, bias, (lowest_normal, highest))
    # Subnormals matter: zeros in front of the fraction are counted and shifted out, down to the smallest that is relevant.
    deepest = min(lowest_normal - lowest_relevant, k)
    is_subnormal = Signal(name="is_subnormal")
    zeros = Signal(range(deepest + 1), name="leading_zeros")
    m.d.comb += is_subnormal.eq(field == 0)
    with m.If(~is_subnormal):
        m.d.comb += zeros.eq(0)
    for n in range(1, deepest):
        with m.Elif(fraction[k - n]):
            m.d.comb += zeros.eq(n)
    with m.Else():
        m.d.comb += zeros.eq(deepest)
    exponent = Signal(range((1 << field_bits) + k), name="exponent")
    m.d.comb += [
        significand.eq(Cat(fraction, ~is_subnormal) << zeros),
        is_zero.eq(~significand[-1]),
        exponent.eq((field | is_subnormal) + deepest - zeros),
    ]
    return parts(exponent, bias + deepest, (lowest_normal - deepest, highest))
