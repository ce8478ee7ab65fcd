"""The encoder: bits of a wide format in, a code out."""

from amaranth.hdl import Cat, Const, Module, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Biased, Format, Rounding, get
from golden.options import Options, check_random_bits, options
from hwgen.datapath.flags import flag_port
from hwgen.rounding.position import Parts
from hwgen.rounding.rounder import Rounder


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
    rounding_pin : bool
        With ``hybrid`` only: whether a pin chooses between it and ``ties_to_away``.
    flags : bool
        Whether there is a port ``flags``.

    Members
    -------
    bits : ``In(source width)``
    random : ``In(random_bits)``
        With ``stochastic`` only: uniformly distributed, fresh for every input.
    hybrid : ``In(1)``
        With ``rounding_pin`` only: 1 rounds ``hybrid``, as in HiFloat8's backward pass, 0 ``ties_to_away``, as in its forward pass.
    code : ``Out(fmt.width)``
    flags : ``Out(4)``
        If there is one: a :class:`golden.Flag` word, see :func:`golden.flags.of_conversion`.
    """

    def __init__(
        self,
        fmt: Format | str,
        source: str = "binary32",
        rounding: str | None = None,
        overflow: str | None = None,
        nan_to_zero: bool = False,
        random_bits: int = 16,
        rounding_pin: bool = False,
        flags: bool = False,
    ):
        self.fmt = get(fmt)
        self.options = options(self.fmt, source, rounding, overflow, nan_to_zero)
        ports = {"bits": In(self.options.source.width)}
        if self.options.rounding is Rounding.STOCHASTIC:
            check_random_bits(random_bits)
            ports["random"] = In(random_bits)
        self.has_pin = check_rounding_pin(rounding_pin, self.options)
        if self.has_pin:
            ports["hybrid"] = In(1)
        self.has_flags = flags
        super().__init__({**ports, "code": Out(self.fmt.width), **flag_port(flags)})

    def elaborate(self, platform: object) -> Module:
        """Take the source apart, round, put the code together."""
        del platform
        m = Module()
        chosen = self.options
        random = self.random if chosen.rounding is Rounding.STOCHASTIC else None
        threshold = self._hybrid_threshold() if chosen.rounding is Rounding.HYBRID else None
        pin = self.hybrid if self.has_pin else None
        rounder = Rounder(self.fmt, chosen.rounding, chosen.overflow, chosen.nan_to_zero, random, threshold, pin, self.has_flags)
        parts = source_parts(m, chosen.source, self.bits, rounder)
        if not self.has_flags:
            m.d.comb += self.code.eq(rounder.code(m, parts))
            return m
        quiet = self.bits[chosen.source.rows[-1].fraction_bits - 1]  # the first fraction bit
        code, flags = rounder.code_and_flags(m, parts, self.bits[:-1].any(), parts.is_nan & ~quiet)
        m.d.comb += [self.code.eq(code), self.flags.eq(flags)]
        return m

    def _hybrid_threshold(self) -> Value:
        """The source's own bits that hybrid rounding compares the tail with (specification, 1.3)."""
        return self.bits[:14] if self.options.source.width == 32 else Cat(Const(1, 1), self.bits[0])


def check_rounding_pin(rounding_pin: bool, chosen: Options) -> bool:
    """Return whether there is a pin that chooses the rounding, or raise ValueError."""
    if rounding_pin and chosen.rounding is not Rounding.HYBRID:
        raise ValueError(f"rounding_pin goes with rounding 'hybrid' only, not with {chosen.rounding.value!r}")
    return rounding_pin


def source_parts(m: Module, source: Format, bits: Value, rounder: Rounder) -> Parts:
    """Fields of a source format; its subnormals are normalized only where they can matter.

    ::

        | sign | exponent field | fraction, its first bits | the others: is there a 1? |
    """
    normal = source.rows[-1]
    assert isinstance(normal.exponent, Biased)
    k, field_bits, bias = normal.fraction_bits, normal.exponent.bits, normal.exponent.bias
    first = min(rounder.fraction_bits, k)
    whole, fraction, field = bits[:k], Signal(first, name="fraction"), Signal(field_bits, name="field")
    rest, is_nan = Signal(name="rest"), Signal(name="is_nan")
    m.d.comb += [fraction.eq(whole[k - first :]), field.eq(bits[k:-1]), rest.eq(whole[: k - first].any())]
    one, nothing = Const(1, 1), Const(0, 1)
    if source.infinity is None:  # dlfloat16: no subnormals, no infinity, one NaN-or-infinity
        is_zero = Signal(name="is_zero")
        m.d.comb += [is_zero.eq(~bits[:-1].any()), is_nan.eq(bits[:-1].all())]
        return Parts(bits[-1], field, bias, (-bias, (1 << field_bits) - 1 - bias), one, fraction, rest, is_zero, nothing, is_nan)

    is_special = Signal(name="is_special")
    m.d.comb += [is_special.eq(field.all()), is_nan.eq(is_special & (fraction.any() | rest))]
    is_inf = is_special & ~is_nan
    lowest_normal, special = 1 - bias, bias + 1
    if rounder.lowest_relevant >= lowest_normal:
        return Parts(bits[-1], field, bias, (-bias, special), one, fraction, rest, nothing, is_inf, is_nan, special)

    # Subnormals matter: zeros in front of the fraction are counted and shifted out, down to the smallest that must be normalized.
    deepest = min(max(lowest_normal - rounder.normalized_from, 0), k)
    lowest = lowest_normal - deepest - 1
    zeros = Signal(range(deepest + 2), name="leading_zeros")
    exponent = Signal(Shape(field_bits + 1, signed=True), name="exponent")
    with m.If(field.any()):
        m.d.comb += [zeros.eq(0), exponent.eq(field)]
    for n in range(1, deepest + 1):
        with m.Elif(whole[k - n]):
            m.d.comb += [zeros.eq(n), exponent.eq(1 - n)]
    with m.Else():
        m.d.comb += [zeros.eq(deepest + 1), exponent.eq(-deepest)]
    hidden, is_zero = one, nothing
    if rounder.lowest_relevant <= lowest < rounder.normalized_from:  # the lowest exponent stands for all that is left, zero too
        hidden = Signal(name="hidden")
        m.d.comb += hidden.eq(whole[k - 1 - deepest] | (exponent != -deepest) if deepest < k else exponent != -deepest)
    elif rounder.lowest_relevant <= lowest:  # it stands for zero, and does not tell it
        is_zero = exponent == -deepest
    normalized = Signal(k, name="normalized")
    m.d.comb += normalized.eq(whole << zeros)
    return Parts(
        bits[-1], exponent, bias, (lowest, special), hidden, normalized[k - first :], normalized[: k - first].any(),
        is_zero, is_inf, is_nan, special,
    )  # fmt: skip
