"""Studies end with one sentence for bad input, failures and interrupts; bugs are not caught."""

import pytest

from golden.refusal import BadKind, BadValue
from hwgen.tools.process import ToolError
from synth.studies.script import status


@pytest.mark.parametrize(
    ("error", "number", "sentence"),
    [
        (BadValue("scale_bits", "must be small"), 2, "--scale-bits must be small"),
        (BadKind("liberty", "x.lib cannot be read", ": "), 2, "--liberty: x.lib cannot be read"),
        (BadValue(None, "line 3 is empty"), 2, "line 3 is empty"),
        (ToolError("Yosys did not"), 1, "Yosys did not"),
        (OSError("disk full"), 1, "disk full"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_sentences_and_statuses(error, number, sentence, capsys):
    def study():
        raise error

    assert status("study", study) == number
    assert capsys.readouterr().err == f"study: {sentence}\n"


def test_the_result_of_a_study_is_its_status(capsys):
    assert [status("study", lambda result=result: result) for result in (None, 0, 1)] == [0, 0, 1]
    assert capsys.readouterr().err == ""


def test_a_bug_is_not_caught():
    with pytest.raises(ValueError, match="zip"):
        status("study", lambda: list(zip((1,), (), strict=True)))
