"""The accuracy of a format: dynamic range, signal-to-noise ratio, significand bits by exponent, and choosing scales.

Ratios are power ratios in decibels (dB): 10 log10 of a ratio of mean squares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.bits import as_array, as_binary64
from golden.catalog import get
from golden.encode import FLOATS, bits_of
from golden.formats import Format
from golden.options import check_random_bits, options, target_options
from golden.refusal import BadKind, BadValue, check_choice, check_integer, shown
from golden.rounding import codes_of, grid, round_to_grid
from golden.rows import DEFAULT_RANDOM_BITS, Overflow, Rounding
from golden.validation import MAX_WIDTH
from golden.wide import check_wide, wide

Density = Callable[[NDArray[np.float64]], NDArray[np.float64]]

DISTRIBUTIONS: Mapping[str, Density] = {
    "gaussian": lambda x: math.sqrt(2 / math.pi) * np.exp(-x * x / 2),
    "laplace": lambda x: math.sqrt(2) * np.exp(-math.sqrt(2) * x),
    "student_t3": lambda x: 4 / math.pi / (1 + x * x) ** 2,
}
"""Densities of the magnitude of a number with mean 0 and variance 1.

``student_t3`` is Student's t with 3 degrees of freedom, divided by √3.
"""

_END = 2.0**40
"""End of the integration, in standard deviations.

Less than 2**-39 of the power lies beyond it, even in Student's tail, which falls as x**-4.
"""
_MESH = np.append(0.0, 2.0 ** np.arange(-4, 40.5, 0.5))
"""Bounds of intervals in which every density is smooth enough for 16-point Gauss-Legendre quadrature."""
_SCALE_LIMIT = 2.0**500


def dynamic_range(name: str | Format) -> float:
    """Ratio of the largest to the smallest positive value, subnormals included, in dB (Graphcore paper, Table 1, D)."""
    fmt = get(name)
    return 20 * (math.log10(fmt.largest) - math.log10(fmt.smallest))


def model_snr(name: str | Format) -> float:
    """Signal-to-noise ratio in dB by the model of floating-point quantization (Graphcore paper, Table 1, column SNR).

    Equation (5) of the paper: 5.55 · 2**(2p), or 7.44 + 6.02p dB, where p counts the bits of the significand with the
    hidden bit. It assumes that nothing over- or underflows. 5.55 rounds 12 ln 2 / 1.5, for log-uniform significands;
    this constant and 7.44 + 6.02p both reproduce all seven printed rows. For a format with tapered precision the result
    is the ratio at its highest precision. :func:`quantization_snr` gives the ratio on data.

    Raises
    ------
    BadValue
        If no row has a hidden bit: the error of a scaled integer does not scale with the signal.
    """
    fmt = get(name)
    if not any(row.hidden for row in fmt.rows):
        raise BadValue("name", f"must be a floating-point format, not the scaled integer {fmt.name!r}")
    precision = max(row.fraction_bits + row.hidden for row in fmt.rows)
    return 10 * math.log10(12 * 4**precision / (1.5 / math.log(2)))


def significand_bits(name: str | Format) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Significand bits at each exponent (HiFloat8 paper, Figure 1); single formats of up to 16 bits.

    Returns
    -------
    exponents : int64 array
        Exponents of the normalized values, from the smallest value to the largest.
    bits : int64 array of the same shape
        Bits with the hidden bit: neighbouring values are 2**(exponent - bits + 1) apart.
    """
    exponents, bits = zip(*_single(name).binades.items(), strict=True)
    return np.array(exponents, np.int64), np.array(bits, np.int64)


