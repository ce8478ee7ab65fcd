"""Tests the checks themselves: faults are put into a module, and each fault that changes any output must be found.

Yosys chooses the faults and builds them into one netlist, with an input that selects one of them (``mutate -ctrl``).
The evaluation of all inputs either finds one that exposes a fault, its *killing vector*, or proves the fault harmless.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.reference import reference
from hwgen.tools import yosys
from synth.area.digest import sha256
from synth.proof.bitslice import CASES, Batch, Evaluator, from_planes, to_planes
from synth.proof.cases import input_sweep
from synth.proof.gates import Netlist, arrange
from synth.proof.unroll import parse
from synth.studies.script import status

FORMATS = ("hif8", "e5m2b1", "binary8p3", "ocp_e4m3")
MUTANTS = 60
"""Number of faults in each block."""

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
    """The blocks that get faults."""
    blocks = []
    for name in FORMATS:
        blocks += [build("decoder", name), build("encoder", name, rounding="ties_to_away"), build("mac", name)]
    return [*blocks, build("encoder", "hif8", rounding="hybrid")]


@dataclass(frozen=True)
class Mutants:
    """A module with faults.

    Attributes
    ----------
    design : Design
    verilog_sha256 : str
        SHA-256 of the module without faults.
    faults : tuple of str
        Arguments of Yosys's ``mutate`` for each fault; fault ``i`` is selected by ``i + 1``.
    netlist : Netlist
        Inputs are the module's and :data:`SELECT`.
    """

    design: Design
    verilog_sha256: str
    faults: tuple[str, ...]
    netlist: Netlist


def mutate(design: Design, count: int = MUTANTS, seed: int = SEED) -> Mutants:
    """Put ``count`` faults into a block."""
    files = {"module.v": design.verilog()}
    prepare = _PREPARE.format(top=design.name)
    chosen = yosys.run(prepare + _CHOOSE.format(count=count + 1, seed=seed), files, ["mutants.txt"])["mutants.txt"]
    faults = tuple(line.removeprefix("mutate ") for line in chosen.splitlines() if "-mode none" not in line)[:count]
    assert len(faults) == count, f"Yosys found {len(faults)} faults, not {count}"
    width = count.bit_length()
    insert = "".join(f"mutate -ctrl {SELECT} {width} {number} {fault}\n" for number, fault in enumerate(faults, 1))
    text = yosys.run(prepare + insert + _MAP, files, ["netlist.json"])["netlist.json"]
    model = reference(design)
    netlist = arrange(parse(text, design.name), {**model.inputs, SELECT: width}, model.outputs, model.made_of)
    return Mutants(design, sha256(files["module.v"]), faults, netlist)


def killing_vectors(mutants: Mutants) -> dict[int, dict[str, int] | None]:
    """For each fault, an input that exposes it; None if no input does."""
    sweep = input_sweep(mutants.design)
    assert sweep is not None, f"{mutants.design.name} has too many inputs to enumerate"
    nets, running = mutants.netlist.input_nets(sweep.running_port)[: sweep.running_bits], sweep.running
    code = Evaluator(mutants.netlist, nets, compiled=sweep.cases > 1 << 16)
    place = len(code.held) - mutants.netlist.inputs[SELECT]  # the selecting bits are the last held bits
    vectors: dict[int, dict[str, int] | None] = dict.fromkeys(range(1, len(mutants.faults) + 1))

    def attack(number: int, batch: Batch) -> dict[str, int] | None:
        faulty = Batch(batch.groups | np.uint64(number << place), batch.expected)
        mismatch = code.compare(faulty.groups, running, faulty.expected)
        if mismatch is None:
            return None
        first, *_ = code.differing(faulty, running, mismatch)
        return {port: value for port, value in first.items() if port != SELECT}

    with ThreadPoolExecutor(os.cpu_count()) as executor:
        for chunk in range(sweep.chunks):
            for batch in sweep.batches(chunk):
                unharmed = code.compare(batch.groups, running, batch.expected)
                assert unharmed is None, f"{mutants.design.name} differs from the reference model without a fault"
                alive = [number for number, pins in vectors.items() if pins is None]
                vectors |= zip(alive, executor.map(attack, alive, [batch] * len(alive)), strict=True)
    return vectors


def killed(mutants: Mutants, vectors: Sequence[Mapping[str, int]]) -> set[int]:
    """The faults that at least one of the inputs ``vectors`` exposes."""
    model, netlist = reference(mutants.design), mutants.netlist
    numbers = range(len(mutants.faults) + 1)
    cases = [(vector, number) for number in numbers for vector in vectors]
    size = -(-len(cases) // CASES) * CASES
    planes = []
    for port, width in netlist.inputs.items():
        column = [number if port == SELECT else vector[port] for vector, number in cases]
        planes.append(to_planes(np.array(column + [0] * (size - len(cases)), np.uint64), width))
    code = Evaluator(netlist, [net for port in netlist.inputs for net in netlist.input_nets(port)], compiled=False)
    out = from_planes(code.evaluate(0, np.concatenate(planes)))[: len(cases)].reshape(len(numbers), len(vectors))
    expected = np.zeros(len(vectors), np.uint64)
    for place, vector in enumerate(vectors):
        answer = model.answer({port: vector[port] for port in model.inputs})
        digits = "".join(f"{answer[port]:0{netlist.outputs[port]}b}" for port in reversed(list(netlist.outputs)))
        expected[place] = int(digits, 2)
    assert np.array_equal(out[0], expected), f"{mutants.design.name} differs from the reference model without a fault"
    return {int(number) for number in np.flatnonzero((out != expected).any(axis=1))}


def record(design: Design) -> dict[str, Any]:
    """A block's faults and vectors that expose them, as stored for replay."""
    mutants = mutate(design)
    killing = killing_vectors(mutants)
    vectors: list[dict[str, int]] = []
    dead: set[int] = set()
    for number, pins in killing.items():  # vectors of earlier faults often kill later ones
        if number not in dead and pins is not None:
            vectors.append(pins)
            dead |= killed(mutants, [pins])
    return {
        "verilog_sha256": mutants.verilog_sha256,
        "tool": yosys.version(),
        "faults": len(mutants.faults),
        "equivalent": [number for number, pins in killing.items() if pins is None],
        "ports": list(vectors[0]),
        "vectors": [list(pins.values()) for pins in vectors],
    }


def main() -> None:
    """Print the records of all blocks as JSON."""
    lines = [f"{json.dumps(design.name)}: {json.dumps(record(design))}" for design in designs()]
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    sys.exit(status("mutation", main))
