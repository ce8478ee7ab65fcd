"""The runner: outcomes, their order, failures, bugs and interrupts."""

import io
import threading
from concurrent.futures import Future
from dataclasses import replace

import pytest

from golden.refusal import BadValue
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from rtl_tests.synth.area.test_jobs import JOB
from synth.area import runner
from synth.area.jobs import Job
from synth.area.runner import LocalPool, measure, measure_all
from synth.area.store import Store

JOBS = [replace(JOB, top=f"m{number}", renamings=number % 3 + 1) for number in range(6)]


def stub(job, timeout=None):
    if job.top == "m2":
        raise ToolError("no", "a log")
    if job.top == "m4":
        raise OSError("disk\nfull")
    return {"amap": [{"area": 1.0}] * job.renamings}


class Stub:
    """A pool that records its jobs; it finishes them in batches of size ``batch``, the last job first."""

    slots = 3

    def __init__(self, work=stub, batch=1):
        self.work, self.batch, self.ran, self.futures = work, batch, [], []
        self._open = []

    def submit(self, job, timeout):
        future = Future()
        self.ran.append(job)
        self.futures.append(future)
        self._open.append((future, job))
        if len(self._open) == self.batch:
            for pending, pending_job in reversed(self._open):
                try:
                    pending.set_result(self.work(pending_job))
                except Exception as error:
                    pending.set_exception(error)
            self._open.clear()
        return future


@pytest.fixture
def stubbed(monkeypatch):
    monkeypatch.setattr(Job, "execute", stub)


def test_outcomes_come_in_the_order_of_the_jobs(stubbed):
    with LocalPool(2) as local:
        for pool in (Stub(batch=len(JOBS)), local):
            outcomes = measure_all(JOBS, pool)
            assert [outcome.job for outcome in outcomes] == JOBS
            assert [len(outcome.rows) for outcome in outcomes] == [2, 2, 0, 2, 0, 2]


def test_a_failure_is_reported_and_the_others_continue(stubbed):
    with LocalPool(2) as pool:
        outcomes = measure_all(JOBS, pool)
    assert (outcomes[2].error, outcomes[2].log) == ("m2 on gates: no", "a log")
    assert (outcomes[4].error, outcomes[4].log) == ("m4 on gates: OSError: disk full", "")
    assert [outcome.error for outcome in outcomes if outcome.rows] == [None] * 4


def test_a_bug_is_not_a_failed_job(monkeypatch):
    """It is raised unchanged, with its place."""

    def wrong(job, timeout):
        return list(zip((1,), (), strict=True)) if job.top == "m3" else stub(job)

    monkeypatch.setattr(Job, "execute", wrong)
    with LocalPool(2) as pool, pytest.raises(ValueError, match="zip") as caught:
        measure_all(JOBS, pool)
    assert caught.traceback[-1].name == "wrong"


def test_long_jobs_start_first():
    pool = Stub()
    measure_all(JOBS, pool)
    efforts = [job.effort for job in pool.ran]
    assert efforts == sorted(efforts, reverse=True)


def test_no_more_jobs_are_under_way_than_the_pool_needs():
    """So memory does not grow: a job is taken from the source when there is room for it."""
    taken = []

    def source():
        for number in range(1000):
            taken.append(number)
            yield replace(JOB, verilog=f"// {number}\n{JOB.verilog}", top=f"n{number}", renamings=1)

    outcomes = measure(source(), Stub())
    next(outcomes)
    assert len(taken) <= runner.AHEAD * Stub.slots
    assert sum(1 for _ in outcomes) == 999


def test_the_end_of_a_pool_cancels_jobs_that_have_not_started(monkeypatch):
    begun, end = threading.Event(), threading.Event()

    def wait(job, timeout, closed=None):
        begun.set()
        end.wait(60)

    monkeypatch.setattr(runner, "execute_with_retries", wait)
    with LocalPool(1) as pool:
        futures = [pool.submit(job, None) for job in JOBS]
        begun.wait(60)
        threading.Timer(0.2, end.set).start()
    assert [future.cancelled() for future in futures] == [False] + [True] * (len(JOBS) - 1)


def test_a_pool_without_workers_is_refused():
    with pytest.raises(BadValue, match=r"^jobs must be at least 1, not 0$"):
        LocalPool(0)


def test_closing_a_pool_ends_its_tools(monkeypatch):
    stopped = []
    monkeypatch.setattr(runner.process, "stop", lambda: stopped.append(True))
    with pytest.raises(KeyboardInterrupt), LocalPool(1):
        raise KeyboardInterrupt
    assert stopped


def test_progress_counts_jobs(stubbed):
    stream = io.StringIO()
    with LocalPool(1) as pool:
        measure_all(JOBS, pool, progress=Progress(stream, every=1000))
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("6/6 jobs, 2 failed, about 0 s left, last: m")


def test_real_jobs_one_of_which_fails():
    broken = replace(JOB, top="broken", renamings=1)
    with LocalPool(2) as pool:
        outcomes = measure_all([broken, replace(JOB, renamings=1)], pool)
    assert outcomes[0].error.startswith("broken on gates: Yosys did not write")
    assert "broken" in outcomes[0].log
    assert outcomes[1].rows[-1].is_best


def test_stored_results_are_not_measured_again(tmp_path):
    store = Store(tmp_path / "store.sqlite")
    pools = Stub(), Stub()
    first = measure_all(JOBS, pools[0], store)
    second = measure_all([*JOBS, replace(JOBS[0], command="another")], pools[1], store)
    assert sorted(job.top for job in pools[0].ran) == [f"m{number}" for number in range(6)]
    assert sorted(job.top for job in pools[1].ran) == ["m2", "m4"]
    assert [outcome.rows for outcome in second[:6]] == [outcome.rows for outcome in first]
    assert [outcome.known for outcome in second] == [True, True, False, True, False, True, True]
    assert second[6].rows[0].command == "another"
    assert len(store) == 4
