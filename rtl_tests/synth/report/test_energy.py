"""The chapter on energy: sentences that follow from the study's file, with made-up results and with the real ones."""

from dataclasses import replace

import pytest

from golden.refusal import BadKind, BadValue
from hwgen.__main__ import main
from synth.area.recipes import PORTFOLIOS, SPEED
from synth.area.rows import Row
from synth.cli import report as commands
from synth.report import load
from synth.report.chapters import energy as chapter
from synth.report.content import Content
from synth.report.data import assemble
from synth.report.plan import FORMATS
from synth.studies.energies import CURVES, Energies

AREA = 800.0


def line(point, energy, recipe="amap", best=True, area=AREA, delay=60.0):
    """A row of the file; spreads are 10 to both sides, and two thirds of an energy are glitches."""
    design = point.design
    row = {
        "component": design.kind,
        **{name.replace("-", "_"): value for name, value in design.options.items()},
        "accumulator_bits": 16,
        "target": "gates",
        "recipe": "best" if best else recipe,
        "metric": "energy",
        "min": energy - 10,
        "median": energy,
        "max": energy + 10,
        "samples": [energy - 10, energy, energy + 10],
        "unit": "C·V²",
        "tool": "yosys 0",
        "portfolio": point.portfolio,
        "renamings": 3,
        "seed": 1,
        "name": design.name,
        "command": f"hwgen energy {design.command()}",
        "verilog_sha256": "0",
        "script_sha256": "0",
        "unit_text": "a unit",
        "data": point.data,
        "simulator": "compiled",
        "operations": 2000,
        "median_area": area,
        "median_glitch_free": energy / 3,
        "median_clock": 7.0,
    }
    if design.kind == "encoder":
        del row["accumulator_bits"]
    if best:
        row["best_recipe"] = recipe
    return row | ({"median_delay_fo4": delay} if point.portfolio == SPEED else {})


def study(**energies):
    """Rows: energies by format, by default 2000; curves have a fast and a slow point."""
    rows = []
    for point in Energies.labelled().values():
        energy = energies.get(str(point.design.options["format"]), 2000)
        if point.portfolio == SPEED:
            rows.append(line(point, energy * 2, "depth_map", False, 1600.0, 60.0))
            rows.append(line(point, energy, "amap", False, 800.0, 160.0))
            rows.append(line(point, energy * 3, "shallow_map", False, 1000.0, 160.0))
        elif point.design.kind == "encoder":
            rows.append(line(point, 120 if "hybrid" in point.design.name else 80, area=80.0))
        else:
            scale = {"sparse": 0.5, "laplace": 1.0}.get(point.data, 1.0)
            rows.append(line(point, energy * scale * (1 + point.design.latency)))
    return rows


def chapter_of(energies=None, rows=(), tool="yosys 0"):
    """The chapter of a report with these energies, of the study and its own, and areas by this tool."""
    content = Content(replace(assemble([], []), rows=tuple(rows), tool=tool, energies=energies))
    return chapter.section(content.report, content.measured)


def section(rows, tool="yosys 0"):
    return chapter_of(Energies(tuple(map(Row.from_json, rows)), {}), tool=tool)


def findings(rows, tool="yosys 0"):
    return [finding.text for finding in section(rows, tool).findings]


def table(rows, caption):
    """The rows of a table, each as the text and the second line of its cells by their head."""
    (found,) = (table for table in section(rows).tables if table.caption.startswith(caption))
    lines = (
        {head: (cell.text, cell.small) for head, cell in zip(found.columns, row, strict=True)} for row in found.rows
    )
    return {next(iter(line.values()))[0]: line for line in lines}


def test_formats_by_energy():
    data = study(hif8=3000, ocp_e5m2=1000)
    assert findings(data)[0] == (
        "Gates, of 9 measured formats and pairs of 8 bits: ocp_e5m2 has the smallest energy of a MAC into binary16 "
        "(1,000 C·V²); hif8 has the largest, +200% (+196.0% to +204.0%)."
    )
    (chart,) = (chart for chart in section(data).charts if chart.title == "MAC into binary16, energy by format")
    shown = {trace["name"]: dict(zip(trace["y"], trace["x"], strict=True)) for trace in chart.data}
    assert set(shown["energy"]) == set(shown["without glitches"]) == set(FORMATS)
    assert (shown["energy"]["hif8"], shown["without glitches"]["hif8"]) == (3000, 1000)


