"""What a component says of the chapters of its Verilog: a title for each, with the widths that matter in it."""

import re
from collections.abc import Mapping
from weakref import WeakKeyDictionary

from amaranth.hdl import Module, Value

ATTRIBUTE = "chapter"
"""The attribute of a signal that holds the title of its chapter."""

_titles: WeakKeyDictionary[Module, str] = WeakKeyDictionary()


def chapter(m: Module, title: str, *signals: Value) -> None:
    """Begin a chapter of a module.

    In the Verilog the title is a comment, and below it stands what computes the chapter's signals, see
    :mod:`hwgen.netlist.chapters`: ``signals``, and those that get the module's :func:`attributes` from here on.
    """
    _titles[m] = title
    for signal in signals:
        signal.attrs.update(attributes(m))


def attributes(m: Module) -> dict[str, str]:
    """The attributes of new signals of a module: the chapter that it began last, if any."""
    return {ATTRIBUTE: _titles[m]} if m in _titles else {}


def chapters_by_path(il: str, titles: Mapping[str, str]) -> dict[str, str]:
    """Titles of signals' chapters by their paths within the top module, submodules first.

    Parameters
    ----------
    il : str
        RTLIL. A signal has a wire in each of its modules that reads it, all under its bare name.
    titles : mapping
        Titles by the signals' true paths, that of the top module in front; empty where there is none. Equal ones of
        several instances are distinguished in the result.
    """
    wires: dict[str, list[str]] = {}
    for module, wire in re.findall(r"^(?:module \\(\S+)|  wire .*\\(\S+))$", il, flags=re.M):
        if module:
            wires[module] = []
        else:
            wires[[*wires][-1]].append(f"{[*wires][-1]}.{wire}")
    instances: dict[str, set[str]] = {}
    for path, title in titles.items():
        instances.setdefault(title, set()).add(path.rpartition(".")[0])
    order: list[str] = []
    ancestors: list[str] = []
    for module in [*wires, ""]:
        while ancestors and not module.startswith(f"{ancestors[-1]}."):
            order.append(ancestors.pop())
        ancestors.append(module)
    paths = [path for module in order for path in wires[module] if path in titles]
    return {path.partition(".")[2]: _distinct(titles[path], path, instances[titles[path]]) for path in paths}


def _distinct(title: str, path: str, instances: set[str]) -> str:
    """A title that says of which instance it is, if there are several."""
    if not title or len(instances) == 1:
        return title
    levels = (level for level in zip(*(instance.split(".") for instance in sorted(instances)), strict=False))
    depth = next(depth for depth, names in enumerate(levels) if len({*names}) > 1)
    step, _, widths = title.partition(":")
    return f"{step} of {path.split('.')[depth]}:{widths}"
