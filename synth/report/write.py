"""The report: one dictionary of data, and the files it is rendered to."""

import csv
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hwgen.tools import yosys
from synth.area.runner import Outcome
from synth.report.content import Content
from synth.report.render.html import page
from synth.report.render.markdown import document

_FIRST = ("component", "format", "target", "recipe", "best_recipe", "metric", "min", "median", "max", "unit", "samples")
_LAST = ("name", "tool", "portfolio", "renamings", "verilog_sha256", "script_sha256", "command")


def assemble(
    outcomes: Iterable[Outcome],
    formats: Sequence[str],
    accuracy: Mapping[str, Any] | None = None,
    evidence: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The report's data.

    Parameters
    ----------
    outcomes : iterable of Outcome
        What :func:`synth.area.runner.measure` yields.
    formats : sequence of str
        Formats that are compared.
    accuracy : mapping, optional
        What ``examples/digits.py --json`` writes: ``images``; ``accumulator`` and ``rows`` of ``format``, ``accuracy``, ``snr_db``,
        ``rtl_cases``; and, in newer files, ``study``, rows that have ``scaling`` and ``accumulator``, too.
    evidence : iterable of mapping, optional
        Records of :mod:`synth.proof.evidence`.

    Returns
    -------
    dict
        ``formats``, ``tool``, ``versions``, ``portfolio``, ``renamings``, ``rows``, ``accuracy``, ``evidence``, and ``failures`` with the
        logs in full.
    """
    done = list(outcomes)
    return {
        "formats": list(formats),
        "tool": yosys.version(),
        "versions": {name: version(name) for name in ("minifloat-rtl", "amaranth")},
        "portfolio": ", ".join(sorted({outcome.job.portfolio for outcome in done})),
        "renamings": max((outcome.job.renamings for outcome in done), default=0),
        "rows": [row for outcome in done for row in outcome.rows],
        "accuracy": None if accuracy is None else dict(accuracy),
        "evidence": [dict(record) for record in evidence],
        "failures": [
            {"name": one.job.top, "target": one.job.target, "command": one.job.command, "error": one.error, "log_text": one.log}
            for one in done if one.error is not None
        ],
    }  # fmt: skip


def with_sweeps(report: dict[str, Any], sweeps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A report's data with those of sweeps; what it has already stays as it is.

    Where nothing but sweeps was measured, their formats are those that are compared.

    Parameters
    ----------
    report : dict
        See :func:`assemble`.
    sweeps : sequence of mapping
        ``rows`` and ``failures`` of each, as in its ``sweep.json``.
    """
    if not sweeps:
        return report
    rows = [*report["rows"], *(dict(row) for sweep in sweeps for row in sweep["rows"])]
    same = ("verilog_sha256", "script_sha256", "recipe", "libraries_sha256", "tool")
    unique = {tuple(str(row.get(key)) for key in same): row for row in reversed(rows)}
    kept = list(reversed(unique.values()))
    failures = [{**one, "command": "hwgen sweep", "log_text": ""} for sweep in sweeps for one in sweep["failures"]]
    return {
        **report,
        "rows": kept,
        "formats": report["formats"] if report["rows"] else list(dict.fromkeys(row["format"] for row in kept)),
        "renamings": max((row["renamings"] for row in kept), default=0),
        "portfolio": ", ".join(sorted({row["portfolio"] for row in kept})),
        "tool": ", ".join(sorted({row["tool"] for row in kept})) or report["tool"],
        "failures": [*report["failures"], *failures],
    }


def render(report: Mapping[str, Any], folder: str | Path) -> None:
    """Write ``report.json``, ``report.csv``, ``report.md``, ``index.html`` and the logs of failed jobs.

    The files are complete before any of them appears; a report that was there before is replaced, other files are left alone. The same
    data give the same bytes.

    Parameters
    ----------
    report : mapping
        See :func:`assemble`; ``snr`` of :func:`synth.report.chapters.tradeoff.ratios` may be there, too. `json.loads` of a
        ``report.json`` does as well. folder : path
        Made when missing.
    """
    folder = Path(folder)
    logs = {f"logs/{one['name']}.{one['target']}.log": one["log_text"] for one in report["failures"] if one.get("log_text")}
    failures = [
        {**{key: value for key, value in one.items() if key != "log_text"}, "log": f"logs/{one['name']}.{one['target']}.log"}
        for one in report["failures"]
    ]
    data = {**report, "failures": failures}
    content = Content(data)
    files = {
        "report.json": json.dumps(data, indent=1) + "\n",
        "report.csv": table(report["rows"]),
        "report.md": document(content),
        "index.html": page(content),
        **logs,
    }
    _write(folder, files)


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV: what all have in common first and last, options between; samples apart by blanks."""
    rows = list(rows)
    keys = dict.fromkeys(key for row in rows for key in row)
    columns = [*_FIRST, *(key for key in keys if key not in {*_FIRST, *_LAST}), *_LAST]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n", restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: " ".join(map(str, value)) if isinstance(value, list) else value for key, value in row.items()})
    return out.getvalue()


def _write(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".report-", dir=folder))
    try:
        for name, text in files.items():
            (draft / name).parent.mkdir(exist_ok=True)
            (draft / name).write_text(text, encoding="utf-8")
        shutil.rmtree(folder / "logs", ignore_errors=True)
        for name in files:
            (folder / name).parent.mkdir(exist_ok=True)
            os.replace(draft / name, folder / name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
