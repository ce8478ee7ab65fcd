"""Small netlists whose transitions and energies are calculated by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rtl_tests.support import icarus
from rtl_tests.support.optional import NEEDS_ICARUS
from synth.energy import effort, job, simulator
from synth.energy.cells import Cell, CellError, Output
from synth.energy.circuit import Circuit
from synth.energy.simulator import Stimuli, UnsettledError

TECHNOLOGY = effort.technology()
LOAD = 4.0
"""Capacitance of an output port."""


def circuit(inputs: str, outputs: str, *cells: str, technology=TECHNOLOGY) -> Circuit:
    """A netlist; a cell is written like ``NAND2 A=a B=b Y=y``. Nets ``0``, ``1`` and ``x`` are constants."""
    numbers: dict[str, int] = {}

    def bit(net: str):
        return net if net in ("0", "1", "x") else numbers.setdefault(net, len(numbers) + 2)

    ports = {name: {"direction": "input", "bits": [bit(name)]} for name in inputs.split()}
    ports |= {name: {"direction": "output", "bits": [bit(name)]} for name in outputs.split()}
    listed = {}
    for number, cell in enumerate(cells):
        kind, *pins = cell.split()
        pairs = [pin.split("=") for pin in pins]
        listed[f"u{number}"] = {"type": kind, "connections": {pin: [bit(net)] if net else [] for pin, net in pairs}}
    return Circuit(json.dumps({"modules": {"top": {"ports": ports, "cells": listed}}}), "top", technology)


def run(netlist: Circuit, rows, warm_up: int = 0, **options):
    stimuli = Stimuli(np.array(rows, np.uint8), warm_up)
    period = options.pop("period", netlist.longest + 1)
    return simulator.simulate(netlist, stimuli, period, **options)


def test_energy_of_an_inverter():
    netlist = circuit("a", "y", "INV A=a Y=y")
    assert netlist.loads[2:] == [1.0, LOAD]
    assert netlist.delays == [(500, 500)]  # parasitic delay 1 and load 4, in hundredths
    activity = run(netlist, [[0], [1], [0], [1], [1]])
    assert activity.transitions[2:].tolist() == [[1, 2], [2, 1]]
    assert activity.settled == 500
    parts = job.parts(netlist, activity, 5)
    assert parts.switching == pytest.approx(3 * (1 + LOAD) / 2 / 5)
    assert parts.internal == pytest.approx(3 * 1 / 2 / 5)


def test_the_warm_up_is_not_counted():
    netlist = circuit("a", "y", "INV A=a Y=y")
    assert run(netlist, [[1], [0], [1], [1]], warm_up=2).transitions[2:].tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(("buffers", "transitions"), [(0, 0), (3, 2)])
def test_only_long_pulses_pass(buffers, transitions):
    """The pulse of a NAND of a signal and its complement is as long as the inverter's delay."""
    chain = [f"BUF A=n{number} Y=n{number + 1}" for number in range(buffers)]
    netlist = circuit("a", "y", "INV A=a Y=n0", *chain, f"NAND2 A=a B=n{buffers} Y=y")
    late, out = netlist.instances[-1].inputs[1], netlist.observed_nets[0]
    assert netlist.delays[-1] == (600, 600)
    activity = run(netlist, [[0], [1], [1]], warm_up=1)
    assert activity.transitions[late].sum() == 1
    assert activity.transitions[out].sum() == transitions
    still = run(netlist, [[0], [1], [1]], warm_up=1, delays=False)
    assert still.transitions[out].sum() == 0
    assert still.transitions[late].sum() == 1


def test_inputs_that_change_at_the_same_time_make_no_pulse():
    netlist = circuit("a b", "y", "XOR2 A=a B=b Y=y")
    assert run(netlist, [[0, 1], [1, 0], [0, 1]], warm_up=1).transitions[2:].tolist() == [[1, 1], [1, 1], [0, 0]]


def test_a_cause_chooses_the_energy():
    """The select of a multiplexer also drives an inverter inside; an output is charged for what changed it."""
    netlist = circuit("a b s", "y", "MUX2 A=a B=b S=s Y=y")
    by_data = job.parts(netlist, run(netlist, [[0, 0, 0], [1, 0, 0]], warm_up=1), 1)
    by_select = job.parts(netlist, run(netlist, [[0, 1, 0], [0, 1, 1]], warm_up=1), 1)
    assert (by_data.internal, by_select.internal) == (3.0, 4.5)
    assert (by_data.switching, by_select.switching) == ((2 + LOAD) / 2, (3 + LOAD) / 2)


