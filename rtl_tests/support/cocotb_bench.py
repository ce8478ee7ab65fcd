"""The part of a bench that runs inside the simulator: each step drives all inputs and compares all outputs.

``bench`` writes the files that this module reads, and evaluates its results. It imports no module of this project.
"""

import json
import os
from pathlib import Path

import cocotb
from cocotb.triggers import Timer
from cocotb.types import LogicArray

MAX_RECORDED = 5
"""Number of mismatches of a module to record; the others are only counted."""


def _unsigned(value: LogicArray) -> int | None:
    """``value`` as an integer; None if it has an X or Z.

    ``is_resolvable`` examines each bit in Python and is ten times slower.
    """
    try:
        return value.to_unsigned()
    except ValueError:
        return None


def _fields(response: LogicArray, ports: dict[str, list[int]]) -> dict[str, str]:
    """The output ports' values as text: hexadecimal, or bits if some are X or Z."""
    fields = {}
    for port, (low, width) in ports.items():
        bits = response[low + width - 1 : low]
        fields[port] = f"{bits.to_unsigned():#x}" if bits.is_resolvable else str(bits)
    return fields


@cocotb.test()
async def compare_all(dut: object) -> None:
    """Drive all vectors in order; every response must equal the expected one bit for bit, without X."""
    folder = Path(os.environ["BENCH_FOLDER"])
    plan = json.loads((folder / "plan.json").read_text())
    stimulus, response, step = dut.stimulus, dut.response, Timer(1, "step")
    bad: dict[str, int] = {}
    mismatches = []
    steps = 0
    with (folder / "stimuli.bin").open("rb") as stimuli, (folder / "responses.bin").open("rb") as responses:
        while row := stimuli.read(plan["stimulus_bytes"]):
            stimulus.value = int.from_bytes(row, "little")
            expected = responses.read(plan["response_bytes"])
            await step
            got = response.value
            if _unsigned(got) != int.from_bytes(expected, "little"):
                correct = LogicArray.from_bytes(expected, byteorder="little")
                for case in plan["cases"]:
                    fields = _fields(got, case["outputs"])
                    if steps < case["vectors"] and fields != _fields(correct, case["outputs"]):
                        name = case["name"]
                        bad[name] = bad.get(name, 0) + 1
                        if bad[name] <= MAX_RECORDED:
                            mismatches.append({"case": name, "index": steps, "got": fields})
            steps += 1
    (folder / "results.json").write_text(json.dumps({"steps": steps, "bad": bad, "mismatches": mismatches}))
    assert not bad, f"{sum(bad.values())} mismatches in {', '.join(bad)}"
