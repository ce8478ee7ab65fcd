"""What stands beside a module's Verilog, so that it works in flows that know nothing of this project.

========================  ===============================================================================================
``NAME.json``             ports, options, rules in words, formats, hashes, tool versions (docs/bundle.schema.json)
``NAME.f``                file list
``NAME.core``             FuseSoC
``NAME.sby``              SymbiYosys, with ``formal/NAME_properties.v``
``NAME_template.v``       an instance to copy
``tb/NAME_tb.v``          self-checking testbench, with its vectors in ``tb/NAME.hex``
========================  ===============================================================================================
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden import Format
from golden.explain import OVERFLOW_RULES, ROUNDING_RULES
from golden.mac import exact
from golden.multi import MultiFormat
from golden.rows import Biased, Fixed, Overflow, Rounding, Row, SignMagnitude
from hwgen.blocks.conversions import nan_rule, rounding_rule
from hwgen.blocks.design import Design
from hwgen.bundle import trace, vectors
from hwgen.bundle.properties import properties, sby
from hwgen.bundle.testbench import memory, testbench
from hwgen.datapath.code_ports import split
from hwgen.netlist.ports import Port, ports
from hwgen.tools import yosys

SCHEMA = "minifloat-rtl bundle 1"
VECTORS = 2000
"""Vectors of a testbench at most; a decoder's are all codes."""

MODERATE = 8.0
"""Largest magnitude of most of a processing element's operands."""

Answer = Callable[[Design, Mapping[str, int]], dict[str, int]]
"""What golden says of one case: from the values of all inputs, codes of two formats being one word, to those of the outputs."""

_MEANINGS = {
    "code": "code of the format", "bits": "bits of the wider format", "random": "random bits, uniformly distributed",
    "hybrid": "rounding: 1 is hybrid, 0 is ties_to_away",
    "a": "code of the first operand", "b": "code of the second operand", "acc_in": "accumulator before", "acc_out": "accumulator after",
    "scale": "exponent, in two's complement, of the power of two that products are multiplied by",
    "flags": "status: bit 0 inexact, bit 1 underflow, bit 2 overflow, bit 3 invalid",
    "sign": "first bit of the code", "exponent": "in two's complement, 0 unless finite and not zero",
    "significand": "normalized, 0 unless finite and not zero", "is_zero": "the value is zero", "is_inf": "the value is infinite",
    "is_nan": "the code is NaN", "clk": "clock, rising edge", "rst": "synchronous reset of the valid bits, active high",
    "enable": "clock enable of all registers", "in_valid": "the inputs are to be computed on",
    "out_valid": "in_valid, as many cycles before as the latency is; the outputs are of those inputs",
}  # fmt: skip


_OF_PE = {
    "rst": "synchronous reset of the accumulators, active high", "enable": "whether a product is added", "clear": "begin at 0",
    "acc": "the accumulator that the inputs of so many cycles ago as the latency is went to, after them",
    "overflow": "whether a sum since clear had no room, in the accumulator that acc shows",
    "flags": "status of all sums since clear in that accumulator: bit 0 inexact, bit 1 underflow, bit 2 overflow, bit 3 invalid",
}  # fmt: skip


def files(design: Design, verilog: str, answer: Answer) -> dict[str, str]:
    """Texts by their paths in the bundle's folder, the Verilog first.

    Parameters
    ----------
    design : Design
        Of a kind that ``hwgen generate`` writes.
    verilog : str
        Its text.
    answer : callable
        What golden says of one case.
    """
    name, found = design.name, ports(verilog, design.name)
    shown = cases(design, answer)
    return {
        f"{name}.v": verilog,
        f"{name}.json": json.dumps(description(design, verilog, found), indent=2, ensure_ascii=False) + "\n",
        f"{name}.f": f"{name}.v\n",
        f"{name}.core": core(design),
        f"{name}.sby": sby(design),
        f"{name}_template.v": template(name, found),
        f"formal/{name}_properties.v": properties(design, found, shown),
        f"tb/{name}_tb.v": testbench(name, found, len(shown), f"tb/{name}.hex"),
        f"tb/{name}.hex": memory(found, shown),
    }


# -- vectors ----------------------------------------------------------------------------------------------------------------------


