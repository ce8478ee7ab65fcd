"""Designs of decoders and encoders."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from golden import Format, get
from golden.explain import OVERFLOW_RULES, ROUNDING_RULES
from golden.options import Options, check_random_bits
from golden.options import options as encoding
from golden.rows import Overflow, Rounding
from hwgen.blocks.decoder import Decoder, check_target
from hwgen.blocks.design import Design, finished, label
from hwgen.blocks.encoder import Encoder, check_rounding_pin
from hwgen.datapath.flags import MEANING

DEFAULT_RANDOM_BITS = 16


def decoder(fmt: Format | str, to: str = "binary16", name: str | None = None) -> Design:
    """A decoder.

    Parameters
    ----------
    fmt : Format or str
    to : str
        ``binary16``, ``bfloat16``, ``binary32``, ``dlfloat16`` or ``unpacked``.
    name : str, optional
        Of the module; default: made of the options.

    Raises
    ------
    ValueError
        One sentence that begins with what is wrong: format, target or name.
    """
    fmt = get(fmt)
    check_target(to)
    lines = [f"Decoder of {label(fmt)} to {to}"]
    if to != "unpacked":
        lines.append(f"Values that {to} cannot hold are rounded {ROUNDING_RULES[get(to).roundings[0]]}")
    return finished(
        "decoder", name, f"{fmt.identifier}_decoder_{to}", partial(Decoder, fmt, to), {"format": fmt.name, "to": to}, lines, (fmt,)
    )


def encoder(
    fmt: Format | str,
    source: str = "binary32",
    rounding: str | None = None,
    overflow: str | None = None,
    nan_to_zero: bool = False,
    random_bits: int | None = None,
    name: str | None = None,
    rounding_pin: bool = False,
    flags: bool = False,
) -> Design:
    """An encoder.

    Parameters
    ----------
    fmt : Format or str
    source : str
        ``binary32``, ``binary16``, ``bfloat16`` or ``dlfloat16``.
    rounding, overflow : str, optional
        Default: the format's.
    nan_to_zero : bool
        Whether NaN becomes code 0.
    random_bits : int, optional
        Width of the port ``random``, 1 to 32; with rounding ``stochastic`` only. Default: 16.
    name : str, optional
        Of the module; default: made of the options.
    rounding_pin : bool
        Whether a port ``hybrid`` chooses between ``hybrid``, which the rounding must be, and ``ties_to_away``.
    flags : bool
        Whether there is a port for status flags.

    Raises
    ------
    ValueError
        One sentence that begins with what is wrong: format, source, rounding, overflow, random_bits, rounding_pin or name.
    """
    fmt = get(fmt)
    chosen = encoding(fmt, source, rounding, overflow, nan_to_zero)
    given, suffix, drawn = encoder_options(fmt, chosen, random_bits)
    check_rounding_pin(rounding_pin, chosen)
    make = partial(Encoder, fmt, source, rounding, overflow, nan_to_zero, drawn, rounding_pin, flags)
    options: dict[str, Any] = {"format": fmt.name, "from": source} | given
    default = f"{fmt.identifier}_encoder_{source}_{suffix}"
    if rounding_pin:
        options["rounding-pin"] = True
        default += "_pin"
    lines = [
        f"Encoder of {source} to {label(fmt)}",
        f"Rounding: {rounding_rule(options)}",
        f"Overflow: {OVERFLOW_RULES[Overflow(chosen.overflow)]}; NaN to {nan_rule(fmt, nan_to_zero)}",
    ]
    if flags:
        options["flags"] = True
        default += "_flags"
        lines.append(f"Flags: {MEANING}")
    return finished("encoder", name, default, make, options, lines, (fmt,))


def encoder_options(fmt: Format, chosen: Options, random_bits: int | None) -> tuple[dict[str, Any], str, int]:
    """The options that rounding to a code has, the part of a module's name that they make, and the number of random bits.

    Raises
    ------
    ValueError
        For random bits that nobody asks for, or too many.
    """
    if random_bits is not None and chosen.rounding is not Rounding.STOCHASTIC:
        raise ValueError(f"random_bits goes with rounding 'stochastic' only, not with {chosen.rounding.value!r}")
    drawn = DEFAULT_RANDOM_BITS if random_bits is None else random_bits
    check_random_bits(drawn)
    options: dict[str, Any] = {"rounding": chosen.rounding.value, "overflow": chosen.overflow.value}
    name = str(chosen.rounding)
    if chosen.overflow is not fmt.overflows[0]:
        name += f"_{chosen.overflow}"
    if chosen.nan_to_zero:
        options["nan-to-zero"] = True
        name += "_nan_to_zero"
    if chosen.rounding is Rounding.STOCHASTIC:
        options["random-bits"] = drawn
        name += f"_r{drawn}" if drawn != DEFAULT_RANDOM_BITS else ""
    return options, name, drawn


def rounding_rule(options: Mapping[str, Any]) -> str:
    """How an encoder of these options rounds, in words."""
    words = ROUNDING_RULES[Rounding(options["rounding"])]
    if "rounding-pin" not in options:
        return words
    return f"where the pin hybrid is 1, {words}; where it is 0, {ROUNDING_RULES[Rounding.TIES_TO_AWAY]}"


def nan_rule(fmt: Format, nan_to_zero: bool = False) -> str:
    """The code that an encoder gives for NaN, in words."""
    if nan_to_zero or fmt.canonical_nan is None:
        return "code 0"
    digits = -(-fmt.width // 4)
    return f"code {fmt.canonical_nan:#0{digits + 2}x}" + (", with its sign" if fmt.nan_keeps_sign else "")
