"""The reference model of readouts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden import WIDE
from golden.explain import number
from hwgen.blocks.readout import Readout, output
from hwgen.netlist.emit import Port
from hwgen.reference.reference import Pins, Reference, head, instance, limbs


class ReadoutReference(Reference):
    """Readouts: the stimuli are values of every size, values next to numbers of few bits, and specials."""

    core: Readout

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        width = self.core.exact.value_width
        cases = []
        for place in range(count):
            size = int(rng.integers(1, width))
            body = int.from_bytes(rng.bytes(-(-size // 8)), "little") & (1 << size) - 1 | 1 << size >> 1
            few = int(rng.integers(1, 26))
            if place % 3 == 0 and size > few:  # a number of few bits, or a neighbour of one
                body = (body >> (size - few) << (size - few)) + int(rng.integers(-1, 2))
            value = (-body if rng.integers(0, 2) else body) & (1 << width) - 1
            specials = int(rng.integers(0, 8)) if place % 16 == 1 else 0
            cases.append({"acc": (0 if place == 0 else value) | specials << width})
        if self.core.random_bits is not None:
            words = rng.integers(0, 1 << self.core.random_bits, count).tolist()
            cases = [{**pins, "random": word} for pins, word in zip(cases, words, strict=True)]
        return cases

    def columns(self, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        core, target = self.core, self.core.target
        chosen: dict[str, Any] = {"zero": core.zero}
        if target.name not in WIDE:
            chosen |= {"rounding": core.rounding, "overflow": core.overflow, "nan_to_zero": core.nan_to_zero}
        acc = inputs["acc"]
        if "random" in inputs:
            acc, random = np.broadcast_arrays(acc, inputs["random"])
            chosen |= {"random": random, "random_bits": core.random_bits}
        return {output(target): core.exact.encode(limbs(core.exact, acc), target, **chosen)}

    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        value = number(float(self.core.exact.decode(limbs(self.core.exact, pins["acc"]))))
        name = output(self.core.target)
        return f"{value} became {got[name]:#x}; expected {expected[name]:#x}"

    def value(self, port: str, word: int) -> str:
        if port != output(self.core.target):
            return super().value(port, word)
        return number(float(self.core.target.decode(np.array([word]))[0]))

    def properties(self, ports: Sequence[Port]) -> list[str]:
        """NaN becomes the canonical NaN; results of a number and its negative differ only in the sign."""
        fmt, width = self.core.target, self.core.exact.value_width
        out, low = output(fmt), f"[{fmt.width - 2}:0]"
        nan = 0 if self.core.nan_to_zero else fmt.canonical_nan or 0
        lines = [*head(ports), *instance(self.design.name, ports)]
        lines += [f"  always @* if (acc[{width + 2}]) assert ({out} == {fmt.width}'h{nan:x});"]
        if not fmt.signed or (self.core.rounding and self.core.rounding.is_directed):
            return [*lines, "endmodule"]
        lines += instance(self.design.name, ports, "_negated", acc=f"{{3'b000, -acc[{width - 1}:0]}}")
        same = f"{out}_negated == -{out}" if fmt.twos_complement else f"{out}_negated{low} == {out}{low}"
        ordinary = f"acc[{width + 2}:{width}] == 0 && acc[{width - 1}:0] != {{1'b1, {width - 1}'b0}}"
        return [*lines, f"  wire ordinary = {ordinary};", f"  always @* if (ordinary) assert ({same});", "endmodule"]
