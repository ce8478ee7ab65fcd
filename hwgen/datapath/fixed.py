"""Fixed point: exact products as integers of one weight, and sums of them back in floating point with one rounding."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import PureInterface

from golden import WideFormat
from hwgen.datapath.arithmetic import moved_left, named, normalized
from hwgen.datapath.product import ProductShape
from hwgen.netlist.book import chapter


@dataclass(frozen=True)
class Addend:
    """A number on its way into a sum; ``is_invalid`` says that it makes the sum so by itself."""

    sign: Value
    magnitude: Value
    is_inf: Value
    is_nan: Value
    is_invalid: Value


def addend(m: Module, name: str, product: PureInterface, shape: ProductShape, width: int, lsb_exponent: int) -> Addend:
    """A product whose magnitude, called ``name``, has ``width`` bits; bit 0 weighs ``2**lsb_exponent``; 0 unless
    finite.
    """
    low, high = shape.exponents
    # Weight of the significand's last bit, counted from bit 0; below 0 the bits that stick out are zeros.
    offset = -shape.bias - shape.fraction_bits - lsb_exponent
    spare = max(-low - offset, 0)
    distance_bits = max((high + offset + spare).bit_length(), 1)
    chapter(m, f"Fixed point of {name}: the significand moves left into {width} bits; bit 0 weighs 2^{lsb_exponent}")
    distance = named(m, f"{name}_distance", product.exponent + (offset + spare), distance_bits)
    silent = product.is_zero | product.is_inf | product.is_nan
    finite = named(m, f"{name}_significand", Mux(silent, 0, product.significand))
    moved = moved_left(m, finite, distance, width + spare, f"{name}_")
    magnitude = named(m, f"{name}_magnitude", moved[spare:], width)
    invalid = product.is_invalid if "is_invalid" in product.signature.members else Const(0, 1)
    return Addend(product.sign, magnitude, product.is_inf & ~product.is_nan, product.is_nan, invalid)


def rounded(m: Module, magnitude: Value, lsb_exponent: int, target: WideFormat) -> tuple[Value, Value, Value, Value]:
    """Round a magnitude in fixed point, once; the caller adds the sign.

    ::

        | 1.fraction_bits ... | half | below ... |       after moving left

    The magnitude moves left until a 1 stands in front, but not so far that a subnormal's hidden bit would be passed.
    Zeros are put in front of it so that this limit is 2**n - 1: then the exponent field is the complement of the
    distance.

    Parameters
    ----------
    m : Module
    magnitude : Value
        Bit 0 weighs ``2**lsb_exponent``.
    lsb_exponent : int
    target : WideFormat
        ``binary16``, ``bfloat16``, ``binary32`` (ties to even, subnormals) or ``dlfloat16`` (ties away, flushed below).

    Returns
    -------
    body, overflow, lost, tiny : Value
        The number without its sign, unless it overflows; whether it does; whether it differs from the magnitude; and,
        where it does, whether the magnitude is below the smallest normal number.
    """
    k, exponent_bits, bias = target.fraction_bits, target.exponent_bits, target.bias
    lowest = -bias if target.flush else 1 - bias  # exponent of the smallest normal number
    top = lsb_exponent + len(magnitude) - 1
    steps = max(max(top - lowest, 1).bit_length(), exponent_bits)
    width = lowest + (1 << steps) - lsb_exponent
    tail = width - 1 - k
    value: Value = Cat(magnitude, Const(0, width - len(magnitude)))
    if tail < 1:
        value, tail = Cat(Const(0, 1 - tail), value), 1
    chapter(m, f"Normalize: {len(value)} bits move left to the first 1, to the smallest exponent at most")
    value, places = normalized(m, value, steps)
    chapter(
        m, f"Round: {k + 1} bits kept, {tail} behind them; to nearest, ties {'away' if target.flush else 'to even'}"
    )
    kept, half, below = value[tail:], value[tail - 1], value[: tail - 1]
    if target.flush:  # a carry out of the flushed ones ends at code 0
        packed = Mux(kept[-1], Cat(kept[:-1], ~places) + half, 0)
    else:
        packed = Cat(kept[:-1], ~places) + Cat(half & (kept[0] | below.any()), Const(0, k - 1), kept[-1])
    packed = named(m, "rounded", packed, k + steps + 1)
    body, past = packed[: k + exponent_bits], packed[k + exponent_bits :].any()
    lost, tiny = half | below.any(), ~kept[-1]
    if not target.flush:
        return body, past | body[k:].all(), lost, tiny
    # The pattern under the smallest number is none.
    lost = lost | (magnitude.any() & ~packed.any())
    return body, past | body.all(), lost, tiny | ~((~places).any() | kept[:-1].any())