def test_energy_of_a_flip_flop():
    netlist = circuit("clk d", "q", "DFF C=clk D=d Q=q")
    assert netlist.inputs == {"d": (3,)}
    idle = job.parts(netlist, run(netlist, [[0]] * 6, warm_up=2), 4)
    assert (idle.switching, idle.internal, idle.clock) == (1.0, 5.0, 6.0)  # two transitions of the clock
    busy = run(netlist, [[0], [1], [0], [1], [0], [1]], warm_up=2)
    assert busy.transitions[2:].tolist() == [[4, 4], [2, 2], [2, 2]]
    assert busy.observed.ravel().tolist() == [0, 0, 1, 0, 1, 0]  # a cycle later
    parts = job.parts(netlist, busy, 4)
    assert parts.switching == 1.0 + (1 + LOAD) / 2
    assert parts.internal == 5.0 + 6 / 2 + 7 / 2  # the first latch follows when the clock falls
    assert parts.clock == 6.0 + 6 / 2


def test_a_flip_flop_samples_before_its_input_changes():
    netlist = circuit("clk d", "q r", "DFF C=clk D=d Q=q", "DFF C=clk D=q Q=r")
    for delays in (True, False):
        activity = run(netlist, [[1], [0], [0], [0]], delays=delays)
        assert activity.observed.tolist() == [[0, 0], [1, 0], [0, 1], [0, 0]]


def test_the_first_latch_follows_while_the_clock_is_low():
    slow = [f"BUF A=n{number} Y=n{number + 1}" for number in range(5)]
    netlist = circuit("clk n0", "q", *slow, "DFF C=clk D=n5 Q=q")
    data = netlist.instances[0].inputs[1]
    assert netlist.longest == 2000
    activity = run(netlist, [[0], [1], [1], [1]], warm_up=1, period=netlist.longest + 1)
    assert activity.transitions[data].tolist() == [0, 1]
    first = [number for number, group in enumerate(netlist.groups) if group.instance == 0]
    # Q; the clock where D and Q differ, which energy is larger for falls; the clock otherwise; D while the clock is low
    assert activity.groups[first].tolist() == [[0, 1], [0, 1], [3, 2], [0, 1]]


def test_constants_and_unconnected_pins():
    netlist = circuit("a", "y z w", "NAND2 A=a B=1 Y=y", "INV A=x Y=z", "BUF A=0 Y=", "OR2 A=a Y=w")
    activity = run(netlist, [[0], [1]])
    assert activity.observed.tolist() == [[1, 1, 0], [0, 1, 1]]


def test_an_output_may_be_an_input_or_a_constant():
    netlist = circuit("a", "")
    netlist.outputs |= {"y": netlist.inputs["a"], "one": (1,)}
    assert run(netlist, [[1], [0]]).observed.tolist() == [[1, 1], [0, 1]]
    assert netlist.loads == [0.0, 0.0, LOAD]


def test_cells_with_two_outputs_and_with_none_of_the_inputs():
    adder, inverter = TECHNOLOGY.cells["XOR2"], TECHNOLOGY.cells["INV"]
    (total,), (carry,) = adder.outputs, TECHNOLOGY.cells["AND2"].outputs
    half = replace(adder, name="HA", outputs=(replace(total, name="S"), replace(carry, name="C")))
    high = Cell("TIE", (), (), (Output("Y", b"\1", (), ()),))
    technology = replace(TECHNOLOGY, cells={"HA": half, "TIE": high, "INV": inverter})
    netlist = circuit("a b", "s c y", "HA A=a B=b S=s C=c", "TIE Y=n", "INV A=n Y=y", technology=technology)
    rows = [[0, 0], [0, 1], [1, 1], [1, 0]]
    assert run(netlist, rows).observed.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert len(netlist.groups) == 2 * 2 + 1


