"""Designs of what multiplies and accumulates."""

from collections.abc import Callable
from functools import partial
from typing import Any

from amaranth.lib import wiring

from golden import ACCUMULATORS, WIDE, Format, get
from golden.exact import scale_range
from golden.explain import OVERFLOW_RULES, ROUNDING_RULES
from golden.mac import exact
from golden.options import target_options
from hwgen import mac as parts
from hwgen.conversions import encoder_options, nan_rule
from hwgen.design import Design, finished, label
from hwgen.dot import Dot, check_lanes
from hwgen.flags import MEANING
from hwgen.pe import Pe, check_interleave
from hwgen.pipeline import check_stages
from hwgen.readout import Readout

DEFAULT_TERMS = 1024
DEFAULT_LANES = 2
_OF_EXACT = "; overflow: the sum had no room and wrapped; nothing is inexact"


def _of_mac(
    kind: str,
    make: Callable[..., wiring.Component],
    fmt: Format | str,
    format_b: Format | str | None,
    accumulator: str | None,
    terms: int | None,
    name: str | None,
    scale_bits: int = 0,
    flags: bool = False,
) -> Design:
    a = get(fmt)
    b = a if format_b is None else get(format_b)
    pair = a.identifier if b == a else f"{a.identifier}_{b.identifier}"
    options: dict[str, Any] = {"format": a.name} | ({} if b == a else {"format-b": b.name})
    operands = label(a) if b == a else f"{label(a)} times {label(b)}"
    if accumulator is None:
        lines = [f"Exact product of {operands}, neither rounded nor normalized"]
        return finished(kind, name, f"{pair}_{kind}", partial(make, a, b), options, lines, (a, b))
    if accumulator not in ACCUMULATORS:
        raise ValueError(f"Accumulator must be one of {', '.join(ACCUMULATORS)}, not {accumulator!r}")
    if terms is not None and accumulator != "exact":
        raise ValueError(f"terms goes with accumulator 'exact' only, not with {accumulator!r}")
    room = DEFAULT_TERMS if terms is None else terms
    low, high = scale_range(scale_bits)
    options["accumulator"] = accumulator
    default = f"{pair}_{kind}_{accumulator}"
    lines = [f"{'Fused multiply-accumulate' if kind == 'mac' else 'Adder behind the multiplier'}: {operands} into {accumulator}"]
    if accumulator == "exact":
        unit = exact(a, b, room, scale_bits)
        options["terms"] = room
        default += f"_n{room}" if room != DEFAULT_TERMS else ""
        lines.append(f"State: nan, neg_inf, pos_inf, value[{unit.value_width - 1}:0] in two's complement with lsb 2^{unit.lsb_exponent}")
        lines.append(f"Rounding: none; {room} products of any size fit")
    else:
        lines.append(f"Rounding: once, of the exact sum, {ROUNDING_RULES[get(accumulator).roundings[0]]}")
    arguments: dict[str, Any] = {}
    if scale_bits:
        options["scale-bits"] = arguments["scale_bits"] = scale_bits
        default += f"_scale{scale_bits}"
        lines.append(f"Scale: products are multiplied by 2^scale, from 2^{low} to 2^{high}")
    if flags:
        options["flags"] = arguments["flags"] = True
        default += "_flags"
        lines.append(f"Flags: {MEANING}{_OF_EXACT if accumulator == 'exact' else ''}")
    return finished(kind, name, default, partial(make, a, b, accumulator, room, **arguments), options, lines, (a, b))


def mac(
    fmt: Format | str,
    format_b: Format | str | None = None,
    accumulator: str = "binary16",
    terms: int | None = None,
    name: str | None = None,
    scale_bits: int = 0,
    flags: bool = False,
) -> Design:
    """A fused multiply-accumulate unit.

    Parameters
    ----------
    fmt, format_b : Format or str
        Of both operands; ``format_b`` defaults to ``fmt``.
    accumulator : str
        ``binary16``, ``bfloat16``, ``binary32``, ``dlfloat16`` or ``exact``.
    terms : int, optional
        Products that an accumulator ``exact``, and no other, has room for. Default: 1024.
    name : str, optional
        Of the module; default: made of the options.
    scale_bits : int
        Bits of a port ``scale``, the exponent of a power of two that products are multiplied by, up to 10; 0: no such port.
    flags : bool
        Whether there is a port for status flags.

    Raises
    ------
    ValueError
        One sentence that begins with what is wrong: format, accumulator, terms, scale_bits or name.
    """
    return _of_mac("mac", parts.Mac, fmt, format_b, accumulator, terms, name, scale_bits, flags)


def adder(
    fmt: Format | str,
    format_b: Format | str | None = None,
    accumulator: str = "binary16",
    terms: int | None = None,
    name: str | None = None,
) -> Design:
    """What follows the multiplier in a MAC without a scale; parameters and refusals are those of :func:`mac`."""
    return _of_mac("adder", parts.adder, fmt, format_b, accumulator, terms, name)


def multiplier(fmt: Format | str, format_b: Format | str | None = None, name: str | None = None) -> Design:
    """Decoders, exact product, exponent sum and flags; parameters and refusals are those of :func:`mac`."""
    return _of_mac("multiplier", parts.multiplier, fmt, format_b, None, None, name)


