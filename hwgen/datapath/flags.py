"""Status flags in hardware, and the ports for them; what they mean is in :mod:`golden.flags`."""

from typing import Any

from amaranth.hdl import Cat, Value
from amaranth.lib.wiring import Out

from golden import Flag

MEANING = "inexact, underflow, overflow and invalid (IEEE 754-2019, section 7; tininess before rounding), from bit 0 on"


def flag_port(flags: bool) -> dict[str, Any]:
    """The member ``flags``, or none."""
    return {"flags": Out(len(Flag))} if flags else {}


def word(inexact: Value, underflow: Value, overflow: Value, invalid: Value) -> Value:
    """Flags side by side."""
    return Cat(inexact, underflow, overflow, invalid)
