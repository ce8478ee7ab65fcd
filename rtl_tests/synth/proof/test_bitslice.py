"""Compiled evaluators are compared with NumPy before they are used."""

import re

import pytest

from golden.compiler import compiler
from hwgen.blocks.catalog import build
from hwgen.tools.process import ToolError
from rtl_tests.support.proofs import subject
from synth.proof import bitslice

REAL = compiler()
EDITS = {
    "nothing differs": "s/return wrong;/return 0;/",
    "something differs": "s/return wrong;/return wrong + 1;/",
    "the last output is not compared": "/differs |= .*expected\\[3 /d",
    "later groups are not compared": "s/g < count;/g < 1;/",
    "later vectors are not compared": "s/v < vectors;/v < 1;/",
    "another place": "s/first\\[0\\] = g/first[0] = 0/",
    "a gate": "0,/ & /s// | /",
    "a bit of the border is not there": "s/ | n[0-9]* & 1ull << [0-9]*;/;/",
    "the border is that of the first group": "s/bits += [0-9]*)/bits += 0)/",
}
"""What a wrong compiler changes in the code that it compiles."""


@pytest.mark.skipif(REAL is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("edit", EDITS)
def test_a_compiler_that_makes_wrong_code_is_named(edit, tmp_path, monkeypatch):
    netlist = subject(build("mac", "e2m1")).netlist()
    running = netlist.input_nets("acc_in")
    assert bitslice.Evaluator(netlist, running)._code is not None
    path = tmp_path / "wrong-c++"
    path.write_text(f"#!/bin/sh\nsed -i '{EDITS[edit]}' code.cpp\nexec {REAL} \"$@\"\n")
    path.chmod(0o755)
    monkeypatch.setattr(bitslice, "compiler", lambda: str(path))
    sentence = f"the C++ compiler {path} makes wrong code: set CXX to another one"
    with pytest.raises(ToolError, match=f"^{re.escape(sentence)}$"):
        bitslice.Evaluator(netlist, running)
