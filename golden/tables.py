"""TOML files of users: strict checks with one-sentence messages, and the description of a format."""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from golden.formats import Format
from golden.refusal import BadKind, BadValue, Refusal, check_choice, read_bytes, shown
from golden.rows import ALL_ROUNDINGS, Biased, Exponent, Fixed, Kind, Overflow, Row, SignMagnitude, Special
from golden.validation import MAX_WIDTH

_T = TypeVar("_T")


def read(path: str | Path, make: Callable[[dict[str, Any], bytes], _T], what: str = "") -> _T:
    """Return ``make(table, raw)`` of a TOML file's table and bytes.

    A file that cannot be read or is not valid TOML is refused, and so is what ``make`` refuses. The refusal names no
    argument; its sentence begins with ``what`` and the file's name.
    """
    name = f"{what}{str(path)!r}"
    try:
        raw = read_bytes(path)
        table = tomllib.loads(raw.decode("utf-8-sig"))  # editors on Windows write a byte order mark
        repr(table)  # messages show values: refuses hexadecimal numbers of 4,300 digits, and tables 1,000 deep
    except OSError as error:
        raise BadValue(None, f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadValue(None, f"{name} must be text in UTF-8, and line {line} is not") from None
    except tomllib.TOMLDecodeError as error:
        raise BadValue(None, f"{name} is not valid TOML: {' '.join(str(error).split())}") from None
    except (ValueError, RecursionError):
        raise BadValue(None, f"{name} has a number that is too long, or tables that are too deep") from None
    try:
        return make(table, raw)
    except Refusal as refusal:
        raise BadValue(None, f"{name}: {' '.join(str(refusal).split())}") from None


def check_keys(table: Any, allowed: Collection[str], where: str, required: Collection[str] = ()) -> None:
    """Refuse anything but a table, keys that are not ``allowed``, and missing ``required`` keys; name ``where``."""
    if not isinstance(table, dict):
        raise BadKind(where, f"must be a table, not {shown(table)}")
    for key in table:
        if key not in allowed:
            near = difflib.get_close_matches(key, allowed, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"allowed are {', '.join(allowed) or 'none'}"
            raise BadValue(where, f"has an unknown key {shown(key)}; {hint}")
    for key in required:
        if key not in table:
            raise BadValue(where, f"needs a key {key!r}")


def check_table(table: Any, types: Mapping[str, type], where: str, required: Collection[str] = ()) -> None:
    """:func:`check_keys`, and refuse values of other types than those of ``types``: str, int, bool, list or dict."""
    check_keys(table, types, where, required)
    for key, value in table.items():
        if type(value) is not types[key]:
            raise BadKind(f"{where}: {key}", f"must be {_TYPE_NAMES[types[key]]}, not {shown(value)}")


_TYPE_NAMES = {str: "a string", int: "an integer", bool: "true or false", list: "a list", dict: "a table"}


# -- formats ----------------------------------------------------------------------------------------------------------


def read_format(path: Path) -> Format:
    """Read a format from a TOML file; ``docs/formats.md`` lists the keys.

    A file that cannot be read, or describes no format, is refused; the sentence names the file and the key.
    """

    def described(table: dict[str, Any], raw: bytes) -> Format:
        return replace(_from_table(table), source_name=path.name, source_sha256=hashlib.sha256(raw).hexdigest())

    return read(path, described, "Format file ")


_KEYS = {
    "name": str,
    "width": int,
    "cite": str,
    "rows": list,
    "specials": list,
    "canonical_nan": int,
    **dict.fromkeys(("nan_keeps_sign", "signed", "twos_complement", "flush", "posit_rounding"), bool),
    **dict.fromkeys(("roundings", "overflows"), list),
}
_ROW_KEYS = {"prefix": str, "exponent": dict, "fraction_bits": int, "hidden": int}
_SPECIAL_KEYS = {"mask": int, "value": int, "kind": str}
_RULES: dict[str, tuple[type[Exponent], tuple[str, ...]]] = {
    "fixed": (Fixed, ("exponent",)),
    "biased": (Biased, ("bits", "bias")),
    "sign_magnitude": (SignMagnitude, ("bits",)),
}


def _from_table(table: Mapping[str, Any]) -> Format:
    check_table(table, _KEYS, "the file", ("name", "width", "rows"))
    rows = tuple(_row(row, f"rows[{i}]") for i, row in enumerate(table["rows"]))
    specials = tuple(_special(special, f"specials[{i}]") for i, special in enumerate(table.get("specials", [])))
    overflows: tuple[Overflow, ...] = (Overflow.SATURATE,)
    if any(s.kind is Kind.INF for s in specials):
        overflows = Format.overflows
    elif "canonical_nan" in table:
        overflows = (Overflow.NAN, Overflow.SATURATE)
    fields: dict[str, Any] = {"cite": "a user's description", "overflows": overflows, **table}
    if "roundings" in table:
        fields["roundings"] = tuple(check_choice("roundings", word, ALL_ROUNDINGS) for word in table["roundings"])
    if "overflows" in table:
        fields["overflows"] = tuple(check_choice("overflows", word, tuple(Overflow)) for word in table["overflows"])
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


def format_text(fmt: Format) -> str:
    """The text of a TOML file that describes a format; :func:`read_format` reads an equal one from it."""
    lines = [f"name = {json.dumps(fmt.name)}", f"width = {fmt.width}", f"cite = {json.dumps(fmt.cite)}"]
    if fmt.canonical_nan is not None:
        lines.append(f"canonical_nan = {fmt.canonical_nan:#x}")
    flags = [key for key, kind in _KEYS.items() if kind is bool]
    lines += [f"{key} = {str(getattr(fmt, key)).lower()}" for key in flags]
    lines += [f"{key} = {json.dumps([str(word) for word in getattr(fmt, key)])}" for key in ("roundings", "overflows")]
    rules = {kind: (name, keys) for name, (kind, keys) in _RULES.items()}
    rows = []
    for row in fmt.rows:
        name, keys = rules[type(row.exponent)]
        rule = ", ".join([f'rule = "{name}"', *(f"{key} = {getattr(row.exponent, key)}" for key in keys)])
        rest = f"fraction_bits = {row.fraction_bits}, hidden = {row.hidden}"
        rows.append(f'    {{ prefix = "{row.prefix}", exponent = {{ {rule} }}, {rest} }},')
    specials = [
        f'    {{ mask = {special.mask:#x}, value = {special.value:#x}, kind = "{special.kind}" }},'
        for special in fmt.specials
    ]
    return "\n".join([*lines, "rows = [", *rows, "]", "specials = [", *specials, "]", ""])
