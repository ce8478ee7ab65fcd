"""Citations: every place of a paper that a text names exists there, and is where the paper says what is cited."""

import re

import numpy as np

import golden
from rtl_tests.support.paper_tables import CLAIMED_AT, GRAPHCORE, HYBRID, PLACES, SUPERNORMALS, citations
from rtl_tests.support.paths import ROOT
from synth.report import plan
from synth.report.training import claims


def test_citations_are_read():
    assert citations(
        "Hybrid 8-bit Floating Point paper,\nsections 2.1 and 2.2; Graphcore paper, equation (5) and Table 1"
    ) == [
        (HYBRID, ["section 2.1", "section 2.2"]),
        (GRAPHCORE, ["equation (5)", "Table 1"]),
    ]
    assert citations("(Supernormals paper, section 4).") == [(SUPERNORMALS, ["section 4"])]


def test_every_cited_place_exists():
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    files += [file for package in ("golden", "hwgen", "synth") for file in sorted((ROOT / package).rglob("*.py"))]
    found = [
        (file.name, paper, place) for file in files for paper, cited in citations(file.read_text()) for place in cited
    ]
    assert len(found) > 60
    assert [(name, paper, place) for name, paper, place in found if place not in PLACES[paper]] == []


def test_ibms_formats_are_cited_where_they_are():
    """Its section 3 is about inference; no format is from there. The study judges claims of other places, too."""
    files = [
        *(file for file in (ROOT / "docs").glob("*.md") if file.name != "study.md"),
        *(ROOT / "golden").rglob("*.py"),
        *(ROOT / "synth").rglob("*.py"),
    ]
    cited = {
        place for file in files for paper, cited in citations(file.read_text()) if paper == HYBRID for place in cited
    }
    assert cited == {"section 2.1", "section 2.2", "section 2.3"}


def test_every_claim_of_a_paper_is_cited_where_it_is():
    cited = [(claim.text, claim.text) for claim in plan.CLAIMS]
    cited += [(claim.text, claim.source) for claim in claims.CLAIMS if claim.source != claims.OWN]
    used = set()
    for text, source in cited:
        (words,) = (words for words in CLAIMED_AT if words in text)
        used.add(words)
        assert citations(source)[0] == CLAIMED_AT[words], text
    assert used == CLAIMED_AT.keys()


def test_contradictions_are_listed():
    """The specification says where its figures differ from printed ones; the figures are those of the formats."""
    page = (ROOT / "docs/specification.md").read_text()
    chapter = page.partition("\n## 12. Contradictions of the papers\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in re.sub(r"\\\|", "/", chapter).splitlines() if line.startswith("| ")][1:]
    assert all(len(row) == 4 for row in rows)
    places = [row[0].removeprefix("| ") for row in rows]
    assert {"HiFloat8, Table 4", "HiFloat8, equation (3)", "HiFloat8, section 3.2"} <= set(places)
    assert {"Supernormals, section 4", "IBM, section 2.1", "IBM, section 2.2"} <= set(places)
    exponents, _ = golden.significand_bits("e5m2_nosub")
    assert (exponents[0], exponents[-1], len(exponents)) == (-16, 15, 32)
    assert golden.get("ibm_1_4_3").smallest == 1.125 * 2**-11
    assert golden.get("ibm_1_4_3").encode(np.float32([2.0**-11]).view(np.uint32)).tolist() == [0]
    assert golden.get("ocp_e5m2").decode([3]).tolist() == [1.5 * 2**-15]
    assert "resolves every ambiguity" not in page
