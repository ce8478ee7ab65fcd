"""Formats by name: the catalogue, parametric families, and TOML files of users."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import itertools
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from golden.formats import Format
from golden.multi import pair
from golden.names import AMBIGUOUS, canonical
from golden.p3109 import PATTERN, FarFormat, p3109
from golden.refusal import BadKind, BadValue, shown
from golden.rows import (
    ALL_ROUNDINGS,
    AWAY_FIRST,
    Biased,
    Fixed,
    Kind,
    Overflow,
    Rounding,
    Row,
    SignMagnitude,
    Special,
    with_subnormals,
)
from golden.tables import read_format
from golden.validation import EXPONENT_LIMIT, MAX_WIDTH, MIN_WIDTH
from golden.wide import WIDE, biased, ieee, wide

_NAMES = (
    "hif8",
    "binary8p3", "binary8p4", "e5m2_nosub", "e4m3_nosub", "e5m3", "e5m3_nosub",
    "e5m2b1", "e5m2b2", "e5m2b4", "e4m3b1",
    "ocp_e4m3", "ocp_e5m2", "ieee_e4m3", "ieee_e3m4",
    "gc_1_4_3_b7", "gc_1_4_3_b10", "gc_1_4_3_b14", "gc_1_5_2_b15", "gc_1_5_2_b33", "gc_1_6_1_b31",
    "gc_1_3_4_b3", "gc_1_2_5_b1", "gc_1_0_7_b0",
    "ibm_1_4_3", "ibm_1_5_2", "ibm_fp9_1_5_3",
    "e2m1", "e2m3", "e3m2", "e8m0", "ue4m3", "ue5m3",
    "int8", "int4", "posit8_0", "posit8_1", "posit8_2",
)  # fmt: skip

FAMILIES = ("e{x}m{y}b{l}", "e{x}m{y}b{l}_{u}", "gc_1_{e}_{p}_b{bias}", "ibm_1_{e}_{p}_b{bias}", PATTERN)
"""Parametric names that :func:`get` accepts beside the catalogue's; ``m3`` is a bias of -3."""

_N = r"([0-9]{1,99})"
"""A number in such a name; Python refuses to convert strings of thousands of digits."""


def names() -> tuple[str, ...]:
    """Names of the catalogue: the 8- and 9-bit formats of the specification, section 0, and the formats of blocks."""
    return _NAMES


def get(name: str | os.PathLike[str] | Format) -> Format:
    """Look up a format.

    Parameters
    ----------
    name : str, path or Format
        A name of the catalogue, a wide format or a family, in any case; a name of another project
        (:data:`golden.names.ALIASES`); the path of a TOML file; or ``A+B`` (:mod:`golden.multi`).

    Raises
    ------
    BadKind
        If the name is neither a string nor a path.
    BadValue
        If the name is unknown (the message lists the nearest names) or ambiguous, a file describes no format, or the
        format's exponents are too large to compute with, see :func:`described`.
    """
    fmt = described(name)
    if isinstance(fmt, FarFormat):
        problem = (
            f"has exponents beyond ±{EXPONENT_LIMIT}; only its table (hwgen table) and hwgen explain are available"
        )
        raise BadValue("name", f"{fmt.name!r} {problem}")
    return fmt


def described(name: str | os.PathLike[str] | Format) -> Format:
    """Look up a format as :func:`get` does; formats of IEEE P3109 may have exponents of any size."""
    if isinstance(name, Format):
        return name
    if isinstance(name, os.PathLike):
        name = os.fspath(name)
    if not isinstance(name, str):
        raise BadKind("name", f"must be a format's name, a path or a Format, not {shown(name)}")
    if "+" in name and not os.path.exists(name):  # False, not an OSError, for names that are too long
        first, _, second = name.partition("+")
        if "+" in second and not os.path.exists(second):
            raise BadValue("name", f"{shown(name)}: two formats can share a unit, not more")
        return pair(get(first), get(second))
    if name.endswith(".toml"):
        return _checked_name(read_format(Path(name)), name)
    return _get(name)


