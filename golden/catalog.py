"""The formats of the five papers, by name: a catalogue, parametric families, and the way to users' own files."""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Callable
from pathlib import Path

from golden.formats import Format
from golden.multi import pair
from golden.names import AMBIGUOUS, canonical
from golden.refusal import BadKind, BadValue, shown
from golden.rows import ALL_ROUNDINGS, Biased, Fixed, Kind, Overflow, Rounding, Row, SignMagnitude, Special
from golden.tables import read_format
from golden.validation import MAX_WIDTH, MIN_WIDTH
from golden.wide import WIDE, ieee, wide

_NAMES = (
    "hif8",
    "binary8p3", "binary8p4", "e5m2_nosub", "e4m3_nosub", "e5m3", "e5m3_nosub",
    "e5m2b1", "e5m2b2", "e5m2b4", "e4m3b1",
    "ocp_e4m3", "ocp_e5m2", "ieee_e4m3", "ieee_e3m4",
    "gc_1_4_3_b7", "gc_1_4_3_b10", "gc_1_4_3_b14", "gc_1_5_2_b15", "gc_1_5_2_b33", "gc_1_6_1_b31",
    "gc_1_3_4_b3", "gc_1_2_5_b1", "gc_1_0_7_b0",
    "ibm_1_4_3", "ibm_1_5_2", "ibm_fp9_1_5_3",
)  # fmt: skip

FAMILIES = ("e{x}m{y}b{l}", "e{x}m{y}b{l}_{u}", "gc_1_{e}_{p}_b{bias}")
"""Parametric names that :func:`get` accepts beside the catalogue's; ``m3`` is a bias of -3."""

_N = r"(\d{1,99})"
"""A number in such a name; Python refuses to read those of thousands of digits."""


def names() -> tuple[str, ...]:
    """Names of the catalogue: every 8- and 9-bit format of the specification, section 0."""
    return _NAMES


def get(name: str | os.PathLike[str] | Format) -> Format:
    """The format of a name, of a family's member, of a TOML file's path, or of two of these with a ``+`` between
    (:mod:`golden.multi`).

    Raises
    ------
    BadKind
        If the name is neither a string nor a path.
    BadValue
        If there is no such format (the sentence gives the nearest known names), or a file does not describe one.
    """
    if isinstance(name, Format):
        return name
    if isinstance(name, os.PathLike):
        name = os.fspath(name)
    if not isinstance(name, str):
        raise BadKind("name", f"must be a format's name, a path or a Format, not {name!r}")
    if "+" in name and not os.path.exists(name):  # False, not an OSError, for names that are too long
        first, _, second = name.partition("+")
        if "+" in second and not os.path.exists(second):
            raise BadValue("name", f"{shown(name)}: two formats can share a unit, not more")
        return pair(get(first), get(second))
    if name.endswith(".toml"):
        return _untaken(read_format(Path(name)), name)
    return _get(name)


def beside(folder: Path, name: str) -> str:
    """A name for :func:`get` as a file in ``folder`` means it: TOML files that lie there are called by their paths."""
    parts = (
        str(folder / part) if part.endswith(".toml") and (folder / part).exists() else part for part in name.split("+")
    )
    return "+".join(parts)


def _get(name: str) -> Format:
    ours = canonical(name)
    fmt = _known(ours)
    if fmt is not None:
        return fmt
    if ours in AMBIGUOUS:
        raise BadValue("name", f"must be {AMBIGUOUS[ours]}, not the ambiguous {name!r}")
    known = (*_NAMES, *WIDE)
    near = difflib.get_close_matches(ours, known, n=3, cutoff=0.4) or known[:3]
    nearest = f"the nearest {'is' if len(near) == 1 else 'are'} {', '.join(near)}"
    others = f"any {', '.join(FAMILIES)} and a path to a .toml file are allowed too"
    raise BadValue("name", f"must be a known format, not {name!r}; {nearest} ({others})")


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
    return None


def _untaken(fmt: Format, file: str) -> Format:
    """Refuse another format under a name that is known: its modules and figures would pass for the known one's."""
    where = f"Format file {file!r}: name {fmt.name!r} is that of"
    try:
        known = _get(fmt.name)
    except BadValue:
        return fmt
    if known.name in WIDE:
        raise BadValue(None, f"{where} a source and accumulator; choose another one")
    for field in _DEFINING:
        if getattr(fmt, field) != getattr(known, field):
            raise BadValue(None, f"{where} a known format with other {field}; choose another one")
    if (
        fmt.overflows[0] is not known.overflows[0]
    ):  # modules' names say which overflow they have where it is not the first
        raise BadValue(None, f"{where} a known format with another default of overflows; choose another one")
    return fmt


