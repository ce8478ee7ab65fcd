"""`hwgen area`: the jobs that its options select."""

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from rtl_tests.synth.report.test_load import made_up
from synth.area.liberty import GATES
from synth.area.runner import Outcome
from synth.cli import checks


def test_each_library_is_a_job(tmp_path, monkeypatch, capsys):
    """As in a report; commas separate the files of a library."""
    measured = []

    def measure(jobs, pool, store, progress, outcomes):
        measured.extend(jobs)
        outcomes |= {job: Outcome(job, tuple(made_up(build("mac", "hif8"), job.target))) for job in jobs}

    monkeypatch.setattr(checks, "measure_all", measure)
    other = tmp_path / "other.lib"
    other.write_text(GATES.read_text().replace("library (gates)", "library (other)").replace("cell (", "cell (O_"))
    words = ["area", "mac", "--format", "hif8", "--liberty", str(GATES), "--liberty", f"{GATES},{other}"]
    assert main(words) == 0
    assert [[library.name for library in job.libraries] for job in measured] == [["gates"], ["gates", "other"]]
    assert [job.command.partition(" --liberty ")[2] for job in measured] == [str(GATES), f"{GATES},{other}"]
    assert capsys.readouterr().out.splitlines()[1].startswith("gates ")
