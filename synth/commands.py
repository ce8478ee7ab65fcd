"""What ``hwgen area`` and ``hwgen report`` do with their options."""

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import golden
from golden import Format
from hwgen import build, yosys
from hwgen.options import check_jobs, option
from synth import liberty
from synth.emission import verilog
from synth.jobs import MAX_RENAMINGS, MAX_SEED, Job
from synth.plan import FORMATS, area_jobs, report_jobs
from synth.proof.evidence import Store as EvidenceStore
from synth.proof.evidence import program_hashes
from synth.recipes import SPEED
from synth.report import assemble, render, with_sweeps
from synth.runner import Outcome, Progress, measure
from synth.store import Store
from synth.targets import LIBERTY, TARGETS


@contextmanager
def _pool(jobs: int | None) -> Iterator[ThreadPoolExecutor]:
    """Workers; threads do, because the work is done by processes that Yosys runs in."""
    check_jobs(jobs)
    yosys.version()
    with ThreadPoolExecutor(jobs or os.cpu_count()) as executor:
        yield executor


def _check_renamings(arguments: argparse.Namespace) -> None:
    for name, value, most in (("renamings", arguments.renamings, MAX_RENAMINGS), ("seed", arguments.seed, MAX_SEED)):
        if not 1 <= value <= most:
            raise ValueError(f"--{name} must be from 1 to {most}, not {value}")


