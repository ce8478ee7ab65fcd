"""The chapter on training: verdicts follow from figures and spreads, with made-up results and with a small study's."""

import json
import math
import re
import shutil
from dataclasses import replace

import pytest

from golden.refusal import BadKind, BadValue
from rtl_tests.support.trained import made_up_study, policy
from synth.area.rows import Row
from synth.report import load
from synth.report.chapters import training as chapter
from synth.report.data import assemble
from synth.report.points import points
from synth.report.training import results
from synth.report.training.claims import (
    BOTH_DIVERGED,
    CALIBRATED_NAME,
    CAST_NAME,
    CLAIMS,
    NOT_REPRODUCED,
    ONE_SEED,
    OWN,
    REPRODUCED,
    UNDECIDED,
    Claim,
    Relation,
    verdict,
)
from synth.report.training.plan import BASE, PLANS, SEEDS, SMALL, mac
from synth.report.training.results import QUANTILES, Study, Task


def section_of(**excess):
    return chapter.section(Study.from_json(made_up_study(**excess)))


def claims(section):
    """Verdicts by the two policies and the task."""
    return {(row[0].text, row[1].text, row[1].small): row[-1].text for row in section.tables[0].rows}


EVEN, DIVERGED = (0.0, 0.0, 0.0), (math.inf,) * 3
JUDGED = [
    # relation, losses above binary32's of the first and the second policy, verdict
    (Relation.LOWER, (-0.03, -0.035, -0.04), EVEN, REPRODUCED),
    (Relation.LOWER, (0.51, 0.02, -0.335), (0.57, 0.06, -0.29), REPRODUCED),  # pairs differ, whatever the seeds do
    (Relation.LOWER, (-0.003, -0.004, -0.003), EVEN, UNDECIDED),
    (Relation.LOWER, (-0.02, -0.03, -0.001), EVEN, UNDECIDED),
    (Relation.LOWER, (0.02, 0.03, 0.025), EVEN, NOT_REPRODUCED),
    (Relation.LOWER, EVEN, DIVERGED, REPRODUCED),
    (Relation.LOWER, DIVERGED, EVEN, NOT_REPRODUCED),
    (Relation.LOWER, DIVERGED, (math.inf, 0.0, 0.0), BOTH_DIVERGED),
    (Relation.NO_HIGHER, (0.01, 0.012, 0.011), EVEN, REPRODUCED),
    (Relation.NO_HIGHER, (-0.5, -0.4, -0.45), EVEN, REPRODUCED),
    (Relation.NO_HIGHER, (0.01, 0.03, 0.0), EVEN, UNDECIDED),
    (Relation.NO_HIGHER, (0.044, 0.044, 0.043), EVEN, NOT_REPRODUCED),
    (Relation.NO_HIGHER, (0.0, 0.0, math.inf), EVEN, NOT_REPRODUCED),
    (Relation.ALIKE, (0.01, 0.012, 0.011), EVEN, REPRODUCED),
    (Relation.ALIKE, (-0.01, 0.01, -0.02), EVEN, UNDECIDED),
    (Relation.ALIKE, (-0.06, -0.055, -0.06), EVEN, NOT_REPRODUCED),
    (Relation.ALIKE, (0.06, 0.055, 0.06), EVEN, NOT_REPRODUCED),
    (Relation.ALIKE, EVEN, DIVERGED, NOT_REPRODUCED),
]


@pytest.mark.parametrize(("relation", "first", "second", "expected"), JUDGED)
def test_verdicts(relation, first, second, expected):
    facts = {"task": "t", "iterations": 1, "batch": 1, "parameters": 1}
    task = Task.from_json({**facts, "policies": [policy(BASE), policy("a", first), policy("b", second)]})
    assert verdict(Claim("", "", "t", "a", relation, "b"), task).text == expected
    assert verdict(Claim("", "", "t", "a", relation, "c"), task) is None


def test_bounds_are_those_of_students_t():
    """Logarithms of -0.01, -0.02 and -0.06: mean -0.03, deviation 0.0264575; 2.920 * 0.0264575 / sqrt(3) = 0.0446."""
    facts = {"task": "t", "iterations": 1, "batch": 1, "parameters": 1}
    losses = tuple(math.expm1(x) for x in (-0.01, -0.02, -0.06))
    judged = verdict(
        Claim("", "", "t", "a", Relation.LOWER, BASE),
        Task.from_json({**facts, "policies": [policy(BASE), policy("a", losses)]}),
    )
    bounds = [math.log1p(share) for share in (judged.mean, judged.low, judged.high)]
    assert bounds == pytest.approx([-0.03, -0.0746, 0.0146], abs=1e-4)
    tails = [quantile / math.sqrt(degrees + quantile**2) for degrees, quantile in ((1, 6.314), (2, 2.920))]
    assert QUANTILES[:2] == (6.314, 2.920)
    assert 0.5 + math.asin(tails[0]) / math.pi == pytest.approx(0.95, abs=1e-4)  # closed forms of the distribution
    assert 0.5 + tails[1] / 2 == pytest.approx(0.95, abs=1e-4)


