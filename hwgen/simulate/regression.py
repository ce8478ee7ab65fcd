"""Regressions of designs: the cases of the engine from vectors in classes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.blocks.block import Design
from hwgen.coverage.analysis import Columns
from hwgen.netlist.emit import CLOCK
from hwgen.reference import Pins, reference
from hwgen.reference.trace import CARE
from hwgen.simulate.case import Case, Explain


def case(
    design: Design,
    verilog: str,
    vectors: Columns,
    classes: Mapping[str, int] | None = None,
    seed: int | None = None,
    **others: Any,
) -> Case:
    """Return the case of a design's module.

    Parameters
    ----------
    design : Design
    verilog : str
        Text of the module, ours or another one with the same ports.
    vectors : mapping of str to array
        Values of all ports but the clock, a row for each case or clock cycle; for clocked modules also the flags of
        :mod:`hwgen.reference.trace`. A cycle becomes two vectors, before and after the rising edge; outputs are
        compared before it.
    classes : mapping of str to int, optional
    seed : int, optional
    others
        Other parameters of :class:`Case`; ``name`` defaults to the design's.
    """
    is_clocked = bool(design.latency)
    repeats = 2 if is_clocked else 1
    widths = {port.name: port.width for port in design.ports}
    columns: dict[str, Any] = {
        name: np.repeat(_words(values, widths.get(name, 1)), repeats, axis=0) for name, values in vectors.items()
    }
    count = len(next(iter(columns.values())))
    clock = np.tile(np.array([0, 1], np.uint8), count // 2)
    if is_clocked:
        columns[CLOCK] = clock
    inputs = {port.name: columns[port.name] for port in design.ports if port.direction == "input"}
    outputs = {port.name: columns[port.name] for port in design.ports if port.direction == "output"}
    care = {name: columns[CARE + name] * (1 - clock) for name in outputs} if is_clocked else None
    counts = {name: repeats * number for name, number in (classes or {}).items()}
    options = {"name": design.name, "explain": results(design) if is_clocked else explain(design), **others}
    return Case(
        verilog=verilog,
        ports=widths,
        inputs=inputs,
        outputs=outputs,
        seed=seed,
        care=care,
        classes=counts,
        per_cycle=repeats,
        **options,
    )


def cycles_case(design: Design, verilog: str, cycles: Sequence[Mapping[str, int]], **others: Any) -> Case:
    """:func:`case` of vectors as mappings."""
    vectors = {name: np.array([cycle[name] for cycle in cycles], object) for name in cycles[0]}
    return case(design, verilog, vectors, **others)


def explain(design: Design) -> Explain:
    """The reference model's sentence about a mismatch, in terms of the module's ports."""
    model = reference(design)

    def sentence(inputs: Pins, got: Pins, expected: Pins) -> str:
        return model.explain(model.logical(inputs), got, expected)

    return sentence


def results(design: Design) -> Explain:
    """A sentence about the outputs of a cycle that differ, with their exact values."""
    model = reference(design)

    def sentence(inputs: Pins, got: Pins, expected: Pins) -> str:
        del inputs
        wrong = [port for port in expected if got[port] != expected[port]]
        values = (tuple(model.value(port, word[port]) for word in (got, expected)) for port in wrong)
        return "; ".join(
            f"{port} is {left}; expected {right}" for port, (left, right) in zip(wrong, values, strict=True)
        )

    return sentence


def _words(values: NDArray[Any], width: int) -> NDArray[np.uint64]:
    """Values of a port; more than 64 bits are split into limbs, unless they are."""
    if width <= 64 or values.ndim == 2:
        return values.astype(np.uint64)
    places = np.array([64 * limb for limb in range(-(-width // 64))], object)
    words: NDArray[np.uint64] = (values.astype(object)[:, np.newaxis] >> places & (1 << 64) - 1).astype(np.uint64)
    return words
