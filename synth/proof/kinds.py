"""Mismatches by kind: what is wrong with a result, how often among directed and random vectors, and where first."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hwgen.blocks.block import Design
from hwgen.reference import Pins, reference
from hwgen.reference.kinds import kinds
from hwgen.reference.reference import ClockedReference, Reference
from hwgen.reference.sums import SumReference
from synth.proof.gates import Netlist
from synth.proof.verify import counterexample

VECTORS = 20_000
"""Vectors on which mismatches are counted."""


def by_kind(design: Design, netlist: Netlist, known: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first mismatch of each kind, with its ``kind`` and ``count``, among vectors and ``known`` mismatches.

    The sentence of each says its kind, and how many of the vectors differ so; 0 if only a known mismatch does. It ends
    with two inputs that differ in one bit, ``wrong`` and ``right``; the module gets the second one right.
    """
    model = reference(design)
    cases = [{port: pins[port] for port in model.arguments} for pins in _vectors(model)]
    first: dict[str, dict[str, int]] = {}
    counts: dict[str, int] = {}
    right = []
    answers = zip(cases, netlist.answers(cases), model.answers(cases), strict=True)
    for pins, got, expected in answers:
        for kind in kinds(model, got, expected):
            counts[kind] = counts.get(kind, 0) + 1
            first.setdefault(kind, pins)
        if got == expected:
            right.append(pins)
    for case in known:
        pins, got, expected = (
            {port: int(digits, 16) for port, digits in case[key].items()} for key in ("inputs", "got", "golden")
        )
        for kind in kinds(model, got, expected):
            first.setdefault(kind, dict(pins))
    records = []
    for kind in sorted(first, key=lambda kind: (-counts.get(kind, 0), kind)):
        start, count = first[kind], counts.get(kind, 0)
        record = {**counterexample(design, start, netlist.evaluate(start)), "kind": kind, "count": count}
        sentence = f"{kind} ({count:,} of {len(cases):,} vectors): {record['sentence']}"
        if pair := _neighbours(model, netlist, start, right):
            record |= {
                key: {port: f"{word:#x}" for port, word in inputs.items()}
                for key, inputs in zip(("wrong", "right"), pair, strict=True)
            }
            sentence += f"; {_said(start, *pair)}"
        records.append({**record, "sentence": sentence})
    return records


def _neighbours(model: Reference, netlist: Netlist, wrong: Pins, right: Sequence[Pins]) -> tuple[Pins, Pins] | None:
    """Inputs that are wrong, and inputs with one other bit that are right; those of ``wrong`` if it has such a bit.

    Else they are on the way to the nearest of ``right``, one bit a step; None if there is none.
    """
    bits = [(port, bit) for port, width in model.arguments.items() for bit in range(width)]
    start = {port: wrong[port] for port in model.arguments}
    near = [_flipped(start, *place) for place in sorted(bits, key=lambda place: place[1] % _unit(model, place[0]))]
    if (place := _first_right(model, netlist, near)) is not None:
        return start, near[place]
    if not right:
        return None
    goal = min(right, key=lambda pins: sum((pins[port] ^ start[port]).bit_count() for port in start))
    way = [start]
    for port, bit in bits:
        if (start[port] ^ goal[port]) >> bit & 1:
            way.append(_flipped(way[-1], port, bit))
    end = _first_right(model, netlist, way)
    assert end  # the last one is right, the first is not
    return way[end - 1], way[end]


def _unit(model: Reference, port: str) -> int:
    """Bits of one number of a port."""
    return model.design.codes[port].width if port in model.design.codes else model.arguments[port]


def _flipped(pins: Pins, port: str, bit: int) -> dict[str, int]:
    return {**pins, port: pins[port] ^ 1 << bit}


def _first_right(model: Reference, netlist: Netlist, cases: Sequence[Pins]) -> int | None:
    pairs = zip(netlist.answers(cases), model.answers(cases), strict=True)
    return next((place for place, (got, expected) in enumerate(pairs) if got == expected), None)


def _said(pins: Pins, wrong: Pins, right: Pins) -> str:
    (port,) = (port for port in right if wrong[port] != right[port])
    changed = f"with {port} {right[port]:#x} instead of {wrong[port]:#x} it is right"
    if all(wrong[port] == pins[port] for port in wrong):
        return changed
    return f"{', '.join(f'{port} {word:#x}' for port, word in wrong.items())} is wrong, too, but {changed}"


def _vectors(model: Reference) -> list[dict[str, int]]:
    """Directed and random inputs; of blocks with a register of their own, which have other ports, those of a step."""
    rng = np.random.default_rng(1)
    if not isinstance(model, (ClockedReference, SumReference)):
        return model.stimuli(VECTORS, rng)
    near = model.near_stimuli(VECTORS // 2, rng)
    return near if isinstance(model, ClockedReference) else [*near, *model.stimuli(VECTORS // 2, rng)]
