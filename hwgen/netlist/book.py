"""Chapters of a component: titles that become comments in the Verilog, with the signals that each chapter computes."""

import re
from collections.abc import Collection, Mapping
from weakref import WeakKeyDictionary

from amaranth.hdl import Module, Value

ATTRIBUTE = "chapter"
"""The attribute of a signal that holds the title of its chapter."""

NOTE = "note"
"""The attribute of a signal that holds a comment on its statement."""

# Titles by module, because Amaranth's Module has no place for them; weak, so that modules can be freed.
_titles: WeakKeyDictionary[Module, str] = WeakKeyDictionary()


def chapter(m: Module, title: str, *signals: Value) -> None:
    """Begin a chapter of a module.

    In the Verilog the title is a comment above the statements that compute the chapter's signals (see
    :mod:`hwgen.netlist.chapters`): ``signals``, and those created with the module's :func:`attributes` from here on.
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

    Parameters
    ----------
    il : str
        RTLIL. A signal has a wire of the same name in each module that reads it.
    titles : mapping
        Titles, or empty strings, by the signals' own paths, which begin with the top module. If several instances have
        the same title, the result adds the instance to it.
    shared : collection of str
        Titles of chapters that hold several instances of a module.
    follows : mapping
        By the paths of submodules: how the title of the chapter before their own ones begins.
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
