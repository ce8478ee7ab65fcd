"""Pages appear before figures: earlier ones stand for those that are not measured, stale ones are named."""

import json
from dataclasses import replace

import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from rtl_tests.support.reported import read_report
from rtl_tests.synth.report.test_report import made_up
from synth.area.digest import sha256
from synth.area.plan import area_jobs
from synth.area.runner import Outcome
from synth.cli import report as commands
from synth.report import load
from synth.report.chapters import papers
from synth.report.content import Content
from synth.report.plan import CLAIMS, Block
from synth.report.points import Point
from synth.studies import ledger


def median_on_gates(design):
    """The figure of docs/claims.json."""
    data = json.loads(ledger.AREAS.read_bytes())
    (key,) = (key for key, digest in data["verilog"].items() if digest == sha256(design.verilog()))
    _, (target, _, _, median, _), *_ = data["designs"][key]
    assert target == "gates"
    return median


def mac(name):
    return build("mac", name, accumulator="binary16")


@pytest.fixture
def jobs(monkeypatch):
    """The MACs of two formats on gates; that of the second has changed since its earlier figures were measured."""
    texts = {"hif8": mac("hif8").verilog(), "e5m3": mac("e5m3").verilog() + "\n"}
    jobs = [job for name, text in texts.items() for job in area_jobs(mac(name), text, ["gates"])]
    monkeypatch.setattr(commands, "report_jobs", lambda *arguments: jobs)
    return jobs


def test_a_stopped_run_leaves_pages_that_wait_for_nothing(jobs, monkeypatch, tmp_path, capsys):
    """They still say what is not measured."""
    (tmp_path / "none").mkdir()
    index, words = tmp_path / "index.html", ["--store", str(tmp_path / "store"), "--evidence", str(tmp_path / "none")]
    for reason, status in ((SystemExit(143), 143), (KeyboardInterrupt(), 130)):

        def measure_all(todo, pool, store, progress, outcomes, reason=reason):
            progress.start(2.0)
            assert "refresh" in index.read_text()
            raise reason

        monkeypatch.setattr(commands, "measure_all", measure_all)
        try:
            ended = main(["report", "--formats", "hif8,e5m3", *words, "-o", str(tmp_path)])
        except SystemExit as end:
            ended = end.code
        assert ended == status
        assert "refresh" not in index.read_text()
        stopped = "2 jobs not finished. Until then, figures of an earlier run stand for theirs; the run was stopped, "
        assert stopped in index.read_text()


def test_claims_have_recorded_figures_until_they_are_measured(monkeypatch, tmp_path):
    """Of today's modules alone; a claim without figures has no row, and a missing one names its commands."""
    claim = CLAIMS[0]
    designs = [block.design for block in (claim.base, claim.block, Block("mac", "hif8", {"accumulator": "binary16"}))]
    jobs = [job for design in designs for job in area_jobs(design, design.verilog(), ["gates", "xc7"])]
    changed = [replace(job, verilog=job.verilog + "\n") for job in jobs]
    monkeypatch.setattr(commands, "measure_all", lambda todo, pool, store, progress, outcomes: progress.start(1.0))
    (tmp_path / "none").mkdir()
    words = ["report", "--formats", "hif8", "--store", str(tmp_path / "store"), "--evidence", str(tmp_path / "none")]
    for todo, known in ((jobs, True), (changed, False)):
        monkeypatch.setattr(commands, "report_jobs", lambda *arguments, todo=todo: todo)
        assert main([*words, "-o", str(tmp_path)]) == 0
        content = Content(read_report(json.loads((tmp_path / "report.json").read_text())))
        section = papers.claims(content.measured)
        assert (section is not None) is known
        if section:
            ((name, gates, *others),) = section.tables[0].rows
            unit, base = (median_on_gates(design) for design in (designs[1], designs[0]))
            assert (name.text, gates.note) == (claim.text, f"{unit:g} against {base:g} NAND2")
            assert gates.small.endswith(f" · {papers.NOT_REPRODUCED}")
            (shown,) = (item for item in content.sections if item.anchor == "claims")
            assert shown.tables[0].rows[0][1].small == f"{gates.small} · earlier run"
            lines = [f"hwgen area {design.command()} --target xc7" for design in designs[:2]]
            assert "\n".join(lines) in [other.command for other in others]


def test_pages_appear_at_once_and_are_renewed(jobs, monkeypatch, tmp_path):
    def written():
        index = (tmp_path / "index.html").read_text()
        points = [Point(*point) for point in json.loads((tmp_path / "compare.json").read_text())["points"]]
        macs = {p.choice: p for p in points if p[1:6] == ("mac", "binary16", "gates", "area", None)}
        return index, {name: (macs[name].value, macs[name].mark) for name in ("hif8", "e5m3")}

    seen = []

    def measure_all(todo, pool, store, progress, outcomes):
        """The first job is finished a minute after the start, the second at once."""
        assert todo == jobs
        progress.start(2.0)
        for job, area, seconds in zip(jobs, (900, 800), (commands.RENEWED, 0), strict=True):
            seen.append(written())
            rows = made_up("mac", "gates", area, format=job.top.partition("_")[0], accumulator="binary16")
            outcomes[job] = Outcome(job, tuple(rows))
            progress._due -= seconds
            progress.advance("a job")
        seen.append(written())

    monkeypatch.setattr(commands, "measure_all", measure_all)
    (tmp_path / "none").mkdir()
    words = ["--formats", "hif8,e5m3", "--store", str(tmp_path / "store"), "--evidence", str(tmp_path / "none")]
    assert main(["report", *words, "-o", str(tmp_path)]) == 0
    earlier = {row.format: row.median for row in load.areas() if (row.component, row.target) == ("mac", "gates")}
    areas = ((earlier["hif8"], "earlier run"), (900, ""), (900, ""))
    for (index, figures), left, (area, mark) in zip(seen, ("2 jobs", "1 job", "1 job"), areas, strict=True):
        assert '<meta http-equiv="refresh" content="60">' in index
        assert f"{left} not finished. Until then, figures of an earlier run stand for theirs" in index
        assert "Stale figures, measured before these modules changed: e5m3_mac_binary16." in index
        assert figures == {"hif8": (area, mark), "e5m3": (earlier["e5m3"], "stale")}
    index, figures = written()
    assert not any(word in index for word in ("refresh", "not finished"))
    assert {name: value for name, (value, _) in figures.items()} == {"hif8": 900, "e5m3": 800}
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["left"], len(report["rows"])) == (0, 4)
