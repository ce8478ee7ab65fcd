"""Files that the report's options name: read, and refused in one sentence where they are not what they should be."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from synth.recipes import SPEED
from synth.targets import LIBERTY, TARGETS


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
            _ = failure["name"], failure["target"], failure["error"]
    return found


def _check_row(row: Any) -> None:
    """Refuse what is no row: KeyError, TypeError or ValueError."""
    texts = ["component", "format", "target", "recipe", "portfolio", "unit", "name", "command", "tool", "verilog_sha256", "script_sha256"]
    numbers = ["median", "min", "max", "renamings", "seed"]
    lists = []
    if row["recipe"] == "best":
        texts = [*texts, "best_recipe"]
    if row["portfolio"] == SPEED:
        texts, lists = [*texts, "timer", "delay"], ["delay_samples"]
    if row["target"] == LIBERTY:
        lists = [*lists, "libraries", "libraries_sha256"]
    good = all(isinstance(row[key], str) for key in texts) and all(type(row[key]) in (int, float) for key in numbers)
    if not good or not all(isinstance(row[key], list) and row[key] for key in lists) or row["target"] not in (*TARGETS, LIBERTY):
        raise ValueError("a row is not as it should be")


def accuracy(file: str) -> dict[str, Any]:
    """What ``examples/digits.py --json`` has written; ValueError as of :func:`rows`."""
    with _reading(file, "--accuracy", "examples/digits.py --json") as text:
        found: dict[str, Any] = json.loads(text)
        _ = [(row["format"], row["accuracy"], row["rtl_cases"]) for row in found["rows"]], found["images"], found["accumulator"]
        _ = [(row["format"], row["scaling"], row["accumulator"], row["accuracy"], row["snr_db"]) for row in found.get("study", [])]
    return found
