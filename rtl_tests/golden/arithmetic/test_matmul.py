"""Matrix products equal the chain of ``golden.mac`` or ``golden.fused_dot``, compiled and in NumPy; refusals."""

import subprocess
import sys
import tracemalloc
from functools import partial
from itertools import product

import numpy as np
import pytest

import golden
from golden.arithmetic import blocks
from golden.arithmetic.matmul import dot, matmul
from rtl_tests.support.blocks import generator

ACCUMULATORS = (*golden.ACCUMULATORS, "aligned6", "aligned13", "aligned25", "aligned40", "rvbna")
USER = golden.Format(
    name="wide_code",
    width=16,
    cite="",
    rows=(golden.Row("", golden.Biased(9, 255), 6),),
    specials=(golden.Special(0x7FFF, 0, golden.Kind.ZERO), golden.Special(0x7FFF, 0x7FFF, golden.Kind.INF)),
    flush=True,
)
"""A user's format with exponents far beyond binary32's."""
PAIRS = [
    *((name, name) for name in golden.names()),
    ("ocp_e4m3", "ocp_e5m2"),
    ("e5m3", "e2m1"),
    ("hif8", "ue4m3"),
    ("gc_1_0_7_b0", "e8m0"),
    ("ocp_e4m3+ocp_e5m2", "ocp_e4m3+ocp_e5m2"),
    ("e5m2b4", "binary16"),
    ("dlfloat16", "bfloat16"),
    (USER, USER),
]


@pytest.fixture(params=["compiled", "numpy"])
def backend(request, monkeypatch):
    """Whether even small products are compiled, or even large ones are not."""
    monkeypatch.setattr("golden.arithmetic.matmul.SMALL", -1 if request.param == "compiled" else 1 << 62)
    return request.param


def random_codes(fmt, rng, shape, finite):
    codes = np.flatnonzero(np.isfinite(fmt.values)) if finite else np.arange(1 << fmt.width)
    return rng.choice(codes, shape).astype(fmt.code_dtype)


def random_state(fa, fb, accumulator, terms, shape, rng, scale_bits=0):
    if accumulator == "exact":
        unit = golden.ExactAccumulator(fa, fb, terms, scale_bits)
        state = rng.integers(0, 1 << 64, (*shape, unit.limbs), np.uint64, endpoint=False)
        state[..., -1] &= np.uint64((1 << (unit.width - 64 * (unit.limbs - 1))) - 1)
        return state
    fmt = golden.get(accumulator if accumulator in golden.WIDE else "binary32")
    return rng.integers(0, 1 << fmt.width, shape).astype(fmt.code_dtype)


def expected(a, b, acc, fa, fb, accumulator, lanes, terms, **scales):
    """The chain, step by step, and its flags."""
    rows, columns = a.shape[0], b.shape[1]
    flags = np.zeros((rows, columns), np.uint8)
    for start in range(0, a.shape[1], lanes):
        left, right = a[:, None, start : start + lanes], b[start : start + lanes].T[None]
        options = {key: value(start) if callable(value) else value for key, value in scales.items()}
        if lanes == 1 and "a_scale" not in options:
            one = left[..., 0], right[..., 0], acc, fa, fb, accumulator, terms
            acc, further = golden.mac_with_flags(*one, **options)
        else:
            acc, further = golden.fused_dot_with_flags(left, right, acc, fa, fb, accumulator, terms, **options)
        flags |= further
    return acc, flags


