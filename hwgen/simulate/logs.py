"""What the logs of simulators say."""

import re
from pathlib import Path


def other_ports(log: Path, top: str) -> list[str]:
    """Warnings about ports that the file of the bench's top does not connect, or connects in another width.

    Both simulators only warn, cut off or extend the value, and leave an input open.
    """
    here = re.compile(rf"{top}\.v:.*(expects|dangling|pin)|PINMISSING.*{top}\.v:")
    return [line for line in lines(log) if "arning" in line and here.search(line)]


def unread_files(log: Path) -> list[str]:
    """Messages about files of ``$readmemh`` or ``$readmemb`` that cannot be read."""
    return [line for line in lines(log) if "$readmem" in line]


def tail(log: Path) -> list[str]:
    """The last lines."""
    return lines(log)[-30:]


def lines(log: Path) -> list[str]:
    """All lines; none if the simulator has not started."""
    return log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