def beside(folder: Path, name: str) -> str:
    """A name for :func:`get` from a name in a file of ``folder``: TOML files in ``folder`` get their paths."""

    def resolved(part: str) -> str:
        path = folder / part
        return str(path) if part.endswith(".toml") and path.exists() else part

    return "+".join(map(resolved, name.split("+")))


def _get(name: str) -> Format:
    word = re.sub(r"(?<!\d)0+(?=\d)", "", canonical(name)).replace("_bm0", "_b0")  # integers in one way
    fmt = _known(word)
    if fmt is not None:
        return fmt
    if word in AMBIGUOUS:
        raise BadValue("name", f"must be {AMBIGUOUS[word]}, not the ambiguous {name!r}")
    known = (*_NAMES, *WIDE)
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.4) or known[:3]
    nearest = f"the nearest {'is' if len(near) == 1 else 'are'} {', '.join(near)}"
    others = f"any {', '.join(FAMILIES)} and a path to a .toml file are allowed too"
    raise BadValue("name", f"must be a known format, not {shown(name)}; {nearest} ({others})")


@functools.cache
def _known(name: str) -> Format | None:
    if name in _SINGLE:
        return _SINGLE[name]()
    if name in WIDE:
        return wide(name)
    if match := re.fullmatch(rf"e{_N}m{_N}b{_N}(?:_{_N})?", name):
        x, y, low = (int(n) for n in match.groups()[:3])
        return supernormal(name, x, y, low, low if match[4] is None else int(match[4]))
    if match := re.fullmatch(rf"gc_1_{_N}_{_N}_b(m?){_N}", name):
        bias = -int(match[4]) if match[3] else int(match[4])
        return graphcore(name, int(match[1]), int(match[2]), bias)
    if match := re.fullmatch(rf"ibm_1_{_N}_{_N}_b(m?){_N}", name):
        bias = -int(match[4]) if match[3] else int(match[4])
        return ibm(name, int(match[1]), int(match[2]), bias)
    return p3109(name)


def _checked_name(fmt: Format, file: str) -> Format:
    """Refuse a known name for another format: its modules and figures could be mistaken for the known format's."""
    where = f"Format file {file!r}: name {fmt.name!r} is that of"
    if canonical(fmt.name) in AMBIGUOUS:
        raise BadValue(None, f"{where} several known formats; choose another one")
    try:
        known = _get(fmt.name)
    except BadValue:
        return fmt
    if known.name in WIDE:
        raise BadValue(None, f"{where} a source and accumulator; choose another one")
    for field in _DEFINING:
        if getattr(fmt, field) != getattr(known, field):
            raise BadValue(None, f"{where} a known format with other {field}; choose another one")
    if fmt.overflows[0] is not known.overflows[0]:  # modules' names omit the default overflow
        raise BadValue(None, f"{where} a known format with another default of overflows; choose another one")
    return fmt


_FREE = {"name", "cite", "roundings", "overflows", "source_name", "source_sha256"}
_DEFINING = tuple(field.name for field in dataclasses.fields(Format) if field.name not in _FREE)
"""Fields of a format that its modules depend on."""


def _sign_only(width: int) -> tuple[Special, int]:
    code = 1 << (width - 1)
    return Special((1 << width) - 1, code, Kind.NAN), code


_HIFLOAT8 = "Ascend HiFloat8 Format for Deep Learning"


def _hif8() -> Format:
    nan, code = _sign_only(8)
    return Format(
        name="hif8",
        width=8,
        cite=f"{_HIFLOAT8}, section 2.1; specification, section 1",
        rows=(
            Row("11", SignMagnitude(4), fraction_bits=1),
            Row("10", SignMagnitude(3), fraction_bits=2),
            Row("01", SignMagnitude(2), fraction_bits=3),
            Row("001", SignMagnitude(1), fraction_bits=3),
            Row("0001", Fixed(0), fraction_bits=3),
            Row("0000", Biased(bits=3, bias=23), fraction_bits=0),  # denormals
        ),
        specials=(Special(0xFF, 0x00, Kind.ZERO), nan, Special(0x7F, 0x6F, Kind.INF)),
        canonical_nan=code,
        roundings=(*AWAY_FIRST, Rounding.HYBRID),
    )