_DEFINING = ("width", "rows", "specials", "canonical_nan", "nan_keeps_sign", "twos_complement", "flush")
"""Fields of a format that its modules are made of."""


def _sign_only(width: int) -> tuple[Special, int]:
    code = 1 << (width - 1)
    return Special((1 << width) - 1, code, Kind.NAN), code


def _hif8() -> Format:
    nan, code = _sign_only(8)
    return Format(
        name="hif8",
        width=8,
        cite="Ascend HiFloat8 Format for Deep Learning, Tables 2 to 4; specification, section 1",
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
        roundings=(
            Rounding.TIES_TO_AWAY,
            *(r for r in ALL_ROUNDINGS if r is not Rounding.TIES_TO_AWAY),
            Rounding.HYBRID,
        ),
    )


_SUPERNORMALS = "Supernormals paper, Table 1; specification, section 2"


def _p3109(name: str, exponent_bits: int, fraction_bits: int, *, subnormals: bool = True) -> Format:
    width, bias = 1 + exponent_bits + fraction_bits, 1 << (exponent_bits - 1)
    nan, code = _sign_only(width)
    low = Row("0" * exponent_bits, Fixed(1 - bias), fraction_bits, hidden=0)
    all_ones = (1 << (width - 1)) - 1
    zero = Special((1 << width) - 1, 0, Kind.ZERO)
    return Format(
        name=name, width=width, cite=_SUPERNORMALS,
        rows=(*((low,) if subnormals else ()), Row("", Biased(exponent_bits, bias), fraction_bits)),
        specials=(*(() if subnormals else (zero,)), nan, Special(all_ones, all_ones, Kind.INF)),
        canonical_nan=code,
    )  # fmt: skip


def supernormal(name: str, x: int, y: int, low: int, high: int) -> Format:
    """``e{x}m{y}b{low}_{high}``: ``low`` binades at the bottom and ``high`` at the top hold powers of two only.

    The fields of those binades, fraction included, count exponents (Supernormals paper, section 3). A run of ``l``
    binades is a row per set bit of ``l``.
    """
    width = 1 + x + y
    if not (x >= 2 and y >= 1 and width <= MAX_WIDTH):
        raise BadValue(
            "name",
            f"{name!r}: there must be at least 2 exponent bits, 1 fraction bit, and at most {MAX_WIDTH} bits in all",
        )
    if low + high >= 1 << x:
        raise BadValue(
            "name", f"{name!r}: {low} low and {high} high binades must leave one of the {1 << x} to the normals"
        )
    bias = 1 << (x - 1)
    rows = []
    start, lowest = 0, low - bias - (low << y)  # exponent of code 0, which is zero instead
    for bit in reversed(range(low.bit_length())):
        if low >> bit & 1:
            rows.append(_run(x, y, bit, start, lowest))
            start += 1 << (bit + y)
    end, top = 1 << (x + y), (1 << x) - high - bias + (high << y)  # one past the last code, and its exponent
    for bit in reversed(range(high.bit_length())):
        if high >> bit & 1:
            size = 1 << (bit + y)
            rows.append(_run(x, y, bit, end - size, top - (1 << (x + y))))
            end -= size
    nan, code = _sign_only(width)
    all_ones = (1 << (width - 1)) - 1
    return Format(
        name=name, width=width, cite=_SUPERNORMALS,
        rows=(*rows, Row("", Biased(x, bias), y)),
        specials=(Special((1 << width) - 1, 0, Kind.ZERO), nan, Special(all_ones, all_ones, Kind.INF)),
        canonical_nan=code,
        roundings=(*ALL_ROUNDINGS, Rounding.MPTORCH),
    )  # fmt: skip


def _run(x: int, y: int, bit: int, start: int, offset: int) -> Row:
    """Codes ``start`` to ``start + 2**(bit + y) - 1``, each the power of two with exponent code + offset."""
    prefix = format(start >> (bit + y), f"0{x - bit}b") if x > bit else ""
    return Row(prefix, Biased(bits=bit + y, bias=-(start + offset)), fraction_bits=0)