def test_rankings_respect_the_spreads():
    texts = findings(study(ocp_e5m2=1985))
    assert "no different from" in texts[0]
    assert ": ocp_e5m2 has the smallest energy" in texts[0]


def test_energy_within_a_delay():
    data = study(e5m2b1=1000)
    assert findings(data)[1] == (
        "Gates, within 60 FO4, which all of them reach, of 8 measured formats and pairs: e5m2b1 has the smallest "
        "energy of a MAC into binary16 (2,000 C·V²)."  # none is the largest
    )
    (chart,) = (chart for chart in section(data).charts if chart.title.startswith("MAC into binary16: energy against"))
    (curve,) = (trace for trace in chart.data if trace["name"] == "e5m2b1")
    assert (curve["x"], curve["y"]) == ([60, 160], [2000, 1000])


def test_data_and_options():
    (chart,) = (chart for chart in section(study()).charts if chart.title == "MAC into binary16, energy by data")
    by_data = {trace["name"]: dict(zip(trace["y"], trace["x"], strict=True)) for trace in chart.data}
    assert {kind: energies["hif8"] for kind, energies in by_data.items() if kind in ("sparse", "laplace")} == {
        "sparse": 1000,
        "laplace": 2000,
    }
    changes = {name: row["change of energy"][0] for name, row in table(study(), "What options cost").items()}
    assert changes["hif8 encoder from binary32, hybrid instead of ties_to_away"] == "+50%"
    assert list(changes.items())[-6:] == [
        ("ocp_e4m3 MAC, binary32 instead of binary16", "no difference"),
        ("ocp_e4m3 MAC, exact instead of binary16", "no difference"),
        ("ocp_e4m3 MAC, 1 rank of registers instead of none", "+100%"),
        ("ocp_e4m3 MAC, 2 ranks of registers instead of none", "+200%"),
        ("ocp_e4m3 MAC, 3 ranks of registers instead of none", "+300%"),
        ("ocp_e4m3 MAC, its accumulator's register inside (a processing element)", "+100%"),
    ]


def test_figures_of_another_tool_are_not_compared():
    old, new = findings(study()), findings(study(), "yosys 1")
    assert new[0].startswith(
        "The energies of this section are by yosys 0, other figures by yosys 1: do not compare them."
    )
    assert new[1:] == old


def test_a_file_of_something_else_is_refused():
    content = dict(load.energies().source)
    for change in ({"points": None}, {"columns": ["samples"]}, {"constants": content["constants"] | {"metric": ""}}):
        with pytest.raises((BadValue, BadKind, ValueError)):
            Energies.from_json(content | change)


def test_an_area_is_no_energy():
    content = dict(load.energies().source)
    content["constants"] |= {"metric": "area"}
    content["points"] = {"hif8_mac_binary16": content["points"]["hif8_mac_binary16"]}
    with pytest.raises(BadValue, match=r"^metric must be that of an energy, not 'area'$"):
        Energies.from_json(content)


def test_energies_of_a_sweep_have_a_table():
    rows = [*map(Row.from_json, study())]
    section = chapter_of(rows=rows)
    (table,) = section.tables
    assert len(table.rows) == len(rows)
    assert not section.findings
    assert {row[8].text for row in table.rows} == {"–", "60 FO4", "160 FO4"}
    assert chapter_of() is None


def test_the_file_has_every_point_once():
    energies = load.energies()
    for point in Energies.labelled().values():
        names = [row.recipe for row in energies.curve(point)]
        assert names == list(PORTFOLIOS[SPEED]["cells"]) if point.portfolio == SPEED else len(names) == 1
    assert list(energies.source["points"]) == list(Energies.labelled())


def test_the_chapter_shows_the_file():
    energies = load.energies()
    section = chapter_of(energies, tool=energies.tool)
    (chart,) = (chart for chart in section.charts if "energy against delay" in chart.title)
    assert {trace["name"] for trace in chart.data[1:]} == {*CURVES}
    assert len(section.charts) == 4


@pytest.mark.parametrize("words", [[], ["--formats", "hif8"]])
def test_every_report_that_measures_has_chapters_from_files(words, monkeypatch, tmp_path):
    monkeypatch.setattr(commands, "report_jobs", lambda *arguments: [])
    assert main(["report", *words, "-o", str(tmp_path), "--store", str(tmp_path / "store")]) == 0
    for name in ("dots", "energy", "speed", "training"):
        assert f'<section id="{name}">' in (tmp_path / f"{name}.html").read_text()
    assert "Not in this study" in (tmp_path / "dots.html").read_text() or words
