"""What decoders, encoders, readouts and quantizers exercise: classes of codes, and what rounding does to numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden import WIDE, Format
from golden.wide import wide
from hwgen.blocks.quantizer import E8M0
from hwgen.blocks.readout import output
from hwgen.coverage.numbers import (
    OUTCOMES,
    TIE_DOWN,
    class_names,
    classes,
    flag_points,
    neighbours,
    outcomes,
    row_name,
)
from hwgen.coverage.points import Analysis, Point, View, event, word_point
from hwgen.reference.amax import AmaxReference
from hwgen.reference.conversions import DecoderReference, EncoderReference, QuantizerReference, ReadoutReference
from hwgen.reference.reference import Columns, column, columns, parted
from hwgen.reference.vectors import boundaries, random_binary32

CLASSES = ("specials", "overflow", "subnormals", "ties", "boundaries")
"""Directed classes of conversions."""

MAX_CODE_BITS = 9
"""Formats of at most as many bits have a bin for each code."""


class Rounded:
    """Numbers, and the codes of a format that they are rounded to."""

    def __init__(self, fmt: Format, exact: NDArray[np.float64], codes: NDArray[Any]):
        self.fmt, self.exact, self.codes = fmt, exact, codes
        self.result, self.around = fmt.decode(codes.astype(np.uint32)), neighbours(fmt, exact)
        self.outcome = np.where(self.around.row >= 0, outcomes(exact, self.result, self.around.half), -1)
        """What rounding did; -1 for numbers past the largest value, too."""

    def points(self) -> list[Point]:
        """The outcome by the row of the lower neighbour, the result, and the ends."""
        fmt, exact, row = self.fmt, self.exact, self.around.row
        magnitude = np.abs(exact)
        past = np.where(np.isfinite(exact) & (magnitude > fmt.largest), magnitude, np.nan)
        middle = (
            fmt.largest * (1 + 2.0**-fmt.precision) if not fmt.has_tables else (fmt.largest + fmt.above_largest) / 2
        )
        with np.errstate(invalid="ignore"):
            kinds = np.select([past < middle, past == middle, past > middle], [0, 1, 2], -1)
        return [
            *(
                Point(
                    f"rounding above a value: {row_name(fmt, place)}",
                    OUTCOMES,
                    np.where(row == place, self.outcome, -1),
                )
                for place in range(len(fmt.rows))
            ),
            Point("class of the result", class_names(fmt), classes(fmt, self.codes)),
            Point("past the largest value", ("below the middle to the next step", "in the middle", "beyond"), kinds),
            event("number that becomes zero", np.isfinite(exact) & (exact != 0) & (self.result == 0)),
        ]

    def classes(self) -> NDArray[Any]:
        """The class of each number, an index into :data:`CLASSES`."""
        magnitude, low = np.abs(self.exact), self.around.low
        with np.errstate(invalid="ignore"):
            edge = (magnitude == low) | (np.frexp(low)[0] == 0.5)
        conditions = [
            ~np.isfinite(self.exact) | (self.exact == 0),
            magnitude >= self.fmt.largest,
            magnitude < self.fmt.smallest_normal,
            self.outcome >= TIE_DOWN,
            edge,
        ]
        return np.select(conditions, range(len(conditions)), -1)


class DecoderAnalysis(Analysis):
    """Decoders: every code, and for wide targets what rounding does."""

    classes = ("specials", "subnormals")
    model: DecoderReference

    def view(self, inputs: Columns, outputs: Columns) -> View:
        fmt, codes = self.model.core.fmt, inputs["code"].astype(np.int64)
        values = fmt.values.take(codes)
        points = [Point("class of the code", class_names(fmt), classes(fmt, codes))]
        if fmt.width <= MAX_CODE_BITS:
            points.append(Point("code", tuple(f"{code:#x}" for code in range(1 << fmt.width)), codes))
        if "bits" in outputs:
            points += Rounded(wide(self.model.core.target), values, outputs["bits"]).points()
        special = ~np.isfinite(values) | (values == 0)
        label = np.select([special, np.abs(values) < fmt.smallest_normal], [0, 1], -1)
        return View(points, label)


class EncoderAnalysis(Analysis):
    """Encoders: classes of inputs and results, rounding above each row, thresholds of random words."""

    classes = (*CLASSES, "thresholds")
    model: EncoderReference

    def view(self, inputs: Columns, outputs: Columns) -> View:
        core, bits = self.model.core, inputs["bits"]
        fmt, source = core.fmt, core.source
        numbers = Rounded(fmt, self.model.exact(inputs), outputs["code"])
        points = [Point("class of the input", class_names(source), classes(source, bits)), *numbers.points()]
        label = numbers.classes()
        if core.rounding_pin:
            points.append(Point("hybrid", ("0", "1"), inputs["hybrid"].astype(np.int64)))
        if core.random_bits is not None:
            near = self._threshold(numbers, inputs["random"])
            points.append(word_point("random word", inputs["random"], core.random_bits))
            points.append(Point("random word at the threshold", ("one below", "at it"), near))
            label = np.where((label < 0) & (near >= 0), len(CLASSES), label)
        return View(points + flag_points(outputs), label)

    def _threshold(self, numbers: Rounded, random: NDArray[Any]) -> NDArray[np.int64]:
        """0 if the word is the largest that rounds down by ``stochastic``, 1 if it is the smallest that rounds up."""
        exact, around, scale = numbers.exact, numbers.around, 2.0 ** int(self.model.core.random_bits or 0)
        inside = np.isfinite(exact) & (around.row >= 0) & (around.low != np.abs(exact)) & np.isfinite(around.high)
        position = np.where(inside, np.abs(exact) - around.low, 0.0) * scale
        steps = np.floor(position / np.where(inside, around.high - around.low, 1.0)) + random.astype(np.float64)
        return np.select([inside & (steps == scale - 1), inside & (steps == scale)], [0, 1], -1)

    def candidates(self, count: int, rng: np.random.Generator) -> Columns:
        """Boundaries of rounding and random numbers; random words at their thresholds, too."""
        core = self.model.core
        if core.source.name == "binary32":
            marks = boundaries(core.fmt)
            bits = np.concatenate(
                [rng.choice(marks, count - count // 2), random_binary32(core.fmt, count // 2, rng)]
            ).astype(np.uint64)
        else:
            bits = rng.integers(0, 1 << core.source.width, count).astype(np.uint64)
            half = count // 2
            bits[:half] = self._near_values(half, rng)
        table: dict[str, NDArray[Any]] = {}
        if core.scale_bits:
            table["scale"] = rng.integers(0, 1 << core.scale_bits, count).astype(np.uint64)
        table["bits"] = self.model.moved(bits, table)
        if core.rounding_pin:
            table["hybrid"] = rng.integers(0, 2, count).astype(np.uint64)
        if core.random_bits is not None:
            table["random"] = self._random_words(self.model.exact(table), rng)
        return table

    def _near_values(self, count: int, rng: np.random.Generator) -> NDArray[np.uint64]:
        """Codes of the source at and next to the boundaries of the format."""
        core = self.model.core
        if core.source.name not in WIDE:
            return rng.integers(0, 1 << core.source.width, count).astype(np.uint64)
        codes = core.source.encode(rng.choice(boundaries(core.fmt), count), "binary32").astype(np.int64)
        body = np.clip((codes & (core.source.sign_bit - 1)) + rng.integers(-1, 2, count), 0, core.source.sign_bit - 1)
        return (body | codes & core.source.sign_bit).astype(np.uint64)

    def _random_words(self, exact: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.uint64]:
        core = self.model.core
        width = int(core.random_bits or 0)
        around = neighbours(core.fmt, exact)
        with np.errstate(invalid="ignore", divide="ignore"):
            position = (np.abs(exact) - around.low) / (around.high - around.low)
        steps = np.floor(np.where((position > 0) & (position < 1), position, 0.0) * 2.0**width)
        at = np.clip(2.0**width - steps - rng.integers(0, 2, exact.size), 0, (1 << width) - 1)
        words = rng.integers(0, 1 << width, exact.size).astype(np.uint64)
        corner = rng.choice(np.array([0, (1 << width) - 1], np.uint64), exact.size)
        kind = rng.integers(0, 4, exact.size)
        return np.select([kind == 0, kind < 3], [corner, at.astype(np.uint64)], words)


class ReadoutAnalysis(Analysis):
    """Readouts: flags and size of the accumulator, classes of results, rounding above each row."""

    classes = CLASSES
    model: ReadoutReference

    def view(self, inputs: Columns, outputs: Columns) -> View:
        core, unit = self.model.core, self.model.core.exact
        words = inputs["acc"].astype(object)
        flags, value = (words >> unit.value_width).astype(np.int64), words & (1 << unit.value_width) - 1
        negative = (value >> unit.value_width - 1).astype(np.int64)
        size = np.where(negative == 1, (1 << unit.value_width) - value, value)
        length = np.array([int(number).bit_length() for number in size])
        numbers = Rounded(core.target, self.model.exact(inputs), outputs[output(core.target)])
        names = ("none", "+Inf", "-Inf", "+Inf, -Inf", "NaN", "NaN, +Inf", "NaN, -Inf", "all")
        lengths = tuple(map(str, range(unit.value_width + 1)))
        points = [
            Point("flags of the accumulator", names, flags),
            Point("sign of the accumulator", ("0", "1"), negative),
            Point("bits of the magnitude", lengths, np.where(flags == 0, length, -1)),
            *numbers.points(),
        ]
        if core.random_bits is not None:
            points.append(word_point("random word", inputs["random"], core.random_bits))
        return View(points + flag_points(outputs), numbers.classes())

    def candidates(self, count: int, rng: np.random.Generator) -> Columns:
        """Accumulators of every size, half of them next to a boundary of the target, and zeros."""
        table = columns(self.model.stimuli(count, rng))
        acc = table["acc"].astype(object)
        chosen = np.flatnonzero(rng.integers(0, 2, count) == 0)
        scale = self.model.scales(table)
        acc[chosen] = self._near_values(np.zeros(chosen.size, int) if scale is None else scale[chosen], rng)
        acc[rng.integers(0, 64, count) == 0] = 0  # which has no first 1, and the other ways rarely give
        table["acc"] = column(acc.tolist())
        return table

    def _near_values(self, scale: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Accumulators that are, after the scale, at and next to values of the target, and middles between them."""
        unit, target, count = self.model.core.exact, self.model.core.target, scale.size
        if target.has_tables:
            low = rng.choice(target.magnitude_codes, count)
            values = target.values.take(low)
            middles = values + target.quanta(low) / 2
        else:
            values = np.ldexp(1 + rng.integers(0, 1 << 23, count) * 2.0**-23, rng.integers(-126, 127, count))
            middles = values * (1 + 2.0**-24)
        numbers = np.where(rng.integers(0, 2, count) == 0, values, middles)
        last, mask = 1 << unit.value_width - 1, (1 << unit.value_width) - 1
        words = []
        near, signs = rng.integers(-1, 2, count).tolist(), rng.integers(0, 2, count).tolist()
        for number, step, sign, power in zip(numbers.tolist(), near, signs, scale.tolist(), strict=True):
            numerator, denominator = number.as_integer_ratio()
            places = -unit.lsb_exponent - power - (denominator.bit_length() - 1)
            whole = numerator << places if places >= 0 else numerator >> -places
            whole = min(whole + step, last - 1)
            words.append((-whole if sign else whole) & mask)
        return np.array(words, object)


