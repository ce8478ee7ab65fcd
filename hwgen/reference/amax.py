"""The reference model of the block that keeps a largest magnitude."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from golden import amax_scale
from golden.arithmetic.amax import Magnitudes, magnitudes
from golden.arithmetic.blocks import first_rounded_up
from golden.explain import describe
from hwgen.blocks.amax import Amax
from hwgen.blocks.quantizer import E8M0
from hwgen.reference import trace
from hwgen.reference.reference import ClockedReference, Columns, Pins, codes_word, columns, decoded, instance, parted


class AmaxReference(ClockedReference):
    """Largest magnitudes: the stimuli are numbers of neighbouring magnitudes, thresholds of the scale, and specials."""

    core: Amax
    register = "amax"
    follows = ("scale",)
    sequences = ("specials", "neighbours", "back to back", "idle", "clears", "random")
    patterns = {"back to back": trace.BACK_TO_BACK, "idle": trace.IDLE, "clears": trace.CLEARS}  # noqa: RUF012

    @property
    def order(self) -> Magnitudes:
        """The magnitudes of the numbers' format."""
        return magnitudes(self.core.source)

    @property
    def cleared(self) -> Mapping[str, int]:
        """The smallest magnitude, and its scale."""
        return {"amax": 0, "scale": int(self._scales(np.zeros(1, np.int64))[0])}

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        return [
            case for name in ("neighbours", "specials", "random") for case in self.operands(name, -(-count // 3), rng)
        ][:count]

    def near_stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Numbers, and the largest magnitude of others that are alike."""
        cases = self.stimuli(2 * count, rng)
        inputs = columns([{**pins, self.before: 0} for pins in cases[1::2]])
        before = self.columns(inputs)[self.after].tolist()
        return [{**pins, self.before: word} for pins, word in zip(cases[::2], before, strict=False)]

    def operands(self, name: str, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Numbers of all lanes."""
        core, order, shape = self.core, self.order, (count, self.core.lanes)
        ranks = rng.integers(0, order.infinity, shape)
        if name == "neighbours":
            center = rng.integers(0, order.infinity, (count, 1))
            center = np.where(rng.integers(0, 2, (count, 1)) == 0, rng.choice(self._thresholds, (count, 1)), center)
            ranks = np.clip(center + rng.integers(-2, 2, shape), 0, order.infinity - 1)
        if name == "specials":
            others = np.where(rng.integers(0, 2, shape) == 0, order.infinity, order.nan)
            ranks = np.where(rng.integers(0, 2 * core.lanes, shape) == 0, others, ranks >> rng.integers(0, 31))
        codes = self._with_signs(order.codes_of(ranks).astype(np.int64), rng)
        others = rng.integers(0, 1 << core.source.width, shape)  # any code, so of NaN, too
        codes = np.where(rng.integers(0, 8, (count, 1)) == 0, others, codes)
        return [{"bits": codes_word(core.source, row)} for row in codes.tolist()]

    def _with_signs(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        fmt = self.core.source
        negative = -codes if fmt.twos_complement else codes ^ fmt.sign_bit
        is_negative = rng.integers(0, 2, codes.shape) * fmt.signed == 1
        return np.where(is_negative, negative & (1 << fmt.width) - 1, codes)

    @cached_property
    def _thresholds(self) -> NDArray[np.int64]:
        """The ranks of the first magnitudes with each scale."""
        order, bits = self.order, 23
        if self.core.source.has_tables:
            scales = self._scales(order.codes_of(np.arange(order.infinity)).astype(np.int64))
            return np.concatenate([[0], 1 + np.flatnonzero(np.diff(scales.astype(np.int64)))])
        first = first_rounded_up(self.core.policy, self.core.fmt, bits, self.core.top) - (1 << bits)
        return np.array([field << bits | first for field in range(254)] + [1 << place for place in range(bits)])

    def columns(self, inputs: Columns) -> Columns:
        core, order = self.core, self.order
        bits = parted(inputs["bits"], core.source.width, core.lanes).astype(np.int64)
        lanes = order.counted(bits, core.nan, core.infinity).max(axis=-1)
        largest = order.codes_of(np.maximum(lanes, order.ranks_of(inputs["amax_in"].astype(np.int64)))).astype(np.int64)
        return {"amax_out": largest.astype(np.uint64), "scale": self._scales(largest)}

    def _scales(self, codes: NDArray[np.int64]) -> NDArray[np.uint8]:
        core = self.core
        return amax_scale(codes, core.fmt, core.source, core.policy, core.top)

    def value(self, port: str, word: int) -> str:
        return decoded(self.core.source if port == "amax" else E8M0, word)

    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        source = self.core.source
        codes = parted(pins["bits"], source.width, self.core.lanes).tolist()
        before, *after = (describe(source, word) for word in (pins["amax_in"], got["amax_out"], expected["amax_out"]))
        numbers = "; ".join(describe(source, int(code)) for code in codes)
        scales = f"the scale became {describe(E8M0, got['scale'])}; expected {describe(E8M0, expected['scale'])}"
        return f"of {numbers} and {before}, the largest became {after[0]}; expected {after[1]}; {scales}"

    def properties(self) -> list[str]:
        """The order of the lanes does not matter; from a reset or clear to the first numbers, amax is 0."""
        width, lanes = self.core.source.width, self.core.lanes
        turned = f"{{bits[{width - 1}:0]{f', bits[{lanes * width - 1}:{width}]' if lanes > 1 else ''}}}"
        return self.asserting(
            *instance(self.design.name, self.design.ports, "_turned", bits=turned),
            "  reg known, clean;",
            "  initial known = 1'b0;",
            "  initial clean = 1'b0;",
            "  always @(posedge clk) if (rst) known <= 1'b1;",
            "  always @(posedge clk) if (rst) clean <= 1'b1; else if (enable) clean <= 1'b0;",
            "  always @* if (known) assert (amax_turned == amax && scale_turned == scale);",
            "  always @* if (clean) assert (amax == 0);",
        )
