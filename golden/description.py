"""Formats that users describe in TOML files: strict keys, and one sentence for whatever is wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from golden.formats import Format
from golden.refusal import BadValue, check_choice
from golden.rows import ALL_ROUNDINGS, Biased, Exponent, Fixed, Kind, Overflow, Row, SignMagnitude, Special
from golden.tables import check_table
from golden.tables import read as read_table
from golden.validation import MAX_WIDTH


def read(path: Path) -> Format:
    """Format that a TOML file describes; ``docs/formats.md`` tells its keys.

    Raises
    ------
    BadValue
        If the file cannot be read or does not describe a format; the sentence names the file and the key.
    """

    def described(table: dict[str, Any], raw: bytes) -> Format:
        return replace(_from_table(table), source_name=path.name, source_sha256=hashlib.sha256(raw).hexdigest())

    return read_table(path, described, "Format file ")


_KEYS = {
    "name": str, "width": int, "cite": str, "rows": list, "specials": list, "canonical_nan": int, "nan_keeps_sign": bool,
    "twos_complement": bool, "flush": bool, "roundings": list, "overflows": list,
}  # fmt: skip
_ROW_KEYS = {"prefix": str, "exponent": dict, "fraction_bits": int, "hidden": int}
_SPECIAL_KEYS = {"mask": int, "value": int, "kind": str}
_RULES: dict[str, tuple[type[Exponent], tuple[str, ...]]] = {
    "fixed": (Fixed, ("exponent",)), "biased": (Biased, ("bits", "bias")), "sign_magnitude": (SignMagnitude, ("bits",)),
}  # fmt: skip


def _from_table(table: Mapping[str, Any]) -> Format:
    check_table(table, _KEYS, "the file", ("name", "width", "rows"))
    rows = tuple(_row(row, f"rows[{i}]") for i, row in enumerate(table["rows"]))
    specials = tuple(_special(special, f"specials[{i}]") for i, special in enumerate(table.get("specials", [])))
    by_default = [Overflow.INFINITY] if any(s.kind is Kind.INF for s in specials) else []
    if not by_default and "canonical_nan" in table:
        by_default = [Overflow.NAN]
    fields: dict[str, Any] = {"cite": "a user's description", "overflows": (*by_default, Overflow.SATURATE), **table}
    if "roundings" in table:
        fields["roundings"] = tuple(check_choice("roundings", r, ALL_ROUNDINGS) for r in table["roundings"])
    if "overflows" in table:
        fields["overflows"] = tuple(check_choice("overflows", o, tuple(Overflow)[:3]) for o in table["overflows"])
    return Format(**{**fields, "rows": rows, "specials": specials})


def _row(table: Any, where: str) -> Row:
    check_table(table, _ROW_KEYS, where, ("prefix", "exponent", "fraction_bits"))
    rule = table["exponent"]
    kind, keys = _RULES[check_choice(f"{where}.exponent.rule", rule.get("rule"), tuple(_RULES))]
    check_table(rule, {"rule": str, **dict.fromkeys(keys, int)}, f"{where}.exponent", ("rule", *keys))
    exponent = kind(*(rule[key] for key in keys))
    if exponent.bits > MAX_WIDTH:
        raise BadValue(f"{where}.exponent.bits", f"must be at most {MAX_WIDTH}, not {exponent.bits}")
    return Row(table["prefix"], exponent, table["fraction_bits"], table.get("hidden", 1))


def _special(table: Any, where: str) -> Special:
    check_table(table, _SPECIAL_KEYS, where, ("mask", "value", "kind"))
    kind = check_choice(f"{where}.kind", table["kind"], (Kind.ZERO, Kind.INF, Kind.NAN))
    return Special(table["mask"], table["value"], kind)
