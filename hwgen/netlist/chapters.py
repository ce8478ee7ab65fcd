"""The order of a netlist's operations: chapter by chapter, each operation after those that it reads."""

from dataclasses import replace

from hwgen.netlist.dataflow import Bit, Netlist, in_dataflow_order


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
