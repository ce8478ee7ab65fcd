"""The simulation of energies by Icarus Verilog, for comparison: a netlist with delays, and counts of its waves.

An output is a variable that is evaluated when an input changes, and a continuous assignment with two delays. Icarus
applies all changes that are due in a time step before it wakes an evaluation, and its delays are inertial, so the waves
are those of ``engine.cpp``.
"""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hwgen.tools.process import ToolError, supervised
from synth.energy.circuit import Circuit
from synth.energy.simulator import Activity, Stimuli, cause, chosen

_WAVES = "waves.vcd"


def verilog(circuit: Circuit, stimuli: Stimuli, period: int, delays: bool) -> str:
    """A bench that contains the netlist, and writes the waves of its nets ``n0``, ``n1`` and so on."""
    operations, width = stimuli.bits.shape
    lines = [
        "`timescale 1ns/1ns",
        "module bench;",
        f"  reg [{max(width, 1) - 1}:0] inputs = 0;",
        f"  reg [{max(width, 1) - 1}:0] stimuli [0:{operations - 1}];",
        "  reg clock = 1'b0;",
        "  wire n0 = 1'b0, n1 = 1'b1;",
    ]
    lines += [f"  wire n{net} = inputs[{bit}];" for bit, net in enumerate(circuit.stimulus_nets)]
    if circuit.clock is not None:
        lines.append(f"  wire n{circuit.clock} = clock;")
    lines += _instances(circuit, delays)
    nets = ", ".join(f"n{net}" for net in range(circuit.nets))
    half = period // 2
    edge = f"#{half} clock = 1'b0; #{period - half}" if circuit.clock is not None else f"#{period}"
    lines += [
        "  integer operation;",
        "  initial begin",
        '    $readmemb("stimuli.txt", stimuli);',
        f'    $dumpfile("{_WAVES}");',
        f"    #{period - 1} $dumpvars(0, {nets});",  # what the inputs 0 lead to has settled
        "    #1;",
        f"    for (operation = 0; operation < {operations}; operation = operation + 1) begin",
        *(["      clock = 1'b1;"] if circuit.clock is not None else []),
        f"      inputs <= stimuli[operation]; {edge};",
        "    end",
        "    $finish(0);",
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _instances(circuit: Circuit, delays: bool) -> Iterator[str]:
    times = iter(circuit.delays)
    for number, instance in enumerate(circuit.instances):
        cell, state = instance.cell, instance.cell.state
        index = ", ".join(f"n{net}" for net in reversed(instance.inputs))
        if state is not None:
            index = f"q{number}" + (f", {index}" if index else "")
            size = len(state.next)
            clock, following = (_constant(table) for table in (state.clock, state.next))
            yield f"  reg q{number} = 1'b0; wire [{size - 1}:0] k{number} = {clock}, f{number} = {following};"
            yield f"  wire c{number} = k{number}[{{{index}}}];"
            yield f"  always @(posedge c{number}) q{number} <= f{number}[{{{index}}}];"
        for place, output in enumerate(cell.outputs):
            fall, rise = next(times)
            if output.truth is None:
                continue
            delay = f"#({rise}, {fall}) " if delays else ""
            name, table = f"s{number}_{place}", output.truth
            reads, where = [f"n{net}" for net in dict.fromkeys(instance.inputs)], index
            if state is not None:  # the output depends on the state alone
                table, reads, where = table[:: len(table) // 2], [f"q{number}"], f"q{number}"
            value = f"t{number}_{place}[{{{where}}}]" if reads else f"t{number}_{place}"
            yield f"  reg {name}; wire [{len(table) - 1}:0] t{number}_{place} = {_constant(table)};"
            yield f"  initial #0 {name} = {value};"
            if reads:
                yield f"  always @({' or '.join(reads)}) {name} = {value};"
            yield f"  assign {delay}n{instance.outputs[place]} = {name};"


def _constant(table: bytes) -> str:
    return f"{len(table)}'b{''.join(str(bit) for bit in reversed(table))}"


def waves(circuit: Circuit, stimuli: Stimuli, period: int, *, delays: bool = True) -> str:
    """The waves of a simulation as a VCD: operation k starts at time (k + 1) * ``period``.

    Raises
    ------
    ToolError
        If Icarus fails.
    """
    text = "\n".join("".join(map(str, row[::-1])) for row in stimuli.bits.tolist())
    with tempfile.TemporaryDirectory(prefix="hwgen-") as folder:
        root = Path(folder)
        (root / "bench.v").write_text(verilog(circuit, stimuli, period, delays), encoding="utf-8")
        (root / "stimuli.txt").write_text(f"{text}\n", encoding="utf-8")
        log = ""
        for command in (["iverilog", "-g2005", "-o", "bench.vvp", "bench.v"], ["vvp", "-n", "bench.vvp"]):
            output, status = supervised(command, root)
            log += output
            if status:
                message = "it was killed" if status < 0 else (log.splitlines() or ["no message"])[-1]
                raise ToolError(f"Icarus failed: {message}", log, status < 0)
        return (root / _WAVES).read_text(encoding="utf-8")


def changes(vcd: str) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """Time steps of a VCD of nets ``n…``: time, and each changed net with its value ``0``, ``1``, ``x`` or ``z``."""
    names: dict[str, list[int]] = {}
    for code, net in re.findall(r"\$var wire +1 (\S+) n(\d+) \$end", vcd):
        names.setdefault(code, []).append(int(net))
    time = 0
    step: list[tuple[int, str]] = []
    for line in vcd[vcd.index("$enddefinitions") :].splitlines()[1:]:
        if line[0] == "#":
            if step:
                yield time, step
            time, step = int(line[1:]), []
        elif line[0] in "01xz":
            step += [(net, line[0]) for net in names[line[1:]]]
    if step:
        yield time, step


def simulate(circuit: Circuit, stimuli: Stimuli, period: int, *, delays: bool = True) -> Activity:
    """The same as :func:`synth.energy.simulator.simulate`, but slowly; late changes are not detected."""
    return _Count(circuit, delays).activity(waves(circuit, stimuli, period, delays=delays), stimuli, period)


class _Count:
    """Counts in waves what the engine counts."""

    def __init__(self, circuit: Circuit, delays: bool):
        self._circuit, self._delays = circuit, delays
        self._levels = [0] * circuit.nets
        self._levels[1] = 1
        self._readers: list[list[tuple[int, int]]] = [[] for _ in range(circuit.nets)]
        self._drivers: dict[int, tuple[int, int]] = {}
        self._first = [0]
        for number, instance in enumerate(circuit.instances):
            for pin, net in enumerate(instance.inputs):
                self._readers[net].append((number, pin))
            for place, net in enumerate(instance.outputs):
                self._drivers[net] = number, place
            own = sum(len(output.powers) for output in instance.cell.outputs) + len(instance.cell.passive)
            self._first.append(self._first[-1] + own)
        self._rows, self._causes = [0] * len(circuit.instances), [0] * len(circuit.instances)
        self._groups = np.zeros((self._first[-1], 2), np.int64)

    def activity(self, vcd: str, stimuli: Stimuli, period: int) -> Activity:
        """The counts of a VCD."""
        observed: list[list[int]] = []
        nets = self._circuit.observed_nets
        transitions = np.zeros((self._circuit.nets, 2), np.int64)
        settled, is_first = 0, True
        for time, step in changes(vcd):
            operation = time // period - 1
            while len(observed) < operation:
                observed.append([self._levels[net] for net in nets])
            counting = operation >= stimuli.warm_up
            if any(value not in "01" for _, value in step):
                raise ToolError(f"Icarus shows an undefined net in operation {operation}")
            moved = [net for net, value in step if int(value) != self._levels[net]]
            for net in moved:
                self._levels[net] ^= 1
                if counting:
                    transitions[net, self._levels[net]] += 1
                    settled = settled if net == self._circuit.clock else max(settled, time % period)
            if is_first:
                self._rows = [self._row(number, 0) for number in range(len(self._rows))]
            elif self._delays:
                self._step(moved, counting)
            else:
                self._settle(moved, counting)
            is_first = False
        while len(observed) < len(stimuli.bits):
            observed.append([self._levels[net] for net in nets])
        shape = len(stimuli.bits), len(nets)
        return Activity(transitions, self._groups, np.array(observed, np.uint8).reshape(shape), settled * self._delays)

    def _row(self, number: int, state: int) -> int:
        instance = self._circuit.instances[number]
        bits = [self._levels[net] for net in instance.inputs]
        return sum(bit << pin for pin, bit in enumerate([*bits, state if instance.cell.state else 0]))

    def _step(self, moved: list[int], counting: bool) -> None:
        """A time step: outputs change for what happened before, then inputs change."""
        self._charge_outputs(moved, counting)
        for number, pins in self._reached(moved).items():
            self._take(number, pins, counting)

    def _settle(self, moved: list[int], counting: bool) -> None:
        """An operation without delays: edges reach flip-flops first, then the logic, then their other inputs."""
        instances, stimuli = self._circuit.instances, {*self._circuit.stimulus_nets, self._circuit.clock}
        direct = self._reached([net for net in moved if net in stimuli])
        behind = self._reached([net for net in moved if net not in stimuli])
        for number, pins in direct.items():
            if instances[number].cell.state:
                self._take(number, pins, counting)
        for number in direct.keys() | behind.keys():
            if not instances[number].cell.state:
                self._take(number, direct.get(number, 0) | behind.get(number, 0), counting)
        self._charge_outputs(moved, counting)
        for number, pins in behind.items():
            if instances[number].cell.state:
                self._take(number, pins, counting)

    def _reached(self, moved: list[int]) -> dict[int, int]:
        """The pins that read changed nets, as a mask for each instance."""
        pins: dict[int, int] = {}
        for net in moved:
            for number, pin in self._readers[net]:
                pins[number] = pins.get(number, 0) | 1 << pin
        return pins

    def _charge_outputs(self, moved: list[int], counting: bool) -> None:
        for net in moved if counting else ():
            if net in self._drivers:
                number, place = self._drivers[net]
                outputs = self._circuit.instances[number].cell.outputs
                group = cause(outputs[place].powers, self._causes[number], self._rows[number])
                if group is not None:
                    before = sum(len(output.powers) for output in outputs[:place])
                    self._groups[self._first[number] + before + group, self._levels[net]] += 1

    def _take(self, number: int, pins: int, counting: bool) -> None:
        """Changes at the input ``pins`` of an instance; a flip-flop samples what was there before."""
        instance = self._circuit.instances[number]
        cell, size = instance.cell, len(instance.inputs)
        before = self._rows[number]
        after = seen = before ^ pins
        changed = [pin for pin in range(size) if pins >> pin & 1]
        if cell.state is None:
            self._causes[number] = changed[0]
        elif not cell.state.clock[before] and cell.state.clock[after]:
            after = after & ~(1 << size) | cell.state.next[before] << size
            self._causes[number] = cell.state.clock_pin
        self._rows[number] = after
        for pin in changed if counting else ():
            group = chosen(cell.passive, pin, seen)
            if group is not None:
                outputs = sum(len(output.powers) for output in cell.outputs)
                self._groups[self._first[number] + outputs + group, after >> pin & 1] += 1
