"""Formats of IEEE P3109 by name: ``Binary{K}p{P}{s|u}{e|f}`` (draft 4.0, sections 3 and 4.7.2).

K bits, precision P with the hidden bit, ``s``: with a sign, ``u``: without, ``e``: with infinities, ``f``: without. The
exponents of 98 of the 504 formats exceed those that golden and hardware compute with (:data:`golden.validation`); these
have exact values, and no more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from golden.formats import Format
from golden.refusal import BadValue
from golden.rows import Biased, Fixed, Kind, Overflow, Row, Special
from golden.validation import EXPONENT_LIMIT, MAX_WIDTH, MIN_WIDTH, check_fields

PATTERN = "Binary{K}p{P}{s|u}{e|f}"
"""The family's names."""

_CITE = "IEEE P3109 draft 4.0, sections 3 and 4.7.2; specification, section 8"


@dataclass(frozen=True)
class FarFormat(Format):
    """A format with exponents beyond ±400: its codes have exact values, and it takes part in no computation."""

    max_exponent: ClassVar[int] = 1 << MAX_WIDTH

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def values(self) -> NDArray[np.float64]:
        """Refuse to give values as float64."""
        problem = f"has exponents beyond ±{EXPONENT_LIMIT}: only `hwgen explain` and `hwgen table` know it"
        raise BadValue(None, f"Format {self.name!r} {problem}")

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Kind of every code."""
        return self._kinds(np.arange(1 << self.width) == 0)


def p3109(name: str) -> Format | None:
    """The format of a name in lower case; None for other names; refuse K, P and suffixes that the standard lacks."""
    match = re.fullmatch(r"binary([0-9]{1,99})p([0-9]{1,99})([a-z]+)", name)
    if match is None:
        return None
    name, k, p, suffix = name.capitalize(), int(match[1]), int(match[2]), match[3]
    if suffix not in ("se", "sf", "ue", "uf"):
        raise BadValue("name", f"{name!r}: the suffix must be se, sf, ue or uf, not {suffix!r}")
    if not MIN_WIDTH <= k <= MAX_WIDTH:
        raise BadValue("name", f"{name!r}: there must be {MIN_WIDTH} to {MAX_WIDTH} bits, not {k}")
    signed, extended = suffix[0] == "s", suffix[1] == "e"
    if not 1 <= p <= k - signed:
        raise BadValue("name", f"{name!r}: the precision must be from 1 to {k - signed}, not {p}")
    return _format(k, p, signed=signed, extended=extended)


def _format(k: int, p: int, *, signed: bool, extended: bool) -> Format:
    exponent_bits = k - p + (not signed)
    bias = 1 << (k - p - signed)
    whole = (1 << k) - 1
    nan = 1 << (k - 1) if signed else whole
    infinity = Special(nan - 1, nan - 1, Kind.INF) if signed else Special(whole, whole - 1, Kind.INF)
    low = Row("0" * exponent_bits, Fixed(1 - bias), p - 1, hidden=0)
    kind = Format if max(bias, (1 << exponent_bits) - bias) <= EXPONENT_LIMIT else FarFormat
    return kind(
        name=f"Binary{k}p{p}{'s' if signed else 'u'}{'e' if extended else 'f'}",
        width=k,
        cite=_CITE,
        rows=(low, Row("", Biased(exponent_bits, bias), p - 1)),
        specials=(Special(whole, nan, Kind.NAN), *((infinity,) if extended else ())),
        canonical_nan=nan,
        signed=signed,
        overflows=(Overflow.NONE, Overflow.SATURATE, Overflow.PROPAGATE, *(() if extended else (Overflow.NAN,))),
    )