def dot(
    fmt: Format | str,
    format_b: Format | str | None = None,
    accumulator: str = "binary16",
    lanes: int = DEFAULT_LANES,
    terms: int | None = None,
    name: str | None = None,
    scale_bits: int = 0,
    flags: bool = False,
) -> Design:
    """A fused dot product: several products and an accumulator, rounded once.

    Parameters
    ----------
    fmt, format_b, accumulator, terms, name, scale_bits, flags
        See :func:`mac`; a product of each lane is a term.
    lanes : int
        Products, 1 to 16.

    Raises
    ------
    ValueError
        One sentence that begins with what is wrong: as of :func:`mac`, or lanes.
    """
    check_lanes(lanes)
    unit = mac(fmt, format_b, accumulator, terms, scale_bits=scale_bits, flags=flags)
    fa, fb = unit.formats
    room = unit.options.get("terms", DEFAULT_TERMS)
    if accumulator == "exact" and lanes > room:
        raise ValueError(f"terms must be at least the {lanes} lanes, not {room}")
    options = unit.options | {"lanes": lanes}
    lines = [unit.header[0].replace("Fused multiply-accumulate", f"Fused dot product of {lanes}"), *unit.header[1:-1]]
    make = partial(Dot, fa, fb, accumulator, lanes, room, scale_bits=scale_bits, flags=flags)
    return finished("dot", name, unit.name.replace("_mac_", f"_dot{lanes}_"), make, options, lines, (fa, fb))


def readout(
    fmt: Format | str,
    format_b: Format | str | None = None,
    terms: int | None = None,
    scale_bits: int = 0,
    to: Format | str = "binary32",
    rounding: str | None = None,
    overflow: str | None = None,
    nan_to_zero: bool = False,
    random_bits: int | None = None,
    name: str | None = None,
) -> Design:
    """What rounds an ``exact`` accumulator, once, to bits of a wide format or to a code.

    Parameters
    ----------
    fmt, format_b, terms, scale_bits
        See :func:`mac`: the accumulator's.
    to : Format or str
        What comes out.
    rounding, overflow, nan_to_zero, random_bits
        See :func:`hwgen.conversions.encoder`; not ``hybrid``.
    name : str, optional
        Of the module; default: made of the options.

    Raises
    ------
    ValueError
        One sentence that begins with what is wrong: as of :func:`mac`, to, rounding, overflow or random_bits.
    """
    unit = mac(fmt, format_b, "exact", terms, scale_bits=scale_bits)
    (fa, fb), target = unit.formats, get(to)
    options: dict[str, Any] = {key: value for key, value in unit.options.items() if key != "accumulator"} | {"to": target.name}
    default = unit.name.replace("_mac_exact", f"_readout_{target.identifier}")
    chosen = target_options(target, rounding, overflow, nan_to_zero)
    lines = [f"Readout of an exact accumulator of {unit.header[0].partition(': ')[2].removesuffix(' into exact')}, to {label(target)}"]
    lines += [line for line in unit.header[1:-1] if line.startswith("State: ")]
    lines.append(f"Rounding: {ROUNDING_RULES[chosen.rounding]}")
    if target.name in WIDE:
        for word, given in (
            ("rounding", rounding),
            ("overflow", overflow),
            ("nan_to_zero", nan_to_zero or None),
            ("random_bits", random_bits),
        ):
            if given is not None:
                raise ValueError(f"{word} goes with a format of codes, not with {target.name!r}")
        return finished(
            "readout", name, default, partial(Readout, exact(fa, fb, options["terms"], scale_bits), target), options, lines, (fa, fb)
        )
    choices, suffix, drawn = encoder_options(target, chosen, random_bits)
    make = partial(Readout, exact(fa, fb, options["terms"], scale_bits), target, chosen.rounding, chosen.overflow, nan_to_zero, drawn)
    lines.append(f"Overflow: {OVERFLOW_RULES[chosen.overflow]}; NaN to {nan_rule(target, nan_to_zero)}")
    return finished("readout", name, f"{default}_{suffix}", make, options | choices, lines, (fa, fb, target))


def pe(
    fmt: Format | str,
    format_b: Format | str | None = None,
    accumulator: str = "binary16",
    terms: int | None = None,
    stages: int = 0,
    interleave: int = 1,
    lanes: int = 1,
    name: str | None = None,
    scale_bits: int = 0,
    flags: bool = False,
) -> Design:
    """A processing element: a MAC, or a fused dot product, with its accumulators.

    Parameters
    ----------
    fmt, format_b, accumulator, terms, name, scale_bits, flags
        See :func:`mac`.
    stages, interleave, lanes : int
        See :class:`hwgen.pe.Pe`.

    Raises
    ------
    ValueError
        One sentence that begins with what is wrong: as of :func:`mac`, stages, interleave or lanes.
    """
    check_stages(stages)
    check_interleave(interleave, stages)
    check_lanes(lanes)
    unit = (
        mac(fmt, format_b, accumulator, terms, scale_bits=scale_bits, flags=flags)
        if lanes == 1
        else dot(fmt, format_b, accumulator, lanes, terms, scale_bits=scale_bits, flags=flags)
    )
    many = str(lanes) if lanes > 1 else ""
    default = unit.name.replace(f"_{unit.kind}{many}_", f"_pe{many}_")
    default += (f"_s{stages}" if stages else "") + (f"_i{interleave}" if interleave > 1 else "")
    options = unit.options | ({"stages": stages} if stages else {}) | ({"interleave": interleave} if interleave > 1 else {})
    fa, fb = unit.formats
    lines = [
        unit.header[0].replace("Fused", "Processing element, fused"), *unit.header[1:-1],
        f"Accumulators: {interleave}, {stages + 1} cycle{'s' if stages else ''} from a product to the sum that it is in",
    ]  # fmt: skip
    return finished(
        "pe",
        name,
        default,
        partial(Pe, fa, fb, accumulator, options.get("terms", DEFAULT_TERMS), stages, interleave, lanes, scale_bits, flags),
        options,
        lines,
        unit.formats,
    )