@pytest.mark.parametrize("accumulator", ACCUMULATORS)
def test_a_matrix_product_is_the_chain(accumulator, backend):
    rng, raised = generator("matmul", accumulator), 0
    for number, (a_name, b_name) in enumerate(PAIRS):
        if backend == "numpy" and number % 3:  # it is the chain itself
            continue
        fa, fb = golden.get(a_name), golden.get(b_name)
        lanes = (1, 3, 8, 32)[number % 4] if number % 8 < 4 else 1
        lanes, depth = (1 << lanes.bit_length() - 1, 16) if accumulator == "rvbna" else (lanes, 10)
        if accumulator == "rvbna" and lanes > depth:  # a last group of fewer products has its own test
            continue
        for finite in (False, True):
            a, b = random_codes(fa, rng, (5, depth), finite), random_codes(fb, rng, (depth, 7), finite)
            state = random_state(fa, fb, accumulator, 16, (5, 7), rng) if finite else None
            ours = matmul(a, b, fa, fb, accumulator, state, lanes=lanes, terms=16)
            if state is None:
                state = np.zeros(ours.shape, ours.dtype)
            chained, flags = expected(a, b, state, fa, fb, accumulator, lanes, 16)
            np.testing.assert_array_equal(ours, chained, f"{a_name} {b_name} {lanes}")
            assert ours.dtype == chained.dtype
            if number % 9 == 0:
                both = matmul(a, b, fa, fb, accumulator, state, lanes=lanes, terms=16, flags=True)
                np.testing.assert_array_equal(both[0], chained)
                np.testing.assert_array_equal(both[1], flags)
                raised |= int(np.bitwise_or.reduce(flags, None))
    assert raised or accumulator == "rvbna"  # it has few flags; test_bulk.py has them


@pytest.mark.parametrize("accumulator", ACCUMULATORS)
@pytest.mark.parametrize("lanes", [1, 4])
def test_scales_of_sums(accumulator, lanes, backend):
    rng = generator("scales", accumulator)
    depth = 12 if accumulator == "rvbna" else 11
    for name in ("hif8", "ocp_e5m2", "gc_1_3_4_b3"):
        fmt = golden.get(name)
        a, b = random_codes(fmt, rng, (9, depth), False), random_codes(fmt, rng, (depth, 6), True)
        for scale in (3, rng.integers(-16, 16, (9, 1)), rng.integers(-16, 16, 6), rng.integers(-16, 16, (9, 6))):
            state = random_state(fmt, fmt, accumulator, 11, (9, 6), rng, scale_bits=5)
            ours = matmul(a, b, fmt, None, accumulator, state, lanes=lanes, scale=scale, scale_bits=5)
            chained, _ = expected(a, b, state, fmt, fmt, accumulator, lanes, 11, scale=scale, scale_bits=5)
            np.testing.assert_array_equal(ours, chained)


