"""Chapters of a component: titles that become comments in the Verilog, above the signals that each chapter computes."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from weakref import WeakKeyDictionary

from amaranth.hdl import Module, Value

from hwgen.netlist.dataflow import Bit, Netlist, in_dataflow_order

ATTRIBUTE = "chapter"
"""The attribute of a signal that holds the title of its chapter."""

NOTE = "note"
"""The attribute of a signal that holds a comment on its statement."""

# Titles by module, because Amaranth's Module has no place for them; weak, so that modules can be freed.
_titles: WeakKeyDictionary[Module, str] = WeakKeyDictionary()


def chapter(m: Module, title: str, *signals: Value) -> None:
    """Begin a chapter of a module.

    In the Verilog the title is a comment above the statements that compute the chapter's signals (see
    :func:`in_chapters`): ``signals``, and those created with the module's :func:`attributes` from here on.
    """
    _titles[m] = title
    for signal in signals:
        signal.attrs.update(attributes(m))


def attributes(m: Module) -> dict[str, str]:
    """Attributes for new signals of a module: the chapter that began last, if any."""
    return {ATTRIBUTE: _titles[m]} if m in _titles else {}


def chapters_by_path(
    il: str, titles: Mapping[str, str], shared: Collection[str], follows: Mapping[str, str]
) -> dict[str, str]:
    """Titles of signals' chapters by the signals' paths within the top module, submodules first.

    ``il`` is RTLIL: a signal has a wire of the same name in each module that reads it. ``titles`` are titles, or empty
    strings, by the signals' own paths, which begin with the top module. If several instances have the same title, the
    result adds the instance to it, unless it is among the ``shared`` ones of chapters that hold several instances.
    ``follows`` says by the paths of submodules how the title of the chapter before their own ones begins.
    """
    wires: dict[str, list[str]] = {}
    for head, body in re.findall(r"^module \\(\S+)\n(.*?)^end$", il, flags=re.M | re.S):
        wires[head] = [f"{head}.{wire}" for wire in re.findall(r"^  wire .*\\(\S+)$", body, flags=re.M)]
    instances: dict[str, set[str]] = {}
    for path, title in titles.items():
        instances.setdefault(title, set()).add(path.rpartition(".")[0])
    paths = [path for module in _inner_first(next(iter(wires)), wires) for path in wires[module] if path in titles]
    for module, previous in reversed([*follows.items()]):
        own = [path for path in paths if path.startswith(f"{module}.")]
        others = [path for path in paths if not path.startswith(f"{module}.")]
        start = 1 + max(place for place, path in enumerate(others) if titles[path].startswith(previous))
        paths = [*others[:start], *own, *others[start:]]
    return {
        path.partition(".")[2]: title if title in shared else _distinct(title, path, instances[title])
        for path in paths
        for title in [titles[path]]
    }


def _inner_first(module: str, modules: Collection[str]) -> list[str]:
    inner = [other for other in modules if other.rpartition(".")[0] == module]
    return [*(path for submodule in inner for path in _inner_first(submodule, modules)), module]


def _distinct(title: str, path: str, instances: set[str]) -> str:
    """A title that names the instance if there are several, by the levels that distinguish it from the others."""
    if not title or len(instances) == 1:
        return title
    own = path.split(".")[:-1]
    others = [names for instance in instances if (names := instance.split(".")) != own]
    shared = [_shared_levels(own, names) for names in others]
    first, last = min(*shared, len(own) - 1), max(shared)
    step, colon, widths = title.partition(":")
    return f"{step} of {'.'.join(own[first : last + 1])}{colon}{widths}"


def _shared_levels(left: list[str], right: list[str]) -> int:
    differing = (level for level, (one, other) in enumerate(zip(left, right, strict=False)) if one != other)
    return next(differing, min(len(left), len(right)))


def in_chapters(netlist: Netlist) -> Netlist:
    """The netlist with its operations in chapters, within a chapter in the order of the labels if dataflow allows it.

    An operation belongs to the chapter of its label, or to the first one that reads it if that is earlier. If nothing
    but ports and registers reads an operation without a label, it belongs to the last chapter that it reads.
    """
    titles = list(dict.fromkeys(label.chapter for label in netlist.labels if label.chapter))
    computed = [item for item in netlist.operations if item.kind != "$dff"]  # registers come first
    results = {operation.result for operation in computed}
    needed: dict[Bit, int] = {}  # the first chapter that needs each bit
    for label in sorted(netlist.labels, key=lambda label: label.bits not in results):
        if label.chapter:
            needed = dict.fromkeys(label.bits, titles.index(label.chapter)) | needed
    for operation in reversed(computed):
        number = min((needed[bit] for bit in operation.result if bit in needed), default=len(titles))
        needed |= dict.fromkeys(operation.result, number)
        needed |= {bit: min(number, needed.get(bit, number)) for bit in operation.reads}
    chapters: dict[Bit, int] = {}
    for operation in computed:
        number = needed[operation.result[0]]
        if number == len(titles):
            number = max((chapters[bit] for bit in operation.reads if bit in chapters), default=0)
        chapters |= dict.fromkeys(operation.result, number)
    ordered = [item for item in netlist.operations if item.kind == "$dff"]
    roots = [label.bits for label in netlist.labels if label.chapter]
    for number, title in enumerate(titles or [""]):
        entered = [replace(item, chapter=title) for item in computed if chapters[item.result[0]] == number]
        ordered += in_dataflow_order(entered, roots + [item.result for item in entered])
    homes = {operation.result: operation.chapter for operation in ordered}
    labels = tuple(replace(label, chapter=homes.get(label.bits, label.chapter)) for label in netlist.labels)
    return replace(netlist, labels=labels, operations=tuple(ordered))
