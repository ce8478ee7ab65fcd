"""What a model in C has of its design: constants, tables of formats, and small functions, as text.

In all texts ``M_`` stands for the module's name and an underscore.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from golden import WIDE, Format, Kind, Rounding, WideFormat
from golden.overflow import replacements, with_sign
from golden.rows import Overflow

NONE = -30000
"""The exponent of zero, ``M_NONE`` of number.h."""
_KINDS = {Kind.FINITE: 0, Kind.ZERO: 0, Kind.INF: 1, Kind.NAN: 2}


def part(name: str) -> str:
    """The text of a file in the folder ``c``."""
    return files("hwgen.model").joinpath("c", f"{name}.h").read_text(encoding="utf-8")


def enum(**constants: int) -> str:
    """Integer constants."""
    return "".join(f"enum {{ M_{name} = {int(value)} }};\n" for name, value in constants.items())


def rounding(mode: Rounding) -> str:
    """The constant of a rounding in number.h."""
    return f"M_{mode.name}"


def wide_format(name: str, fmt: Format) -> str:
    """A constant that describes a format; zeros for a format of codes, which is read from its table."""
    if not _has_fields(fmt):
        return f"static const M_format M_{name} = {{ 0, 0, 0, 0, 0 }};\n"
    assert isinstance(fmt, WideFormat)
    fields = fmt.width, fmt.fraction_bits, fmt.bias, int(fmt.has_subnormals), fmt.canonical_nan or 0
    return f"static const M_format M_{name} = {{ {', '.join(map(str, fields))}u }};\n"


def _has_fields(fmt: Format) -> bool:
    return fmt.name in WIDE


def decoding(name: str, fmt: Format) -> str:
    """The function ``M_decode_NAME``, from codes to what they stand for, by fields or by a table of all codes."""
    if _has_fields(fmt):
        call = f"M_unpack(code, M_{name}_format)"
        return (
            wide_format(f"{name}_format", fmt)
            + f"static inline M_code M_decode_{name}(uint32_t code) {{ return {call}; }}\n\n"
        )
    rows = ",\n".join(
        "  " + ", ".join(entries[place : place + 6])
        for entries in [_entries(fmt)]
        for place in range(0, len(entries), 6)
    )
    comment = f"/* {fmt.name}: n, e, row, sign, kind of every code */\n"
    table = f"{comment}static const M_code M_{name}_codes[{1 << fmt.width}] = {{\n{rows}\n}};\n"
    return table + f"static inline M_code M_decode_{name}(uint32_t code) {{ return M_{name}_codes[code]; }}\n\n"


def _entries(fmt: Format) -> list[str]:
    """The rows of the table of codes: every value is n * 2**e, and no exponent is below that of the format's unit."""
    codes, unit = np.arange(1 << fmt.width), fmt.ulp_exponent
    significand, exponent = fmt.scaled_magnitudes(codes)
    fraction_bits = np.array([row.fraction_bits for row in fmt.rows])
    own = exponent + fraction_bits[fmt.magnitude_rows[fmt.magnitudes_of(codes) & (1 << fmt.magnitude_bits) - 1]]
    entries = []
    for code, kind in enumerate(fmt.kinds):
        n, e, row, sign = int(significand[code]), int(exponent[code]), int(own[code]), int(code & fmt.sign_bit != 0)
        if kind is not Kind.FINITE or not n:
            n, e, row = int(kind in (Kind.INF, Kind.NAN)), unit, 0
        elif e < unit:
            n, e = n >> (unit - e), unit
        entries.append(f"{{{n},{e},{row},{sign},{_KINDS[kind]}}}")
    return entries


def number(name: str, value: float) -> str:
    """A constant number that is not negative."""
    sig, exp = _normalized(value)
    return f"static const M_number M_{name} = {{ {sig:#x}u, {exp}, 0, M_FINITE }};\n"


def _normalized(value: float) -> tuple[int, int]:
    fraction, exponent = np.frexp(value)
    return int(int(np.ldexp(fraction, 53)) << 11), int(exponent) - 1 if value else NONE


# -- rounding to codes


def encoding(fmt: Format, mode: Rounding, overflow: Overflow, *, nan_to_zero: bool = False) -> str:
    """The function ``M_encode``: codes.h with the steps of a format, and the codes of what is no value of it."""
    replaced = replacements(fmt, mode, overflow)
    nan = fmt.canonical_nan or 0
    minus_inf = with_sign(fmt, replaced.minus_inf)
    infinities = [fmt.kinds[code] is Kind.INF for code in (replaced.plus_inf, minus_inf)]
    constants = enum(
        NAN_CODE=0 if nan_to_zero else nan,
        NAN_IS_LOST=nan_to_zero or fmt.canonical_nan is None,
        PLUS_INF=replaced.plus_inf,
        PLUS_INF_IS_LOST=not infinities[0],
        MINUS_INF=minus_inf,
        MINUS_INF_IS_LOST=not (infinities[1] and fmt.signed),
        ABOVE=replaced.above,
        BELOW=with_sign(fmt, replaced.below),
        ZERO_CODE=replaced.zero,
        CODE_BITS=fmt.width,
        KEEPS_SMALL=fmt.has_zero and not fmt.posit_rounding,
        HAS_LOWEST=fmt.has_lowest,
        HAS_ZERO=fmt.has_zero,
        HAS_NEGATIVE_ZERO=fmt.has_negative_zero,
        IS_SIGNED=fmt.signed,
        IS_TWOS_COMPLEMENT=fmt.twos_complement,
    )
    flush = 2.0 ** fmt.exponent_range[0] if fmt.flush and not mode.is_stochastic else 0.0
    steps = _steps(fmt, mode, flush)
    constants += number("FLUSH", flush) + number("SMALLEST_NORMAL", fmt.smallest_normal) + enum(STEPS=len(steps) - 1)
    table = ",\n".join(f"  {step}" for step in steps)
    types, functions = part("codes").split("/* Whether", 1)
    grid = f"static const M_step M_grid[M_STEPS + 1] = {{\n{table}\n}};\n\n"
    return f"{constants}{types}{grid}/* Whether{functions}"


