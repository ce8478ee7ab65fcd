"""From the options of a block to its component, its name and its header: what `generate`, `area`, `report` and the tests share."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from amaranth.lib import wiring

from golden import ACCUMULATORS, WIDE, Format, get
from golden.explain import OVERFLOW_RULES, ROUNDING_RULES
from golden.mac import exact
from golden.multi import MultiFormat
from golden.options import check_random_bits
from golden.options import options as encode_options
from golden.rows import Overflow, Rounding
from hwgen import mac as parts
from hwgen.decoder import Decoder, check_target
from hwgen.emit import check_name, emit
from hwgen.encoder import Encoder
from hwgen.pe import Pe, check_interleave
from hwgen.pipeline import Pipelined, check_stages

DEFAULT_TERMS = 1024
DEFAULT_RANDOM_BITS = 16


@dataclass(frozen=True)
class Design:
    """A block ready to be emitted.

    Attributes
    ----------
    kind : str
        ``decoder``, ``encoder``, ``mac``, ``pe``, ``multiplier`` or ``adder``.
    name : str
        Of the Verilog module.
    make : callable
        Makes the component, a fresh one at each call.
    options : dict
        What makes the block, by the names of the command line's options; strings and integers.
    header : tuple of str
        Lines of the comment on top of the Verilog.
    formats : tuple of Format
        Of the codes: one, or those of both operands of a multiplier.
    """

    kind: str
    name: str
    make: Callable[[], wiring.Component]
    options: dict[str, Any]
    header: tuple[str, ...]
    formats: tuple[Format, ...]

    @property
    def stages(self) -> int:
        """Ranks of registers; 0 where the block is combinational, but for the accumulator of a ``pe``."""
        found: int = self.options.get("stages", 0)
        return found

    @property
    def latency(self) -> int:
        """Clock cycles from inputs to outputs."""
        return self.stages + (self.kind == "pe")

    @property
    def codes(self) -> dict[str, Format]:
        """The inputs that are codes, as golden has them, and their formats."""
        names = {"decoder": ("code",), "mac": ("a", "b"), "multiplier": ("a", "b"), "pe": ("a", "b")}.get(self.kind, ())
        return dict(zip(names, self.formats, strict=False))

    def verilog(self) -> str:
        """Text of the module."""
        return emit(self.make(), self.name, self.header)

    def command(self) -> str:
        """The options as they stand on a command line, e.g. ``mac --format hif8 --accumulator binary16``."""
        files = {fmt.name: fmt.source_name for fmt in self.formats if fmt.source_name}  # the command line knows such formats by these
        spelled = {key: files.get(value, value) if key.startswith("format") else value for key, value in self.options.items()}
        words = [f"--{key}" if value is True else f"--{key} {shlex.quote(str(value))}" for key, value in spelled.items()]
        return " ".join([self.kind, *words])


def block_format(name: str) -> Format:
    """The format of a name or a TOML file's path, if blocks are made for it.

    Raises
    ------
    ValueError
        With one sentence.
    """
    fmt = get(name)
    if fmt.name in WIDE:
        raise ValueError(f"{name!r} is a source, decoder target or accumulator, not one of the formats that blocks are made for")
    return fmt


def _label(fmt: Format) -> str:
    if isinstance(fmt, MultiFormat):
        return f"{' or '.join(map(_label, fmt.members))}, as the select pin says (0: {fmt.members[0].name}, 1: {fmt.members[1].name})"
    return f"{fmt.name} (file with SHA-256 {fmt.source_sha256})" if fmt.source_sha256 else f"{fmt.name} ({fmt.cite})"


def _design(
    kind: str,
    name: str | None,
    default: str,
    make: Callable[[], wiring.Component],
    options: dict[str, Any],
    lines: list[str],
    formats: tuple[Format, ...],
) -> Design:
    chosen = check_name(default if name is None else name)
    said = ", ".join(key if value is True else f"{key} {value}" for key, value in options.items())
    return Design(kind, chosen, make, options, (*lines, f"Options: {said}"), formats)


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
    lines = [f"Decoder of {_label(fmt)} to {to}"]
    if to != "unpacked":
        lines.append(f"Values that {to} cannot hold are rounded {ROUNDING_RULES[get(to).roundings[0]]}")
    return _design(
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

    Raises
    ------
    ValueError
        One sentence that begins with what is wrong: format, source, rounding, overflow, random_bits or name.
    """
    fmt = get(fmt)
    chosen = encode_options(fmt, source, rounding, overflow, nan_to_zero)
    if random_bits is not None and chosen.rounding is not Rounding.STOCHASTIC:
        raise ValueError(f"random_bits goes with rounding 'stochastic' only, not with {chosen.rounding.value!r}")
    drawn = DEFAULT_RANDOM_BITS if random_bits is None else random_bits
    check_random_bits(drawn)
    make = partial(Encoder, fmt, source, rounding, overflow, nan_to_zero, drawn)
    options: dict[str, Any] = {"format": fmt.name, "from": source, "rounding": chosen.rounding.value, "overflow": chosen.overflow.value}
    default = f"{fmt.identifier}_encoder_{source}_{chosen.rounding}"
    if chosen.overflow is not fmt.overflows[0]:
        default += f"_{chosen.overflow}"
    if nan_to_zero:
        options["nan-to-zero"] = True
        default += "_nan_to_zero"
    if chosen.rounding is Rounding.STOCHASTIC:
        options["random-bits"] = drawn
        default += f"_r{drawn}" if drawn != DEFAULT_RANDOM_BITS else ""
    lines = [
        f"Encoder of {source} to {_label(fmt)}",
        f"Rounding: {ROUNDING_RULES[Rounding(chosen.rounding)]}",
        f"Overflow: {OVERFLOW_RULES[Overflow(chosen.overflow)]}; NaN to {nan_rule(fmt, nan_to_zero)}",
    ]
    return _design("encoder", name, default, make, options, lines, (fmt,))