@pytest.mark.parametrize(("accumulator", "scale_format"), [*product(golden.WIDE, blocks.SCALES), ("aligned13", "e8m0")])
def test_scales_of_blocks(accumulator, scale_format, backend):
    """Blocks of 8 products, the last one shorter, taken 1, 4, or 8 at a time."""
    rng, factor = generator("blocks", accumulator, scale_format), golden.get(scale_format)
    for a_name, b_name in (("ocp_e4m3", "ocp_e5m2"), ("e2m1", "e2m1"), ("hif8", "hif8")):
        fa, fb = golden.get(a_name), golden.get(b_name)
        a, b = random_codes(fa, rng, (7, 29), False), random_codes(fb, rng, (29, 10), True)
        near = rng.integers(100, 150, (7, 4)) if scale_format == "e8m0" else random_codes(factor, rng, (7, 4), False)
        a_scale = near.astype(factor.code_dtype)
        b_scale = random_codes(factor, rng, (4, 10), True)
        for lanes in (1, 4, 8):
            state = random_state(fa, fb, accumulator, 29, (7, 10), rng)
            scales = {"a_scale": a_scale, "b_scale": b_scale, "scale_format": scale_format}
            ours = matmul(a, b, fa, fb, accumulator, state, lanes=lanes, block=8, **scales)
            scales["a_scale"] = lambda start, codes=a_scale: codes[:, start // 8, None]
            scales["b_scale"] = lambda start, codes=b_scale: codes[start // 8]
            chained, _ = expected(a, b, state, fa, fb, accumulator, lanes, 29, **scales)
            np.testing.assert_array_equal(ours, chained)


@pytest.mark.parametrize("accumulator", [*golden.WIDE, "aligned13"])
def test_positive_zeros(accumulator, backend):
    a, b = np.array([[0, 0x80, 8, 0x88]]), np.array([[0x80], [8], [8], [8]])
    bits = golden.get("binary32" if accumulator == "aligned13" else accumulator).sign_bit
    codes = a[:, :2], b[:2], "ocp_e4m3", None, accumulator, [[bits]]
    assert matmul(*codes).tolist() == [[0 if accumulator == "aligned13" else bits]]
    assert matmul(*codes, zero="positive").tolist() == [[0]]
    assert matmul(a, b, *codes[2:], zero="positive", lanes=3).tolist() == [[0]]


@pytest.mark.parametrize(
    "shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0), (1, 1, 1), (1, 300, 1), (1, 5, 200), (70, 1, 3)]
)
@pytest.mark.parametrize("accumulator", ["binary16", "binary32", "exact", "aligned13"])
def test_shapes(shape, accumulator, backend):
    rows, depth, columns = shape
    rng, fmt = generator("shapes"), golden.get("hif8")
    a, b = random_codes(fmt, rng, (rows, depth), True), random_codes(fmt, rng, (depth, columns), True)
    for lanes in (1, 2, 1000):
        state = random_state(fmt, fmt, accumulator, 512, (rows, columns), rng)
        ours = matmul(a, b, fmt, None, accumulator, state, lanes=lanes, terms=512)
        chained, _ = expected(a, b, state, fmt, fmt, accumulator, lanes, 512)
        np.testing.assert_array_equal(ours, chained)
        assert not np.shares_memory(ours, state)


def test_without_products_accumulators_are_unchanged(backend):
    nan = np.array([[0x7C01, 0x8000]], np.uint16)
    empty = np.zeros((1, 0), np.uint8), np.zeros((0, 2), np.uint8)
    np.testing.assert_array_equal(matmul(*empty, "hif8", acc=nan), nan)
    assert matmul([[0]], [[0, 0]], "hif8", acc=nan).tolist() == [[0x7E00, 0]]


def test_views_and_types_of_codes(backend):
    rng, fmt = generator("views"), golden.get("e5m3")  # 9 bits
    whole_a, whole_b = random_codes(fmt, rng, (20, 30), False), random_codes(fmt, rng, (30, 80), False)
    plain = matmul(whole_a[::-2, 1::3].copy(), whole_b[1::3, ::-4].copy(), fmt)
    np.testing.assert_array_equal(matmul(whole_a[::-2, 1::3], whole_b[1::3, ::-4], fmt), plain)
    turned = np.asfortranarray(whole_a[::-2, 1::3]), whole_b.T[::-4, 1::3].T
    np.testing.assert_array_equal(matmul(*turned, fmt), plain)
    for dtype in (np.int16, np.int64, np.uint64, ">u2", ">i8"):
        codes = whole_a[::-2, 1::3].astype(dtype), whole_b[1::3, ::-4].astype(dtype)
        np.testing.assert_array_equal(matmul(*codes, fmt), plain)
    record = np.zeros((10, 10), np.dtype({"names": ["x"], "formats": ["u2"], "offsets": [1], "itemsize": 3}))
    record["x"] = whole_a[::-2, 1::3]
    np.testing.assert_array_equal(matmul(record["x"], codes[1], fmt), plain)
    state = np.zeros((20, 40), np.int64)[::2, ::2]
    np.testing.assert_array_equal(matmul(*codes, fmt, acc=state), plain)
    assert matmul([[8]], [[8]], "hif8").tolist() == [[0x3C00]]


@pytest.mark.parametrize("accumulator", ACCUMULATORS)
def test_dot_products_of_any_shape(accumulator, backend):
    rng, fmt = generator("dots", accumulator), golden.get("ocp_e5m2")
    shapes = [
        ((3, 1, 9), (4, 9)),
        ((9,), (9,)),
        ((5, 2, 3, 9), (3, 9)),
        ((9,), (70, 9)),
        ((0, 9), (9,)),
        ((2, 1), (7,)),
    ]
    for a_shape, b_shape in shapes:
        a, b = random_codes(fmt, rng, a_shape, False), random_codes(fmt, rng, b_shape, False)
        left, right = np.broadcast_arrays(a, b)
        chained = np.zeros(left.shape[:-1], np.uint16)
        terms = left.shape[-1]
        if accumulator == "exact":
            chained = golden.ExactAccumulator(fmt, fmt, terms).zeros(left.shape[:-1])
        elif accumulator not in golden.WIDE or accumulator == "binary32":
            chained = chained.astype(np.uint32)
        for k in range(terms):
            chained = golden.mac(left[..., k], right[..., k], chained, fmt, None, accumulator, terms)
        ours = dot(a, b, fmt, None, accumulator)
        np.testing.assert_array_equal(ours, chained)
        assert (ours.shape, ours.dtype) == (chained.shape, chained.dtype)


@pytest.mark.parametrize("accumulator", ["binary16", "exact"])
def test_numpy_needs_memory_for_operands_and_result_alone(accumulator, monkeypatch):
    monkeypatch.setattr("golden.arithmetic.matmul.SMALL", 1 << 62)
    a, b = np.zeros((400, 20), np.uint8), np.zeros((20, 500), np.uint8)
    matmul(a[:2], b, "hif8", None, accumulator)
    tracemalloc.start()
    result = matmul(a, b, "hif8", None, accumulator)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    products = 8 * 400 * 500 * 20
    assert most < 4 * (a.nbytes + b.nbytes + result.nbytes) + (1 << 22) < products


MEASURED = """
import resource
import numpy as np
from golden import matmul
from golden.arithmetic import native
a, b = np.zeros((1200, 400), np.{!s}), np.zeros((400, 1000), np.{!s})
assert native.library() is not None
matmul(a[:100], b[:, :100], "hif8", accumulator={!r}, threads=2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = matmul(a, b, "hif8", accumulator={!r}, threads=2)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert after - before < 4 * (a.nbytes + b.nbytes + result.nbytes) / 1024 + 2048, (before, after)
"""


@pytest.mark.parametrize(("accumulator", "codes"), [("binary16", "uint8"), ("exact", "int64")])
def test_compiled_code_needs_memory_for_operands_and_result_alone(accumulator, codes):
    program = MEASURED.replace("{!r}", repr(accumulator)).replace("{!s}", codes)
    subprocess.run([sys.executable, "-c", program], check=True)


ZEROS = partial(np.zeros, dtype=np.uint8)
GOOD = {"a": ZEROS((2, 8)), "b": ZEROS((8, 3)), "a_format": "hif8"}
SCALES = {"a_scale": ZEROS((2, 2)), "b_scale": ZEROS((2, 3)), "block": 4}
LIMBS = {"accumulator": "exact", "acc": np.zeros((2, 3, 2), np.uint64)}
OPERANDS = "a and b must have shapes (M, K) and (K, N), not"
INTEGER = "must be an integer from 1 to 16777216, not"
BROADCAST = "scale must have a shape that broadcasts to (2, 3), not"


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"a": [1, 2]}, ValueError, "a must have the two axes (M, K), not the shape (2,)"),
        ({"b": ZEROS((1, 8, 2))}, ValueError, "b must have the two axes (K, N), not the shape (1, 8, 2)"),
        ({"b": ZEROS((2, 8))}, ValueError, f"{OPERANDS} (2, 8) and (2, 8)"),
        ({"a": ZEROS((2, 1))}, ValueError, f"{OPERANDS} (2, 1) and (8, 3)"),
        ({"a": [[0.5]]}, TypeError, "a must be unsigned integers, not float64"),
        ({"b": [[256]]}, ValueError, "b must lie in 0 to 0xff for hif8, not 0x100"),
        ({"a": [[-1]]}, ValueError, "a must lie in 0 to 0xff for hif8, not -0x1"),
        ({"a": [[1], [1, 2]]}, TypeError, "a must be an array, not [[1], [1, 2]]"),
        ({"a_format": "hif9"}, ValueError, "a_format must be a known format, not 'hif9'; the nearest"),
        ({"b_format": "binary32"}, ValueError, "b_format must have at most 16 bits, not the 32 of binary32"),
        ({"accumulator": "binary64"}, ValueError, "accumulator must be one of binary16, bfloat16, binary32,"),
        ({"acc": ZEROS(3)}, ValueError, "acc must have the shape (2, 3), not (3,)"),
        ({"acc": 0}, ValueError, "acc must have the shape (2, 3), not ()"),
        ({"acc": np.full((2, 3), 65536)}, ValueError, "acc must lie in 0 to 0xffff for binary16, not 0x10000"),
        ({**LIMBS, "acc": LIMBS["acc"][:1]}, ValueError, "acc must have the shape (2, 3, 2), not (1, 3, 2)"),
        ({**LIMBS, "acc": ZEROS((2, 3, 2))}, TypeError, "acc must be uint64 limbs with a last axis of 2, not uint8"),
        ({"lanes": 0}, ValueError, f"lanes {INTEGER} 0"),
        ({"lanes": 2.0}, TypeError, f"lanes {INTEGER} 2.0"),
        ({"terms": 0}, ValueError, f"terms {INTEGER} 0"),
        ({"flags": 1}, TypeError, "flags must be True or False, not 1"),
        ({"threads": 0}, ValueError, "threads must be an integer from 1 to 256, not 0"),
        ({"threads": 0, "flags": True}, ValueError, "threads must be an integer from 1 to 256, not 0"),
        ({"zero": "plus"}, ValueError, "zero must be one of ieee, positive, not 'plus'"),
        ({"zero": "positive", **LIMBS}, ValueError, "zero 'positive' needs an accumulator that rounds"),
        ({"scale": 1}, ValueError, "scale must be 0 for scale_bits 0, not 1"),
        ({"scale": 0.5, "scale_bits": 2}, TypeError, "scale must be integers, not float64"),
        ({"scale_bits": 11}, ValueError, "scale_bits must be an integer from 0 to 10, not 11"),
        ({"scale": [0, 1], "scale_bits": 2}, ValueError, f"{BROADCAST} (2,)"),
        ({"scale": np.zeros((1, 2, 3), int), "scale_bits": 2}, ValueError, f"{BROADCAST} (1, 2, 3)"),
        ({"block": 4}, ValueError, "block needs the scales of blocks, a_scale and b_scale"),
        ({**SCALES, "block": None}, ValueError, "block must be given with the scales of blocks, a_scale and b_scale"),
        ({**SCALES, "b_scale": None}, ValueError, "b_scale must be given with the scale of the other operand"),
        ({**SCALES, "block": 0}, ValueError, f"block {INTEGER} 0"),
        ({**SCALES, "lanes": 8}, ValueError, "block must be a multiple of the 8 lanes, not 4"),
        ({**SCALES, "block": 2}, ValueError, "a_scale must have the shape (2, 4), not (2, 2)"),
        ({**SCALES, "b_scale": ZEROS((3, 2))}, ValueError, "b_scale must have the shape (2, 3), not (3, 2)"),
        ({**SCALES, "a_scale": [[1, 1], [1]]}, TypeError, "a_scale must be an array, not [[1, 1], [1]]"),
        ({**SCALES, "scale": 0}, ValueError, "scale must not be given with the scales of blocks"),
        ({**SCALES, "scale_bits": 1}, ValueError, "scale_bits must be 0 with the scales of blocks"),
        ({**SCALES, **LIMBS}, ValueError, "a_scale needs an accumulator that rounds, not 'exact'"),
        ({**SCALES, "scale_format": "hif8"}, ValueError, "scale_format must be one of e8m0,"),
    ],
)
def test_refusals(arguments, error, sentence):
    with pytest.raises(error) as caught:
        matmul(**{**GOOD, **arguments})
    assert isinstance(caught.value, golden.Refusal)
    assert str(caught.value).startswith(sentence)
