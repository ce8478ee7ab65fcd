"""The operations that an energy is measured with: natural operands, and what the reference model answers.

MACs, dot products and processing elements add products to running sums of :data:`TERMS` products; a sum that overflows
ends early. With N accumulators in turn, N sums run at the same time. A readout reads each state of such a sum. Codes
are those of :func:`synth.energy.data.nearest`, at the scale of :func:`synth.energy.data.scaled`; blocks with scales are
quantized by :func:`golden.quantize_block`. Random words are uniform, other controls constant: scales of the port
``scale`` are 0, and an encoder with the port ``hybrid`` rounds so. A largest magnitude starts again after as many words
of numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden import Format
from golden.refusal import Refusal
from golden.wide import wide
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import BLOCKS
from hwgen.reference import REFERENCES, Reference, reference
from hwgen.reference.amax import AmaxReference
from hwgen.reference.reference import column, integers
from hwgen.reference.reference import columns as columns_of
from hwgen.reference.reference import rows as rows_of
from hwgen.reference.sums import SumReference
from hwgen.reference.trace import RegisterState
from synth.energy.data import RUN, SEED, Data, Numbers, magnitude, nearest, scaled
from synth.energy.simulator import Stimuli

TERMS = RUN
"""Products of a running sum."""
WARM_UP = 16
"""Operations that fill a module and are not counted."""
RESET = 2
"""Cycles of reset before these."""
MEASURED = tuple(name for name in REFERENCES if BLOCKS[name].formats)
"""Names of the blocks with a reference model and numbers to operate on."""

Columns = Mapping[str, NDArray[Any]]
"""Values of ports by operation."""


@dataclass(frozen=True)
class Workload:
    """Operations of a module."""

    pins: Sequence[Mapping[str, int]]
    """Values of the module's inputs, without the clock, for each operation."""
    expected: Sequence[Mapping[str, int]]
    """Values of its outputs; they appear :attr:`latency` operations later."""
    warm_up: int
    """Operations before those that count."""
    first: int
    """The first operation after the reset."""
    latency: int

    @property
    def counted(self) -> int:
        """Number of operations that count."""
        return len(self.pins) - self.warm_up

    def stimuli(self, ports: Mapping[str, int]) -> Stimuli:
        """The bits of the inputs, for ports by width in their order in a netlist."""
        return Stimuli(bits([[pins[name] for pins in self.pins] for name in ports], list(ports.values())), self.warm_up)

    def mismatch(self, ports: Mapping[str, int], observed: NDArray[np.uint8]) -> str | None:
        """What is wrong with the observed bits of the outputs; None if all are as expected."""
        place = 0
        for name, width in ports.items():
            got = observed[self.first + self.latency :, place : place + width]
            place += width
            known = self.expected[self.first : len(self.expected) - self.latency]
            if not known or name not in known[0]:
                continue
            right = bits([[outputs[name] for outputs in known]], [width])
            wrong = np.flatnonzero((got != right).any(axis=1))
            if wrong.size:
                number = int(wrong[0])
                word = sum(int(bit) << weight for weight, bit in enumerate(got[number]))
                case = ", ".join(f"{pin} {value:#x}" for pin, value in self.pins[self.first + number].items())
                wrongs = f"{name} is {word:#x} instead of {known[number][name]:#x}"
                return f"{wrong.size} of {len(known)} results are wrong; in operation {number}, with {case}, {wrongs}"
        return None


