"""Formats that users describe in TOML files: strict keys, and one sentence for whatever is wrong."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from golden.formats import Format
from golden.rows import Biased, Exponent, Fixed, Kind, Overflow, Rounding, Row, SignMagnitude, Special
from golden.tables import check_keys
from golden.validation import MAX_WIDTH, MIN_WIDTH


def read(path: Path) -> Format:
    """Format that a TOML file describes; ``docs/formats.md`` tells its keys.

    Raises
    ------
    ValueError
        If the file cannot be read or does not describe a format; the sentence names the file and the key.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ValueError(f"Format file {str(path)!r} cannot be read: {error.strerror}") from None
    try:
        fmt = _from_table(tomllib.loads(raw.decode()))
        return replace(fmt, source_name=path.name, source_sha256=hashlib.sha256(raw).hexdigest())
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"Format file {str(path)!r}: {' '.join(str(error).split())}") from None


_C = TypeVar("_C", bound=str)

_KEYS = {
    "name": str, "width": int, "cite": str, "rows": list, "specials": list, "canonical_nan": int, "nan_keeps_sign": bool,
    "twos_complement": bool, "flush": bool, "roundings": list, "overflows": list,
}  # fmt: skip
_ROW_KEYS = {"prefix": str, "exponent": dict, "fraction_bits": int, "hidden": int}
_SPECIAL_KEYS = {"mask": int, "value": int, "kind": str}
_RULES = {"fixed": ("exponent",), "biased": ("bits", "bias"), "sign_magnitude": ("bits",)}


def _from_table(table: Mapping[str, Any]) -> Format:
    _check_table(table, _KEYS, ("name", "width", "rows"), "the file")
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
    _check_table(table, _ROW_KEYS, ("prefix", "exponent", "fraction_bits"), where)
    rule = table["exponent"]
    kind = _choice(rule.get("rule"), tuple(_RULES), f"{where}.exponent.rule")
    keys = _RULES[kind]
    _check_table(rule, {"rule": str, **dict.fromkeys(keys, int)}, ("rule", *keys), f"{where}.exponent")
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
    _check_table(table, _SPECIAL_KEYS, ("mask", "value", "kind"), where)
    return Special(table["mask"], table["value"], Kind(_choice(table["kind"], ("zero", "inf", "nan"), f"{where}.kind")))


def _check_table(table: Any, allowed: Mapping[str, type], required: tuple[str, ...], where: str) -> None:
    check_keys(table, allowed, where, required)
    for key, value in table.items():
        if type(value) is not allowed[key]:
            raise TypeError(f"{where}: {key} must be {_TYPE_NAMES[allowed[key]]}, not {value!r}")


_TYPE_NAMES = {str: "a string", int: "an integer", bool: "true or false", list: "a list", dict: "a table"}


def _choice(value: Any, allowed: tuple[_C, ...], where: str) -> _C:
    for choice in allowed:
        if value == choice:
            return choice
    raise ValueError(f"{where} must be one of {', '.join(allowed)}, not {value!r}")