def quantization_snr(name: str | Format, scale: ArrayLike = 1.0, distribution: str = "gaussian") -> NDArray[np.float64]:
    """Signal-to-noise ratio in dB of numbers rounded to the nearest value of a format; overflow saturates.

    The numbers have mean 0 and standard deviation ``scale``; a format without a sign rounds their magnitudes. The
    expected squared error is integrated over the distribution by 16-point Gauss-Legendre quadrature in each interval of
    the format, with an error below 1e-6 dB; no samples are drawn. Ties have probability 0, so all roundings to nearest
    give the same ratio. Saturation follows the Graphcore paper's experiments (section 3.2) and reproduces its figures
    for a scaled integer (section 2.2: at most 40.5 dB).

    Parameters
    ----------
    name : str or Format
        A single format of at most 16 bits.
    scale : numbers of any shape
        From 2**-500 to 2**500.
    distribution : str
        One of :data:`DISTRIBUTIONS`.
    """
    fmt = _single(name)
    check_choice("distribution", distribution, tuple(DISTRIBUTIONS))
    scales = as_array("scale", scale)
    if scales.dtype.kind not in "iuf":
        raise BadKind("scale", f"must be numbers, not {scales.dtype}")
    scales = as_binary64("scale", scales)
    outside = scales[~((scales >= 1 / _SCALE_LIMIT) & (scales <= _SCALE_LIMIT))]
    if outside.size:
        raise BadValue("scale", f"must be from 2**-500 to 2**500, not {outside[0]}")
    density = DISTRIBUTIONS[distribution]
    with np.errstate(under="ignore"):  # of densities far from 0
        noise = [_noise(fmt, deviation, density) for deviation in scales.reshape(-1).tolist()]
    ratio: NDArray[np.float64] = -10 * np.log10(np.array(noise).reshape(scales.shape))
    return ratio


class Errors(NamedTuple):
    """Errors of a rounding on data: see :func:`rounding_errors`."""

    bias: float
    standard_error: float
    largest: float
    snr: float


def rounding_errors(
    name: str | Format,
    x: NDArray[Any],
    rounding: str | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    source: str | Format | None = None,
) -> Errors:
    """Bias of a rounding on data, the bias's standard error, the largest error, and the signal-to-noise ratio.

    The bias is the mean change of a magnitude, as a part of the mean magnitude: above 0, numbers grow. The standard
    error is that of data drawn independently. The largest error is in units in the last place, the distance of a
    number's neighbours; the ratio is in dB. Stochastic roundings count with all random words, none of them drawn.

    Parameters
    ----------
    name : str or Format
        A single format of at most 16 bits.
    x : float16, float32 or ``ml_dtypes.bfloat16`` array
        The source of the rounding is the type's format. Zeros, and numbers beyond the largest value, are left out. A
        format without a sign rounds magnitudes.
    rounding : str, optional
        Default: the format's.
    random_bits : int
        Width of the random words of stochastic roundings.
    source : str or Format, optional
        A wide format: ``x`` are its bits, in an array of unsigned integers.
    """
    fmt = _single(name)
    if source is None:
        source, raw = bits_of("x", as_array("x", x))
    else:
        source = check_wide("source", source)
        raw = source.as_codes(as_array("x", x), "x")
    magnitude = np.abs(source.decode(raw))
    counted = (magnitude > 0) & (magnitude <= fmt.largest)
    if not counted.any():
        raise BadValue("x", f"must have a number but 0 of at most {fmt.largest:g}, the largest value of {fmt.name}")
    magnitude, bits = (
        magnitude[counted],
        raw[counted] if fmt.signed else raw[counted] & ~raw.dtype.type(source.sign_bit),
    )
    random_bits = check_random_bits(random_bits)
    is_simulated = isinstance(rounding, str) and rounding == Rounding.MPTORCH
    overflow = Overflow.INFINITY if is_simulated else Overflow.SATURATE
    chosen = options(fmt, source, rounding, overflow).rounding

    def rounded(random: NDArray[np.int64]) -> NDArray[np.float64]:
        words: dict[str, Any] = (
            {"random": random.astype(np.uint32), "random_bits": random_bits} if chosen.is_stochastic else {}
        )
        return np.abs(fmt.decode(fmt.encode(bits, source, chosen, overflow, **words)))

    low = high = rounded(np.zeros(bits.shape, np.int64))
    above = np.zeros(bits.shape, np.int64)  # number of random words that round up: the largest ones
    if chosen.is_stochastic:
        count = 1 << random_bits
        low = np.abs(fmt.decode(fmt.encode(bits, source, Rounding.TOWARD_ZERO, overflow)))
        high = rounded(np.full(bits.shape, count - 1))
        for place in reversed(range(random_bits + 1)):
            tried = np.minimum(above + (1 << place), count)
            above = np.where(rounded(count - tried) > low, tried, above)
    share = above / (1 << random_bits)
    errors = low - magnitude, high - magnitude
    mean = errors[0] + share * (high - low)
    square = (1 - share) * errors[0] ** 2 + share * errors[1] ** 2
    values = grid(fmt).values
    ulps = np.diff(values)[np.searchsorted(values, magnitude, side="right") - 1]
    total = float(magnitude.sum())
    with np.errstate(divide="ignore"):
        snr = 10 * float(np.log10(np.sum(magnitude**2) / square.sum()))
    largest = max(float((np.abs(error) / ulps).max()) for error in errors)
    return Errors(float(mean.sum()) / total, float(mean.std()) * math.sqrt(mean.size) / total, largest, snr)


