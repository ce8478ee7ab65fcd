"""Macros that tools would expand without end are refused."""

from argparse import Namespace
from pathlib import Path

import pytest

from hwgen.sources import Sources, sources


def read(file: Path) -> Sources:
    lists = {option: [] for option in ("include", "define", "parameter", "ports", "tie")}
    user = sources(Namespace(verilog=[str(file)], top=None, handshake=False, **lists))
    assert user is not None
    return user


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("`define A (`A + 1)\n", "the macro `A contains itself"),
        ("`define A(x) x \\\n  + `A(x)\n", "the macro `A contains itself"),
        ("`define A `B\n`define B `C\n`define C `B\n", "the macro `(B|C) contains itself"),
    ],
)
def test_macros_without_end(tmp_path, text, sentence):
    (tmp_path / "mine.v").write_text(text)
    with pytest.raises(ValueError, match=f"^--verilog: {sentence}$"):
        read(tmp_path / "mine.v")


@pytest.mark.parametrize(
    "text",
    [
        "wire a = `WIDTH;\n",
        "`define A 1 // `A\n",
        '`define A "`A"\n',
        "/* `define A `A\n*/\n",
        "`define A 1\n`undef A\n`define A 2\n`define B `A + `A\n",
        "`define step_0 1\n" + "".join(f"`define step_{i} `step_{i - 1}\n" for i in range(1, 20_000)),
    ],
)
def test_macros_with_an_end(tmp_path, text):
    (tmp_path / "mine.v").write_text(text)
    assert read(tmp_path / "mine.v").text == text
