"""Numbers that an energy is measured with, and their codes."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tokenize import TokenError

import numpy as np
from numpy.typing import NDArray

from golden import Format
from golden.multi import MultiFormat
from golden.refusal import BadValue, opened, shown

Numbers = NDArray[np.float64]

KINDS = {
    "gaussian": "Gaussian",
    "laplace": "Laplace",
    "uniform": "uniform between two bounds around 0",
    "sparse": "Gaussian, but half of them 0",
}
"""Kinds of random numbers; all have mean 0."""
SEED = 1
RUN = 128
"""Numbers of a file that follow each other there and stay together; each running sum starts with another run."""


@dataclass(frozen=True)
class Data:
    """Two streams of numbers, for the operands a and b."""

    name: str
    """One of :data:`KINDS`, or the name of a file."""
    content: Numbers | None = field(default=None, repr=False, compare=False)
    """The numbers of a file, rounded to binary32; shape (2, n)."""

    @cached_property
    def sha256(self) -> str:
        """Hash of the numbers of a file; of random numbers it is empty."""
        return "" if self.content is None else hashlib.sha256(self.content.tobytes()).hexdigest()

    def streams(self, count: int) -> Numbers:
        """Both streams, shape (2, ``count``).

        Numbers of a file are repeated as needed; of more than ``count`` numbers, runs of :data:`RUN` are taken that lie
        evenly in the file.
        """
        if self.content is not None:
            return self.content[:, _places(self.content.shape[1], count)]
        random, shape = np.random.default_rng(SEED), (2, count)
        if self.name == "laplace":
            return random.laplace(0, 1, shape)
        if self.name == "uniform":
            return random.uniform(-1, 1, shape)
        numbers = random.standard_normal(shape)
        return np.where(random.random(shape) < 0.5, 0.0, numbers) if self.name == "sparse" else numbers


def _places(size: int, count: int) -> NDArray[np.int64]:
    """Where ``count`` numbers stand in a file of ``size`` numbers."""
    numbers = np.arange(count)
    if size <= count:
        return numbers % size
    runs = -(-count // RUN)
    starts = np.arange(runs) * (size - RUN) // max(1, runs - 1)
    return np.asarray(np.maximum(starts, 0)[numbers // RUN] + numbers % RUN)


def read(text: str) -> Data:
    """The data of a name, or of a NumPy file (``.npy``).

    The rows of an array of shape (2, n) are a and b. Of any other array, a takes all numbers in their order, and b the
    same in a random order. An unknown name is refused, and a file that is no array of finite numbers, or only zeros.
    """
    if text in KINDS:
        return Data(text)
    if not text.endswith(".npy"):
        raise BadValue("data", f"must be one of {', '.join(KINDS)}, or a .npy file, not {shown(text)}")
    try:
        with opened(text) as file:
            array = np.lib.format.read_array(file, allow_pickle=False)  # np.load reads archives as well
    except OSError as error:
        raise BadValue("data", f"{text} cannot be read: {error.strerror or error}", ": ") from error
    except MemoryError as error:
        raise BadValue("data", f"{text} has an array that does not fit into memory", ": ") from error
    except (ValueError, TypeError, EOFError, SyntaxError, RecursionError, OverflowError, TokenError) as error:
        raise BadValue("data", f"{text} is not an array of numbers in NumPy's format", ": ") from error
    if array.dtype.kind not in "iuf":
        raise BadValue("data", f"{text} must have real numbers, not {array.dtype}", ": ")
    if not np.isfinite(array).all():
        raise BadValue("data", f"{text} must have finite numbers; it has NaN or infinity", ": ")
    with np.errstate(over="ignore"):
        numbers = array.astype(np.float32).astype(np.float64)
    if not np.isfinite(numbers).all():
        raise BadValue("data", f"{text} must have numbers in the range of binary32; it has larger ones", ": ")
    if not numbers.any():
        raise BadValue("data", f"{text} must have a number other than 0; it has {numbers.size} numbers", ": ")
    if numbers.ndim != 2 or len(numbers) != 2:
        flat = numbers.ravel()
        numbers = np.stack([flat, np.random.default_rng(SEED).permutation(flat)])
    return Data(Path(text).name, numbers)


def nearest(fmt: Format, numbers: Numbers) -> NDArray[np.int64]:
    """Codes of the nearest values; numbers beyond the largest become the largest. Without a sign, of magnitudes.

    Of a pair of formats these are codes of the first.
    """
    if fmt.name == "binary32":
        return numbers.astype(np.float32).view(np.uint32).astype(np.int64)
    if isinstance(fmt, MultiFormat):
        return np.asarray(fmt.join(nearest(fmt.members[0], numbers).astype(np.uint32), np.uint8(0)), np.int64)
    finite = np.flatnonzero(np.isfinite(fmt.values))
    values, first_codes = np.unique(fmt.values[finite], return_index=True)
    codes = finite[first_codes]
    signed = numbers if fmt.signed else np.abs(numbers)
    above = np.clip(np.searchsorted(values, signed), 1, values.size - 1)
    is_lower = signed - values[above - 1] <= values[above] - signed
    return np.asarray(codes[above - is_lower], np.int64)


def magnitude(numbers: Numbers) -> int:
    """The logarithm to the base 2 of the root mean square, rounded; of zeros 0."""
    mean = np.mean(numbers**2)
    return round(float(np.log2(mean)) / 2) if mean else 0


def scaled(fmt: Format, numbers: Numbers) -> Numbers:
    """The numbers times the power of two with the highest signal-to-noise ratio in a format; see :func:`nearest`.

    Among scales within 0.01 dB of the best it is 1, or else the one that brings the root mean square nearest to 1.
    """
    one = fmt.members[0] if isinstance(fmt, MultiFormat) else fmt
    low, high = one.exponent_range
    sample = numbers.ravel()[:4096] if fmt.signed else np.abs(numbers.ravel()[:4096])
    size = magnitude(sample)
    ranked = sorted(range(low, high + 1), key=lambda exponent: (exponent != size, abs(exponent)))
    exponents = [exponent - size for exponent in ranked]
    noise = []
    for exponent in exponents:
        rounded = one.values[nearest(one, np.ldexp(sample, exponent))]
        noise.append(np.mean((np.ldexp(rounded, -exponent) - sample) ** 2))
    close = np.array(noise) <= min(noise) * 10**0.001
    return np.ldexp(numbers, exponents[int(np.argmax(close))])