class BestScale(NamedTuple):
    """The best standard deviation, 2**exponent, and its signal-to-noise ratio in dB."""

    exponent: int
    snr: float


def best_scale(name: str | Format, distribution: str = "gaussian") -> BestScale:
    """The power-of-two standard deviation with the highest :func:`quantization_snr`.

    A wide format has many scales within 0.01 dB of the best; of these, the one nearest to 1 is returned.
    """
    fmt = _single(name)
    low, high = fmt.exponent_range
    exponents = np.array(sorted(range(low, high + 1), key=abs))
    snr = quantization_snr(fmt, 2.0**exponents, distribution)
    first = int(np.argmax(snr >= snr.max() - 0.01))
    return BestScale(int(exponents[first]), float(snr[first]))


@cache
def _quadrature() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points and weights of 16-point Gauss-Legendre quadrature on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(16)
    return (points + 1) / 2, weights / 2


def _noise(fmt: Format, scale: float, density: Density) -> float:
    """Expected squared error of a number of standard deviation 1 that is scaled, rounded and scaled back."""
    table = grid(fmt)
    boundaries = (table.values[:-1] + table.values[1:]) / 2
    boundaries[0] = (table.flush_below + fmt.smallest) / 2
    edges = np.union1d(_MESH, boundaries / scale)
    edges = edges[edges <= _END]
    width = np.diff(edges)
    index = round_to_grid(fmt, scale * (edges[:-1] + width / 2), False, Rounding.TIES_TO_EVEN)
    rounded = table.values[np.minimum(index, len(table.codes) - 1)] / scale
    points, weights = _quadrature()
    x = edges[:-1, np.newaxis] + width[:, np.newaxis] * points
    return float(np.sum(width * (((rounded[:, np.newaxis] - x) ** 2 * density(x)) @ weights)))


def _single(name: str | Format) -> Format:
    fmt = get(name)
    if len(fmt.members) > 1 or fmt.width > MAX_WIDTH:
        raise BadValue("name", f"must be a single format of at most {MAX_WIDTH} bits, not {fmt.name!r}")
    return fmt


class Scales(NamedTuple):
    """Exponents of the power-of-two scales of a layer's inputs and weights, and the resulting mean squared error."""

    activations: int
    weights: int
    error: float


_MAX_EXPONENT = 300
"""Largest exponent that :func:`calibrate` tries; beyond it every binary32 number over- or underflows."""