_SUPERNORMALS = "Supernormals paper, {}; specification, section 2"


def _of_supernormals(fmt: Format, name: str, place: str = "section 4") -> Format:
    """A format under the name, and with the rules, that it has in the supernormals paper."""
    cite = _SUPERNORMALS.format(place)
    return dataclasses.replace(fmt, name=name, cite=cite, roundings=ALL_ROUNDINGS, overflows=Format.overflows)


def supernormal(name: str, x: int, y: int, low: int, high: int) -> Format:
    """``e{x}m{y}b{low}_{high}``: the ``low`` lowest and ``high`` highest binades hold only powers of two.

    In these binades, the exponent field and the fraction together count exponents (Supernormals paper, section 3).
    ``low`` adjacent binades are one row per set bit of ``low``.
    """
    width = 1 + x + y
    if not (x >= 2 and y >= 1 and width <= MAX_WIDTH):
        bits = f"at least 2 exponent bits, 1 fraction bit, and at most {MAX_WIDTH} bits in all"
        raise BadValue("name", f"{name!r}: there must be {bits}")
    if low + high >= 1 << x:
        binades = f"{low} low and {high} high binades must leave one of the {1 << x} to the normals"
        raise BadValue("name", f"{name!r}: {binades}")
    bias = 1 << (x - 1)
    rows = []
    start, lowest = 0, low - bias - (low << y)  # the exponent that code 0 would have; it is a zero instead
    for bit in reversed(range(low.bit_length())):
        if low >> bit & 1:
            rows.append(_run(x, y, bit, start, lowest))
            start += 1 << (bit + y)
    end, top = 1 << (x + y), (1 << x) - high - bias + (high << y)  # one past the last code, and that exponent
    for bit in reversed(range(high.bit_length())):
        if high >> bit & 1:
            size = 1 << (bit + y)
            rows.append(_run(x, y, bit, end - size, top - (1 << (x + y))))
            end -= size
    nan, code = _sign_only(width)
    all_ones = (1 << (width - 1)) - 1
    return Format(
        name=name,
        width=width,
        cite=_SUPERNORMALS.format("section 3" if low == high else "sections 3 and 5"),
        rows=(*rows, Row("", Biased(x, bias), y)),
        specials=(Special((1 << width) - 1, 0, Kind.ZERO), nan, Special(all_ones, all_ones, Kind.INF)),
        canonical_nan=code,
        roundings=(*ALL_ROUNDINGS, Rounding.MPTORCH),
    )


def _run(x: int, y: int, bit: int, start: int, offset: int) -> Row:
    """Codes ``start`` to ``start + 2**(bit + y) - 1``; the value of code c is 2**(c + offset)."""
    prefix = format(start >> (bit + y), f"0{x - bit}b") if x > bit else ""
    return Row(prefix, Biased(bits=bit + y, bias=-(start + offset)), fraction_bits=0)


_OCP_CITE = "FP8 Formats for Deep Learning, Table 1; specification, section 3"
_IEEE_CITE = "float8_e4m3 and float8_e3m4 of ml_dtypes; specification, section 3.1"
_OCP_E4M3: dict[str, Any] = {
    "specials": (Special(0x7F, 0x7F, Kind.NAN),),
    "canonical_nan": 0x7F,
    "overflows": (Overflow.NAN, Overflow.SATURATE, Overflow.OCP_PAPER),
}
_OCP_E5M2_OVERFLOWS = (Overflow.INFINITY, Overflow.SATURATE, Overflow.OCP_PAPER, Overflow.PROPAGATE)


_GRAPHCORE = "8-bit Numerical Formats for Deep Neural Networks, sections 2.2, 3.1 and 3.2; specification, section 4"


