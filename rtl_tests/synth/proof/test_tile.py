"""Proofs of tiles, and faults in their wiring, skew, marks, banks and resets: all are found."""

import re
from dataclasses import replace

import pytest

from hwgen.tile.block import TILE
from rtl_tests.support.paths import ROOT
from rtl_tests.support.proofs import check
from rtl_tests.support.selection import only
from synth.cli.verify import Verdicts
from synth.proof.evidence import DIFFERENT, EQUAL, UNPROVED, EvidenceStore
from synth.proof.gates import NetlistError
from synth.proof.streams import Watcher
from synth.proof.tile import Model, is_renamed, verify_around, verify_tile
from synth.proof.verify import is_current

SUMS = {"accumulator": "exact", "terms": 4, "target": "e2m1", "readout_stages": 2}
SMALL = TILE.design("e2m1", rows=2, columns=2, **SUMS, name="little")
MORE = [
    (("hif8",), {"rows": 1, "columns": 1, "accumulator": "binary32"}),
    (("ocp_e4m3", "ocp_e5m2"), {"rows": 2, "columns": 3, "accumulator": "exact", "target": "binary32", "stages": 2}),
    (
        ("e2m1",),
        {
            "rows": 3,
            "columns": 2,
            "accumulator": "binary32",
            "lanes": 4,
            "block_scale": "e8m0",
            "readout_stages": 1,
        },
    ),
    (("ocp_e4m3+ocp_e5m2",), {"rows": 2, "columns": 2, "accumulator": "aligned25", "lanes": 2, "stages": 1}),
    (
        ("ocp_e4m3",),
        {
            "rows": 4,
            "columns": 4,
            "accumulator": "exact",
            "carry_save": True,
            "target": "ocp_e4m3",
            "readout_stages": 3,
        },
    ),
]
SCALED = {"lanes": 4, "block_scale": "e8m0"}
LARGE = [
    (
        (name,),
        {"rows": rows, "columns": columns, "accumulator": accumulator, **(SCALED if is_scaled else {})},
    )
    for rows, columns in ((1, 1), (2, 3), (4, 4), (8, 8))
    for name in ("hif8", "ocp_e4m3", "e5m2b1", "e2m1")
    for accumulator in ("exact", "binary32", "aligned25")
    for is_scaled in [name == "e2m1" and accumulator != "exact"]  # scaled products have no exact accumulator
]
ALL = [TILE.design(*formats, **options) for formats, options in (*MORE, *LARGE)]
PARTS = {part.name: part for design in ALL for part in design.own_parts}
"""Each is proved once, whatever the sizes of tiles."""

# What is wrong, the text of SMALL that is right, and the text in its place.
FAULTS = {
    "an element has another row's a": (".a(a_1[3:0]), .b(b_1[3:0])", ".a(a_0[3:0]), .b(b_1[3:0])"),
    "an element has its neighbour's b": (".b(b_1[7:4])", ".b(b_1[3:0])"),
    "a column has another one's accumulator": ("({W{row[0]}} & acc_0_0)", "({W{row[0]}} & acc_0_1)"),
    "results are swapped": ("{rounding_last[1], result_1, result_0}", "{rounding_last[1], result_0, result_1}"),
    "the readouts read one column": (".acc(column_1)", ".acc(column_0)"),
    "a is not delayed": ("a_1 <= a_0[7:4]", "a_1 <= a_tdata[7:4]"),
    "a has another element": ("a_1 <= a_0[7:4]", "a_1 <= a_0[3:0]"),
    "b is not delayed": ("b_1 <= b_0;", "b_1 <= b_tdata;"),
    "a row moves while others wait": ("if (step) begin", "if (1'b1) begin"),
    "b does not mark a product's last beat": ("last_0 = a_last | b_last", "last_0 = a_last"),
    "only both streams mark the last beat": ("last_0 = a_last | b_last", "last_0 = a_last & b_last"),
    "two products end at once": (" & ~(last_0 & last_1)", ""),
    "the first row is marked last": ("{rounding_last[0:0], row[1]}", "{rounding_last[0:0], row[0]}"),
    "an element is cleared while it waits": (".clear(enable_1 & first_1)", ".clear(first_1)"),
    "only the first product is cleared": ("if (enable_0) first_0 <= last_0", "if (enable_0) first_0 <= 1'b0"),
    "a product is cleared in its midst": ("if (enable_0) first_0 <= last_0", "first_0 <= last_0"),
    "a beat of a is overwritten": ("a_tready = ~a_full | enable_0", "a_tready = ~a_full | step"),
    "a is slower than it could be": ("a_tready = ~a_full | enable_0", "a_tready = ~a_full"),
    "a beat of a alone is used": ("step & a_full & b_full", "step & a_full"),
    "the queue gets a row too many": ("held_next != 3'd5", "held_next != 3'd6"),
    "the queue is not filled": ("held_next != 3'd5", "held_next != 3'd4"),
    "a row leaves the queue twice": ("used <= {1'b0, used[3:1]}", "used <= used"),
    "y changes while it waits": ("if (leaves | ~used[0]) queue_0", "if (rounding[1] | leaves | ~used[0]) queue_0"),
    "y is overwritten": ("if (leaves | ~used[0]) queue_0", "if (y_tready | ~used[1]) queue_0"),
    "a column is read a cycle early": ("wire due = ending;", "wire due = ends;"),
    "a row that waits is skipped": ("if (read) row", "if (due) row"),
    "a row that waits is lost": ("    if (waits) ending <= 1'b1;\n", ""),
    "a row waits for ever": ("wire waits = due & ~step;", "wire waits = due;"),
    "no row waits": ("wire waits = due & ~step;", "wire waits = 1'b0;"),
    "rows are read in another order": ("row <= 2'b1;", "row <= 2'b10;"),
    "a reset keeps a beat": ("      b_full <= 1'b0;\n", ""),
    "a reset keeps the midst of a product": ("      first_0 <= 1'b1;\n", ""),
    "a reset keeps the queue": ("      used <= 4'b0;\n", ""),
    "a reset keeps what is rounded": ("      rounding <= 2'b0;\n", ""),
    "a row is rounded a cycle early": ("{rounding[0:0], read}", "{rounding[0:0], ends}"),
    "a readout has no operand": (".in_valid(rounding[0])", ".in_valid(1'b0)"),
    "a readout has its operand a cycle early": (".in_valid(rounding[0])", ".in_valid(read)"),
    "a column is not taken": ("always @(posedge clk) column_1", "always @(posedge clk) if (used[0]) column_1"),
    "a reset keeps the row": ("      row <= 2'b1;\n", ""),
    "a reset keeps what ends": ("      ending <= 1'b0;\n", ""),
    "a reset keeps a row's beat": ("      valid_1 <= 1'b0;\n", ""),
    "an element is reset in the midst of a product": (
        "pe_1_1 (\n    .clk(clk), .rst(1'b0)",
        "pe_1_1 (\n    .clk(clk), .rst(b_tvalid)",
    ),
}
QUICK = 8


