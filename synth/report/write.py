"""Write the report's files from its data, either all or none."""

import csv
import io
import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from hwgen.tools.files import staging, write_files
from synth.area.rows import Row
from synth.report.content import Content
from synth.report.data import Report
from synth.report.render.html import page
from synth.report.render.markdown import document

_FIRST = ("component", "format", "target", "recipe", "best_recipe", "metric", "min", "median", "max", "unit", "samples")
_LAST = ("name", "tool", "portfolio", "renamings", "verilog_sha256", "script_sha256", "command")


def render(report: Report, folder: str | Path) -> None:
    """Write ``report.json``, ``report.csv``, ``report.md``, ``index.html`` and the logs of failed jobs.

    All files are complete before any of them appears. An older report is replaced, other files stay, a missing folder
    is created. The same data gives the same bytes.
    """
    content = Content(report)
    files = {
        "report.json": json.dumps(report.to_json(), indent=1) + "\n",
        "report.csv": table(report.rows),
        "report.md": document(content),
        "index.html": page(content),
        **{failure.log: failure.output for failure in report.failures if failure.output},
    }
    folder = Path(folder)
    with staging(folder) as draft:
        write_files(draft, files)
        shutil.rmtree(folder / "logs", ignore_errors=True)


def table(rows: Iterable[Row]) -> str:
    """Rows as CSV: common columns first and last, options between them; lists are separated by spaces."""
    lines = [row.to_json() for row in rows]
    keys = dict.fromkeys(key for line in lines for key in line)
    columns = [*_FIRST, *(key for key in keys if key not in {*_FIRST, *_LAST}), *_LAST]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n", restval="")
    writer.writeheader()
    for line in lines:
        writer.writerow(
            {key: " ".join(map(str, value)) if isinstance(value, list) else value for key, value in line.items()}
        )
    return out.getvalue()
