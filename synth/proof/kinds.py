"""Mismatches by kind: what is wrong with a result, how often among directed and random vectors, and where first."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from golden import Format
from golden.wide import wide
from hwgen.blocks.block import Design
from hwgen.blocks.readout import Readout
from hwgen.reference import Pins, reference
from hwgen.reference.reference import ClockedReference, Reference
from hwgen.reference.sums import SumReference
from synth.proof.gates import Netlist
from synth.proof.verify import counterexample

VECTORS = 20_000
"""Vectors on which mismatches are counted."""

SIGN, NAN, NUMBER, PAYLOAD = "sign of zero", "NaN for a number", "number for NaN", "NaN payload"
INFINITY, ULP, LARGER, OTHER = "infinity", "one unit in the last place", "larger error", "other outputs"


def by_kind(design: Design, netlist: Netlist, known: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first mismatch of each kind, with its ``kind`` and ``count``, among vectors and ``known`` mismatches.

    The sentence of each says its kind, and how many of the vectors differ so; 0 if only a known mismatch does.
    """
    model = reference(design)
    cases = [{port: pins[port] for port in model.arguments} for pins in _vectors(model)]
    first: dict[str, dict[str, int]] = {}
    counts: dict[str, int] = {}
    answers = zip(cases, netlist.answers(cases), model.answers(cases), strict=True)
    for pins, got, expected in answers:
        for kind in set(_kinds(model, got, expected)):
            counts[kind] = counts.get(kind, 0) + 1
            first.setdefault(kind, pins)
    for case in known:
        pins, got, expected = (
            {port: int(digits, 16) for port, digits in case[key].items()} for key in ("inputs", "got", "golden")
        )
        for kind in set(_kinds(model, got, expected)):
            first.setdefault(kind, pins)
    records = []
    for kind in sorted(first, key=lambda kind: (-counts.get(kind, 0), kind)):
        record = counterexample(design, first[kind], netlist.evaluate(first[kind]))
        count = counts.get(kind, 0)
        words = f"{kind} ({count:,} of {len(cases):,} vectors)"
        records.append({**record, "kind": kind, "count": count, "sentence": f"{words}: {record['sentence']}"})
    return records


def _vectors(model: Reference) -> list[dict[str, int]]:
    """Directed and random inputs; of blocks with a register of their own, which have other ports, those of a step."""
    rng = np.random.default_rng(1)
    if not isinstance(model, (ClockedReference, SumReference)):
        return model.stimuli(VECTORS, rng)
    near = model.near_stimuli(VECTORS // 2, rng)
    return near if isinstance(model, ClockedReference) else [*near, *model.stimuli(VECTORS // 2, rng)]


def _kinds(model: Reference, got: Pins, expected: Pins) -> Iterator[str]:
    for port, right in expected.items():
        if got[port] != right:
            fmt = _number_format(model, port)
            yield OTHER if fmt is None else _kind(fmt, got[port], right)


def _number_format(model: Reference, port: str) -> Format | None:
    """The format of an output that is one number; None for integers, flags and words of several numbers."""
    core = model.core
    if port == "acc_out":
        return None if core.exact is not None else core.sums.state
    if port not in ("bits", "code"):
        return None
    fmt: Format = core.target if isinstance(core, Readout) else core.fmt if port == "code" else wide(core.target)
    return fmt


def _kind(fmt: Format, got: int, expected: int) -> str:
    wrong, right = (float(fmt.decode(np.array([bits]))[0]) for bits in (got, expected))
    if np.isnan(wrong) or np.isnan(right):
        return PAYLOAD if np.isnan(wrong) and np.isnan(right) else NAN if np.isnan(wrong) else NUMBER
    if np.isinf(wrong) or np.isinf(right):
        return INFINITY
    if wrong == right:
        return SIGN if right == 0 else OTHER
    return ULP if abs(got - expected) == 1 and (wrong < 0) == (right < 0) else LARGER