def graphcore(name: str, exponent_bits: int, fraction_bits: int, bias: int) -> Format:
    """``gc_1_{e}_{p}_b{bias}``: one NaN instead of -0, and no infinities.

    Without exponent bits, the format is a scaled integer in two's complement.
    """
    width = 1 + exponent_bits + fraction_bits
    if not (fraction_bits >= 1 and MIN_WIDTH <= width <= MAX_WIDTH):
        bits = f"at least 1 fraction bit and {MIN_WIDTH} to {MAX_WIDTH} bits in all"
        raise BadValue("name", f"{name!r}: there must be {bits}")
    nan, code = _sign_only(width)
    fields: dict[str, Any] = {"specials": (nan,), "canonical_nan": code}
    if not exponent_bits:
        fields |= {"rows": with_subnormals(0, fraction_bits, bias)[:1], "twos_complement": True}
    overflows = Overflow.SATURATE, Overflow.NAN
    return biased(Format, name, exponent_bits, fraction_bits, bias, _GRAPHCORE, overflows=overflows, **fields)


_HYBRID = "Hybrid 8-bit Floating Point Training and Inference, sections 2.1 and 2.2"


def _ibm(name: str, exponent_bits: int, fraction_bits: int, bias: int, source: str = _HYBRID) -> Format:
    rows = (Row("", Biased(exponent_bits, bias), fraction_bits),)
    zero = Special((1 << (exponent_bits + fraction_bits)) - 1, 0, Kind.ZERO)
    fields = {"rows": rows, "specials": (zero,), "flush": True, "overflows": (Overflow.SATURATE,)}
    return biased(Format, name, exponent_bits, fraction_bits, bias, f"{source}; specification, section 5", **fields)


def ibm(name: str, exponent_bits: int, fraction_bits: int, bias: int) -> Format:
    """``ibm_1_{e}_{p}_b{bias}``: no subnormals, infinities and NaN; all exponents are those of numbers.

    The catalogue's formats have their names there also under these names.
    """
    width = 1 + exponent_bits + fraction_bits
    if not (exponent_bits >= 1 and fraction_bits >= 1 and MIN_WIDTH <= width <= MAX_WIDTH):
        bits = f"at least 1 exponent bit, 1 fraction bit and {MIN_WIDTH} to {MAX_WIDTH} bits in all"
        raise BadValue("name", f"{name!r}: there must be {bits}")
    known = _IBM.get((exponent_bits, fraction_bits, bias))
    return get(known) if known else _ibm(name, exponent_bits, fraction_bits, bias)


_IBM = {(4, 3, 11): "ibm_1_4_3", (5, 2, 15): "ibm_1_5_2", (5, 3, 15): "ibm_fp9_1_5_3"}
"""The catalogue's names by bits of exponent and fraction, and bias."""

_INTEGER_CITE = "integers in two's complement, the lowest one included; specification, section 13"
_POSIT_CITE = "Standard for Posit Arithmetic (2022), sections 3 and 4; specification, section 13"


def _integer(name: str, width: int) -> Format:
    """Integers in two's complement, the lowest one included; no infinity and no NaN."""
    rows = (Row("", Fixed(width - 1), width - 1, hidden=0),)
    overflows = (Overflow.SATURATE,)
    return Format(name, width, rows, (), _INTEGER_CITE, twos_complement=True, overflows=overflows)


def _posit(name: str, width: int, exponent_bits: int) -> Format:
    """Posits: a regime, a run of equal bits, counts steps of ``exponent_bits`` bits of the exponent.

    A long regime leaves fewer bits of the exponent than these, or none; those that are cut off are zeros.
    """
    body, rows = width - 1, [Row("0" * (width - 1), Fixed(0), 0, hidden=0)]
    for run, (bit, end) in itertools.product(range(1, width), (("1", "0"), ("0", "1"))):
        prefix = (bit * run + end)[:body]
        base = (run - 1 if bit == "1" else -run) << exponent_bits
        left = body - len(prefix)
        if left >= exponent_bits:
            rule = Biased(exponent_bits, -base) if exponent_bits else Fixed(base)
            rows.append(Row(prefix, rule, left - exponent_bits))
        else:
            for field in range(1 << left):
                bits = format(field, f"0{left}b") if left else ""
                rows.append(Row(prefix + bits, Fixed(base + (field << (exponent_bits - left))), 0))
    nar, code = _sign_only(width)
    return Format(
        name=name,
        width=width,
        cite=_POSIT_CITE,
        rows=tuple(rows[:-1] if rows[-1].prefix == rows[0].prefix else rows),
        specials=(nar,),
        canonical_nan=code,
        twos_complement=True,
        posit_rounding=True,
        roundings=(Rounding.TIES_TO_EVEN,),
        overflows=(Overflow.POSIT, Overflow.SATURATE),
    )


