"""Read the files that options of the report name, or refuse them in one sentence."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from golden.refusal import BadValue, Refusal, read_bytes
from synth.area.rows import Row
from synth.report.data import Accuracy, Sweep
from synth.report.training.results import RESULTS as STUDY
from synth.report.training.results import Study
from synth.studies.areas import Areas
from synth.studies.dots import Dots
from synth.studies.energies import Energies
from synth.studies.references import References
from synth.studies.speeds import Speeds
from synth.studies.tiles import Tiles

STUDIES = "dots", "energies", "references", "speeds", "tiles"
dots, energies, references, speeds, tiles = Dots.load, Energies.load, References.load, Speeds.load, Tiles.load
"""The results of the studies that are part of the program."""


def areas() -> tuple[Row, ...]:
    """The areas of the documentation, where there are any."""
    return Areas.load().rows if Areas.file.exists() else ()


Content = TypeVar("Content")
LARGEST = 1e30
"""Largest number of a file: no axis of a plot can show much larger ones."""


def sweep(file: str, argument: str) -> Sweep:
    """Read a ``sweep.json`` or ``report.json``; BadValue if it cannot be read or is something else."""
    return _read(file, argument, "hwgen sweep or hwgen report", Sweep.from_json)


def accuracy(file: str, argument: str = "accuracy") -> Accuracy:
    """Read the output of ``examples/digits.py --json``; BadValue if it cannot be read or is something else."""
    return _read(file, argument, "examples/digits.py --json", Accuracy.from_json)


def study(file: str | None = None, argument: str = "study") -> Study | None:
    """The results on training in a file, by default those of the documentation, or None if it has none.

    BadValue if a file cannot be read or is something else.
    """
    if file is None and not STUDY.exists():
        return None
    return _read(str(STUDY) if file is None else file, argument, "make study", Study.from_json)


def _read(file: str, argument: str, writer: str, content: Callable[[Any], Content]) -> Content:
    other = BadValue(argument, f"{file!r} is not what {writer} writes")
    try:
        data = json.loads(read_bytes(file), parse_int=partial(_number, int), parse_float=partial(_number, float))
        json.dumps(data, ensure_ascii=False).encode()  # refuses halves of surrogate pairs
    except OSError as error:
        raise BadValue(argument, f"{file!r} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise other from error
    try:
        return content(data)
    except (Refusal, RecursionError) as error:
        raise other from error


def _number(kind: type[int] | type[float], digits: str) -> float:
    number = kind(digits)
    if abs(number) > LARGEST:
        raise ValueError(digits)
    return number
