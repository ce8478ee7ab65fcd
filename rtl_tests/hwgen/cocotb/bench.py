"""cocotb tests that run inside the simulator: a model drives and checks the block that ``DESIGN`` describes."""

import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from hwgen import cocotb as models

KIND, FORMATS, OPTIONS = json.loads(os.environ["DESIGN"])
COUNT = 150


@cocotb.test()
async def drive_and_check(dut):
    """Random controls; stimuli of the reference model at every cycle."""
    chance = random.Random(1)
    own = hasattr(dut, "clk")
    clock = dut.clk if own else dut.tick
    signals = None if own else {port: getattr(dut, port) for port in json.loads(os.environ["PORTS"])}
    model = getattr(models, f"{KIND.capitalize()}Model")(dut, *FORMATS, clock=clock, signals=signals, **OPTIONS)
    cocotb.start_soon(Clock(clock, 2, "step").start())
    cocotb.start_soon(model.watch())
    controls = [name for name in ("rst", "enable", "clear", "in_valid") if hasattr(dut, name)]
    for cycle, pins in enumerate(model.stimuli(COUNT)):
        await FallingEdge(clock)
        values = dict(pins)
        for name in controls:
            values[name] = chance.random() < {"rst": 0.02, "clear": 0.1}.get(name, 0.8)
        if "rst" in values:
            values["rst"] |= cycle < 2
        model.put(**{name: int(value) for name, value in values.items()})
    await ClockCycles(clock, 20)
    model.check(at_least=COUNT // 3)
