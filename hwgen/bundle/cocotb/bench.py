"""cocotb tests of the generated module NAME: its vectors, and new ones from the reference model.

Each class of vectors in ``tb/NAME.hex`` is a test. They need cocotb and a simulator only. If the Python package
``minifloat-rtl`` is installed, the last test drives vectors of the seed in ``SEED`` (default: 1), ``VECTORS`` of them.
Add tests of your own below.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer

try:
    from hwgen.cocotb import new_vectors
except ImportError:  # the vectors of the file are all there is
    new_vectors = None  # type: ignore[assignment]  # mypy sees a function that is always there

NAME = Path(__file__).stem.removesuffix("_cocotb")
BUNDLE = next(folder for folder in Path(__file__).resolve().parents if (folder / f"{NAME}.json").exists())
DESCRIPTION = json.loads((BUNDLE / f"{NAME}.json").read_bytes())
CARE = "care_"
"""Prefix of fields that say whether an output is compared in this cycle; only clocked modules have them."""

SHOWN = 5
"""Number of mismatches of a test that its message shows."""

PORTS = [port for port in DESCRIPTION["ports"] if port["name"] != "clk"]
INPUTS = [port["name"] for port in PORTS if port["direction"] == "input"]
OUTPUTS = [port["name"] for port in PORTS if port["direction"] == "output"]
IS_CLOCKED = len(PORTS) < len(DESCRIPTION["ports"])


def read_vectors() -> dict[str, list[dict[str, int]]]:
    """Return the vectors of ``tb/NAME.hex`` by class.

    A word begins with a 1. The ports follow in the order of the module's header, without the clock; the first has the
    most significant bits. For a clocked module, a flag for each output follows.
    """
    fields = [(port["name"], port["width"]) for port in PORTS]
    fields += [(CARE + name, 1) for name in OUTPUTS] if IS_CLOCKED else []
    classes: dict[str, list[dict[str, int]]] = {}
    words = classes.setdefault("vectors", [])
    for line in (BUNDLE / "tb" / f"{NAME}.hex").read_text(encoding="utf-8").splitlines():
        if line.startswith("// class "):
            words = classes.setdefault(line.removeprefix("// class "), [])
            continue
        word, vector = int(line, 16), {}
        for name, width in reversed(fields):
            vector[name] = word & (1 << width) - 1
            word >>= width
        if word != 1:  # no assertions here: they vanish under PYTHONOPTIMIZE
            raise AssertionError(f"tb/{NAME}.hex does not belong to {NAME}.json")
        words.append(vector)
    return {name: vectors for name, vectors in classes.items() if vectors}


async def mismatches(dut: Any, vectors: Sequence[Mapping[str, int]]) -> list[str]:
    """Drive vectors in order, one per clock cycle in a clocked module; return a line for each output that differs."""
    unit, wrong = Timer(1, "step"), []
    if IS_CLOCKED:
        dut.clk.value = 0
    for number, vector in enumerate(vectors):
        for name in INPUTS:
            getattr(dut, name).value = vector[name]
        await unit
        for name in OUTPUTS:
            bits = str(getattr(dut, name).value)  # with X and Z
            if vector.get(CARE + name, 1) and bits != f"{vector[name]:0{len(bits)}b}":
                got = f"{int(bits, 2):#x}" if set(bits) <= {"0", "1"} else bits
                inputs = ", ".join(f"{port}={vector[port]:#x}" for port in INPUTS)
                wrong.append(f"vector {number}: {inputs}: {name} is {got}, expected {vector[name]:#x}")
        if IS_CLOCKED:
            dut.clk.value = 1
            await unit
            dut.clk.value = 0
    return wrong


def _test(name: str, vectors: Sequence[Mapping[str, int]]) -> Any:
    """The test of a class of vectors."""

    @cocotb.test(name=name)
    async def run(dut: Any) -> None:
        wrong = await mismatches(dut, vectors)
        if wrong:
            raise AssertionError("\n".join([f"{len(wrong)} outputs of {len(vectors)} vectors differ", *wrong[:SHOWN]]))

    return run


CLASSES = read_vectors()
if not CLASSES:
    raise AssertionError(f"tb/{NAME}.hex has no vectors")
for _number, (_name, _vectors) in enumerate(CLASSES.items()):
    globals()[f"test_{_number}"] = _test(_name, _vectors)


@cocotb.test(skip=new_vectors is None)
async def vectors_of_the_reference_model(dut: Any) -> None:
    """New vectors of all classes."""
    seed, count = (int(os.environ.get(name, default)) for name, default in (("SEED", "1"), ("VECTORS", "2000")))
    lines = []
    for name, vectors in new_vectors(DESCRIPTION, Path(__file__).parent, count, seed).items():
        dut._log.info("%s: %d vectors of seed %d", name, len(vectors), seed)
        wrong = await mismatches(dut, vectors)
        lines += [f"{name}: {len(wrong)} outputs of {len(vectors)} vectors differ (seed {seed})"] if wrong else []
        lines += wrong[:SHOWN]
    if lines:
        raise AssertionError("\n".join(lines))
