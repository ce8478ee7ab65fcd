"""Plots as SVG: the same bytes every time, and nothing that belongs to another plot or to the machine."""

import xml.etree.ElementTree as ET

from synth.report.render.palette import SERIES
from synth.report.render.svg import sheet, standalone


def drawn(title="A title"):
    with sheet(title, 2.0) as made:
        made.axes.plot([1, 2], [3, 4.125], "o-", color=SERIES[0][0])
        made.axes.annotate("0.12345 of 20.50 & more", (1, 3))
        made.axes.set_xlabel("delay [ns]")
    return made.svg


def test_the_same_drawing_gives_the_same_bytes():
    assert drawn() == drawn()
    assert drawn("Another") != drawn()


def test_words_are_text_and_stay_as_they_are():
    root = ET.fromstring(standalone(drawn("A <title>")))
    words = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"0.12345 of 20.50 & more", "delay [ns]", "A <title>"} <= set(words)
    assert root.get("aria-label") == "A <title>"


def test_colours_are_variables():
    light, dark = SERIES[0]
    assert f"var(--f0, {light})" in drawn()
    assert dark not in drawn()
    assert dark in standalone(drawn())


def test_ids_are_the_title_s_own():
    def ids(svg):
        return {element.get("id") for element in ET.fromstring(standalone(svg)).iter()} - {None}

    assert ids(drawn())
    assert not ids(drawn()) & ids(drawn("Another"))
