"""The report: sentences that claim no difference where spreads overlap, and files with the same bytes every time."""

import csv
import io
import json
import re
import subprocess
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markupsafe import escape

import synth
from rtl_tests.support import shared
from rtl_tests.support.paths import ROOT
from rtl_tests.support.reported import read_report
from rtl_tests.support.trained import made_up_study
from rtl_tests.synth.area.test_jobs import JOB
from rtl_tests.synth.report.test_accuracy import DIGITS
from synth.area.figures import Figure, compared, number, ranged, smallest_sentence
from synth.area.rows import Row
from synth.area.runner import Outcome
from synth.area.targets import TARGETS
from synth.proof.evidence import EMITTED, EQUAL, PROVED, SWEPT, Evidence
from synth.report import data as data_module
from synth.report import load
from synth.report import write as module
from synth.report.chapters import method, papers, references
from synth.report.content import ONE_SAMPLE, PAGES, SUBJECTS, Content
from synth.report.data import Accuracy, Failure, Ratio, Sweep, assemble, with_sweeps
from synth.report.measured import Measured
from synth.report.plan import (
    ACCUMULATORS,
    CLAIMS,
    EXTRA_TARGETS,
    FORMATS,
    P3109_PAIR,
    PAIR,
    PROJECTION_STUDY,
    WIDTH_STUDY,
)
from synth.report.points import AREA, ENERGY, chosen
from synth.report.training.results import Study
from synth.report.write import render

SECTIONS = {
    "mac": ("What a MAC costs", 2),
    "references": ("Beside int8, binary16 and bfloat16", 0),
    "parts": ("The two parts of a MAC", 1),
    "accumulators": ("Exact against rounded accumulators", 2),
    "options": ("What options cost", 0),
    "speed": ("Area against delay", 3),
    "energy": ("Energy of an operation", 4),
    "tradeoff": ("Area against accuracy", 2),
    "accuracy": ("The formats on real data", 1),
    "dots": ("Dot products: lanes, accumulators and blocks", 5),
    "tiles": ("Tiles: formats in a matrix unit", 1),
    "encoders": ("Encoders, and what a rounding costs", 4),
    "roundings": ("Roundings, and what random words cost", 0),
    "training": ("Training in these formats, and the papers' claims about it", 3),
    "claims": ("The papers' other claims, measured", 0),
    "method": ("How it was measured", 0),
    "evidence": ("Proof: every input, on the gates", 0),
    "failures": ("Jobs that failed", 0),
}
"""Every section that a report can have: its title, and its number of charts in :func:`made_up_report`."""
NAMES = ("index", *PAGES)
"""The pages of a report that has every section."""


def spread(low, high):
    return Figure(low, (low + high) / 2, high, "ALM")


def made_up(component, target, area, **options):
    unit, name = TARGETS[target].unit, "_".join(map(str, (component, *options.values())))
    bits = {"accumulator_bits": 16} if "accumulator" in options else {}
    row = {
        "component": component,
        **bits,
        **options,
        "target": target,
        "recipe": "synch",
        "metric": "area",
        "unit": unit,
        "tool": "yosys 0",
        "min": area - 1,
        "median": area,
        "max": area + 1,
        "samples": [area - 1, area + 1],
        "portfolio": "standard",
        "renamings": 2,
        "seed": 1,
        "name": name,
        "command": f"hwgen area {component} --target {target}",
        "verilog_sha256": name,
        "script_sha256": "1",
    }
    return [Row.from_json(row), Row.from_json(row).best()]


def checked(module, kind, method, cases):
    """Evidence of a module that equals the reference model."""
    command, hashes = f"hwgen verify {module}", {"verilog": module}
    return Evidence(module, command, EMITTED, [], kind, method, cases, hashes, {}, cases, EQUAL, seconds=1.5)


def p3109_rows():
    """P3109's pair beside others, and its encoder by rounding and saturation; OCP's and HiF8's MACs are claims'."""
    rows = []
    for target in EXTRA_TARGETS:
        rows += made_up("multiplier", target, 60, format=P3109_PAIR)
        rows += made_up("mac", target, 190, format=P3109_PAIR, accumulator="binary16")
        rows += made_up("mac", target, 191, format=P3109_PAIR, accumulator="binary16", zero="positive")
    for place, overflow in enumerate(("none", "saturate", "propagate")):
        for rounding, area in (("ties_to_even", 80), ("toward_zero", 60), ("to_odd", 61)):
            options = {"format": PROJECTION_STUDY, "rounding": rounding, "overflow": overflow}
            rows += made_up("encoder", "gates", area + 5 * place, **options)
    return rows


