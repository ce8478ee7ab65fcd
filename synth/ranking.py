"""Whether two reports, of the same modules under other renamings, rank the formats alike.

Usage: python -m synth.ranking FIRST/report.json SECOND/report.json: prints Markdown; status 1 if a ranking of one contradicts the other's.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

from synth.figures import Figure, listing, number, ranked
from synth.papers import figures
from synth.plan import PARTS
from synth.recipes import SPEED
from synth.sections import Column, columns, target_key

Pair = tuple[str, str]


def told_apart(found: Mapping[str, Figure]) -> set[Pair]:
    """Pairs of which every sample of the first is below every one of the second."""
    return {(a, b) for a, b in permutations(found, 2) if found[a].below(found[b])}


def order(found: Mapping[str, Figure]) -> str:
    """The formats from small to large; ``=`` between neighbours whose spreads meet."""
    names = ranked(found)
    said = f"{names[0]} {number(found[names[0]].median)}"
    for before, name in pairwise(names):
        said += f" {'<' if found[before].below(found[name]) else '='} {name} {number(found[name].median)}"
    return said


def verdict(first: Mapping[str, Figure], second: Mapping[str, Figure]) -> tuple[str, int]:
    """One sentence on a target, and how many pairs are contradicted."""
    one, other = told_apart(first), told_apart(second)
    contradicted = [(a, b) for a, b in one if (b, a) in other]
    if contradicted:
        return f"contradicted: {listing([f'{a} < {b}' for a, b in sorted(contradicted)])}", len(contradicted)
    pairs = len(first) * (len(first) - 1) // 2
    return f"the same: {len(one & other)} of {pairs} pairs told apart in both, {len(one ^ other)} in one of the two, none contradicted", 0


def compare(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> Iterator[tuple[str, Column, Mapping[str, Figure], Mapping[str, Figure]]]:
    """Part, target and the figures of both reports, of the formats that both compare."""
    tables = [[{**row, "target": target_key(row)} for row in report["rows"] if row["portfolio"] != SPEED] for report in (first, second)]
    names = [name for name in first["formats"] if name in second["formats"]]
    for part in ("multiplier", "mac"):
        for column in columns(row for row in first["rows"] if row["portfolio"] != SPEED):
            both = [figures(rows, part, column.key) for rows in tables]
            shared = [name for name in names if all(name in found for found in both)]
            if len(shared) > 1:
                one, other = ({name: found[name] for name in shared} for found in both)
                yield part, column, one, other


def document(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[str, int]:
    """Markdown, and the number of contradictions."""
    lines = [
        "# The ranking, twice", "",
        f"All formats of the report, measured twice, each time under {first['renamings']} renamings of its own ({first['tool']}). `<`: "
        "every sample on the left is below every sample on the right; `=`: the spreads meet, and no difference is claimed.",
    ]  # fmt: skip
    total = 0
    for part, column, one, other in compare(first, second):
        said, count = verdict(one, other)
        total += count
        lines += ["", f"**{PARTS[part]}, {column.head}: {said}.**", "", f"1. {order(one)}", f"2. {order(other)}"]
    lines += ["", "No ranking of one run contradicts the other's." if not total else f"{total} pairs are contradicted."]
    return "\n".join(lines) + "\n", total


def main(arguments: Sequence[str]) -> int:
    """Print the document."""
    first, second = (json.loads(Path(file).read_text()) for file in arguments)
    text, total = document(first, second)
    print(text, end="")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
