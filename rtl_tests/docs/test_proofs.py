"""docs/proofs.csv: verdicts on today's modules. All that README and docs name, and some others, are compared."""

import re
from functools import cache

import pytest

from rtl_tests.support.blocks import texts
from rtl_tests.support.paths import ROOT
from rtl_tests.support.selection import in_turn
from synth.area.digest import sha256
from synth.proof.everything import designs
from synth.proof.evidence import DIFFERENT, EQUAL, read_verdicts

ROWS = read_verdicts(ROOT / "docs" / "proofs.csv")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WORDS = {word for page in PAGES for word in re.findall(r"\w+", page.read_text(encoding="utf-8"))}


@cache
def modules():
    return {design.name: design for design in designs()}


def hashes(names):
    """Digits of the SHA-256 of the Verilog that the program writes today."""
    return {name: sha256(text)[:12] for name, text in texts([modules()[name] for name in names]).items()}


def unproved(names, rows):
    """Modules without a row that says that today's Verilog is equal."""
    today = hashes(names)
    shown = {name: (row.verilog, row.verdict) for name, row in rows.items()}
    return {name for name, digits in today.items() if shown.get(name) != (digits, EQUAL)}


def test_modules_that_pages_name_are_proved():
    named = WORDS & modules().keys()
    assert len(named) >= 3
    assert not unproved(named, ROWS), "make exhaustive checks these modules again"


@pytest.mark.parametrize("change", [None, {"verilog": "0" * 12}, {"verdict": DIFFERENT}], ids=str)
def test_a_module_without_a_row_of_today_is_not_proved(change):
    name = min(WORDS & modules().keys())
    rows = {} if change is None else {name: ROWS[name]._replace(**change)}
    assert unproved([name], rows) == {name}


def sample():
    """A module of each block and goal."""
    kept = in_turn(lambda design: (design.kind, design.options.get("optimize")), modules().values())
    return [design.name for design in kept]


def test_rows_of_other_modules_are_counted(record_property):
    """A row of another module is no fault, as long as no page names it: the next whole run replaces it."""
    today = hashes(name for name in sample() if name in ROWS)
    stale = sum(ROWS[name].verilog != digits for name, digits in today.items())
    missing = len(modules().keys() - ROWS.keys())
    text = f"docs/proofs.csv: {stale} of {len(today)} sampled rows are of another Verilog than today's"
    record_property("summary", f"{text}; {missing} of {len(modules())} modules have no row")
    assert today


@pytest.mark.exhaustive
def test_every_module_has_an_equal_row():
    """``make exhaustive`` has compared their Verilog with today's, and written the rows, before it runs this test."""
    assert ROWS.keys() == modules().keys()
    assert {row.verdict for row in ROWS.values()} == {EQUAL}