_MX_CITE = "OCP Microscaling Formats (MX) Specification, version 1.0; specification, section 9"
_NVFP4_CITE = "OCP E4M3 without the sign, the scale of NVFP4; specification, section 9"
_UE5M3_CITE = "5 exponent and 3 fraction bits without a sign; specification, section 9"


def _element(name: str, exponent_bits: int, fraction_bits: int, bias: int) -> Format:
    """An element of blocks: subnormals and normals, no infinity, no NaN."""
    return biased(Format, name, exponent_bits, fraction_bits, bias, _MX_CITE, overflows=(Overflow.SATURATE,))


def _scale(name: str, rows: tuple[Row, ...], cite: str, **fields: Any) -> Format:
    """A scale of blocks: no sign, the last code is NaN."""
    width = rows[-1].exponent.bits + rows[-1].fraction_bits
    nan = (1 << width) - 1
    return Format(
        name=name,
        width=width,
        cite=cite,
        rows=rows,
        specials=(Special(nan, nan, Kind.NAN),),
        canonical_nan=nan,
        signed=False,
        overflows=(Overflow.NAN, Overflow.SATURATE),
        **fields,
    )


_SINGLE: dict[str, Callable[[], Format]] = {
    "hif8": _hif8,
    "binary8p3": lambda: _of_supernormals(get("Binary8p3se"), "binary8p3", "Table 1"),
    "binary8p4": lambda: _of_supernormals(get("Binary8p4se"), "binary8p4"),
    "e5m2_nosub": lambda: _of_supernormals(get("e5m2b0"), "e5m2_nosub"),
    "e4m3_nosub": lambda: _of_supernormals(get("e4m3b0"), "e4m3_nosub"),
    "e5m3": lambda: _of_supernormals(get("Binary9p4se"), "e5m3"),
    "e5m3_nosub": lambda: _of_supernormals(get("e5m3b0"), "e5m3_nosub"),
    "ocp_e4m3": lambda: biased(Format, "ocp_e4m3", 4, 3, 7, _OCP_CITE, **_OCP_E4M3),
    "ocp_e5m2": lambda: ieee(Format, "ocp_e5m2", 5, 2, _OCP_CITE, 0x7E, _OCP_E5M2_OVERFLOWS),
    "ieee_e4m3": lambda: ieee(Format, "ieee_e4m3", 4, 3, _IEEE_CITE, 0x7C),
    "ieee_e3m4": lambda: ieee(Format, "ieee_e3m4", 3, 4, _IEEE_CITE, 0x78),
    "ibm_1_4_3": lambda: _ibm("ibm_1_4_3", 4, 3, 11),
    "ibm_1_5_2": lambda: _ibm("ibm_1_5_2", 5, 2, 15),
    "ibm_fp9_1_5_3": lambda: _ibm("ibm_fp9_1_5_3", 5, 3, 15, f"{_HIFLOAT8}, section 1 (FP9)"),
    "e2m1": lambda: _element("e2m1", 2, 1, 1),
    "e2m3": lambda: _element("e2m3", 2, 3, 1),
    "e3m2": lambda: _element("e3m2", 3, 2, 3),
    "e8m0": lambda: _scale("e8m0", (Row("", Biased(8, 127), 0),), _MX_CITE, roundings=AWAY_FIRST),
    "int8": lambda: _integer("int8", 8),
    "int4": lambda: _integer("int4", 4),
    **{f"posit8_{bits}": partial(_posit, f"posit8_{bits}", 8, bits) for bits in range(3)},
    "ue4m3": lambda: _scale("ue4m3", with_subnormals(4, 3, 7), _NVFP4_CITE),
    "ue5m3": lambda: _scale("ue5m3", with_subnormals(5, 3, 15), _UE5M3_CITE),
}
