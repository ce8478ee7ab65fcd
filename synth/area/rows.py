"""Rows: what a measured figure is, and how it is written as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from golden.refusal import BadValue
from synth.area.keys import Keys
from synth.area.recipes import SPEED
from synth.area.targets import LIBERTY, TARGETS

Option = str | int | bool
BEST = "best"
"""``recipe`` in JSON of a row that quotes the recipe with the lowest median."""
_MEDIAN = "median_"
FO4, PS = "delay_fo4", "delay_ps"
"""Metrics of delays."""
_OPTIONS = {"encoder": ("rounding",), "mac": ("accumulator",), "adder": ("accumulator",)}
"""Options, besides ``format``, that each row of a component has; other components need none."""


@dataclass(frozen=True)
class Timing:
    """Delays of a row's netlists."""

    metric: str
    """``delay_fo4`` or ``delay_ps``."""
    samples: tuple[float, ...]
    """One for each renaming."""
    timer: str
    """Name and version of the tool."""
    conditions: tuple[str, ...] = ()
    """E.g. ``before layout``."""

    @property
    def unit(self) -> str:
        """Unit of :attr:`delays`: FO4 before layout, ns where there are picoseconds alone."""
        return "FO4" if self.metric == FO4 else "ns"

    @property
    def delays(self) -> list[float]:
        """The samples in their unit."""
        return [sample / (1 if self.metric == FO4 else 1000) for sample in self.samples]

    @property
    def source(self) -> str:
        """Timer and conditions, e.g. ``abc, before layout``."""
        return ", ".join((self.timer, *self.conditions))


