"""Cover points against their definitions, in exact fractions, case by case."""

import re
from fractions import Fraction

import numpy as np
import pytest

import golden
from golden import Flag
from golden.wide import state_format
from hwgen.blocks.catalog import build
from hwgen.coverage.numbers import OUTCOMES, class_names, classes, neighbours
from hwgen.coverage.points import Coverage, Point, size, take, transitions
from hwgen.coverage.suite import ANALYSES, _Builder, suite
from hwgen.reference import reference, trace
from hwgen.reference.reference import columns, rows
from rtl_tests.support.blocks import generator
from rtl_tests.support.paths import ROOT
from rtl_tests.support.selection import one_of_each


def log2(value):
    """The exponent of the largest power of two that a positive fraction reaches."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent - (value < Fraction(2) ** exponent)


def outcome(exact, result, fmt):
    """What rounding did, from all values of the format."""
    size, after = abs(exact), abs(result)
    if after == size:
        return "exact"
    place = int(np.searchsorted(fmt.magnitudes, float(size), side="right"))  # perhaps rounded, so look around
    values = [Fraction(value) for value in fmt.magnitudes[max(place - 2, 0) : place + 2].tolist()]
    low, high = max(v for v in values if v <= size), min(v for v in values if v > size)
    word = "down" if after < size else "up"
    return f"tie {word}" if low + high == 2 * size else word


def names(view, point, case):
    """Names of the bins that a case hits."""
    made = next(made for made in view.points if made.name == point)
    return {made.bins[place] for place in made.rows[case].tolist() if place >= 0}


SUMS = [
    build("mac", "hif8"),
    build("mac", "ocp_e4m3", "ocp_e5m2", accumulator="bfloat16", scale_bits=5),
    build("mac", "e5m2b1", accumulator="dlfloat16"),
    build("dot", "ocp_e4m3", lanes=3),
    build("dot", "e2m1", lanes=4, block_scale="ue4m3", accumulator="binary16"),
]


@pytest.mark.parametrize("design", SUMS, ids=lambda design: design.name)
def test_points_of_sums(design):
    model = reference(design)
    analysis = ANALYSES[design.kind](model)
    inputs = analysis.candidates(250, generator("points", design.name))
    outputs = model.columns(inputs)
    view = analysis.view(inputs, outputs)
    fmt, precision = state_format(design.core.accumulator), analysis.precision
    fa, fb = model.formats
    checked = 0
    for case, (pins, after) in enumerate(zip(rows(inputs), rows(outputs), strict=True)):
        a, b = (codes[0].tolist() for codes in model.lane_codes(columns([pins])))
        factor = Fraction(1)
        if design.scale_bits:
            factor = Fraction(2) ** int(model.factors_of(pins)["scale"])
        if design.core.block_scale is not None:
            scales = [design.core.block_scale.exact_value(pins[name]) for name in ("a_scale", "b_scale")]
            if not all(isinstance(scale, Fraction) for scale in scales):
                continue
            factor = scales[0] * scales[1]
        values = [fa.exact_value(x) for x in a], [fb.exact_value(y) for y in b]
        start = fmt.exact_value(pins["acc_in"])
        assert names(view, "class of a", case) == {class_names(fa)[k] for k in classes(fa, np.array(a)).tolist()}
        if not all(isinstance(value, Fraction) for value in (*values[0], *values[1], start)):
            assert not names(view, "cancellation depth", case)
            assert not names(view, "rounding of a normal sum", case)
            continue
        products = [x * y * factor for x, y in zip(*values, strict=True)]
        exact = start + sum(products)
        addends = [abs(addend) for addend in (start, *products) if addend]
        largest = max((product for product in products if product), key=abs, default=None)
        if len(addends) > 1 and exact:
            depth = max(map(log2, addends)) - log2(abs(exact))
            word = "carry" if depth < 0 else "more" if depth > precision else str(depth)
            assert names(view, "cancellation depth", case) == {word}
        if len(addends) > 1 and not exact:
            assert names(view, "cancellation depth", case) == {"to zero"}
        if start and largest:
            top = max(log2(abs(product)) for product in products if product)
            step = max(min(top - log2(abs(start)), precision + 3), -precision - 3)
            hit = names(view, "exponent difference, equal signs", case)
            hit |= names(view, "exponent difference, opposite signs", case)
            assert [int(word.split()[0]) for word in hit] == [step]
            checked += 1
        result = fmt.exact_value(after["acc_out"])
        tiny = abs(exact) < fmt.smallest_normal
        words = names(view, f"rounding of a {'subnormal' if tiny else 'normal'} sum", case)
        if isinstance(result, Fraction) and exact and abs(exact) <= fmt.largest and fmt.has_subnormals:
            assert words == {outcome(exact, result, fmt)}
        assert names(view, "overflow of finite operands", case) == (set() if isinstance(result, Fraction) else {"yes"})
        if isinstance(result, Fraction):
            assert names(view, "sum that becomes zero", case) == ({"yes"} if exact and not result else set())
    assert checked > 80


@pytest.mark.parametrize(
    "design",
    [
        build("encoder", "hif8"),
        build("encoder", "ocp_e4m3", rounding="toward_positive", overflow="saturate"),
        build("encoder", "e5m2_nosub", source="binary16"),
        build("readout", "ocp_e4m3", target="binary16"),
        build("decoder", "hif8"),
    ],
    ids=lambda design: design.name,
)
def test_points_of_conversions(design):
    model = reference(design)
    analysis = ANALYSES[design.kind](model)
    inputs = analysis.candidates(250, generator("points", design.name))
    outputs = model.columns(inputs)
    view = analysis.view(inputs, outputs)
    core = design.core
    fmt = golden.get(core.target) if design.kind == "decoder" else core.target if design.kind == "readout" else core.fmt
    checked = set()
    for case, (pins, after) in enumerate(zip(rows(inputs), rows(outputs), strict=True)):
        exact = exact_input(design, pins)
        result = fmt.exact_value(next(iter(after.values())))
        past = isinstance(exact, Fraction) and abs(exact) > fmt.largest
        hits = {
            word
            for point in view.points
            if point.name.startswith("rounding above a value")
            for word in names(view, point.name, case)
        }
        if past:
            middle = (Fraction(fmt.largest) + Fraction(fmt.above_largest)) / 2
            words = ("below the middle to the next step", "in the middle", "beyond")
            word = words[(abs(exact) > middle) - (abs(exact) < middle) + 1]
            assert names(view, "past the largest value", case) == {word}
        elif isinstance(exact, Fraction) and isinstance(result, Fraction):
            if not fmt.flush or abs(exact) >= fmt.smallest:
                assert hits == {outcome(exact, result, fmt)}
                checked |= hits
        else:
            assert not hits
    assert len(checked) > (0 if design.kind == "decoder" else 2)


def exact_input(design, pins):
    """The exact value that is rounded."""
    if design.kind == "decoder":
        return design.core.fmt.exact_value(pins["code"])
    if design.kind == "encoder":
        source, bits = design.core.source, pins["bits"]
        value = float(source.decode(np.array([bits]))[0])
        return Fraction(value) if np.isfinite(value) else value
    unit, word = design.core.exact, pins["acc"]
    if word >> unit.value_width:
        return float("nan")
    value = word - (1 << unit.value_width if word >> unit.value_width - 1 else 0)
    return value * Fraction(2) ** unit.lsb_exponent


@pytest.mark.parametrize("name", ["hif8", "ocp_e4m3", "e2m1", "e8m0", "gc_1_0_7_b0", "ocp_e4m3+ocp_e5m2", "binary16"])
def test_every_code_has_one_class(name):
    fmt = golden.get(name)
    codes = np.arange(1 << fmt.width)
    index = classes(fmt, codes)
    labels = class_names(fmt)
    assert set(index.tolist()) == set(range(len(labels)))
    for code in codes.tolist()[:: max(codes.size // 512, 1)]:
        label, value = labels[index[code]], float(fmt.decode(np.array([code]))[0])
        assert label.endswith("NaN") == bool(np.isnan(value))
        assert label.endswith("Inf") == bool(np.isinf(value))
        assert label.endswith("0") == (value == 0) or "row" in label
        assert (label.endswith("largest")) == (abs(value) == fmt.largest) or fmt.smallest == fmt.largest
        if fmt.signed and not np.isnan(value):
            assert label[0] == ("-" if code & fmt.sign_bit else "+")


def test_binary32_is_classified_without_a_table():
    fmt = golden.get("binary32")
    words = {0: "+0", 0x80000001: "-smallest", 0x7F7FFFFF: "+largest", 0x7F800001: "signaling NaN", 0x7FC00000: "NaN"}
    words |= {0xFF800000: "-Inf", 0x00400000: "+subnormal", 0xC0000000: "-normal", 0x80000000: "-0"}
    index = classes(fmt, np.array([*words], np.uint64))
    assert [class_names(fmt)[place] for place in index.tolist()] == [*words.values()]


def test_neighbours_in_binary32_are_those_of_numpy():
    numbers = np.array([0, 1e-46, 1e-45, 1.5, 1 + 2.0**-30, 2.0**-126, 2.0**127, 3.4e38, 1e-40 + 1e-60])
    around = neighbours(golden.get("binary32"), numbers)
    for number, low, high in zip(numbers, around.low, around.high, strict=True):
        assert np.float32(low) == low
        assert low <= number < high
        assert np.nextafter(np.float32(low), np.float32(np.inf)) == high


def test_hits_and_news():
    coverage = Coverage()
    first = Point("kind", ("a", "b", "c"), np.array([[0, 0], [1, -1]]))
    coverage.add([first])
    assert coverage.hits["kind"].tolist() == [2, 1, 0]
    assert coverage.missing == 1
    again = Point("kind", first.bins, np.array([0, 2, 2, -1]))
    assert coverage.news([again]).tolist() == [1]
    coverage.add([again])
    assert coverage.missing == 0
    assert coverage.summary() == "3 of 3 bins hit"
    assert [*transitions("x", np.array([0, 1, 1, 0])).index] == [1, 3, 2]


def test_a_table_names_what_is_missing():
    coverage = Coverage()
    coverage.add([Point("kind", ("one", "two", "three"), np.array([0]))])
    coverage.reachable = {"kind": np.array([True, False, True])}
    lines = [*coverage.table()]
    assert lines[1] == "kind    1     3  - two; three"
    assert coverage.summary() == "1 of 3 bins hit, 1 cannot be reached"
    assert coverage.missing == 1
    assert OUTCOMES[coverage.record()["hit"]] == "down"
    assert coverage.record()["points"][0]["bins"][1] == {"bin": "two", "hits": 0, "reachable": False}


@pytest.mark.parametrize(
    "design",
    [
        build("mac", "hif8"),
        build("mac", "hif8", accumulator="exact"),
        build("encoder", "hif8", rounding="stochastic"),
        build("quantizer", "e2m1", lanes=4),
        build("readout", "hif8", target="hif8"),
        build("pe", "ocp_e4m3"),
        build("mac", "ocp_e4m3", stages=2, clock_enable=True),
    ],
    ids=lambda design: design.name,
)
def test_a_suite_has_what_was_asked_for(design):
    vectors = suite(design, 1000, np.random.default_rng(1))
    assert sum(vectors.classes.values()) == size(vectors.vectors) >= 1000
    analysis = ANALYSES[design.kind](reference(design))
    expected = {"back to back", "idle", "random"} if design.latency else {"random"}
    assert expected <= set(vectors.classes)
    assert len(set(vectors.classes) & set(analysis.classes)) >= 3
    if design.latency:
        return
    assert size(vectors.vectors) == 1000
    first = 0
    for name, count in vectors.classes.items():  # the vectors of a class belong to it
        part = take(vectors.vectors, np.arange(first, first + count))
        view = analysis.view(part, part)
        assert name == "random" or set(view.classes.tolist()) == {analysis.classes.index(name)}
        first += count


EVENTS = {"overflow": Flag.OVERFLOW, "subnormals": Flag.UNDERFLOW, "ties": Flag.INEXACT, "specials": Flag.INVALID}
"""Classes, and the flag that some of their vectors set if any input does."""
ANY = {"overflow", "subnormals", "ties", "specials"}
FLAGGED = [
    (build("mac", "ocp_e5m2", accumulator="exact", flags=True), {"overflow", "specials"}),
    (build("mac", "e2m1", accumulator="exact", scale_bits=3, flags=True), {"overflow", "specials"}),
    (build("dot", "e2m1", accumulator="exact", lanes=2, flags=True), {"overflow", "specials"}),
    (build("dot", "hif8", accumulator="exact", lanes=4, flags=True, stages=1), {"overflow", "specials"}),
    (build("pe", "e2m1", accumulator="exact", lanes=2), {"overflow"}),
    (build("pe", "hif8", accumulator="exact", lanes=8, flags=True), {"overflow", "specials"}),
    (build("pe", "ue4m3", accumulator="exact", lanes=4, scale_bits=2, interleave=2, stages=2), {"overflow"}),
    (build("pe", "ocp_e5m2", accumulator="exact", lanes=2, terms=4, carry_save=True, flags=True), {"overflow"}),
    (build("mac", "ocp_e5m2", accumulator="binary16", flags=True), ANY),
    (build("dot", "ocp_e5m2", accumulator="binary16", lanes=2, flags=True), ANY),
    (build("mac", "e2m1", accumulator="aligned13", scale_bits=9, flags=True), {"overflow", "subnormals", "specials"}),
    (build("pe", "ocp_e5m2", accumulator="binary16", flags=True), ANY - {"ties"}),
    (build("encoder", "ocp_e4m3", flags=True), ANY),
    (build("encoder", "hif8", source="binary16", rounding="stochastic", flags=True), ANY),
]


@pytest.mark.parametrize(
    ("design", "events"),
    one_of_each(lambda design, _: (design.kind, "exact" in design.name), FLAGGED),
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_class_has_vectors_that_set_the_flag_of_its_name(design, events):
    vectors = suite(design, 4000, np.random.default_rng(1))
    ends = np.cumsum([*vectors.classes.values()])
    parts = {name: slice(end - count, end) for (name, count), end in zip(vectors.classes.items(), ends, strict=True)}
    assert events <= parts.keys()
    for name in events:
        outputs = {port: values[parts[name]] for port, values in vectors.vectors.items()}
        flags = outputs["flags"] & int(EVENTS[name]) if "flags" in outputs else outputs["overflow"]
        count = int((flags.astype(np.int64) > 0).sum())
        assert count > 1, name
        point = f"flag {EVENTS[name].name.lower()}" if "flags" in outputs else "overflow"
        assert vectors.coverage.hits[point][1] > 0
        if "exact" in design.name and name == "overflow" and not design.latency:
            assert count == vectors.classes[name]


DOCUMENTED = [
    build("mac", "hif8", stages=2, clock_enable=True),
    build("dot", "hif8", lanes=4, scale_bits=4, flags=True),
    build("dot", "hif8", lanes=4, block_scale="e8m0"),
    build("pe", "hif8", stages=2, interleave=2),
    build("encoder", "hif8", rounding="stochastic"),
    build("encoder", "hif8", rounding="hybrid", rounding_pin=True),
    build("decoder", "hif8"),
    build("readout", "hif8"),
    build("quantizer", "hif8", lanes=4),
    build("amax", "hif8", lanes=4),
]


def test_the_page_lists_every_point_with_its_number_of_bins():
    page = (ROOT / "docs" / "regressions.md").read_text()
    listed = {}
    for names, bins in re.findall(r"^\| (`.*`) \| (\d+) \|", page, re.M):
        listed |= {name: int(bins) for name in re.findall(r"`(.*?)`", names)}
    met = set()
    for design in DOCUMENTED:
        for name, bins in suite(design, 100, np.random.default_rng(1)).coverage.bins.items():
            plain = re.sub(r"^\d+ ", "N ", name)
            plain = re.sub(r"above a value: .*", "above a value: ROW", plain)
            plain = re.sub(r"^\w+ in two cycles", "CONTROL in two cycles", re.sub(r"^flag \w+", "flag NAME", plain))
            allowed = {listed[plain]}
            if plain == "class of the result" and design.kind in ("encoder", "quantizer"):
                allowed = {20}
            if plain == "scale" and design.kind == "quantizer":
                allowed = {4}
            if plain == "scale" and design.kind == "amax":
                allowed = {3}
            assert len(bins) in allowed, (design.name, name, len(bins))
            met.add(plain)
    assert met == set(listed)


@pytest.mark.parametrize("clock_enable", [False, True])
def test_every_vector_of_a_pipeline_is_compared(clock_enable):
    """Also those that the reset halfway drops."""
    design = build("mac", "ocp_e4m3", stages=3, clock_enable=clock_enable)
    vectors = [{"a": k, "b": 0x38, "acc_in": 0} for k in range(9)]
    expected = [{"acc_out": 1000 + k} for k in range(9)]
    cycles = trace.pipeline(design.pipeline, vectors, expected, np.random.default_rng(1))
    assert sum(cycle["rst"] for cycle in cycles) == trace.RESET_CYCLES + 1
    compared = {cycle["acc_out"] for cycle in cycles if cycle["care_acc_out"]}
    assert compared == {result["acc_out"] for result in expected}
    assert design.latency == 3


@pytest.mark.parametrize("stages", [0, 2])
def test_steps_that_a_reset_drops_hit_no_bin(stages):
    builder = _Builder(build("pe", "hif8", stages=stages), 8, np.random.default_rng(1), None)
    cycles = {"rst": np.array([1, 0, 0, 0, 1, 0, 0]), "enable": np.array([1, 1, 1, 1, 1, 0, 1])}
    assert builder._are_seen(cycles) == ([True, True, True, True] if stages == 0 else [True, False, False, True])