def _swept(file: str) -> dict[str, Any]:
    """What a sweep has written."""
    try:
        found: dict[str, Any] = json.loads(Path(file).read_text())
        for row in found["rows"]:
            _check_row(row)
        for failure in found["failures"]:
            _require(_is_text, failure["name"], failure["target"], failure["error"])
    except OSError as error:
        raise ValueError(f"--sweep: {file!r} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"--sweep: {file!r} is not what hwgen sweep writes") from error
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


def area(design: build.Design, arguments: argparse.Namespace) -> int:
    """Measure one design; 0 if every target delivered, else 1.

    Raises
    ------
    ValueError
        One sentence that names the option.
    """
    _check_renamings(arguments)
    with option("--liberty"):
        libraries = liberty.read_all(arguments.liberty)
    targets = ([] if libraries else ["gates"]) if arguments.target is None else list(dict.fromkeys(arguments.target.split(",")))
    if libraries and LIBERTY not in targets:
        targets.append(LIBERTY)
    for name in targets:
        if name not in TARGETS and not (name == LIBERTY and libraries):
            raise ValueError(f"--target must be one of {', '.join(TARGETS)}, or {LIBERTY} together with --liberty, not {name!r}")
    with _pool(arguments.jobs) as executor:
        with option("--store"):
            store = Store(arguments.store) if arguments.store else None
        text = verilog(design, store)
        jobs = area_jobs(design, text, targets, arguments.portfolio, arguments.renamings, libraries, arguments.seed)
        outcomes = list(measure(jobs, executor, Progress() if sys.stderr.isatty() else None, store=store))
    rows = [row for outcome in outcomes for row in outcome.rows]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        print("\n".join(_table(rows)))
    return _complain(outcomes)


def _table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    width = max((len(_where(row)) for row in rows), default=0)
    yield f"{'target':{width}} {'recipe':14} {'metric':8} {'median':>10} {'min':>10} {'max':>10}  unit"
    for row in rows:
        best = row["recipe"] == "best"
        if best and "timer" in row:  # a curve: each of its points is a figure
            continue
        recipe = f"{row['best_recipe']} *" if best else row["recipe"]
        told = best or "timer" in row
        others = [f"{key.removeprefix('median_')} {value:g}" for key, value in row.items() if told and key.startswith("median_")]
        yield (
            f"{_where(row):{width}} {recipe:14} {row['metric']:8} {row['median']:10.1f} {row['min']:10.1f} {row['max']:10.1f}"
            f"  {row['unit']}{'; ' if others else ''}{', '.join(others)}"
        )
    for timer in dict.fromkeys(row["timer"] for row in rows if "timer" in row):
        yield f"delays: medians of {rows[0]['renamings']} renamings by {timer}"
    if any("timer" not in row for row in rows):
        yield f"* the figure: the lowest median over the recipes, of {rows[0]['renamings']} renamings each; {rows[0]['tool']}"


def _where(row: dict[str, Any]) -> str:
    """The target as the table calls it: a library by its name."""
    return " + ".join(row["libraries"]) if row["target"] == LIBERTY else str(row["target"])


def _complain(outcomes: Iterable[Outcome]) -> int:
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        print(f"hwgen: {outcome.error}", file=sys.stderr)
        if outcome.log:
            print("\n".join(outcome.log.splitlines()[-10:]), file=sys.stderr)
    return 1 if failed else 0


def report(arguments: argparse.Namespace) -> int:
    """Measure a set of formats and write the report; 0 if every job delivered, else 1 (the report tells which did not).

    Raises
    ------
    ValueError
        One sentence that names the option.
    """
    _check_renamings(arguments)
    formats = _formats(arguments.formats)
    with option("--liberty"):
        libraries = liberty.read_all(arguments.liberty)
    swept = [_swept(file) for file in arguments.sweep or []]
    if swept and not arguments.formats and arguments.liberty:
        raise ValueError("--liberty: with --sweep nothing is measured unless --formats says what")
    accuracy = _accuracy(arguments.accuracy)
    folder = Path(arguments.output)
    _check_writable(folder)
    with option("--store"):
        store = Store(arguments.store)
    with _pool(arguments.jobs) as executor:
        jobs: list[Job] = []
        if arguments.formats or not swept:
            jobs = report_jobs(
                list(formats), lambda kind, name, **options: build.BLOCKS[kind](formats.get(name, name), **options), arguments.renamings,
                lambda designs: executor.map(lambda design: verilog(design, store), designs), libraries,
                arguments.formats in (None, "all"), arguments.seed,
            )  # fmt: skip
        outcomes = list(measure(jobs, executor, Progress(), store=store))
    try:
        found = assemble(outcomes, list(formats), accuracy, _evidence(arguments.evidence))
        render(with_sweeps(found, swept), folder)
    except OSError as error:
        raise ValueError(f"-o: {str(folder)!r} cannot be written to: {error.strerror}") from error
    print(folder / "index.html")
    return _complain(outcomes)


def _check_writable(folder: Path) -> None:
    """Refuse a folder that a report could not be written to, before minutes are spent on it."""
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise ValueError(f"-o: {str(folder)!r} cannot be written to: {str(place)!r} is {'read-only' if place.is_dir() else 'not a folder'}")


def _formats(text: str | None) -> dict[str, Format]:
    """The formats to compare, by name."""
    names = FORMATS if text is None else golden.names() if text == "all" else [name for name in text.split(",") if name]
    if not names:
        raise ValueError("--formats must name at least one format, or all")
    with option("--formats"):
        found = [build.block_format(name) for name in names]
    named: dict[str, Format] = {}
    for fmt in found:
        if named.setdefault(fmt.identifier, fmt) != fmt:
            raise ValueError(f"--formats: two of them are called {fmt.identifier!r}; give one another name")
    return {fmt.name: fmt for fmt in named.values()}


def _evidence(folder: str) -> list[dict[str, Any]]:
    """What is known of modules by the golden model of today; nothing where there is no such folder."""
    if not Path(folder).is_dir():
        return []
    today = program_hashes()["golden"]
    return [found.record() for found in EvidenceStore(Path(folder)) if found.hashes.get("golden") == today]


def _accuracy(file: str | None) -> dict[str, Any] | None:
    """What the digits example has written."""
    if file is None:
        return None
    try:
        result: dict[str, Any] = json.loads(Path(file).read_text())
        for row in result["rows"]:
            _check_accuracy(row)
            _require(_is_count, row["rtl_cases"])
        for row in result.get("study", []):
            _check_accuracy(row)
            _require(_is_text, row["scaling"], row["accumulator"])
            _ = row["snr_db"]
        _require(_is_count, result["images"])
        _require(bool, result["images"])
        _require(_is_text, result["accumulator"])
    except OSError as error:
        raise ValueError(f"--accuracy: {file!r} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"--accuracy: {file!r} is not what examples/digits.py --json writes") from error
    return result
