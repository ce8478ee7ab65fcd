"""Names beside points, moved up and down until none covers another."""

from collections.abc import Sequence

from synth.report.render.svg import INK, Sheet

Named = tuple[str, float, float, str]
"""A name, the point that it belongs to, and the point's colour."""

_HEIGHT = 10.0
"""Points that a line of text takes."""


def apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Places in the order of the wanted ones, at least ``gap`` apart and nearest to them by least squares (by pooling)."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    pools: list[list[float]] = []
    for rank, index in enumerate(order):
        pools.append([wanted[index] - rank * gap])
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    level = [_mean(pool) for pool in pools for _ in pool]
    placed = dict(zip(order, (base + rank * gap for rank, base in enumerate(level)), strict=True))
    return [placed[index] for index in range(len(wanted))]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def name_points(drawn: Sheet, named: Sequence[Named], left: bool = False) -> None:
    """Write names right or left of their points; names that meet stand in a column, with thin lines to their points."""
    drawn.settle()
    inch = 72 / drawn.canvas.dpi
    where = [
        (float(x) * inch, float(y) * inch) for x, y in drawn.axes.transData.transform([(x, y) for _, x, y, _ in named])
    ]
    floor = drawn.axes.bbox.y0 * inch + _HEIGHT / 2
    side, far = (-1, min) if left else (1, max)
    for group in _meeting(where):
        heights = apart([where[index][1] for index in group], _HEIGHT)
        lift = max(0.0, floor - min(heights))
        edge = far(where[index][0] for index in group)
        for index, height in zip(group, heights, strict=True):
            name, x, y, colour = named[index]
            across, up = edge - where[index][0], height + lift - where[index][1]
            line = (
                {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}
                if abs(across) + abs(up) > 4
                else None
            )
            drawn.axes.annotate(
                name,
                (x, y),
                (across + side * (8 if len(group) == 1 else 14), up),
                textcoords="offset points",
                color=INK,
                fontsize=8.5,
                ha="right" if left else "left",
                va="center",
                arrowprops=line,
                annotation_clip=False,
                zorder=5,
            )


def _meeting(where: Sequence[tuple[float, float]], width: float = 80.0) -> list[list[int]]:
    """Points in groups, such that only names of one group can meet."""
    groups: list[list[int]] = []
    for index, (x, y) in enumerate(where):
        near = [
            group
            for group in groups
            if any(abs(where[i][0] - x) < width and abs(where[i][1] - y) < 1.6 * _HEIGHT for i in group)
        ]
        groups = [group for group in groups if group not in near] + [[*(i for group in near for i in group), index]]
    return groups