MULTIPLIERS = {"e5m3_nosub": 20.0, "e5m2b1": 24.5, "binary8p3": 27.0, "e5m3": 34.0}
"""The ALMs of the supernormal paper's Table 2, in the order that the claims have."""


def made_up_report():
    """A report with data for every section."""
    rows = []
    for place, name in enumerate(FORMATS):
        for target in TARGETS:
            rows += made_up("mac", target, 150 + 3 * place, format=name, accumulator="binary16", accumulator_bits=16)
            rows += made_up("adder", target, 120 + place % 3, format=name, accumulator="binary16")
            rows += made_up("multiplier", target, MULTIPLIERS.get(name, 40) + 0.25 * place, format=name)
        rounding = "ties_to_away" if name == "hif8" else "ties_to_even"
        if "+" not in name:
            rows += made_up("encoder", "gates", 200 + place, format=name, rounding=rounding)
    for target in TARGETS:
        rows += made_up("encoder", target, 60, format="hif8", rounding="ties_to_away") if target != "gates" else []
        rows += made_up("encoder", target, 90, format="hif8", rounding="hybrid")
    for name in WIDTH_STUDY:
        for target in ("gates", "cyclonev"):
            for bits, accumulator in zip((0, 16, 16, 32, 93), ACCUMULATORS, strict=True):
                if accumulator != "binary16":
                    rows += made_up(
                        "mac", target, 140 + 2 * bits, format=name, accumulator=accumulator, accumulator_bits=bits
                    )
        for accumulator, area in (("binary32", 400), ("exact", 300 if name == "ocp_e4m3" else 600)):
            rows += made_up("pe", "gates", area, format=name, accumulator=accumulator)
        rows += made_up("readout", "gates", 250, format=name, to="binary32")
    for target in ("gates", "cyclonev"):
        rows += made_up("mac", target, 165, format="hif8", accumulator="binary16", accumulator_bits=16, scale_bits=8)
    for target in TARGETS:
        for claim in CLAIMS:
            for kind, name, options in (claim.base, claim.block):
                area = 200 if "+" in name else 180
                if name not in FORMATS or options.get("accumulator") == "dlfloat16":
                    rows += made_up(kind, target, area, format=name, **options)
    rows += p3109_rows()
    outcomes = [
        Outcome(JOB, tuple(rows)),
        Outcome(replace(JOB, top="broken", target="xc7"), (), "broken on xc7: <no> luck", "long\nlog\n"),
    ]
    evidence = [
        checked("multiplier_hif8", SWEPT, "every input", 1 << 16),
        checked("other", PROVED, "a solver", 1 << 48),
    ]
    ratios = {name: Ratio(20.5 + 5 * (place % 3), place, (1.0 + place,) * 33) for place, name in enumerate(FORMATS)}
    return replace(
        assemble(outcomes, FORMATS, Accuracy.from_json(DIGITS), evidence),
        ratios=ratios,
        dots=load.dots(),
        energies=load.energies(),
        references=load.references(),
        speeds=load.speeds(),
        tiles=load.tiles(),
        study=Study.from_json(made_up_study(("digits",))),
    )


@pytest.fixture(scope="module")
def data():
    return made_up_report()


def rendered():
    """The folder of the report, which all tests share."""
    place = Path("new", "report")
    return shared.made("report", lambda folder: render(made_up_report(), folder / place)) / place


@pytest.fixture(scope="module")
def folder():
    return rendered()


@pytest.fixture(scope="module")
def content(folder):
    return Content(read_report(json.loads((folder / "report.json").read_text())))


