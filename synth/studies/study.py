"""Studies: what each of them measures, and its results in a file of the program, one entry for each measurement.

Rows that the file already has are not measured again. A row is the same if its netlists come from the same Verilog by
the same scripts and tool, and the file was written by the same program.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, Self

from golden.refusal import BadValue
from hwgen.tools import yosys
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.area.digest import fingerprint
from synth.area.figures import Figure
from synth.area.jobs import Job
from synth.area.keys import Keys
from synth.area.recipes import SPEED
from synth.area.rows import BEST, Row
from synth.area.runner import LocalPool, Pool, measure_all
from synth.area.store import Store, verilog
from synth.report.measured import figure
from synth.studies.family import Family, Point

_SUMMARIES: dict[str, Callable[[list[float]], float]] = {"min": min, "median": median, "max": max}
"""What rows have of their samples; files do not repeat it."""


@dataclass(frozen=True)
class Study:
    """The results of a study, whose file has the content ``source``; a subclass says what it measures."""

    rows: tuple[Row, ...]
    """Of each point the row of the best recipe, or the rows of all recipes of the portfolio ``speed``."""
    source: Mapping[str, Any]

    file: ClassVar[Path]
    families: ClassVar[Sequence[Family]]

    @classmethod
    def points(cls) -> Iterator[Point]:
        """Each point of the study; some may occur twice."""
        return chain.from_iterable(family.expand() for family in cls.families)

    @classmethod
    def labelled(cls) -> dict[str, Point]:
        """The points, each once."""
        return {point.label: point for point in cls.points()}

    @property
    def tool(self) -> str:
        """The tool that made the netlists."""
        return ", ".join(sorted({row.tool for row in self.rows}))

    @cached_property
    def _by_point(self) -> dict[tuple[str, str, str, str, int], list[Row]]:
        groups: dict[tuple[str, str, str, str, int], list[Row]] = {}
        for row in self.rows:
            key = row.name, row.target, row.portfolio, str(row.conditions.get("data", "")), row.seed
            groups.setdefault(key, []).append(row)
        return groups

    def curve(self, point: Point) -> list[Row]:
        """The rows of a point; none if the file does not have it."""
        return self._by_point.get((point.design.name, *point[1:5]), [])

    def row(self, point: Point) -> Row:
        """The row of a point that is no curve."""
        (row,) = self.curve(point)
        return row

    def figure(self, point: Point) -> Figure:
        """The figure of a point that is no curve."""
        return figure(self.row(point))

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read the content of the study's file; BadValue or BadKind if it is something else."""
        keys = Keys(data, cls.file.stem)
        fields, columns, recipes = (keys.items(key) for key in ("fields", "columns", "recipes"))
        entries, constants = (Keys(keys.take(key), key).rest for key in ("points", "constants"))
        rows: list[Row] = []
        for label, point in cls.labelled().items():
            *facts, table = entries.get(label, [()])
            known = constants | point.known
            for place, values in enumerate(table):
                cells = zip((*fields, *columns), (*facts, *values), strict=True)
                line = known | {key: value for key, value in cells if value is not None}
                line["recipe"] = recipes[place] if point.portfolio == SPEED else BEST
                line |= {key: of(line["samples"]) for key, of in _SUMMARIES.items()}
                if "delay" in line:
                    line[f"median_{line['delay']}"] = median(line["delay_samples"])
                rows.append(Row.from_json(line))
                if rows[-1].is_energy != bool(point.data):
                    raise BadValue("metric", f"must be that of an energy, not {rows[-1].metric!r}")
        return cls(tuple(rows), data)

    @classmethod
    def load(cls) -> Self:
        """The results in the file."""
        return cls.from_json(json.loads(cls.file.read_bytes()))

    @classmethod
    def jobs(cls, store: Store) -> dict[str, list[Job]]:
        """The jobs of each point by its label; the store keeps their Verilog."""
        return {label: [point.job(verilog(point.design, store))] for label, point in cls.labelled().items()}

    @classmethod
    def measure(
        cls,
        chosen: argparse.Namespace,
        jobs: Mapping[str, Sequence[Job]] | None = None,
        computed: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Measure what the file does not have, and write it with what is ``computed`` beside rows.

        Raises
        ------
        ToolError
            If a measurement fails.
        """
        store = Store(chosen.store)
        by_label = cls.jobs(store) if jobs is None else jobs
        program = fingerprint(*sorted({type(job).__module__ for group in by_label.values() for job in group}))
        known = {} if chosen.again else cls._known(program)
        rows: dict[Job, list[Row] | None] = {
            job: known.get((job.command, *job.hashes().values(), yosys.version()))
            for group in by_label.values()
            for job in group
        }
        with LocalPool(chosen.jobs) as pool:
            todo = [job for job, group in rows.items() if group is None]
            for job, group in measured(todo, pool, store, Progress()).items():
                rows[job] = [row for row in group if row.is_figure]
        by_point = {label: [row for job in group for row in rows[job] or []] for label, group in by_label.items()}
        content = {"program": program, **computed(), **cls.packed(by_point)}
        cls.file.write_text(text_of(content), encoding="utf-8")

    @classmethod
    def _known(cls, program: str) -> dict[tuple[str, ...], list[Row]]:
        content = json.loads(cls.file.read_bytes()) if cls.file.exists() else {}
        rows: dict[tuple[str, ...], list[Row]] = {}
        for row in cls.from_json(content).rows if content.get("program") == program else ():
            rows.setdefault((row.command, row.verilog_sha256, row.script_sha256, row.tool), []).append(row)
        return rows

    @classmethod
    def packed(cls, rows: Mapping[str, Iterable[Row]]) -> dict[str, Any]:
        """The rows of each known point as the file has them; :meth:`from_json` is the inverse.

        The file does not repeat what a point says, or what all rows have in common, and has samples and medians of
        each recipe as the columns of a table.
        """
        lines: dict[str, list[dict[str, Any]]] = {}
        recipes: dict[str, None] = {}
        for label, point in cls.labelled().items():
            if label not in rows:
                continue
            lines[label], known = [row.to_json() for row in rows[label]], point.known
            for line in lines[label]:
                recipes |= {line["recipe"]: None} if point.portfolio == SPEED else {}
                for key in (*known, *_SUMMARIES, "recipe", f"median_{line.get('delay')}"):
                    line.pop(key, None)
        every = [line for group in lines.values() for line in group]
        keys = sorted({key for line in every for key in line})
        texts = {key: {json.dumps(line.get(key)) for line in every} for key in keys}
        constants = {key: json.loads(*values) for key, values in texts.items() if len(values) == 1}
        columns = [
            key for key in keys
            if key not in constants and (key.startswith("median_") or key.endswith("samples")
            or any(line.get(key) != group[0].get(key) for group in lines.values() for line in group))
        ]  # fmt: skip
        fields = [key for key in keys if key not in constants and key not in columns]
        points = {
            label: [*(group[0].get(key) for key in fields), [[line.get(key) for key in columns] for line in group]]
            for label, group in lines.items()
        }
        tables = {"fields": fields, "columns": columns, "recipes": [*recipes]}
        return {"constants": constants, **tables, "points": points}


def measured(
    jobs: Sequence[Job], pool: Pool, store: Store | None = None, progress: Progress | None = None
) -> dict[Job, tuple[Row, ...]]:
    """The rows of each job; a ToolError if one fails."""
    rows: dict[Job, tuple[Row, ...]] = {}
    for outcome in measure_all(jobs, pool, store, progress):
        if outcome.error:
            raise ToolError(outcome.error)
        rows[outcome.job] = outcome.rows
    return rows


def text_of(content: Mapping[str, Any]) -> str:
    """JSON with a line for each value, and for each item of the longest ones."""
    return "{\n" + ",\n".join(f"{_compact(key)}: {_lines(value)}" for key, value in content.items()) + "\n}\n"


def _lines(value: Any) -> str:
    match value:
        case {**items} if all(isinstance(item, list) for item in items.values()):
            return "{\n" + ",\n".join(f"{_compact(key)}: {_compact(item)}" for key, item in items.items()) + "\n}"
        case [list(), *_]:
            return "[\n" + ",\n".join(map(_compact, value)) + "\n]"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(_plain(value), separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Integers without a fraction."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
