"""What the logs of simulators say."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path


def other_ports(log: Path, top: str) -> list[str]:
    """Warnings about ports that the file of the bench's top does not connect, or connects in another width.

    Both simulators only warn, cut off or extend the value, and leave an input open.
    """
    here = re.compile(rf"{top}\.v:.*(expects|dangling|pin)|PINMISSING.*{top}\.v:")
    return [line for line in lines(log) if "arning" in line and here.search(line)]


def open_outputs(compiled: Path, top: str, known: Sequence[Collection[str]]) -> list[str]:
    """Sentences on outputs that the top leaves open, which Icarus does without a warning.

    ``compiled`` is what Icarus made; ``known`` has the ports that the top connects of its instances ``dut_0``, ...
    """
    found, tops, number = [], set(), None
    for line in lines(compiled):
        if scope := re.match(r'(\w+) \.scope \w+, "(.*?)" "(.*?)" [^,;]*(?:,[^,;]*, (\w+))?;', line):
            name, module, parent = scope.group(2, 3, 4)
            tops |= {scope[1]} if parent is None and name == top else set()
            number = int(name[4:]) if parent in tops and re.fullmatch(r"dut_\d+", name) else None
        elif number is not None:
            port = re.match(r' +\.port_info \d+ /(\w+) \d+ "(.*)";', line)
            if port and port[2] not in known[number]:
                found.append(f"{module} has the {port[1].lower()} {port[2]}, which is not connected")
    return found


def unread_files(log: Path) -> list[str]:
    """Messages about files of ``$readmemh`` or ``$readmemb`` that cannot be read."""
    return [line for line in lines(log) if "$readmem" in line]


def tail(log: Path) -> list[str]:
    """The last lines."""
    return lines(log)[-30:]


def lines(log: Path) -> list[str]:
    """All lines; none if the simulator has not started."""
    return log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
