"""Bins that no input reaches: evaluation by products against all inputs; vectors until all other bins are hit."""

import time

import numpy as np
import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.coverage import reachable
from hwgen.coverage.points import size, take
from hwgen.coverage.reachable import evaluate
from hwgen.coverage.suite import ANALYSES, COVERAGE, suite
from hwgen.reference import reference
from hwgen.reference.reference import columns

SMALL = """
name = "three"
width = 3
canonical_nan = 4
rows = [
    { prefix = "0", exponent = { rule = "fixed", exponent = 0 }, fraction_bits = 1, hidden = 0 },
    { prefix = "", exponent = { rule = "biased", bits = 1, bias = 1 }, fraction_bits = 1 },
]
specials = [{ mask = 7, value = 4, kind = "nan" }, { mask = 3, value = 3, kind = "inf" }]
"""


def analysis_of(design):
    return ANALYSES[design.kind](reference(design))


@pytest.mark.parametrize("accumulator", ["binary16", pytest.param("dlfloat16", marks=pytest.mark.exhaustive)])
def test_products_and_accumulators_stand_for_all_inputs(accumulator, tmp_path, monkeypatch):
    file = tmp_path / "three.toml"
    file.write_text(SMALL)
    analysis = analysis_of(build("mac", str(file), accumulator=accumulator, flags=True))
    by_products = evaluate(analysis, {})
    monkeypatch.setattr(reachable, "MAX_INPUT_BITS", 22)
    by_inputs = evaluate(analysis, {})
    assert by_products.inputs == by_inputs.inputs == 1 << 22
    assert by_products.points.keys() == by_inputs.points.keys()
    for name, bins in by_inputs.points.items():
        assert by_products.points[name].tolist() == bins.tolist(), name
    reached = sum(int(bins.sum()) for bins in by_inputs.points.values())
    assert 0 < reached < sum(bins.size for bins in by_inputs.points.values())


def test_hits_that_are_known_change_nothing():
    design = build("mac", "e2m1")
    analysis = analysis_of(design)
    inputs = analysis.candidates(2000, np.random.default_rng(1))
    hits = {point.name: point.hits() for point in analysis.view(inputs, analysis.model.columns(inputs)).points}
    alone, helped = evaluate(analysis, {}), evaluate(analysis, hits)
    assert {name: bins.tolist() for name, bins in alone.points.items()} == {
        name: bins.tolist() for name, bins in helped.points.items()
    }


@pytest.mark.parametrize(
    "design",
    [build("encoder", "ocp_e4m3", source="binary16", flags=True), build("mac", "e2m1"), build("decoder", "hif8")],
    ids=lambda design: design.name,
)
def test_the_example_of_a_bin_hits_it(design):
    analysis = analysis_of(design)
    result = evaluate(analysis, {})
    for (name, place), case in result.examples.items():
        table = columns([case])
        points = analysis.view(table, analysis.model.columns(table)).points
        point = next(point for point in points if point.name == name)
        assert place in point.rows[0]
    assert len(result.examples) == sum(int(bins.sum()) for bins in result.points.values())


@pytest.mark.parametrize(
    "design",
    [
        build("mac", "e2m1"),
        build("mac", "e2m1", stages=1),
        build("encoder", "ocp_e4m3", source="binary16"),
        *(pytest.param(build("mac", name), marks=pytest.mark.exhaustive) for name in ("hif8", "ocp_e4m3", "e5m2b1")),
    ],
    ids=lambda design: design.name,
)
def test_every_bin_that_some_input_reaches_is_hit(design):
    start = time.monotonic()
    vectors = suite(design, 500, np.random.default_rng(1), until_covered=True)
    assert time.monotonic() - start < 120
    coverage = vectors.coverage
    core = [name for name in coverage.bins if name in coverage.reachable]
    assert len(core) >= len(coverage.bins) - 7  # those of the controls are not
    for name in core:
        assert ((coverage.hits[name] > 0) == coverage.reachable[name]).all(), name
    assert COVERAGE in vectors.classes


def test_vectors_of_the_class_coverage_hit_what_was_missing():
    design = build("mac", "e2m1")
    few, more = (suite(design, 100, np.random.default_rng(1), until_covered=until) for until in (False, True))
    new = size(more.vectors) - size(few.vectors)
    assert more.classes[COVERAGE] == new > 0
    assert few.coverage.missing > more.coverage.missing == 0
    old = take(more.vectors, np.arange(size(few.vectors)))
    assert all((old[name] == few.vectors[name]).all() for name in old)
    hits = sum(int(((more.coverage.hits[name] > 0) & (hits == 0)).sum()) for name, hits in few.coverage.hits.items())
    assert hits >= new


def test_a_search_adds_vectors_where_inputs_are_too_many():
    design = build("mac", "hif8", accumulator="binary32")
    assert evaluate(analysis_of(design), {}) is None
    few, more = (suite(design, 100, np.random.default_rng(1), until_covered=until) for until in (False, True))
    assert more.coverage.missing < few.coverage.missing
    assert not more.coverage.reachable
    assert "cannot be reached" not in more.coverage.summary()


def test_a_search_for_a_processing_element_adds_sequences():
    vectors = suite(build("pe", "hif8"), 40, np.random.default_rng(1), until_covered=True)
    assert vectors.classes[COVERAGE] > 256
    assert not vectors.coverage.reachable


def test_the_command_line(tmp_path, capsys):
    words = ["simulate", "mac", "--format", "e2m1", "--vectors", "300", "--until", "covered", "--coverage"]
    assert main([*words, "-o", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert ", coverage " in out.splitlines()[1]
    assert "not hit; - cannot be reached" in out
    assert "down; - up; - tie down; - tie up" in out


def test_columns_of_wide_words():
    assert columns([{"x": 1 << 70}])["x"].dtype == object
    assert columns([{"x": 1 << 63}])["x"].dtype == np.uint64
