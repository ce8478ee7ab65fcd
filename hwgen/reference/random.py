"""The reference model of registers of random words."""

import numpy as np

from hwgen.datapath.random import Random
from hwgen.reference.reference import Columns, Pins, Reference, instance
from hwgen.reference.trace import RegisterState, stepped


class RandomReference(Reference):
    """Registers of random words: ``columns`` describes an enabled cycle, from the state to the words and the state."""

    core: Random

    @property
    def arguments(self) -> dict[str, int]:
        """The state."""
        return {"state": self.core.width}

    @property
    def results(self) -> dict[str, int]:
        """The words, and the state after an enabled cycle."""
        return {**self.outputs, "state_after": self.core.width}

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        single = [1 << place for place in range(self.core.width)]
        states = rng.integers(0, self.core.lfsr.states, count, np.uint64, endpoint=True).tolist()
        return [{"state": state} for state in [*single, *states][:count]]

    def columns(self, inputs: Columns) -> Columns:
        words, after = stepped(self.core, np.asarray(inputs["state"]))
        return {"random": words, "state_after": after}

    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        wrong = [name for name in expected if got[name] != expected[name]]
        return f"after the state {pins['state']:#x}, {' and '.join(wrong)} differ"

    def properties(self) -> list[str]:
        """The first words after a reset, and that words stay while ``enable`` is 0."""
        first, width = RegisterState(self.core).word, self.outputs["random"]
        return self.asserting(
            "  reg fresh, held;",
            f"  reg [{width - 1}:0] before;",
            "  initial {fresh, held} = 2'b00;",
            "  always @(posedge clk) begin",
            "    fresh <= rst;",
            "    held <= !rst && !enable;",
            "    before <= random;",
            "  end",
            "  always @* begin",
            f"    if (fresh) assert (random == {width}'h{first:x});",
            "    if (held) assert (random == before);",
            "  end",
        )


def repeatable(model: Reference) -> list[str]:
    """Properties of a block with a register inside: after a reset the outputs depend on nothing before it."""
    outputs = " && ".join(f"{name} == {name}_again" for name in model.outputs)
    return model.asserting(
        *instance(model.design.name, model.design.ports, "_again"),
        "  reg known;",
        "  initial known = 1'b0;",
        "  always @(posedge clk) if (rst) known <= 1'b1;",
        f"  always @* if (known) assert ({outputs});",
    )
