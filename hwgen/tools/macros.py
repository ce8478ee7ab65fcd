"""Macros of a user's Verilog: tools expand one that contains itself until no memory is left."""

import re
from graphlib import CycleError, TopologicalSorter

from golden.refusal import BadValue
from hwgen.tools.files import read_text

_IGNORED = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_DEFINITION = re.compile(r"`define\s+([A-Za-z_]\w*)((?:\\\r?\n|[^\n])*)")


def read_verilog(path: str) -> str:
    """Text of the user's file of ``--verilog``.

    It is refused if it cannot be read, or if a macro contains itself, directly or through others; all definitions of a
    name count.
    """
    text = read_text(path, "--verilog")
    uses: dict[str, set[str]] = {}
    for name, body in _DEFINITION.findall(_IGNORED.sub(" ", text)):
        uses.setdefault(name, set()).update(re.findall(r"`(\w+)", body))
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        raise BadValue("--verilog", f"the macro `{error.args[1][0]} contains itself", ": ") from None
    return text
