"""The reference models of decoders, encoders, readouts and quantizers."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden import WIDE, Format, Overflow, Rounding, WideFormat
from golden.arithmetic.blocks import EVEN, RCEIL, first_rounded_up, quantized
from golden.explain import describe, number
from golden.overflow import replacements
from golden.rounding import grid
from golden.wide import wide
from hwgen.blocks.decoder import Decoder
from hwgen.blocks.encoder import Encoder
from hwgen.blocks.quantizer import E8M0, Quantizer
from hwgen.blocks.readout import Readout, output
from hwgen.datapath.ports import expression
from hwgen.datapath.unpacked import exponent_shape
from hwgen.netlist.emit import Port
from hwgen.reference import vectors
from hwgen.reference.reference import (
    Columns,
    Pins,
    Reference,
    Table,
    as_signed,
    codes_word,
    decoded,
    instance,
    limbs,
    parted,
    rows,
)


class DecoderReference(Reference):
    """Decoders: the stimuli are all codes."""

    core: Decoder

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        del count, rng
        return [{"code": code} for code in range(1 << self.core.fmt.width)]

    def columns(self, inputs: Columns) -> Columns:
        codes, core = inputs["code"], self.core
        if core.target == "unpacked":
            return {name: column[codes] for name, column in unpacked(core.fmt).items()}
        return {"bits": core.fmt.decode_bits(codes, core.target)}

    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        del got, expected
        return describe(self.core.fmt, pins["code"])

    def value(self, port: str, word: int) -> str:
        return decoded(wide(self.core.target), word) if port == "bits" else super().value(port, word)

    def properties(self) -> list[str]:
        """The whole table of ``bits``; of an unpacked decoder only the rules for classes and significands."""
        if self.core.target == "unpacked":
            bits = self.outputs["significand"]
            first = f"significand[{bits - 1}]" if bits > 1 else "significand"  # a port of one bit has no index
            return self.asserting(
                "  // at most one class; finite values other than zero are normalized",
                "  always @* begin",
                "    assert (is_zero + is_inf + is_nan <= 1);",
                f"    if (!is_zero && !is_inf && !is_nan) assert ({first});",
                "  end",
            )
        fmt, width = self.core.fmt, self.outputs["bits"]
        results = fmt.decode_bits(np.arange(1 << fmt.width), self.core.target).tolist()
        return self.asserting(
            f"  reg [{width - 1}:0] expected;",
            "  // the reference model's table",
            "  always @* begin",
            f"    case ({expression('code', fmt)})",
            *(f"      {fmt.width}'h{code:x}: expected = {width}'h{bits:x};" for code, bits in enumerate(results)),
            "    endcase",
            "    assert (bits == expected);",
            "  end",
        )


@cache
def unpacked(fmt: Format) -> Mapping[str, NDArray[np.uint64]]:
    """Return the outputs of an unpacked decoder for all codes, computed from the exact values; read-only arrays."""
    values = fmt.values
    finite = np.isfinite(values) & (values != 0)
    fraction, exponent = np.frexp(np.where(finite, np.abs(values), 1))
    mask = (1 << exponent_shape(fmt).width) - 1
    columns = {
        "sign": np.arange(values.size) & fmt.sign_bit != 0,
        "exponent": np.where(finite, (exponent - 1) & mask, 0),
        "significand": np.where(finite, np.ldexp(fraction, fmt.precision), 0),
        "is_zero": values == 0,
        "is_inf": np.isinf(values),
        "is_nan": np.isnan(values),
    }
    unsigned = {name: column.astype(np.uint64) for name, column in columns.items()}
    for column in unsigned.values():
        column.setflags(write=False)
    return MappingProxyType(unsigned)


class EncoderReference(Reference):
    """Encoders: the stimuli are random bits of 16-bit sources, of binary32 also boundaries and specials; or codes."""

    core: Encoder

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        fmt = self.core.fmt
        others = {name: width for name, width in self.inputs.items() if name != "bits"}
        if self.core.source.has_tables:
            bits = np.arange(1 << self.core.source.width)
            repeat = bool(others) and count > bits.size
        else:
            marks, repeat = vectors.boundaries(fmt), False
            number = max(500, count - marks.size)
            bits = np.concatenate([marks, vectors.random_binary32(fmt, number, rng)])
        picked = rng.choice(bits, count if repeat else min(count, bits.size), replace=repeat).tolist()
        table: Table = {name: rng.integers(0, 1 << width, len(picked)) for name, width in others.items()}
        table["bits"] = self.moved(np.array(picked), table)
        return rows({name: table[name] for name in ("bits", *others)})

    def moved(self, bits: NDArray[Any], inputs: Columns) -> NDArray[np.uint64]:
        """Bits of numbers that the scale makes the given ones, as far as they are normal numbers of the source."""
        source, scale = self.core.source, self.scales(inputs)
        if scale is None or not isinstance(source, WideFormat):
            return bits.astype(np.uint64)
        k, special = source.fraction_bits, (1 << source.exponent_bits) - 1
        field = bits.astype(np.int64) >> k & special
        fits = (field > 0) & (field < special) & (field > scale) & (field - scale < special)
        return np.where(fits, bits.astype(np.int64) - (scale << k), bits.astype(np.int64)).astype(np.uint64)

    def scales(self, inputs: Columns) -> NDArray[np.int64] | None:
        """Exponents of the powers of two that multiply the numbers; None without a port for them."""
        return as_signed(inputs["scale"], self.core.scale_bits) if self.core.scale_bits else None

    def exact(self, inputs: Columns) -> NDArray[np.float64]:
        """The numbers to be rounded."""
        number, scale = self.core.source.decode(np.asarray(inputs["bits"]).astype(np.uint32)), self.scales(inputs)
        return number if scale is None else np.ldexp(number, scale.astype(np.int32))

    def columns(self, inputs: Columns) -> Columns:
        core = self.core
        results = self._encoded(inputs, core.rounding)
        if not core.rounding_pin:
            return results
        away = self._encoded(inputs, Rounding.TIES_TO_AWAY)
        return {name: np.where(inputs["hybrid"], column, away[name]) for name, column in results.items()}

    def _encoded(self, inputs: Columns, rounding: Rounding) -> Mapping[str, NDArray[Any]]:
        core, bits, scale = self.core, inputs["bits"], self.scales(inputs)
        chosen: dict[str, Any] = {"nan_to_zero": core.nan_to_zero}
        if scale is not None:
            bits, chosen["scale"] = np.broadcast_arrays(bits, scale)
        if core.random_bits is not None:
            bits, chosen["random"] = np.broadcast_arrays(bits, inputs["random"])
            chosen["random_bits"] = core.random_bits
        if not core.has_flags:
            return {"code": core.fmt.encode(bits, core.source, rounding, core.overflow, **chosen)}
        codes, flags = core.fmt.encode_with_flags(bits, core.source, rounding, core.overflow, **chosen)
        return {"code": codes, "flags": flags}

    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        fmt, value = self.core.fmt, number(float(self.exact({name: np.array(word) for name, word in pins.items()})))
        return f"{value} became {describe(fmt, got['code'])}; expected {describe(fmt, expected['code'])}"

    def value(self, port: str, word: int) -> str:
        return describe(self.core.fmt, word) if port == "code" else super().value(port, word)

    def properties(self) -> list[str]:
        """Canonical NaN; codes of a number and its negative differ only in the sign; codes grow with the numbers."""
        source, fmt, name, ports = self.core.source, self.core.fmt, self.design.name, self.design.ports
        if not isinstance(source, WideFormat):
            return self._table(source)
        top = source.width - 1
        infinity = ((1 << source.exponent_bits) - 1) << source.fraction_bits
        rounding, overflow = self.core.rounding, self.core.overflow
        mirrored = fmt.signed and not rounding.is_directed
        monotone = rounding.is_monotonic and not fmt.twos_complement and _in_order(fmt, rounding, overflow)
        lines = []
        if mirrored:
            lines += instance(name, ports, "_negated", bits=f"{{~bits[{top}], bits[{top - 1}:0]}}")
        nan = f"&bits[{top - 1}:0]" if source.infinity is None else f"bits[{top - 1}:0] > {top}'h{infinity:x}"
        low, nan_code = f"[{fmt.magnitude_bits - 1}:0]", 0 if self.core.nan_to_zero else fmt.canonical_nan or 0
        lines += [f"  wire is_nan = {nan};", "  always @* begin"]
        lines += [f"    if (is_nan) assert (code == {fmt.width}'h{nan_code:x});"]
        if mirrored:
            same = "code_negated == -code" if fmt.twos_complement else f"code_negated{low} == code{low}"
            lines += [f"    if (!is_nan) assert ({same});"]
        lines += ["  end"]
        if not monotone:
            return self.asserting(*lines)
        lines += instance(name, ports, "_other", bits="other")
        ordered = f"!bits[{top}] && !other[{top}] && other <= bits && bits < {source.width}'h{infinity:x}"
        lines += ["  always @*", f"    if ({ordered})", f"      assert (code_other{low} <= code{low});"]
        return self.asserting(*lines, others=[Port("other", "input", source.width)])

    def _table(self, source: Format) -> list[str]:
        """The results for all codes of a source, as far as they do not depend on random bits."""
        bits = np.arange(1 << source.width)
        words, zeros = (0, (1 << (self.core.random_bits or 0)) - 1), np.zeros(bits.shape, np.int64)
        least, most = (self.columns({"bits": bits, "scale": zeros, "random": zeros + word})["code"] for word in words)
        unscaled = " && scale == 0" if self.core.scale_bits else ""
        lines = [
            f"    if (bits == {source.width}'h{code:x}{unscaled}) assert (code == {self.core.fmt.width}'h{result:x});"
            for code, (result, other) in enumerate(zip(least.tolist(), most.tolist(), strict=True))
            if result == other
        ]
        return self.asserting("  // the reference model's table", "  always @* begin", *lines, "  end")


def _in_order(fmt: Format, rounding: Rounding, overflow: Overflow) -> bool:
    """Whether the codes of positive values grow with the values, and the result of overflow has the largest code."""
    codes, magnitudes = fmt.magnitude_codes.tolist(), (1 << fmt.magnitude_bits) - 1
    beyond = replacements(fmt, rounding, overflow).above
    if beyond != fmt.largest_code:
        codes.append(beyond & magnitudes)
    return fmt.has_zero and bool(codes == sorted(codes))


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
        for name, bits in self.inputs.items():
            if name != "acc":
                words = rng.integers(0, 1 << bits, count).tolist()
                cases = [{**pins, name: word} for pins, word in zip(cases, words, strict=True)]
        return cases

    def scales(self, inputs: Columns) -> NDArray[np.int64] | None:
        """Exponents of the powers of two that multiply the values; None without a port for them."""
        return as_signed(inputs["scale"], self.core.scale_bits) if self.core.scale_bits else None

    def exact(self, inputs: Columns) -> NDArray[np.float64]:
        """The values to be rounded."""
        value, scale = self.core.exact.decode(limbs(self.core.exact, inputs["acc"])), self.scales(inputs)
        return value if scale is None else np.ldexp(value, scale.astype(np.int32))

    def columns(self, inputs: Columns) -> Columns:
        core, target = self.core, self.core.target
        chosen: dict[str, Any] = {"zero": core.zero}
        if target.name not in WIDE:
            chosen |= {"rounding": core.rounding, "overflow": core.overflow, "nan_to_zero": core.nan_to_zero}
        acc, scale = inputs["acc"], self.scales(inputs)
        if scale is not None:
            acc, chosen["scale"] = np.broadcast_arrays(acc, scale)
        if core.random_bits is not None:
            acc, random = np.broadcast_arrays(acc, inputs["random"])
            chosen |= {"random": random, "random_bits": core.random_bits}
        return {output(target): core.exact.encode(limbs(core.exact, acc), target, **chosen)}

    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        value = number(float(self.exact({name: np.array(word) for name, word in pins.items()})))
        name = output(self.core.target)
        return f"{value} became {got[name]:#x}; expected {expected[name]:#x}"

    def value(self, port: str, word: int) -> str:
        fmt = self.core.target
        return decoded(fmt, word) if port == output(fmt) else super().value(port, word)

    def properties(self) -> list[str]:
        """NaN becomes the canonical NaN; results of a number and its negative differ only in the sign."""
        fmt, width = self.core.target, self.core.exact.value_width
        out, low = output(fmt), f"[{fmt.width - 2}:0]"
        nan = 0 if self.core.nan_to_zero else fmt.canonical_nan or 0
        canonical = f"  always @* if (acc[{width + 2}]) assert ({out} == {fmt.width}'h{nan:x});"
        if not fmt.signed or (self.core.rounding and self.core.rounding.is_directed):
            return self.asserting(canonical)
        negated = instance(self.design.name, self.design.ports, "_negated", acc=f"{{3'b000, -acc[{width - 1}:0]}}")
        same = f"{out}_negated == -{out}" if fmt.twos_complement else f"{out}_negated{low} == {out}{low}"
        ordinary = f"acc[{width + 2}:{width}] == 0 && acc[{width - 1}:0] != {{1'b1, {width - 1}'b0}}"
        checks = f"  wire ordinary = {ordinary};", f"  always @* if (ordinary) assert ({same});"
        return self.asserting(canonical, *negated, *checks)


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
        cases = [{"bits": codes_word(source, row)} for row in bits.tolist()]
        if (width := self.inputs.get("random", 0)) == 0:
            return cases
        words = (int.from_bytes(rng.bytes(-(-width // 8)), "little") & (1 << width) - 1 for _ in cases)
        return [{**pins, "random": word} for pins, word in zip(cases, words, strict=True)]

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
        significands = [1.0, 1.0, 1.5, 2**0.5, 1 + 2.0**-7, 2 - 2.0**-7]
        if self.core.policy in (RCEIL, EVEN):
            first = first_rounded_up(self.core.policy, self.core.fmt, source.fraction_bits, self.core.top)
            significands += [step / 2**source.fraction_bits for step in (first - 1, first)]
        factors = rng.choice(significands, (count, 1))
        boundaries = np.exp2(np.clip(scale + self.core.top, low, high)) * factors
        return np.where(leader & (rng.integers(0, 3, (count, 1)) > 0), boundaries, numbers)

    def columns(self, inputs: Columns) -> Columns:
        core, source = self.core, wide(self.core.source)
        bits, words = parted(inputs["bits"], source.width, core.lanes).astype(source.code_dtype), None
        if core.random_bits is not None:
            words = parted(inputs["random"], core.random_bits, core.lanes).astype(np.uint32)
            bits, words = np.broadcast_arrays(bits, words)
        drawn = core.random_bits or 0
        codes, scales = quantized(core.fmt, bits, core.chosen, E8M0, core.policy, core.top, words, drawn)
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

    def properties(self) -> list[str]:
        """A special makes the scale NaN and the codes 0; the scale does not depend on signs and the order of lanes."""
        source, lanes, fmt = wide(self.core.source), self.core.lanes, self.core.fmt
        top, infinity = source.width - 1, int(source.infinity or 0)
        magnitudes = [f"bits[{lane * source.width + top - 1}:{lane * source.width}]" for lane in range(lanes)]
        special = " || ".join(f"{magnitude} >= {top}'h{infinity:x}" for magnitude in magnitudes)
        first, others = f"bits[{source.width - 1}:0]", f", bits[{lanes * source.width - 1}:{source.width}]"
        turned = f"{{{first}{others if lanes > 1 else ''}}}"
        signs = f"{{{lanes}{{1'b1, {top}'b0}}}}"
        return self.asserting(
            *instance(self.design.name, self.design.ports, "_turned", bits=f"{turned} ^ {signs}"),
            f"  wire is_special = {special};",
            "  always @* begin",
            "    assert ((scale == 8'hff) == is_special);",
            f"    if (is_special) assert (codes == {lanes * fmt.width}'b0);",
            "    assert (scale_turned == scale);",
            "  end",
        )
