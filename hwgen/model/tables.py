"""The tables of a model in C: what the codes of a format stand for, and the steps between its values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from golden import WIDE, Format, Kind, Rounding, WideFormat

M = "\x1a"
"""Stands for the module's name and an underscore; it is no part of any name. Templates are written with ``M_``."""

_KINDS = {Kind.INF: 1, Kind.NAN: 2}


def decoding(name: str, fmt: Format) -> str:
    """The function ``M_decode_NAME``, from codes to what they stand for, by fields or by a table of all codes."""
    function = f"static inline {M}code {M}decode_{name}(uint32_t code) {{ return %s; }}\n"
    if fmt.name in WIDE:
        fields = f"static const {M}format {M}{name}_format = {wide_format(fmt)};\n"
        return fields + function % f"{M}unpack(code, {M}{name}_format)"
    entries = list(_entries(fmt))
    rows = ",\n  ".join(", ".join(entries[place : place + 6]) for place in range(0, len(entries), 6))
    comment = f"/* {fmt.name}: n, e, row, sign, kind of every code */\n"
    table = f"static const {M}code {M}{name}_codes[{1 << fmt.width}] = {{\n  {rows}\n}};\n"
    return comment + table + function % f"{M}{name}_codes[code]"


def wide_format(fmt: Format) -> str:
    """The initializer of an ``M_format``."""
    assert isinstance(fmt, WideFormat)
    fields = fmt.width, fmt.fraction_bits, fmt.bias, int(fmt.has_subnormals)
    return f"{{ {', '.join(map(str, fields))}, {fmt.canonical_nan or 0}u }}"


def _entries(fmt: Format) -> Iterator[str]:
    """The codes: every value is n * 2**e, and no exponent is below that of the format's unit."""
    codes, unit = np.arange(1 << fmt.width), fmt.ulp_exponent
    significands, exponents = fmt.scaled_magnitudes(codes)
    fraction_bits = np.array([row.fraction_bits for row in fmt.rows])
    rows = exponents + fraction_bits[fmt.magnitude_rows[fmt.magnitudes_of(codes) & (1 << fmt.magnitude_bits) - 1]]
    for code, kind in enumerate(fmt.kinds):
        n, e, row, sign = int(significands[code]), int(exponents[code]), int(rows[code]), int(code & fmt.sign_bit != 0)
        if kind is not Kind.FINITE or not n:
            n, e, row = int(kind in _KINDS), unit, 0
        elif e < unit:
            n, e = n >> (unit - e), unit
        yield f"{{{n},{e},{row},{sign},{_KINDS.get(kind, 0)}}}"


def number(value: float) -> str:
    """The initializer of an ``M_number`` that is not negative."""
    fraction, exponent = np.frexp(value)
    return f"{{ {int(np.ldexp(fraction, 53)) << 11:#x}u, {int(exponent) - 1 if value else M + 'NONE'}, 0, {M}FINITE }}"


def flush(fmt: Format, rounding: Rounding) -> float:
    """The largest magnitude that becomes zero in every rounding."""
    return 2.0 ** fmt.exponent_range[0] if fmt.flush and not rounding.is_stochastic else 0.0


def steps(fmt: Format, rounding: Rounding) -> list[str]:
    """The initializers of the steps from each value to the next one; the last is the end of the format's range."""
    values, codes = fmt.magnitudes, fmt.magnitude_codes
    if not fmt.has_zero:
        values, codes = np.append(0.0, values), np.append(0, codes)
    is_power = np.array([row.fraction_bits == 0 for row in fmt.rows])[fmt.magnitude_rows[codes]]
    end = fmt.above_largest
    if fmt.has_lowest:
        values, codes, is_power = np.append(values, end), np.append(codes, fmt.sign_bit), np.append(is_power, False)
        end += fmt.quantum(fmt.largest_code)
    lows, last, texts = [*values.tolist(), end], len(codes) - 1, []
    is_away = rounding in (Rounding.TIES_TO_AWAY, Rounding.HYBRID)
    for place, code in enumerate(codes.tolist()):
        low, high = lows[place], lows[place + 1]
        first = low if place else flush(fmt, rounding)
        boundary, tie = (first + high) / 2, is_away or code & 1
        if low and high > 2 * low:  # no binade between: a longer code's next bit is one of the exponent's
            boundary = float(np.sqrt(low * high))
        match rounding:
            case Rounding.TOWARD_ZERO:
                boundary, tie = high, 0
            case Rounding.TOWARD_POSITIVE | Rounding.TOWARD_NEGATIVE:  # of numbers of one sign
                boundary, tie = first, 0
            case Rounding.TO_ODD:
                boundary, tie = high if code & 1 else first, 0
            case Rounding.MPTORCH:
                boundary = boundary if 0 < place < last else low if place else high
                tie = 0 < place < last and (code & 1 or is_power[place])
        unit = min(_last_bit(low), _last_bit(high - low))
        units, gap = (int(np.ldexp(distance, -unit)) for distance in (low, high - low))
        texts.append(f"{{ {number(low)}, {number(boundary)}, {unit}, {units}, {gap}, {code}, {int(tie)} }}")
    return [*texts, f"{{ {number(end)}, {number(end)}, 0, 0, 0, 0, 0 }}"]


def _last_bit(value: float) -> int:
    """The exponent of a number's last bit; of zero, a large one."""
    numerator, denominator = value.as_integer_ratio()
    return (numerator & -numerator).bit_length() - denominator.bit_length() if value else 2000
