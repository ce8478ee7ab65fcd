"""Area against delay, and the papers' claims: fronts, sentences and verdicts."""

from dataclasses import replace

import pytest

from golden.refusal import BadKind
from rtl_tests.synth.area.test_jobs import JOB
from synth.area.figures import Figure, ratio
from synth.area.rows import Row
from synth.area.runner import Outcome
from synth.report import load
from synth.report.chapters import papers, speed
from synth.report.chapters.papers import verdict
from synth.report.chapters.speed import Point, at, front
from synth.report.content import Content
from synth.report.data import Failure, Sweep, assemble, with_sweeps
from synth.report.measured import Measured
from synth.report.plan import CLAIMS, PAIR
from synth.report.training.claims import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from synth.report.write import render
from synth.studies.speeds import BLOCKS, FORMATS, OTHERS, Speeds


def point(delay, area, spread=1.0):
    return Point(Figure(delay, delay, delay), Figure(area - spread, area, area + spread, "NAND2"))


def timed_rows(name, points, target="gates", **options):
    block = {"component": "mac", "format": name, "accumulator": "binary16", "accumulator_bits": 16}
    place = {"target": target, "metric": "area", "unit": "NAND2", "tool": "t", "portfolio": "speed"}
    samples = {"renamings": 2, "seed": 1, "command": "hwgen area", "delay": "delay_fo4", "timer": "abc, before layout"}
    hashes = {"name": f"{name}_mac", "verilog_sha256": name, "script_sha256": target}
    base = block | place | samples | hashes | options
    rows = [
        {
            **base,
            "recipe": f"r{i}",
            "min": area - 1,
            "median": area,
            "max": area + 1,
            "samples": [area - 1, area + 1],
            "delay_samples": [d, d],
        }
        for i, (d, area) in enumerate(points)
    ]
    if base["portfolio"] != "speed":
        rows = [
            {key: value for key, value in row.items() if key not in ("delay", "timer", "delay_samples")} for row in rows
        ]
    return [*map(Row.from_json, rows), Row.from_json(rows[0]).best()]


def test_no_point_beats_the_front_in_both():
    a, b, c, d, e = point(1, 10), point(2, 8), point(2, 9), point(3, 8), point(4, 5)
    assert front([d, e, c, b, a]) == [a, b, e]
    assert front([]) == []
    assert at([a, b, e], 3.9) == b
    assert at([a, b, e], 0.9) is None


def test_the_cheapest_at_each_speed():
    rows = (
        timed_rows("slim", [(40, 100), (10, 200)])
        + timed_rows("fast", [(40, 150), (8, 180)])
        + timed_rows("alike", [(40, 101), (9, 300)])
    )
    curves = speed.fronts(rows)
    smallest = "fast has the smallest area (180 NAND2); alike has the largest, +67% (+65.2% to +68.2%)"
    reached = "FO4, which all of them reach, of 3 measured formats"
    assert speed.headline(curves, "area", "X", "FO4", "formats") == f"X, within 10 {reached}: {smallest}."
    slow = {name: [point for point in curve if point.delay > 30] for name, curve in curves.items()}
    assert speed.headline(slow, "area", "X", "FO4", "formats") == (
        f"X, within 40 {reached}: slim has the smallest area (100 NAND2), no different from alike; fast has the "
        "largest, +50% (+47.5% to +52.5%)."
    )
    assert speed.headline({"slim": curves["slim"]}, "area", "X", "FO4", "formats") == ""  # the smallest of one


def spread_point(low, delay, high, area):
    return Point(Figure(low, delay, high), Figure(area - 1, area, area + 1, "NAND2"))


def test_an_area_within_a_limit_has_the_spread_of_all_points_that_may_be_it():
    """One may be slower than its median, and the next one as fast as the limit; the median's point is the figure."""
    fast, middle, slow = curve = [
        spread_point(9, 10, 11, 300),
        spread_point(19, 20, 22, 200),
        spread_point(21, 24, 25, 90),
    ]
    for limit, area, low, high in (
        (10, 300, 299, 301),  # the first one, or none
        (15, 300, 299, 301),
        (20, 200, 199, 301),
        (21, 200, 89, 301),
        (22, 200, 89, 201),
        (24, 90, 89, 201),
        (25, 90, 89, 91),
    ):
        value = speed.within(curve, limit).area
        assert (value.median, value.low, value.high) == (area, low, high), limit
    assert speed.within(curve, 9.9) is None
    assert [at(curve, limit) for limit in (10, 20, 24)] == [fast, middle, slow]


def test_ratios_are_stated_at_fixed_limits():
    """At limits that are the same for all formats, and not where a ratio is largest."""
    rows = timed_rows("hif8", [(10, 300), (39, 150), (90, 100)]) + timed_rows(PAIR, [(12, 200), (25, 190), (80.3, 90)])
    (text,) = (each.text for each in chapter_of(rows).findings if each.subject == speed.LIMITS)
    assert text == (
        f"Gates, area of a MAC into binary16: hif8 against {PAIR} +50% (+48.8% to +51.3%) within 20 FO4, -21% "
        "(-22.0% to -20.1%) within 40 FO4 and -21% (-22.0% to -20.1%) within 80 FO4."
    )
    (text,) = (
        each.text
        for each in chapter_of(timed_rows("hif8", [(4, 300)]) + timed_rows(PAIR, [(5, 300)])).findings
        if each.subject == speed.LIMITS
    )
    assert text.endswith(f"hif8 against {PAIR} no difference (-0.7% to +0.7%) within 5 FO4.")


