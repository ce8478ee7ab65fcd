"""The figures in README and docs are the generated ones."""

import pytest

from hwgen.blocks.catalog import build
from rtl_tests.support.paths import ROOT
from synth.area.digest import sha256
from synth.area.targets import TARGETS
from synth.report import load
from synth.report.measured import Measured
from synth.report.plan import FORMATS, PAIR, REFERENCES, REPORT_ACCUMULATOR
from synth.studies import fast, readme


def test_figures_in_readme_match_the_data_file():
    shown = Measured(load.areas(), FORMATS)
    assert readme.section(shown) in (ROOT / "README.md").read_text()
    assert (ROOT / readme.PICTURE).read_text() == readme.picture(shown)


def test_references_in_readme_match_the_study():
    text = readme.references(load.references(), Measured(load.areas(), FORMATS))
    assert text in (ROOT / "README.md").read_text()
    for name in (*REFERENCES, "hif8", "ocp_e4m3", "e5m2b1"):
        assert f"\n| {name} |" in text
    assert all(len(line) <= 120 for line in text.splitlines() if not line.startswith("|"))


def test_figures_of_accuracy_match_the_reference_model():
    assert readme.accuracy() in (ROOT / readme.ACCURACY).read_text()


def test_ratios_of_blocks_match_the_reference_model():
    assert readme.policies() in (ROOT / readme.QUANTIZER).read_text()


def test_figures_of_dot_products_match_the_study():
    assert readme.dots(load.dots()) in (ROOT / readme.DOT).read_text()


def test_figures_of_accumulators_match_the_study():
    assert readme.accumulators(load.dots(), Measured(load.areas(), FORMATS)) in (ROOT / readme.CHOOSE).read_text()


def test_figures_of_speed_match_the_study():
    assert readme.speeds(load.speeds(), fast.Sky130.load().rows) in (ROOT / readme.FAST).read_text()


def test_energies_match_the_study():
    assert readme.energies(load.energies()) in (ROOT / readme.ENERGY).read_text()


def test_results_on_training_match_the_study():
    assert readme.study(load.study()) in (ROOT / readme.STUDY).read_text()


@pytest.mark.parametrize("kind", ["mac", "multiplier"])
def test_the_areas_are_those_of_the_verilog(kind):
    """One of each format and target, of plain blocks; of two formats, the modules have not changed since."""
    rows = {(row.format, row.target): row for row in load.areas() if row.component == kind}
    assert rows.keys() == {(name, target) for name in FORMATS for target in TARGETS}
    for name in ("hif8", PAIR):
        options = {} if kind == "multiplier" else {"accumulator": REPORT_ACCUMULATOR}
        text = build(kind, name, **options).verilog()
        assert {row.verilog_sha256 for (known, _), row in rows.items() if known == name} == {sha256(text)}, (
            "docs/results.json belongs to another module; make readme measures it again"
        )
