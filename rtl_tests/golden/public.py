"""Every public function of golden, run in several environments of the processor and of NumPy.

``python -m rtl_tests.golden.public ENVIRONMENT...`` runs all cases in each environment, in order, in one process, and
prints their digests as JSON. The environments are ``plain``; ``flushed``, in which the processor flushes subnormals;
and ``raise``, in which NumPy raises floating-point errors and warnings are errors. The formats are one of each kind, or
with the variable EVERY_FORMAT all of the catalogue.
"""

import enum
import functools
import hashlib
import inspect
import itertools
import json
import os
import sys
import warnings

import ml_dtypes
import numpy as np

import golden
from golden.arithmetic.amax import SPECIALS
from golden.arithmetic.blocks import POLICIES, SCALES
from golden.compiler import compiler, library
from golden.explain import explain
from golden.multi import MultiFormat
from golden.refusal import Refusal
from golden.rows import Biased, Kind, Row, Special
from golden.scaling import SCALINGS
from golden.wide import WIDE, Binary32
from rtl_tests.support.selection import first_of_each, kind_of_format

MXCSR = """
#include <xmmintrin.h>
extern "C" unsigned mxcsr() { return _mm_getcsr(); }
extern "C" void set_mxcsr(unsigned bits) { _mm_setcsr(bits); }
"""
FLUSHED = 1 << 15 | 1 << 6  # flush to zero, and denormals are zeros

TINY = golden.Format(
    name="tiny",
    width=8,
    cite="a test",
    rows=(Row("", Biased(4, 160), 3),),
    specials=(Special(0x7F, 0, Kind.ZERO), Special(0x7F, 0x7F, Kind.NAN)),
    canonical_nan=0x7F,
    overflows=(golden.Overflow.NAN, golden.Overflow.SATURATE),
)
NAMES = golden.names() if os.environ.get("EVERY_FORMAT") else first_of_each(kind_of_format, golden.names())
SINGLE = [
    *map(golden.get, NAMES), TINY,
    *map(golden.get, ("Binary9p1se", "Binary8p1uf", "Binary8p3se", "e5m2b1_3")),
]  # fmt: skip
WIDES = [golden.get(name) for name in WIDE]
PAIR = golden.get("ocp_e4m3+ocp_e5m2")
EVERY = [*SINGLE, *WIDES, PAIR]
OPERANDS = [fmt for fmt in SINGLE if fmt.signed]
CASES = {}


def case(name):
    """Make a function the case of ``name``, a public function or ``Class.method``."""

    def register(function):
        CASES[name] = function
        return function

    return register


def public():
    """Names of all public functions, and of the public methods and properties of public classes."""
    functions, methods, properties = set(), set(), set()
    classes = [MultiFormat, Binary32]
    for name in golden.__all__:
        thing = getattr(golden, name)
        if inspect.isclass(thing):
            classes.append(thing)
        elif callable(thing):
            functions.add(name)
    for base in {base for kind in classes for base in kind.__mro__ if base.__module__.startswith("golden")}:
        for name, member in vars(base).items():
            if name.startswith("_") or (issubclass(base, enum.Enum) and name in base.__members__):
                continue
            if isinstance(member, (property, functools.cached_property)):
                properties.add((base.__name__, name))
            elif callable(member) or isinstance(member, (staticmethod, classmethod)):
                methods.add(f"{base.__name__}.{name}")
    return functions, methods, properties


# -- inputs -----------------------------------------------------------------------------------------------------------


def patterns(width, exponent_bits):
    """Bits with all exponent fields, few fractions, both signs: subnormals, infinities, quiet and signaling NaNs."""
    fraction_bits = width - 1 - exponent_bits
    ones, half = (1 << fraction_bits) - 1, 1 << fraction_bits - 1
    fractions = [0, 1, 2, 3, half - 1, half, half + 1, ones, *(1 << place for place in range(2, fraction_bits))]
    fields = np.arange(1 << exponent_bits)[:, None] << fraction_bits | np.unique(fractions)
    return np.concatenate([fields.reshape(-1), fields.reshape(-1) | 1 << width - 1])


BITS = {
    "binary32": patterns(32, 8).astype(np.uint32),
    "binary16": patterns(16, 5).astype(np.uint16),
    "bfloat16": patterns(16, 8).astype(np.uint16),
    "dlfloat16": patterns(16, 6).astype(np.uint16),
}
FLOATS = {
    "float32": BITS["binary32"].view(np.float32),
    "float16": BITS["binary16"].view(np.float16),
    "bfloat16": BITS["bfloat16"].view(ml_dtypes.bfloat16),
}