def test_one_seed_has_no_verdict():
    lines = [{**policy(name), "figures": [{"loss": 1.0}], "skipped": [0]} for name in (BASE, "a")]
    task = Task.from_json({"task": "t", "iterations": 1, "batch": 1, "parameters": 1, "policies": lines})
    assert verdict(Claim("", "", "t", "a", Relation.LOWER, BASE), task).text == ONE_SEED


def test_nothing_is_claimed_of_one_seed():
    """No verdicts, and no policies that no other one beats; of areas of one renaming, neither."""
    data = made_up_study(("digits",))
    findings = [finding.text for finding in chapter.section(Study.from_json(data)).findings]
    assert findings[-1].startswith("No other policy has both a smaller MAC and a lower mean loss than ")
    for line in data["rows"]:
        line.update(renamings=1, samples=[line["median"]], min=line["median"], max=line["median"])
    findings = [finding.text for finding in chapter.section(Study.from_json(data)).findings]
    assert not any("No other policy" in text for text in findings)
    data = made_up_study(("digits",))
    data["seeds"] = data["seeds"][:1]
    for policy_ in data["tasks"][0]["policies"]:
        policy_.update(figures=policy_["figures"][:1], skipped=policy_["skipped"][:1])
    section = chapter.section(Study.from_json(data))
    assert [finding.text for finding in section.findings] == [
        "These networks were trained from fewer seeds, or in fewer iterations, than the study has: no verdicts."
    ]
    assert [chart.title for chart in section.charts] == ["Gradients that became zero: digits"]


def test_every_claim_has_its_policies():
    known = {plan.task: {item.name for item in plan.policies} | {CAST_NAME, CALIBRATED_NAME} for plan in PLANS}
    for claim in CLAIMS:
        assert {claim.first, claim.second} <= known[claim.task], claim
    pairs = [(claim.task, claim.first, claim.relation, claim.second, claim.text) for claim in CLAIMS]
    assert len(set(pairs)) == len(pairs)
    compared = {(claim.task, name) for claim in CLAIMS for name in (claim.first, claim.second)}
    assert compared >= {(plan.task, item.name) for plan in PLANS for item in plan.policies if item.name != BASE}


def test_plans():
    assert len(SEEDS) == 3
    for plan, small in zip(PLANS, SMALL, strict=True):
        names = [item.name for item in plan.policies]
        assert names[0] == BASE
        assert len(set(names)) == len(names) <= 12
        assert small.policies == plan.policies
    by_name = [(item.name, item) for plan in PLANS for item in plan.policies]
    assert len(set(by_name)) == len(dict(by_name))
    without = [name for name, item in dict(by_name).items() if mac(item) is None]
    assert without == [BASE, "1.4.3/1.5.2, biases", "1.4.3/1.5.2, biases, logmax"]


