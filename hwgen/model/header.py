"""The header ``model/NAME.h``: the model of a module in C99, a function with the module's name and ports."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from hwgen.blocks.block import LFSR, Design
from hwgen.model.blocks import CORES, register
from hwgen.model.constants import part
from hwgen.netlist.emit import CLOCK, Port
from hwgen.reference import Reference, reference
from hwgen.reference.reference import ClockedReference

MODELLED = (*CORES, "random")
"""Names of the blocks that have a model."""
CONTROLS = ("rst", "enable", "clear", "in_valid", "out_valid")
"""Ports that are no operands or results of the block."""


def ports(design: Design) -> list[Port]:
    """The ports of the function: those of the module, without the clock."""
    return [port for port in design.ports if port.name != CLOCK]


def words(width: int) -> int:
    """Elements of an array of 64-bit words."""
    return -(-width // 64)


def parameter(port: Port) -> str:
    """An argument of the function; words of more than 64 bits are arrays, least significant word first."""
    if port.width > 64:
        return f"{'const ' if port.direction == 'input' else ''}uint64_t {port.name}[{words(port.width)}]"
    bits = next(bits for bits in (8, 16, 32, 64) if port.width <= bits)
    return f"uint{bits}_t {'*' if port.direction == 'output' else ''}{port.name}"


def result(design: Design) -> Port | None:
    """The output that the function returns: the only one of a module without a clock, up to 64 bits."""
    outputs = [port for port in ports(design) if port.direction == "output"]
    return outputs[0] if len(outputs) == 1 and outputs[0].width <= 64 and not design.is_clocked else None


def header(design: Design) -> str:
    """The text of the header."""
    model, name = reference(design), design.name
    guard = f"{name.upper()}_H"
    body = "".join((_structs(design, model), _core(design, model), _state(design, model), _function(design, model)))
    text = re.sub(r"\bM_", f"{name}_", part("number") + body)
    return f"""\
/* {design.header[0]}.
   {design.header[-1]}
   A model in C99 of the module {name}, of minifloat-rtl; free of conditions.{_usage(design)} */
#ifndef {guard}
#define {guard}
#include <stdint.h>