def _steps(fmt: Format, mode: Rounding, flush: float) -> list[str]:
    values, codes = fmt.magnitudes, fmt.magnitude_codes
    if not fmt.has_zero:
        values, codes = np.append(0.0, values), np.append(0, codes)
    is_power = np.array([row.fraction_bits == 0 for row in fmt.rows])[fmt.magnitude_rows[codes]]
    end = fmt.above_largest
    if fmt.has_lowest:
        values, codes, is_power = np.append(values, end), np.append(codes, fmt.sign_bit), np.append(is_power, False)
        end += fmt.quantum(fmt.largest_code)
    values = np.append(values, end)
    steps = []
    for place, code in enumerate(codes.tolist()):
        low, high = float(values[place]), float(values[place + 1])
        middle = ((flush if place == 0 else low) + high) / 2
        if low and high > 2 * low:  # no binade between: a longer code's next bit is one of the exponent's
            middle = float(np.sqrt(low * high))
        is_away = mode in (Rounding.TIES_TO_AWAY, Rounding.HYBRID)  # hybrid with its pin at 0
        tie = is_away or code & 1 or (mode is Rounding.MPTORCH and is_power[place])
        steps.append(_step(low, middle, high, code, int(tie)))
    return [*steps, _step(float(values[-1]), float(values[-1]), float(values[-1]), 0, 0)]


def _step(low: float, middle: float, high: float, code: int, tie: int) -> str:
    unit = min(_last_bit(low), _last_bit(high - low))
    first, gap = (int(np.ldexp(number, -unit)) for number in (low, high - low))
    (sig, exp), (middle_sig, middle_exp) = _normalized(low), _normalized(middle)
    return f"{{{sig:#x}u,{middle_sig:#x}u,{exp},{middle_exp},{unit},{first},{gap},{code},{tie}}}"


def _last_bit(value: float) -> int:
    """The exponent of a number's last bit; of zero, a large one."""
    numerator, denominator = value.as_integer_ratio()
    return 2000 if not value else (numerator & -numerator).bit_length() - denominator.bit_length()


def thresholds(mode: Rounding, source: Format | None, random_bits: int | None, *, pin: bool = False) -> str:
    """The rounding of a number, the threshold of the roundings that have one, and the random word of a lane."""
    tail_bits, threshold, word = 0, "(void)bits, (void)random, 0", "(void)in, (void)lane, 0"
    if random_bits is not None:
        tail_bits = random_bits
        threshold, word = (
            f"(void)bits, ((uint64_t)1 << {tail_bits}) - random",
            f"M_get(in->random, lane * {tail_bits}, {tail_bits})",
        )
    elif mode is Rounding.HYBRID and source is not None:
        tail_bits = 14 if source.name == "binary32" else 2
        threshold = "(void)random, " + ("bits & 0x3fff" if tail_bits == 14 else "(bits & 1) * 2 + 1")
    chosen = f"in->hybrid[0] ? {rounding(mode)} : M_TIES_TO_AWAY" if pin else f"(void)in, {rounding(mode)}"
    return (
        f"enum {{ M_TAIL_BITS = {tail_bits} }};\n"
        f"static inline int M_rounding(const M_in *in) {{ return {chosen}; }}\n"
        f"static inline uint64_t M_random(const M_in *in, int lane) {{ return {word}; }}\n"
        f"static inline uint64_t M_threshold(uint32_t bits, uint64_t random) {{ return {threshold}; }}\n"
    )


def scale(scale_bits: int) -> str:
    """The exponent at the port ``scale``."""
    value = f"M_signed(in->scale[0], {scale_bits})" if scale_bits else "(void)in, 0"
    return f"static inline int M_scale(const M_in *in) {{ return {value}; }}\n"


def status(*outputs: str) -> str:
    """The outputs ``flags`` and ``overflow``, as far as there are any."""
    texts = {"flags": "out->flags[0] = (uint64_t)flags;", "overflow": "out->overflow[0] = (flags & M_OVERFLOW) != 0;"}
    lines = " ".join(text for name, text in texts.items() if name in outputs) or "(void)out, (void)flags;"
    return f"static inline void M_status(M_out *out, int flags) {{ {lines} }}\n"