def calibrate(
    activations: ArrayLike,
    weights: ArrayLike,
    reference: ArrayLike | None = None,
    name: str | Format = "hif8",
    exponents: Iterable[int] = range(-4, 6),
    **options: Any,
) -> Scales:
    """Choose two power-of-two scales for one layer (HiFloat8 paper, Algorithm 1, lines 6 to 13).

    For each pair of scales, inputs and weights are scaled, quantized and multiplied, and the product is scaled back.
    The result is the pair whose product has the smallest squared error. Products are summed in binary64. For a network,
    call this function layer by layer, with inputs computed by the quantized earlier layers (lines 4 and 14).

    Parameters
    ----------
    activations, weights : (..., m, k) and (k, n) arrays
        Converted to float32.
    reference : (..., m, n) array, optional
        The layer's output in high precision (line 2); by default the product of the two in binary64.
    exponents : integers
        Exponents to try for each scale; the paper uses -4 to 5.
    options
        ``rounding`` and ``overflow`` of :meth:`golden.Format.encode`; HiFloat8's default rounding is the paper's TA.

    Returns
    -------
    Scales
        Of pairs with equal errors, the first in the order 0, -1, 1, -2, and so on.
    """
    fmt = get(name)
    if not np.iterable(exponents):
        raise BadKind("exponents", f"must be integers, not {shown(exponents)}")
    checked = {check_integer("exponents", exponent, -_MAX_EXPONENT, _MAX_EXPONENT) for exponent in exponents}
    tried = sorted(checked, key=lambda exponent: (abs(exponent), exponent))
    if not tried:
        raise BadValue("exponents", "must be at least one, not none")
    layer, matrix = single_precision("activations", activations), single_precision("weights", weights)
    if layer.ndim < 2 or matrix.ndim != 2 or layer.shape[-1] != matrix.shape[0]:
        raise BadValue(
            "activations", f"and weights must have shapes (..., m, k) and (k, n), not {layer.shape} and {matrix.shape}"
        )
    if not fmt.signed and (np.any(layer < 0) or np.any(matrix < 0)):
        raise BadValue("activations", f"and weights must not be negative, because {fmt.name} has no sign")
    shape = (*layer.shape[:-1], matrix.shape[1])
    if 0 in shape:
        raise BadValue("activations", f"and weights must have a product of at least one number, not of shape {shape}")
    left, right = ([through(fmt, operand, exponent, options) for exponent in tried] for operand in (layer, matrix))
    with np.errstate(all="ignore"):  # 0 * Inf and the like; that pair is rejected below
        exact = layer @ matrix if reference is None else real_numbers("reference", reference)
        if exact.shape != shape:
            raise BadValue("reference", f"must have the shape {shape}, not {exact.shape}")
        if not np.isfinite(exact).all():
            wrong = ("activations", "and weights must have a finite product")
            raise BadValue(*wrong if reference is None else ("reference", "must be finite"))
        errors = np.array([[_mean_square(a @ w - exact) for w in right] for a in left])
    errors[np.isnan(errors)] = np.inf
    a, w = np.unravel_index(int(np.argmin(errors)), errors.shape)
    if not np.isfinite(errors[a, w]):
        listed = ", ".join(map(str, tried))
        raise BadValue("exponents", f"must leave some pair without overflow in {fmt.name}, not {listed}")
    return Scales(tried[a], tried[w], float(errors[a, w]))


def _mean_square(error: NDArray[np.float64]) -> np.float64:
    """Errors below 2**-500 count as none, because a processor may flush their squares."""
    return np.float64(np.mean(np.where(np.abs(error) < 1 / _SCALE_LIMIT, 0.0, error) ** 2))


def single_precision(argument: str, x: ArrayLike) -> NDArray[np.float64]:
    """Numbers of any type, rounded to binary32."""
    array = as_array(argument, x)
    if array.dtype.name in FLOATS:
        source, bits = bits_of(argument, array)
        return source.numbers(bits)
    numbers = real_numbers(argument, array)
    if array.dtype.kind in "iu" or array.dtype.itemsize > 8:  # rounded once
        with np.errstate(all="ignore"):
            return wide("binary32").numbers(array.astype(np.float32).view(np.uint32))
    return wide("binary32").numbers(_bits(numbers))


def real_numbers(argument: str, x: ArrayLike) -> NDArray[np.float64]:
    """Numbers of any type, in binary64."""
    array = as_array(argument, x)
    if array.dtype.kind in "SUcmM" or array.dtype.type is np.void:
        raise BadKind(argument, f"must be real numbers, not {array.dtype}")
    return as_binary64(argument, array)


def _bits(numbers: NDArray[np.float64]) -> NDArray[Any]:
    single = wide("binary32")
    return codes_of(single, numbers, np.signbit(numbers), target_options(single))


def scaled_codes(
    fmt: Format, x: NDArray[np.float64], exponent: int | NDArray[Any], options: Mapping[str, Any]
) -> NDArray[Any]:
    """Codes of binary32 numbers times 2**exponent."""
    return fmt.encode(_bits(np.ldexp(x, exponent)), **options)


def through(fmt: Format, x: NDArray[np.float64], exponent: int, options: Mapping[str, Any]) -> NDArray[np.float64]:
    """Binary32 numbers, scaled, rounded and scaled back."""
    return np.ldexp(fmt.decode(scaled_codes(fmt, x, exponent, options)), -exponent)
