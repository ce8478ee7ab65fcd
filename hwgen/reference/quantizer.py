"""The reference model of quantizers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden.arithmetic.blocks import element_exponent
from golden.explain import describe, number
from golden.rounding import grid
from golden.wide import wide
from hwgen.blocks.quantizer import E8M0, Quantizer
from hwgen.netlist.emit import Port
from hwgen.reference.reference import Pins, Reference, codes_word, head, instance, parted


class QuantizerReference(Reference):
    """Quantizers: the stimuli are numbers near the boundaries of the elements at every scale, and specials."""

    core: Quantizer

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        source, shape = wide(self.core.source), (count, self.core.lanes)
        leader = np.arange(self.core.lanes) == rng.integers(0, self.core.lanes, (count, 1))
        numbers = np.minimum(self._magnitudes(leader, rng), float(source.largest))
        bits = numbers.astype(np.float32).view(np.uint32).astype(np.int64) >> 32 - source.width
        bits += rng.choice([0, 0, 0, 0, -1, 1], shape)
        infinity, one = int(source.infinity or 0), 1 << source.fraction_bits
        bits = np.clip(bits, 0, infinity - 1)
        corners = [0, 1, one - 1, one, infinity - 1]
        bits = np.where(rng.integers(0, 40, shape) == 0, rng.choice(corners, shape), bits)
        bits[rng.integers(0, 50, count) == 0] = 0
        specials = [infinity, infinity + 1, infinity + one // 2, (1 << source.width - 1) - 1]
        is_special = (rng.integers(0, 16, (count, 1)) == 0) & leader
        bits = np.where(is_special, rng.choice(specials, shape), bits)
        bits |= rng.integers(0, 2, shape) << source.width - 1
        return [{"bits": codes_word(source, row)} for row in bits.tolist()]

    def _magnitudes(self, leader: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.float64]:
        """Blocks of elements and ties, at any scale or at the smallest ones; a quarter of the numbers has any size.

        Two thirds of the leaders, at most one in each block, are next to a boundary of the policies instead.
        """
        source, count = wide(self.core.source), len(leader)
        values = grid(self.core.fmt).values
        marks = np.concatenate([values, (values[:-1] + values[1:]) / 2])
        smallest, any_scale = rng.integers(-128, -105, count), rng.integers(-140, 128, count)
        scale = np.where(rng.integers(0, 4, count) == 0, smallest, any_scale)[:, np.newaxis]
        numbers = rng.choice(marks[marks > 0], leader.shape) * np.exp2(scale)
        low, high = 1 - source.bias - source.fraction_bits, source.bias
        anything = rng.integers(0, 4, leader.shape) == 0
        numbers = np.where(anything, np.exp2(rng.uniform(low - 2, high + 1, leader.shape)), numbers)
        factors = rng.choice([1.0, 1.0, 1.5, 2**0.5, 1 + 2.0**-7, 2 - 2.0**-7], (count, 1))
        boundaries = np.exp2(np.clip(scale + element_exponent(self.core.fmt), low, high)) * factors
        return np.where(leader & (rng.integers(0, 3, (count, 1)) > 0), boundaries, numbers)

    def columns(self, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        core = self.core
        codes, scales = golden.quantize_block(self.numbers(inputs["bits"]), core.fmt, E8M0, core.policy)
        kind = np.uint64 if self.outputs["codes"] <= 64 else object
        places: NDArray[Any] = (core.fmt.width * np.arange(core.lanes)).astype(kind)
        return {"codes": (codes.astype(kind) << places).sum(axis=-1), "scale": scales}

    def numbers(self, bits: Any) -> NDArray[np.float32]:
        """The numbers of all lanes on a last axis; every NaN becomes a quiet one."""
        source = wide(self.core.source)
        words = parted(bits, source.width, self.core.lanes).astype(np.uint32)
        patterns = words << np.uint32(32 - source.width)
        infinity = np.uint32(0x7F800000)
        return np.where(patterns & ~np.uint32(1 << 31) > infinity, np.uint32(0x7FC00000), patterns).view(np.float32)

    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        core = self.core
        if got["scale"] != expected["scale"]:
            scales = describe(E8M0, got["scale"]), describe(E8M0, expected["scale"])
            return f"the scale became {scales[0]}; expected {scales[1]}"
        numbers = self.numbers(pins["bits"])
        codes = [parted(word["codes"], core.fmt.width, core.lanes) for word in (got, expected)]
        lane = int(np.flatnonzero(codes[0] != codes[1])[0])
        value, (wrong, right) = number(float(numbers[lane])), (describe(core.fmt, int(row[lane])) for row in codes)
        scale = describe(E8M0, expected["scale"])
        return f"lane {lane}: {value} at the scale {scale} became {wrong}; expected {right}"

    def properties(self, ports: Sequence[Port]) -> list[str]:
        """A special makes the scale NaN and the codes 0; the scale does not depend on signs and the order of lanes."""
        source, lanes, fmt = wide(self.core.source), self.core.lanes, self.core.fmt
        top, infinity = source.width - 1, int(source.infinity or 0)
        magnitudes = [f"bits[{lane * source.width + top - 1}:{lane * source.width}]" for lane in range(lanes)]
        special = " || ".join(f"{magnitude} >= {top}'h{infinity:x}" for magnitude in magnitudes)
        first, others = f"bits[{source.width - 1}:0]", f", bits[{lanes * source.width - 1}:{source.width}]"
        turned = f"{{{first}{others if lanes > 1 else ''}}}"
        signs = f"{{{lanes}{{1'b1, {top}'b0}}}}"
        lines = [*head(ports), *instance(self.design.name, ports)]
        lines += instance(self.design.name, ports, "_turned", bits=f"{turned} ^ {signs}")
        return [
            *lines,
            f"  wire is_special = {special};",
            "  always @* begin",
            "    assert ((scale == 8'hff) == is_special);",
            f"    if (is_special) assert (codes == {lanes * fmt.width}'b0);",
            "    assert (scale_turned == scale);",
            "  end",
            "endmodule",
        ]
