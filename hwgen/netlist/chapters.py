"""The order of a netlist's operations: chapter by chapter, each operation after those that it reads."""

from collections.abc import Mapping
from dataclasses import replace

from hwgen.netlist.dataflow import Bit, Netlist, in_dataflow_order


def in_chapters(netlist: Netlist) -> Netlist:
    """The netlist with its operations in chapters, within a chapter in the order of the labels if dataflow allows it.

    An operation belongs to the chapter of its label, or without one to the first chapter that reads it. An operation
    that reads a later chapter moves there.
    """
    titles: dict[Bit, str] = {
        bit: label.chapter
        for label in reversed(netlist.labels)
        for bit in label.bits
        if label.chapter and isinstance(bit, int)
    }
    numbers = {title: number for number, title in enumerate(_in_order(netlist, titles))}
    chapters: dict[Bit, int] = {}  # where each bit arises; -1 is before all chapters
    readers: dict[Bit, int] = {}
    for operation in reversed(netlist.operations):
        own = [numbers[titles[bit]] for bit in operation.result if bit in titles]
        number = min(own or [readers[bit] for bit in operation.result if bit in readers] or [-1])
        chapters |= dict.fromkeys(operation.result, number)
        if number >= 0:
            readers |= {bit: min(number, readers.get(bit, number)) for bit in operation.reads}
    for operation in netlist.operations:
        if operation.kind != "$dff":  # registers are declared before all chapters
            number = max(chapters[bit] for bit in (operation.result[0], *operation.reads) if bit in chapters)
            chapters |= dict.fromkeys(operation.result, number)
    labels = [label.bits for label in netlist.labels if label.chapter]
    ordered = []
    for number, title in enumerate(["", *numbers], start=-1):
        entered = [replace(item, chapter=title) for item in netlist.operations if chapters[item.result[0]] == number]
        ordered += in_dataflow_order(entered, labels + [item.result for item in entered])
    return replace(netlist, operations=tuple(ordered))


def _in_order(netlist: Netlist, titles: Mapping[Bit, str]) -> list[str]:
    """The chapters, each after those that it reads; where these form a loop, in the order of the labels."""
    sources: dict[Bit, frozenset[str]] = {}  # the chapters that a bit depends on directly
    needs: dict[str, set[str]] = {label.chapter: set() for label in netlist.labels if label.chapter}
    for operation in netlist.operations:
        read = frozenset().union(*(sources.get(bit, frozenset()) for bit in operation.reads))
        own = frozenset(titles[bit] for bit in operation.result if bit in titles)
        for title in own:
            needs[title] |= read - own
        sources |= dict.fromkeys(operation.result, own or read)
    ordered: list[str] = []
    while needs:
        title = next((title for title in needs if needs[title] <= {*ordered}), next(iter(needs)))
        ordered.append(title)
        del needs[title]
    return ordered