def read(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def pages_of(folder):
    """The pages by name."""
    return {path.stem: path.read_text() for path in folder.glob("*.html")}


def test_files(data, folder, content):
    files = read(folder)
    items = [(section, item) for section in content.sections for item in (*section.charts, *section.tables)]
    names = [f"data/{section.name(item)}.csv" for section, item in items]
    assert len(set(names)) == len(names)
    scripts = {"plotly.min.js", "site.js", "compare.js", "style.css"}
    assert set(files) == {
        *("report.json", "report.csv", "report.md", "compare.json", "logs/broken.xc7.log"),
        *(f"{name}.html" for name in NAMES),
        *scripts,
        *names,
    }
    assert files["logs/broken.xc7.log"] == b"long\nlog\n"
    assert json.loads(files["report.json"])["rows"] == [row.to_json() for row in data.rows]
    for (_, item), name in zip(items, names, strict=True):
        lines = [*csv.reader(io.StringIO(files[name].decode()))]
        assert lines == [[str(text) for text in line] for line in item.lines()]
        assert len(lines) > 1


def test_the_same_data_gives_the_same_bytes_and_json_is_the_source(folder, tmp_path):
    first = read(folder)
    render(read_report(json.loads(first["report.json"])), tmp_path)
    assert read(tmp_path) == {name: text for name, text in first.items() if not name.startswith("logs/")}


def test_the_pages_need_nothing_else(folder):
    for name, page in pages_of(folder).items():
        links = re.findall(r"""(?:src|href|action)\s*=\s*["']([^"']*)["']""", page)
        assert not [link for link in links if re.match(r"(\w+:)?//", link)]
        files = {link.partition("#")[0] for link in links if not link.startswith(("#", "data:"))}
        assert {"style.css", "site.js", "index.html"} <= files
        assert all((folder / file).is_file() for file in files)
        assert not re.search(r"url\(|@import|<iframe|<style", page)
        assert "default-src 'none'" in page
        for word in (str(folder), "/home", "/tmp"):
            assert word not in page
        ids = re.findall(r'\bid="([^"]*)"', page)
        assert len(ids) == len(set(ids)), name
        pages = pages_of(folder)
        for link in links:
            file, _, anchor = link.partition("&")[0].partition("#")
            if anchor:
                target = pages[file.removesuffix(".html")] if file else page
                assert f'id="{anchor}"' in target, link


def test_the_pages_show_everything(folder):
    pages, text = pages_of(folder), (folder / "report.md").read_text()
    assert set(pages) == set(NAMES)
    for name, (title, anchors) in PAGES.items():
        assert f"<h1>{escape(title)}</h1>" in pages[name]
        assert re.findall('<section id="(.*?)">', pages[name]) == list(anchors)
        charts = 0
        for anchor in anchors:
            section, count = SECTIONS[anchor]
            assert f'<section id="{anchor}">\n<h2>{escape(section)}</h2>' in pages[name]
            charts += count
        assert pages[name].count("<figure ") == charts
    whole = "".join(pages.values())
    for sentence in (
        "yosys 0",
        "equal in 1,234 steps",
        "18.0 dB",
        "(30.5 dB, 156 NAND2)",
        "MAC into binary16, built for area or for speed, Gates",
        "not reproduced",
        "65,536 inputs evaluated",
        "multiplier_hif8",
    ):
        assert sentence in whole
        assert sentence in text
    assert "hwgen area mac --target xc7" in whole
    assert "broken on xc7: &lt;no&gt; luck" in whole


def test_the_pages_are_short(folder):
    """Words that a reader sees before opening anything; and no table has a single row."""
    words = 0
    for page in pages_of(folder).values():
        assert all(body.count("<tr>") > 1 for body in re.findall("<tbody>.*?</tbody>", page, re.DOTALL))
        text = re.sub("<(script|head|pre).*?</(script|head|pre)>", "", page, flags=re.DOTALL)
        text = re.sub('<details class="(table" id="[^"]*|method)">.*?</details>', "", text, flags=re.DOTALL)
        words += len(re.sub("<[^>]*>", " ", text).split())
    assert words < 8000


def test_no_section_is_forgotten(content):
    files = Path(synth.__path__[0]).rglob("*.py")
    assert set(SECTIONS) == {
        anchor for file in files for anchor in re.findall(r'\bSection\(\s*"(\w+)"', file.read_text())
    }
    assert {section.anchor: (section.title, len(section.charts)) for section in content.sections} == SECTIONS
    assert [anchor for _, anchors in PAGES.values() for anchor in anchors] == list(SECTIONS)


def test_the_first_page_has_the_main_findings(data, content, folder):
    """Five sentences with links to what shows the rest; their subjects do not depend on their words."""
    texts = [answer.text for answer in content.answers]
    assert len(texts) == 5
    assert texts[0].startswith(
        f"hif8 against the pair {PAIR}: area of a MAC into binary16 -6% (-6.9% to -4.4%) on Gates, "
    )
    for words, choice in (
        ("area of a MAC into binary16", {"metric": AREA}),
        ("energy of its operation", {"metric": ENERGY}),
        ("area of a dot product of 8 into binary32", {"metric": AREA, "unit": "dot", "accumulator": "binary32"}),
    ):
        first, second = (chosen(content.points, name, **choice).figure for name in ("hif8", PAIR))
        assert f"{words} {ranged(first, second)} on Gates" in texts[0]
    assert texts[1].startswith(f"Gates, area of a MAC into binary16: hif8 against {PAIR} ")
    assert texts[2] == references.sentence(data.references, content.measured)
    assert texts[3].startswith(
        "Gates, of 2 measured formats and pairs of 8 bits with an SNR of at least 30 dB of Gaussian data at the best "
        "scale: ocp_e5m2 has the smallest MAC "
    )
    assert texts[4].startswith("Test loss with scales above that of binary32 in digits: “hif8, adaptive” ")
    for text, link in content.answers:
        assert len(re.findall(r"[+-]?\d[\d.,]*%? \([^)]*\)", text)) <= 3, text  # figures with their spreads
        assert not re.search(r"\d%(?! \(| to |[;)]|, no higher)", text), text  # none is without a spread that it has
        assert text.count(". ") == 0
        assert "#" in link
    links = [answer.link for answer in content.answers]
    items = [(section, item) for section in content.sections for item in (*section.charts, *section.tables)]
    assert {link.partition("#")[2] for link in links[1:]} <= {section.name(item) for section, item in items}
    others = {each.text for section in content.sections for each in section.findings} - set(texts)
    for start in (
        f"Gates, energy of a MAC into binary16: hif8 against {PAIR} ",
        "Gates, of 9 bits with such an SNR: e5m3_nosub has the smallest MAC, against that of ocp_e5m2 +12% (",
        "hif8 encoder from binary32 with hybrid rounding, compared with ties_to_away: -55% (",
        "Other targets, hybrid compared with ties_to_away: +50% (",
        "Gates, processing element with an exact accumulator against one with binary32: hif8 +50% (+49.4% to +50.6%; "
        "600 against 400 NAND2; 89 bits against 32), ",
        "A readout, once a sum, is not counted: 250 (249 to 251) NAND2 for hif8, 250 (249 to 251) NAND2 for e5m2b1 and "
        "250 (249 to 251) NAND2 for ocp_e4m3. Where many units share a readout, exact saves area for ocp_e4m3; "
        "otherwise take it for sums that must not depend on their order, not for area.",
    ):
        assert any(text.startswith(start) for text in others), start
    page = pages_of(folder)["index"]
    for answer in content.answers:
        assert f'<li>{escape(answer.text)} <a href="{escape(answer.link)}">Figure</a></li>' in page
    assert [chart.title for chart, _, _ in content.charts] == [
        "MAC into binary16 compared with the smallest, on 5 targets",
        "Area against delay: MAC into binary16, built for area or for speed, Gates",
        "Loss against area: digits, binary32",
    ]
    assert content.how.count(". ") == 3
    assert content.how.endswith(f"{data.tool}.")
    assert {finding.subject for section in content.sections for finding in section.findings} == {"", *SUBJECTS}
    assert content.cite("Title") in page.replace("Cite as: ", "").replace(content.title, "Title")


def test_a_smallest_is_that_of_all_that_its_chart_shows(content):
    """The sentence counts the formats of 8 bits in the chart, or all, and names the one with the least figure."""
    said = re.compile(r"of (\d+) measured (formats and pairs(?: of 8 bits)?): (\S+) has the smallest ")
    charts = [chart for section in content.sections for chart in section.charts if said.search(chart.caption)]
    assert len(charts) >= 6
    for chart in charts:
        count, kind, first = said.search(chart.caption).groups()
        least, place = {}, 0
        if chart.data[0]["type"] == "bar" or chart.data[0].get("orientation") == "h":
            least = dict(zip(chart.data[0]["y"], chart.data[0]["x"], strict=True))
        else:  # fronts behind the line of the best: the least within the delay that all reach
            curves = {trace["name"]: [*zip(trace["x"], trace["y"], strict=True)] for trace in chart.data[1:]}
            eight = curves if kind.endswith("pairs") else content.measured.eight(curves)
            place = max(min(curve)[0] for curve in eight.values())
            least = {name: min(y for x, y in curve if x <= place) for name, curve in curves.items()}
        least = least if kind.endswith("pairs") else content.measured.eight(least)
        assert (int(count), first) == (len(least), min(least, key=least.get)), chart.title


def test_every_module_behind_a_figure_is_counted(data, content, folder):
    """Those of the studies, too; each without a verdict is named on the page, and no other one."""
    studies = (data.dots, data.speeds, data.energies, data.references, data.tiles)
    shown = [*data.rows, *(row for study in studies for row in study.rows)]
    modules = {(row.component, row.name, row.verilog_sha256) for row in shown}
    names = {row.name for row in shown}
    others = [row for row in data.study.rows.values() if row.name not in names]
    modules |= {(row.component, row.name, row.verilog_sha256) for row in others}
    (table,) = (
        table
        for section in content.sections
        for table in section.tables
        if table.caption == "Modules behind the figures"
    )
    lines = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    for kind in {kind for kind, _, _ in modules}:
        names = sorted(name for known, name, _ in modules if known == kind)
        equal, count, lacking = lines.pop(kind)
        assert int(count) == len(names)
        assert int(equal) == (kind == "multiplier")  # the only one with evidence
        assert sorted(lacking.split(", ")) == [name for name in names if name != "multiplier_hif8"]
    assert lines == {}
    counted = (
        f"1 of the {len(modules)} modules behind the figures of this report equal the reference model on all inputs"
    )
    assert content.verified.startswith(counted)
    assert counted in (folder / "method.html").read_text()


def test_every_chart_and_table_names_its_commands(content):
    tools = ("hwgen area ", "hwgen energy ", "make ", "for f in ", 'python -c "import golden; ', "python examples/")
    for section in content.sections:
        for item in (*section.charts, *section.tables):
            commands = section.commands(item)
            assert commands or section.anchor in ("method", "evidence", "failures")
            assert all(command.startswith(tools) for command in commands)


def test_p3109_beside_others(content):
    sections = {section.anchor: section for section in content.sections}
    (table,) = sections["options"].tables
    options = {row[0].text: [(cell.text, cell.small) for cell in row[1:]] for row in table.rows}
    assert options["hif8 in the place of P3109's two formats"] == [("150", "149 to 151 · -21%")] * 2
    chart = sections["encoders"].charts[-2]
    assert {trace["name"]: (trace["y"], trace["x"]) for trace in chart.data} == {
        overflow: (["toward_zero", "to_odd", "ties_to_even"], [60 + 5 * place, 61 + 5 * place, 80 + 5 * place])
        for place, overflow in enumerate(("none", "saturate", "propagate"))
    }


def test_the_table_of_rows(data, folder):
    rows = list(csv.DictReader(io.StringIO((folder / "report.csv").read_text())))
    assert len(rows) == len(data.rows)
    assert rows[0]["component"] == data.rows[0].component
    assert rows[0]["samples"] == " ".join(map(str, data.rows[0].samples))


def test_evidence_of_users_files_proves_only_these(tmp_path):
    """A user's file may be equal to our module's text, but was checked as another block; its words stay in a cell.

    The same holds for a record of another module with this hash.
    """
    row = made_up("mac", "gates", 100.0, format="hif8", accumulator="binary16", accumulator_bits=16)
    data = assemble([Outcome(JOB, tuple(row))], ["hif8"])
    name = data.rows[0].name
    ours = replace(checked(name, SWEPT, "every input", 1 << 16), hashes={"verilog": data.rows[0].verilog_sha256})
    words = {"source": "x|y\n\x1b[31m<script>", "place": "12345678"}
    for record, counts in (
        (ours, True),
        (replace(ours, module="multiplier_hif8"), False),
        (replace(ours, **words), False),
    ):
        render(replace(data, evidence=(record,)), tmp_path)
        text = (tmp_path / "report.md").read_text()
        assert f"{int(counts)} of the 1 module behind the figures of this report equal the reference model" in text
    assert r"x\|y \x1b\[31m&lt;script>" in text
    assert "31m&lt;script&gt;" in (tmp_path / "method.html").read_text()
    texts = (file.read_text() for file in tmp_path.rglob("*") if file.suffix in (".html", ".md", ".csv", ".json"))
    assert not any("\x1b" in text for text in texts)


HOSTILE = "x](http://a.b/c) ![i](http://a.b/d) <img src=y> `code` *b* | c\n# head\n[r]: http://a.b/e"


def test_a_users_words_are_shown_as_they_are(tmp_path):
    """In Markdown as in HTML: no link, picture, code, element or heading is made of what a file calls its tool."""
    rows = [
        replace(row, tool=HOSTILE, portfolio=HOSTILE, unit=HOSTILE)
        for name in ("hif8", "e5m3")
        for row in made_up("mac", "gates", 100, format=name, accumulator="binary16")
    ]
    render(with_sweeps(assemble([], []), [Sweep(tuple(rows), (Failure(HOSTILE, HOSTILE, HOSTILE),))]), tmp_path)
    text = (tmp_path / "report.md").read_text()
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    assert {token.type for token in inner} <= {"text", "strong_open", "strong_close", "text_special", "softbreak"}
    assert {token.type for token in tokens if "html" in token.type or "code" in token.type} == set()
    heads = [tokens[place + 1].content for place, token in enumerate(tokens) if token.type == "heading_open"]
    assert "head" not in " ".join(heads)
    shown = "".join(child.content for child in inner)
    assert " ".join(HOSTILE.split()) in shown
    for page in pages_of(tmp_path).values():
        assert "<img" not in page.lower()
        assert "http://a.b" not in "".join(re.findall(r'(?:src|href)="([^"]*)"', page))


def test_figures_of_another_tool_are_marked_and_not_compared():
    """In the table of MACs; no sentence and no bar says how they differ."""
    rows = [
        row if name != "ocp_e4m3" else replace(row, tool="another")
        for area, name in enumerate(("hif8", "e5m2b1", "ocp_e4m3"), 100)
        for row in made_up("mac", "gates", 10 * area, format=name, accumulator="binary16")
    ]
    content = Content(with_sweeps(assemble([], []), [Sweep(tuple(rows))]))
    (section,) = (section for section in content.sections if section.anchor == "mac")
    cells = {row[0].text: row[1].small for row in section.tables[0].rows}
    assert cells == {
        "hif8": "999 to 1,001 · smallest",
        "e5m2b1": "1,009 to 1,011 · +1%",
        "ocp_e4m3": "1,019 to 1,021 · by another",
    }
    assert section.findings == []
    assert [text.partition(" ")[2] for text in section.charts[0].data[0]["text"]] == ["", "+1%", ""]


def test_a_citation_names_the_version_and_the_commit_of_a_clone(tmp_path, monkeypatch):
    monkeypatch.setattr(data_module, "ROOT", tmp_path)
    assert assemble([], []).versions["minifloat-rtl"] == version("minifloat-rtl")
    words = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run([*words, *command], check=True)
    commit = subprocess.run([*words, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:12]
    cited = Content(assemble([], [])).cite("Title")
    assert f", minifloat-rtl {version('minifloat-rtl')}, commit {commit} (" in cited


def test_a_number_of_inputs_has_any_size():
    assert f"{10**1200:,} inputs evaluated" in method.sentence([checked("m", SWEPT, "every input", 10**1200)])


def test_a_report_of_little_data_is_a_report(tmp_path):
    row = made_up("mac", "gates", 100.0, format="hif8", accumulator="binary16", accumulator_bits=16)
    render(assemble([Outcome(JOB, tuple(row))], ["hif8"]), tmp_path)
    pages = pages_of(tmp_path)
    assert set(pages) == {"index", "area", "method"}
    assert re.findall('<section id="(.*?)">', pages["area"]) == ["mac"]
    assert re.findall('<section id="(.*?)">', pages["index"]) == ["how"]  # nothing to compare it with
    assert "1 format on 1 target, 1 figure: " in pages["index"]
    assert "No verdict of this version of the program is known, " in pages["index"]
    assert pages["area"].count("<figure ") == 1
    assert "<table" not in pages["area"]  # one row is no table
    assert '<dd data-value="100" title=' in pages["area"]


def test_files_are_never_half_written(tmp_path, monkeypatch):
    few = assemble([], ["hif8"])
    render(few, tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    before = read(tmp_path)

    def fail(*arguments):
        raise RuntimeError("no")

    monkeypatch.setattr(module, "pages", fail)
    with pytest.raises(RuntimeError, match="no"):
        render(replace(few, tool="another"), tmp_path)
    assert read(tmp_path) == before
    monkeypatch.undo()
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(RuntimeError, match="no"):
        render(replace(few, tool="another"), tmp_path)
    assert read(tmp_path) == before


def test_the_order_of_the_paper_is_a_claim_for_each_step(data):
    """A step of Table 2 is reproduced, contradicted, or undecided, and unknown without one of its formats."""

    def verdicts(**areas):
        rows = [row for name, area in areas.items() for row in made_up("multiplier", "gates", area, format=name)]
        chapter = papers.claims(Measured(rows, ["e5m3"]))
        table = {row[0].text.partition("here: ")[2]: row[1] for row in chapter.tables[0].rows}
        return [
            table[text].small.partition(" · ")[2] for text in table if " is no larger than " in text and "5m" in text
        ]

    assert verdicts(e5m3_nosub=20, e5m2b1=23, binary8p3=26, e5m3=31) == ["reproduced"] * 3
    assert verdicts(e5m3_nosub=26, e5m2b1=23, binary8p3=23, e5m3=31) == [
        "not reproduced",
        "undecided (medians within the claim)",
        "reproduced",
    ]
    assert verdicts(e5m3_nosub=20, e5m2b1=23) == ["reproduced"]  # a claim without figures has no row


def test_no_difference_where_spreads_overlap():
    assert compared(spread(10, 12), spread(12, 14)) == "no difference"
    assert compared(spread(13, 13), spread(10, 10)) == "+30%"
    assert compared(spread(1003, 1003), spread(1000, 1000)) == "+0.3%"  # a difference does not read as none
    assert compared(spread(997, 997), spread(1000, 1000)) == "-0.3%"
    assert ranged(spread(13, 15), spread(8, 10)) == "+56% (+30.0% to +87.5%)"
    assert ranged(spread(13, 15), spread(8, 10), "14 against 9") == "+56% (+30.0% to +87.5%; 14 against 9)"
    assert ranged(spread(9, 15), spread(8, 10), "12 against 9") == "no difference (12 against 9)"
    assert ranged(replace(spread(13, 15), samples=1), spread(8, 10), "14 against 9") == ""
    assert smallest_sentence({"a": spread(3, 5), "b": spread(1, 2), "c": spread(2, 3)}, "MAC", "X", "formats") == (
        "X, of 3 measured formats: b has the smallest MAC (1.5 ALM), no different from c."
    )
    assert smallest_sentence({"a": spread(4, 4), "b": spread(1, 2), "c": spread(2, 3)}, "MAC", "X", "formats") == (
        "X, of 3 measured formats: b has the smallest MAC (1.5 ALM), no different from c; a has the largest, +167% "
        "(+100.0% to +300.0%)."
    )
    assert smallest_sentence({"a": spread(3, 5)}, "MAC", "X", "formats") == ""  # the smallest of one


# -- one sample, and one format


def single(row):
    """A row as if it were measured under one renaming."""
    timing = row.timing and replace(row.timing, samples=row.timing.samples[:1])
    return replace(
        row, renamings=1, samples=(row.median,), min=row.median, max=row.median, medians=row.medians, timing=timing
    )


def without_studies(report, rows):
    """The report without what was measured before it, with these rows."""
    studies = dict.fromkeys(("dots", "energies", "references", "speeds", "study", "tiles", "accuracy"))
    return Content(replace(report, rows=tuple(rows), renamings=1, **studies))


def cells(content):
    return [cell for section in content.sections for table in section.tables for row in table.rows for cell in row]


def test_nothing_is_claimed_of_one_sample(data, tmp_path):
    """No answer, finding, caption, cell or line claims anything; the report says once why."""
    content = without_studies(data, map(single, data.rows))
    assert content.answers == []
    assert content.warnings == [ONE_SAMPLE]
    findings = {section.anchor: [finding.text for finding in section.findings] for section in content.sections}
    assert {anchor for anchor, texts in findings.items() if texts} == {"evidence", "method"}
    assert findings["method"] == [
        "No cell library was measured for this report; docs/sky130.json and docs/fast.md have MACs on sky130. hwgen "
        "report --liberty FILE adds one, with a column in every table."
    ]
    captions = {chart.caption for section in content.sections for chart in section.charts}
    assert captions == {""}
    claimed = re.compile("no difference|smallest|reproduced|undecided|verdict|%")
    assert [cell for cell in cells(content) if claimed.search(cell.small) or re.match(r"[+-]\d", cell.text)] == []
    areas = [cell for cell in cells(content) if cell.small.startswith("one sample")]
    assert len(areas) > 60
    bars = [text for section in content.sections for chart in section.charts for text in chart.data[0].get("text", [])]
    assert bars
    assert not any(re.search("[%≈]", text) for text in bars)
    titles = {section.anchor: [chart.title for chart in section.charts] for section in content.sections}
    assert not {"tradeoff", "speed"} & titles.keys()  # no fronts
    assert not any("compared with the smallest" in title for title in titles["mac"])
    claims = next(section for section in content.sections if section.anchor == "claims")
    assert {cell.text for row in claims.tables[0].rows for cell in row[1:]} == {"one sample"}
    render(content.report, tmp_path)
    assert (tmp_path / "index.html").read_text().count(ONE_SAMPLE) == 1


def test_one_figure_of_one_sample_silences_what_compares_it(data, content):
    """Other targets, and other blocks, are compared as before."""
    rows = [
        single(row) if (row.component, row.format, row.place) == ("mac", "hif8", "gates") else row for row in data.rows
    ]
    before, after = content, Content(replace(data, rows=tuple(rows)))
    texts = {
        content: {section.anchor: [finding.text for finding in section.findings] for section in content.sections}
        for content in (before, after)
    }
    assert texts[after]["mac"] == [text for text in texts[before]["mac"] if not text.startswith("Gates")]
    assert all(text.startswith("Gates") for text in texts[before]["tradeoff"])
    assert all(text.startswith("Cyclone V") for text in texts[after]["tradeoff"])
    assert texts[after]["parts"] == texts[before]["parts"]
    assert re.search(r"area of a MAC into binary16 \S+ \([^)]*\) on Gates, ", before.answers[0].text)
    assert re.search(r"area of a MAC into binary16 \S+ \([^)]*\) on Cyclone V, ", after.answers[0].text)
    assert (before.warnings, after.warnings) == ([], [ONE_SAMPLE])


def test_the_smallest_of_one_format_is_no_finding(data):
    rows = [row for row in data.rows if row.format == "hif8" and row.component in ("mac", "multiplier", "adder")]
    content = without_studies(replace(data, formats=("hif8",)), rows)
    texts = [finding.text for section in content.sections for finding in section.findings]
    assert not any("smallest" in text or "largest" in text for text in texts)


def test_own_formats_are_named_where_a_study_lacks_them(data):
    content = Content(replace(data, formats=("hif8", "mine")))
    for anchor in ("speed", "energy", "dots", "tiles", "training"):
        section = next(section for section in content.sections if section.anchor == anchor)
        assert any(finding.text.startswith("Not in this study: mine. ") for finding in section.findings), anchor


def test_studies_within_the_program_have_spreads():
    """Their chapters compare without asking for the number of samples."""
    studies = [
        load.speeds().rows,
        load.energies().rows,
        load.dots().rows,
        load.tiles().rows,
        load.study().rows.values(),
    ]
    assert all(row.renamings > 1 for rows in studies for row in rows)


def test_files_of_results_are_small():
    files = {*ROOT.glob("docs/*.json"), *ROOT.glob("synth/report/*.json")} - {*ROOT.glob("docs/*.schema.json")}
    assert len(files) == 10
    assert sum(file.stat().st_size for file in files) < 320_000


def test_numbers():
    numbers = {0: "0", 6.66: "6.66", 9.5: "9.5", 20.0: "20", 24.25: "24.2", 999.96: "1000", 1234.5: "1,234"}
    assert [number(value) for value in numbers] == list(numbers.values())


def test_options_are_compared_with_the_plain_block(content):
    (section,) = (section for section in content.sections if section.anchor == "options")
    options = {row[0].text: row for row in section.tables[0].rows}
    first, *_ = options
    assert [(cell.text, cell.small) for cell in options[first]] == [
        ("a port for a scale of 8 bits", "hif8 mac, scale-bits 8, against hif8 mac, binary16"),
        *[("165", "164 to 166 · +10%")] * 2,
    ]
    assert "status flags" not in options  # not measured here
    assert all(row.name != "mac_hif8_binary16_16_8" for row in content.measured.rows)
