"""``make test`` has a case of each kind, and a run of the exhaustive tests resumes."""

import os
import re
import shutil
import subprocess
import sys

import golden
from rtl_tests.hwgen.test_readability import DESIGNS
from rtl_tests.support.paths import ROOT
from rtl_tests.support.selection import in_turn, kind_of_format, kind_of_module, one_of_each


def kept(kind, cases):
    """The cases that ``make test`` has, and the others, as tuples of values."""
    chosen = one_of_each(kind, cases)
    later = [case.values for case in chosen if hasattr(case, "marks")]
    return [case for case in chosen if not hasattr(case, "marks")], later


def test_the_first_case_of_each_kind_is_kept():
    assert kept(lambda word: word[0], ["add", "sub", "and", "shift"]) == (["add", "sub"], [("and",), ("shift",)])
    assert kept(lambda left, right: left + right, [(1, 2), (2, 1), (2, 2)]) == ([(1, 2), (2, 2)], [(2, 1)])


def test_cases_in_turn_differ_in_other_ways_too():
    assert in_turn(lambda word: word[0], ["add", "sub", "and", "shift", "xor", "xnor"]) == ["add", "shift", "xor"]
    assert in_turn(len, ["a", "b", "cd", "ef", "ghi", "jkl", "mno"]) == ["a", "ef", "mno"]


def test_formats_differ_in_kind_if_their_circuits_do():
    floats = {"hif8", "binary8p3", "e5m2_nosub", "e5m2b1", "ieee_e3m4", "e8m0", "ue4m3"}
    complements = {"gc_1_0_7_b0", "int4", "posit8_0", "posit8_2"}  # long and short fractions, fixed and tapered
    assert {*kept(kind_of_format, golden.names())[0]} == floats | complements
    assert kind_of_format("hif8+binary8p3") != kind_of_format("binary8p3+hif8")


def test_modules_built_for_speed_are_kept_with_every_kind_of_format():
    modules, later = kept(kind_of_module, DESIGNS)
    fast = {(block, name) for block, name, options in modules if options.get("optimize") == "speed"}
    assert {("mac", "hif8"), ("mac", "hif8+binary8p3"), ("pe", "hif8"), ("mac", "gc_1_0_7_b0")} <= fast
    assert len(modules) + len(later) == len(DESIGNS)
    assert {kind_of_module(*module) for module in modules} == {kind_of_module(*design) for design in DESIGNS}


def test_exhaustive_tests_that_passed_run_again_after_a_change_alone(tmp_path):
    """A copy of the plugin, with tests of its own, remembers those until all have passed."""
    for package in ("golden", "hwgen", "synth", "rtl_tests/support"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "test_*"))
    for file in ("pyproject.toml", "rtl_tests/__init__.py", "rtl_tests/conftest.py"):
        shutil.copy(ROOT / file, tmp_path / file)
    test = "import pytest\n{}\n@pytest.mark.exhaustive\n@pytest.mark.parametrize('number', [1, 2])\n"
    test += "def test_it(number): assert number < {}\n"
    module, imports = tmp_path / "rtl_tests" / "support" / "small.py", "from rtl_tests.support import small"
    (tmp_path / "rtl_tests" / "test_a.py").write_text(test.format(imports, "small.LIMIT"))
    (tmp_path / "rtl_tests" / "test_b.py").write_text(test.format("", "9"))
    words = [sys.executable, "-m", "pytest", "-q", "-rA", "-n", "0", "-m", "exhaustive", "rtl_tests"]

    def ran(limit):
        """The tests that run, and whether they pass."""
        module.write_text(f"LIMIT = {limit}\n")
        environment = os.environ | {"EXHAUSTIVE": "1"}
        process = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        lines = re.findall(r"^(PASSED|FAILED) rtl_tests/test_(\w)\.py::test_it\[(\d)\]", process.stdout, re.MULTILINE)
        return {f"{file}{number}": verdict == "PASSED" for verdict, file, number in lines}

    assert ran(2) == {"a1": True, "a2": False, "b1": True, "b2": True}
    assert ran(2) == {"a2": False}
    assert ran(10) == {"a1": True, "a2": True}
    assert ran(10) == dict.fromkeys(("a1", "a2", "b1", "b2"), True)
