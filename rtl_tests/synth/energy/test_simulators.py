"""Both simulators show the same waves, and energies are those of a second computation."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from rtl_tests.support import energies, icarus
from rtl_tests.support.optional import LIBERTY_FOLDER, NEEDS_ICARUS, NEEDS_OSU018, NEEDS_SHARED, OSU018
from synth.area import liberty
from synth.area.liberty import Library
from synth.area.plan import NO_LIBRARIES, area_jobs
from synth.area.targets import LIBERTY
from synth.energy import data, effort, job, library, simulator
from synth.energy.circuit import Circuit, cell_names
from synth.energy.workload import Workload, workload
from synth.proof.bitslice import compiler

pytestmark = [NEEDS_ICARUS, pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler")]

ASAP7 = tuple(LIBERTY_FOLDER / f"asap7_{part}_TT.lib.gz" for part in ("SIMPLE", "INVBUF", "AO", "OA", "SEQ"))
PLACES = [
    pytest.param((), id="gates"),
    pytest.param((OSU018,), id="osu018", marks=NEEDS_OSU018),
]
MORE_PLACES = [
    *PLACES,
    pytest.param((LIBERTY_FOLDER / "sky130hd_tt.lib.gz",), id="sky130", marks=NEEDS_SHARED),
    pytest.param((LIBERTY_FOLDER / "sg13g2_typ.lib.gz",), id="sg13g2", marks=NEEDS_SHARED),
    pytest.param(ASAP7, id="asap7", marks=NEEDS_SHARED),
]
SMALL = {
    "encoder": build("encoder", "e2m1", source="binary16"),
    "pe": build("pe", "e2m1", accumulator="exact", terms=16),
}
DESIGNS = {
    "mac": build("mac", "ocp_e5m2"),
    "pipeline": build("mac", "hif8", stages=2),
    "pe": build("pe", "ocp_e4m3", interleave=2, stages=1),
    "encoder": build("encoder", "hif8", source="bfloat16"),
    "dot": build("dot", "e2m1", lanes=4, accumulator="binary16"),
}


@dataclass(frozen=True)
class Case:
    """A netlist with its operations."""

    circuit: Circuit
    work: Workload
    libraries: tuple[Library, ...]

    @property
    def stimuli(self):
        return self.work.stimuli({name: len(nets) for name, nets in self.circuit.inputs.items()})

    @property
    def period(self) -> int:
        return self.circuit.longest + 1


def case(design: Design, files, operations: int) -> Case:
    libraries = tuple(liberty.read(file) for file in files)
    places = {("",): libraries} if files else NO_LIBRARIES
    targets = [LIBERTY if files else "gates"]
    (area,) = area_jobs(design, design.verilog(), targets, renamings=1, libraries=places)
    (text,) = replace(area, recipe="amap", keeps_cells=True).mapped()[1]["amap"]
    technology = library.technology(libraries, cell_names(text, design.name)) if files else effort.technology()
    return Case(Circuit(text, design.name, technology), workload(design, data.read("gaussian"), operations), libraries)


def check(case: Case) -> None:
    """Compare the waves of both simulators net by net, with and without delays, and energies with another program's."""
    circuit, stimuli, period = case.circuit, case.stimuli, case.period
    for delays in (True, False):
        vcd = icarus.waves(circuit, stimuli, period, delays=delays)
        first, *steps = icarus.changes(vcd)
        assert all(value in "01" for _, step in (first, *steps) for _, value in step)
        assert {net for net, _ in first[1]} == set(range(circuit.nets))  # before the first operation all is known
        levels, shown = dict(first[1]), []
        for time, step in steps:
            # without delays Icarus repeats the value of a net that has changed twice within a step
            shown += [(time - period, net) for net, value in step if levels[net] != value]
            levels |= dict(step)
        assert len(shown) == sum(len(step) for _, step in steps) or not delays
        trace = np.full((len(shown) + 1, 2), -1, np.int64)
        activity = simulator.simulate(circuit, stimuli, period, delays=delays, trace=trace)
        assert trace[-1].tolist() == [-1, -1]
        assert trace[-2].tolist() != [-1, -1]
        assert sorted(map(tuple, trace[:-1].tolist())) == sorted(shown)
        counted = icarus.simulate(circuit, stimuli, period, delays=delays)
        assert activity.transitions.sum() > len(stimuli.bits) - stimuli.warm_up
        assert np.array_equal(activity.transitions, counted.transitions)
        assert np.array_equal(activity.groups, counted.groups)
        assert np.array_equal(activity.observed, counted.observed)
        assert activity.settled == counted.settled
        wrong = case.work.mismatch({name: len(nets) for name, nets in circuit.outputs.items()}, activity.observed)
        assert wrong is None
        if delays:
            assert 0 < activity.settled < period
            parts = job.parts(circuit, activity, 1)
            second = again(case, [first, *steps])
            if second is not None:
                assert parts.switching + parts.internal == pytest.approx(second, rel=0.02)


def again(case: Case, waves) -> float | None:
    """The second computation; there is none for our own flip-flop."""
    circuit, start = case.circuit, case.period * (1 + case.stimuli.warm_up)
    if case.libraries:
        used = {item.cell.name for item in circuit.instances}
        technology = circuit.technology
        second = energies.Library([item.text for item in case.libraries], used)
        return energies.total(circuit, waves, second, technology.load, technology.slew, start)
    return None if circuit.clock is not None else energies.effort_total(circuit, waves, start)


@pytest.mark.parametrize("files", PLACES)
@pytest.mark.parametrize("name", SMALL)
def test_simulators_agree(name, files):
    check(case(SMALL[name], files, 60))


@pytest.mark.exhaustive
@pytest.mark.parametrize("files", MORE_PLACES)
@pytest.mark.parametrize("name", DESIGNS)
def test_simulators_agree_on_large_designs(name, files):
    check(case(DESIGNS[name], files, 300))
