"""Scales, powers of two: for a tensor, its channels or blocks, and for layers by HiFloat8's Algorithm 1.

Numbers are *multiplied* by 2**exponent before they are rounded, and results by 2**-exponent afterwards. The scales of
:func:`golden.quantize_block` are the reciprocals: there numbers are divided by the scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.accuracy import Scales, best_scale, calibrate, single_precision, through
from golden.bits import as_array, as_axes, as_binary64
from golden.catalog import get
from golden.encode import FLOATS, bits_of
from golden.formats import Format
from golden.options import target_options
from golden.refusal import BadKind, BadValue, check_choice, check_integer, check_number, shown
from golden.rounding import codes_of
from golden.validation import MAX_WIDTH

SCALINGS = MAX, PERCENTILE, MSE, CENTER = "max", "percentile", "mse", "center"
"""How :func:`scale_for` chooses a scale."""

_BEYOND = 8
"""Binades above the largest value to which ``mse`` tries to bring the largest magnitude; the largest then saturate."""
_MEDIAN = 0.6744897501960817
"""Median of the magnitude of a Gaussian number, in standard deviations."""
_LEAST_NORMAL = 1 << 52
"""Bits of 2**-1022 in binary64, without the sign."""

Vector = Callable[[NDArray[np.float64]], ArrayLike]
"""What follows the product of a layer: non-linearities and normalizations."""


def scale_for(
    x: ArrayLike,
    name: str | Format,
    policy: str = MAX,
    axis: int | Sequence[int] | None = None,
    *,
    percentile: float = 99.9,
    center: int | None = None,
) -> NDArray[np.int32]:
    """Exponents of the powers of two by which to multiply numbers before they are rounded to a format.

    ``fmt.codes(np.ldexp(x, exponents))`` has the codes, and ``np.ldexp(fmt.decode(codes), -exponents)`` the values.
    Zeros are exact at every scale and have no influence; the exponent of zeros alone is 0. Numbers below 2**-1022 count
    as zeros, because in some processes the processor takes them for zeros (in float64; no other type has any).

    ``max``
        The largest at which no magnitude is beyond the largest value, where precision tapers the largest of full
        precision (:attr:`golden.Format.largest_precise`).
    ``percentile``
        The same, of the magnitude that ``percentile`` percent of the magnitudes do not exceed; larger ones may
        saturate.
    ``mse``
        That of the least squared error, with the format's default rounding and saturation. Of several, it is the one
        nearest to that of ``max``, and of two such ones the lower.
    ``center``
        The one that brings the median magnitude nearest to a point in the middle of the format, as the supernormals
        paper proposes in its outlook: by default to that of Gaussian numbers at :func:`golden.best_scale`.

    Parameters
    ----------
    x : array of any real type
        Finite; not negative if the format has no sign.
    name : str or Format
        A single format of at most 16 bits.
    policy : str
        One of :data:`SCALINGS`.
    axis : int or integers, optional
        The axes whose numbers share a scale, as in :func:`numpy.max`: all by default (one scale for the tensor), the
        others for a scale of each channel, and ``-1`` of ``x.reshape(..., -1, 32)`` for blocks of 32.
    percentile : number
        Above 0, to 100.
    center : int, optional
        Of ``max`` and ``percentile``: exponent of the binade whose largest value takes the place of the largest. Of
        ``center``: exponent of the point. It is one of :attr:`golden.Format.exponent_range`.

    Returns
    -------
    int32 array
        Of the shape of ``x``, but 1 along the shared axes.
    """
    fmt = get(name)
    if len(fmt.members) > 1 or fmt.width > MAX_WIDTH:
        raise BadValue("name", f"must be a single format of at most {MAX_WIDTH} bits, not {fmt.name!r}")
    check_choice("policy", policy, SCALINGS)
    if center is not None:
        if policy == MSE:
            raise BadValue("center", "must not be given with policy 'mse', which tries all")
        check_integer("center", center, *fmt.exponent_range)
    share = check_number("percentile", percentile, "a number above 0, to 100", lambda number: 0 < number <= 100)
    numbers, shape = _shared(as_array("x", x), axis)
    if not np.isfinite(numbers).all():
        raise BadValue("x", "must be finite: an infinity or a NaN has no scale")
    if not fmt.signed and (numbers < 0).any():
        raise BadValue("x", f"must not be negative, because {fmt.name} has no sign")
    chosen = np.zeros(len(numbers), np.int64)
    magnitudes = np.sort(np.abs(numbers), axis=-1)
    some = magnitudes[:, -1] > 0 if magnitudes.shape[-1] else np.zeros(len(numbers), np.bool_)
    if some.any():
        values, ordered = numbers[some], magnitudes[some]
        match policy:
            case "max":
                chosen[some] = _within(ordered[:, -1], fmt, center)
            case "percentile":
                chosen[some] = _within(_ranked(ordered, share), fmt, center)
            case "mse":
                chosen[some] = _least_error(values, ordered[:, -1], fmt)
            case "center":
                point = _middle(fmt) if center is None else float(center)
                chosen[some] = np.rint(point - np.log2(_ranked(ordered, 50.0)))
    return chosen.astype(np.int32).reshape(shape)


def _shared(x: NDArray[Any], axis: int | Sequence[int] | None) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Numbers with one row for each scale, and the shape of the scales."""
    if x.dtype.name in FLOATS:
        source, bits = bits_of("x", x)
        numbers = source.numbers(bits)
    elif x.dtype.kind in "iuf":
        numbers = as_binary64("x", x)
        magnitudes = numbers.view(np.uint64) & np.uint64((1 << 63) - 1)
        numbers[magnitudes < _LEAST_NORMAL] = 0
    else:
        raise BadKind("x", f"must be real numbers, not {x.dtype}")
    axes = as_axes(axis, x.ndim)
    kept = [place for place in range(x.ndim) if place not in axes]
    shape = tuple(1 if place in axes else size for place, size in enumerate(x.shape))
    size = int(np.prod([x.shape[place] for place in axes], dtype=np.int64))
    return numbers.transpose(*kept, *sorted(axes)).reshape(int(np.prod(shape, dtype=np.int64)), size), shape


