"""The cost of options: each block compared with the plain block, and a pair of formats with either format."""

import golden
from hwgen.blocks.catalog import build
from rtl_tests.synth.report.test_report import made_up
from synth.report import plan
from synth.report.chapters import blocks as extras
from synth.report.measured import Measured
from synth.report.plan import FORMATS, families

PAIR = "ocp_e4m3+ocp_e5m2"


def planned(formats, whole):
    """Modules and targets that a report measures."""
    known = {name: golden.get(name) for name in formats}
    points = (point for family in families(known, whole=whole) for point in family.expand(known))
    return {(point.design.name, point.target) for point in points}


def test_a_pair_beside_either_format_alone():
    rows = []
    for target in (*plan.EXTRA_TARGETS, "xc7"):
        for name, area in (("ocp_e4m3", 100), (PAIR, 120), ("ocp_e5m2", 119)):
            rows += made_up("mac", target, area, format=name, accumulator="binary16")
    section = extras.options(Measured(rows, ["ocp_e4m3", "ocp_e5m2"]))
    (table,) = section.tables
    compared = [[(cell.text, cell.small.rpartition(" · ")[2]) for cell in row[1:]] for row in table.rows]
    assert compared == [[("120", "+20%")] * 2, [("120", "no difference")] * 2]
    assert [row[0].text for row in table.rows] == [
        "ocp_e5m2 as a second format, selected by a pin per operand",
        "ocp_e4m3 as a second format, selected by a pin per operand",
    ]
    assert [row[0].small for row in table.rows] == [
        f"{PAIR} mac, against ocp_e4m3 mac, binary16",
        f"{PAIR} mac, against ocp_e5m2 mac, binary16",
    ]


def test_options_that_plain_blocks_lack():
    assert {"scale_bits", "flags", "lanes", "stages", "interleave", "rounding_pin", "nan_to_zero"} <= plan.OPTIONAL
    plain = {"format", "format_b", "from", "to", "rounding", "overflow", "accumulator", "terms"}
    assert plan.OPTIONAL.isdisjoint(plain)


def test_what_is_compared():
    assert [extra.sides for extra in plan.EXTRAS[:2]] == [
        "hif8 mac, scale-bits 8, against hif8 mac, binary16",
        "hif8 encoder, rounding-pin True, against hif8 encoder, hybrid",
    ]


def test_a_pair_adds_a_job_per_target_unless_the_claims_have_it(monkeypatch):
    both = ["ocp_e4m3", "ocp_e5m2"]
    few, default = planned(both, False), planned(FORMATS, True)
    monkeypatch.setattr(plan, "EXTRAS", [extra for extra in plan.EXTRAS if extra.block.format != PAIR])
    assert few - planned(both, False) == {(build("mac", PAIR).name, target) for target in plan.EXTRA_TARGETS}
    assert default == planned(FORMATS, True)  # which have the pair


def test_without_measurements_there_is_no_section():
    rows = made_up("mac", "gates", 100, format="ocp_e4m3", accumulator="binary16")
    assert extras.options(Measured(rows, ["ocp_e4m3"])) is None