def bits(columns: Sequence[Sequence[int]], widths: Sequence[int]) -> NDArray[np.uint8]:
    """Bits of unsigned integers, shape (operations, sum of the widths), least significant first."""
    parts = []
    for values, width in zip(columns, widths, strict=True):
        size = -(-width // 8)
        octets = np.frombuffer(b"".join(int(value).to_bytes(size, "little") for value in values), np.uint8)
        parts.append(np.unpackbits(octets.reshape(len(values), size), axis=1, bitorder="little")[:, :width])
    return np.ascontiguousarray(np.concatenate(parts, axis=1)) if parts else np.zeros((0, 0), np.uint8)


def workload(design: Design, data: Data, operations: int) -> Workload:
    """The operations of a design: ``operations`` that count, and those before them."""
    model = reference(design)
    reset = RESET if any(port.name == "rst" for port in design.ports) else 0
    warm_up = reset + WARM_UP + design.latency
    total = warm_up + operations - reset
    if isinstance(model, AmaxReference):
        inputs, outputs = _amax(model, data, total)
    elif design.kind in _OPERANDS:
        inputs = _OPERANDS[design.kind](model, data, total)
        outputs = model.columns(inputs)
    else:
        inputs, outputs = _sums(model, data, total)
    names = {port.name for port in design.ports if port.direction == "input"}
    constant = {name: 1 for name in ("in_valid", "enable") if name in names and name not in inputs}
    drawn = {"random"} - names  # inside
    cases = [
        {name: word for name, word in model.physical(case).items() if name not in drawn}
        | constant
        | ({"rst": 0} if reset else {})
        for case in (dict(zip(inputs, map(int, row), strict=True)) for row in zip(*inputs.values(), strict=True))
    ]
    expected = [dict(zip(outputs, map(int, row), strict=True)) for row in zip(*outputs.values(), strict=True)]
    if design.pipeline.stages:
        expected = [{**outputs, "out_valid": 1} for outputs in expected]
    resetting = [{**cases[0], "rst": 1}] * reset
    return Workload([*resetting, *cases], [*expected[:1] * reset, *expected], warm_up, reset, design.latency)


# -- blocks without a sum


def _decoder(model: Reference, data: Data, count: int) -> Columns:
    fmt = model.core.fmt
    return {"code": nearest(fmt, scaled(fmt, data.streams(count)[0])).astype(np.uint64)}


def _encoder(model: Reference, data: Data, count: int) -> Columns:
    core = model.core
    numbers = scaled(core.fmt, data.streams(count)[0])
    inputs = {"bits": nearest(core.source, numbers).astype(np.uint64)}
    if core.rounding_pin:
        inputs["hybrid"] = np.ones(count, np.uint64)
    if core.scale_bits:
        inputs["scale"] = np.zeros(count, np.uint64)
    return inputs | _random(model, count)


def _random(model: Reference, count: int) -> dict[str, NDArray[Any]]:
    width = model.inputs.get("random")
    return {} if width is None else {"random": _random_words(model, width, 1, count)}


def _random_words(model: Reference, width: int, lanes: int, count: int) -> NDArray[Any]:
    """Words of all lanes: those of the register after a reset, if there is one."""
    if model.design.source is None:
        drawn = np.random.default_rng(SEED).integers(0, 1 << width, (count, lanes))
        return _words(drawn, width) if lanes > 1 else drawn[:, 0].astype(np.uint64)
    state, words = RegisterState(model.design.source), []
    for _ in range(count):
        words.append(state.word)
        state.clock(rst=0, enable=1)
    return column(words)


def _quantizer(model: Reference, data: Data, count: int) -> Columns:
    lanes, source = model.core.lanes, wide(model.core.source)
    codes = nearest(source, data.streams(count * lanes)[0]).reshape(count, lanes)
    inputs = {"bits": _words(codes, source.width)}
    if model.core.random_bits is not None:
        inputs["random"] = _random_words(model, model.core.random_bits, lanes, count)
    return inputs


def _readout(model: Reference, data: Data, count: int) -> Columns:
    core, unit = model.core, model.core.exact
    steps = min(TERMS, unit.terms)
    chains = -(-count // steps)
    a, b = _codes((core.a_format, core.b_format), data, (chains, steps))
    scales = [np.zeros(chains, np.int64)] if core.accumulator_scale_bits else []
    state, states = unit.zeros((chains,)), []
    for step in range(steps):
        state = unit.accumulate(a[:, step], b[:, step], state, *scales)
        states.append(integers(state))
    acc = np.stack(states, axis=1).ravel()[:count]
    scale = {"scale": np.zeros(count, np.uint64)} if core.scale_bits else {}
    return {"acc": _narrow(acc, model.inputs["acc"]), **scale, **_random(model, count)}


# -- blocks with a register, and sums


def _amax(model: AmaxReference, data: Data, count: int) -> tuple[Columns, Columns]:
    """Largest magnitudes of :data:`TERMS` words of numbers, with ``clear`` at the first."""
    core, lanes = model.core, model.core.lanes
    codes = nearest(core.source, scaled(core.source, data.streams(count * lanes)[0])).reshape(count, lanes)
    clear = (np.arange(count) % TERMS == 0).astype(np.uint64)
    inputs = {"clear": clear, "enable": np.ones(count, np.uint64), "bits": _words(codes, core.source.width)}
    rows, state = [], model.cleared
    for pins in rows_of(inputs):
        state = model.step(pins, model.cleared if pins["clear"] else state)
        rows.append(state)
    return inputs, columns_of(rows)


def _sums(model: Reference, data: Data, count: int) -> tuple[Columns, Columns]:
    """Running sums; the pins of a processing element are those of its steps, with ``clear`` at the start of a sum."""
    assert isinstance(model, SumReference)
    core, lanes = model.core, model.design.lanes
    is_element, turns = model.design.kind == "pe", getattr(core, "interleave", 1)
    steps = max(1, min(TERMS, core.terms or TERMS) // lanes)
    chains = -(-count // (steps * turns)) * turns
    operands = _operands(model, data, (chains, steps, lanes))
    width = model.results["acc_out"]
    acc = _narrow(np.zeros(chains, object), width)
    fresh = np.ones(chains, np.bool_)
    rows: list[dict[str, NDArray[Any]]] = []
    sticky: dict[str, NDArray[Any]] = {}
    for step in range(steps):
        inputs = {name: values[:, step] for name, values in operands.items()}
        before = {"acc_in": acc} if "acc_in" in model.arguments else {}
        outputs = dict(model.columns({**inputs, **before}))
        total = _narrow(np.asarray(outputs.pop("acc_out"), object), width)
        if is_element:
            sticky = {
                name: np.where(fresh, 0, sticky.get(name, 0)) | np.asarray(values).astype(np.int64)
                for name, values in outputs.items()
            }
            controls = {"clear": fresh.astype(np.uint64), "enable": np.ones(chains, np.uint64)}
            rows.append({**controls, **inputs, "acc": total, **sticky})
        else:
            rows.append({**inputs, **before, "acc_out": total, **outputs})
        fresh = ~_finite(core, total)
        acc = np.where(fresh, 0, total).astype(total.dtype)
    columns = {name: _in_turn(np.stack([row[name] for row in rows], axis=1), turns)[:count] for name in rows[0]}
    results = ("acc", "overflow", "flags") if is_element else ("acc_out", "overflow", "flags")
    inputs = {name: values for name, values in columns.items() if name not in results}
    return inputs, {name: values for name, values in columns.items() if name in results}


def _operands(model: SumReference, data: Data, shape: tuple[int, int, int]) -> dict[str, NDArray[Any]]:
    """Codes of all lanes, scales and random words, by port; shape (chains, steps)."""
    core = model.core
    scales: dict[str, NDArray[Any]] = {}
    a, b = _codes(model.formats, data, shape)
    if core.block_scale is not None:
        numbers = [np.ldexp(row, -magnitude(row)) for row in data.streams(int(np.prod(shape)))]
        one = int(nearest(core.block_scale, np.ones(1))[0])
        scales = {name: np.full(shape[:2], one, np.uint64) for name in ("a_scale", "b_scale")}
        try:
            blocks = [
                golden.quantize_block(row.reshape(shape).astype(np.float32), fmt, core.block_scale)
                for row, fmt in zip(numbers, model.formats, strict=True)
            ]
        except Refusal:  # blocks are quantized to some formats of elements and of scales only
            blocks = []
        if blocks:
            (a, a_scale), (b, b_scale) = blocks
            scales = {"a_scale": a_scale.astype(np.uint64), "b_scale": b_scale.astype(np.uint64)}
    elif core.scale_bits:
        scales = {"scale": np.zeros(shape[:2], np.uint64)}
    fa, fb = model.formats
    drawn = {name: words.reshape(shape[:2]) for name, words in _random(model, shape[0] * shape[1]).items()}
    return {"a": _words(a, fa.width), "b": _words(b, fb.width), **scales, **drawn}


def _codes(formats: tuple[Format, Format], data: Data, shape: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    streams: Numbers = data.streams(int(np.prod(shape)))
    a, b = (nearest(fmt, scaled(fmt, row)).reshape(shape) for fmt, row in zip(formats, streams, strict=True))
    return a, b


def _finite(core: Any, total: NDArray[Any]) -> NDArray[np.bool_]:
    if core.exact is not None:
        return (total >> core.exact.value_width) == 0
    return np.isfinite(core.sums.state.decode(total))


def _in_turn(values: NDArray[Any], turns: int) -> NDArray[Any]:
    """Values of shape (chains, steps) in the order of operations, with ``turns`` chains at the same time."""
    chains, steps = values.shape
    return values.reshape(chains // turns, turns, steps).swapaxes(1, 2).ravel()


def _words(codes: NDArray[Any], width: int) -> NDArray[Any]:
    """The codes of the last axis side by side, the first one in the least significant bits."""
    lanes = codes.shape[-1]
    places = np.array([lane * width for lane in range(lanes)], object)
    return _narrow((codes.astype(object) << places).sum(axis=-1), lanes * width)


def _narrow(values: NDArray[Any], width: int) -> NDArray[Any]:
    """As unsigned integers if they fit, else as Python integers."""
    return values.astype(np.uint64 if width <= 64 else object)


_OPERANDS: dict[str, Callable[[Reference, Data, int], Columns]] = {
    "decoder": _decoder,
    "encoder": _encoder,
    "quantizer": _quantizer,
    "readout": _readout,
}
"""Blocks whose operands are no sums."""
