"""Studies whose rows are a file of the program: rows that the file already has are not measured again.

A row is the same if its netlists come from the same Verilog by the same scripts and tool, and the file was written by
the same program.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hwgen.tools import yosys
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.area.digest import fingerprint
from synth.area.jobs import Measurement
from synth.area.pool import LocalPool
from synth.area.rows import Row
from synth.area.runner import measure_all
from synth.area.store import Store

Jobs = Callable[[Store], Iterable[Measurement]]
"""The jobs of a study; the store keeps their Verilog."""


def options(about: str | None, argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line of a study; ``about`` is the docstring of its module."""
    return parser(about).parse_args(argv)


def parser(about: str | None) -> argparse.ArgumentParser:
    """The options that all studies have; ``about`` is the docstring of the study's module."""
    options = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    text = "reuse the results in this file and add new ones (default: %(default)s)"
    options.add_argument("--store", default="build/store.sqlite", metavar="FILE", help=text)
    options.add_argument("--jobs", type=int, metavar="N", help="jobs that run at the same time")
    text = "measure everything again, also what the study's file has"
    options.add_argument("--again", action="store_true", help=text)
    return options


def measured(
    chosen: argparse.Namespace, file: Path, jobs: Jobs, keep: Callable[[Measurement, Row], bool]
) -> dict[Measurement, list[Row]]:
    """Measure what the file does not have, and return the rows that the study keeps, by job.

    Raises
    ------
    ToolError
        If a measurement fails.
    """
    store = Store(chosen.store)
    todo = list(jobs(store))
    known = {} if chosen.again else _known(file, program(todo))
    rows: dict[Measurement, list[Row] | None] = {
        job: known.get((job.command, *job.hashes().values(), yosys.version())) for job in todo
    }
    with LocalPool(chosen.jobs) as pool:
        todo = [job for job, group in rows.items() if group is None]
        for outcome in measure_all(todo, pool, store, Progress()):
            if outcome.error:
                raise ToolError(outcome.error)
            rows[outcome.job] = [row for row in outcome.rows if keep(outcome.job, row)]
    return {job: group or [] for job, group in rows.items()}


def program(jobs: Iterable[Measurement]) -> str:
    """SHA-256 of the program that runs the jobs."""
    return fingerprint(*sorted({type(job).__module__ for job in jobs}))


def _known(file: Path, by: str) -> dict[tuple[str, ...], list[Row]]:
    rows: dict[tuple[str, ...], list[Row]] = {}
    content = json.loads(file.read_bytes()) if file.exists() else {}
    for row in map(Row.from_json, content["rows"] if content.get("program") == by else []):
        rows.setdefault((row.command, row.verilog_sha256, row.script_sha256, row.tool), []).append(row)
    return rows


def write(file: Path, rows: Mapping[Measurement, Iterable[Row]], **others: Any) -> None:
    """Write the file of a study: rows after other plain data; of lists an item a line."""
    content = others | {"program": program(rows), "rows": [row.to_json() for group in rows.values() for row in group]}
    texts = [f"{json.dumps(key)}: {_lines(value)}" for key, value in content.items()]
    file.write_text("{\n" + ",\n".join(texts) + "\n}\n", encoding="utf-8")


def _lines(value: Any) -> str:
    return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]" if isinstance(value, list) else json.dumps(value)