@dataclass(frozen=True)
class Row:
    """Area of one module on one target by one recipe, and its delay where it was timed."""

    component: str
    """Kind of block, e.g. ``mac``."""
    options: Mapping[str, Option]
    """What makes the block, by the command line's option names with underscores; ``format`` is always there."""
    target: str
    """A name of :data:`synth.area.targets.TARGETS`, or ``liberty``."""
    recipe: str
    metric: str
    """What was counted."""
    min: float
    median: float
    max: float
    samples: tuple[float, ...]
    """One for each renaming; ``min``, ``median`` and ``max`` are theirs."""
    medians: Mapping[str, float]
    """Of what was counted beside the metric, e.g. ``cells``."""
    unit: str
    tool: str
    portfolio: str
    renamings: int
    seed: int
    """Of the first renaming."""
    name: str
    """Of the module."""
    command: str
    """Repeats the figure."""
    verilog_sha256: str
    script_sha256: str
    accumulator_bits: int | None = None
    """Width of ``acc_out``, of a block that has such a port."""
    libraries: tuple[str, ...] = ()
    """Names of target ``liberty``'s cell libraries, whose contents are the next."""
    libraries_sha256: tuple[str, ...] = ()
    timing: Timing | None = None
    is_best: bool = False
    """Whether the row quotes its module's recipe with the lowest median."""

    @property
    def format(self) -> str:
        """Name of the format, or of the first operand's."""
        return str(self.options["format"])

    @property
    def operands(self) -> str:
        """The operands' format, or both."""
        return f"{self.format} × {self.options['format_b']}" if "format_b" in self.options else self.format

    @property
    def cells(self) -> str:
        """The cell libraries' names and the first digits of their contents, which distinguish them."""
        return f"{' + '.join(self.libraries)} ({', '.join(digest[:8] for digest in self.libraries_sha256)})"

    @property
    def place(self) -> str:
        """The target, or target and cell libraries: figures of one place compare."""
        return f"{LIBERTY} {self.cells}" if self.target == LIBERTY else self.target

    def best(self) -> "Row":
        """The row that quotes this one as the best."""
        return replace(self, is_best=True)

    def to_json(self) -> dict[str, Any]:
        """As one flat mapping of plain data, without what is None."""
        timing, is_liberty = self.timing, self.target == LIBERTY
        row = {
            "component": self.component, **self.options, "accumulator_bits": self.accumulator_bits,
            "target": self.target, "recipe": BEST if self.is_best else self.recipe, "metric": self.metric,
            "min": self.min, "median": self.median, "max": self.max, "samples": list(self.samples),
            **{_MEDIAN + name: value for name, value in self.medians.items()}, "unit": self.unit, "tool": self.tool,
            "portfolio": self.portfolio, "renamings": self.renamings, "seed": self.seed,
            "name": self.name, "command": self.command, "verilog_sha256": self.verilog_sha256,
            "script_sha256": self.script_sha256, "delay": timing and timing.metric, "timer": timing and timing.source,
            "libraries": list(self.libraries) if is_liberty else None,
            "libraries_sha256": list(self.libraries_sha256) if is_liberty else None,
            "delay_samples": timing and list(timing.samples), "best_recipe": self.recipe if self.is_best else None,
        }  # fmt: skip
        return {key: value for key, value in row.items() if value is not None}

    @classmethod
    def from_json(cls, data: object) -> "Row":
        """The row that :meth:`to_json` has written, or an older version of it; BadValue or BadKind if it is none."""
        keys = Keys(data, "row")
        component, portfolio, recipe = keys.text("component"), keys.text("portfolio"), keys.text("recipe")
        target = keys.choice("target", (*TARGETS, LIBERTY))
        is_best, is_liberty = recipe == BEST, target == LIBERTY
        has_accumulator = component == "mac" or "accumulator_bits" in keys.rest
        medians = [key for key in keys.rest if key.startswith(_MEDIAN)]
        row = cls(
            component=component, target=target, portfolio=portfolio, is_best=is_best,
            recipe=keys.text("best_recipe") if is_best else recipe,
            metric=keys.text("metric"), min=keys.number("min"), median=keys.number("median"), max=keys.number("max"),
            samples=keys.numbers("samples"), unit=keys.text("unit"), tool=keys.text("tool"), seed=keys.count("seed"),
            renamings=keys.count("renamings"), name=keys.text("name"), command=keys.text("command"),
            verilog_sha256=keys.text("verilog_sha256"), script_sha256=keys.text("script_sha256"),
            accumulator_bits=keys.count("accumulator_bits") if has_accumulator else None,
            libraries=keys.texts("libraries") if is_liberty else (),
            libraries_sha256=keys.texts("libraries_sha256") if is_liberty else (),
            timing=_timing(keys) if portfolio == SPEED else None,
            medians={key.removeprefix(_MEDIAN): keys.number(key) for key in medians},
            options=_options(keys, ("format", *_OPTIONS.get(component, ()))),
        )  # fmt: skip
        if component != "decoder" and row.min <= 0:  # a decoder may be wires alone
            raise BadValue("min", f"must be positive, not {row.min!r}")
        if not row.min == min(row.samples) <= row.median <= max(row.samples) == row.max:
            raise BadValue(
                "samples", f"must have min {row.min}, median {row.median} and max {row.max}, not be {list(row.samples)}"
            )
        if len(row.samples) != row.renamings:
            raise BadValue("renamings", f"must be the number of samples, {len(row.samples)}, not {row.renamings}")
        return row


def _timing(keys: Keys) -> Timing:
    timer, *conditions = keys.text("timer").split(", ")
    return Timing(keys.choice("delay", (FO4, PS)), keys.numbers("delay_samples"), timer, tuple(conditions))


def _options(keys: Keys, needed: tuple[str, ...]) -> dict[str, Option]:
    """All keys that are left, the ``needed`` ones among them."""
    options = {key: keys.text(key) if key in needed else keys.take(key) for key in [*keys.rest]}
    for key, value in options.items():
        if not isinstance(value, Option):
            raise BadValue(key, f"must be text, an integer or a truth value, not {value!r}")
    for key in needed:
        if key not in options:
            raise BadValue(key, "is missing")
    return options
