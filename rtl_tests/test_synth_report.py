"""The report: sentences that claim no more than the spreads allow, and files that are the same every time."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from rtl_tests.test_synth_accuracy import DIGITS
from rtl_tests.test_synth_jobs import JOB
from synth import report as module
from synth.content import Content
from synth.figures import Figure, compared, number, pair_sentence, smallest_sentence
from synth.plan import ACCUMULATORS, FORMATS, WIDTH_STUDY
from synth.report import assemble, render
from synth.runner import Outcome
from synth.table2 import PAPER, verdict
from synth.targets import TARGETS


def spread(low, high):
    return Figure(low, (low + high) / 2, high, "ALM")


def made_up(component, target, area, **options):
    unit = TARGETS[target].unit
    row = {
        "component": component, **options, "target": target, "recipe": "synch", "metric": "area", "unit": unit, "tool": "yosys 0",
        "min": area - 1, "median": area, "max": area + 1, "samples": [area - 1, area + 1], "portfolio": "standard", "renamings": 2,
        "name": "_".join(map(str, (component, *options.values()))), "command": f"hwgen area {component} --target {target}",
        "verilog_sha256": "0", "script_sha256": "1",
    }  # fmt: skip
    return [row, {**row, "recipe": "best", "best_recipe": "synch"}]


def made_up_report():
    """Data for every section."""
    rows = []
    for place, name in enumerate(FORMATS):
        for target in TARGETS:
            rows += made_up("mac", target, 150 + 3 * place, format=name, accumulator="binary16", accumulator_bits=16)
            rows += made_up("adder", target, 120 + place % 3, format=name, accumulator="binary16")
            rows += made_up("multiplier", target, PAPER.get(name, [40])[0] + 0.25 * place, format=name)
        rounding = "ties_to_away" if name == "hif8" else "ties_to_even"
        rows += made_up("encoder", "gates", 200 + place, format=name, rounding=rounding)
    for target in TARGETS:
        rows += made_up("encoder", target, 60, format="hif8", rounding="ties_to_away") if target != "gates" else []
        rows += made_up("encoder", target, 90, format="hif8", rounding="hybrid")
    for name in WIDTH_STUDY:
        for target in ("gates", "cyclonev"):
            for bits, accumulator in zip((0, 16, 16, 32, 93), ACCUMULATORS, strict=True):
                if accumulator != "binary16":
                    rows += made_up("mac", target, 140 + 2 * bits, format=name, accumulator=accumulator, accumulator_bits=bits)
    for target in ("gates", "cyclonev"):
        rows += made_up("mac", target, 165, format="hif8", accumulator="binary16", accumulator_bits=16, scale_bits=8)
    outcomes = [Outcome(JOB, tuple(rows)), Outcome(replace(JOB, top="broken", target="xc7"), (), "broken on xc7: <no> luck", "long\nlog\n")]
    return assemble(outcomes, FORMATS, DIGITS)


@pytest.fixture(scope="module")
def data():
    return made_up_report()


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("build") / "new" / "report"
    render(data, folder)
    return folder


@pytest.fixture(scope="module")
def content(folder):
    return Content(json.loads((folder / "report.json").read_text()))


def read(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_files(data, folder):
    files = read(folder)
    assert set(files) == {"report.json", "report.csv", "report.md", "index.html", "logs/broken.xc7.log"}
    assert files["logs/broken.xc7.log"] == b"long\nlog\n"
    assert json.loads(files["report.json"])["rows"] == data["rows"]


def test_the_same_data_give_the_same_bytes_and_json_is_the_source(folder, tmp_path):
    first = read(folder)
    render(json.loads(first["report.json"]), tmp_path)
    assert read(tmp_path) == {name: text for name, text in first.items() if not name.startswith("logs/")}


def test_the_page_needs_nothing_else(folder):
    page = (folder / "index.html").read_text()
    links = re.findall(r"""(?:src|href|action|data)\s*=\s*["']([^"']*)["']""", page)
    assert links
    assert {link for link in links if not link.startswith("#")} == {"data:,"}  # an icon, so that no browser asks for one
    assert not re.search(r"url\((?!#)|@import|<script .*src|<iframe|<img|<image", page)
    assert "default-src 'none'" in page
    for word in (str(folder), "/home", "/tmp", "matplotlib.org"):
        assert word not in page
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"(?:url\(|href=\")#([^\")]*)", page)) <= set(ids)


def test_the_page_shows_everything(folder):
    page, text = (folder / "index.html").read_text(), (folder / "report.md").read_text()
    for anchor in ("mac", "parts", "accumulators", "encoders", "paper", "accuracy", "evidence", "failures", "method", "figures"):
        assert f'<section id="{anchor}">' in page
    assert page.count("<svg ") == 1 + 5 + 5 + 2 + 3 + 1
    assert page.count("<svg ") == page.count('role="img"')
    for wanted in ("yosys 0", "97.1%", "equal in 1,234 steps", "18.0 dB", "hwgen area mac --target xc7", "synch"):
        assert wanted in page
        assert wanted in text
    assert "broken on xc7: &lt;no&gt; luck" in page
    for target in TARGETS.values():
        assert f"{target.title}: the order of the paper (20 < 24.5 < 27 < 34)" in text
        assert f"{target.title}: the hif8 encoder costs" in text


def test_the_summary_says_what_matters(data, content):
    said = dict(content.summary)
    assert said["Cheapest"] == f"The smallest MAC into binary16 is that of {FORMATS[0]} on Gates, Cyclone V, Xilinx 7, iCE40 and ECP5."
    assert said["Dearest"].startswith(f"The largest is that of {FORMATS[-1]}: +20% on Gates, ")
    assert said["Inside the noise"] == "0 of 275 pairs of MACs, over 5 targets, differ by less than their spreads."
    assert said["Exact accumulators"].startswith("Cyclone V: a MAC that never rounds, against one into binary32: hif8 +60% (93 bits), ")
    assert said["Verified"].startswith("No module had been held against the golden model")
    jobs = sum(row["recipe"] == "best" for row in data["rows"])
    assert said["Measured"].startswith(f"{jobs} jobs on 5 targets, {2 * jobs} netlists under 2 renamings; 1 job failed. minifloat-rtl ")
    assert said["Measured"].endswith(f"{data['tool']}.")


def test_the_paper_stands_beside_the_same_part(content):
    tables = next(section for section in content.sections if section.anchor == "paper").tables
    printed = {table.caption.split(":")[0]: table.rows[0][1].text for table in tables}
    assert printed == {"Decode + multiply": "20", "Adder": "188", "MAC": "208.5"}


def test_every_plot_names_the_commands_of_its_figures(content):
    for section in content.sections:
        for plot in section.plots:
            assert all(command.startswith("hwgen area ") for command in plot.commands)
            assert plot.commands or "A point for each target" in plot.caption  # the plots beside it have them


def test_the_table_of_rows(data, folder):
    rows = list(csv.DictReader(io.StringIO((folder / "report.csv").read_text())))
    assert len(rows) == len(data["rows"])
    assert rows[0]["component"] == data["rows"][0]["component"]
    assert rows[0]["samples"] == " ".join(map(str, data["rows"][0]["samples"]))


def test_a_report_of_little_data_is_a_report(tmp_path):
    row = made_up("mac", "gates", 100.0, format="hif8", accumulator="binary16", accumulator_bits=16)
    render(assemble([Outcome(JOB, tuple(row))], ["hif8"]), tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert '<section id="mac">' in page
    assert '<section id="paper">' not in page
    assert '<section id="failures">' not in page
    assert "<p>1 format, 1 target, 1 figure: " in page
    assert page.count("<svg ") == 1


def test_nothing_is_left_half_written(tmp_path, monkeypatch):
    few = assemble([], ["hif8"])
    render(few, tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    before = read(tmp_path)

    def fail(*arguments):
        raise RuntimeError("no")

    monkeypatch.setattr(module, "page", fail)
    with pytest.raises(RuntimeError, match="no"):
        render({**few, "tool": "another"}, tmp_path)
    assert read(tmp_path) == before
    monkeypatch.undo()
    monkeypatch.setattr(module.os, "replace", fail)
    with pytest.raises(RuntimeError, match="no"):
        render({**few, "tool": "another"}, tmp_path)
    assert read(tmp_path) == before


FIGURES = {"e5m3_nosub": spread(19, 21), "e5m2b1": spread(22, 24), "binary8p3": spread(25, 27), "e5m3": spread(30, 33)}


def test_the_order_comes_out():
    assert verdict(FIGURES, "X") == (
        "X: the order of the paper (20 < 24.5 < 27 < 34) comes out. e5m3_nosub 20, e5m2b1 23, binary8p3 26, e5m3 31.5."
    )


def test_the_order_is_swapped():
    said = verdict({**FIGURES, "e5m2b1": spread(29, 29.5)}, "X")
    assert said.startswith(
        "X: the order of the paper (20 < 24.5 < 27 < 34) does not come out: swapped are e5m2b1 (12% above binary8p3). e5m3_nosub 20"
    )
    said = verdict({**FIGURES, "e5m3_nosub": spread(26, 28)}, "X")
    assert "swapped are e5m3_nosub (17% above e5m2b1); no difference between e5m3_nosub and binary8p3. " in said


def test_the_order_is_inside_the_spread():
    said = verdict({**FIGURES, "e5m2b1": spread(22, 25)}, "X")
    assert "is not contradicted, but lies within the spread: no difference between e5m2b1 and binary8p3. " in said


def test_the_order_needs_all_four():
    assert verdict({"e5m3": spread(1, 2)}, "X") == ("X: the order of the paper cannot be judged without e5m3_nosub, e5m2b1 and binary8p3.")


def test_no_difference_where_spreads_meet():
    assert compared(spread(10, 12), spread(12, 14)) == "no difference"
    assert compared(spread(13, 13), spread(10, 10)) == "+30%"
    assert smallest_sentence({"a": spread(3, 5), "b": spread(1, 2), "c": spread(2, 3)}, "MAC", "X") == (
        "X: the smallest MAC is that of b (1.5 ALM), with no difference from c; the largest is that of a (+167%)."
    )
    assert smallest_sentence({"a": spread(3, 5)}, "MAC", "X") == "X: the smallest MAC is that of a (4 ALM)."
    assert pair_sentence(("ta", spread(9, 11)), ("hybrid", spread(14, 16)), "it", "X") == (
        "X: it costs 50% more with hybrid than with ta (15 against 10 ALM)."
    )
    assert "no difference" in pair_sentence(("ta", spread(9, 11)), ("hybrid", spread(11, 12)), "it", "X")


def test_numbers():
    assert [number(value) for value in (0, 6.66, 9.5, 20.0, 24.25, 999.96, 1234.5)] == ["0", "6.66", "9.5", "20", "24.2", "1000", "1,234"]


def test_options_are_held_against_the_plain_block(content):
    (section,) = (section for section in content.sections if section.anchor == "options")
    assert section.findings == [
        f"{title}: products times 2^scale, 8 bits, hif8 mac: +10% (165 against 150 {unit})."
        for title, unit in (("Gates", "NAND2"), ("Cyclone V", "ALM"))
    ]
    assert len(section.tables[0].rows) == 1
    (every,) = (section for section in content.sections if section.anchor == "figures")
    assert len(every.tables[0].rows) == sum(row["recipe"] == "best" for row in content.report["rows"])
    assert all(row["name"] != "mac_hif8_binary16_16_8" for row in content.measured.rows)
