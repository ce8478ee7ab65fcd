"""The files ``model/NAME.h``, ``NAME_dpi.sv`` and ``NAME_dpi.c``: a model of a module in C99.

Templates in the folder ``c`` have the rules of the specification; here are the ports of the module, and the constants
of sums. In all templates ``M_`` stands for the module's name and an underscore.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files as resources
from itertools import accumulate, groupby
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from golden import WIDE, Rounding
from golden.arithmetic.blocks import element_exponent, first_rounded_up
from golden.overflow import replacements, with_sign
from golden.wide import RVBNA, aligned_bits, bulk_bits, wide
from hwgen.blocks.block import Design
from hwgen.model import tables
from hwgen.netlist.emit import CLOCK, Port
from hwgen.reference import Reference, reference
from hwgen.reference.reference import ClockedReference

TEMPLATES = {
    **{kind: f"{kind}.h" for kind in ("decoder", "encoder", "quantizer", "readout", "amax", "random")},
    **dict.fromkeys(("mac", "dot", "pe"), "sums.h"),
}
"""Blocks that have a model; templates of their function ``M_core``, from a struct of inputs to one of outputs."""
FILES = {".h": "module.h", "_dpi.sv": "dpi.sv", "_dpi.c": "dpi.c"}
"""Templates of the files by their endings."""
SHORT = 58
"""Bits that sums of two addends in 64 bits keep below the larger one."""
_TYPES = {8: "byte", 16: "shortint", 32: "int", 64: "longint"}


def files(design: Design) -> dict[str, str]:
    """Return the texts of the folder ``model`` by path in the bundle; none of a block that has no model in C."""
    if design.kind not in TEMPLATES:
        return {}
    return {f"model/{design.name}{ending}": _text(design, file) for ending, file in FILES.items()}


def planes(design: Design) -> str:
    """Return a program in C++ with the function ``planes``, which is ``M_core`` for bit planes."""
    return _text(design, "planes.cpp")


def _text(design: Design, file: str) -> str:
    return _environment().get_template(file).render(_context(design)).replace(tables.M, f"{design.name}_")


def _template(file: str) -> str:
    """The text of a template, where no ``M_`` can be part of a name that the user has chosen."""
    return re.sub(r"\bM_", tables.M, resources("hwgen.model").joinpath("c", file).read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    marks, loader = ("<%", "%>", "${", "}", "<#", "#>", "%"), FunctionLoader(_template)
    environment = Environment(*marks, loader=loader, undefined=StrictUndefined, keep_trailing_newline=True)
    functions: list[Any] = [replacements, with_sign, wide, element_exponent, first_rounded_up, words, pieces]
    functions += [kind, sv_argument]
    functions += [tables.decoding, tables.flush, tables.number, tables.steps, tables.wide_format]
    environment.globals |= {function.__name__: function for function in functions}
    environment.globals |= {"TEMPLATES": TEMPLATES, "WIDE": WIDE, "Rounding": Rounding}
    environment.filters |= {"argument": argument, "sv_argument": sv_argument}
    return environment


def _context(design: Design) -> dict[str, Any]:
    """What the templates read."""
    model, core = reference(design), design.core
    ports = [port for port in design.ports if port.name != CLOCK]
    outputs = [port for port in ports if port.direction == "output"]
    returned = outputs[0] if len(outputs) == 1 and outputs[0].width <= 64 and not design.is_clocked else None
    fields = {model.after: model.register} if isinstance(model, ClockedReference) else {}
    cleared = model.cleared if isinstance(model, ClockedReference) else {}
    return {
        "design": design,
        "name": design.name,
        "core": core,
        "model": model,
        "ports": [port for port in ports if port is not returned],
        "returned": returned,
        "outputs": outputs,
        "names": [port.name for port in ports],
        "loads": list(_loads(ports, model)),
        "stores": {fields.get(field, field): field for field in model.results},
        "cleared": [cleared.get(fields.get(field, field), 0) for field in model.results],
        **dict.fromkeys(("random_bits", "source", "unit", "pin", "nan_to_zero")),
        **(_sum(core) if hasattr(core, "sums") else {}),
    }


def _loads(ports: list[Port], model: Reference) -> Iterator[tuple[str, int, int, str, int]]:
    """Runs of bits that an argument is made of: its name, the place, the number of bits, their port and place."""
    names = [port.name for port in ports]
    for name, width in model.arguments.items():
        bits = model.made_of.get(name) or [(name, place) for place in range(width) if name in names]
        for _, run in groupby(enumerate(bits), lambda item: (item[1][0], item[1][1] - item[0], item[0] // 64)):
            (place, (port, first)), *others = run
            yield name, place, 1 + len(others), port, first


def _sum(core: Any) -> dict[str, Any]:
    """The constants of sums."""
    options, lanes = core.sums, getattr(core, "lanes", 1)
    a, b, unit, is_bulk = options.a_format, options.b_format, options.exact, options.accumulator == RVBNA
    constants = {"options": options, "lanes": lanes, "unit": unit, "lsb": options.lsb_exponent}
    if unit is not None:
        return {**constants, "limbs": (unit.value_width + 8) // 64 + 1}
    state, kept = options.state, bulk_bits(lanes) if is_bulk else aligned_bits(options.accumulator) or 0
    mode = state.roundings[0] if options.random_bits is None else Rounding.STOCHASTIC
    # of two addends, one is cut only where the other one's last bit is above it by more than the result's precision
    result_bits = state.fraction_bits + (options.random_bits or 0)
    bits = sum(max(row.fraction_bits for row in fmt.rows) + 1 for fmt in (a, b)) + options.spare_bits
    top = max(a.exponent_range[1] + b.exponent_range[1] + 2 + options.factor_exponents[1], state.bias + 1)
    return {
        **constants,
        "limbs": (top - options.lsb_exponent + lanes.bit_length() + 2) // 64 + 1,
        "state": state,
        "is_bulk": is_bulk,
        "kept": kept,
        "mode": Rounding.TO_ODD if is_bulk else Rounding.TOWARD_ZERO if kept else mode,
        "pack_bits": min(kept, state.fraction_bits) if kept and not is_bulk else state.fraction_bits,
        "is_short": is_bulk or (lanes == 1 and max(bits, state.fraction_bits) + result_bits + 8 <= SHORT),
    }


# -- ports as arguments


def pieces(widths: Mapping[str, int]) -> Iterator[tuple[str, int, int, int]]:
    """Words of 64 bits of fields that lie side by side: the field, the word's index, its place, its number of bits."""
    for (field, width), place in zip(widths.items(), accumulate(widths.values(), initial=0), strict=False):
        for first in range(0, width, 64):
            yield field, first // 64, place + first, min(64, width - first)


def words(width: int, bits: int = 64) -> int:
    """Elements of an array of words of ``bits``, least significant word first."""
    return -(-width // bits)


def kind(port: Port) -> str:
    """The type of a port in C, or of an element: of more than 64 bits it is an array of 32-bit words, as in DPI."""
    return f"uint{next((bits for bits in _TYPES if port.width <= bits), 32)}_t"


def argument(port: Port) -> str:
    """The argument in C."""
    if port.width > 64:
        return f"{'const ' if port.direction == 'input' else ''}{kind(port)} {port.name}[{words(port.width, 32)}]"
    return f"{kind(port)} {'*' if port.direction == 'output' else ''}{port.name}"


def sv_argument(port: Port) -> str:
    """The argument in SystemVerilog."""
    name = next((name for bits, name in _TYPES.items() if port.width <= bits), None)
    return f"{port.direction} {f'{name} unsigned' if name else f'bit [{port.width - 1}:0]'} {port.name}"
