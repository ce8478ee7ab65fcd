"""Designs as data: families of blocks, which expand to the points that a study, or the report, measures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

from golden import Format
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from synth.area.jobs import DEFAULT_RENAMINGS, Job
from synth.area.plan import area_jobs
from synth.area.recipes import DEFAULT_PORTFOLIO
from synth.area.targets import LIBERTY
from synth.area.timing import ABC
from synth.energy.data import read
from synth.energy.job import DEFAULT_DATA, GATES, energy_jobs

NONE: Mapping[str, Any] = MappingProxyType({})
"""No options."""


class Point(NamedTuple):
    """A measurement of a study: a design, and how it is measured."""

    design: Design
    target: str = GATES
    portfolio: str = DEFAULT_PORTFOLIO
    data: str = ""
    """Kind of data of an energy; empty for areas and delays."""
    seed: int = 1
    renamings: int = DEFAULT_RENAMINGS

    @property
    def label(self) -> str:
        """What distinguishes it from the others of a study."""
        usual = GATES, DEFAULT_PORTFOLIO, DEFAULT_DATA, "", "1"
        others = (word for word in (self.target, self.portfolio, self.data, str(self.seed)) if word not in usual)
        return " ".join((self.design.name, *others))

    def job(self, text: str) -> Job:
        """Its job, unless it needs a library; delays are ABC's, which every machine has.

        ``text`` is the design's Verilog.
        """
        if self.data:
            (energy,) = energy_jobs(
                self.design, text, [self.target], read(self.data), portfolio=self.portfolio, renamings=self.renamings
            )
            return replace(energy, timer=ABC)
        (area,) = area_jobs(self.design, text, [self.target], self.portfolio, self.renamings)
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
    choices: Mapping[str, Any] = NONE
    """Options; the values of a tuple are each combined with those of the others."""
    targets: Sequence[str] = (GATES,)
    portfolio: str = DEFAULT_PORTFOLIO
    data: Sequence[str] = ("",)
    renamings: int = DEFAULT_RENAMINGS

    def expand(self, formats: Mapping[str, Format] = NONE) -> Iterator[Point]:
        """The points, in the order of the fields; ``formats`` are those that a name does not suffice for."""
        choices = (values if isinstance(values, tuple) else (values,) for values in self.choices.values())
        for name, values in product(self.formats, product(*choices)):
            design = build(self.kind, formats.get(name, name), **dict(zip(self.choices, values, strict=True)))
            for target, data in product(self.targets, self.data):
                yield Point(design, target, self.portfolio, data, renamings=self.renamings)