def codes_of(fmt):
    return BITS[fmt.name] if fmt.name in BITS else np.arange(1 << fmt.width, dtype=fmt.code_dtype)


def variants(array):
    """The array as it is, and not contiguous, read-only, of the other byte order, of no and of many axes, and empty."""
    frozen = array.copy()
    frozen.setflags(write=False)
    yield from (array, array[::-3], frozen, array[7], array[7:8].reshape(()), array[:0], array[:12].reshape(2, 3, 2))
    if array.dtype.isbuiltin == 1:
        yield array[:500].astype(array.dtype.newbyteorder())


def layouts(array, fmt):
    """All variants of an array for the first format, and for all of them if every format is asked for; else itself."""
    return variants(array) if fmt is SINGLE[0] or os.environ.get("EVERY_FORMAT") else (array,)


def sample(fmt, count, seed):
    """Codes: all kinds, small and large values."""
    rng, codes = np.random.default_rng(seed), codes_of(fmt)
    ends = np.concatenate([codes[:3], codes[-3:], codes[len(codes) // 2 - 3 :][:6]])
    return np.where(rng.random(count) < 0.3, rng.choice(ends, count), rng.choice(codes, count)).astype(codes.dtype)


def accumulators(name, count, seed):
    """Bits of an accumulator: mostly small ones, so that sums are subnormal."""
    rng = np.random.default_rng(seed)
    bits = BITS[name if name in BITS else "binary32"]
    small = rng.integers(0, 9, count).astype(bits.dtype)
    return np.where(rng.random(count) < 0.5, small, rng.choice(bits, count)).astype(bits.dtype)


ACCUMULATORS = (*WIDE, "aligned6", "aligned13", "aligned25", "aligned40", "rvbna")
PAIRS = [(fmt.name if fmt is not TINY else fmt, None) for fmt in OPERANDS] + [
    ("bfloat16", None), ("binary16", "bfloat16"), (TINY, "hif8"), ("hif8", "e8m0"), (PAIR, "ocp_e5m2"), ("e8m0", None),
]  # fmt: skip


# -- cases ------------------------------------------------------------------------------------------------------------


@case("get")
def _():
    yield from (golden.get(name) for name in golden.names())


@case("names")
def _():
    yield golden.names()


@case("Format.decode")
@case("Binary32.decode")
def _():
    for fmt in EVERY:
        yield from (fmt.decode(codes) for codes in variants(codes_of(fmt)))


@case("Format.numbers")
@case("Binary32.numbers")
def _():
    yield from (fmt.numbers(codes_of(fmt)) for fmt in EVERY)


@case("Format.is_signaling")
@case("WideFormat.is_signaling")
def _():
    yield from (fmt.is_signaling(codes_of(fmt)) for fmt in EVERY)


@case("Format.decode_bits")
def _():
    for fmt in EVERY:
        for target in WIDES:
            yield from (fmt.decode_bits(codes, target) for codes in layouts(codes_of(fmt), fmt))


def _encode(method, sources):
    for fmt in (*SINGLE, *WIDES):
        encode = getattr(fmt, method)
        for source in (*sources, "hif8", "e8m0", TINY):
            bits = codes_of(golden.get(source))
            yield from (encode(some, source) for some in layouts(bits, fmt))
            words = np.random.default_rng(3).integers(0, 1 << 16, bits.shape, np.uint16)
            for rounding in fmt.roundings if source == "binary32" else ():
                yield encode(bits, source, rounding, random=words if rounding.is_stochastic else None)
            for overflow in fmt.overflows if source == "binary32" else ():
                yield encode(bits, source, overflow=overflow, nan_to_zero=fmt.has_zero)


@case("Format.encode")
def _():
    yield from _encode("encode", BITS)


@case("Format.encode_with_flags")
def _():
    yield from _encode("encode_with_flags", ("binary32", "binary16"))


@case("Format.quantize")
@case("Format.codes")
def _():
    for fmt in SINGLE:
        for array in FLOATS.values():
            yield from (fmt.quantize(x) for x in variants(array))
            yield from (fmt.codes(x) for x in variants(array))


@case("WideFormat.nearest")
def _():
    for fmt in WIDES:
        yield fmt.nearest(np.ldexp(np.arange(1.0, 9.0)[:, None], np.arange(-160, 130)))


@case("Format.quanta")
@case("Format.quantum")
@case("Format.largest_in_binade")
def _():
    for fmt in SINGLE:
        yield [fmt.largest_in_binade(exponent) for exponent in fmt.exponent_range]
        yield fmt.quanta(fmt.magnitude_codes)
        yield [fmt.quantum(int(code)) for code in fmt.magnitude_codes[:4]]


@case("Format.magnitudes_of")
@case("Format.scaled_magnitudes")
@case("Format.as_codes")
def _():
    for fmt in EVERY:
        codes = codes_of(fmt).astype(np.int64)
        yield fmt.magnitudes_of(codes), fmt.scaled_magnitudes(codes), fmt.as_codes(codes)


@case("Format.check_code")
@case("Format.exact_value")
@case("Format.split")
@case("MultiFormat.split")
def _():
    for fmt in (*SINGLE, PAIR):
        yield [(fmt.check_code(code), fmt.exact_value(code), fmt.split(code)[1]) for code in range(1 << fmt.width)]


@case("MultiFormat.join")
def _():
    yield PAIR.join(np.arange(256), np.arange(256) & 1)


@case("mac")
@case("mac_with_flags")
def _():
    yield golden.mac(0, 0, np.uint32(1), "hif8", accumulator="binary32")
    for a_format, b_format in PAIRS:
        fa, fb = golden.get(a_format), golden.get(b_format or a_format)
        a, b = sample(fa, 3000, 1), sample(fb, 3000, 2)
        for name in ACCUMULATORS:
            acc = accumulators(name, 3000, 4)
            yield golden.mac(a, b, acc, a_format, b_format, name), golden.mac_with_flags(a, b, acc, fa, fb, name)
        scale = np.random.default_rng(5).integers(-128, 128, 3000)
        acc = accumulators("binary32", 3000, 6)
        for name in ("binary32", "aligned25"):
            yield golden.mac_with_flags(a, b, acc, fa, fb, name, scale=scale, scale_bits=8, zero="positive")
        unit = golden.ExactAccumulator(fa, fb, 1024)
        yield golden.mac_with_flags(a, b, unit.zeros((3000,)), fa, fb, "exact")
        for some in (slice(0, 0), 5, slice(None, None, -3)):
            yield golden.mac(a[some], b[some], acc[some], fa, fb, "binary32")


@case("fused_dot")
@case("fused_dot_with_flags")
def _():
    for a_format, b_format in PAIRS:
        fa, fb = golden.get(a_format), golden.get(b_format or a_format)
        for lanes in (2, 4, 32):
            a, b = sample(fa, 400 * lanes, 1).reshape(400, lanes), sample(fb, 400 * lanes, 2).reshape(400, lanes)
            for name in ACCUMULATORS:
                acc = accumulators(name, 400, 4)
                yield golden.fused_dot(a, b, acc, a_format, b_format, name)
                yield golden.fused_dot_with_flags(a, b, acc, fa, fb, name)
                yield golden.fused_dot(a[:0], b[:0], acc[:0], a_format, b_format, name)
                for scale_format in SCALES:
                    scales = [sample(golden.get(scale_format), 400, seed) for seed in (7, 8)]
                    given = {"a_scale": scales[0], "b_scale": scales[1], "scale_format": scale_format}
                    if name in ("binary32", "binary16", "aligned25"):
                        yield attempt(golden.fused_dot_with_flags, a, b, acc, fa, fb, name, **given)


@case("dot")
def _():
    for a_format, b_format in PAIRS:
        fa, fb = golden.get(a_format), golden.get(b_format or a_format)
        a, b = sample(fa, 64 * 40, 1).reshape(8, 8, 40), sample(fb, 64 * 40, 2).reshape(8, 8, 40)
        for name in (*ACCUMULATORS, "exact"):
            yield golden.dot(a, b, fa, fb, name)  # compiled
            yield golden.dot(a[0, :2, :3], b[0, :2, :3], fa, fb, name)


@case("matmul")
def _():
    for a_format, b_format in PAIRS:
        fa, fb = golden.get(a_format), golden.get(b_format or a_format)
        a, b = sample(fa, 8 * 32, 1).reshape(8, 32), sample(fb, 32 * 8, 2).reshape(32, 8)
        for name in (*ACCUMULATORS[:5], "exact"):
            acc = None if name == "exact" else accumulators(name, 64, 4).reshape(8, 8)
            for lanes in (1, 3):
                compiled = golden.matmul(a, b, fa, fb, name, acc, lanes=lanes)
                numpy, flags = golden.matmul(a, b, fa, fb, name, acc, lanes=lanes, flags=True)
                np.testing.assert_array_equal(compiled, numpy)
                yield compiled, flags
            yield golden.matmul(a[:, :0], b[:0], fa, fb, name), golden.matmul(a[:0], b, fa, fb, name)


def methods_of_exact(method):
    for a_format, b_format in PAIRS:
        unit = golden.ExactAccumulator(a_format, b_format or a_format, 64, 3)
        a, b = sample(unit.a_format, 2000, 1), sample(unit.b_format, 2000, 2)
        scale = np.random.default_rng(5).integers(-4, 4, 2000)
        yield method(unit, a, b, scale, unit.accumulate(a, b, unit.zeros((2000,)), scale))


@case("ExactAccumulator.zeros")
@case("ExactAccumulator.accumulate")
@case("ExactAccumulator.checked")
def _():
    yield from methods_of_exact(lambda unit, a, b, scale, acc: unit.checked(acc))


@case("ExactAccumulator.flags")
def _():
    yield from methods_of_exact(lambda unit, a, b, scale, acc: unit.flags(a[:, None], b[:, None], acc, scale))


@case("ExactAccumulator.decode")
def _():
    yield from methods_of_exact(lambda unit, a, b, scale, acc: unit.decode(acc))


@case("ExactAccumulator.encode")
def _():
    for target in (*WIDE, "hif8", "ocp_e4m3", TINY, "Binary9p1se"):
        yield from methods_of_exact(lambda unit, a, b, scale, acc, to=target: unit.encode(acc, to))


def is_special(array):
    infinity = {"float32": 0xFF << 23, "float16": 0x1F << 10, "bfloat16": 0xFF << 7}[array.dtype.name]
    bits = array.view(f"u{array.itemsize}")
    return bits & infinity == infinity


def block_arrays():
    for array in FLOATS.values():
        finite = array[~is_special(array)]
        rows = [
            array[: array.size // 8 * 8].reshape(-1, 8),
            np.random.default_rng(1).permutation(finite)[: finite.size // 32 * 32].reshape(-1, 32),
            finite[: finite.size // 8 * 8].reshape(-1, 8),
        ]
        for row in rows:
            yield from (row, row[::-2, ::2], np.broadcast_to(row[3], row.shape), row[3], row[:0])
            if row.dtype.isbuiltin == 1:
                yield row.astype(row.dtype.newbyteorder())


@case("quantize_block")
def _():
    for fmt in OPERANDS:
        for x in block_arrays():
            yield from (golden.quantize_block(x, fmt, policy=policy) for policy in (None, *POLICIES))
            yield from (golden.quantize_block(x, fmt, scale) for scale in SCALES if scale != "e8m0")


@case("amax")
def _():
    for fmt in [*SINGLE, *WIDES]:
        codes = sample(fmt, 400, 3).reshape(20, -1)
        for nan, infinity in itertools.product(SPECIALS, SPECIALS):
            yield from (golden.amax(codes, fmt, axis, nan=nan, infinity=infinity) for axis in (None, 0, (0, 1)))


@case("amax_scale")
def _():
    for fmt in [*SINGLE, *WIDES]:
        codes = sample(fmt, 400, 3)
        yield from (golden.amax_scale(codes, "e2m1", fmt, policy) for policy in (None, *POLICIES))


@case("quantize_hifloat4")
@case("dequantize_hifloat4")
@case("dot_hifloat4")
def _():
    rng = np.random.default_rng(6)
    x = (rng.normal(size=(30, 64)) * np.exp2(rng.integers(-90, 120, (30, 1)))).astype(np.float32)
    x[3, 4], x[5] = np.nan, 0
    block = golden.quantize_hifloat4(x)
    yield from (block, golden.dequantize_hifloat4(*block), golden.dot_hifloat4(block, block))


@case("quantize_nvfp4")
def _():
    for x in block_arrays():
        yield from (golden.quantize_nvfp4(x), golden.quantize_nvfp4(x, 100.0))


@case("dequantize_block")
def _():
    for fmt in OPERANDS:
        codes = codes_of(fmt)
        for scale_format in SCALES:
            scales = codes_of(golden.get(scale_format))
            yield golden.dequantize_block(np.broadcast_to(codes, (scales.size, codes.size)), scales, fmt, scale_format)


@case("dynamic_range")
@case("model_snr")
@case("significand_bits")
@case("best_scale")
@case("quantization_snr")
def _():
    for fmt in SINGLE:
        yield golden.dynamic_range(fmt), attempt(golden.model_snr, fmt), golden.significand_bits(fmt)
    for fmt in map(golden.get, ("hif8", "e5m2b1", "e2m1", "e8m0", TINY)):
        for distribution in golden.DISTRIBUTIONS:
            scales = 2.0 ** np.array([-500, -400, -149, -9, 0, 9, 400, 500])
            yield golden.quantization_snr(fmt, scales, distribution), golden.best_scale(fmt, distribution)
        yield golden.quantization_snr(fmt, np.empty(0)), golden.quantization_snr(fmt, np.array(1.0))


@case("rounding_errors")
def _():
    x = np.random.default_rng(4).normal(size=300).astype(np.float32)
    for fmt in SINGLE:
        yield [attempt(golden.rounding_errors, fmt, x, rounding, 5) for rounding in (None, "to_odd", "stochastic")]


@case("calibrate")
def _():
    rng = np.random.default_rng(1)
    for fmt in map(golden.get, ("hif8", "e5m2b1", "ocp_e4m3", TINY, "Binary9p1se")):
        for size in (0, -130, -140):
            # exact products of few bits, so that the order of BLAS's sums does not matter
            numbers = rng.integers(-15, 16, (2, 4, 4))
            bits = np.abs(numbers) << 149 + size | (numbers < 0) << 31 if size else 0 * numbers
            x, w = bits.astype(np.uint32).view(np.float32) if size else numbers.astype(np.float32)
            for exponents in (range(-4, 6), (-20, -9), (-300, 300), (130, 140)):
                yield attempt(golden.calibrate, x, w, None, fmt, exponents)
    for shapes in (((0, 4), (4, 3)), ((3, 0), (0, 4)), ((3, 4), (4, 0))):
        yield attempt(golden.calibrate, np.zeros(shapes[0], np.float32), np.zeros(shapes[1], np.float32))
    specials = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    yield attempt(golden.calibrate, specials[None], specials[:, None])
    signaling = np.array([[0x7F800001, 1]], np.uint32).view(np.float32)
    yield attempt(golden.calibrate, signaling, np.ones((2, 1), np.float32))


@case("scale_for")
def _():
    rng = np.random.default_rng(3)
    for fmt in map(golden.get, ("hif8", "e5m2b1", "ocp_e4m3", "e2m1", "Binary8p1uf")):
        # powers of two and few bits, so that the order of sums does not matter
        x = rng.integers(0 if not fmt.signed else -15, 16, (4, 6)) * 2.0 ** rng.integers(-20, 20, (4, 1))
        for policy in SCALINGS:
            for axis in (None, 1, (0, 1), -2):
                yield attempt(golden.scale_for, x, fmt, policy, axis, percentile=75)
            yield attempt(golden.scale_for, BITS["binary32"][5:90:7].view(np.float32), fmt, policy, center=0)
            for least in ([5e-324, 1e-310], [1.0, 1e-160], [1e300, 1e-300, 5e-324, 3.0]):
                yield attempt(golden.scale_for, np.array(least), fmt, policy)


@case("calibrate_layers")
@case("scaled_matmul")
def _():
    rng = np.random.default_rng(4)
    for fmt in map(golden.get, ("hif8", "e5m2b1", "ocp_e4m3")):
        x, w, v = (rng.integers(-15, 16, shape) / 4 for shape in ((3, 4), (4, 5), (5, 2)))
        yield attempt(golden.calibrate_layers, x, [(w, np.abs), (v, np.abs)], fmt, range(-1, 2))
        for accumulator in ("binary16", "binary32", "exact", "aligned13"):
            yield attempt(golden.scaled_matmul, x, w, [[1], [2], [-3]], -2, fmt, accumulator=accumulator)
            yield attempt(golden.scaled_matmul, x * 2.0**-140, w, 9, 0, fmt, accumulator=accumulator)


@case("LossScale.update")
def _():
    for rule in golden.loss.RULES:
        scale = golden.LossScale(rule, 448.0, window=3, deviations=1.0)
        for largest in (5e-324, 1.0, 0.0, np.inf, 2.0**-140, 3e38, np.nan, *[1.0] * 50):
            yield scale.update(largest, overflowed=largest > 1e30), scale.exponent


@case("pack")
def _():
    yield golden.pack(np.arange(8), "hif8", 4), golden.pack(BITS["binary32"], "binary32"), golden.pack([], "e2m1")


@case("Fixed.exponents")
@case("Biased.exponents")
@case("SignMagnitude.exponents")
def _():
    for rule in (golden.Fixed(3), golden.Biased(4, 7), golden.SignMagnitude(3)):
        yield rule.exponents(np.arange(1 << rule.bits))


@case("Rounding.truncates")
def _():
    yield [rounding.truncates(negative=sign) for rounding in golden.Rounding for sign in (False, True)]


@case("Refusal.about")
def _():
    yield str(golden.BadValue("bits", "must not").about("--bits"))


@case("explanations")
def _():
    for fmt in SINGLE:
        yield [list(explain(fmt, code)) for code in range(0, 1 << fmt.width, 5)]


@case("properties")
def _():
    """Every property of every public class."""
    subjects = [*EVERY, *golden.Rounding, golden.ExactAccumulator("hif8", "hif8", 9), golden.BadValue("a", "b")]
    for kind, name in sorted(public()[2]):
        named = [thing for thing in subjects if kind in {base.__name__ for base in type(thing).__mro__}]
        assert named, f"no object of {kind}"
        yield from (getattr(thing, name) for thing in named if has(thing, name))


def has(thing, name):
    """Formats without tables have no properties that are tables."""
    tables = (
        "values",
        "kinds",
        "magnitude_codes",
        "magnitudes",
        "magnitude_rows",
        "largest_precise",
        "binades",
        "most_precise",
    )
    return not (
        isinstance(thing, Binary32) and name in (*tables, "has_negative_zero", "above_largest", "exponent_range")
    )


# -- running them -----------------------------------------------------------------------------------------------------


def attempt(function, *arguments, **options):
    """The result, or the text of a refusal."""
    try:
        return function(*arguments, **options)
    except Refusal as refusal:
        return str(refusal)


def digest(results):
    """SHA-256 of types, shapes and bytes."""
    total = hashlib.sha256()
    for result in results:
        if isinstance(result, (tuple, list)):
            total.update(digest(result).encode())
        elif isinstance(result, (np.ndarray, np.generic)):
            total.update(f"{result.dtype.name} {result.shape} ".encode() + result.tobytes())
        else:
            total.update(repr(result).encode())
    return total.hexdigest()


def registers():
    """Functions that read and write MXCSR; None without a compiler that knows it."""
    path = compiler()
    try:
        return None if path is None else library(path, MXCSR)
    except Exception:  # another processor
        return None


def flushes():
    """Whether subnormals are flushed: operands and results."""
    smallest = np.array([1], np.uint32).view(np.float32)
    return bool(
        smallest.astype(np.float64)[0] == 0 and np.array([2.0**-149]).astype(np.float32).view(np.uint32)[0] == 0
    )


def run(environment):
    """The digest of each case, or the error that it raises."""
    digests, done = {}, {}
    for name, function in CASES.items():
        if function in done:  # of several names
            digests[name] = digests[done[function]]
            continue
        done[function] = name
        try:
            digests[name] = digest(function())
        except Exception as error:
            place = error.__traceback__
            while place.tb_next:
                place = place.tb_next
            where = f"{place.tb_frame.f_code.co_filename.rpartition('/')[2]}:{place.tb_lineno}"
            digests[name] = f"{environment}: {type(error).__name__}: {error} ({where})"
    return digests


def main(environments):
    found = {}
    for environment in environments:
        raises = environment == "raise"
        np.seterr(**dict.fromkeys(("divide", "over", "invalid"), "raise" if raises else "warn"))
        np.seterr(under="raise" if raises else "ignore")
        warnings.simplefilter("error" if raises else "default")
        code = registers() if "flushed" in environments else None
        if code:
            code.set_mxcsr(code.mxcsr() | FLUSHED if environment == "flushed" else code.mxcsr() & ~FLUSHED)
            with np.errstate(under="ignore"):
                assert flushes() == (environment == "flushed")
        found[environment] = run(environment)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