def test_a_chapter():
    lower, higher = (-0.2, -0.21, -0.19), (0.5, 0.51, 0.49)
    section = section_of(**{"hif8, hybrid, adaptive": lower, "e4m3/e5m2": higher, "e5m2b4, binary16": DIVERGED})
    assert len(section.tables[0].rows) == len(CLAIMS)
    assert [table.caption.partition(",")[0] for table in section.tables[1:]] == ["Policies"] * 3
    judged = claims(section)
    compared = "loss of e4m3/e5m2, tensor is lower than that of e4m3/e5m2"
    text = "FP8 needs scales of tensors. Checked here: FP8 trains better with scales of tensors than without any scale."
    assert judged[text, "range", compared] == REPRODUCED
    assert section.findings[0].text.startswith(
        "Verdicts: HiFloat8 paper, claims as stated: 3 reproduced, 2 not reproduced and 3 undecided; HiFloat8 paper, "
        "consequences of claims: "
    )
    changed = {"hif8, hybrid, adaptive", "e4m3/e5m2", "e5m2b4, binary16"}
    for claim, row in zip(CLAIMS, section.tables[0].rows, strict=True):
        if changed.isdisjoint((claim.first, claim.second)):
            holds = "holds" if claim.source == OWN else REPRODUCED
            assert row[-1].text == (UNDECIDED if claim.relation is Relation.LOWER else holds)
            assert row[-1].small == "+0.0%"
    text = {row[0].text: row for row in section.tables[2].rows}
    assert text["hif8, hybrid, adaptive"][2].text == "-20.0%"
    assert text["hif8, hybrid, adaptive"][0].small == (
        "hif8 / hif8 / hif8 hybrid, binary32, scale of the loss: adaptive"
    )
    assert text["e5m2b4, binary16"][2].text == "diverged"
    assert text["hif8, hybrid, adaptive"][6].text == "20.0%"
    assert text["hif8, hybrid, adaptive"][7].text == "3"
    fronts = [finding for finding in section.findings if finding.item.startswith("training-loss-against-area")]
    best = "hif8, hybrid, adaptive (-20.0%, 700 NAND2)"
    assert fronts[0].text.startswith(f"No other policy has both a smaller MAC and a lower mean loss than {best}.")
    assert any("Not in the chart, because a loss was not finite: e5m2b4, binary16." in each.text for each in fronts)
    titles = {section.name(chart): chart.title for chart in section.charts}
    areas = {name for name, title in titles.items() if title.startswith("Loss against area: ")}
    assert {finding.item for finding in fronts} < areas
    assert len(titles) == len(areas) + 3
    for chart in (chart for chart in section.charts if chart.title.startswith("Loss against area: ")):
        task, accumulator = chart.title.removeprefix("Loss against area: ").split(", ")
        (plan,) = (plan for plan in PLANS if plan.task == task)
        drawn = {trace["name"] for trace in chart.data[1:]}
        assert drawn <= {item.name for item in plan.policies if item.accumulator == accumulator}
        assert len(drawn) > 1
        assert "1.4.3/1.5.2, biases" not in drawn  # it has no MAC
    assert not any(finding.text.startswith("Changed since") for finding in section.findings)


def test_the_finding_has_both_formats_and_verdicts():
    changes = {
        "hif8": (0.05, 0.051, 0.049),
        "hif8, adaptive": (-0.02, 0.03, 0.0),
        "e4m3/e5m2, tensor": (0.0, 0.001, 0.0),
    }
    (finding,) = (each.text for each in section_of(**changes).findings if each.subject == "Training")
    assert finding.startswith(
        "Test loss with scales above that of binary32 in characters: “hif8, adaptive” +0.3% (-3.8% to +4.6%), "
        "undecided and “e4m3/e5m2, tensor” +0.0% (-0.1% to +0.1%), no higher; claims: “hif8, adaptive” no higher than "
    )
    section = section_of(**changes)
    rest = "; not trained: “e4m3/e5m2, tensor” in digits and “hif8, adaptive” in range."
    assert any(
        each.text.startswith("In digits: “hif8, adaptive” ") and each.text.endswith(rest) for each in section.findings
    )
    question = "Without any scale, HiF8 trains as well as FP8 with scales of tensors."
    (cells,) = (row for row in section.tables[0].rows if (row[0].text, row[1].text) == (question, "characters"))
    assert (cells[-1].text, cells[-1].small) == ("does not hold", "+5.0% (+4.9% to +5.1%)")


def test_the_finding_names_every_claim_that_compares_hif8_with_fp8():
    """Whatever their verdicts are: none is left out because it is unfavourable. The table has each with its bounds."""
    study = load.study()
    (finding,) = (each.text for each in chapter.section(study).findings if each.subject == "Training")
    both = [claim for claim in CLAIMS if "hif8" in claim.first and "e4m3/e5m2" in claim.second]
    assert len(both) == 4
    for claim in both:
        words = f"“{claim.first}” {claim.relation} “{claim.second}” "
        text = finding.partition(f"claims: {words}" if claim is both[0] else f", {words}")[2].partition(", “")[0]
        judged = verdict(claim, study.tasks[claim.task]).text
        assert {NOT_REPRODUCED: "does not hold", REPRODUCED: "holds"}.get(judged, judged) in text
        assert claim.task in text
    excess = study.tasks["characters"].excess("hif8, adaptive", "e4m3/e5m2, tensor")
    assert f"“e4m3/e5m2, tensor” {excess.median:+.1%} ({excess.low:+.1%} to {excess.high:+.1%}), " in finding
    lines = {(row[0].small, row[1].text, row[1].small): row[-1].small for row in chapter.section(study).tables[0].rows}
    for claim in both:
        excess = study.tasks[claim.task].excess(claim.first, claim.second)
        what = f"loss of {claim.first} is {claim.relation} that of {claim.second}"
        bounds = f"{excess.median:+.1%} ({excess.low:+.1%} to {excess.high:+.1%})"
        assert lines[claim.source, claim.task, what] == bounds


