"""Formats that users describe in TOML files: strict keys, and one sentence for whatever is wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from golden.formats import Format
from golden.rows import Biased, Exponent, Fixed, Kind, Overflow, Rounding, Row, SignMagnitude, Special
from golden.tables import check_table
from golden.tables import read as read_table
from golden.validation import MAX_WIDTH, MIN_WIDTH


def read(path: Path) -> Format:
    """Format that a TOML file describes; ``docs/formats.md`` tells its keys.

    Raises
    ------
    ValueError
        If the file cannot be read or does not describe a format; the sentence names the file and the key.
    """

    def described(table: dict[str, Any], raw: bytes) -> Format:
        return replace(_from_table(table), source_name=path.name, source_sha256=hashlib.sha256(raw).hexdigest())

    return read_table(path, described, "Format file ")


_C = TypeVar("_C", bound=str)

_KEYS = {
    "name": str, "width": int, "cite": str, "rows": list, "specials": list, "canonical_nan": int, "nan_keeps_sign": bool,
    "twos_complement": bool, "flush": bool, "roundings": list, "overflows": list,
}  # fmt: skip
_ROW_KEYS = {"prefix": str, "exponent": dict, "fraction_bits": int, "hidden": int}
_SPECIAL_KEYS = {"mask": int, "value": int, "kind": str}
_RULES = {"fixed": ("exponent",), "biased": ("bits", "bias"), "sign_magnitude": ("bits",)}


def _from_table(table: Mapping[str, Any]) -> Format:
    check_table(table, _KEYS, "the file", ("name", "width", "rows"))
    if table["width"] > MAX_WIDTH:
        raise ValueError(f"width must be {MIN_WIDTH} to {MAX_WIDTH} bits, not {table['width']}")
    rows = tuple(_row(row, f"rows[{i}]") for i, row in enumerate(table["rows"]))
    specials = tuple(_special(special, f"specials[{i}]") for i, special in enumerate(table.get("specials", [])))
    choices: dict[str, Any] = {}
    if "roundings" in table:
        allowed = tuple(r for r in Rounding if r not in (Rounding.HYBRID, Rounding.MPTORCH))
        choices["roundings"] = tuple(_choice(r, allowed, "roundings") for r in table["roundings"])
    default = Overflow.INFINITY if any(s.kind is Kind.INF for s in specials) else Overflow.NAN
    saturates_only = default is Overflow.NAN and "canonical_nan" not in table
    choices["overflows"] = (Overflow.SATURATE,) if saturates_only else (default, Overflow.SATURATE)
    if "overflows" in table:
        choices["overflows"] = tuple(_choice(o, tuple(Overflow)[:3], "overflows") for o in table["overflows"])
    flags = {key: table[key] for key in ("canonical_nan", "nan_keeps_sign", "twos_complement", "flush") if key in table}
    cite = table.get("cite", "a user's description")
    return Format(name=table["name"], width=table["width"], rows=rows, specials=specials, cite=cite, **flags, **choices)


def _row(table: Any, where: str) -> Row:
    check_table(table, _ROW_KEYS, where, ("prefix", "exponent", "fraction_bits"))
    rule = table["exponent"]
    kind = _choice(rule.get("rule"), tuple(_RULES), f"{where}.exponent.rule")
    keys = _RULES[kind]
    check_table(rule, {"rule": str, **dict.fromkeys(keys, int)}, f"{where}.exponent", ("rule", *keys))
    exponent: Exponent
    match kind:
        case "fixed":
            exponent = Fixed(rule["exponent"])
        case "biased":
            exponent = Biased(rule["bits"], rule["bias"])
        case _:
            exponent = SignMagnitude(rule["bits"])
    if exponent.bits > MAX_WIDTH:
        raise ValueError(f"{where}.exponent.bits must be at most {MAX_WIDTH}, not {exponent.bits}")
    return Row(table["prefix"], exponent, table["fraction_bits"], table.get("hidden", 1))


def _special(table: Any, where: str) -> Special:
    check_table(table, _SPECIAL_KEYS, where, ("mask", "value", "kind"))
    return Special(table["mask"], table["value"], Kind(_choice(table["kind"], ("zero", "inf", "nan"), f"{where}.kind")))


def _choice(value: Any, allowed: tuple[_C, ...], where: str) -> _C:
    for choice in allowed:
        if value == choice:
            return choice
    raise ValueError(f"{where} must be one of {', '.join(allowed)}, not {value!r}")
