"""Designs of what multiplies and accumulates."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from golden import ACCUMULATORS, WIDE, Format, get
from golden.exact import check_scale
from golden.explain import OVERFLOW_RULES, ROUNDING_RULES
from golden.mac import exact
from golden.multi import MultiFormat
from golden.options import target_options
from hwgen.blocks import mac as parts
from hwgen.blocks.conversions import encoder_options, nan_rule
from hwgen.blocks.design import Design, check_names, finished, label
from hwgen.blocks.dot import Dot, check_lanes
from hwgen.blocks.pe import Pe, check_interleave
from hwgen.blocks.readout import Readout
from hwgen.datapath.flags import MEANING
from hwgen.netlist.pipeline import check_stages

DEFAULT_TERMS = 1024
DEFAULT_LANES = 2
_OF_EXACT = "; overflow: the sum had no room and wrapped; nothing is inexact"


@dataclass(frozen=True)
class _Sum:
    """What all blocks that accumulate products have in common.

    Attributes
    ----------
    formats : tuple of Format
        Of both operands.
    room : int
        Terms of an ``exact`` accumulator.
    options : dict
        As the command line has them.
    pair, suffix : str
        A module's name is ``PAIR_BLOCK_ACCUMULATOR`` and the suffix.
    operands : str
        In words.
    lines : tuple of str
        Of the header, behind its first.
    arguments : dict
        Of the component, beside formats, accumulator and terms.
    """

    formats: tuple[Format, Format]
    room: int
    options: dict[str, Any]
    pair: str
    suffix: str
    operands: str
    lines: tuple[str, ...]
    arguments: dict[str, Any]


def _operands(fmt: Format | str, format_b: Format | str | None) -> tuple[tuple[Format, Format], dict[str, Any], str, str]:
    """Formats, options, the names of the formats, and both in words."""
    a = get(fmt)
    b = a if format_b is None else get(format_b)
    if a == b:
        return (a, b), {"format": a.name}, a.identifier, label(a)
    check_names(a, b)
    return (a, b), {"format": a.name, "format-b": b.name}, f"{a.identifier}_{b.identifier}", f"{label(a)} times {label(b)}"


def _sum(
    fmt: Format | str, format_b: Format | str | None, accumulator: str, terms: int | None, scale_bits: int = 0, flags: bool = False
) -> _Sum:
    (a, b), options, pair, operands = _operands(fmt, format_b)
    if accumulator not in ACCUMULATORS:
        raise ValueError(f"Accumulator must be one of {', '.join(ACCUMULATORS)}, not {accumulator!r}")
    if terms is not None and accumulator != "exact":
        raise ValueError(f"terms goes with accumulator 'exact' only, not with {accumulator!r}")
    room = DEFAULT_TERMS if terms is None else terms
    low, high = check_scale(a, b, scale_bits)
    options["accumulator"] = accumulator
    suffix, lines, arguments = "", [], dict[str, Any]()
    if accumulator == "exact":
        unit = exact(a, b, room, scale_bits)
        options["terms"] = room
        suffix += f"_n{room}" if room != DEFAULT_TERMS else ""
        lines.append(f"State: nan, neg_inf, pos_inf, value[{unit.value_width - 1}:0] in two's complement with lsb 2^{unit.lsb_exponent}")
        lines.append(f"Rounding: none; {room} products of any size fit")
    else:
        lines.append(f"Rounding: once, of the exact sum, {ROUNDING_RULES[get(accumulator).roundings[0]]}")
    if scale_bits:
        options["scale-bits"] = arguments["scale_bits"] = scale_bits
        suffix += f"_scale{scale_bits}"
        lines.append(f"Scale: products are multiplied by 2^scale, from 2^{low} to 2^{high}")
    if flags:
        options["flags"] = arguments["flags"] = True
        suffix += "_flags"
        lines.append(f"Flags: {MEANING}{_OF_EXACT if accumulator == 'exact' else ''}")
    return _Sum((a, b), room, options, pair, suffix, operands, tuple(lines), arguments)


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
    found = _sum(fmt, format_b, accumulator, terms, scale_bits, flags)
    make = partial(parts.Mac, *found.formats, accumulator, found.room, **found.arguments)
    lines = [f"Fused multiply-accumulate: {found.operands} into {accumulator}", *found.lines]
    return finished("mac", name, f"{found.pair}_mac_{accumulator}{found.suffix}", make, found.options, lines, found.formats)


def adder(
    fmt: Format | str,
    format_b: Format | str | None = None,
    accumulator: str = "binary16",
    terms: int | None = None,
    name: str | None = None,
) -> Design:
    """What follows the multiplier in a MAC without a scale; parameters and refusals are those of :func:`mac`."""
    found = _sum(fmt, format_b, accumulator, terms)
    make = partial(parts.adder, *found.formats, accumulator, found.room)
    lines = [f"Adder behind the multiplier: {found.operands} into {accumulator}", *found.lines]
    return finished("adder", name, f"{found.pair}_adder_{accumulator}{found.suffix}", make, found.options, lines, found.formats)


def multiplier(fmt: Format | str, format_b: Format | str | None = None, name: str | None = None) -> Design:
    """Decoders, exact product, exponent sum and flags; parameters and refusals are those of :func:`mac`."""
    formats, options, pair, operands = _operands(fmt, format_b)
    lines = [f"Exact product of {operands}, neither rounded nor normalized"]
    return finished("multiplier", name, f"{pair}_multiplier", partial(parts.multiplier, *formats), options, lines, formats)


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
    found = _sum(fmt, format_b, accumulator, terms, scale_bits, flags)
    _check_room(found, lanes)
    make = partial(Dot, *found.formats, accumulator, lanes, found.room, **found.arguments)
    lines = [f"Fused dot product of {lanes}: {found.operands} into {accumulator}", *found.lines]
    options = found.options | {"lanes": lanes}
    return finished("dot", name, f"{found.pair}_dot{lanes}_{accumulator}{found.suffix}", make, options, lines, found.formats)


def _check_room(found: _Sum, lanes: int) -> None:
    if found.options["accumulator"] == "exact" and lanes > found.room:
        raise ValueError(f"terms must be at least the {lanes} lanes, not {found.room}")


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
        See :func:`hwgen.blocks.conversions.encoder`; not ``hybrid``.
    name : str, optional
        Of the module; default: made of the options.

    Raises
    ------
    ValueError
        One sentence that begins with what is wrong: as of :func:`mac`, to, rounding, overflow or random_bits.
    """
    found, target = _sum(fmt, format_b, "exact", terms, scale_bits), get(to)
    if isinstance(target, MultiFormat):
        raise ValueError(f"to must be one format, not the two of {target.name!r}")
    check_names(*found.formats, target)
    options: dict[str, Any] = {key: value for key, value in found.options.items() if key != "accumulator"} | {"to": target.name}
    default = f"{found.pair}_readout_{target.identifier}{found.suffix}"
    chosen = target_options(target, rounding, overflow, nan_to_zero)
    unit = exact(*found.formats, found.room, scale_bits)
    lines = [f"Readout of an exact accumulator of {found.operands}, to {label(target)}", found.lines[0]]
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
        return finished("readout", name, default, partial(Readout, unit, target), options, lines, found.formats)
    choices, suffix, drawn = encoder_options(target, chosen, random_bits)
    make = partial(Readout, unit, target, chosen.rounding, chosen.overflow, nan_to_zero, drawn)
    lines.append(f"Overflow: {OVERFLOW_RULES[chosen.overflow]}; NaN to {nan_rule(target, nan_to_zero)}")
    return finished("readout", name, f"{default}_{suffix}", make, options | choices, lines, (*found.formats, target))


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
        See :class:`hwgen.blocks.pe.Pe`.

    Raises
    ------
    ValueError
        One sentence that begins with what is wrong: as of :func:`mac`, stages, interleave or lanes.
    """
    check_stages(stages)
    check_interleave(interleave, stages)
    check_lanes(lanes)
    found = _sum(fmt, format_b, accumulator, terms, scale_bits, flags)
    options, many, what = dict(found.options), "", "multiply-accumulate"
    if lanes > 1:
        _check_room(found, lanes)
        options, many, what = options | {"lanes": lanes}, str(lanes), f"dot product of {lanes}"
    default = f"{found.pair}_pe{many}_{accumulator}{found.suffix}"
    if stages:
        options["stages"] = stages
        default += f"_s{stages}"
    if interleave > 1:
        options["interleave"] = interleave
        default += f"_i{interleave}"
    lines = [
        f"Processing element, fused {what}: {found.operands} into {accumulator}", *found.lines,
        f"Accumulators: {interleave}, {stages + 1} cycle{'s' if stages else ''} from a product to the sum that it is in",
    ]  # fmt: skip
    make = partial(Pe, *found.formats, accumulator, found.room, stages, interleave, lanes, scale_bits, flags)
    return finished("pe", name, default, make, options, lines, found.formats)
