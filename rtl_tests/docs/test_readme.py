"""README's figures are those of docs/results.json."""

import json
import re

from rtl_tests.support.paths import ROOT
from synth.report import readme


def test_figures_are_those_of_the_data_file():
    shown = readme.Results.from_json(json.loads((ROOT / readme.RESULTS).read_text()))
    assert readme.section(shown) in (ROOT / "README.md").read_text()
    assert (ROOT / readme.PICTURE).read_text() == readme.picture(shown)


def test_figures_of_accuracy_are_goldens():
    assert readme.accuracy() in (ROOT / readme.ACCURACY).read_text()


def test_every_figure_is_of_a_plain_block():
    """A block with further options would take the place of the plain one, whose format and target it has."""
    rows = json.loads((ROOT / readme.RESULTS).read_text())["rows"]
    places = [(row["component"], row["target"], row["format"]) for row in rows]
    assert len(set(places)) == len(places)
    assert not [row["command"] for row in rows if re.search(r"--(?!format |accumulator |target )", row["command"])]
