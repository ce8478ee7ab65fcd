"""The fields of a wide format's bits, as a number to be encoded.

::

    | sign | exponent field | first fraction bits | rest: is any of the other fraction bits 1? |

There are two circuits for subnormals. Encoders count the zeros by a priority chain and shift them out; quantizers need
more places, for which a shifter that looks for the first 1 itself is smaller.
"""

from dataclasses import replace

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value

from golden import Format, WideFormat
from golden.bits import scale_range
from hwgen.datapath.arithmetic import extended, named
from hwgen.datapath.normalize import normalized
from hwgen.netlist.book import attributes, chapter
from hwgen.rounding.position import Parts, scaled
from hwgen.rounding.rounder import Rounder


def source_parts(m: Module, source: WideFormat, bits: Value, rounder: Rounder) -> Parts:
    """Fields of a source format; subnormals are normalized only where that can affect the result."""
    parts = _fields(m, source, bits, rounder)
    k, field, bias, first = source.fraction_bits, parts.exponent, source.bias, len(parts.fraction)
    if source.infinity is None:  # dlfloat16: no subnormals, no infinity, one NaN-or-infinity
        is_zero, is_nan = named(m, "is_zero", ~bits[:-1].any()), named(m, "is_nan", bits[:-1].all())
        return replace(parts, exponents=(-bias, (1 << len(field)) - 1 - bias), is_zero=is_zero, is_nan=is_nan)

    is_special = named(m, "is_special", field.all())
    is_nan = named(m, "is_nan", is_special & (parts.fraction.any() | parts.rest))
    is_inf = named(m, "is_inf", is_special & ~is_nan)
    lowest_normal, special = 1 - bias, bias + 1
    parts = replace(parts, exponents=(-bias, special), is_inf=is_inf, is_nan=is_nan, special_exponent=special)
    if rounder.lowest_relevant >= lowest_normal:
        return parts

    # Count the zeros in front of a subnormal's fraction and shift them out, as far as the rounder needs it.
    deepest, whole = min(max(lowest_normal - rounder.normalized_from, 0), k), bits[:k]
    chapter(m, _normalizing(deepest))
    lowest = lowest_normal - deepest - 1
    zeros = Signal(range(deepest + 2), name="leading_zeros", attrs=attributes(m))
    exponent = Signal(Shape(len(field) + 1, signed=True), name="exponent", attrs=attributes(m))
    with m.If(named(m, "is_normal", field.any())):
        m.d.comb += [zeros.eq(0), exponent.eq(field)]
    for n in range(1, deepest + 1):
        with m.Elif(whole[k - n]):
            m.d.comb += [zeros.eq(n), exponent.eq(1 - n)]
    with m.Else():
        m.d.comb += [zeros.eq(deepest + 1), exponent.eq(-deepest)]
    if rounder.lowest_relevant <= lowest < rounder.normalized_from:
        # the lowest exponent stands for zero and for all subnormals that are not normalized
        hidden: Value = exponent != -deepest
        hidden = named(m, "hidden", whole[k - 1 - deepest] | hidden if deepest < k else hidden)
        parts = replace(parts, hidden=hidden)
    elif rounder.lowest_relevant <= lowest:  # the lowest exponent stands for zero alone
        parts = replace(parts, is_zero=named(m, "is_zero", exponent == -deepest))
    normalized = named(m, "normalized", (whole << zeros)[:k])
    fraction, rest = normalized[k - first :], normalized[: k - first].any()
    return replace(parts, exponent=exponent, exponents=(lowest, special), fraction=fraction, rest=rest)


def scaled_parts(m: Module, source: WideFormat, bits: Value, rounder: Rounder, scale: Value) -> Parts:
    """Fields of a number times 2**scale; subnormals are normalized only where that can affect the result."""
    if source.infinity is None:
        return scaled(m, source_parts(m, source, bits, rounder), scale)
    parts = dividend_parts(m, source, bits, rounder, -scale_range(len(scale))[1])
    is_special = named(m, "is_special", bits[source.fraction_bits : -1].all())
    is_nan = named(m, "is_nan", is_special & bits[: source.fraction_bits].any())
    return scaled(m, replace(parts, is_inf=named(m, "is_inf", is_special & ~is_nan), is_nan=is_nan), scale)


