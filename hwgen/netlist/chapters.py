"""The order of a netlist's operations: one chapter after the other, each operation behind those that it reads."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from hwgen.netlist.dataflow import Bit, Netlist, Operation, in_dataflow_order


def in_chapters(netlist: Netlist) -> Netlist:
    """The netlist with its operations by chapter, and in each in the order of their labels, as far as they allow it.

    An operation without a chapter of its own stands in the first that reads it. One that reads a later chapter than its own
    stands there.
    """
    titles: dict[Bit, str] = {
        bit: label.chapter
        for label in reversed(netlist.labels)
        for bit in label.bits
        if label.chapter and isinstance(bit, int)
    }
    places = _places(netlist, titles)
    chapters: dict[Bit, int] = {}  # of the operation that a bit arises in; -1 is in front of all
    readers: dict[Bit, int] = {}
    for operation in reversed(netlist.operations):
        own = [places[titles[bit]] for bit in operation.result if bit in titles]
        place = min(own or [readers[bit] for bit in operation.result if bit in readers] or [-1])
        chapters.update(dict.fromkeys(operation.result, place))
        if place >= 0:
            readers |= {bit: min(place, readers.get(bit, place)) for bit in _operand_bits(operation)}
    for operation in netlist.operations:
        if operation.kind != "$dff":  # registers are declared in front of all chapters
            place = max(chapters[bit] for bit in (operation.result[0], *_operand_bits(operation)) if bit in chapters)
            chapters.update(dict.fromkeys(operation.result, place))
    labels = [label.bits for label in netlist.labels if label.chapter]
    ordered = []
    for place, title in enumerate(["", *places], start=-1):
        entered = [replace(item, chapter=title) for item in netlist.operations if chapters[item.result[0]] == place]
        ordered += in_dataflow_order(entered, labels + [item.result for item in entered])
    return replace(netlist, operations=tuple(ordered))


def _operand_bits(operation: Operation) -> Iterator[Bit]:
    return (bit for bits in operation.operands for bit in bits)


def _places(netlist: Netlist, titles: Mapping[Bit, str]) -> dict[str, int]:
    """Places of the chapters: behind those that they read, as far as that can be, otherwise in the labels' order."""
    read: dict[Bit, frozenset[str]] = {}
    needs: dict[str, set[str]] = {label.chapter: set() for label in netlist.labels if label.chapter}
    for operation in netlist.operations:
        sources: frozenset[str] = frozenset().union(*(read.get(bit, frozenset()) for bit in _operand_bits(operation)))
        own = frozenset(titles[bit] for bit in operation.result if bit in titles)
        for title in own:
            needs[title] |= sources - own
        read.update(dict.fromkeys(operation.result, own or sources))
    places: dict[str, int] = {}
    while len(places) < len(needs):
        left = [title for title in needs if title not in places]
        ready = [title for title in left if needs[title] <= places.keys()]
        places[(ready or left)[0]] = len(places)
    return places
