"""The designs that the report and its studies measure: families as data, which expand to points."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

from golden import Format
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from synth.area.jobs import Measurement
from synth.area.plan import area_jobs
from synth.area.recipes import DEFAULT_PORTFOLIO
from synth.area.targets import LIBERTY
from synth.area.timing import ABC
from synth.energy.data import read
from synth.energy.measure import COMPILED
from synth.energy.plan import DEFAULT_DATA, GATES, energy_jobs

_NONE: Mapping[str, Any] = MappingProxyType({})


class Point(NamedTuple):
    """A measurement of a study: a design, and how it is measured."""

    design: Design
    target: str = GATES
    portfolio: str = DEFAULT_PORTFOLIO
    data: str = ""
    """Kind of data of an energy; empty for areas and delays."""
    seed: int = 1

    @property
    def label(self) -> str:
        """What distinguishes it from the others of a study."""
        usual = GATES, DEFAULT_PORTFOLIO, DEFAULT_DATA, "", "1"
        others = (word for word in (self.target, self.portfolio, self.data, str(self.seed)) if word not in usual)
        return " ".join((self.design.name, *others))

    def job(self, text: str, simulator: Any = COMPILED) -> Measurement:
        """Its job, unless it needs a library; delays are ABC's, which every machine has.

        ``text`` is the design's Verilog.
        """
        if self.data:
            options = {"portfolio": self.portfolio, "simulator": simulator}
            (job,) = energy_jobs(self.design, text, [self.target], read(self.data), **options)
            return replace(job, area=replace(job.area, timer=ABC))
        (area,) = area_jobs(self.design, text, [self.target], self.portfolio)
        return replace(area, timer=ABC)

    @property
    def known(self) -> dict[str, Any]:
        """The part of its rows' JSON that does not depend on measurements."""
        design = self.design
        widths = [port.width for port in design.ports if port.name == "acc_out"]
        return {
            "component": design.kind,
            **{name.replace("-", "_"): value for name, value in design.options.items()},
            **({"accumulator_bits": widths[0]} if widths else {}),
            **{key: getattr(self, key) for key in ("target", "portfolio", "seed")},
            "name": design.name,
            **({} if self.target == LIBERTY else {"command": self.job("").command}),
            **({"data": self.data} if self.data else {}),
        }


class Family(NamedTuple):
    """Blocks of a kind: each of the formats with each combination of options, on each target."""

    kind: str
    formats: Sequence[str]
    choices: Mapping[str, Sequence[Any]] = _NONE
    """Values by option."""
    targets: Sequence[str] = (GATES,)
    portfolio: str = DEFAULT_PORTFOLIO
    data: Sequence[str] = ("",)

    def expand(self, formats: Mapping[str, Format] = _NONE) -> Iterator[Point]:
        """The points, in the order of the fields; ``formats`` are those that a name does not suffice for."""
        for name, values in product(self.formats, product(*self.choices.values())):
            design = build(self.kind, formats.get(name, name), **dict(zip(self.choices, values, strict=True)))
            for target, data in product(self.targets, self.data):
                yield Point(design, target, self.portfolio, data)


class Block(NamedTuple):
    """A single block of a comparison."""

    kind: str
    format: str
    """Its format, or pair of formats behind a select pin."""
    options: Mapping[str, Any] = _NONE

    def family(self, targets: Sequence[str]) -> Family:
        """The block on these targets."""
        return Family(self.kind, (self.format,), only(**self.options), targets)


def expanded(families: Sequence[Family]) -> Iterator[Point]:
    """The points of several families; some may occur twice."""
    for family in families:
        yield from family.expand()


def only(**options: Any) -> dict[str, Sequence[Any]]:
    """Choices of a family with a single value for each option."""
    return {name: (value,) for name, value in options.items()}