def stimuli(design: Design) -> list[dict[str, int]]:
    """Inputs that show what a block does: all codes of a decoder; of others boundaries, specials and random ones, always the same."""
    rng = np.random.default_rng(list(design.name.encode()))
    fmt = design.formats[0]
    match design.kind:
        case "decoder":
            return [{"code": code} for code in range(1 << fmt.width)]
        case "encoder":
            wide = golden.get(design.options["from"])
            bits = (
                np.arange(1 << 16)
                if wide.width == 16
                else np.concatenate([vectors.boundaries(fmt), vectors.random_binary32(fmt, 500, rng)])
            )
            picked = rng.choice(bits, min(VECTORS, bits.size), replace=False).tolist()
            if "rounding-pin" in design.options:
                return [{"bits": int(word), "hybrid": int(pin)} for word, pin in zip(picked, rng.integers(0, 2, len(picked)), strict=True)]
            if design.options["rounding"] != Rounding.STOCHASTIC:
                return [{"bits": int(word)} for word in picked]
            words = rng.integers(0, 1 << design.options["random-bits"], len(picked)).tolist()
            return [{"bits": int(word), "random": int(random)} for word, random in zip(picked, words, strict=True)]
        case "readout":
            return _readout_stimuli(design, rng)
    other, accumulator = design.formats[1], design.options["accumulator"]
    if design.kind == "dot":
        return _dot_stimuli(design, rng)
    a, b = (rng.integers(0, 1 << code.width, VECTORS).astype(np.uint64) for code in (fmt, other))
    scale = vectors.scales(design.scale_bits, VECTORS, rng)
    if accumulator == "exact":
        unit = design.accumulator
        acc = [_integer(row) for row in vectors.exact_accumulators(unit, a, b, rng, scale).tolist()]
    else:
        acc = vectors.directed_accumulators(fmt, other, a, b, golden.get(accumulator), rng, scale, design.scale_bits).tolist()
    rows = zip(a.tolist(), b.tolist(), acc, strict=True)
    return _scaled(design, [{"a": x, "b": y, "acc_in": z} for x, y, z in rows], scale)