@NEEDS_ICARUS
@pytest.mark.parametrize("delays", [True, False])
def test_icarus_agrees_on_awkward_netlists(delays):
    chain = [f"BUF A=n{number} Y=n{number + 1}" for number in range(3)]
    odd = (
        "TIE Y=t",
        "AND2 A=t B=a Y=u",
        "INV A=x Y=v",
        "MUX2 A=a B=b S=n3 Y=w",
        "DFF C=clk D=w Q=q",
        "DFF C=clk D=q Q=",
    )
    high = Cell("TIE", (), (), (Output("Y", b"\1", (), ()),))
    technology = replace(TECHNOLOGY, cells={**TECHNOLOGY.cells, "TIE": high})
    netlist = circuit("clk a b", "w q u v", "XNOR2 A=a B=b Y=n0", *chain, *odd, technology=technology)
    rows = np.random.default_rng(1).integers(0, 2, (200, 2), np.uint8)
    stimuli, period = Stimuli(rows, 3), netlist.longest + 1
    one, two = (tool.simulate(netlist, stimuli, period, delays=delays) for tool in (simulator, icarus))
    assert np.array_equal(one.transitions, two.transitions)
    assert np.array_equal(one.groups, two.groups)
    assert np.array_equal(one.observed, two.observed)
    assert one.settled == two.settled


@NEEDS_ICARUS
def test_waves_depend_on_every_tick_of_the_delays(monkeypatch):
    """A twin of the comparisons of waves: they would notice a delay that differs by one tick."""
    netlist = circuit("a b", "y", "XOR2 A=a B=b Y=n", "NAND2 A=n B=a Y=y")
    stimuli = Stimuli(np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.uint8), 0)
    before = list(icarus.changes(icarus.waves(netlist, stimuli, 2000)))
    later = [(fall + 1, rise) for fall, rise in netlist.delays]
    monkeypatch.setattr(netlist, "delays", later)
    assert list(icarus.changes(icarus.waves(netlist, stimuli, 2000))) != before


def test_a_short_period_is_an_error():
    netlist = circuit("a", "y", "INV A=a Y=y")
    assert run(netlist, [[0], [1]], period=501).settled == 500
    with pytest.raises(UnsettledError, match=r"^operation 1 has not settled within the period$"):
        run(netlist, [[0], [1]], period=500)


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        (("INV A=y Y=n", "INV A=n Y=y"), r"^top has a loop of gates, or a net without a driver$"),
        (("AND2 A=a B=lost Y=y",), r"^top has a loop of gates, or a net without a driver$"),
        (("NOTHING A=a Y=y",), r"^the netlist has a cell NOTHING, which the library does not describe$"),
        (("INV A=a Q=y",), r"^the cell INV has no pin Q in the library$"),
        (("DFF C=a D=a Q=y",), r"^the flip-flops of top must be connected to the port clk$"),
    ],
)
def test_netlists_that_cannot_be_simulated(cells, problem):
    with pytest.raises(CellError, match=problem):
        circuit("a", "y", *cells)


def test_cells_that_cannot_be_simulated():
    flip_flop, inverter = TECHNOLOGY.cells["DFF"], TECHNOLOGY.cells["INV"]
    silent = replace(inverter, outputs=(replace(inverter.outputs[0], truth=None),))
    with pytest.raises(CellError, match=r"^the output Y of the cell INV has no function in the library$"):
        circuit("a", "y", "INV A=a Y=y", technology=replace(TECHNOLOGY, cells={"INV": silent}))
    circuit("a", "", "INV A=a Y=", technology=replace(TECHNOLOGY, cells={"INV": silent}))
    reset = replace(flip_flop, state=replace(flip_flop.state, asynchronous=(bytes([0, 0, 1, 1] * 2),)))
    technology = replace(TECHNOLOGY, cells={"DFF": reset})
    circuit("clk", "q", "DFF C=clk D=0 Q=q", technology=technology)
    for data in ("a", "1"):
        with pytest.raises(CellError, match=r"^the asynchronous set and reset of the cell DFF must not be used$"):
            circuit("clk a", "q", f"DFF C=clk D={data} Q=q", technology=technology)
    gated = replace(flip_flop, outputs=(replace(flip_flop.outputs[0], truth=bytes([0, 0, 0, 0, 1, 1, 1, 0])),))
    with pytest.raises(CellError, match=r"^the output Q of the cell DFF depends on more than its state$"):
        circuit("clk a", "q", "DFF C=clk D=a Q=q", technology=replace(TECHNOLOGY, cells={"DFF": gated}))
