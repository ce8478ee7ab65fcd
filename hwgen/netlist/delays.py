"""How long operations take, as far as balancing a pipeline asks."""

from math import log2

from hwgen.netlist.dataflow import Bits, Operation

DELAYS: dict[str, tuple[float, ...]] = {
    "add": (2.7, 3.7, 7.5, 10.0, 13.0, 16.2),
    "increment": (1.7, 2.4, 3.4, 5.2, 6.7, 9.4),
    "multiply": (2.2, 10.1, 20.4, 31.1),
    "choose": (1.3, 1.4, 1.5, 1.8, 2.3, 3.4),
    "reduce": (0.8, 1.0, 1.5, 2.0, 3.1, 3.8),
    "equal": (1.9, 2.8, 3.6, 4.5, 5.1, 5.9),
    "compare": (1.8, 3.1, 5.1, 6.1, 7.9, 8.8),
    "shift": (1.0, 2.9, 3.7, 6.3, 8.2, 11.1),
}
"""Delays of operations on 2, 4, 8, 16, 32 and 64 bits, in FO4: each alone on our own gates, by the fastest recipe of
the portfolio
``speed`` (``python -m synth.studies.delays`` measures them)."""

_GATE, _XOR = 0.6, 0.9


def delay(operation: Operation) -> float:
    """How long an operation takes, in FO4."""
    kind, operands = operation.kind, operation.operands
    width = max(len(bits) for bits in operands)
    match kind:
        case "$xor" | "$xnor":
            return _XOR
        case "$and" | "$or" | "$not" | "$pos":
            return _GATE
        case "$add" | "$sub":
            return _at("increment" if min(map(_varying, operands)) <= 1 else "add", _added(operands))
        case "$neg":
            return _at("increment", width)
        case "$mul":
            return _at("multiply", min(map(_varying, operands)))
        case "$mux":
            return _at("choose", len(operation.result))
        case "$pmux" | "case":
            choices = _at("equal" if kind == "case" else "reduce", len(operands[0]))
            return choices + _at("reduce", len(operands)) + _GATE
        case "$eq" | "$ne":
            return _at("equal" if all(map(_varying, operands)) else "reduce", width)
        case "$lt" | "$le" | "$gt" | "$ge":
            return _at("compare", width)
        case "$shl" | "$shr":
            return _at("shift", 1 << len(operands[1]))
    return _at("reduce", width)


def _varying(bits: Bits) -> int:
    return sum(not isinstance(bit, str) for bit in bits)


def _added(operands: tuple[Bits, ...]) -> int:
    """Bits through which a sum's carry can run: those from the lowest place on where both operands vary."""
    left, right = operands
    low = next((place for place, pair in enumerate(zip(left, right, strict=True)) if "0" not in pair), len(left))
    return max(len(left) - low, 1)


def _at(kind: str, width: int) -> float:
    """A delay of the table, between two of its widths on a straight line over the logarithm."""
    row = DELAYS[kind]
    place = min(max(log2(max(width, 1)) - 1, 0), len(row) - 1.0)
    below = min(int(place), len(row) - 2)
    return row[below] + (place - below) * (row[below + 1] - row[below])
