"""The runner: order, failures, progress, and being broken off."""

import io
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace

import pytest

from rtl_tests.synth.area.test_jobs import JOB
from synth.area import runner
from synth.area.runner import Progress, measure
from synth.area.store import Store

JOBS = [replace(JOB, top=f"m{number}", renamings=number % 3 + 1) for number in range(6)]


def stub(job, timeout):
    if job.top == "m2":
        return {"error": "m2: no", "log": "a log"}
    if job.top == "m4":
        raise OSError("disk\nfull")
    return {"samples": {"amap": [{"area": 1.0}] * job.renamings}}


class Backwards(Executor):
    """Does nothing until as many jobs as ``last`` were submitted; then the last one first."""

    def __init__(self, last):
        self.last, self.waiting = last, []

    def submit(self, function, /, *args, **kwargs):
        future = Future()
        self.waiting.append((future, function, args))
        if len(self.waiting) == self.last:
            for future_, function_, arguments in reversed(self.waiting):
                try:
                    future_.set_result(function_(*arguments))
                except OSError as error:
                    future_.set_exception(error)
        return future


@pytest.fixture
def stubbed(monkeypatch):
    monkeypatch.setattr(runner, "execute", stub)


def test_outcomes_come_in_the_order_of_the_jobs(stubbed):
    for executor in (Backwards(len(JOBS)), ThreadPoolExecutor(2)):
        outcomes = list(measure(JOBS, executor))
        assert [outcome.job for outcome in outcomes] == JOBS
        assert [len(outcome.rows) for outcome in outcomes] == [2, 2, 0, 2, 0, 2]
        executor.shutdown()


def test_a_failure_is_told_and_the_others_go_on(stubbed):
    with ThreadPoolExecutor(2) as executor:
        outcomes = list(measure(JOBS, executor))
    assert (outcomes[2].error, outcomes[2].log) == ("m2: no", "a log")
    assert outcomes[4].error == "m4 on gates: OSError: disk full"
    assert [outcome.error for outcome in outcomes if outcome.rows] == [None] * 4


def test_long_jobs_start_first(stubbed):
    executor = Backwards(len(JOBS))
    list(measure(JOBS, executor))
    efforts = [arguments[0].effort for _, _, arguments in executor.waiting]
    assert efforts == sorted(efforts, reverse=True)


def test_breaking_off_cancels_what_has_not_begun(stubbed, monkeypatch):
    class OnlyTheFirst(Backwards):
        def submit(self, function, /, *args, **kwargs):
            future = super().submit(function, *args)
            if len(self.waiting) == 1:
                future.set_result(function(*args))
            return future

    class Interrupted(Progress):
        def advance(self, outcome):
            raise KeyboardInterrupt

    stopped = []
    monkeypatch.setattr(runner.process, "stop", lambda: stopped.append(True))
    executor = OnlyTheFirst(last=99)
    with pytest.raises(KeyboardInterrupt):
        list(measure(JOBS, executor, Interrupted(io.StringIO())))
    assert [future.cancelled() for future, _, _ in executor.waiting] == [False] + [True] * 5
    assert stopped


def test_progress_without_a_terminal_is_a_line_now_and_then(stubbed):
    stream = io.StringIO()
    with ThreadPoolExecutor(1) as executor:
        list(measure(JOBS, executor, Progress(stream, every=1000)))
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("6/6 jobs, 2 failed, about 0 s left, last: m")


def test_progress_on_a_terminal_rewrites_its_line(stubbed):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    with ThreadPoolExecutor(1) as executor:
        list(measure(JOBS, executor, Progress(stream)))
    assert stream.getvalue().count("\r") == len(JOBS)
    assert stream.getvalue().count("\n") == 1


def test_real_jobs_one_of_which_fails():
    broken = replace(JOB, top="broken", renamings=1)
    with ThreadPoolExecutor(2) as executor:
        outcomes = list(measure([broken, replace(JOB, renamings=1)], executor))
    assert outcomes[0].error.startswith("broken on gates: Yosys did not write")
    assert "broken" in outcomes[0].log
    assert outcomes[1].rows[-1]["recipe"] == "best"


def test_what_the_store_holds_is_not_run_again(tmp_path, monkeypatch):
    ran = []

    def counted(job, timeout):
        ran.append(job.top)
        return stub(job, timeout)

    monkeypatch.setattr(runner, "execute", counted)
    store = Store(tmp_path / "store.sqlite")
    with ThreadPoolExecutor(2) as executor:
        first = list(measure(JOBS, executor, store=store))
        assert sorted(ran) == [f"m{number}" for number in range(6)]
        ran.clear()
        second = list(measure([*JOBS, replace(JOBS[0], command="another")], executor, store=store))
    assert sorted(ran) == ["m2", "m4"]
    assert [outcome.rows for outcome in second[:6]] == [outcome.rows for outcome in first]
    assert second[6].rows[0]["command"] == "another"
    assert len(store) == 4
