"""The reference model of decoders."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden import Format
from golden.explain import describe, number
from hwgen.blocks.decoder import Decoder
from hwgen.datapath.ports import expression
from hwgen.datapath.unpacked import exponent_shape
from hwgen.netlist.emit import Port
from hwgen.reference.reference import Pins, Reference, head, instance


class DecoderReference(Reference):
    """Decoders: the stimuli are all codes."""

    core: Decoder

    @property
    def fmt(self) -> Format:
        """The format of the codes."""
        return self.core.fmt

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        del count, rng
        return [{"code": code} for code in range(1 << self.fmt.width)]

    def columns(self, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        codes = inputs["code"]
        if self.core.target == "unpacked":
            return {name: column[codes] for name, column in unpacked(self.fmt).items()}
        return {"bits": self.fmt.decode_bits(codes, self.core.target)}

    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        del got, expected
        return describe(self.fmt, pins["code"])

    def value(self, port: str, word: int) -> str:
        if port != "bits":
            return super().value(port, word)
        return number(float(golden.get(self.core.target).decode(np.array([word]))[0]))

    def properties(self, ports: Sequence[Port]) -> list[str]:
        """The whole table of ``bits``; of an unpacked decoder only the rules for classes and significands."""
        lines = [*head(ports), *instance(self.design.name, ports)]
        if self.core.target == "unpacked":
            bits = next(port.width for port in ports if port.name == "significand")
            first = f"significand[{bits - 1}]" if bits > 1 else "significand"  # a port of one bit has no index
            return [
                *lines,
                "  // at most one class; finite values other than zero are normalized",
                "  always @* begin",
                "    assert (is_zero + is_inf + is_nan <= 1);",
                f"    if (!is_zero && !is_inf && !is_nan) assert ({first});",
                "  end",
                "endmodule",
            ]
        width = golden.get(self.core.target).width
        digits = self.fmt.width
        results = self.fmt.decode_bits(np.arange(1 << digits), self.core.target).tolist()
        rows = [f"      {digits}'h{code:x}: expected = {width}'h{bits:x};" for code, bits in enumerate(results)]
        return [
            *lines,
            f"  reg [{width - 1}:0] expected;",
            "  // the reference model's table",
            "  always @* begin",
            f"    case ({expression('code', self.fmt)})",
            *rows,
            "    endcase",
            "    assert (bits == expected);",
            "  end",
            "endmodule",
        ]


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
