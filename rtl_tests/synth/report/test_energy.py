"""The chapter on energy: sentences that follow from the study's file, with made-up results and with the real ones."""

import pytest

from golden.refusal import BadKind, BadValue
from hwgen.__main__ import main
from hwgen.datapath.goal import GOALS
from synth.area.recipes import PORTFOLIOS, SPEED
from synth.area.rows import Row
from synth.cli import report as commands
from synth.report import load
from synth.report.chapters import energy as chapter
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


def findings(rows, tool="yosys 0"):
    energies = Energies(tuple(map(Row.from_json, rows)), {})
    return [finding.text for finding in chapter.section(energies, [], tool).shown]


def test_formats_by_energy():
    texts = findings(study(hif8=3000, ocp_e5m2=1000))
    assert texts[0] == (
        "Gates: ocp_e5m2 has the smallest energy of a MAC into binary16 (1,000 C·V²); hif8 has the largest (+200%)."
    )
    macs = "Gates, 11 MACs into binary16 built for area, gaussian data"
    assert texts[1] == f"{macs}: glitches are 67% to 67% of their energy."
    assert texts[2] == f"{macs}: none needs less energy, beyond the spreads, than one whose median area is smaller."


def test_a_larger_format_that_needs_less_energy_is_named():
    data = study(ocp_e5m2=1000)
    for row in data:
        if row["name"] == "hif8_mac_binary16" and row["portfolio"] != SPEED:
            row["median_area"] = AREA - 1
        if row["name"] == "ocp_e5m2_mac_binary16" and row["portfolio"] != SPEED:
            row["median_area"] = AREA - 0.5
    assert findings(data)[2].endswith(": although their median areas are larger, ocp_e5m2 needs less energy than hif8.")


def test_rankings_respect_the_spreads():
    texts = findings(study(ocp_e5m2=1985))
    assert "no different from" in texts[0]
    assert ": ocp_e5m2 has the smallest energy" in texts[0]


def test_energy_within_a_delay():
    texts = findings(study(e5m2b1=1000))
    macs = "MACs of hif8, ocp_e4m3, ocp_e5m2, binary8p3, e5m2_nosub, e5m2b1 and e5m3 into binary16"
    assert texts[3] == (
        f"Gates, {macs}, built for area or for speed, within 60 FO4: e5m2b1 built for area has the lowest energy "
        "(2,000 C·V²), no different from e5m2b1 built for speed; hif8 built for area has the smallest median area "
        "(1,600 NAND2, at 4,000 C·V²)."
    )
    same = "Gates, MACs of 7 formats into binary16, built for area or for speed"
    assert any(text.startswith(f"{same}, within 162 FO4: e5m2b1 built for area has") for text in texts)
    assert "hif8 2.00 (60 against 160 FO4)" in texts[7]
    assert texts[8] == "MAC into binary16, Gates, hif8: neither needs less energy beyond the spreads."


def test_energy_of_both_architectures_against_delay():
    data = study()
    for row in data:
        if row["name"] == "hif8_mac_binary16_speed":
            row["median_delay_fo4"] -= 30
    assert (
        "MAC into binary16, Gates, hif8: below 60 FO4 only the one built for speed is fast enough (down to 30 FO4); "
        "from there on spreads overlap, or the order changes."
    ) in findings(data)


def test_data_and_options():
    texts = findings(study())
    where = "instead of gaussian data, in the same netlists, one set of numbers of each kind:"
    assert any(text.startswith(f"Gates, sparse {where} -50.3% to -49.8% for hif8, -50.3% to ") for text in texts)
    assert any(text.startswith(f"Gates, laplace {where} +0.0% to +0.0% for hif8, ") for text in texts)
    assert "Gates, energy of the hif8 encoder from binary32: +50% with hybrid instead of ties_to_away." in texts
    assert texts[-1] == (
        "Gates, energy of the ocp_e4m3 MAC: no difference with binary32 instead of binary16, no difference with exact "
        "instead of binary16, +100% with 1 rank of registers instead of none, +200% with 2 ranks of registers instead "
        "of none, +300% with 3 ranks of registers instead of none and +100% with its accumulator's register inside (a "
        "processing element)."
    )


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
    section = chapter.section(None, rows, "yosys 0")
    (table,) = section.tables
    assert len(table.rows) == len(rows)
    assert not section.shown
    assert {row[8].text for row in table.rows} == {"–", "60 FO4", "160 FO4"}
    assert chapter.section(None, [], "yosys 0") is None


def test_the_file_has_every_point_once():
    energies = load.energies()
    for point in Energies.labelled().values():
        names = [row.recipe for row in energies.curve(point)]
        assert names == list(PORTFOLIOS[SPEED]["cells"]) if point.portfolio == SPEED else len(names) == 1
    assert list(energies.source["points"]) == list(Energies.labelled())


def test_the_chapter_shows_the_file():
    energies = load.energies()
    section = chapter.section(energies, [], energies.tool)
    assert [len(table.rows) for table in section.tables[:2]] == [len(FORMATS), len(CURVES) * len(GOALS)]
    assert len(section.plots) == 3


@pytest.mark.parametrize(("words", "shown"), [([], True), (["--formats", "hif8"], False)])
def test_reports_that_do_not_select_formats_have_sections_from_files(words, shown, monkeypatch, tmp_path):
    monkeypatch.setattr(commands, "report_jobs", lambda *arguments: [])
    assert main(["report", *words, "-o", str(tmp_path), "--store", str(tmp_path / "store")]) == 0
    page = (tmp_path / "index.html").read_text()
    for name in ("dots", "energy", "speed"):
        assert (f'<section id="{name}">' in page) is shown
