"""Targets and recipes: counted cells, and refusals."""

import re

import pytest

from golden.refusal import BadValue
from hwgen.tools.process import ToolError
from synth.area.liberty import GATES, parse, read
from synth.area.recipes import PORTFOLIOS, RECIPES, portfolio
from synth.area.targets import LIBERTY, TARGETS, alm_estimate, find


def test_alms_by_hand():
    # 3 functions of six inputs fill an ALM each. 4 of five inputs also do, and share them with 4 of the 7 small ones.
    # The other 3 and 6 of four inputs make 4.5 pairs; 10 bits of carry chain make 5.
    counts = {
        "MISTRAL_ALUT6": 3,
        "MISTRAL_ALUT5": 4,
        "MISTRAL_ALUT4": 6,
        "MISTRAL_ALUT3": 5,
        "MISTRAL_ALUT2": 2,
        "MISTRAL_ALUT_ARITH": 10,
        "MISTRAL_NOT": 9,
    }
    assert alm_estimate(counts) == 3 + 4 + 4.5 + 5


def test_small_functions_may_all_share_alms_with_large_ones():
    assert alm_estimate({"MISTRAL_ALUT5": 4, "MISTRAL_ALUT3": 3}) == 4
    assert alm_estimate({}) == 0


@pytest.mark.parametrize(
    ("target", "counts", "metrics"),
    [
        ("cyclonev", {"MISTRAL_ALUT3": 2, "MISTRAL_ALUT_ARITH": 4}, {"alm": 3.0, "alut": 6, "carry": 4}),
        (
            "xc7",
            {"LUT1": 1, "LUT6": 2, "CARRY4": 3, "MUXF7": 4, "MUXF8": 1, "INV": 9},
            {"lut": 3, "carry": 3, "mux": 5},
        ),
        ("ice40", {"SB_LUT4": 7, "SB_CARRY": 2}, {"lut": 7, "carry": 2}),
        ("ecp5", {"LUT4": 7, "CCU2C": 2, "PFUMX": 3, "L6MUX21": 1}, {"lut": 11, "carry": 2, "mux": 4}),
        ("gates", {"NAND2": 3, "$scopeinfo": 2}, {"area": 2.5, "cells": 3}),
    ],
)
def test_what_is_counted(target, counts, metrics):
    assert TARGETS[target].measure(counts, 2.5) == metrics
    assert next(iter(metrics)) == TARGETS[target].metric


def test_libraries_also_count_nand2_equivalents():
    doubled = parse(GATES.read_text().replace("area : 1;", "area : 2;"), "doubled.lib")
    assert find(LIBERTY, (doubled,)).measure({"NAND2": 3}, 6.0) == {"area": 6.0, "cells": 3, "nand2_equivalents": 3.0}


@pytest.mark.parametrize("odd", ["$_DFF_P_", "FOREIGN"])
@pytest.mark.parametrize("target", [TARGETS["gates"], find(LIBERTY, (read(GATES),))], ids=["gates", LIBERTY])
def test_no_cell_counts_as_nothing(target, odd):
    with pytest.raises(ToolError, match=rf"^the netlist has cells without an area in the library: {re.escape(odd)}$"):
        target.measure({"NAND2": 3, odd: 1}, 3.0)


@pytest.mark.parametrize(
    ("name", "with_library", "sentence"),
    [
        (
            "virtex",
            False,
            r"^target must be one of gates, cyclonev, xc7, ice40, ecp5, or liberty with a library, not 'virtex'$",
        ),
        (LIBERTY, False, r"^target liberty needs at least one library \(--liberty FILE\)$"),
        ("xc7", True, r"^libraries go with target liberty only, not with 'xc7'$"),
    ],
)
def test_refusals(name, with_library, sentence):
    with pytest.raises(BadValue, match=sentence):
        find(name, (read(GATES),) if with_library else ())


def test_portfolios_name_recipes():
    for name, kinds in PORTFOLIOS.items():
        for kind, recipes in kinds.items():
            assert recipes
            assert portfolio(name, kind) == {recipe: RECIPES[kind][recipe] for recipe in recipes}
    with pytest.raises(BadValue, match=r"^portfolio must be one of standard, stock, speed, full, not 'best'$"):
        portfolio("best", "lut")
