"""The fields of a floating-point accumulator."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Value

from golden import WideFormat
from hwgen.datapath.arithmetic import named
from hwgen.netlist.book import chapter


@dataclass(frozen=True)
class Accumulator:
    """Fields of the accumulator. Subnormals have the hidden bit 0 and the exponent 1, their field is 0."""

    sign: Value
    field: Value
    exponent: Value
    significand: Value
    is_special: Value
    is_nan: Value
    is_signaling: Value

    @property
    def hidden(self) -> Value:
        """The significand's first bit; 0 if the number is subnormal or zero."""
        return self.significand[-1]


def unpacked(m: Module, fmt: WideFormat, acc_in: Value) -> Accumulator:
    """Split an accumulator into its fields, in a chapter of its own."""
    subnormals, k = fmt.has_subnormals, fmt.fraction_bits
    field_name = "acc_exponent" if subnormals else "acc_field"
    widths = f"{field_name} {fmt.exponent_bits} bits, acc_significand {k + 1} bits"
    chapter(m, f"Accumulator: {fmt.name}; {widths}")
    fraction, field = named(m, "acc_fraction", acc_in[:k]), named(m, "acc_field", acc_in[k:-1])
    hidden = named(m, "acc_hidden", field.any() if subnormals else field.any() | fraction.any())
    exponent = named(m, "acc_exponent", Cat(field[0] | ~hidden, field[1:]) if subnormals else field)
    is_special = named(m, "acc_special", field.all() if subnormals else field.all() & fraction.all())
    is_nan = named(m, "acc_nan", is_special & fraction.any() if subnormals else is_special)
    significand = named(m, "acc_significand", Cat(fraction, hidden))
    sign = named(m, "acc_sign", acc_in[-1])
    return Accumulator(sign, field, exponent, significand, is_special, is_nan, is_nan & ~fraction[-1])
