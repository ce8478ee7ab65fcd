"""The example of a tile between memories: other formats and sizes, a fault, and lint."""

import pytest

from examples.tile import route, run
from rtl_tests.support.blocks import texts
from rtl_tests.support.lint import lint
from rtl_tests.support.optional import NEEDS_ICARUS


@NEEDS_ICARUS
def test_swapped_operands_of_a_tile_are_found(tmp_path, monkeypatch):
    for name in run.FILES[:2]:
        text = (run.HERE / name).read_text()
        (tmp_path / name).write_text(text.replace(".a_tdata(a[A - 1:0])", ".a_tdata({a[7:0], a[A - 1:8]})"))
    assert (tmp_path / "accelerator.v").read_text() != (run.HERE / "accelerator.v").read_text()
    monkeypatch.setattr(run, "HERE", tmp_path)
    (tmp_path / "bench").mkdir()
    accelerator = run.Accelerator("icarus", tmp_path / "bench")
    assert [accelerator.compare(*case) > 0 for case in run.products()] == [True] * len(run.SHAPES)


@NEEDS_ICARUS
@pytest.mark.parametrize("result", ["binary32", "bfloat16", "ocp_e5m2"])
def test_another_format_and_size(tmp_path, monkeypatch, result):
    """The constants of run.py are all that changes."""
    for name, value in {"FORMAT": "hif8", "ROWS": 3, "COLUMNS": 2, "RESULT": result}.items():
        monkeypatch.setattr(run, name, value)
    accelerator = run.Accelerator("icarus", tmp_path)
    assert [accelerator.compare(*case) for case in run.products()] == [0] * len(run.SHAPES)


def test_the_top_level_around_a_tile_has_no_lint_warnings(tmp_path):
    design = run.tile()
    lint({**texts([design]), "accelerator": (run.HERE / "accelerator.v").read_text()}, tmp_path)


@pytest.mark.exhaustive
def test_place_and_route_with_memories(monkeypatch):
    """Each operand's memory, 1,024 words of 9 bits, is a block of 18 kbit; the results' one, 256 x 33, is one too."""
    for name, value in {"FORMAT": "hif8", "ROWS": 1, "COLUMNS": 1}.items():
        monkeypatch.setattr(run, name, value)
    cells, mhz = route.placed(seed=1)
    assert cells["memories of 18 kbit"] == 3
    assert cells["registers"] > 100
    assert 10 < mhz < 1000
