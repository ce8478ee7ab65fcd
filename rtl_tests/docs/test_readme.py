"""The figures in README and docs are the generated ones."""

import json
import re

from rtl_tests.support.paths import ROOT
from synth.report import load, readme
from synth.studies import fast


def test_figures_in_readme_match_the_data_file():
    shown = readme.Results.from_json(json.loads((ROOT / readme.RESULTS).read_text()))
    assert readme.section(shown) in (ROOT / "README.md").read_text()
    assert (ROOT / readme.PICTURE).read_text() == readme.picture(shown)


def test_figures_of_accuracy_match_the_reference_model():
    assert readme.accuracy() in (ROOT / readme.ACCURACY).read_text()


def test_figures_of_dot_products_match_the_study():
    assert readme.dots(load.dots()) in (ROOT / readme.DOT).read_text()


def test_figures_of_accumulators_match_the_study():
    assert readme.accumulators(load.dots()) in (ROOT / readme.CHOOSE).read_text()


def test_figures_of_speed_match_the_study():
    assert readme.speeds(load.speeds(), fast.Sky130.load().rows) in (ROOT / readme.FAST).read_text()


def test_energies_match_the_study():
    assert readme.energies(load.energies()) in (ROOT / readme.ENERGY).read_text()


def test_results_on_training_match_the_study():
    assert readme.study(load.study()) in (ROOT / readme.STUDY).read_text()


def test_every_figure_belongs_to_a_plain_block():
    """A block with further options would replace the plain block of the same format and target."""
    designs = json.loads((ROOT / readme.RESULTS).read_text())["designs"].items()
    for design, (command, *rows) in designs:
        assert len({target for target, *_ in rows}) == len(rows)
        assert not re.search(r"--(?!format |accumulator )", command), design