_OCP_CITE = "FP8 Formats for Deep Learning, Table 1; specification, section 3"
_IEEE_CITE = "float8_e4m3 and float8_e3m4 of ml_dtypes; specification, section 3.1"
_IEEE_OVERFLOWS = (Overflow.INFINITY, Overflow.SATURATE)
_OCP_OVERFLOWS = (Overflow.SATURATE, Overflow.OCP_PAPER)


def _ocp_e4m3() -> Format:
    return Format(
        name="ocp_e4m3", width=8, cite=_OCP_CITE,
        rows=(Row("0000", Fixed(-6), fraction_bits=3, hidden=0), Row("", Biased(bits=4, bias=7), fraction_bits=3)),
        specials=(Special(0x7F, 0x7F, Kind.NAN),),
        canonical_nan=0x7F,
        overflows=(Overflow.NAN, *_OCP_OVERFLOWS),
    )  # fmt: skip


def graphcore(name: str, exponent_bits: int, fraction_bits: int, bias: int) -> Format:
    """``gc_1_{e}_{p}_b{bias}``: one NaN in place of -0, no infinities; without exponent bits a two's complement scaled
    integer.
    """
    width = 1 + exponent_bits + fraction_bits
    if not (fraction_bits >= 1 and MIN_WIDTH <= width <= MAX_WIDTH):
        raise BadValue(
            "name", f"{name!r}: there must be at least 1 fraction bit and {MIN_WIDTH} to {MAX_WIDTH} bits in all"
        )
    nan, code = _sign_only(width)
    normals = (Row("", Biased(exponent_bits, bias), fraction_bits),) if exponent_bits else ()
    return Format(
        name=name,
        width=width,
        cite="8-bit Numerical Formats for Deep Neural Networks, section 2; specification, section 4",
        rows=(Row("0" * exponent_bits, Fixed(1 - bias), fraction_bits, hidden=0), *normals),
        specials=(nan,),
        canonical_nan=code,
        twos_complement=exponent_bits == 0,
        overflows=(Overflow.SATURATE, Overflow.NAN),
    )


def _ibm(name: str, exponent_bits: int, fraction_bits: int, bias: int) -> Format:
    width = 1 + exponent_bits + fraction_bits
    return Format(
        name=name,
        width=width,
        cite="Hybrid 8-bit Floating Point Training and Inference, section 3; specification, section 5",
        rows=(Row("", Biased(exponent_bits, bias), fraction_bits),),
        specials=(Special((1 << (width - 1)) - 1, 0, Kind.ZERO),),
        flush=True,
        overflows=(Overflow.SATURATE,),
    )


_SINGLE: dict[str, Callable[[], Format]] = {
    "hif8": _hif8,
    "binary8p3": lambda: _p3109("binary8p3", 5, 2),
    "binary8p4": lambda: _p3109("binary8p4", 4, 3),
    "e5m2_nosub": lambda: _p3109("e5m2_nosub", 5, 2, subnormals=False),
    "e4m3_nosub": lambda: _p3109("e4m3_nosub", 4, 3, subnormals=False),
    "e5m3": lambda: _p3109("e5m3", 5, 3),
    "e5m3_nosub": lambda: _p3109("e5m3_nosub", 5, 3, subnormals=False),
    "ocp_e4m3": _ocp_e4m3,
    "ocp_e5m2": lambda: ieee(Format, "ocp_e5m2", 5, 2, _OCP_CITE, 0x7E, (Overflow.INFINITY, *_OCP_OVERFLOWS)),
    "ieee_e4m3": lambda: ieee(Format, "ieee_e4m3", 4, 3, _IEEE_CITE, 0x7C, _IEEE_OVERFLOWS),
    "ieee_e3m4": lambda: ieee(Format, "ieee_e3m4", 3, 4, _IEEE_CITE, 0x78, _IEEE_OVERFLOWS),
    "ibm_1_4_3": lambda: _ibm("ibm_1_4_3", 4, 3, 11),
    "ibm_1_5_2": lambda: _ibm("ibm_1_5_2", 5, 2, 15),
    "ibm_fp9_1_5_3": lambda: _ibm("ibm_fp9_1_5_3", 5, 3, 15),
}
