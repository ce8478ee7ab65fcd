"""The results of the study of training: a file that ``make study`` writes, and differences from binary32."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from statistics import fmean, stdev
from typing import Any

import numpy as np

from golden.refusal import BadValue
from hwgen.blocks.block import Design
from synth.area.digest import ROOT, program, sha256, without_docstrings
from synth.area.figures import Figure
from synth.area.keys import Keys
from synth.area.rows import Row
from synth.report.measured import figure
from synth.report.training.plan import BASE
from synth.report.training.policy import KINDS, Operand, Policy

RESULTS = ROOT / "docs" / "study.json"
"""The results that are part of the documentation."""
CODE = ROOT / "examples" / "training"
"""The code of the study, which is part of the clone alone."""
_RUNNERS = ("__main__.py", "workers.py")
"""Its files that results do not depend on: they say what is trained where."""

_SOURCE = ("source", "binary32")
LOSS, ACCURACY = "loss", "accuracy"
QUANTILES = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833)
"""95% quantiles of Student's t distribution, from 1 degree of freedom; more seeds than 10 are taken for 10."""


@cache
def code_hash() -> str | None:
    """SHA-256 of the code that results depend on, and of NumPy's version; None outside the clone.

    The C++ of the reference model is part of it, but not the files beside the module of policies: pages and figures.
    """
    files = [path for path in sorted(CODE.glob("*.py")) if path.name not in _RUNNERS]
    known = program("golden", "synth.report.training.policy")
    ours = sorted(name for name in known if name.startswith("golden/") or name.endswith(".py"))
    texts = [without_docstrings(name, known[name]).decode() for name in ours]
    texts += [path.read_text(encoding="utf-8") for path in files]
    return sha256(*texts, np.__version__) if files else None


def text_of(content: Mapping[str, Any]) -> str:
    """The text of the file: a list of objects with the same keys is an object of columns, which has each key once."""
    return json.dumps(_packed(content), separators=(",", ":")).replace("},{", "},\n{") + "\n"


def _packed(value: Any) -> Any:
    match value:
        case [{**first}, _, *_] if first and all(
            isinstance(item, dict) and item.keys() == first.keys() for item in value
        ):
            return {"columns": {key: _packed([item[key] for item in value]) for key in first}}
        case list():
            return [_packed(item) for item in value]
        case dict():
            return {key: _packed(item) for key, item in value.items()}
        case float() if value.is_integer():
            return int(value)
    return value


def unpacked(value: Any) -> Any:
    """The content of the file, with lists of objects in the place of columns; a BadValue if their lengths differ."""
    match value:
        case {"columns": {**columns}} if len(value) == 1 and columns:
            known = [unpacked(column) for column in columns.values()]
            if not all(isinstance(column, list) and len(column) == len(known[0]) for column in known):
                raise BadValue("columns", f"must be lists of one length, not {columns!r}")
            return [dict(zip(columns, line, strict=True)) for line in zip(*known, strict=True)]
        case list():
            return [unpacked(item) for item in value]
        case dict():
            return {key: unpacked(item) for key, item in value.items()}
    return value


def recorded(policy: Policy) -> dict[str, Any]:
    """The choices of a policy as the file has them: without defaults."""
    return _brief(policy.described())


def _brief(choices: dict[str, Any]) -> dict[str, Any]:
    given = {key: _brief(value) if isinstance(value, dict) else value for key, value in choices.items()}
    return {key: value for key, value in given.items() if value not in (None, {}) and (key, value) != _SOURCE}


@dataclass(frozen=True)
class Trained:
    """A policy of a task, trained from each seed; or a network that was quantized after training."""

    name: str
    policy: Policy | None
    """None if the network was quantized after training."""
    figures: tuple[Mapping[str, float], ...]
    """For each seed the task's figures by name; infinite ones were not finite numbers."""
    skipped: tuple[int, ...]
    """For each seed the iterations whose gradients were not used."""
    history: tuple[Mapping[str, Any], ...]
    """Of the first seed: loss, scale of the loss, and lost shares of operands, over iterations."""

    def losses(self) -> tuple[float, ...]:
        """The loss of each seed."""
        return tuple(figures[LOSS] for figures in self.figures)

    def lost(self, kind: str) -> tuple[float, float] | None:
        """The largest shares of operands of a kind that became zero, and that were out of range; None without any."""
        pairs = [tuple(point["lost"][kind]) for point in self.history if kind in point["lost"]]
        return (max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)) if pairs else None

    @classmethod
    def from_json(cls, data: object) -> "Trained":
        """Read an entry of the file; BadValue or BadKind if it is something else."""
        keys = Keys(data, "policy")
        name, lines, history = keys.text("name"), keys.items("figures"), keys.items("history")
        figures, skipped = tuple(_figures(line) for line in lines), keys.items("skipped")
        if len(skipped) != len(figures) or not all(type(count) is int and count >= 0 for count in skipped):
            raise BadValue("skipped", f"must have a count for each seed, not {skipped!r}")
        for point in history:
            _check_point(Keys(point, "history"))
        return cls(name, _policy(name, keys) if keys.rest else None, figures, tuple(skipped), tuple(history))


def _check_point(point: Keys) -> None:
    point.count("iteration")
    for kind, pair in Keys(point.take("lost"), "lost").rest.items():
        if kind not in KINDS or not isinstance(pair, list) or len(pair) != 2:
            raise BadValue("lost", f"must have two shares for each kind of operand, not {pair!r} for {kind!r}")
        Keys({"lost": pair}, "lost").numbers("lost")


