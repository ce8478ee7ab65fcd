"""Are the checks any good? Faults are put into a module, many at a time, and each must be found unless it changes nothing at all.

Yosys chooses the faults and builds them into one netlist, behind an input that selects one of them (``mutate -ctrl``). A sweep over all
inputs then either finds an input on which a fault shows, its *killing vector*, or has proved that it changes nothing.
"""

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.blocks import build
from hwgen.blocks.design import Design
from hwgen.tools import yosys
from synth.area.digest import sha256
from synth.proof.bitslice import CASES, Evaluator, from_planes, to_planes
from synth.proof.cases import Batch, Sweep
from synth.proof.cases import sweep as sweep_of
from synth.proof.gates import Netlist, arrange
from synth.proof.questions import answer, made_of, ports
from synth.proof.unroll import parse

FORMATS = ("hif8", "e5m2b1", "binary8p3", "ocp_e4m3")
MUTANTS = 60
"""Faults in each block."""

SEED = 1
SELECT = "mutant"
"""Name of the input that selects a fault; 0 selects none."""

_PREPARE = """\
read_verilog module.v
hierarchy -check -top {top}
proc
flatten
opt_clean
"""

_CHOOSE = "mutate -list {count} -seed {seed} -none -o mutants.txt\n"

_MAP = """\
opt_clean
techmap
opt
abc -g AND,OR,XOR,MUX
opt_clean -purge
write_json netlist.json
"""


def designs() -> list[Design]:
    """The blocks whose checks are checked."""
    found = []
    for name in FORMATS:
        found += [build.decoder(name), build.encoder(name, rounding="ties_to_away"), build.mac(name)]
    return [*found, build.encoder("hif8", rounding="hybrid")]


@dataclass(frozen=True)
class Mutants:
    """A module with faults.

    Attributes
    ----------
    design : Design
    verilog_sha256 : str
        Of the module without faults.
    faults : tuple of str
        Yosys's words for each; fault ``i`` is selected by ``i + 1``.
    netlist : Netlist
        The module's ports, and :data:`SELECT`.
    """

    design: Design
    verilog_sha256: str
    faults: tuple[str, ...]
    netlist: Netlist

    @property
    def select_bits(self) -> int:
        """Width of the selecting input."""
        return self.netlist.inputs[SELECT]


def mutate(design: Design, count: int = MUTANTS, seed: int = SEED) -> Mutants:
    """Put ``count`` faults into a block."""
    files = {"module.v": design.verilog()}
    prepare = _PREPARE.format(top=design.name)
    chosen = yosys.run(prepare + _CHOOSE.format(count=count + 1, seed=seed), files, ["mutants.txt"])["mutants.txt"]
    faults = tuple(line.removeprefix("mutate ") for line in chosen.splitlines() if "-mode none" not in line)[:count]
    assert len(faults) == count, f"Yosys found {len(faults)} faults, not {count}"
    width = count.bit_length()
    insert = "".join(f"mutate -ctrl {SELECT} {width} {number} {fault}\n" for number, fault in enumerate(faults, 1))
    found = yosys.run(prepare + insert + _MAP, files, ["netlist.json"])["netlist.json"]
    inputs, outputs = ports(design)
    netlist = arrange(parse(found, design.name), {**inputs, SELECT: width}, outputs, made_of(design))
    return Mutants(design, sha256(files["module.v"]), faults, netlist)