{text}
#endif
"""


def _usage(design: Design) -> str:
    if not design.is_clocked:
        return ""
    return f"""
   {design.name}_reset sets the state that the reset of the module sets. Each call of {design.name} is a clock cycle:
   the outputs are those before the rising edge, and the state is that after it. Outputs are 0 where the module's are
   unknown or not valid."""


def _structs(design: Design, model: Reference) -> str:
    """What ``M_core`` takes and gives."""
    if design.kind == "random":
        return "typedef struct { uint64_t random[M_OUT_WORDS]; } M_out;\n\n".replace(
            "M_OUT_WORDS", str(words(model.outputs["random"]))
        )
    fields = (
        "".join(f" uint64_t {name}[{words(width)}];" for name, width in widths.items())
        for widths in (model.arguments, model.results)
    )
    return (
        "".join(f"typedef struct {{{text} }} M_{name};\n" for name, text in zip(("in", "out"), fields, strict=True))
        + "\n"
    )


def _core(design: Design, model: Reference) -> str:
    if design.kind == "random":
        return register(design.core)
    text = CORES[design.kind](design.core, model.results)
    return text + (register(design.source) if design.generator.random == LFSR and design.source else "")


def _zeros(fields: Iterable[str]) -> str:
    """Zeros in all fields, as an initializer."""
    return f"{{ {', '.join('{ 0 }' for _ in fields)} }}"


# -- registers


def _state(design: Design, model: Reference) -> str:
    """The struct of the registers, and the function that resets it."""
    if not design.is_clocked:
        return ""
    before = ""
    if design.source is not None:
        fields, reset = "uint64_t state;", f"s->state = {design.source.random_seed:#x}u;"
    elif isinstance(model, ClockedReference):
        count, stages = getattr(design.core, "interleave", 1), design.stages + 1
        before = f"static const M_out M_cleared = {_cleared(model)};\n"
        fields = f"M_out sums[{count}], coming[{stages}]; int time;"
        arrays = (("sums", count), ("coming", stages))
        reset = "".join(f"for (int i = 0; i < {size}; i++) s->{array}[i] = M_cleared;\n  " for array, size in arrays)
        reset += "s->time = 0;"
    else:
        fields = f"M_out ranks[{design.stages}]; uint8_t valid[{design.stages}];"
        reset = f"for (int i = 0; i < {design.stages}; i++) s->valid[i] = 0;"
    function = f"static inline void M_reset(M_state *s) {{\n  {reset}\n}}\n\n"
    return f"{before}typedef struct {{ {fields} }} M_state;\n\n{function}"


def _cleared(model: ClockedReference) -> str:
    """The results after a reset, as an initializer."""
    registers = {model.after: model.register}
    fields = (model.cleared[registers.get(name, name)] for name in model.results)
    return f"{{ {', '.join(f'{{ {value} }}' for value in fields)} }}"


# -- the function


def _function(design: Design, model: Reference) -> str:
    """The function: it reads its arguments, computes, writes the outputs, and goes to the next cycle."""
    returned = result(design)
    arguments = ["M_state *s"] if design.is_clocked else []
    arguments += [parameter(port) for port in ports(design) if port is not returned]
    kind = "void" if returned is None else parameter(Port("", "input", returned.width)).strip()
    lines = "\n  ".join(
        [*_load(design, model), *_compute(design, model), *_store(design, model), *_advance(design, model)]
    )
    return f"static inline {kind} {design.name}({', '.join(arguments)}) {{\n  {lines}\n}}\n"


def _load(design: Design, model: Reference) -> list[str]:
    """Statements that read the operands."""
    if design.kind == "random":
        return ["M_out out = { { 0 } };"]
    lines = [f"M_in in = {_zeros(model.arguments)};", "M_out out;"]
    arrays = {port.name: port.name if port.width > 64 else f"{port.name}_" for port in ports(design)}
    for port in ports(design):
        if port.direction == "input" and port.name not in CONTROLS:
            lines += [f"const uint64_t {port.name}_[1] = {{ {port.name} }};"] if port.width <= 64 else []
            if port.name in model.arguments and port.name not in model.made_of:
                lines += _moves(f"in.{port.name}", arrays[port.name], port.width)
    for name, bits in model.made_of.items():
        place = 0
        for (port, _), run in groupby(enumerate(bits), key=lambda item: (item[1][0], item[1][1] - item[0])):
            count, first = len(list(run)), bits[place][1]
            lines.append(f"M_put(in.{name}, {place}, {count}, M_get({arrays[port]}, {first}, {count}));")
            place += count
    return lines


def _moves(target: str, source: str, width: int) -> list[str]:
    """Statements that copy the bits of a port."""
    return [
        f"{target}[{place // 64}] = M_get({source}, {place}, {min(64, width - place)});"
        for place in range(0, width, 64)
    ]


def _compute(design: Design, model: Reference) -> list[str]:
    """Statements that make the outputs of this cycle."""
    if design.source is not None:
        words = "out.random" if design.kind == "random" else "in.random"
        core = [] if design.kind == "random" else ["M_core(&in, &out);"]
        return [f"uint64_t after = M_words(s->state, {words});", *core]
    if isinstance(model, ClockedReference):
        return ["out = s->coming[0];"]
    if design.is_clocked:
        top = design.stages - 1
        return [
            f"const M_out nothing = {_zeros(model.results)};",
            f"out = s->valid[{top}] ? s->ranks[{top}] : nothing;",
        ]
    return ["M_core(&in, &out);"]


def _store(design: Design, model: Reference) -> list[str]:
    """Statements that write the outputs."""
    fields = {model.register: model.after} if isinstance(model, ClockedReference) else {}
    lines = []
    for port in ports(design):
        if port.direction == "input":
            continue
        if port.name == "out_valid":
            lines.append(f"*out_valid = s->valid[{design.stages - 1}];")
        elif port.width > 64:
            field = fields.get(port.name, port.name)
            lines += [f"{port.name}[{word}] = out.{field}[{word}];" for word in range(words(port.width))]
        else:
            kind = parameter(Port("", "input", port.width)).strip()
            how = "return" if port is result(design) else f"*{port.name} ="
            lines.append(f"{how} ({kind})out.{fields.get(port.name, port.name)}[0];")
    return lines


def _advance(design: Design, model: Reference) -> list[str]:
    """Statements that go to the next cycle."""
    names = {port.name for port in ports(design)}
    if not design.is_clocked:
        return []
    reset = "if (rst) M_reset(s);" if "rst" in names else ""
    if design.source is not None:
        return [reset, "else if (enable) s->state = after;"]
    if isinstance(model, ClockedReference):
        return [reset, "else {", *(f"  {line}" for line in _element(design, model)), "}"]
    condition = f"{'else ' if reset else ''}{'if (enable) ' if 'enable' in names else ''}"
    shift = (
        f"for (int i = {design.stages - 1}; i > 0; i--) s->ranks[i] = s->ranks[i - 1], s->valid[i] = s->valid[i - 1];"
    )
    return [
        *([reset] if reset else []),
        f"{condition}{{",
        f"  {shift}",
        "  M_core(&in, &s->ranks[0]);",
        "  s->valid[0] = in_valid;",
        "}",
    ]


def _element(design: Design, model: ClockedReference) -> list[str]:
    """A block with ``clear`` and ``enable``: each accumulator has its turn, and is seen after the stages."""
    interleave = getattr(design.core, "interleave", 1)
    count = words(model.arguments[model.before])
    sticky = [f"next.{name}[0] |= sum.{name}[0];" for name in model.sticky]
    return [
        "M_out sum = s->sums[s->time], next;",
        "if (clear) sum = M_cleared;",
        "if (enable) {",
        *(f"  in.{model.before}[{word}] = sum.{model.after}[{word}];" for word in range(count)),
        "  M_core(&in, &next);",
        *(f"  {line}" for line in sticky),
        "  sum = next;",
        "}",
        "s->sums[s->time] = sum;",
        f"for (int i = 0; i < {design.stages}; i++) s->coming[i] = s->coming[i + 1];",
        f"s->coming[{design.stages}] = sum;",
        f"s->time = (s->time + 1) % {interleave};",
    ]