def nan_rule(fmt: Format, nan_to_zero: bool = False) -> str:
    """The code that an encoder gives for NaN, in words."""
    if nan_to_zero or fmt.canonical_nan is None:
        return "code 0"
    digits = -(-fmt.width // 4)
    return f"code {fmt.canonical_nan:#0{digits + 2}x}" + (", with its sign" if fmt.nan_keeps_sign else "")


def _of_mac(
    kind: str,
    make: Callable[..., wiring.Component],
    fmt: Format | str,
    format_b: Format | str | None,
    accumulator: str | None,
    terms: int | None,
    name: str | None,
) -> Design:
    a = get(fmt)
    b = a if format_b is None else get(format_b)
    pair = a.identifier if b == a else f"{a.identifier}_{b.identifier}"
    options: dict[str, Any] = {"format": a.name} | ({} if b == a else {"format-b": b.name})
    operands = _label(a) if b == a else f"{_label(a)} times {_label(b)}"
    if accumulator is None:
        lines = [f"Exact product of {operands}, neither rounded nor normalized"]
        return _design(kind, name, f"{pair}_{kind}", partial(make, a, b), options, lines, (a, b))
    if accumulator not in ACCUMULATORS:
        raise ValueError(f"Accumulator must be one of {', '.join(ACCUMULATORS)}, not {accumulator!r}")
    if terms is not None and accumulator != "exact":
        raise ValueError(f"terms goes with accumulator 'exact' only, not with {accumulator!r}")
    room = DEFAULT_TERMS if terms is None else terms
    options["accumulator"] = accumulator
    default = f"{pair}_{kind}_{accumulator}"
    lines = [f"{'Fused multiply-accumulate' if kind == 'mac' else 'Adder behind the multiplier'}: {operands} into {accumulator}"]
    if accumulator == "exact":
        unit = exact(a, b, room)
        options["terms"] = room
        default += f"_n{room}" if room != DEFAULT_TERMS else ""
        lines.append(f"State: nan, neg_inf, pos_inf, value[{unit.value_width - 1}:0] in two's complement with lsb 2^{unit.lsb_exponent}")
        lines.append(f"Rounding: none; {room} products of any size fit")
    else:
        lines.append(f"Rounding: once, of the exact sum, {ROUNDING_RULES[get(accumulator).roundings[0]]}")
    return _design(kind, name, default, partial(make, a, b, accumulator, room), options, lines, (a, b))


def mac(
    fmt: Format | str,
    format_b: Format | str | None = None,
    accumulator: str = "binary16",
    terms: int | None = None,
    name: str | None = None,
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

    Raises
    ------
    ValueError
        One sentence that begins with what is wrong: format, accumulator, terms or name.
    """
    return _of_mac("mac", parts.Mac, fmt, format_b, accumulator, terms, name)


def adder(
    fmt: Format | str,
    format_b: Format | str | None = None,
    accumulator: str = "binary16",
    terms: int | None = None,
    name: str | None = None,
) -> Design:
    """What follows the multiplier in a MAC; parameters and refusals are those of :func:`mac`."""
    return _of_mac("adder", parts.adder, fmt, format_b, accumulator, terms, name)


def multiplier(fmt: Format | str, format_b: Format | str | None = None, name: str | None = None) -> Design:
    """Decoders, exact product, exponent sum and flags; parameters and refusals are those of :func:`mac`."""
    return _of_mac("multiplier", parts.multiplier, fmt, format_b, None, None, name)


def pe(
    fmt: Format | str,
    format_b: Format | str | None = None,
    accumulator: str = "binary16",
    terms: int | None = None,
    stages: int = 0,
    interleave: int = 1,
    name: str | None = None,
) -> Design:
    """A processing element: a MAC with its accumulators.

    Parameters
    ----------
    fmt, format_b, accumulator, terms, name
        See :func:`mac`.
    stages, interleave : int
        See :class:`hwgen.pe.Pe`.

    Raises
    ------
    ValueError
        One sentence that begins with what is wrong: as of :func:`mac`, stages or interleave.
    """
    check_stages(stages)
    check_interleave(interleave, stages)
    unit = mac(fmt, format_b, accumulator, terms)
    default = unit.name.replace("_mac_", "_pe_") + (f"_s{stages}" if stages else "") + (f"_i{interleave}" if interleave > 1 else "")
    options = unit.options | ({"stages": stages} if stages else {}) | ({"interleave": interleave} if interleave > 1 else {})
    fa, fb = unit.formats
    lines = [
        unit.header[0].replace("Fused multiply-accumulate", "Processing element"), *unit.header[1:-1],
        f"Accumulators: {interleave}, {stages + 1} cycle{'s' if stages else ''} from a product to the sum that it is in",
    ]  # fmt: skip
    return _design(
        "pe",
        name,
        default,
        partial(Pe, fa, fb, accumulator, options.get("terms", DEFAULT_TERMS), stages, interleave),
        options,
        lines,
        unit.formats,
    )


RESETS = ("sync", "none")


def pipelined(design: Design, stages: int, reset: str = "sync", clock_enable: bool = False, name: str | None = None) -> Design:
    """A combinational design with ranks of registers in it.

    Parameters
    ----------
    design : Design
        With its default name.
    stages : int
        Ranks of registers, 1 to 16: the latency in cycles.
    reset : str
        ``sync``: port ``rst``, active high, clears the valid bits; ``none``: no such port.
    clock_enable : bool
        Whether there is a port ``enable``, without which everything stands still.
    name : str, optional
        Of the module.
    """
    check_stages(stages, 1)
    if reset not in RESETS:
        raise ValueError(f"reset must be one of {', '.join(RESETS)}, not {reset!r}")
    options: dict[str, Any] = {"stages": stages}
    default = f"{design.name}_s{stages}"
    if reset == "none":
        options["reset"] = reset
        default += "_no_reset"
    if clock_enable:
        options["clock-enable"] = True
        default += "_ce"
    make = partial(_pipelined, design.make, stages, reset, clock_enable)
    line = f"Pipeline: {stages} rank{'s' if stages > 1 else ''} of registers, a latency of as many cycles, one input a cycle"
    return _design(design.kind, name, default, make, design.options | options, [*design.header[:-1], line], design.formats)


def _pipelined(make: Callable[[], wiring.Component], stages: int, reset: str, clock_enable: bool) -> Pipelined:
    return Pipelined(make(), stages, reset=reset == "sync", clock_enable=clock_enable)


def _staged(block: Callable[..., Design]) -> Callable[..., Design]:
    """A block with the arguments of :func:`pipelined`, too."""

    def make(
        *arguments: Any, stages: int = 0, reset: str | None = None, clock_enable: bool = False, name: str | None = None, **options: Any
    ) -> Design:
        if check_stages(stages) == 0:
            for word, given in (("reset", reset is not None), ("clock_enable", clock_enable)):
                if given:
                    raise ValueError(f"{word} goes with stages only: without them there is no clock")
            return block(*arguments, name=name, **options)
        return pipelined(block(*arguments, **options), stages, RESETS[0] if reset is None else reset, clock_enable, name)

    return make


BLOCKS: dict[str, Callable[..., Design]] = {
    "decoder": _staged(decoder), "encoder": _staged(encoder), "multiplier": multiplier, "adder": adder, "mac": _staged(mac), "pe": pe,
}  # fmt: skip
"""By kind, as the command line makes them: with all the arguments of their options."""