def killing_vectors(mutants: Mutants) -> dict[int, dict[str, int] | None]:
    """For each fault an input on which it shows; None for those that show on no input at all."""
    sweep = sweep_of(mutants.design)
    assert sweep is not None, f"{mutants.design.name} has too many inputs to enumerate"
    running_nets = list(mutants.netlist.input_nets(sweep.running_port)[: sweep.running_bits])
    code, running = Evaluator(mutants.netlist, running_nets, compiled=sweep.cases > 1 << 16), sweep.running
    place = len(code.held) - mutants.select_bits  # the selecting bits are the last that are held
    alive = set(range(1, len(mutants.faults) + 1))
    vectors: dict[int, dict[str, int] | None] = dict.fromkeys(sorted(alive))

    def attack(number: int, batch: Batch) -> dict[str, int] | None:
        found = code.compare(batch.groups | np.uint64(number << place), running, batch.expected)
        if found is None:
            return None
        held = int(batch.groups[found.group])
        wanted = batch.expected if batch.expected.ndim == 2 else batch.expected[found.group]
        return _first(code, sweep, held | number << place, wanted, found.start)

    with ThreadPoolExecutor(os.cpu_count()) as executor:
        for chunk in range(sweep.chunks):
            for batch in sweep.batches(chunk):
                unharmed = code.compare(batch.groups, running, batch.expected)
                assert unharmed is None, f"{mutants.design.name} differs from golden without a fault"
                numbers = sorted(alive)
                for number, pins in zip(numbers, executor.map(attack, numbers, [batch] * len(numbers)), strict=True):
                    if pins is not None:
                        vectors[number] = pins
                        alive.discard(number)
    return vectors


def _first(code: Evaluator, sweep: Sweep, held: int, wanted: NDArray[np.uint64], start: int) -> dict[str, int]:
    """The first case of a vector that differs."""
    window = slice(start // 64, (start + CASES) // 64)
    got = code.evaluate(held, np.ascontiguousarray(sweep.running[:, window]))
    differs = np.bitwise_or.reduce(got ^ wanted[:, window], axis=0)
    case = start + int(np.flatnonzero(np.unpackbits(differs.view(np.uint8), bitorder="little"))[0])
    return {port: value for port, value in code.pins(held, case).items() if port != SELECT}


def killed(mutants: Mutants, vectors: Sequence[Mapping[str, int]]) -> set[int]:
    """The faults that show on at least one of some inputs."""
    inputs, _ = ports(mutants.design)
    netlist = mutants.netlist
    numbers = range(len(mutants.faults) + 1)
    cases = [(vector, number) for number in numbers for vector in vectors]
    size = -(-len(cases) // CASES) * CASES
    planes = []
    for port, width in netlist.inputs.items():
        column = [number if port == SELECT else vector[port] for vector, number in cases]
        planes.append(to_planes(np.array(column + [0] * (size - len(cases)), np.uint64), width))
    code = Evaluator(netlist, [net for port in netlist.inputs for net in netlist.input_nets(port)], compiled=False)
    out = from_planes(code.evaluate(0, np.concatenate(planes)))[: len(cases)].reshape(len(numbers), len(vectors))
    wanted = np.array([_joined(netlist, answer(mutants.design, {port: vector[port] for port in inputs})) for vector in vectors], np.uint64)
    assert np.array_equal(out[0], wanted), f"{mutants.design.name} differs from golden without a fault"
    return {int(number) for number in np.flatnonzero((out != wanted).any(axis=1))}


def _joined(netlist: Netlist, outputs: Mapping[str, int]) -> int:
    word, place = 0, 0
    for port, width in netlist.outputs.items():
        word |= outputs[port] << place
        place += width
    return word


def record(design: Design) -> dict[str, Any]:
    """What a block's faults, swept over all inputs, came to; as it is kept for replay."""
    mutants = mutate(design)
    found = killing_vectors(mutants)
    vectors: list[dict[str, int]] = []
    left = {number for number, pins in found.items() if pins is not None}
    for number in sorted(left):  # vectors of earlier faults often kill later ones
        pins = found[number]
        if number in left and pins is not None:
            vectors.append(pins)
            left -= killed(mutants, [pins])
    return {
        "verilog_sha256": mutants.verilog_sha256, "tool": yosys.version(), "faults": len(mutants.faults),
        "equivalent": [number for number, pins in found.items() if pins is None],
        "ports": list(vectors[0]), "vectors": [list(pins.values()) for pins in vectors],
    }  # fmt: skip


def records() -> str:
    """All blocks' records as text."""
    rows = {design.name: record(design) for design in designs()}
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    print(records(), end="")