def _policy(name: str, keys: Keys) -> Policy:
    """The choices that are left in an entry, as a policy."""
    choices: dict[str, Any] = {kind: _operand(keys.take(kind), kind) for kind in KINDS if kind in keys.rest}
    others = Keys(keys.take("exceptions") or {}, "exceptions").rest
    choices["exceptions"] = tuple((other, _operand(data, other)) for other, data in others.items())
    choices |= {"accumulator": keys.text("accumulator"), "scaling": keys.text("scaling")}
    return Policy(name, **choices, residual=keys.take("residual"))


def _operand(data: object, name: str) -> Operand:
    keys = Keys(data, name)
    source = {"source": keys.text("source")} if "source" in keys.rest else {}
    return Operand(keys.text("fmt"), keys.take("rounding"), keys.take("overflow"), **source)


def _figures(line: object) -> dict[str, float]:
    keys = Keys(line, "figures")
    if LOSS not in keys.rest:
        raise BadValue(LOSS, "must be given")
    values = {name: math.inf if value is None else value for name, value in keys.rest.items()}
    for name, value in values.items():
        if type(value) not in (int, float) or not value >= 0:
            raise BadValue(name, f"must be a number of at least 0 or null, not {value!r}")
    return values


@dataclass(frozen=True)
class Task:
    """The results of a task: how much was trained, and its policies by name."""

    name: str
    iterations: int
    batch: int
    parameters: int
    policies: Mapping[str, Trained]

    @property
    def base(self) -> Trained:
        """Training in binary32."""
        return self.policies[BASE]

    def excess(self, name: str, base: str = BASE) -> Figure:
        """By which share a loss is above that of another policy: the mean over the seeds, between two bounds.

        From a seed, both have the same first weights and the same batches, so each seed has a ratio of losses. The true
        mean of the ratios' logarithms is beyond each bound with a probability of 5% (Student's t). A loss that is not
        finite is higher than all others. One seed has no bounds.
        """
        pairs = [*zip(self.policies[name].losses(), self.policies[base].losses(), strict=True)]
        if any(map(math.isinf, chain.from_iterable(pairs))):
            return Figure(*(math.inf,) * 3, samples=len(pairs))
        logarithms = [math.log(first / second) for first, second in pairs]
        mean, degrees = fmean(logarithms), len(pairs) - 1
        quantile = QUANTILES[min(degrees, len(QUANTILES)) - 1]
        distance = quantile * stdev(logarithms) / math.sqrt(len(pairs)) if degrees else 0.0
        low, middle, high = map(math.expm1, (mean - distance, mean, mean + distance))
        return Figure(low, middle, high, samples=len(pairs))

    @property
    def others(self) -> list[str]:
        """The task's figures besides the loss; powers of two in their order."""
        return sorted((name for name in self.base.figures[0] if name != LOSS), key=lambda name: (len(name), name))

    def figure(self, name: str, figure: str) -> Figure:
        """A figure of a policy, over the seeds."""
        return Figure.of([figures[figure] for figures in self.policies[name].figures])

    @classmethod
    def from_json(cls, data: object) -> "Task":
        """Read an entry of the file; BadValue or BadKind if it is something else."""
        keys = Keys(data, "task")
        policies = {item.name: item for item in map(Trained.from_json, keys.items("policies"))}
        task = cls(keys.text("task"), keys.count("iterations"), keys.count("batch"), keys.count("parameters"), policies)
        names = [figures.keys() for item in policies.values() for figures in item.figures]
        seeds = {len(item.figures) for item in policies.values()}
        if BASE not in policies or len(seeds) != 1 or any(each != names[0] for each in names):
            raise BadValue(
                "policies", f"of {task.name} must contain {BASE}, and have figures of the same names and seeds"
            )
        if not all(0 < loss < math.inf for loss in task.base.losses()):
            raise BadValue("figures", f"of {task.name} in {BASE} must have positive losses")
        return task


@dataclass(frozen=True)
class Study:
    """The content of the file, ``source``, with the tasks by name."""

    program: str
    """SHA-256 of the code that the results depend on, and of NumPy's version."""
    versions: Mapping[str, str]
    """Versions of packages."""
    seeds: tuple[int, ...]
    tasks: Mapping[str, Task]
    rows: Mapping[str, Row]
    """The best row of each measured MAC, by its name."""
    source: Mapping[str, Any]
    """The content of the file as it is, with columns."""

    def area(self, design: Design | None) -> Figure | None:
        """The area of a MAC, if it was measured."""
        row = None if design is None else self.rows.get(design.name)
        return None if row is None else figure(row)

    @classmethod
    def from_json(cls, data: Any) -> "Study":
        """Read the file's content; BadValue or BadKind if it is something else."""
        keys = Keys(unpacked(data), "study")
        program, versions = keys.text("program"), Keys(keys.take("versions"), "versions")
        seeds = tuple(keys.items("seeds"))
        if not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds):
            raise BadValue("seeds", f"must be integers of at least 0, not {list(seeds)!r}")
        tasks = {task.name: task for task in map(Task.from_json, keys.items("tasks"))}
        if any(len(task.base.figures) != len(seeds) for task in tasks.values()):
            raise BadValue("figures", f"must be those of {len(seeds)} seeds")
        rows = {row.name: row for row in map(Row.from_json, keys.items("rows"))}
        named = {name: versions.text(name) for name in tuple(versions.rest)}
        return cls(program, named, seeds, tasks, rows, data)
