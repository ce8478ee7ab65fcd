"""The figures in README and docs are the generated ones."""

import json
import re
from itertools import product

import numpy as np
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


def test_rules_of_accumulation_match_the_data_files():
    sums = json.loads(readme.SUMS.read_bytes())
    text = readme.accumulation(sums, load.dots(), load.speeds(), load.references(), load.study())
    assert text in (ROOT / readme.ACCUMULATION).read_text()


def test_sentences_on_rules_of_accumulation_have_the_figures_of_the_data_files():
    """Ranges are those of all seeds and both formats, and each rule of the short table is enough up to its K alone."""
    content, page = json.loads(readme.SUMS.read_bytes()), " ".join((ROOT / readme.ACCUMULATION).read_text().split())
    known = {tuple(key): np.array(samples, float) for *key, samples in content["errors"]}
    alike, cancelling, rounding = ("gaussian", "student_t3"), ("cancelling",), ("bfloat16", "dlfloat16", "binary16")

    def ratios(data, *rules, lanes=8):
        """A line for each K."""
        keys = product(("ocp_e4m3", "hif8"), data, [lanes], rules)
        return np.concatenate([known[key] for key in keys], axis=1)

    def spread(values):
        return f"{round(values.min())} to {round(values.max())} dB"

    lines = re.findall(r"\| `(\w+)`(, chunks of 64)? \| ([\d,]+) \| (\d+ to \d+ dB) \|", page)
    for name, chunks, terms, text in lines:
        above = ratios(alike, name + chunks) - ratios(alike, "operands")
        place = content["terms"].index(int(terms.replace(",", "")))
        assert (spread(above[place]), [*(above.min(axis=1) >= 10)]) == (text, [k <= place for k in range(5)])
    assert len(lines) == 5
    for data, rules in product((alike, cancelling), (rounding, ("aligned13",))):
        some = ratios(data, *rules)
        assert spread((some[0] - some[-1]) / 4) in page
        gained = ratios(data, *rules, lanes=32) - some
        assert (data, rules) == (cancelling, rounding) or spread(gained) in page
    for name in ("bfloat16", "binary16"):
        gained = ratios(alike, f"{name}, chunks of 64") - ratios(alike, name)
        assert re.search(f"{spread(gained[-1])} for `{name}`", page)
    kinds = product(("ocp_e4m3", "hif8"), (*alike, *cancelling), [8], ("binary16", "bfloat16"))
    medians = [[np.median(known[*key, name + words], axis=1) for words in ("", ", stochastic")] for *key, name in kinds]
    lost = np.array([nearest - stochastic for nearest, stochastic in medians])
    assert (spread(lost[lost > 0]), (lost < 0).sum()) == ("2 to 4 dB", 2)
    assert "stochastic rounding are 2 to 4 dB below" in page
    assert f"{spread(ratios(['gaussian'], 'aligned13, chunks of 128')[1:])} on Gaussian data" in page
    for rule in ("binary32", "rvbna", "aligned25", "aligned13, chunks of 128", "aligned16"):
        name = f"`{rule}`" if "," not in rule else "promotion"
        assert re.search(f"{name} (?:has )?{spread(ratios(cancelling, rule)[-1])}", page)
    excess = load.study().tasks["characters"].excess
    for each in map(excess, ("hif8, bfloat16", "hif8", "1-4-3/1-5-2, backoff", "1-4-3/1-5-2, binary32, backoff")):
        assert f"{each.median:+.1%} ({each.low:+.1%} to {each.high:+.1%})" in page


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
