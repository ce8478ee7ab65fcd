"""Macros of a user's Verilog: tools expand one that contains itself until no memory is left."""

import re
from graphlib import CycleError, TopologicalSorter

from golden.refusal import BadValue

_IGNORED = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_DEFINITION = re.compile(r"`define\s+([A-Za-z_]\w*)((?:\\\r?\n|[^\n])*)")


def check_macros(text: str) -> None:
    """Refuse macros that contain themselves, directly or through others; all definitions of a name count."""
    uses: dict[str, set[str]] = {}
    for name, body in _DEFINITION.findall(_IGNORED.sub(" ", text)):
        uses.setdefault(name, set()).update(re.findall(r"`(\w+)", body))
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        raise BadValue(None, f"the macro `{error.args[1][0]} contains itself") from None
