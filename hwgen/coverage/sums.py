"""What MACs, dot products and steps of processing elements exercise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden import Format
from golden.arithmetic.sums import Products, odd_sum, product_sums
from golden.bits import scale_range
from hwgen.coverage.numbers import OUTCOMES, TIE_DOWN, class_names, classes, flag_points, outcomes
from hwgen.coverage.points import Analysis, Point, View, word_point
from hwgen.reference.reference import Columns, columns, limbs
from hwgen.reference.sums import SumReference

_SCALES = ("a_scale", "b_scale")
_NONE = -(1 << 14)
"""Stands for the exponent of a number that has none."""

_STATES = ("zero", "positive", "largest", "negative", "smallest", "+Inf", "-Inf", "NaN", "several flags")
"""Classes of exact accumulators."""


class SumAnalysis(Analysis):
    """Sums of products and an accumulator, rounded once, truncated, or exact."""

    classes = ("specials", "overflow", "subnormals", "ties", "cancellation", "boundaries", "alignment")
    model: SumReference

    def __init__(self, model: SumReference):
        super().__init__(model)
        self.options, (fa, fb) = model.core.sums, model.formats
        self.unit = self.options.exact
        self.target = None if self.unit is not None else self.options.state
        self.precision = self.target.precision if self.target is not None else fa.precision + fb.precision
        self.reach = self.precision + 3
        """Differences of exponents from which on an addend is only a sticky bit."""
        steps = [f"{step:+d}" for step in range(-self.reach, self.reach + 1)]
        self.differences = (f"{steps[0]} or less", *steps[1:-1], f"{steps[-1]} or more")
        self.depths = ("carry", *map(str, range(self.precision + 1)), "more", "to zero")

    def view(self, inputs: Columns, outputs: Columns) -> View:
        sums = _Sums(self, inputs, outputs)
        points = [
            *self.operand_points(inputs),
            *flag_points(outputs),
            *([Point("overflow", ("0", "1"), outputs["overflow"].astype(np.int64))] if "overflow" in outputs else []),
            *self._points_before(inputs, sums),
            *self._points_of_words(inputs, outputs),
            Point("cancellation depth", self.depths, lambda: sums.depth),
            self._states("class of the result", outputs["acc_out"]),
        ]
        if self.design.lanes > 1:
            points += [
                sums.spread(),
                sums.alone("not zero", lambda: sums.nonzero[1:]),
                sums.alone("not finite", lambda: ~np.isfinite(sums.addends[1:])),
            ]
        if self.target is None:
            return View(points, sums.exact_classes)
        points += [
            sums.rounding("normal", lambda: ~sums.is_tiny),
            sums.rounding("subnormal", lambda: sums.is_tiny & (sums.exact != 0)),
            sums.event("overflow of finite operands", lambda: ~np.isfinite(sums.after)),
            sums.event("sum that becomes zero", lambda: (sums.exact != 0) & (sums.after == 0)),
        ]
        return View(points, sums.classes)

    def _points_before(self, inputs: Columns, sums: _Sums) -> list[Point]:
        """The accumulator before the sum; none if there is none."""
        if "acc_in" not in inputs:
            return []
        state = self._states("class of the accumulator", inputs["acc_in"])
        return [state, sums.differences("equal"), sums.differences("opposite")]

    def _points_of_words(self, inputs: Columns, outputs: Columns) -> list[Point]:
        """Random words, also at the threshold of the sum's rounding."""
        bits, model = self.options.random_bits, self.model
        if bits is None:
            return []
        words = inputs["random"].astype(np.int64)

        def threshold() -> NDArray[np.int64]:
            others = np.minimum(words + 1, (1 << bits) - 1), np.maximum(words - 1, 0)
            changed = [model.columns({**inputs, "random": word})["acc_out"] != outputs["acc_out"] for word in others]
            return np.select(changed, [0, 1], -1)

        near = Point("random word at the threshold", ("one below", "at it"), threshold)
        return [word_point("random word", inputs["random"], bits), near]

    def operand_points(self, inputs: Columns) -> list[Point]:
        """Classes of the codes and of the scales, which do not depend on the accumulator."""
        core = self.model.core
        codes = zip("ab", self.model.formats, self.model.lane_codes(inputs), strict=True)
        scales = [] if core.block_scale is None else [(name, core.block_scale, inputs[name]) for name in _SCALES]
        points = [
            Point(f"class of {name}", class_names(fmt), classes(fmt, words)) for name, fmt, words in (*codes, *scales)
        ]
        if core.scale_bits:
            low, high = scale_range(core.scale_bits)
            scale = self.model.factors_of(inputs)["scale"]
            names = ("smallest", "negative", "zero", "positive", "largest")
            kinds = np.select([scale == low, scale == high, scale < 0, scale == 0], [0, 4, 1, 2], 3)
            points.append(Point("scale", names, kinds))
        return points

    def _states(self, name: str, bits: NDArray[Any]) -> Point:
        """Classes of accumulators."""
        target, unit = self.target, self.unit
        if target is not None:
            return Point(name, class_names(target), lambda: classes(target, bits))
        assert unit is not None

        def index() -> NDArray[Any]:
            words, half = bits.astype(object), 1 << unit.value_width - 1
            flags, value = (words >> unit.value_width).astype(np.int64), words & 2 * half - 1
            kinds = np.select([value == 0, value == half - 1, value == half, value > half], [0, 2, 4, 3], 1)
            return np.select([flags == 0, flags == 1, flags == 2, flags == 4], [kinds, 5, 6, 7], 8)

        return Point(name, _STATES, index)

    # -- numbers

    def factors(self, inputs: Columns) -> NDArray[np.float64]:
        """What the products of each case are multiplied by."""
        return np.broadcast_to(self.options.factors(**self.model.factors_of(inputs)), (len(inputs["a"]),))

    def values(self, bits: NDArray[Any]) -> NDArray[np.float64]:
        """Values of accumulators."""
        if self.unit is not None:
            return self.unit.decode(limbs(self.unit, bits))
        return self.options.state.decode(bits.astype(np.uint32))

    def exact_sums(self, terms: Products, before: NDArray[np.float64]) -> NDArray[np.float64]:
        """The exact sums, rounded to odd if they have more than 53 bits."""
        fa, fb, spare_bits = terms.a_format, terms.b_format, self.options.spare_bits
        with np.errstate(invalid="ignore"):
            parts = product_sums(fa, fb, terms.left, terms.right, spare_bits) * terms.factors
        return odd_sum(before, parts, self.options.lsb_exponent)

    # -- candidates

    def candidates(self, count: int, rng: np.random.Generator) -> Columns:
        """Cases near each other; of one lane into bits, a third with a chosen distance, tie or cancellation."""
        near = columns(self.model.near_stimuli(count, rng))
        if self.target is None or self.design.lanes > 1 or "acc_in" not in near:
            return near
        chosen = np.flatnonzero(rng.integers(0, 3, count) == 0)
        near["acc_in"][chosen] = self._aimed({name: values[chosen] for name, values in near.items()}, rng)
        return near

    def _aimed(self, inputs: Columns, rng: np.random.Generator) -> NDArray[np.uint64]:
        """Accumulators that make the sum with a product a tie, cancel some of its bits, or lie at some distance."""
        target, (fa, fb), model = self.options.state, self.model.formats, self.model
        a, b = model.lane_codes(inputs)
        product = Products(fa, fb, a, b, self.factors(inputs)).exact()[0]
        product = np.where(np.isfinite(product), product, 1.0)
        count = product.size
        fraction, exponent = np.frexp(product)
        significand = 1 + rng.integers(0, 1 << target.fraction_bits, count) * 2.0**-target.fraction_bits
        few = 1 + rng.integers(0, 4, count) / 4
        significand = np.where(rng.integers(0, 2, count) == 0, significand, few)
        sign = rng.choice([-1.0, 1.0], count)
        distance = rng.integers(-self.reach - 1, self.reach + 2, count)
        apart = sign * np.ldexp(significand, np.clip(exponent - 1 - distance, -1000, 1000))
        tie = sign * np.ldexp(significand, np.clip(_last_bit(product) + target.precision, -1000, 1000))
        bits = rng.integers(1, self.precision + 2, count)
        cancelled = -(product + np.ldexp(np.sign(fraction) * significand * rng.choice([-1, 1], count), exponent - bits))
        kind = rng.integers(0, 3, count)
        return _bits_of(target, np.select([kind == 0, kind == 1], [apart, tie], cancelled))