@pytest.fixture(scope="module")
def text():
    return SMALL.verilog()


def test_the_small_tile_is_proved(text):
    record = verify_around(SMALL, text)
    assert (record.verdict, record.cases) == (EQUAL, len(Watcher(SMALL).claims))
    assert is_current(record)
    assert not is_current(replace(record, prover="synth.proof.other"))


@pytest.mark.parametrize(
    "name",
    [
        name if number % (len(FAULTS) // QUICK) == 0 else pytest.param(name, marks=pytest.mark.exhaustive)
        for number, name in enumerate(FAULTS)
    ],
)
def test_a_fault_is_found(name, text):
    right, wrong = (each.replace("W", str(SMALL.core.exact.width)) for each in FAULTS[name])
    assert right in text
    record = verify_around(SMALL, text.replace(right, wrong, 1))
    # a slow queue gives the right results, and the induction fails without cycles that end in a wrong one
    assert record.verdict == DIFFERENT or (record.verdict == UNPROVED and "not filled" in name), record.method
    if record.verdict == DIFFERENT:
        assert re.search(r", \d+ cycles after a reset, with rst 0x", record.counterexamples[0]["sentence"])


def test_a_register_in_front_of_the_queue_is_proved():
    design = TILE.design("e2m1", rows=1, columns=2, accumulator="exact", terms=4, readout_stages=1)
    right, wrong = (f"always @(posedge clk) {when}column_1 <=" for when in ("", "if (used[0]) "))
    verilog = design.verilog()
    assert right in verilog
    verdicts = [verify_around(design, text).verdict for text in (verilog, verilog.replace(right, wrong))]
    assert verdicts == [EQUAL, DIFFERENT]


def test_other_parts_are_refused(text):
    with pytest.raises(NetlistError, match=r"^little does not have the parts of a tile: "):
        Model.of(SMALL, text.replace("little_pe pe_1_1", "little_pe pe_1_2"))


def test_another_part_is_no_renamed_one():
    own, part = SMALL.own_parts[0], SMALL.parts[0]
    assert is_renamed(own, part)
    assert not is_renamed(PARTS["e2m1_pe_exact"], part)


def test_a_part_that_is_not_proved_is_reported(tmp_path, monkeypatch):
    store = EvidenceStore(tmp_path)
    done = []
    *parts, own = verify_tile(SMALL, store, done.append)
    assert [part.verdict for part in parts] == [EQUAL] * len(SMALL.parts)
    assert own.verdict == EQUAL
    assert done == [*(part.name for part in SMALL.own_parts), SMALL.name]
    other = TILE.design("e2m1", rows=1, columns=2, **SUMS)
    *_, own = verify_tile(other, store, done.append)
    assert (own.verdict, done[-1]) == (EQUAL, other.name)
    assert len(done) == len(SMALL.parts) + 2  # the parts are the same, and are not proved again
    *parts, own = verify_tile(SMALL, EvidenceStore(tmp_path / "new"), done.append, is_known=lambda _: True)
    assert (parts, own.verdict) == ([], EQUAL)
    parts = [store.load(part.name) for part in SMALL.own_parts]
    broken = store.load(parts[0].name)
    broken.verdict, broken.counterexamples = DIFFERENT, [{"sentence": "wrong"}]
    store.save(broken)
    *_, own = verify_tile(SMALL, store, done.append)
    assert (own.verdict, own.method) == (UNPROVED, f"its part {parts[0].module} is not proved")


@pytest.mark.parametrize("design", only([ALL[1]], ALL), ids=lambda design: design.name)
def test_larger_tiles_are_proved(design):
    """All but the parts, which are proved below."""
    record = verify_around(design, design.verilog())
    assert record.verdict == EQUAL, record.method
    for own, part in zip(design.own_parts, design.parts, strict=True):
        assert own.name in PARTS
        assert is_renamed(own, part)


@pytest.mark.parametrize("name", only(["ocp_e4m3_pe_exact"], PARTS))
def test_parts_are_proved(name):
    """Those that are equal in the committed table are not proved again."""
    verdicts = Verdicts(str(ROOT / "docs" / "proofs.csv"), [])
    assert verdicts.has(PARTS[name]) or check(PARTS[name]).verdict == EQUAL
