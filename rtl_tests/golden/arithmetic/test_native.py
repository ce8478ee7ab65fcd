"""Compiled matrix products, step by step, beside ``golden.mac``; without a compiler; with faults that must be found."""

import os
import shutil
import subprocess
import warnings
from collections import Counter
from functools import cache, partial

import numpy as np
import pytest

import golden
from golden import compiler
from golden.arithmetic import native
from golden.arithmetic.chain import Chains, run_in_numpy
from golden.arithmetic.matmul import matmul
from golden.arithmetic.options import SumOptions
from hwgen.reference import vectors
from rtl_tests.support.blocks import generator
from rtl_tests.support.chains import STATES, compiled_steps, distinct, steps

NARROW = ("binary16", "bfloat16", "dlfloat16")
FORMATS = [golden.get(name) for name in golden.names()]
TENTH = 10


@pytest.mark.parametrize("accumulator", NARROW)
def test_every_tenth_product_with_every_accumulator(accumulator):
    visited = Counter()
    for fmt, compared, wrong in steps(accumulator, FORMATS, every=TENTH):
        assert not wrong, f"{wrong} sums of {fmt.name} into {accumulator} differ"
        visited[accumulator] += compared
    products = len(set().union(*map(distinct, FORMATS)))
    assert visited[accumulator] == -(-products // TENTH) * STATES


@pytest.mark.exhaustive
@pytest.mark.parametrize("accumulator", NARROW)
def test_every_product_of_every_format_with_every_accumulator(accumulator):
    visited = Counter()
    for fmt, compared, wrong in steps(accumulator, FORMATS):
        assert not wrong, f"{wrong} sums of {fmt.name} into {accumulator} differ"
        visited[fmt.name] += compared
    assert visited == {fmt.name: len(distinct(fmt)) * STATES for fmt in FORMATS}


WIDER = ("binary32", "exact", "aligned6", "aligned13", "aligned25", "aligned40", "rvbna")
PER_BATCH = 1 << 18
DEPTH = 4


def wider_steps(accumulator, fmt, rng):
    """Compare chains of ``DEPTH`` steps from difficult accumulators; return the steps and the sums that differ."""
    count = PER_BATCH // DEPTH
    a, b = rng.integers(0, 1 << fmt.width, (2, 1, count, DEPTH)).astype(fmt.code_dtype)
    chains = Chains(SumOptions.of(fmt, accumulator=accumulator, terms=1 << 20), a, b)
    if accumulator == "exact":
        unit = golden.ExactAccumulator(fmt, fmt, 1 << 20)
        acc = rng.integers(0, 1 << 64, (1, count, unit.limbs), np.uint64, endpoint=False)
        acc[..., -1] &= np.uint64((1 << (unit.width - 64 * (unit.limbs - 1))) - 1)
        acc[:, ::2] = 0
    else:
        first = a[0, :, 0].astype(np.uint64), b[0, :, 0].astype(np.uint64)
        acc = vectors.accumulators(chains.options, *first, rng)[np.newaxis].astype(np.uint32)
    ours, theirs = native.run(chains, acc, 2), run_in_numpy(chains, acc)[0]
    return a.size, int((ours != theirs).sum())


@pytest.mark.parametrize("accumulator", WIDER)
def test_wider_accumulators_on_boundaries_and_at_random(accumulator):
    for name in ("hif8", "ocp_e4m3", "e5m2b4", "e8m0", "gc_1_0_7_b0"):
        _, wrong = wider_steps(accumulator, golden.get(name), generator("wider", accumulator, name))
        assert not wrong, name


@pytest.mark.exhaustive
@pytest.mark.parametrize("accumulator", WIDER)
def test_a_billion_steps_of_wider_accumulators(accumulator):
    """A billion into binary32 and into ``exact``, a quarter into each of the others."""
    visited, rng = 0, generator("billion", accumulator)
    while visited < (10**9 if accumulator in golden.ACCUMULATORS else 10**9 // 4):
        for fmt in FORMATS:
            compared, wrong = wider_steps(accumulator, fmt, rng)
            assert not wrong, fmt.name
            visited += compared


def random_codes(fmt, rng, shape, smallest=1 << 16):
    """Codes of the ``smallest`` magnitudes, or any."""
    codes = np.argsort(np.abs(fmt.values), kind="stable")[:smallest]  # NaN comes last
    return rng.choice(codes, shape).astype(fmt.code_dtype)


def chains_differ(accumulator, name, lanes, rng, smallest=1 << 16, **scales):
    """Whether compiled code and NumPy differ in some products of random codes; they share the checks alone."""
    fmt = golden.get(name)
    a, b = random_codes(fmt, rng, (37, 70), smallest), random_codes(fmt, rng, (70, 65), smallest)
    a[5:] = random_codes(fmt, rng, (32, 70), min(smallest, np.isfinite(fmt.values).sum()))
    compute = partial(matmul, a, b, fmt, None, accumulator, lanes=lanes, **scales)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("golden.arithmetic.matmul.SMALL", 1 << 62)
        expected = compute()
        patch.setattr("golden.arithmetic.matmul.SMALL", 0)
        return not np.array_equal(compute(), expected)


def narrow_steps_differ(accumulator, name, rng):
    fmt = golden.get(name)
    products = distinct(fmt)
    pairs = list(products.values())[::37] + [pair for key, pair in products.items() if key[0] in ("nan", np.inf)]
    acc = np.arange(0, STATES, 3, dtype=np.uint16)
    expected = np.stack([golden.mac(a, b, acc, fmt, None, accumulator) for a, b in pairs])
    return not np.array_equal(compiled_steps(fmt, pairs, acc, accumulator), expected)


FAULTS = {
    "subnormals": (", t.tiny)", ", V{})", partial(narrow_steps_differ, "binary16", "hif8")),
    "overflow": ("size < t.limit", "size < 2 * t.limit", partial(narrow_steps_differ, "binary16", "hif8")),
    "sticky": ("(inexact & 1)", "W{}", partial(narrow_steps_differ, "bfloat16", "gc_1_3_4_b3")),
    "truncation": ("(((W)error ^ pattern) < 0)", "W{}", partial(narrow_steps_differ, "bfloat16", "gc_1_3_4_b3")),
    "ties": ("(W)size + half", "(W)size + half - 1", partial(narrow_steps_differ, "dlfloat16", "ocp_e5m2")),
    "flush": ("r > t.smallest", "r >= t.smallest", partial(chains_differ, "dlfloat16", "gc_1_4_3_b14", 1, smallest=9)),
    "signs of specials": ("sign(a) ^ sign(b)", "sign(a)", partial(narrow_steps_differ, "dlfloat16", "hif8")),
    "stored zero": ("(W)r | sign(x)) + t.zero", "(W)r) + t.zero", partial(narrow_steps_differ, "binary16", "hif8")),
    "sticky flags": ("(flags & 3) == 3", "false", partial(chains_differ, "exact", "hif8", 1)),
    "carries": ("carry = (uint64_t)(total >> 64) != 0", "carry = 0", partial(chains_differ, "exact", "hif8", 1)),
    "parts": ("total == total ? total : t", "total", partial(chains_differ, "binary16", "hif8", 8)),
    "many parts": ("special == 0 ?", "true ?", partial(chains_differ, "binary16", "e5m2b4", 8)),
    "least exponent": ("larger(exponent_of(acc), all(-126.0))", "exponent_of(acc)", None),
    "largest exponent": (
        "larger(reach + scale_power, of_acc)",
        "of_acc",
        partial(chains_differ, "aligned9", "hif8", 4),
    ),
    "jam": ("| ((whole != size) & 1)", "", partial(chains_differ, "rvbna", "ocp_e5m2", 8)),
    "last bit": ("| (lost & last)", "", partial(chains_differ, "rvbna", "ocp_e4m3", 8)),
    "signs of addends": (
        "(W)jammed(size) | sign(product)",
        "(W)jammed(size)",
        partial(chains_differ, "rvbna", "hif8", 2),
    ),
    "groups": ("start == first + k", "k == 0", partial(chains_differ, "binary32", "ocp_e4m3", 8)),
}
"""Texts of ``chain.cpp`` and their replacements, and comparisons that must find the fault."""


def subnormal_addends_differ(rng):
    fmt = golden.get("e8m0")
    codes = np.arange(0, 256, dtype=np.uint8)
    pairs = [(int(a), int(b)) for a in codes[::5] for b in codes[::7]]
    acc = np.arange(0, 1 << 23, 4099, dtype=np.uint32)
    expected = np.stack([golden.mac(a, b, acc, fmt, None, "aligned13") for a, b in pairs])
    return not np.array_equal(compiled_steps(fmt, pairs, acc, "aligned13"), expected)


FAULTS["least exponent"] = (*FAULTS["least exponent"][:2], subnormal_addends_differ)


def find(fault, monkeypatch):
    before, after, differs = FAULTS[fault]
    text = native.source()
    assert text.count(before) == 1, f"{before} occurs {text.count(before)} times"
    assert not differs(generator("fault", fault))
    options = ("-O1", *native.OPTIONS[1:])
    wrong = compiler.library(compiler.compiler(), text.replace(before, after), options)
    monkeypatch.setattr(native, "library", lambda: wrong)
    assert differs(generator("fault", fault))


def test_a_fault_is_found(monkeypatch):
    find("sticky", monkeypatch)


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_found(fault, monkeypatch):
    find(fault, monkeypatch)


def on_other_processors(option, monkeypatch):
    """Compare products with vectors of another size."""
    code = compiler.library(compiler.compiler(), native.source(), (*native.OPTIONS, "-O1", option))
    monkeypatch.setattr(native, "library", lambda: code)
    rng = generator("processors")
    for accumulator in (*golden.ACCUMULATORS, "aligned13", "rvbna"):
        for name, lanes in (("hif8", 1), ("gc_1_3_4_b3", 1), ("hif8", 8), ("e5m2b4", 8)):
            assert not chains_differ(accumulator, name, lanes, rng)


def test_a_processor_without_avx512(monkeypatch):
    on_other_processors("-mno-avx512f", monkeypatch)


@pytest.mark.exhaustive
def test_a_processor_without_avx(monkeypatch):
    on_other_processors("-mno-avx", monkeypatch)


def test_sums_that_must_be_rounded_to_odd_are_known(monkeypatch):
    """Products with more bits than bfloat16 can be ties that a small accumulator breaks."""
    assert not narrow_steps_differ("bfloat16", "gc_1_3_4_b3", None)
    monkeypatch.setattr(native, "_is_harmless", lambda *_: True)
    assert narrow_steps_differ("bfloat16", "gc_1_3_4_b3", None)


@pytest.mark.parametrize("accumulator", [*golden.ACCUMULATORS, "aligned13", "rvbna"])
def test_threads_compute_the_same_bits(accumulator):
    rng = generator("threads", accumulator)
    fmt = golden.get("e5m2b1")
    a, b = random_codes(fmt, rng, (150, 40)), random_codes(fmt, rng, (40, 130))
    one, two, many = (matmul(a, b, fmt, None, accumulator, threads=count) for count in (1, 2, 7))
    assert one.any()
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, many)


@pytest.fixture
def fresh(monkeypatch):
    """The loader as in a new process."""
    loader = cache(native.library.__wrapped__)
    monkeypatch.setattr(native, "library", loader)


@pytest.mark.parametrize("accumulator", [*golden.ACCUMULATORS, "aligned13", "rvbna"])
def test_without_a_compiler_numpy_computes_the_same_and_says_so_once(accumulator, fresh, monkeypatch):
    fmt, rng = golden.get("ocp_e4m3"), generator("no compiler")
    a, b = random_codes(fmt, rng, (40, 90)), random_codes(fmt, rng, (90, 41))
    expected = matmul(a, b, fmt, None, accumulator, lanes=2)
    native.library.cache_clear()
    monkeypatch.setattr(native, "compiler", lambda: None)
    with pytest.warns(RuntimeWarning, match=r"^golden.matmul runs in NumPy, .*: there is no C\+\+ compiler"):
        ours = matmul(a, b, fmt, None, accumulator, lanes=2)
    np.testing.assert_array_equal(ours, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(matmul(a, b, fmt, None, accumulator, lanes=2), expected)


def test_small_products_need_no_compiler(fresh, monkeypatch):
    monkeypatch.setattr(native, "compiler", lambda: pytest.fail("a compiler was looked for"))
    assert matmul([[0x08]], [[0x08]], "hif8").tolist() == [[0x3C00]]


def test_source_that_does_not_compile_is_reported(fresh, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(native, "source", lambda: "int x = ;")
    with pytest.warns(RuntimeWarning, match=r"cannot compile it: code\.cpp:1:\d+: error: expected"):
        assert native.library() is None


def test_libraries_are_kept_and_never_stale(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path, folder = compiler.compiler(), tmp_path / "minifloat-rtl"
    text = 'extern "C" int number() {{ return {}; }}'

    def number(value, *options):
        return compiler.kept_library(path, text.format(value), options, "number").number()

    assert number(5) == 5
    (first,) = folder.iterdir()
    built = first.stat().st_mtime_ns
    assert number(5) == 5
    assert first.stat().st_mtime_ns == built
    assert [number(6), number(6, "-O2")] == [6, 6]
    assert len(list(folder.iterdir())) == 3

    monkeypatch.setattr(subprocess, "run", partial(_newer, subprocess.run))
    assert number(5) == 5
    assert len(list(folder.iterdir())) == 4


def _newer(run, command, **options):
    """A compiler that says that it is another version."""
    result = run(command, **options)
    if "--version" in command:
        result.stdout += b"newer"
    return result


def test_a_damaged_library_is_compiled_again(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = 'extern "C" int number() { return 7; }'
    path = compiler.compiler()
    compiler.kept_library(path, text, (), "number")
    (file,) = (tmp_path / "minifloat-rtl").iterdir()
    file.unlink()
    file.write_bytes(b"no library")
    assert compiler.kept_library(path, text, (), "number").number() == 7


def test_without_a_cache_folder_libraries_are_compiled_every_time(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert compiler.kept_library(compiler.compiler(), 'extern "C" int n() { return 8; }', (), "n").n() == 8


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_code_that_others_may_have_written_is_not_loaded(monkeypatch, tmp_path, mode):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path, text = compiler.compiler(), 'extern "C" int number() {{ return {}; }}'

    def number(value):
        return compiler.kept_library(path, text.format(value), (), "number").number()

    def plant():
        (file,) = folder.iterdir()
        file.unlink()
        shutil.copy(planted, file)
        return file

    number(666)
    folder = tmp_path / "minifloat-rtl"
    (other,) = folder.iterdir()
    planted = other.rename(tmp_path / "planted.so")
    assert number(9) == 9
    file = plant()
    file.chmod(mode)  # in a folder that is ours: it is compiled again
    assert number(9) == 9
    assert file.stat().st_mode & 0o777 == 0o700
    plant().chmod(0o700)
    folder.chmod(mode)  # compiled for this process alone
    assert number(9) == 9
    folder.chmod(0o700)
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    assert number(9) == 9
