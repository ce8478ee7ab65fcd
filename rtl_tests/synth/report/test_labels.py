"""Names beside points do not cover each other."""

from itertools import pairwise

import pytest
from matplotlib.text import Text

from synth.report.render.labels import apart, name_points
from synth.report.render.svg import sheet


@pytest.mark.parametrize(
    ("wanted", "placed"),
    [
        ([], []),
        ([3.0], [3.0]),
        ([0.0, 50.0], [0.0, 50.0]),
        ([0.0, 0.0], [-5.0, 5.0]),
        ([4.0, 0.0], [7.0, -3.0]),
        ([0.0, 1.0, 2.0, 90.0], [-9.0, 1.0, 11.0, 90.0]),
        ([0.0, 0.0, 16.0], [-5.0, 5.0, 16.0]),
    ],
)
def test_apart(wanted, placed):
    assert apart(wanted, 10.0) == pytest.approx(placed)


def test_places_are_the_nearest_that_are_apart():
    found = apart([0.0, 3.0, 12.0, 13.0], 10.0)
    assert all(after - before >= 10 - 1e-9 for before, after in pairwise(found))
    assert sum(found) == pytest.approx(28.0)  # a pool moves as one: what one gains the others lose


def test_names_of_points_that_meet_stand_in_a_column():
    with sheet("points", 2.0) as drawn:
        drawn.axes.plot([0, 0, 0, 9], [1.0, 1.0, 1.01, 9.0])
        name_points(drawn, [("a", 0, 1.0, "red"), ("b", 0, 1.0, "red"), ("c", 0, 1.01, "red"), ("d", 9, 9.0, "red")])
    drawn.canvas.draw_without_rendering()  # which puts them in their places
    boxes = {text.get_text(): Text.get_window_extent(text) for text in drawn.axes.texts}
    near = [boxes[name] for name in "abc"]
    assert not any(one.overlaps(other) for one in near for other in near if one is not other)
    assert len({round(box.x0, 6) for box in near}) == 1
    assert min(box.y0 for box in near) >= drawn.axes.bbox.y0 - 1
