"""Rows: measured figures, and how they are written as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from golden.refusal import BadValue
from synth.area.keys import Keys
from synth.area.recipes import SPEED
from synth.area.targets import LIBERTY, TARGETS

Option = str | int | bool
BEST = "best"
"""In JSON, the ``recipe`` of the row that repeats the recipe with the lowest median."""
_MEDIAN = "median_"
FO4, PS = "delay_fo4", "delay_ps"
"""Metrics of delays."""
ENERGY = "energy"
"""Metric of rows whose figure is an energy per operation."""
_CONDITIONS = ("unit_text", "data", "simulator")
_TEXTS = ("metric", "unit", "tool", "name", "command", "verilog_sha256", "script_sha256")
_OPTIONS = {"encoder": ("rounding",), "mac": ("accumulator",), "adder": ("accumulator",)}
"""Options besides ``format`` that each row of a component must have; other components need none."""


@dataclass(frozen=True)
class Timing:
    """Delays of the netlists that a row counts."""

    metric: str
    """``delay_fo4`` or ``delay_ps``."""
    samples: tuple[float, ...]
    """One delay for each renaming."""
    timer: str
    """Name and version of the tool that measured them."""
    conditions: tuple[str, ...] = ()
    """E.g. ``before layout``."""

    @property
    def unit(self) -> str:
        """Unit of :attr:`delays`: FO4, or ns where delays are known in picoseconds only."""
        return "FO4" if self.metric == FO4 else "ns"

    @property
    def delays(self) -> list[float]:
        """The samples in :attr:`unit`."""
        return [sample / (1 if self.metric == FO4 else 1000) for sample in self.samples]

    @property
    def source(self) -> str:
        """Timer and conditions, e.g. ``abc, before layout``."""
        return ", ".join((self.timer, *self.conditions))


@dataclass(frozen=True)
class Row:
    """Area of one module on one target by one recipe, and its delay if it was timed."""

    component: str
    """Kind of block, e.g. ``mac``."""
    options: Mapping[str, Option]
    """Options of the block, by their names on the command line with underscores; always includes ``format``."""
    target: str
    """A name of :data:`synth.area.targets.TARGETS`, or ``liberty``."""
    recipe: str
    metric: str
    """Name of the figure, e.g. ``area`` or ``lut``."""
    min: float
    median: float
    max: float
    samples: tuple[float, ...]
    """One figure for each renaming; ``min``, ``median`` and ``max`` summarize them."""
    medians: Mapping[str, float]
    """Medians of the other counts, e.g. ``cells``."""
    unit: str
    tool: str
    portfolio: str
    renamings: int
    seed: int
    """Seed of the first renaming; 0 stands for the module as emitted."""
    name: str
    """Name of the module."""
    command: str
    """Command that repeats the measurement."""
    verilog_sha256: str
    script_sha256: str
    accumulator_bits: int | None = None
    """Width of ``acc_out``; None for a block without that port."""
    libraries: tuple[str, ...] = ()
    """Names of the cell libraries of target ``liberty``; the next field has the hashes of their contents."""
    libraries_sha256: tuple[str, ...] = ()
    timing: Timing | None = None
    conditions: Mapping[str, str | int] = field(default_factory=dict)
    """Of an energy: its unit in words, the ``data`` with the hash of a file's numbers, the number of ``operations`` and
    the ``simulator``."""
    is_best: bool = False
    """Whether the row repeats the recipe with the lowest median of its module."""

    @property
    def is_energy(self) -> bool:
        """Whether the figure is an energy; otherwise it is an area."""
        return self.metric == ENERGY

    @property
    def is_figure(self) -> bool:
        """Of an energy: whether the row is quoted: of a curve each recipe, else the best."""
        return self.is_best != (self.portfolio == SPEED)

    @property
    def format(self) -> str:
        """Name of the format, or of the first operand's format."""
        return str(self.options["format"])

    @property
    def operands(self) -> str:
        """The operands' format, or both formats if they differ."""
        return f"{self.format} × {self.options['format_b']}" if "format_b" in self.options else self.format

    @property
    def cells(self) -> str:
        """Names of the cell libraries, with the first digits of their hashes to distinguish them."""
        return f"{' + '.join(self.libraries)} ({', '.join(digest[:8] for digest in self.libraries_sha256)})"

    @property
    def place(self) -> str:
        """The target with its cell libraries: only figures of the same place can be compared."""
        return f"{LIBERTY} {self.cells}" if self.target == LIBERTY else self.target

    @property
    def data(self) -> str:
        """Of an energy: the kind of data, or the name of a file with the first digits of its hash."""
        digest = str(self.conditions.get("data_sha256", ""))
        return f"{self.conditions['data']} ({digest[:8]})" if digest else str(self.conditions["data"])

    def best(self) -> "Row":
        """A copy of this row, marked as the best."""
        return replace(self, is_best=True)

    def to_json(self) -> dict[str, Any]:
        """One flat mapping of plain data, without the values that are None."""

        def fields(*names: str) -> dict[str, Any]:
            return {name: getattr(self, name) for name in names}

        timing = self.timing
        row = {
            **fields("component"),
            **self.options,
            **fields("accumulator_bits", "target"),
            "recipe": BEST if self.is_best else self.recipe,
            **fields("metric", "min", "median", "max", "samples"),
            **{_MEDIAN + name: value for name, value in self.medians.items()},
            **fields("unit", "tool", "portfolio", "renamings", "seed", "name", "command"),
            **fields("verilog_sha256", "script_sha256"),
            **self.conditions,
            "delay": timing and timing.metric,
            "timer": timing and timing.source,
            **(fields("libraries", "libraries_sha256") if self.target == LIBERTY else {}),
            "delay_samples": timing and timing.samples,
            "best_recipe": self.recipe if self.is_best else None,
        }
        return {key: list(value) if type(value) is tuple else value for key, value in row.items() if value is not None}

    @classmethod
    def from_json(cls, data: object) -> "Row":
        """Read a row that :meth:`to_json`, of this or an older version, has written; refuse any other data."""
        keys = Keys(data, "row")
        component, portfolio, recipe = keys.text("component"), keys.text("portfolio"), keys.text("recipe")
        target = keys.choice("target", (*TARGETS, LIBERTY))
        is_best = recipe == BEST
        has_accumulator = component == "mac" or "accumulator_bits" in keys.rest
        medians = [key for key in keys.rest if key.startswith(_MEDIAN)]
        plain: dict[str, Any] = {key: keys.text(key) for key in _TEXTS}
        plain |= {key: keys.number(key) for key in ("min", "median", "max")}
        plain |= {key: keys.count(key) for key in ("renamings", "seed")}
        if target == LIBERTY:
            plain |= {key: keys.texts(key) for key in ("libraries", "libraries_sha256")}
        conditions: dict[str, str | int] = {}
        if plain["metric"] == ENERGY:
            texts = [*_CONDITIONS, *(["data_sha256"] if "data_sha256" in keys.rest else [])]
            conditions = {**{key: keys.text(key) for key in texts}, "operations": keys.count("operations")}
        row = cls(
            component=component,
            target=target,
            portfolio=portfolio,
            recipe=keys.text("best_recipe") if is_best else recipe,
            samples=keys.numbers("samples"),
            accumulator_bits=keys.count("accumulator_bits") if has_accumulator else None,
            timing=_timing(keys) if portfolio == SPEED and not conditions else None,
            conditions=conditions,
            is_best=is_best,
            **plain,
            medians={key.removeprefix(_MEDIAN): keys.number(key) for key in medians},
            options=_options(keys, ("format", *_OPTIONS.get(component, ()))),
        )
        # a decoder may consist of wires only; operations that are all alike need no energy
        if component != "decoder" and not row.is_energy and row.min <= 0:
            raise BadValue("min", f"must be positive, not {row.min!r}")
        if not row.min == min(row.samples) <= row.median <= max(row.samples) == row.max:
            summary = f"min {row.min}, median {row.median} and max {row.max}"
            raise BadValue("samples", f"must have {summary}, not be {list(row.samples)}")
        if len(row.samples) != row.renamings:
            raise BadValue("renamings", f"must be the number of samples, {len(row.samples)}, not {row.renamings}")
        return row


def _timing(keys: Keys) -> Timing:
    timer, *conditions = keys.text("timer").split(", ")
    return Timing(keys.choice("delay", (FO4, PS)), keys.numbers("delay_samples"), timer, tuple(conditions))


def _options(keys: Keys, needed: tuple[str, ...]) -> dict[str, Option]:
    """All keys that are left; the ``needed`` ones must be among them."""
    options = {key: keys.text(key) if key in needed else keys.take(key) for key in [*keys.rest]}
    for key, value in options.items():
        if not isinstance(value, Option):
            raise BadValue(key, f"must be text, an integer or a truth value, not {value!r}")
    for key in needed:
        if key not in options:
            raise BadValue(key, "is missing")
    return options
