"""README and docs: the figures are those of docs/results.json, and every block of code does what it says."""

import io
import json
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from hwgen.__main__ import main
from synth import readme

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def blocks(language):
    """Code blocks of a language in all pages."""
    return [
        pytest.param(block, id=f"{page.name}-{number}")
        for page in PAGES
        for number, block in enumerate(re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S))
    ]


def test_figures_are_those_of_the_data_file():
    found = json.loads((ROOT / readme.RESULTS).read_text())
    assert readme.section(found) in (ROOT / "README.md").read_text()
    assert (ROOT / readme.PICTURE).read_text() == readme.picture(found)


def test_figures_of_accuracy_are_goldens():
    assert readme.accuracy() in (ROOT / readme.ACCURACY).read_text()


@pytest.mark.parametrize("block", blocks("python"))
def test_python_block_prints_what_its_comments_say(block):
    claimed = re.findall(r"^print\(.*?\)  +# (.*)$", block, re.M)
    assert claimed
    said = io.StringIO()
    with redirect_stdout(said), np.errstate(all="ignore"):
        exec(compile(block, "block", "exec"), {})
    assert said.getvalue().splitlines() == claimed


@pytest.mark.parametrize("block", blocks("sh"))
def test_commands_are_accepted(block, tmp_path, monkeypatch):
    """`hwgen generate` and `explain` run; of the others, which take minutes, options are checked."""
    monkeypatch.chdir(tmp_path)
    for page in PAGES:
        for text in re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.M | re.S):
            name = re.search(r'^name = "(\w+)"', text, re.M)  # without one it is a design space
            (tmp_path / f"{name[1] if name else 'space'}.toml").write_text(text)
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["hwgen"] and words[1] in ("generate", "explain", "formats"):
            assert main(words[1:]) == 0
        elif words[:1] == ["hwgen"]:
            with pytest.raises(SystemExit) as stopped:
                main([*words[1:], "--help"])
            assert stopped.value.code == 0
        elif words[:1] == ["make"]:
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M)


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
