"""Delays of operations, accurate enough to balance the stages of a pipeline."""

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
"""Delays in FO4 of operations on 2, 4, 8, 16, 32 and 64 bits, each measured alone on the project's own gates with the
fastest recipe of the portfolio ``speed`` without don't-cares (``python -m synth.studies.delays``).
"""

_GATE, _XOR = 0.6, 0.9


def delay(operation: Operation) -> float:
    """The delay of an operation, in FO4."""
    kind, operands = operation.kind, operation.operands
    width = max(len(bits) for bits in operands)
    match kind:
        case "$xor" | "$xnor":
            return _XOR
        case "$and" | "$or" | "$not" | "$pos":
            return _GATE
        case "$add" | "$sub":
            return _measured("increment" if min(map(_varying, operands)) <= 1 else "add", _added(operands))
        case "$neg":
            return _measured("increment", width)
        case "$mul":
            return _measured("multiply", min(map(_varying, operands)))
        case "$mux":
            return _measured("choose", len(operation.result))
        case "$pmux" | "case":
            choices = _measured("equal" if kind == "case" else "reduce", len(operands[0]))
            return choices + _measured("reduce", len(operands)) + _GATE
        case "$eq" | "$ne":
            return _measured("equal" if all(map(_varying, operands)) else "reduce", width)
        case "$lt" | "$le" | "$gt" | "$ge":
            return _measured("compare", width)
        case "$shl" | "$shr":
            return _measured("shift", 1 << len(operands[1]))
    return _measured("reduce", width)


def _varying(bits: Bits) -> int:
    return sum(not isinstance(bit, str) for bit in bits)


def _added(operands: tuple[Bits, ...]) -> int:
    """Length of a sum's carry chain: it starts at the lowest place where neither operand is a constant 0."""
    left, right = operands
    low = next((place for place, pair in enumerate(zip(left, right, strict=True)) if "0" not in pair), len(left))
    return max(len(left) - low, 1)


def _measured(kind: str, width: int) -> float:
    """A delay from the table, interpolated linearly over the logarithm of the width."""
    row = DELAYS[kind]
    place = min(max(log2(max(width, 1)) - 1, 0), len(row) - 1.0)
    below = min(int(place), len(row) - 2)
    return row[below] + (place - below) * (row[below + 1] - row[below])
