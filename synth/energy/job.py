"""Energy jobs as data: the netlists of an area job, simulated; rows like those of areas."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from statistics import median

from golden.refusal import BadValue
from hwgen.blocks.block import Design
from hwgen.tools import yosys
from synth.area.digest import fingerprint, sha256
from synth.area.jobs import Job, Samples, mapped
from synth.area.recipes import SPEED
from synth.area.rows import ENERGY, Row
from synth.area.targets import LIBERTY
from synth.energy import effort, library
from synth.energy.cells import Technology
from synth.energy.circuit import Circuit, cell_names
from synth.energy.compiled import UnsettledError
from synth.energy.data import Data
from synth.energy.measure import COMPILED, ICARUS, Simulator, measure
from synth.energy.workload import workload

OPERATIONS = 2000
MAX_OPERATIONS = 100_000
MAX_PERIOD = 1e6
"""In nanoseconds."""


@dataclass(frozen=True)
class EnergyJob:
    """The energy of one module on one target.

    Attributes
    ----------
    area : Job
        Makes the netlists; with portfolio ``speed`` those of each recipe count, else those of the recipe with the
        lowest median area.
    design : Design
    data : Data
    operations : int
    period : float or None
        In nanoseconds; None: the longest path of the netlists.
    simulator : str
    command : str
        The command that repeats the job.
    """

    area: Job
    design: Design = field(repr=False, compare=False)
    data: Data
    operations: int = OPERATIONS
    period: float | None = None
    simulator: Simulator = COMPILED
    command: str = ""

    @property
    def top(self) -> str:
        """Name of the module."""
        return self.area.top

    @property
    def target(self) -> str:
        """Name of the target."""
        return self.area.target

    @property
    def portfolio(self) -> str:
        """Name of the portfolio."""
        return self.area.portfolio

    @property
    def renamings(self) -> int:
        """Number of renamings."""
        return self.area.renamings

    @property
    def label(self) -> str:
        """Short name for messages."""
        return f"energy of {self.area.label}"

    @property
    def effort(self) -> float:
        """Relative computing time, in the unit of :attr:`synth.area.jobs.Job.effort`."""
        return 2 * self.area.effort

    @property
    def key(self) -> str:
        """SHA-256 of everything that the samples depend on."""
        words = [self.data.name, self.data.sha256, self.operations, self.period, self.simulator]
        return sha256("energy", self.area.key, fingerprint(__name__), *map(str, words))

    def hashes(self) -> dict[str, str]:
        """Those of the netlists, see :meth:`synth.area.jobs.Job.hashes`."""
        return self.area.hashes()

    def execute(self, timeout: float | None = None) -> Samples:
        """Run the job.

        Raises
        ------
        ToolError
            If a tool fails, a netlist differs from the reference model, or the library lacks what is needed.
        BadValue
            If the netlists do not settle within the period.
        """
        areas, netlists = mapped(self.area, timeout)
        recipes = list(areas)
        if self.area.portfolio != SPEED:
            recipes = [min(areas, key=lambda recipe: median(sample["area"] for sample in areas[recipe]))]
        technology = self._technology({text for recipe in recipes for text in netlists[recipe]})
        work = workload(self.design, self.data, self.operations)
        samples: Samples = {}
        for recipe in recipes:
            circuits = [Circuit(text, self.area.top, technology) for text in netlists[recipe]]
            longest = max(circuit.longest for circuit in circuits) + 1
            period = longest if self.period is None else round(self.period * technology.times / technology.tick)
            if self.simulator == ICARUS and period < longest:  # which cannot tell a late change from a wrong one
                least = f"{technology.shown(longest):.4f} ns, the longest path, with {ICARUS}"
                raise BadValue("period", f"must be at least {least}, not {self.period}")
            samples[recipe] = []
            for circuit, area in zip(circuits, areas[recipe], strict=True):
                try:
                    metrics = measure(circuit, work, max(period, 2), self.simulator)
                except UnsettledError as error:
                    needed = f"{technology.shown(longest):.3f} ns is enough"
                    problem = f"must be longer: operation {error.operation} has not settled after {self.period} ns"
                    raise BadValue("period", f"{problem}; {needed}") from error
                samples[recipe].append(metrics | area)
        return samples

    def _technology(self, netlists: set[str]) -> Technology:
        if self.area.target != LIBERTY:
            return effort.technology()
        used = set().union(*(cell_names(text, self.area.top) for text in netlists))
        return library.technology(self.area.libraries, used)

    def rows(self, samples: Mapping[str, Sequence[Mapping[str, float]]]) -> list[Row]:
        """A row for each recipe, and one more that repeats the one with the lowest median as the best."""
        technology = effort.technology() if self.area.target != LIBERTY else None
        hashes = self.area.hashes()
        conditions: dict[str, str | int] = {
            "unit_text": technology.unit_text if technology else "femtojoules per operation",
            "data": self.data.name,
            **({"data_sha256": self.data.sha256} if self.data.sha256 else {}),
            "operations": self.operations,
            "simulator": self.simulator,
        }

        def row(recipe: str, group: Sequence[Mapping[str, float]]) -> Row:
            energies = tuple(sample[ENERGY] for sample in group)
            return Row(
                component=self.area.component,
                options={name.replace("-", "_"): value for name, value in self.area.options},
                target=self.area.target,
                recipe=recipe,
                metric=ENERGY,
                min=min(energies),
                median=median(energies),
                max=max(energies),
                samples=energies,
                medians={name: median(sample[name] for sample in group) for name in group[0] if name != ENERGY},
                unit=technology.unit if technology else "fJ",
                tool=yosys.version(),
                portfolio=self.area.portfolio,
                renamings=self.area.renamings,
                seed=self.area.seed,
                name=self.area.top,
                command=self.command,
                libraries=tuple(library.name for library in self.area.libraries),
                libraries_sha256=tuple(library.sha256 for library in self.area.libraries),
                conditions=conditions,
                verilog_sha256=hashes["verilog_sha256"],
                script_sha256=hashes["script_sha256"],
                **dict(self.area.facts),
            )

        measured = [row(recipe, samples[recipe]) for recipe in self.area.recipes() if recipe in samples]
        best = min(measured, key=attrgetter("median")).best()
        return [*measured, best]
