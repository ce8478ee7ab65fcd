"""The ports of an emitted module, read from its text."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Port:
    """A port: ``direction`` is ``input`` or ``output``."""

    name: str
    direction: str
    width: int

    @property
    def range(self) -> str:
        """As in a declaration, with a blank behind it."""
        return f"[{self.width - 1}:0] " if self.width > 1 else ""


_PORT = re.compile(r"\b(input|output)\b\s+(?:wire\s+|reg\s+)?(?:\[(\d+):0\]\s*)?(\w+)")


def ports(verilog: str, top: str) -> list[Port]:
    """The ports of module ``top``, in their order.

    Raises
    ------
    ValueError
        If there is no such module.
    """
    head = re.search(rf"^module {re.escape(top)}\b.*?\);", verilog, re.MULTILINE | re.DOTALL)
    if head is None:
        raise ValueError(f"the text has no module {top!r}")
    return [Port(name, way, int(high or 0) + 1) for way, high, name in _PORT.findall(head[0])]