class _Sums:
    """Numbers of sums, each computed when it is needed. Addends are the accumulator, then the products by lanes."""

    def __init__(self, analysis: SumAnalysis, inputs: Columns, outputs: Columns):
        self._analysis, self._inputs, self._outputs = analysis, inputs, outputs

    @cached_property
    def _terms(self) -> Products:
        model = self._analysis.model
        codes = self._analysis.options.flushed(*model.lane_codes(self._inputs))
        return Products(*model.formats, *codes, self._analysis.factors(self._inputs))

    @cached_property
    def before(self) -> NDArray[np.float64]:
        if "acc_in" not in self._inputs:
            return np.zeros(len(self._inputs["a"]))
        return self._analysis.values(self._analysis.options.flushed_state(self._inputs["acc_in"]))

    @cached_property
    def after(self) -> NDArray[np.float64]:
        return self._analysis.values(self._outputs["acc_out"])

    @cached_property
    def exact(self) -> NDArray[np.float64]:
        if self._analysis.target is None:
            return self.after
        return self._analysis.exact_sums(self._terms, self.before)

    @cached_property
    def addends(self) -> NDArray[np.float64]:
        """All addends, shape (1 + lanes, cases)."""
        return np.vstack([self.before[np.newaxis], self._terms.exact()])

    @cached_property
    def is_finite(self) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(self.addends).all(axis=0))

    @cached_property
    def nonzero(self) -> NDArray[np.bool_]:
        """Which addends are finite and not zero."""
        return np.isfinite(self.addends) & (self.addends != 0)

    @cached_property
    def exponents(self) -> NDArray[Any]:
        return np.where(self.nonzero, np.frexp(np.where(self.nonzero, self.addends, 1.0))[1], _NONE)

    @cached_property
    def sum_exponent(self) -> NDArray[Any]:
        """Exponents of the exact sums, those of finite ones."""
        return np.frexp(self.exact)[1]

    @cached_property
    def depth(self) -> NDArray[np.int64]:
        """Index into the names of depths: carry, 0, 1, ... bits, more, all bits."""
        precision = self._analysis.precision
        several = self.is_finite & (self.nonzero.sum(axis=0) > 1) & np.isfinite(self.exact)
        index = np.clip(self.exponents.max(axis=0) - self.sum_exponent, -1, precision + 1) + 1
        return np.where(several, np.where(self.exact == 0, precision + 3, index), -1)

    @cached_property
    def difference(self) -> NDArray[np.int64]:
        """Exponent of the largest product less that of the accumulator, plus the reach; -1 if one is zero.

        Without an accumulator, the exponents count as equal.
        """
        reach, largest, acc = self._analysis.reach, self.exponents[1:].max(axis=0), self.exponents[0]
        acc = acc if "acc_in" in self._inputs else largest
        both = self.is_finite & (largest > _NONE) & (acc > _NONE)
        return np.where(both, np.clip(largest - acc, -reach, reach) + reach, -1)

    @cached_property
    def outcome(self) -> NDArray[np.int64]:
        """What rounding did, see :func:`hwgen.coverage.numbers.outcomes`."""
        target = self._analysis.options.state
        lowest = target.ulp_exponent if target.has_subnormals else target.exponent_range[0] - target.precision + 1
        ulp = np.maximum(self.sum_exponent - target.precision, lowest)
        inside = self.is_finite & (np.abs(self.exact) <= target.largest)
        return np.where(inside, outcomes(self.exact, self.after, np.ldexp(0.5, ulp)), -1)

    @cached_property
    def is_tiny(self) -> NDArray[np.bool_]:
        """Whether exact sums are below the smallest normal number."""
        target = self._analysis.options.state
        return np.abs(self.exact) < target.smallest_normal

    # -- points

    def differences(self, signs: str) -> Point:
        """The exponent difference, for equal or opposite signs of the largest product and the accumulator."""

        def index() -> NDArray[np.int64]:
            leading, negative = np.argmax(self.exponents[1:], axis=0), np.signbit(self.addends)
            unlike = negative[1:][leading, np.arange(leading.size)] != negative[0]
            return np.where(unlike == (signs == "opposite"), self.difference, -1)

        return Point(f"exponent difference, {signs} signs", self._analysis.differences, index)

    def rounding(self, name: str, which: Callable[[], NDArray[Any]]) -> Point:
        """The outcome of rounding some sums."""
        return Point(f"rounding of a {name} sum", OUTCOMES, lambda: np.where(which(), self.outcome, -1))

    def event(self, name: str, which: Callable[[], NDArray[Any]]) -> Point:
        """Something that happens to finite addends."""
        return Point(name, ("yes",), lambda: np.where(self.is_finite & which(), 0, -1))

    def spread(self) -> Point:
        """The difference between the exponents of the largest and the smallest product."""
        reach = self._analysis.reach

        def index() -> NDArray[np.int64]:
            exponents, some = self.exponents[1:], self.nonzero[1:]
            spread = exponents.max(axis=0) - np.where(some, exponents, -_NONE).min(axis=0)
            several = self.is_finite & (some.sum(axis=0) > 1)
            return np.where(several, np.clip(spread, 0, reach), -1)

        return Point("spread of the products", (*map(str, range(reach)), f"{reach} or more"), index)

    def alone(self, name: str, which: Callable[[], NDArray[Any]]) -> Point:
        """The lane of the only product of some kind."""

        def index() -> NDArray[np.int64]:
            lanes = which()
            return np.where(lanes.sum(axis=0) == 1, lanes.argmax(axis=0), -1)

        lanes = tuple(f"lane {lane}" for lane in range(self._analysis.design.lanes))
        return Point(f"only product that is {name}", lanes, index)

    # -- classes

    @property
    def _is_special(self) -> NDArray[np.bool_]:
        """An addend is zero or special."""
        return ~self.is_finite | (self.difference < 0)

    @property
    def _is_far(self) -> NDArray[np.bool_]:
        """An addend is little more than a sticky bit."""
        distance = np.abs(self.difference - self._analysis.reach)
        return np.asarray(distance >= self._analysis.precision - 2)

    def classes(self) -> NDArray[np.int64]:
        target = self._analysis.options.state
        start, size = np.abs(self.before), np.abs(self.after)
        fraction = np.frexp(np.where(np.isfinite(size), size, 0.0))[0]
        return _first(
            self._is_special,
            np.abs(self.exact) >= target.largest,
            (self.is_tiny & (self.exact != 0)) | ((start != 0) & (start < target.smallest_normal)),
            self.outcome >= TIE_DOWN,
            self.depth > 2,
            (fraction == 0.5) | (fraction == 1 - 2.0**-target.precision),
            self._is_far,
        )

    def exact_classes(self) -> NDArray[np.int64]:
        """Classes of exact sums; none of them is subnormal or a tie."""
        unit, never = self._analysis.unit, np.zeros(self.is_finite.shape, np.bool_)
        assert unit is not None
        half = 2.0 ** (unit.value_width - 1 + unit.lsb_exponent)
        with np.errstate(invalid="ignore"):
            overflow = np.abs(self.after - self.before) >= half  # a wrap: no sum of products is so large
        crossing = np.signbit(self.before) != np.signbit(self.after)
        return _first(self._is_special, overflow, never, never, self.depth > 2, crossing, self._is_far)


def _first(*conditions: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.select(conditions, range(len(conditions)), -1)


def _last_bit(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """The exponent of the last bit that is set; of zeros 0."""
    fraction, exponent = np.frexp(np.where(numbers == 0, 1.0, np.abs(numbers)))
    whole = np.ldexp(fraction, 53).astype(np.int64)
    return np.frexp((whole & -whole).astype(np.float64))[1] + exponent - 54


def _bits_of(target: Format, numbers: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Bits of numbers that are rounded to binary32 and then to the target."""
    with np.errstate(over="ignore", under="ignore"):
        single = numbers.astype(np.float32).view(np.uint32)
    return (single if target.name == "binary32" else target.encode(single, "binary32")).astype(np.uint64)
