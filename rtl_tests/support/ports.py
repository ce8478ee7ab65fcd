"""Reads the ports of a module from its text, to compare them with those of a design."""

import re

from hwgen.netlist.emit import Port

_PORT = re.compile(r"\b(input|output)\b\s+(?:wire\s+|reg\s+)?(?:\[(\d+):0\]\s*)?(\w+)")


def ports(verilog: str, top: str) -> list[Port]:
    """Return the ports of module ``top`` in their order.

    Raises
    ------
    ValueError
        If there is no such module.
    """
    head = re.search(rf"^module {re.escape(top)}\b.*?\);", verilog, re.MULTILINE | re.DOTALL)
    if head is None:
        raise ValueError(f"the text has no module {top!r}")
    return [Port(name, way, int(high or 0) + 1) for way, high, name in _PORT.findall(head[0])]