def test_a_section_of_curves(tmp_path):
    rows = timed_rows("hif8", [(40, 100), (10, 200)]) + timed_rows("e5m2b1", [(30, 90)])
    rows += timed_rows("e5m3", [(30, 80)])  # its codes have nine bits
    report = with_sweeps(assemble([], []), [Sweep(tuple(rows), (Failure("n", "t", "e"),))])
    assert report.formats == ("hif8", "e5m2b1", "e5m3")
    render(report, tmp_path)
    page = (tmp_path / "speed.html").read_text()
    assert '<section id="speed">' in page
    smallest = "e5m2b1 has the smallest area (90 NAND2); hif8 has the largest, +122% ("
    where = "within 30 FO4, which all of them reach, of 2 measured formats and pairs of 8 bits"
    assert f"MAC into binary16, Gates, {where}: {smallest}" in page
    assert not (tmp_path / "area.html").exists()  # areas of sized cells are not comparable with the other areas


def test_at_a_limit_the_smaller_of_both_builds_counts():
    """In the chart, in its caption, and in the table; a block of one goal names it."""
    rows = timed_rows("hif8", [(40, 100), (20, 300)]) + timed_rows("hif8", [(20, 150), (10, 170)], optimize="speed")
    rows += timed_rows("e5m3", [(40, 110), (20, 160)]) + timed_rows("e5m3", [(20, 210)], optimize="speed")
    rows += timed_rows("e5m2b1", [(40, 90), (20, 140)])
    (chart,), (table,) = (chapter := chapter_of(rows)).charts, chapter.tables
    assert chart.title == "Area against delay: MAC into binary16, built for area or for speed, Gates"
    assert {trace["name"]: trace["y"] for trace in chart.data[1:]} == {
        "hif8": [170, 150, 100],
        "e5m3": [160, 110],
        "e5m2b1": [140, 90],
    }
    assert "of 2 measured formats and pairs of 8 bits: e5m2b1 has the smallest area (140 NAND2); hif8" in chart.caption
    assert {row[0].text.partition(",")[0]: (row[1].text, row[2].text) for row in table.rows} == {
        "hif8": ("170 NAND2 at 10 FO4", "100 NAND2 at 40 FO4"),
        "e5m3": ("160 NAND2 at 20 FO4", "110 NAND2 at 40 FO4"),
        "e5m2b1": ("140 NAND2 at 20 FO4", "90 NAND2 at 40 FO4"),
    }
    (chart,) = chapter_of([row for row in rows if "optimize" in row.options]).charts
    assert chart.title == "Area against delay: MAC into binary16, built for speed, Gates"


def chapter_of(rows=(), tool="t", speeds=None):
    """The chapter of a report with these rows, and areas by this tool."""
    content = Content(replace(assemble([], []), rows=tuple(rows), tool=tool, speeds=speeds))
    return speed.section(content.report, content.measured)


def test_the_section_shows_the_file():
    speeds = load.speeds()
    section = chapter_of(tool=speeds.tool, speeds=speeds)
    assert {row.component for row in speeds.rows} == {"mac", *(block for block, _, _ in BLOCKS)}
    (table,) = section.tables
    groups = [speed.fronts(rows) for rows in speed.groups(speeds.rows).values()]
    several = [len(curves) for curves in groups if len(curves) > 1]
    assert len(groups) >= 1 + len(OTHERS) + 3
    assert len(table.rows) == sum(map(len, groups))
    assert len(section.charts) == len(several) + 1  # of hif8 against the pair over all limits
    assert several[0] == len({row.format for row in speeds.rows} & {*FORMATS})
    text = f"The figures on our own gates are by {speeds.tool}, other figures by yosys 1: do not compare them."
    warned = chapter_of(tool="yosys 1", speeds=speeds)
    assert warned.findings[0].text.startswith(text)
    assert warned.findings[1:] == section.findings


def test_an_area_without_a_delay_is_refused():
    content = dict(load.speeds().source)
    content["constants"] = {key: value for key, value in content["constants"].items() if key != "delay"}
    with pytest.raises(BadKind, match=r"^delay must be one of delay_fo4, delay_ps, not None$"):
        Speeds.from_json(content)


def test_rows_of_a_sweep_are_not_repeated():
    rows = timed_rows("hif8", [(40, 100)])
    report = assemble([Outcome(JOB, tuple(rows))], ["hif8"])
    assert with_sweeps(report, [Sweep(tuple(rows))]).rows == tuple(rows)
    assert with_sweeps(report, []) is report