def hybrid_threshold(source: Format, bits: Value) -> Value:
    """The source's own bits that hybrid rounding compares the tail with (specification, 1.3)."""
    return bits[:14] if source.width == 32 else Cat(Const(1, 1), bits[0])


def lowest_dividend(source: WideFormat, rounder: Rounder, smallest_scale: int) -> int:
    """The exponent of the smallest numbers of :func:`dividend_parts`, which may stand for all that are smaller."""
    if rounder.lowest_relevant + smallest_scale >= 1 - source.bias:
        return -source.bias
    return 1 - source.bias - (1 << _steps(source, rounder, smallest_scale))


def _steps(source: WideFormat, rounder: Rounder, smallest_scale: int) -> int:
    """Stages of the shifter that normalizes subnormals of the source."""
    normalized_from = rounder.normalized_from + smallest_scale + rounder.may_lack_hidden
    return min(max(1 - source.bias - normalized_from, 0), source.fraction_bits).bit_length()


def dividend_parts(m: Module, source: WideFormat, bits: Value, rounder: Rounder, smallest_scale: int) -> Parts:
    """Fields of a finite number that will be divided by a power of two, at least 2**``smallest_scale``, and rounded.

    Infinities and NaNs are not distinguished.
    """
    parts = _fields(m, source, bits, rounder)
    k, field, bias, first = source.fraction_bits, parts.exponent, source.bias, len(parts.fraction)
    lowest_relevant = rounder.lowest_relevant + smallest_scale
    if lowest_relevant >= 1 - bias:
        return parts

    normalized_from = rounder.normalized_from + smallest_scale + rounder.may_lack_hidden
    steps, whole = _steps(source, rounder, smallest_scale), bits[:k]
    deepest = (1 << steps) - 1
    chapter(m, _normalizing(deepest))
    is_normal = named(m, "is_normal", field.any())
    width = min(first + 1 + deepest, k)  # later bits stay among the rest of every number
    front = Cat(whole[k - width : -1], named(m, "first_bit", whole[-1] | is_normal))  # a normal number does not move
    value, places = normalized(m, front, steps)
    value = Cat(Const(0, max(first + 1 - width, 0)), value)
    shape = Shape(len(field) + 1, signed=True)
    minus_places = extended(named(m, "minus_places", -places, Shape(steps + 1, signed=True)), shape.width)
    exponent = named(m, "exponent", field | minus_places, shape)
    lowest = lowest_dividend(source, rounder, smallest_scale)
    if lowest_relevant <= lowest < normalized_from:
        # the lowest exponent stands for zero and for all subnormals that are not normalized
        parts = replace(parts, hidden=named(m, "hidden", value[-1]))
    elif lowest_relevant <= lowest:  # the lowest exponent stands for zero alone
        parts = replace(parts, is_zero=named(m, "is_zero", ~value[-1]))
    fraction = named(m, "source_fraction", Mux(is_normal, parts.fraction, value[-1 - first : -1]))
    rest = whole[: k - width].any() | value[: -1 - first].any() | (is_normal & value[-1 - first])
    parts = replace(parts, exponent=exponent, exponents=(lowest, bias), fraction=fraction, rest=rest)
    return replace(parts, may_lack_hidden=rounder.may_lack_hidden)


def _fields(m: Module, source: WideFormat, bits: Value, rounder: Rounder) -> Parts:
    """A finite number that is not subnormal, with those fraction bits that are needed as such."""
    k = source.fraction_bits
    first = min(rounder.fraction_bits, k)
    fields = f"source_exponent {source.exponent_bits} bits, the fraction's first {first} of {k} bits"
    chapter(m, f"Source: {source.name}; {fields}")
    sign, fraction = named(m, "sign", bits[-1]), named(m, "fraction", bits[k - first : k])
    field = named(m, "source_exponent", bits[k:-1])
    rest, nonzero = named(m, "rest", bits[: k - first].any()), bits[:-1].any()
    exponents, one, no = (-source.bias, source.bias), Const(1, 1), Const(0, 1)
    return Parts(sign, field, source.bias, exponents, one, fraction, rest, no, no, no, nonzero)


def _normalizing(deepest: int) -> str:
    return f"Subnormals of the source: up to {deepest + 1} zeros in front of the first 1 are shifted out"
