"""Text that users and developers read is plain English: it does not use the phrases below."""

import re
from pathlib import Path

import pytest

from rtl_tests.support.paths import ROOT

FOLDERS = (".", ".ci", "docs", "examples", "golden", "hwgen", "rtl_tests", "synth")
SUFFIXES = {"", ".cpp", ".css", ".js", ".json", ".lib", ".md", ".patch", ".py", ".svg", ".toml", ".txt", ".v"}
EXEMPT = {"LICENSE", Path(__file__).name}

REPLACEMENTS = {
    r"\bh(old|olds|olding|eld)\b( [^ .;]+)* against\b": "check",
    r"\bt(ell|ells|elling|old)( [^ .;]+){0,5} apart\b": "distinguish",
    r"\b(go|goes|going|gone|went) on (from )?where\b": "resume",
    r"\bbr(eaks?|eaking|oken?) off\b": "interrupt",
    r"\bwant(s|ed)\b": "needs",
    r"\bt(ell|ells|elling|old) of\b": "reports",
    r"\b(has|have|had|is|was) told how\b": "says",
    r"\bso many\b": "the number",
    r"\bwhoever\b": "the subject, by name",
    r"\bof which\b": "two sentences",
    r"\bits matter\b": "what it handles",
    r"\bma(ke|kes|king|de) do with\b": "needs only",
    r"\banybody asks\b": "the case, in the field's words",
    r"\bdoes,? with\b": "a verb that says what it does",
    r"\bdearest\b": "most expensive",
}
"""Phrases that are not used, and what to write instead."""

_LINE_BREAK = re.compile(r"""["']?[\s\\]*\n(?:[\s#*|]|//)*(?:f?["'])?""")
"""A line break, with the marks of a comment or the quotes of a string that continue."""


def odd_phrases(text: str) -> list[str]:
    """Return the phrases of ``REPLACEMENTS`` in a text, each with a plainer one; a phrase may span two lines."""
    joined = re.sub(r" +", " ", _LINE_BREAK.sub(" ", text))
    return [
        f"{match[0]!r} (instead: {plain})"
        for phrase, plain in REPLACEMENTS.items()
        for match in re.finditer(phrase, joined, re.IGNORECASE)
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_odd_phrases(folder):
    paths = (ROOT / folder).glob("*" if folder == "." else "**/*")
    files = [path for path in sorted(paths) if path.is_file() and path.suffix in SUFFIXES and path.name not in EXEMPT]
    assert files
    phrases = [f"{path.relative_to(ROOT)}: {phrase}" for path in files for phrase in odd_phrases(path.read_text())]
    assert not phrases, "\n".join(phrases)


@pytest.mark.parametrize(
    "text",
    [
        "We hold the gates, all of them, against the model.",
        "# is held\n    # against a linter",
        "It holds every one of the outputs that a block has in any stage against a model.",
        "A pin tells the two apart.",
        "It goes on where\n// it stopped.",
        "The run was broken off.",
        "A run that breaks off",
        "Verilator wants C++20.",
        "the tool wanted C++20",
        "The page has told how.",
        '"a job is told " \\\n    f"of"',
        "It has so many ports.",
        "Whoever runs it must wait.",
        "'a table of '\n'which nothing remains'",
        "The sign is not its matter.",
        "What Yosys does with it.",
        "What it does, with it",
        "It makes do with two bits.",
        "before anybody asks",
        "The dearest block.",
    ],
)
def test_a_planted_phrase_is_detected(text):
    assert len(odd_phrases(text)) == 1


def test_plain_sentences_pass():
    assert not odd_phrases("We check the gates against the model. It needs C++20, and the clock goes on. Whose? Which?")