def _readout_stimuli(design: Design, rng: np.random.Generator) -> list[dict[str, int]]:
    """Accumulators of every size, and around what lies halfway between numbers of few bits; specials."""
    unit = design.accumulator
    width = unit.value_width
    cases = []
    for number in range(VECTORS):
        size = int(rng.integers(1, width))
        body = int.from_bytes(rng.bytes(-(-size // 8)), "little") & (1 << size) - 1 | 1 << size >> 1
        few = int(rng.integers(1, 26))
        if number % 3 == 0 and size > few:  # a number of few bits, or something next to it
            body = (body >> (size - few) << (size - few)) + int(rng.integers(-1, 2))
        value = (-body if rng.integers(0, 2) else body) & (1 << width) - 1
        flags = int(rng.integers(0, 8)) if number % 16 == 1 else 0
        cases.append({"acc": (0 if number == 0 else value) | flags << width})
    if "random-bits" in design.options:
        words = rng.integers(0, 1 << design.options["random-bits"], VECTORS).tolist()
        cases = [{**pins, "random": word} for pins, word in zip(cases, words, strict=True)]
    return cases


def _scaled(design: Design, cases: list[dict[str, int]], scale: NDArray[np.int64]) -> list[dict[str, int]]:
    """The cases with their scales, where there are such."""
    if not design.scale_bits:
        return cases
    mask = (1 << design.scale_bits) - 1
    return [{**pins, "scale": int(power) & mask} for pins, power in zip(cases, scale, strict=True)]


def _dot_stimuli(design: Design, rng: np.random.Generator) -> list[dict[str, int]]:
    """Codes of all lanes and an accumulator: see :func:`hwgen.bundle.vectors.dot_cases`."""
    fa, fb = design.formats
    scale = vectors.scales(design.scale_bits, VECTORS, rng)
    unit = exact(fa, fb, design.options.get("terms", 1), design.scale_bits)
    a, b, acc = vectors.dot_cases(unit, design.options["accumulator"], design.lanes, rng, scale)
    rows = zip(a.tolist(), b.tolist(), acc.tolist(), strict=True)
    return _scaled(design, [{"a": _word(fa, x), "b": _word(fb, y), "acc_in": _integer(z)} for x, y, z in rows], scale)


def _integer(bits: int | list[int]) -> int:
    """Bits of an accumulator; those of an exact one come in limbs."""
    return bits if isinstance(bits, int) else sum(word << 64 * place for place, word in enumerate(bits))


def cases(design: Design, answer: Answer) -> list[dict[str, int]]:
    """A testbench's vectors: inputs and outputs, or what happens in each cycle."""
    rng = np.random.default_rng(list(design.name.encode()))
    if design.kind == "pe":
        return pe_trace(design, answer, VECTORS, rng)
    inputs = stimuli(design)
    physical, outputs = [_physical(design, pins) for pins in inputs], [answer(design, pins) for pins in inputs]
    if not design.stages:
        return [pins | says for pins, says in zip(physical, outputs, strict=True)]
    return trace.pipeline(physical, outputs, design.stages, "reset" not in design.options, "clock-enable" in design.options, rng)


def pe_trace(design: Design, answer: Answer, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
    """What a processing element does with some pairs of codes, cycle by cycle; most of them are moderate, so that sums stay finite."""
    choices = [np.flatnonzero(np.abs(fmt.values) <= MODERATE) for fmt in design.formats]
    anything = [np.arange(1 << fmt.width) for fmt in design.formats]
    products = [
        {
            name: _word(fmt, rng.choice(codes, design.lanes).tolist())
            for name, fmt, codes in zip("ab", design.formats, choices if rng.integers(0, 16) else anything, strict=True)
        }
        for _ in range(count)
    ]

    products = _scaled(design, products, vectors.scales(design.scale_bits, count, rng))

    def add(pins: Mapping[str, int], total: int) -> tuple[int, dict[str, int]]:
        says = answer(design, {**pins, "acc_in": total})
        return says.pop("acc_out"), says

    sticky = ("overflow", "flags") if design.has_flags else ("overflow",)
    cycles = trace.processing_element(products, design.options.get("interleave", 1), design.stages, add, sticky, rng)
    return [_physical(design, cycle) for cycle in cycles]


def _word(fmt: Format, codes: Sequence[int]) -> int:
    """Codes of lanes in one word, lane 0 lowest."""
    return sum(code << lane * fmt.width for lane, code in enumerate(codes))


def _physical(design: Design, pins: Mapping[str, int]) -> dict[str, int]:
    """Values of the module's ports: codes of two formats come in two."""
    found = dict(pins)
    for name, fmt in design.codes.items():
        found |= split(name, fmt, found[name], design.lanes)
    return found


# -- descriptions -----------------------------------------------------------------------------------------------------------------


def description(design: Design, verilog: str, found: Sequence[Port]) -> dict[str, Any]:
    """The module in plain data."""
    return {
        "schema": SCHEMA,
        "module": design.name,
        "kind": design.kind,
        "options": dict(design.options),
        "ports": [
            {"name": port.name, "direction": port.direction, "width": port.width, "meaning": _meaning(design, port.name)} for port in found
        ],
        "latency": design.latency,
        "clock": "clk, rising edge" if design.latency else None,
        "reset": "rst, synchronous, active high" if any(port.name == "rst" for port in found) else None,
        "rules": _rules(design),
        "exact_accumulator": _exact_accumulator(design),
        "formats": [_format(fmt) for fmt in dict.fromkeys(member for fmt in design.formats for member in _members(fmt))],
        "command": f"hwgen generate {design.command()}",
        "verilog_sha256": hashlib.sha256(verilog.encode()).hexdigest(),
        "tools": {"minifloat-rtl": version("minifloat-rtl"), "amaranth": version("amaranth"), "yosys": yosys.version()},
    }


def _members(fmt: Format) -> tuple[Format, ...]:
    """The formats whose codes the ports have: of a pair both, for its own codes are golden's alone."""
    return fmt.members if isinstance(fmt, MultiFormat) else (fmt,)


def _meaning(design: Design, name: str) -> str:
    if design.kind == "readout" and name == "acc":
        return "the accumulator: nan, neg_inf, pos_inf, value"
    if design.kind == "pe" and name in _OF_PE:
        return _OF_PE[name]
    lanes = "; lane 0 in the least significant place" if design.lanes > 1 and name in (*"ab", "a_select", "b_select") else ""
    if name.endswith("_select"):
        fmt = design.formats[1 if name == "b_select" else 0]
        assert isinstance(fmt, MultiFormat)
        return f"format of {name.removesuffix('_select')}: 0 is {fmt.members[0].name}, 1 is {fmt.members[1].name}{lanes}"
    return _MEANINGS[name] + lanes


def _rules(design: Design) -> dict[str, str]:
    """Rounding, overflow and NaN in words."""
    options = design.options
    if "rounding" in options:
        fmt = design.formats[-1]
        return {
            "rounding": rounding_rule(options), "overflow": OVERFLOW_RULES[Overflow(options["overflow"])],
            "nan": f"NaN to {nan_rule(fmt, 'nan-to-zero' in options)}",
        }  # fmt: skip
    target = options["to"] if design.kind in ("decoder", "readout") else options["accumulator"]
    if target in ("unpacked", "exact"):
        exactly = "none: every value of the format is held exactly" if target == "unpacked" else "none: the sum is exact"
        overflow = "none" if target == "unpacked" else "none as long as no more products are added than the options say; then it wraps"
        return {"rounding": exactly, "overflow": overflow, "nan": "a flag" if target == "unpacked" else "a sticky flag"}
    wide = golden.get(target)
    what = "of the value" if design.kind in ("decoder", "readout") else "of the exact sum, once"
    nan = f"NaN is {wide.canonical_nan:#x}" + (", and keeps a sign" if wide.nan_keeps_sign else "")
    return {"rounding": f"{what}, {ROUNDING_RULES[wide.roundings[0]]}", "overflow": OVERFLOW_RULES[wide.overflows[0]], "nan": nan}


def _exact_accumulator(design: Design) -> dict[str, int] | None:
    """Where the bits of an exact accumulator lie and what they weigh; None where a block has none."""
    if "terms" not in design.options:
        return None
    unit = design.accumulator
    first = unit.pos_inf_bit
    flags = {"pos_inf_bit": first, "neg_inf_bit": first + 1, "nan_bit": first + 2}
    return {"value_bits": unit.value_width, "lsb_exponent": unit.lsb_exponent, **flags}


def _format(fmt: Format) -> dict[str, Any]:
    """A format's table: rows, specials, and the hash of its values."""
    return {
        "name": fmt.name,
        "width": fmt.width,
        "cite": fmt.cite,
        "rows": [
            {"prefix": row.prefix, "exponent": _exponent(row), "fraction_bits": row.fraction_bits, "hidden": row.hidden} for row in fmt.rows
        ],
        "specials": [{"mask": special.mask, "value": special.value, "kind": special.kind.value} for special in fmt.specials],
        "twos_complement": fmt.twos_complement,
        "values_sha256": hashlib.sha256(np.where(np.isnan(fmt.values), np.nan, fmt.values).astype("<f8").tobytes()).hexdigest(),
    }


def _exponent(row: Row) -> dict[str, Any]:
    """A row's rule, as a format's TOML file has it."""
    match row.exponent:
        case Fixed(exponent=exponent):
            return {"rule": "fixed", "exponent": exponent}
        case Biased(bits=bits, bias=bias):
            return {"rule": "biased", "bits": bits, "bias": bias}
        case SignMagnitude(bits=bits):
            return {"rule": "sign_magnitude", "bits": bits}


def core(design: Design) -> str:
    """A FuseSoC core (CAPI 2)."""
    name = design.name
    return f"""\
CAPI=2:
name: minifloat-rtl:{design.kind}:{name}:{version("minifloat-rtl")}
description: "{design.header[0]}"
filesets:
  rtl:
    files: [{name}.v]
    file_type: verilogSource-2005
  tb:
    files:
      - tb/{name}_tb.v: {{file_type: verilogSource-2005}}
      - tb/{name}.hex: {{file_type: user, copyto: tb/{name}.hex}}
targets:
  default: &default
    filesets: [rtl]
    toplevel: {name}
  lint:
    <<: *default
    flow: lint
    flow_options: {{tool: verilator, verilator_options: [-Wall]}}
  sim:
    filesets: [rtl, tb]
    toplevel: {name}_tb
    flow: sim
    flow_options: {{tool: icarus}}
    parameters: [fatal]
parameters:
  fatal:
    datatype: bool
    default: true
    paramtype: plusarg
    description: a failure ends the simulation with a status of its own
"""


def template(name: str, found: Sequence[Port]) -> str:
    """An instance to copy, whose nets have the ports' names."""
    nets = [f"wire {port.range}{port.name};" for port in found]
    links = ",\n".join(f"  .{port.name}({port.name})" for port in found)
    return "\n".join([f"// An instance of {name}, to be copied.", *nets, "", f"{name} {name}_inst (", links, ");", ""])
