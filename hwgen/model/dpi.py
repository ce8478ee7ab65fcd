"""The model for SystemVerilog's DPI: ``model/NAME_dpi.sv``, a package, and ``model/NAME_dpi.c``, which it calls."""

from __future__ import annotations

from hwgen.blocks.block import Design
from hwgen.model.header import parameter, ports, result, words
from hwgen.netlist.emit import Port

_TYPES = {8: "byte", 16: "shortint", 32: "int", 64: "longint"}


def _bits(port: Port) -> int:
    return next(bits for bits in _TYPES if port.width <= bits)


def package(design: Design) -> str:
    """The text of the package ``NAME_dpi``: its function, or task of a cycle, has the name of the module."""
    returned, name = result(design), design.name
    arguments = ["input chandle state"] if design.is_clocked else []
    for port in ports(design):
        if port is not returned:
            kind = f"bit [{port.width - 1}:0]" if port.width > 64 else f"{_TYPES[_bits(port)]} unsigned"
            arguments.append(f"{port.direction} {kind} {port.name}")
    kind = "void" if returned is None else f"{_TYPES[_bits(returned)]} unsigned"
    lines = [f'  import "DPI-C" function {kind} {name}_dpi({", ".join(arguments)});']
    if design.is_clocked:
        lines.insert(0, f'  import "DPI-C" function chandle {name}_new();  // a state, after a reset')
    text = "\n".join(lines)
    comment = f"// The model of {name} in {name}.h, for simulators with DPI: compile {name}_dpi.c, too."
    return f"{comment}\npackage {name}_dpi_pkg;\n{text}\nendpackage\n"


def wrapper(design: Design) -> str:
    """The text of the functions that the package imports."""
    name, returned = design.name, result(design)
    arguments, before, after, call = ["void *state"] if design.is_clocked else [], [], [], []
    call = [f"({name}_state *)state"] if design.is_clocked else []
    for port in ports(design):
        if port is returned:
            continue
        if port.width <= 64:
            arguments.append(parameter(port))
            call.append(port.name)
            continue
        chunks, is_input = -(-port.width // 32), port.direction == "input"
        arguments.append(f"{'const ' if is_input else ''}uint32_t *{port.name}")
        before.append(f"uint64_t {port.name}_words[{words(port.width)}] = {{ 0 }};")
        loop = f"for (int i = 0; i < {chunks}; i++)"
        if is_input:
            before.append(f"{loop} {port.name}_words[i / 2] |= (uint64_t){port.name}[i] << i % 2 * 32;")
        else:
            after.append(f"{loop} {port.name}[i] = (uint32_t)({port.name}_words[i / 2] >> i % 2 * 32);")
        call.append(f"{port.name}_words")
    kind = "void" if returned is None else f"uint{_bits(returned)}_t"
    statement = f"{'return ' if returned else ''}{name}({', '.join(call)});"
    body = "\n".join(f"  {line}" for line in (*before, statement, *after))
    new = ""
    if design.is_clocked:
        new = f"""
void *{name}_new(void) {{
  {name}_state *state = ({name}_state *)malloc(sizeof *state);
  if (state) {name}_reset(state);
  return state;
}}
"""
    return f"""\
/* The functions that {name}_dpi.sv imports, in C99 or C++. */
#include "{name}.h"
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {{
#endif
{new}
{kind} {name}_dpi({", ".join(arguments) or "void"}) {{
{body}
}}

#ifdef __cplusplus
}}
#endif
"""