class QuantizerAnalysis(Analysis):
    """Quantizers: classes of numbers, scales, the leading lane, and rounding of elements."""

    classes = ("specials", "ends of the scale", "ties", "boundaries")
    model: QuantizerReference

    def view(self, inputs: Columns, outputs: Columns) -> View:
        model, core = self.model, self.model.core
        source, fmt, lanes = wide(core.source), core.fmt, core.lanes
        numbers = model.numbers(inputs["bits"]).astype(np.float64)
        bits = parted(inputs["bits"], source.width, lanes).astype(np.int64)
        codes = parted(outputs["codes"], fmt.width, lanes).astype(np.int64)
        scale = outputs["scale"].astype(np.int64)
        finite = np.asarray(np.isfinite(numbers).all(axis=-1))
        with np.errstate(invalid="ignore"):
            exact = np.where(finite[:, np.newaxis], numbers / E8M0.values.take(scale)[:, np.newaxis], np.nan)
        elements = Rounded(fmt, exact, codes)
        magnitude = np.where(finite[:, np.newaxis], np.abs(numbers), 0.0)
        leader = np.where(finite & (magnitude.max(axis=-1) > 0), np.argmax(magnitude, axis=-1), -1)
        special = ~np.isfinite(numbers)
        alone = np.where(special.sum(axis=-1) == 1, np.argmax(special, axis=-1), -1)
        names = tuple(f"lane {lane}" for lane in range(lanes))
        kinds = np.select([scale == 0, scale == 254, scale == 255], [0, 2, 3], 1)
        top = magnitude.max(axis=-1)
        fraction = np.where(top > 0, np.frexp(np.where(top > 0, top, 1.0))[0] * 2, -1)
        parts = ("power of two", "below the root of 2", "above the root of 2")
        part = np.select([fraction == 1, (fraction > 1) & (fraction**2 < 2), fraction**2 > 2], [0, 1, 2], -1)
        points = [
            Point("class of a number", class_names(source), classes(source, bits)),
            Point("scale", ("smallest", "others", "largest", "NaN"), kinds),
            Point("lane with the largest magnitude", names, leader),
            Point("only lane that is not finite", names, alone),
            Point("largest magnitude", parts, np.where(finite, part, -1)),
            *elements.points(),
        ]
        has_tie = (elements.outcome >= TIE_DOWN).any(axis=-1)
        conditions = [~finite | (top == 0), (scale == 0) | (scale == 254), has_tie, part == 0]
        return View(points, np.select(conditions, range(len(conditions)), -1))


