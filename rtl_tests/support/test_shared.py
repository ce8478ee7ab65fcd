"""Tests share equal runs of Yosys, but no others."""

import pytest

from hwgen.tools import yosys
from rtl_tests.support import shared

SCRIPT, MODULE = "read_verilog m.v; tee -o a.txt ls", "module {} (input a, output y); assign y = a; endmodule"


@pytest.fixture
def made(monkeypatch, tmp_path):
    """The modules that Yosys is run for, in a folder of their own."""
    made, run = [], shared.run_alone

    def noted(script, inputs, *others):
        made.append(inputs["m.v"])
        return run(script, inputs, *others)

    monkeypatch.setenv(shared.FOLDER, str(tmp_path))
    monkeypatch.setattr(shared, "run_alone", noted)
    return made


def test_equal_runs_are_made_once(made):
    one, other = MODULE.format("one"), MODULE.format("other")
    for text in (one, other, one.encode()):
        first = yosys.run(SCRIPT, {"m.v": text}, ["a.txt"])
        assert ("other" in first["a.txt"]) is (text == other)
        assert yosys.run(SCRIPT, {"m.v": text}, ["a.txt"]) == first
    assert made == [one, other, one.encode()]
    yosys.run(f"{SCRIPT};", {"m.v": one}, ["a.txt"])
    yosys.run(SCRIPT, {"m.v": one}, ["a.txt"], 60)
    yosys.run(SCRIPT, {"m.v": one}, ["a.txt"], 60)
    assert len(made) == 6


def test_runs_that_fail_are_made_again(made):
    for _ in range(2):
        with pytest.raises(yosys.YosysError, match="did not write"):
            yosys.run("read_verilog m.v", {"m.v": "nothing"}, ["a.txt"])
    assert len(made) == 2


def test_a_text_passes_a_check_by_itself():
    assert not shared.has_passed("some check", "text")
    shared.passed("some check", "text")
    assert shared.has_passed("some check", "text")
    assert not shared.has_passed("some check", "other text")
    assert not shared.has_passed("another check", "text")


def test_a_folder_is_made_once(monkeypatch, tmp_path):
    monkeypatch.setenv(shared.FOLDER, str(tmp_path))
    folder = shared.made("some", lambda draft: (draft / "file").write_text("first"))
    assert shared.made("some", lambda draft: (draft / "file").write_text("second")) == folder
    assert (folder / "file").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["some"]


def test_of_two_processes_that_make_a_folder_one_is_first(monkeypatch, tmp_path):
    monkeypatch.setenv(shared.FOLDER, str(tmp_path))

    def make(draft):
        (draft / "file").write_text("ours")
        (tmp_path / "some").mkdir()
        (tmp_path / "some" / "file").write_text("theirs")

    assert (shared.made("some", make) / "file").read_text() == "theirs"
