"""The description of a module, ``NAME.json``: ports and their meanings, rules, formats, hashes, tool versions."""

import hashlib
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from golden import Format
from golden.multi import MultiFormat
from golden.rows import Biased, Fixed, Row, SignMagnitude
from hwgen.blocks.block import LFSR, Design
from hwgen.blocks.random import RANDOM_WORDS
from hwgen.tools import yosys

SCHEMA = "minifloat-rtl bundle 1"

PIPELINE_MEANINGS = {
    "clk": "clock, rising edge",
    "rst": "synchronous reset of the valid bits, active high",
    "enable": "clock enable of all registers",
    "in_valid": "the inputs are valid",
    "out_valid": "the outputs are valid: in_valid, delayed by the latency",
}
"""Meanings of the ports that a pipeline adds."""


def description(design: Design, verilog: str) -> dict[str, Any]:
    """The content of ``NAME.json``; its schema is docs/bundle.schema.json."""
    formats = dict.fromkeys(member for fmt in design.formats for member in fmt.members)
    named = "" if design.given_name in (None, replace(design, given_name=None).name) else f" --name {design.name}"
    return {
        "schema": SCHEMA,
        "module": design.name,
        "kind": design.kind,
        "options": dict(design.options),
        "ports": [
            {"name": port.name, "direction": port.direction, "width": port.width, "meaning": meaning(design, port.name)}
            for port in design.ports
        ],
        "latency": design.latency,
        "clock": "clk, rising edge" if design.is_clocked else None,
        "reset": "rst, synchronous, active high" if any(port.name == "rst" for port in design.ports) else None,
        "rules": dict(design.block.rules(design.core)),
        "exact_accumulator": _exact_accumulator(design),
        "formats": [_format(fmt) for fmt in formats],
        "command": f"hwgen generate {design.command()}{named}",
        "verilog_sha256": hashlib.sha256(verilog.encode()).hexdigest(),
        "tools": {"minifloat-rtl": version("minifloat-rtl"), "amaranth": version("amaranth"), "yosys": yosys.version()},
    }


def meaning(design: Design, name: str) -> str:
    """Meaning of a port, as text."""
    around = RANDOM_WORDS.meanings if design.generator.random == LFSR else PIPELINE_MEANINGS
    meanings = {"clk": PIPELINE_MEANINGS["clk"], **around, **design.block.meanings}
    if not name.endswith("_select"):
        text = meanings[name]
    else:
        fmt = design.codes[name.removesuffix("_select")]
        assert isinstance(fmt, MultiFormat)
        text = f"format of {name.removesuffix('_select')}: 0 is {fmt.members[0].name}, 1 is {fmt.members[1].name}"
    has_lanes = design.lanes > 1 and name.removesuffix("_select") in design.codes
    return text + ("; lane 0 in the least significant bits" if has_lanes else "")


def _exact_accumulator(design: Design) -> dict[str, int] | None:
    """Places and weight of an exact accumulator's bits; None if the block has none."""
    unit = design.exact
    if unit is None:
        return None
    first = unit.pos_inf_bit
    flags = {"pos_inf_bit": first, "neg_inf_bit": first + 1, "nan_bit": first + 2}
    return {"value_bits": unit.value_width, "lsb_exponent": unit.lsb_exponent, **flags}


def _format(fmt: Format) -> dict[str, Any]:
    values = np.where(np.isnan(fmt.values), np.nan, fmt.values).astype("<f8")  # one bit pattern for all NaNs
    return {
        "name": fmt.name,
        "width": fmt.width,
        "cite": fmt.cite,
        "rows": [
            {"prefix": row.prefix, "exponent": _exponent(row), "fraction_bits": row.fraction_bits, "hidden": row.hidden}
            for row in fmt.rows
        ],
        "specials": [
            {"mask": special.mask, "value": special.value, "kind": special.kind.value} for special in fmt.specials
        ],
        "canonical_nan": fmt.canonical_nan,
        "signed": fmt.signed,
        "twos_complement": fmt.twos_complement,
        "values_sha256": hashlib.sha256(values.tobytes()).hexdigest(),
    }


def _exponent(row: Row) -> dict[str, Any]:
    """A row's exponent rule, written as in the TOML file of a format."""
    match row.exponent:
        case Fixed(exponent=exponent):
            return {"rule": "fixed", "exponent": exponent}
        case Biased(bits=bits, bias=bias):
            return {"rule": "biased", "bits": bits, "bias": bias}
        case SignMagnitude(bits=bits):
            return {"rule": "sign_magnitude", "bits": bits}
