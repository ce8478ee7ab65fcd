"""Files that the report's options name: read, and refused in one sentence where they are not what they should be."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from synth.area.recipes import SPEED
from synth.area.targets import LIBERTY, TARGETS


@contextmanager
def _reading(file: str, option: str, writer: str) -> Iterator[str]:
    """A file's text; whoever finds it wrong refuses it with a ValueError of one sentence."""
    try:
        yield Path(file).read_text()
    except OSError as error:
        raise ValueError(f"{option}: {file!r} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{option}: {file!r} is not what {writer} writes") from error


def rows(file: str, option: str) -> dict[str, Any]:
    """``rows`` and ``failures`` of a ``sweep.json`` or ``report.json``.

    Raises
    ------
    ValueError
        One sentence that names the option and the file.
    """
    with _reading(file, option, "hwgen sweep or hwgen report") as text:
        found: dict[str, Any] = json.loads(text)
        for row in found["rows"]:
            _check_row(row)
        for failure in found["failures"]:
            _require(_is_text, failure["name"], failure["target"], failure["error"])
    return found


_TEXTS = ("component", "format", "target", "recipe", "portfolio", "unit", "name", "command", "tool", "verilog_sha256", "script_sha256")
_TEXTS_OF = {"encoder": ("rounding",), "mac": ("accumulator",), "adder": ("accumulator",)}
_NUMBERS = ("median", "min", "max", "renamings", "seed")
_NUMBERS_OF = {"mac": ("accumulator_bits",)}
"""What a row must have besides, by component."""


def _check_row(row: Any) -> None:
    """Refuse what is no row of a sweep: KeyError, TypeError or ValueError."""
    component, best, timed = row["component"], row["recipe"] == "best", row["portfolio"] == SPEED
    texts = [*_TEXTS, *_TEXTS_OF.get(component, ()), *(["best_recipe"] if best else []), *(["timer", "delay"] if timed else [])]
    _require(_is_text, *(row[key] for key in texts))
    _require(_is_number, *(row[key] for key in (*_NUMBERS, *_NUMBERS_OF.get(component, ()))))
    _require(_is_number, *(value for key, value in row.items() if key.startswith("median_")))
    _require(bool, row["target"] in (*TARGETS, LIBERTY), component == "decoder" or row["min"] > 0)  # a decoder may be wires alone
    if timed:
        _require(bool, row["delay_samples"])
        _require(_is_number, *row["delay_samples"])
    if row["target"] == LIBERTY:
        _require(bool, row["libraries"])
        _require(_is_text, *row["libraries"], *row["libraries_sha256"])


def _require(holds: Callable[[Any], bool], *values: Any) -> None:
    if not all(map(holds, values)):
        raise ValueError("a value is not as it should be")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _check_accuracy(row: Any) -> None:
    """Refuse what no row of accuracy has: KeyError, TypeError or ValueError."""
    _require(_is_text, row["format"])
    _require(_is_number, row["accuracy"])
    if row.get("snr_db") is not None:  # the reference has none, a sum that has overflowed null
        _require(math.isfinite, row["snr_db"])


def accuracy(file: str) -> dict[str, Any]:
    """What ``examples/digits.py --json`` has written; ValueError as of :func:`rows`."""
    with _reading(file, "--accuracy", "examples/digits.py --json") as text:
        found: dict[str, Any] = json.loads(text)
        for row in found["rows"]:
            _check_accuracy(row)
            _require(_is_count, row["rtl_cases"])
        for row in found.get("study", []):
            _check_accuracy(row)
            _require(_is_text, row["scaling"], row["accumulator"])
            _ = row["snr_db"]
        _require(_is_count, found["images"])
        _require(bool, found["images"])
        _require(_is_text, found["accumulator"])
    return found