class AmaxAnalysis(Analysis):
    """Largest magnitudes: classes of numbers, which lane has the largest one or none, and the scale."""

    model: AmaxReference

    def view(self, inputs: Columns, outputs: Columns) -> View:
        core, order = self.model.core, self.model.order
        codes = parted(inputs["bits"], core.source.width, core.lanes).astype(np.int64)
        ranks, before = (
            order.counted(codes, core.nan, core.infinity),
            order.ranks_of(inputs["amax_in"].astype(np.int64)),
        )
        top, lanes = ranks.max(axis=-1), tuple(f"lane {lane}" for lane in range(core.lanes))
        leader = np.where((ranks == top[:, np.newaxis]).sum(axis=-1) == 1, np.argmax(ranks, axis=-1), -1)
        against = np.select([top > before, top == before], [0, 1], 2)
        scale = outputs["scale"].astype(np.int64)
        points = [
            Point("class of a number", class_names(core.source), classes(core.source, codes)),
            Point("only lane with the largest magnitude", lanes, np.where(top > before, leader, -1)),
            Point("largest of the lanes, against amax", ("larger", "equal", "smaller"), against),
            Point("scale", ("smallest", "others", "NaN"), np.select([scale == 0, scale == 255], [0, 2], 1)),
        ]
        return View(points, np.full(len(top), -1))