def test_a_chart_of_macs_of_one_size_names_no_best():
    data = made_up_study()
    for line in data["rows"]:
        line.update(renamings=2, samples=[699.0, 701.0], min=699.0, median=700.0, max=701.0)
    section = chapter.section(Study.from_json(data))
    assert [chart for chart in section.charts if chart.title.startswith("Loss against area")]
    assert not any("No other policy" in chart.caption for chart in section.charts)


def test_a_comparison_has_the_same_figures_everywhere():
    """In the table of policies, in verdicts and in Compare: the mean, between bounds."""
    study = load.study()
    section, task = chapter.section(study), study.tasks["characters"]
    excess = task.excess("hif8, adaptive")
    judged = verdict(Claim("", "", "characters", "hif8, adaptive", Relation.NO_HIGHER, BASE), task)
    assert (judged.low, judged.mean, judged.high) == (excess.low, excess.median, excess.high)
    (cell,) = (row[2] for table in section.tables[1:2] for row in table.rows if row[0].text == "hif8, adaptive")
    assert (cell.text, cell.small) == (f"{excess.median:+.1%}", f"{excess.low:+.1%} to {excess.high:+.1%}")


def test_compare_has_a_column_for_each_kind_of_scaling():
    """A policy with scales does not stand beside one without."""
    report = replace(assemble([], []), study=load.study())
    policies = {item.name: item for plan in PLANS for item in plan.policies}
    kinds = {}
    for point in points(report):
        if point.metric.startswith("loss"):
            kinds.setdefault(point.metric, set()).add(policies[point.note.partition("policy ")[2]].scaling)
    assert kinds["loss above binary32, range, unscaled"] == {"none"}
    assert kinds["loss above binary32, range, with scales of tensors"] == {"tensor"}
    assert all(len(each & {"none", "tensor"}) == 0 or len(each) == 1 for each in kinds.values())


def test_losses_of_compare_have_verdicts_and_are_stale_with_the_study():
    """Of each choice and accumulator; one that is no higher, one that is higher, and one undecided."""
    changes = {"hif8, adaptive": (0.1, 0.11, 0.09), "e5m2b1, bfloat16, backoff": (-0.02, 0.03, 0.0)}
    for program, mark in ((None, ""), ("0", "stale")):
        data = made_up_study(("digits",), **changes)
        data |= {} if program is None else {"program": program}
        report = replace(assemble([], []), study=Study.from_json(data))
        losses = {(p.choice, p.accumulator): p for p in points(report) if p.metric.endswith("a scale of the loss")}
        assert {point.mark for point in losses.values()} == {mark}
        notes = [losses[key].note for key in (("hif8", "binary16"), ("e5m2b1", "bfloat16"))]
        assert notes == [
            "no higher, policy hif8, binary16, adaptive",
            "undecided, policy e5m2b1, bfloat16, backoff",
        ]
    assert chapter.against_base(report.study.tasks["digits"], "hif8, adaptive") == "higher"


def test_shorter_training_has_no_verdicts():
    for change in (lambda data: data["tasks"][1].update(iterations=4), fewer_seeds):
        data = made_up_study()
        change(data)
        section = chapter.section(Study.from_json(data))
        assert len(section.tables) == 3
        assert any(finding.text.endswith("than the study has: no verdicts.") for finding in section.findings)


def fewer_seeds(data):
    data["seeds"].pop()
    for item in (item for task in data["tasks"] for item in task["policies"]):
        item["figures"].pop()
        item["skipped"].pop()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(program="0"),
        lambda data: data["tasks"][0].update(iterations=900),
        lambda data: data["tasks"][0]["policies"].pop(),
        lambda data: data["tasks"][0]["policies"][3]["gradient"].update(fmt="ocp_e5m2"),
        lambda data: data["tasks"][0]["policies"][3].update(name="hif9"),
    ],
)
def test_an_older_file_is_named(change):
    data = made_up_study(("digits",))
    data["rows"] = []
    change(data)
    section = chapter.section(Study.from_json(data))
    assert re.fullmatch(
        r"Changed since these networks were trained: (policies or iterations|NumPy \(0 then\) and the reference model "
        r"\(golden\) or the study's program \(examples/training\))\. Whether results change is unknown until make "
        r"study trains them again\.",
        section.findings[0].text,
    )
    what = section.findings[0].text.partition(": ")[2].partition(". ")[0]
    for finding in (each.text for each in section.findings if each.subject == "Training"):
        assert finding.endswith(f"; trained before a change of {what}.")


