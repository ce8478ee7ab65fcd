"""The reference models of blocks that add products: MACs, dot products, processing elements."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden import Flag, Format, Kind
from golden.arithmetic.mac import fused_sums
from golden.arithmetic.options import SumOptions
from golden.bits import scale_range
from golden.explain import describe, number
from hwgen.blocks.dot import Dot
from hwgen.blocks.mac import Mac
from hwgen.blocks.pe import Pe
from hwgen.datapath.ports import expression
from hwgen.reference import trace, vectors
from hwgen.reference.reference import (
    ClockedReference,
    Columns,
    Pins,
    Reference,
    Step,
    among,
    as_signed,
    codes_word,
    columns,
    decoded,
    integers,
    limbs,
    parted,
)

MODERATE = 8.0
"""Largest magnitude of most operands of a processing element."""


class SumReference(Reference):
    """Blocks with codes in one or several lanes, an accumulator, and optionally a scale."""

    core: Mac | Dot | Pe

    @property
    def formats(self) -> tuple[Format, Format]:
        """Formats of both operands."""
        return self.core.a_format, self.core.b_format

    def factors(self, count: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw scales, as keywords of :meth:`SumOptions.factors`; empty if the block has none."""
        scales, bits = self.core.block_scale, self.core.scale_bits
        if scales is not None:
            return {name: vectors.scale_codes(scales, count, rng) for name in ("a_scale", "b_scale")}
        return {"scale": vectors.scales(bits, count, rng)} if bits else {}

    def factors_of(self, inputs: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """Read scales from values of the ports, as :meth:`factors` returns them."""
        if self.core.block_scale is not None:
            return {name: np.asarray(inputs[name], np.uint64) for name in ("a_scale", "b_scale")}
        bits = self.core.scale_bits
        return {"scale": as_signed(inputs["scale"], bits)} if bits else {}

    def scaled(self, cases: list[dict[str, int]], factors: Mapping[str, NDArray[Any]]) -> list[dict[str, int]]:
        """Add scales to the cases."""
        ports = {name: values.tolist() for name, values in factors.items()}
        mask = (1 << self.core.scale_bits) - 1 if "scale" in ports else -1
        return [
            {**pins, **{name: values[number] & mask for name, values in ports.items()}}
            for number, pins in enumerate(cases)
        ]

    def lane_codes(self, inputs: Mapping[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the codes of both operands, with the lanes on a last axis."""
        words = zip((inputs["a"], inputs["b"]), self.formats, strict=True)
        a, b = (parted(word, fmt.width, self.design.lanes).astype(np.int64) for word, fmt in words)
        return a, b

    def columns(self, inputs: Columns) -> Columns:
        """``acc_out``, and ``flags`` if the block has them."""
        return self._sums(self.core.sums, inputs)

    def _sums(self, options: SumOptions, inputs: Columns) -> dict[str, NDArray[Any]]:
        unit = options.exact
        if "random" in inputs:
            inputs = dict(zip(inputs, np.broadcast_arrays(*inputs.values()), strict=True))
        before = inputs.get("acc_in") if unit is None else limbs(unit, inputs["acc_in"])
        factors, random = self.factors_of(inputs), inputs.get("random")
        after, flags = fused_sums(options, *self.lane_codes(inputs), before, **factors, random=random)
        return {"acc_out": after if unit is None else integers(after)} | ({"flags": flags} if options.has_flags else {})

    def near_stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Products and accumulators near each other, see :func:`hwgen.reference.vectors.near_cases`."""
        factors = self.factors(count, rng)
        return self.pins(*vectors.near_cases(self.core.sums, self.design.lanes, count, rng, factors), factors, rng)

    def pins(
        self,
        a: NDArray[Any],
        b: NDArray[Any],
        acc: NDArray[Any],
        factors: Mapping[str, Any],
        rng: np.random.Generator,
    ) -> list[dict[str, int]]:
        """Values of the ports from codes of shape (cases, lanes), accumulators and scales; and random words.

        Half of the words are next to the one at which the sum's rounding changes.
        """
        (fa, fb), totals = self.formats, (integers(acc) if acc.ndim > 1 else acc).tolist()
        rows = zip(a.tolist(), b.tolist(), totals, strict=True)
        cases = [{"a": codes_word(fa, x), "b": codes_word(fb, y), "acc_in": total} for x, y, total in rows]
        if self.core.sums.target is not None:
            cases = [{"a": pins["a"], "b": pins["b"]} for pins in cases]
        cases = self.drawn(self.scaled(cases, factors), rng)
        if self.core.random_bits is None or not cases:
            return cases
        table, last = columns(cases), (1 << self.core.random_bits) - 1
        down = np.zeros(len(cases), np.int64)  # the last word that rounds as 0 does, bit by bit
        least = self.columns({**table, "random": down})["acc_out"]
        for place in reversed(range(self.core.random_bits)):
            trial = down | 1 << place
            down = np.where(self.columns({**table, "random": trial})["acc_out"] == least, trial, down)
        step = np.minimum(down + rng.integers(0, 2, down.size), last)
        words = np.where(rng.integers(0, 2, down.size) == 0, step, table["random"].astype(np.int64))
        return [{**pins, "random": word} for pins, word in zip(cases, words.tolist(), strict=True)]

    def drawn(self, cases: list[dict[str, int]], rng: np.random.Generator) -> list[dict[str, int]]:
        """Add random words to the cases, if the block has them; a quarter are the smallest or the largest."""
        if self.core.random_bits is None:
            return cases
        last, count = (1 << self.core.random_bits) - 1, len(cases)
        words, ends = rng.integers(0, last + 1, count), rng.choice([0, last], count)
        words = np.where(rng.integers(0, 4, count) == 0, ends, words)
        return [{**pins, "random": word} for pins, word in zip(cases, words.tolist(), strict=True)]

    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        fa, fb = self.formats
        codes = zip(*self.lane_codes(pins), strict=True)
        factors = "; ".join(f"a {describe(fa, int(a))}; b {describe(fb, int(b))}" for a, b in codes)
        if self.core.scale_bits:
            factors += f"; times 2^{self.factors_of(pins)['scale']}"
        if self.core.block_scale is not None:
            fmt = self.core.block_scale
            factors += "".join(f"; {name} {describe(fmt, pins[name])}" for name in ("a_scale", "b_scale"))
        if self.core.exact is not None:
            return factors
        before = [("acc_in", pins["acc_in"])] if "acc_in" in pins else []
        rows = (*before, ("acc_out", got["acc_out"]), ("expected", expected["acc_out"]))
        values = [f"{name} {self.value('acc_out', bits)}" for name, bits in rows]
        values += [f"random {pins['random']:#x}"] if "random" in pins else []
        return "; ".join([factors, *values])

    def value(self, port: str, word: int) -> str:
        if port not in ("acc", "acc_out"):
            return super().value(port, word)
        if self.core.exact is not None:
            return number(float(self.core.exact.decode(limbs(self.core.exact, word))))
        return decoded(self.core.sums.state, word)

    # -- properties

    @property
    def top(self) -> int:
        """The place of the accumulator's first bit."""
        return self.outputs["acc_out"] - 1

    def _nan_sum(self) -> str:
        """A Verilog condition that ``acc_out`` is NaN."""
        top = self.top
        if self.core.exact is not None:
            return f"acc_out[{top}]"
        nan = self.core.sums.state.canonical_nan or 0
        return f"acc_out[{top - 1}:0] == {top}'h{nan & ((1 << top) - 1):x}"

    def _field(self) -> str:
        """The exponent field of ``acc_in``; empty if the accumulator is exact, or there is none."""
        if self.core.exact is not None or self.core.sums.target is not None:
            return ""
        return f"acc_in[{self.top - 1}:{self.core.sums.state.fraction_bits}]"


class MacReference(SumReference):
    """MACs: the stimuli are random codes with directed accumulators."""

    core: Mac

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        a, b = (rng.integers(0, 1 << fmt.width, count).astype(np.uint64) for fmt in self.formats)
        factors = self.factors(count, rng)
        acc = vectors.accumulators(self.core.sums, a, b, rng, factors)
        return self.pins(a[:, np.newaxis], b[:, np.newaxis], acc, factors, rng)

    def properties(self) -> list[str]:
        """A NaN operand gives NaN; a product of zero leaves the accumulator unchanged."""
        top, field = self.top, self._field()
        ordinary = f"{field} != 0 && !(&{field})" if field else f"acc_in[{top}:{top - 2}] == 0"
        checks = []
        operands = [(expression(name, fmt), fmt) for name, fmt in zip("ab", self.formats, strict=True)]
        for (word, fmt), (other, other_fmt) in (operands, operands[::-1]):
            nans, zeros = among(word, fmt, Kind.NAN), among(word, fmt, Kind.ZERO)
            specials = filter(None, (among(other, other_fmt, kind) for kind in (Kind.NAN, Kind.INF)))
            checks += [f"    if ({nans}) assert ({self._nan_sum()});"] if nans else []
            unchanged = f"({zeros}) && !({' || '.join(specials) or '0'}) && {ordinary}"
            checks.append(f"    if ({unchanged}) assert (acc_out == acc_in);")
        return self.asserting("  always @* begin", *checks, "  end")


class DotReference(SumReference):
    """Dot products: the stimuli are random codes, moderate codes, and products that cancel each other."""

    core: Dot

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        factors = self.factors(count, rng)
        return self.pins(*vectors.dot_cases(self.core.sums, self.core.lanes, count, rng, factors), factors, rng)

    def properties(self) -> list[str]:
        """A NaN in any lane gives NaN; zeros in all lanes leave the accumulator unchanged but for a zero's sign."""
        top, lanes, field = self.top, self.core.lanes, self._field()
        codes, lines = [], []
        for name, fmt in zip("ab", self.formats, strict=True):
            for lane in range(lanes):
                word = f"{name}_{lane}"
                codes.append((word, fmt))
                lines.append(f"  wire [{fmt.width - 1}:0] {word} = {expression(name, fmt, lane, lanes)};")
        nans = [among(word, fmt, Kind.NAN) for word, fmt in codes]
        checks = [f"    if ({nan}) assert ({self._nan_sum()});" for nan in nans if nan]
        zeros = [f"({among(word, fmt, Kind.ZERO)})" for word, fmt in codes]
        if (scales := self.core.block_scale) is not None and scales.has_nan:
            zeros += [f"!({among(word, scales, Kind.NAN)})" for word in ("a_scale", "b_scale")]
        if self.core.exact is not None:
            zeros.append(f"acc_in[{top}:{top - 2}] == 0")
        elif field:
            zeros.append(f"!(&{field})")
        number_bits = f"[{top - 1 if self.core.exact is None else top}:0]"
        before = f"acc_in{number_bits}" if "acc_in" in self.inputs else "0"
        checks += [f"    if ({' && '.join(zeros)})", f"      assert (acc_out{number_bits} == {before});"]
        return self.asserting(*lines, "  always @* begin", *checks, "  end")


_PATTERNS = {
    "overflow": trace.BACK_TO_BACK,
    "cancellation": trace.BACK_TO_BACK,
    "back to back": trace.BACK_TO_BACK,
    "idle": trace.IDLE,
    "clears": trace.CLEARS,
}


def _pool(name: str, fmt: Format) -> NDArray[np.int64]:
    """Codes for the operands of a sequence of a processing element."""
    values = np.abs(fmt.values)
    order = np.argsort(np.where(np.isfinite(values), values, np.inf), kind="stable")
    finite = order[: int(np.isfinite(values).sum())]
    nonzero = finite[values[finite] > 0]
    match name:
        case "specials":
            others = np.flatnonzero(~np.isfinite(values) | (values == 0))
            return np.concatenate([others, nonzero[:2], nonzero[-2:], nonzero[:: max(nonzero.size // 8, 1)]])
        case "overflow":
            return nonzero[-max(nonzero.size // 8, 2) :]
        case "subnormals":
            return nonzero[: max(nonzero.size // 4, 2)]
    return np.flatnonzero(values <= MODERATE)


class PeReference(ClockedReference, SumReference):
    """Processing elements: ``columns`` describes single steps, ``cycles`` the clocked behaviour."""

    core: Pe
    register = "acc"
    patterns = _PATTERNS
    sequences = ("specials", "overflow", "subnormals", "cancellation", "back to back", "idle", "clears", "random")

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Operands; most of them are moderate, so that sums stay finite."""
        return self.operands("random", count, rng)

    @property
    def run(self) -> int:
        """Number of steps with the largest product after which exact accumulators overflow; 0 for other ones."""
        unit, (fa, fb) = self.core.exact, self.formats
        if unit is None:
            return 0
        largest = (
            Fraction(fa.largest_magnitude) * Fraction(fb.largest_magnitude) * 2 ** scale_range(self.core.scale_bits)[1]
        )
        limit = Fraction(2) ** (unit.value_width - 1 + unit.lsb_exponent)
        return self.core.interleave * (int(limit / (self.core.lanes * largest)) + 1)

    def cycles_of(self, name: str, each: int, most: int) -> int:
        """Number of operands of a sequence: ``each``, or as many as an overflow of both signs takes, up to ``most``."""
        both = 2 * (self.run + 8 * self.core.interleave + self.core.stages)
        return max(each, both) if name == "overflow" and self.run and both <= most else each

    def _run(self, operands: list[dict[str, int]]) -> list[dict[str, int]]:
        """Operands that begin with a run of the largest product; after the reset halfway with one of its negative."""
        words = zip("ab", self.formats, strict=True)
        codes = [
            (name, fmt, int(np.flatnonzero(np.abs(fmt.values) == fmt.largest_magnitude)[0])) for name, fmt in words
        ]
        largest = {name: codes_word(fmt, [code] * self.core.lanes) for name, fmt, code in codes}
        if self.core.scale_bits:
            largest["scale"] = scale_range(self.core.scale_bits)[1]
        for first, pins in ((0, largest), (len(operands) // 2, self._opposite(largest))):
            last = min(first + self.run, first + len(operands) // 2)
            operands[first:last] = [pins] * (last - first)
        return operands

    def operands(self, name: str, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Operands of a sequence."""
        every = [np.arange(1 << fmt.width) for fmt in self.formats]
        pools = [_pool(name, fmt) for fmt in self.formats]
        cases: list[dict[str, int]] = []
        signs = np.signbit(self.formats[1].values[pools[1]])
        runs = [pool if pool.size else pools[1] for pool in (pools[1][~signs], pools[1][signs])]
        for place in range(count):
            if name == "overflow" and rng.integers(0, 8) == 0:  # runs of products of one sign
                positive = pools[0][~np.signbit(self.formats[0].values[pools[0]])]
                pools = [positive, runs[int(rng.integers(0, 2))]]
            if name == "cancellation" and place % 2:
                cases.append(self._opposite(cases[-1]))
                continue
            chosen = pools if rng.integers(0, 16) or name in ("overflow", "subnormals") else every
            operands = zip("ab", self.formats, chosen, strict=True)
            lanes = self.core.lanes
            cases.append({name: codes_word(fmt, rng.choice(codes, lanes).tolist()) for name, fmt, codes in operands})
        return self.drawn(self.scaled(cases, self.factors(count, rng)), rng)

    def _opposite(self, pins: Pins) -> dict[str, int]:
        """Operands with the other sign, of the first whose format has signs."""
        for name, fmt in zip("ab", self.formats, strict=True):
            if fmt.signed:
                return {**pins, name: pins[name] ^ codes_word(fmt, [fmt.sign_bit] * self.core.lanes)}
        return dict(pins)

    @property
    def results(self) -> Mapping[str, int]:
        """The accumulator after the step, and the flags of the step alone."""
        names = {"acc_out": "acc", "flags": "flags", "overflow": "overflow"}
        return {name: self.outputs[port] for name, port in names.items() if port in self.outputs}

    def columns(self, inputs: Columns) -> Columns:
        """``acc_out``, ``overflow`` and optionally ``flags`` of single steps, from operands and ``acc_in``."""
        step = self._sums(replace(self.core.sums, has_flags=True), inputs)
        outputs = {**step, "overflow": step["flags"] & Flag.OVERFLOW != 0}
        return {name: outputs[name] for name in self.results}

    @property
    def sticky(self) -> tuple[str, ...]:
        """Outputs whose bits remain set until the accumulator is cleared."""
        return ("overflow", "flags") if self.core.has_flags else ("overflow",)

    def sequence(self, name: str, count: int, rng: np.random.Generator) -> tuple[list[dict[str, int]], list[Step]]:
        """Values of the ports in each cycle of one of :attr:`sequences`, and its steps."""
        if name != "overflow" or not self.run:
            return super().sequence(name, count, rng)
        return self.traced(self._run(self.operands(name, count, rng)), trace.Pattern(1, 1, 0), rng)

    def properties(self) -> list[str]:
        """From a reset to the first product, all outputs are 0."""
        zero = " && ".join(f"{port.name} == 0" for port in self.design.ports if port.direction == "output")
        return self.asserting(
            "  reg clean;",
            "  initial clean = 1'b0;",
            "  always @(posedge clk) if (rst) clean <= 1'b1; else if (enable) clean <= 1'b0;",
            f"  always @* if (clean) assert ({zero});",
        )
