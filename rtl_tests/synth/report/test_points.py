"""The points of Compare: which rows they are of, points within limits, and what is compared first."""

from dataclasses import replace

from rtl_tests.support.reported import chosen
from rtl_tests.synth.area.test_jobs import JOB
from rtl_tests.synth.report.test_report import made_up
from rtl_tests.synth.report.test_speed import timed_rows
from synth.area.figures import compared, ranged
from synth.area.runner import Outcome
from synth.report import load
from synth.report.chapters import speed
from synth.report.data import assemble
from synth.report.plan import P3109_PAIR, PAIR, PROJECTION_STUDY
from synth.report.points import AREA, DELAY, FASTEST, SHORTEST, as_json, points


def report(*rows):
    return assemble([Outcome(JOB, tuple(rows))], ["hif8"])


def table(*rows):
    return points(report(*rows))


def mac(name, **options):
    return made_up("mac", "gates", 100, format=name, accumulator="binary16", **options)


def test_only_plain_units_are_compared():
    others = [{"scale_bits": 8}, {"stages": 2}, {"flags": True}, {"format_b": "e5m3"}, {"zero": "positive"}]
    rows = [row for options in others for row in mac("e5m3", **options)]
    dots = [row for lanes in (4, 8) for row in made_up("dot", "gates", lanes, format="hif8", lanes=lanes)]
    known = [(point.choice, point.unit, point.value) for point in table(*mac("hif8"), *rows, *dots)]
    assert known == [("hif8", "mac", 100), ("hif8", "dot", 8)]


def test_the_last_point_within_a_limit_counts():
    """Of both architectures together; at any speed, areas are those of the portfolio standard."""
    curves = timed_rows("hif8", [(40, 100), (10, 200)]) + timed_rows("hif8", [(8, 240), (20, 150)], optimize="speed")
    known = table(*mac("hif8"), *curves)

    def within(limit, metric=AREA):
        point = chosen(known, "hif8", metric, limit=limit)
        return point and point.value

    assert [within(limit) for limit in (7.9, 8, 10, 19, 20, 39, 1000, None)] == [
        None,
        240,
        200,
        200,
        150,
        150,
        100,
        100,
    ]
    assert [within(limit, DELAY) for limit in (7.9, 8, 19, 1000, None)] == [None, 8, 10, 40, None]
    assert [within(None, metric) for metric in (SHORTEST, FASTEST)] == [8, 240]
    assert chosen(known, "e5m3", AREA) is None


def test_a_figure_within_a_limit_has_the_spread_of_the_page():
    """The interval of Compare is that of the chapter."""
    rows = [
        replace(row, timing=row.timing and replace(row.timing, samples=samples))
        for row, samples in zip(timed_rows("hif8", [(20, 200), (40, 100)]), ((19, 21), (38, 42), (19, 21)), strict=True)
    ]
    curve = speed.fronts(rows)["hif8"]
    for limit in (20, 21, 39, 40, 42):
        point, area = chosen(table(*rows), "hif8", AREA, limit=limit), speed.within(curve, limit).area
        assert (point.low, point.value, point.high) == (area.low, area.median, area.high)
    assert (point.soonest, point.latest) == (38, 42)


def test_encoders_are_compared_by_rounding():
    """With the format's own overflow, whatever was measured first; the figure names what else differs."""
    known = {"rounding": "stochastic", "random_bits": 16, "format": PROJECTION_STUDY}
    rows = made_up("encoder", "gates", 90, overflow="saturate", **known)
    rows += made_up("encoder", "gates", 95, overflow="none", **known)
    rows += made_up("encoder", "gates", 50, rounding="ties_to_away", overflow="infinity", format="hif8")
    found = {point.choice: point for point in table(*rows)}
    assert {name: (point.accumulator, point.value, point.note) for name, point in found.items()} == {
        PROJECTION_STUDY: ("stochastic, 16 random bits", 95, "overflow none"),
        "hif8": ("ties_to_away", 50, "overflow infinity"),
    }


def test_figures_of_training_and_recorded_ones_are_compared():
    study = load.study()
    (row,) = (row for row in study.rows.values() if row.format == PAIR and row.options["accumulator"] == "binary32")
    command = "hwgen area encoder --format ocp_e4m3 --from binary32 --rounding ties_to_even --target gates"
    other = "hwgen area encoder --format ocp_e5m2 --from binary32 --flags --target gates"
    recorded = [("a", "gates", command, 1, 2, 3), ("b", "gates", other, 1, 2, 3)]
    known = points(replace(report(), study=study, recorded=recorded))
    assert chosen(known, PAIR, AREA, accumulator="binary32").value == row.median
    point = chosen(known, "ocp_e4m3", AREA, "encoder", "ties_to_even")
    assert (point.low, point.value, point.high, point.command) == (1, 2, 3, command)
    assert [point.choice for point in known if point.unit == "encoder"] == ["ocp_e4m3"]
    rows = mac("hif8")
    recorded.append(("c", "gates", rows[0].command, 1, 2, 3))
    marks = replace(report(*rows), recorded=recorded[1:]).marks  # what this run has measured is not an earlier figure
    assert marks == {other: "earlier run"}


def test_an_energy_brings_the_area_of_its_netlist():
    """Its median, unless the area was measured with a spread."""
    energies = load.energies()
    rows = [row for row in energies.rows if row.name in ("hif8_mac_exact", "hif8_mac_binary32") and row.is_best]
    assert len(rows) == 2
    measured = made_up("mac", "gates", 100, format="hif8", accumulator="exact")
    for known, area, samples in ((measured, 100, 2), ([], rows[1].medians["area"], 1)):
        accumulator = "exact" if known else str(rows[1].options["accumulator"])
        found = chosen(points(replace(report(*known), energies=energies)), "hif8", AREA, accumulator=accumulator)
        assert (found.value, found.samples, found.of) == (area, samples, "NAND2")


def test_figures_of_two_tools_are_not_compared():
    """A figure, and each curve, is by one tool: that of the first row."""
    other = [replace(row, tool="another") for row in (*mac("e5m3"), *mac("hif8"))]
    known = table(*mac("hif8"), *other)
    first, second = (chosen(known, name, AREA).figure for name in ("hif8", "e5m3"))
    assert (first.tool, second.tool) == ("yosys 0", "another")
    assert compared(second, first) == ranged(second, first) == ""
    curves = timed_rows("hif8", [(40, 100)]) + timed_rows("hif8", [(10, 200)], tool="another")
    assert {point.delay for point in table(*curves) if point.delay} == {40}


def test_own_formats_are_compared_at_once():
    names = ["hif8", PAIR, P3109_PAIR, "e5m3", "one", "two", "three", "four"]
    rows = [row for name in names for row in mac(name)]
    assert as_json(table(*rows), names)["default"] == [PAIR, "hif8", P3109_PAIR, "one", "two", "three"]
    assert as_json(table(*mac("e5m3"), *mac("hif8")), ["e5m3", "hif8"])["default"] == ["hif8", "e5m3"]
    assert as_json(table(*mac("hif8")), ["hif8"])["default"] == ["hif8"]