def test_the_hash_is_that_of_the_code_that_results_depend_on(tmp_path, monkeypatch):
    code_hash = results.code_hash.__wrapped__
    before, copy = code_hash(), tmp_path / "training"
    shutil.copytree(results.CODE, copy)
    monkeypatch.setattr(results, "CODE", copy)
    assert code_hash() == before
    for name, changes in {"workers.py": False, "__main__.py": False, "products.py": True}.items():
        (copy / name).write_text((copy / name).read_text() + "# changed\n")
        assert (code_hash() != before) is changes, name
    monkeypatch.setattr(results, "CODE", tmp_path / "nowhere")
    assert code_hash() is None


def test_pages_of_the_report_do_not_change_the_hash(monkeypatch):
    code_hash, known = results.code_hash.__wrapped__, results.program("golden", "synth.report.training.policy")
    before = code_hash()
    (other,) = (name for name in known if name.startswith("golden/") and name.endswith(".cpp"))
    names = {"synth/report/site/site.js": False, "synth/report/training/policy.py": True, "golden/catalog.py": True}
    for name, changes in {**names, other: True}.items():
        changed = {**known, name: known[name] + b"# changed\n"}
        monkeypatch.setattr(results, "program", lambda *entries, changed=changed: changed)
        assert (code_hash() != before) is changes, name


def test_outside_the_clone_no_file_is_called_old(monkeypatch):
    data = made_up_study()
    data["program"] = "0"
    monkeypatch.setattr(chapter, "code_hash", lambda: None)
    assert not chapter.section(Study.from_json(data)).findings[0].text.startswith("Changed")


def test_without_a_file_there_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(load, "STUDY", tmp_path / "study.json")
    assert load.study() is None
    section = chapter.section(None)
    assert section.intro.startswith("This report has no results on training: the documentation has none yet.")
    assert not section.tables
    (tmp_path / "study.json").write_text(json.dumps(made_up_study()))
    assert list(load.study().tasks) == ["characters", "digits", "range"]


def test_the_rows_are_read_back():
    data = made_up_study()
    study = Study.from_json(data)
    assert study.area(mac(PLANS[0].policies[1])).median == Row.from_json(data["rows"][0]).median
    assert study.area(None) is None
    assert study.source is data


def test_the_file_has_each_key_once():
    data = made_up_study()
    text = results.text_of(data)
    assert results.unpacked(json.loads(text)) == data
    assert text.count('"iteration"') == text.count('"history":{')
    assert replace(Study.from_json(json.loads(text)), source=data) == Study.from_json(data)
    assert results.RESULTS.read_text() == results.text_of(results.unpacked(json.loads(results.RESULTS.read_text())))


def broken(change):
    data = made_up_study()
    change(data)
    return data


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("program"),
        lambda data: data.pop("versions"),
        lambda data: data["tasks"][0].pop("batch"),
        lambda data: data["tasks"][0]["policies"].pop(2),
        lambda data: data["tasks"][0]["policies"][3]["figures"].pop(),
        lambda data: data["tasks"][0]["policies"][2]["figures"].__setitem__(0, {"loss": None}),
        lambda data: data["tasks"][0]["policies"][3]["figures"].__setitem__(0, {"accuracy": 1.0}),
        lambda data: data["tasks"][0]["policies"][3]["figures"][0].update(error=1.0),
        lambda data: data["tasks"][0]["policies"][3]["figures"].__setitem__(0, {"loss": "low"}),
        lambda data: data["tasks"][0]["policies"][3]["history"][0].pop("lost"),
        lambda data: data["tasks"][0]["policies"][3]["history"][0].pop("iteration"),
        lambda data: data["tasks"][0]["policies"][3]["history"][0]["lost"].update(gradient=[0.5, "all"]),
        lambda data: data["tasks"][0]["policies"][3]["history"][0]["lost"].update(bias=[0.5, 0.5]),
        lambda data: data["tasks"][0]["policies"][3].update(history={"columns": {"iteration": [1], "lost": []}}),
        lambda data: data["tasks"][0]["policies"][3].update(history={"columns": {"iteration": 1, "lost": {}}}),
        lambda data: data["tasks"][0]["policies"][3].update(skipped=[]),
        lambda data: data["tasks"][0]["policies"][3].pop("weight"),
        lambda data: data["tasks"][0]["policies"][3].pop("scaling"),
        lambda data: data["tasks"][0]["policies"][3]["gradient"].update(rounding=2),
        lambda data: data["rows"].append({}),
        lambda data: data["seeds"].pop(),
        lambda data: data.update(seeds=["0", "1", "2"]),
    ],
)
def test_other_files_are_refused(change):
    with pytest.raises((BadValue, BadKind)):
        Study.from_json(broken(change))