def _ranked(ordered: NDArray[np.float64], percentile: float) -> NDArray[np.float64]:
    """The least magnitude in each row that this share of its nonzero magnitudes does not exceed."""
    size, nonzero = ordered.shape[-1], np.count_nonzero(ordered, axis=-1)
    with np.errstate(under="ignore"):  # of the least shares
        rank = np.ceil(nonzero * percentile / 100).astype(np.int64)
    place = size - nonzero + np.maximum(rank, 1) - 1
    return np.take_along_axis(ordered, place[:, np.newaxis], axis=-1)[:, 0]


def _within(magnitudes: NDArray[np.float64], fmt: Format, center: int | None) -> NDArray[np.int64]:
    """The largest exponents at which magnitudes are not beyond the largest value of a binade."""
    peak = fmt.largest_precise if center is None else fmt.largest_in_binade(center)
    (own, binade), (significand, exponent) = np.frexp(magnitudes), np.frexp(peak)
    return np.asarray(int(exponent) - binade.astype(np.int64) - (own > significand), np.int64)


def _least_error(numbers: NDArray[np.float64], largest: NDArray[np.float64], fmt: Format) -> NDArray[np.int64]:
    chosen, start = target_options(fmt, overflow="saturate"), _within(largest, fmt, None)
    low, high = fmt.exponent_range
    top = int(np.frexp(fmt.largest_precise)[1]) - 1
    tried = sorted(range(low - top, high + _BEYOND + 1 - top), key=lambda step: (abs(step), step))
    best, least = start.copy(), np.full(start.shape, np.inf)
    for step in tried:
        with np.errstate(under="ignore"):  # of numbers that are nothing beside the largest
            scaled = np.ldexp(numbers, (start + step)[:, np.newaxis])
        rounded = fmt.decode(codes_of(fmt, scaled, np.signbit(scaled), chosen))
        # relative to the largest magnitude, so that no square is out of range
        with np.errstate(under="ignore"):
            error = (rounded - scaled) / np.ldexp(largest, start + step)[:, np.newaxis]
            squares = (error**2).sum(axis=-1)
        better = squares < least
        best, least = np.where(better, start + step, best), np.where(better, squares, least)
    return best


@cache
def _middle(fmt: Format) -> float:
    """Binary logarithm of the median magnitude of Gaussian numbers at their best scale."""
    return best_scale(fmt).exponent + float(np.log2(_MEDIAN))


def calibrate_layers(
    inputs: ArrayLike,
    layers: Iterable[tuple[ArrayLike, Vector]],
    name: str | Format = "hif8",
    exponents: Iterable[int] = range(-4, 6),
    **options: Any,
) -> list[Scales]:
    """Choose two power-of-two scales for each layer of a network (HiFloat8 paper, Algorithm 1).

    Each layer is calibrated by :func:`golden.calibrate` with the inputs that the quantized earlier layers compute, and
    against the product of the layer in the network that is not quantized. :func:`golden.scaled_matmul` computes a
    layer with its scales.

    Parameters
    ----------
    inputs : (..., m, k) array
        The calibration data; it, all weights, and the inputs of later layers are converted to float32.
    layers : pairs of a (k, n) array and a function
        The weights of each layer, and what computes the next layer's inputs from its product, a float64 array: for
        example ``lambda product: np.maximum(product + bias, 0)``.
    exponents
        Exponents to try for each scale; the paper uses -4 to 5.
    options
        ``rounding`` and ``overflow`` of :meth:`golden.Format.encode`; HiFloat8's default rounding is the paper's TA.

    Returns
    -------
    list of Scales
        Inputs are multiplied by 2**activations and weights by 2**weights.
    """
    fmt, tried = get(name), [*exponents] if np.iterable(exponents) else exponents
    exact = quantized = single_precision("inputs", inputs)
    if not np.iterable(layers):
        raise BadKind("layers", f"must be pairs of weights and a function of their product, not {shown(layers)}")
    found = []
    for place, layer in enumerate(layers):
        if not isinstance(layer, (tuple, list)) or len(layer) != 2 or not callable(layer[1]):
            raise BadKind(f"layers[{place}]", "must be a pair of weights and a function of their product")
        weights, vector = layer
        matrix = single_precision(f"layers[{place}]", weights)
        if matrix.ndim != 2 or quantized.ndim < 2 or quantized.shape[-1] != matrix.shape[0]:
            shapes = f"{quantized.shape} and {matrix.shape}"
            raise BadValue(f"layers[{place}]", f"must have inputs (..., m, k) and weights (k, n), not {shapes}")
        with np.errstate(invalid="ignore"):  # of infinities, which are refused
            reference = exact @ matrix
        if not np.isfinite(reference).all():
            raise BadValue(f"layers[{place}]", "must have a finite product of inputs and weights")
        scales = calibrate(quantized, matrix, reference, fmt, tried, **options)
        left, right = (
            through(fmt, quantized, scales.activations, options),
            through(fmt, matrix, scales.weights, options),
        )
        exact, quantized = (single_precision("inputs", vector(product)) for product in (reference, left @ right))
        found.append(scales)
    return found
