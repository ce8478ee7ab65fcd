"""``make test`` has a case of each kind."""

import golden
from rtl_tests.hwgen.test_readability import DESIGNS
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
