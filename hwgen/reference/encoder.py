"""The reference model of encoders."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden import Format, Overflow, Rounding, WideFormat
from golden.explain import describe, number
from golden.overflow import replacements
from hwgen.blocks.encoder import Encoder
from hwgen.netlist.emit import Port
from hwgen.reference import vectors
from hwgen.reference.reference import Pins, Reference, head, instance


class EncoderReference(Reference):
    """Encoders: the stimuli are random bits of 16-bit sources, of binary32 also boundaries and specials; or codes."""

    core: Encoder

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        fmt = self.core.fmt
        others = {"hybrid": 1} if self.core.rounding_pin else {}
        if self.core.random_bits is not None:
            others["random"] = self.core.random_bits
        if self.core.source.has_tables:
            bits = np.arange(1 << self.core.source.width)
            repeat = bool(others) and count > bits.size
        else:
            marks, repeat = vectors.boundaries(fmt), False
            number = max(500, count - marks.size)
            bits = np.concatenate([marks, vectors.random_binary32(fmt, number, rng)])
        picked = rng.choice(bits, count if repeat else min(count, bits.size), replace=repeat).tolist()
        columns = [rng.integers(0, 1 << width, len(picked)).tolist() for width in others.values()]
        return [dict(zip(("bits", *others), row, strict=True)) for row in zip(picked, *columns, strict=True)]

    def columns(self, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        bits, core = inputs["bits"], self.core
        random = inputs["random"] if core.rounding.is_stochastic else None
        results = self._encoded(bits, core.rounding, random)
        if not core.rounding_pin:
            return results
        away = self._encoded(bits, Rounding.TIES_TO_AWAY)
        return {name: np.where(inputs["hybrid"], column, away[name]) for name, column in results.items()}

    def _encoded(
        self, bits: NDArray[Any], rounding: Rounding, random: NDArray[Any] | None = None
    ) -> Mapping[str, NDArray[Any]]:
        core = self.core
        chosen: dict[str, Any] = {"nan_to_zero": core.nan_to_zero}
        if random is not None:
            bits, random = np.broadcast_arrays(bits, random)
            chosen |= {"random": random, "random_bits": core.random_bits}
        if not core.has_flags:
            return {"code": core.fmt.encode(bits, core.source, rounding, core.overflow, **chosen)}
        codes, flags = core.fmt.encode_with_flags(bits, core.source, rounding, core.overflow, **chosen)
        return {"code": codes, "flags": flags}

    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        fmt = self.core.fmt
        value = number(float(self.core.source.decode(np.array([pins["bits"]]))[0]))
        return f"{value} became {describe(fmt, got['code'])}; expected {describe(fmt, expected['code'])}"

    def value(self, port: str, word: int) -> str:
        return describe(self.core.fmt, word) if port == "code" else super().value(port, word)

    def properties(self, ports: Sequence[Port]) -> list[str]:
        """Canonical NaN; codes of a number and its negative differ only in the sign; codes grow with the numbers."""
        source, fmt = self.core.source, self.core.fmt
        if not isinstance(source, WideFormat):
            return self._table(ports, source)
        top = source.width - 1
        infinity = ((1 << source.exponent_bits) - 1) << source.fraction_bits
        rounding, overflow = self.core.rounding, self.core.overflow
        mirrored = fmt.signed and not rounding.is_directed
        monotone = rounding.is_monotonic and not fmt.twos_complement and _in_order(fmt, rounding, overflow)
        lines = [*head(ports, *([Port("other", "input", source.width)] if monotone else []))]
        lines += instance(self.design.name, ports)
        if mirrored:
            lines += instance(self.design.name, ports, "_negated", bits=f"{{~bits[{top}], bits[{top - 1}:0]}}")
        nan = f"&bits[{top - 1}:0]" if source.infinity is None else f"bits[{top - 1}:0] > {top}'h{infinity:x}"
        low, nan_code = f"[{fmt.magnitude_bits - 1}:0]", 0 if self.core.nan_to_zero else fmt.canonical_nan or 0
        lines += [f"  wire is_nan = {nan};", "  always @* begin"]
        lines += [f"    if (is_nan) assert (code == {fmt.width}'h{nan_code:x});"]
        if mirrored:
            same = "code_negated == -code" if fmt.twos_complement else f"code_negated{low} == code{low}"
            lines += [f"    if (!is_nan) assert ({same});"]
        lines += ["  end"]
        if monotone:
            lines += instance(self.design.name, ports, "_other", bits="other")
            ordered = f"!bits[{top}] && !other[{top}] && other <= bits && bits < {source.width}'h{infinity:x}"
            lines += ["  always @*", f"    if ({ordered})", f"      assert (code_other{low} <= code{low});"]
        return [*lines, "endmodule"]

    def _table(self, ports: Sequence[Port], source: Format) -> list[str]:
        """The results for all codes of a source, as far as they do not depend on random bits."""
        bits = np.arange(1 << source.width)
        words = (0, (1 << (self.core.random_bits or 0)) - 1)
        least, most = (self.columns({"bits": bits, "random": np.full(bits.shape, word)})["code"] for word in words)
        rows = [
            f"    if (bits == {source.width}'h{code:x}) assert (code == {self.core.fmt.width}'h{result:x});"
            for code, (result, other) in enumerate(zip(least.tolist(), most.tolist(), strict=True))
            if result == other
        ]
        lines = [*head(ports), *instance(self.design.name, ports), "  // the reference model's table"]
        return [*lines, "  always @* begin", *rows, "  end", "endmodule"]


def _in_order(fmt: Format, rounding: Rounding, overflow: Overflow) -> bool:
    """Whether the codes of positive values grow with the values, and the result of overflow has the largest code."""
    codes, magnitudes = fmt.magnitude_codes.tolist(), (1 << fmt.magnitude_bits) - 1
    beyond = replacements(fmt, rounding, overflow).above
    if beyond != fmt.largest_code:
        codes.append(beyond & magnitudes)
    return fmt.has_zero and bool(codes == sorted(codes))
