"""Fixed point: exact products as integers with a common lsb, and the rounding of their sums to floating point."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import PureInterface

from golden import WideFormat
from hwgen.datapath.arithmetic import moved_left, named, normalized
from hwgen.datapath.product import ProductShape
from hwgen.netlist.book import chapter


@dataclass(frozen=True)
class Addend:
    """A number to be added; ``is_invalid`` if it is NaN because of an invalid operation."""

    sign: Value
    magnitude: Value
    is_inf: Value
    is_nan: Value
    is_invalid: Value


def addend(m: Module, name: str, product: PureInterface, shape: ProductShape, width: int, lsb_exponent: int) -> Addend:
    """A product in fixed point: ``width`` bits, bit 0 weighs ``2**lsb_exponent``, 0 if it is not finite.

    ``name`` is the prefix of its signals.
    """
    low, high = shape.exponents
    # Place of the significand's last bit if the exponent is 0. Bits below place 0 are zeros.
    offset = -shape.bias - shape.fraction_bits - lsb_exponent
    spare = max(-low - offset, 0)
    distance_bits = max((high + offset + spare).bit_length(), 1)
    chapter(m, f"Fixed point of {name}: {width} bits, bit 0 weighs 2^{lsb_exponent}; the significand is shifted left")
    distance = named(m, f"{name}_distance", product.exponent + (offset + spare), distance_bits)
    no_number = named(m, f"{name}_zero_or_special", product.is_zero | product.is_inf | product.is_nan)
    finite = named(m, f"{name}_significand", Mux(no_number, 0, product.significand))
    moved = moved_left(m, finite, distance, width + spare, f"{name}_")
    magnitude = named(m, f"{name}_magnitude", moved[spare:], width)
    invalid = product.is_invalid if "is_invalid" in product.signature.members else Const(0, 1)
    is_inf = named(m, f"{name}_is_inf", product.is_inf & ~product.is_nan)
    return Addend(product.sign, magnitude, is_inf, product.is_nan, invalid)


def rounded(m: Module, magnitude: Value, lsb_exponent: int, target: WideFormat) -> tuple[Value, Value, Value, Value]:
    """Round a fixed-point magnitude once; handles the magnitude only, the caller adds the sign.

    ::

        | 1.fraction_bits ... | half | below ... |       after the move to the left

    The magnitude moves left until its first bit is 1, but not past the place of a subnormal's hidden bit. It is first
    extended by zeros in front, so that this limit is 2**n - 1 places: then the exponent field is the complement of the
    distance.

    Parameters
    ----------
    m : Module
    magnitude : Value
        Bit 0 weighs ``2**lsb_exponent``.
    lsb_exponent : int
    target : WideFormat
        ``binary16``, ``bfloat16``, ``binary32`` (ties to even, subnormals) or ``dlfloat16`` (ties away, no subnormals).

    Returns
    -------
    body, overflow, lost, tiny : Value
        The number without its sign, meaningless if it overflows; whether it overflows; whether it differs from the
        magnitude; and, if it does, whether the magnitude is below the smallest normal number.
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
    chapter(m, f"Normalize: {len(value)} bits, shifted left to the first 1, at most to the smallest exponent")
    value, places = normalized(m, value, steps)
    chapter(m, f"Round: {len(value)} bits to {k + 1}, to nearest, ties {'away' if target.flush else 'to even'}")
    exponent = named(m, "exponent_less_1", ~places)
    kept, half, below = value[tail:], value[tail - 1], value[: tail - 1].any()
    if target.flush:  # a carry out of magnitudes below the smallest number ends at code 0
        packed = Mux(kept[-1], Cat(kept[:-1], exponent) + half, 0)
    else:
        up = named(m, "round_up", half & (kept[0] | below))
        packed = Cat(kept[:-1], exponent) + Cat(up, Const(0, k - 1), kept[-1])
    packed = named(m, "rounded", packed, k + steps + 1)
    body, past = packed[: k + exponent_bits], packed[k + exponent_bits :].any()
    lost, tiny = half | below, ~kept[-1]
    if not target.flush:
        return body, past | body[k:].all(), lost, tiny
    # The code below the smallest number is zero, which loses the magnitude.
    lost = lost | (magnitude.any() & ~packed.any())
    return body, past | body.all(), lost, tiny | ~(exponent.any() | kept[:-1].any())