def test_verdicts():
    def judged(low, median, high):
        return verdict(1.05, Figure(low, median, high), Figure.exact(100))

    assert judged(101, 102, 104) == REPRODUCED
    assert judged(106, 107, 108) == NOT_REPRODUCED
    assert judged(90, 95, 99) == REPRODUCED  # smaller than claimed
    assert judged(103, 104, 106) == f"{UNDECIDED} (medians within the claim)"
    assert judged(104, 106, 107) == f"{UNDECIDED} (medians outside the claim)"
    assert ratio(Figure(90, 100, 110), Figure(50, 60, 100)) == (0.9, 100 / 60, 2.2)


def claims_on_ice40(areas):
    """The chapter on these areas, by part and format."""
    place = {"target": "ice40", "unit": "LUT4", "portfolio": "standard"}
    rows = []
    for (part, name), area in areas.items():
        options = next(claim.block.options for claim in CLAIMS if claim.block.kind == part)
        rows.append(timed_rows(name, [(1, area)], component=part, **place, **options)[-1])
    return papers.claims(Measured(rows, []))


def judged(section):
    """The cells of the chapter's table that have a verdict."""
    return [cell for row in section.tables[0].rows for cell in row[1:] if cell.text != "–"]


def test_saving_more_than_claimed_is_no_refutation():
    """The claim of 25% to 40% holds for 40.4%, and the page shows the digit that decides."""
    section = claims_on_ice40({("multiplier", "binary8p3"): 470, ("multiplier", "e5m2_nosub"): 280})
    assert len(judged(section)) == 1
    (row,) = [row for row in section.tables[0].rows if row[1].text != "–"]
    assert row[0].text == (
        "The multiplier of an 8-bit fused MAC is 25% to 40% smaller without subnormal inputs (Supernormals paper, "
        "section 1, citing [6]). Checked here: at least 25%, with E5M2."
    )
    assert (row[1].text, row[1].small) == ("-40.4%", "-40.8% to -40.1% · reproduced")
    section = claims_on_ice40({("multiplier", "binary8p3"): 470, ("multiplier", "e5m2_nosub"): 358})
    assert [cell.text for cell in judged(section)] == ["-23.8%"]
    assert judged(section)[0].small.endswith(" · not reproduced")


def test_ibms_claim_is_read_in_both_ways():
    """As pins on both operands, and as FP9, which the HiFloat8 paper says is the hardware; each has its verdict."""
    section = claims_on_ice40(
        {("mac", "ibm_1_5_2"): 1000, ("mac", "ibm_1_4_3+ibm_1_5_2"): 1180, ("mac", "ibm_fp9_1_5_3"): 1047}
    )
    assert [(cell.text, cell.small.rpartition(" · ")[2]) for cell in judged(section)] == [
        ("+18.0%", "not reproduced"),
        ("+4.7%", "reproduced"),
    ]
    pins, fp9 = (row[0].text for row in section.tables[0].rows[:2])
    claim = (
        "FPUs for both formats are only 5% larger than those for 1-5-2 alone (Hybrid 8-bit Floating Point paper, "
        "section 2.2). Checked here: "
    )
    assert pins == f"{claim}a pin for each operand selects its format."
    assert fp9 == (
        f"{claim}FP9, as the HiFloat8 paper (section 1) calls their hardware: operands of 1-5-3 hold both formats."
    )


def test_no_speed_is_claimed_of_one_sample():
    """Neither sentences nor the line of the best formats; tables say that there is one sample."""
    rows = [
        replace(
            row,
            renamings=1,
            samples=row.samples[:1],
            timing=row.timing and replace(row.timing, samples=row.timing.samples[:1]),
        )
        for goal, areas in (("area", (100, 80)), ("speed", (90, 85)))
        for name in ("hif8", "ocp_e4m3")
        for row in timed_rows(name, [(10, areas[0]), (20, areas[1])], optimize=goal)
    ]
    chapter = chapter_of(rows)
    assert chapter.findings == []
    assert chapter.charts == []
    assert (chapter.tables[0].rows[0][1].text, chapter.tables[0].rows[0][1].small) == (
        "90 NAND2 at 10 FO4",
        "one sample",
    )


def test_every_claim_is_judged_on_every_target():
    rows, steps = [], {"e5m2b1": 80, "binary8p3": 100, "e5m3": 130}
    for target in ("gates", "xc7"):
        for claim in CLAIMS:
            for (kind, name, options), area in ((claim.base, 100), (claim.block, 70)):
                curve = [(1, steps.get(name, area))]
                row = timed_rows(name, curve, target, component=kind, portfolio="standard", **options)[-1]
                rows.append(row)
    section = papers.claims(Measured(rows, []))
    assert len(judged(section)) == 2 * len(CLAIMS)
    assert all(cell.small.endswith(f" · {REPRODUCED}") for cell in judged(section))
    assert papers.claims(Measured([], [])) is None


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.block.kind}-{claim.block.format}")
def test_claims_are_of_blocks_that_exist(claim):
    from hwgen.blocks.catalog import build

    for kind, name, options in (claim.base, claim.block):
        assert build(kind, name, **options).formats[0].name == name
