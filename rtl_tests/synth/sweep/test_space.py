"""Sweeps: a space from a file, the same bytes from every run, and no lost results after failures or interrupts."""

import json
import re
import shlex
import signal
import sys
import threading
import time
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import golden
from golden.arithmetic.options import VARIANTS
from golden.refusal import BadValue
from hwgen.__main__ import main
from hwgen.blocks.catalog import BLOCKS
from hwgen.tools import process
from hwgen.tools.process import ToolError
from rtl_tests.support.paths import ROOT
from rtl_tests.support.processes import running, wait_until
from rtl_tests.support.selection import exhaustive
from rtl_tests.synth.area.test_liberty import CELLS, cut
from rtl_tests.synth.area.test_runner import Stub
from synth.area.jobs import Job
from synth.area.liberty import GATES
from synth.area.runner import LocalPool, measure
from synth.area.store import Store
from synth.report import load
from synth.sweep import cluster, space

SMALL = """
formats = ["hif8", "ocp_e4m3"]
targets = ["gates"]
renamings = 1
[decoder]
to = ["unpacked", "bfloat16"]
[encoder]
from = ["binary16"]
rounding = ["default", "hybrid"]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(SMALL)
    return path


def names(path):
    """Names of the designs in a space."""
    return [design.name for design in space.read(path).designs()]


def stub(job, timeout=None):
    """A quick substitute for a real job: samples that depend on the job's text."""
    del timeout
    areas = [float(len(job.verilog) + seed) for seed in range(job.renamings)]
    return {recipe: [{"area": area, "cells": 1} for area in areas] for recipe in job.recipes()}


# -- the space ---------------------------------------------------------------------------------------------------------


def test_a_space_has_every_valid_combination(file):
    assert names(file) == [
        "hif8_decoder_unpacked",
        "hif8_decoder_bfloat16",
        "ocp_e4m3_decoder_unpacked",
        "ocp_e4m3_decoder_bfloat16",
        "hif8_encoder_binary16_ties_to_away",
        "hif8_encoder_binary16_hybrid",
        "ocp_e4m3_encoder_binary16_ties_to_even",
    ]


def test_the_space_of_the_documentation_is_valid(tmp_path):
    page = (ROOT / "docs" / "sweep.md").read_text()
    path = tmp_path / "space.toml"
    path.write_text(re.search(r"^```toml\n(.*?)^```", page, re.M | re.S)[1])
    assert len(names(path)) == 3 * (2 + 2) * 2 + 3 * 2 + 2


def test_terms_apply_to_exact_only(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text('formats = ["hif8"]\n[mac]\naccumulator = ["binary16", "exact"]\nterms = [2, 1024]\n')
    assert names(path) == ["hif8_mac_binary16", "hif8_mac_exact_n2", "hif8_mac_exact"]
    path.write_text('formats = ["hif8"]\n[mac]\nstages = [0, 3]\n[multiplier]\n')
    assert names(path) == ["hif8_mac_binary16", "hif8_mac_binary16_s3", "hif8_multiplier"]


def test_blocks_without_formats_are_not_swept(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text('formats = ["hif8"]\n[random]\nwidth = [16]\n')
    with pytest.raises(BadValue, match="random"):
        space.read(path)
    assert {*BLOCKS} - {*space.BLOCKS} == {"random"}


@pytest.mark.parametrize("kind", space.BLOCKS)
def test_explicit_defaults_change_nothing(kind, tmp_path):
    """Every option of every block is a key; with its default it gives the same design as an empty table."""
    block, path, designs = BLOCKS[kind], tmp_path / "space.toml", []
    choices = {option.name: block.default(option) for option in block.all_options if option is not block.formats[0]}
    values = {name: value for name, value in choices.items() if value is not None}
    values |= {name: space.DEFAULT for name in ("format-b", "rounding", "overflow") if name in choices}
    values |= {"terms": golden.DEFAULT_TERMS} if "terms" in choices else {}
    without_default = {"random-bits", "block-scale", "policy", "center", "to"}
    without_default |= {name.replace("_", "-") for name in VARIANTS}
    assert {*choices} - {*values} <= without_default
    for table in ("", "\n".join(f"{name} = {json.dumps([value])}" for name, value in values.items())):
        path.write_text(f'formats = ["hif8", "ocp_e4m3"]\n[{kind}]\n{table}\n')
        designs.append([(design.name, design.options) for design in space.read(path).designs()])
    assert designs[0] == designs[1]
    assert len(designs[0]) == 2


def test_every_option_makes_its_own_designs(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text("""
formats = ["hif8"]
[multiplier]
format-b = ["default", "hif8", "ocp_e5m2"]
[mac]
scale-bits = [0, 8]
flags = [false, true]
[dot]
lanes = [2, 4]
[pe]
accumulator = ["binary16", "exact"]
carry-save = [true]
terms = [2]
lanes = [1, 4]  # four lanes are more than two terms
stages = [0, 1]
interleave = [1, 2]
[encoder]
flags = [true]
[readout]
to = ["binary32", "ocp_e4m3"]
rounding = ["default", "hybrid", "stochastic"]
""")
    assert [name.removeprefix("hif8_") for name in names(path)] == [
        "encoder_binary32_ties_to_away_flags",
        *("mac_binary16", "mac_binary16_flags", "mac_binary16_scale8", "mac_binary16_scale8_flags"),
        *("dot2_binary16", "dot4_binary16"),
        *("pe_binary16", "pe_binary16_s1", "pe_binary16_s1_i2"),
        *("pe_exact_n2_carry_save", "pe_exact_n2_carry_save_s1", "pe_exact_n2_carry_save_s1_i2"),
        *("pe4_binary16", "pe4_binary16_s1", "pe4_binary16_s1_i2"),
        *("readout_binary32", "readout_ocp_e4m3_ties_to_even", "readout_ocp_e4m3_stochastic"),
        *("multiplier", "ocp_e5m2_multiplier"),
    ]


def test_an_option_without_meaning_loses_no_design(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text('formats = ["hif8"]\n[encoder]\nrounding = ["default", "stochastic"]\nrandom-bits = [4, 8]\n')
    roundings = [name.removeprefix("hif8_encoder_binary32_") for name in names(path)]
    assert roundings == ["ties_to_away", "stochastic_r4", "stochastic_r8"]
    path.write_text('formats = ["hif8"]\n[encoder]\nrandom-bits = [4]\n[mac]\nclock-enable = [true]\nstages = [0, 1]\n')
    assert names(path) == ["hif8_encoder_binary32_ties_to_away", "hif8_mac_binary16", "hif8_mac_binary16_s1_ce"]


def test_paths_of_formats_are_relative_to_the_space(tmp_path):
    text = (ROOT / "examples" / "formats" / "mx_e2m1.toml").read_text()
    (tmp_path / "mine.toml").write_text(text)
    path = tmp_path / "space.toml"
    path.write_text('formats = ["mine.toml"]\n[mac]\nformat-b = ["mine.toml", "hif8"]\n[readout]\nto = ["mine.toml"]\n')
    macs = ["mx_e2m1_mac_binary16", "mx_e2m1_hif8_mac_binary16"]
    assert names(path) == [*macs, "mx_e2m1_readout_mx_e2m1_ties_to_even"]
    text = text.replace("bias = 1 }", "bias = 2 }").replace("exponent = 0 }", "exponent = -1 }")
    (tmp_path / "other.toml").write_text(text)
    path.write_text('formats = ["mine.toml"]\n[mac]\nformat-b = ["other.toml"]\n')
    with pytest.raises(
        ValueError, match="format 'mx_e2m1' stands for two different formats here; give one of them another name"
    ):
        space.read(path)


def test_signs_of_formulas_in_a_users_format_are_text(tmp_path, monkeypatch, capsys):
    """In its citation and in the path of its file; its name is an identifier."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "examples" / "formats" / "mx_e2m1.toml").read_text()
    text = re.sub("(?m)^cite = .*", lambda _: r"cite = 'A $\frac{$ of $5, x_{y'", text)
    formula = r"$\frac{$"
    (tmp_path / f"{formula}.toml").write_text(text)
    Path("space.toml").write_text(f"formats = ['{formula}.toml']\ntargets = ['gates']\nrenamings = 1\n[decoder]\n")
    words = ["--store", "store", "-o"]
    assert main(["sweep", "space.toml", *words, "swept"]) == 0
    assert main(["report", "--sweep", "swept/sweep.json", *words, "report"]) == 0
    (row, *_) = json.loads(Path("report/report.json").read_text())["rows"]
    assert shlex.split(row["command"])[3:5] == ["--format", f"{formula}.toml"]
    (tmp_path / f"{formula}.toml").write_text(text.replace('"mx_e2m1"', f"'{formula}'"))
    capsys.readouterr()
    assert main(["sweep", "space.toml", *words, "again"]) == 2
    assert f"name must be an identifier, not {formula!r}\n" in capsys.readouterr().err
    assert not Path("again").exists()


def test_registers_need_a_library_with_a_flip_flop(tmp_path, capsys):
    """Refused before the first job and before anything is written."""
    (tmp_path / "cut.lib").write_text(cut(*CELLS))
    (tmp_path / "dff.lib").write_text(cut("DFF"))
    path = tmp_path / "space.toml"
    text = 'formats = ["hif8"]\ntargets = ["gates", "liberty"]\nliberty = ["cut.lib"]\n[decoder]\nstages = [0, 2]\n'
    path.write_text(text)
    assert main(["sweep", str(path), "-o", str(tmp_path / "out"), "--store", str(tmp_path / "store")]) == 2
    assert (
        "the library cut has no flip-flop, which hif8_decoder_binary16_s2 needs; add the file"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "store").exists()
    for change in (("[0, 2]", "[0]"), ('"gates", "liberty"', '"gates"'), ('"cut.lib"', '"cut.lib,dff.lib"')):
        path.write_text(text.replace(*change))
        assert list(space.read(path).designs())


def test_each_library_of_a_space_is_a_target(tmp_path):
    for name in ("one", "two"):
        text = GATES.read_text().replace("library (gates)", f"library ({name})").replace("cell (", f"cell ({name}_")
        (tmp_path / f"{name}.lib").write_text(text)
    path = tmp_path / "space.toml"
    path.write_text(
        'formats = ["hif8"]\ntargets = ["gates", "liberty"]\nliberty = ["one.lib", "one.lib,two.lib"]\n[decoder]\n'
    )
    described, store = space.read(path), Store(tmp_path / "store")
    targets = [(job.target, [library.name for library in job.libraries]) for job in space.jobs(described, store)]
    assert targets == [("gates", []), ("liberty", ["one"]), ("liberty", ["one", "two"])]
    assert [len([*described.jobs(design, "")]) for design in described.designs()] == [3]


def test_energies_are_measured_besides_areas(tmp_path):
    np.save(tmp_path / "mine.npy", np.arange(5.0))
    path = tmp_path / "space.toml"
    head = 'formats = ["e2m1"]\ntargets = ["gates", "xc7"]\nrenamings = 1\nenergy = ["gaussian", "mine.npy"]\n'
    path.write_text(f'{head}[decoder]\nto = ["binary16"]\n[multiplier]\n')
    described, store = space.read(path), Store(tmp_path / "store")
    jobs = list(space.jobs(described, store))
    assert [(job.target, type(job).__name__) for job in jobs] == [
        *(("gates", "Job"), ("xc7", "Job"), ("gates", "EnergyJob"), ("gates", "EnergyJob")),
        *(("gates", "Job"), ("xc7", "Job")),
    ]
    assert [len([*described.jobs(design, "")]) for design in described.designs()] == [4, 2]
    pool = LocalPool(1)
    outcomes = list(measure(space.jobs(described, store), pool, store))
    pool.close()
    assert [outcome.error for outcome in outcomes] == [None] * 6
    rows = json.loads(space.write(described, store, [], tmp_path / "out").read_text())["rows"]
    energies = [row for row in rows if row["metric"] == "energy"]
    assert [(row["name"], row["data"]) for row in energies if row["recipe"] == "best"] == [
        ("e2m1_decoder_binary16", "gaussian"),
        ("e2m1_decoder_binary16", "mine.npy"),
    ]
    read_again = [row for row in load.sweep(str(tmp_path / "out" / "sweep.json"), "sweep").rows if row.is_energy]
    assert [row.to_json() for row in read_again] == energies
    digest = next(row["data_sha256"] for row in energies if row["data"] == "mine.npy")
    assert [row.data for row in read_again if row.is_best] == ["gaussian", f"mine.npy ({digest[:8]})"]
    assert main(["report", "--sweep", str(tmp_path / "out" / "sweep.json"), "-o", str(tmp_path / "report")]) == 0


def test_files_with_the_same_name_are_told_apart(tmp_path):
    path, head = tmp_path / "space.toml", 'energy = ["a/x.npy", "b/x.npy"]\ntargets = ["gates"]\n[mac]\n'
    for folder, numbers in (("a", [1.0, 2.0]), ("b", [1.0, 2.0])):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "x.npy", np.array(numbers))
    path.write_text(head)
    assert [data.name for data in space.read(path).energies] == ["x.npy"]
    np.save(tmp_path / "b" / "x.npy", np.array([1.0, 3.0]))
    with pytest.raises(BadValue, match=r": energy: two different files are called x.npy; rename one of them$"):
        space.read(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('energy = ["gauss"]\n[mac]', "energy must be one of gaussian, laplace, uniform, sparse, or a .npy file, not"),
        ("energy = []\n[mac]", "energy must be a list of strings, not []"),
        ('targets = ["xc7"]\nenergy = ["sparse"]\n[mac]', "energy needs one of the targets gates or liberty"),
        ('energy = ["sparse"]\n[adder]', "energy needs a table for at least one of decoder, "),
        ("formats = 1", "formats must be a list of strings, not 1"),
        ('formats = ["hif9"]', "must be a known format, not 'hif9'; the nearest is hif8"),
        ("[macs]", "the file has an unknown key 'macs'; did you mean 'mac'?"),
        ("[mac]\naccumulators = []", "mac has an unknown key 'accumulators'; did you mean 'accumulator'?"),
        (
            '[mac]\naccumulator = ["binary8"]',
            "mac.accumulator must be one of binary16, bfloat16, binary32, dlfloat16, exact, rvbna, or aligned6 to "
            "aligned40, not 'binary8'",
        ),
        ("[mac]\nterms = [0]", "mac.terms must be a list of integers from 1 to 16777216, not [0]"),
        ("[mac]\nscale-bits = [11]", "mac.scale-bits must be a list of integers from 0 to 10, not [11]"),
        ("[dot]\nlanes = []", "dot.lanes must be a list of integers from 1 to 32, not []"),
        ('[encoder]\nflags = ["yes"]', "encoder.flags must be a list of true or false, not ['yes']"),
        ('[mac]\nformat-b = ["hif9"]', "must be a known format, not 'hif9'; the nearest is hif8"),
        (
            '[mac]\nformat-b = ["binary16"]',
            "'binary16' is a source, decoder target or accumulator, not a format of codes",
        ),
        ('[readout]\nto = ["binary17"]', "must be a known format, not 'binary17'; the nearest are binary16, "),
        ('targets = ["liberty"]\nliberty = [""]\n[decoder]', "liberty: '' names no file"),
        (
            "[decoder]\n[pe]\ninterleave = [2]",
            "pe: no combination of format and options is valid; the first one fails: pe.interleave must be",
        ),
        ('targets = ["liberty"]\n[mac]', "ecp5, or liberty together with the key liberty, not 'liberty'"),
        ("[mac]\nstages = [17]", "mac.stages must be a list of integers from 0 to 16, not [17]"),
        (
            'targets = ["asic"]\n[mac]',
            "targets must be one of gates, cyclonev, xc7, ice40, ecp5, or liberty together with ",
        ),
        ("renamings = 0\n[mac]", "renamings must be an integer from 1 to 64, not 0"),
        ('portfolio = "all"\n[mac]', "portfolio must be one of standard, stock, speed, full, not 'all'"),
        (
            "renamings = 8",
            "there must be a table for at least one of decoder, encoder, quantizer, mac, dot, pe, readout, "
            "amax, multiplier, adder",
        ),
        ("mac = 3", "mac must be a table, not 3"),
        ('liberty = ["none.lib"]\n[mac]', "none.lib cannot be read: No such file or directory"),
        ("[mac", "'{path}' is not valid TOML: "),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, capsys, text, sentence):
    path = tmp_path / "space.toml"
    path.write_text(text)
    assert main(["sweep", str(path), "-o", str(tmp_path / "out"), "--store", str(tmp_path / "store")]) == 2
    message = capsys.readouterr().err
    assert message.startswith("hwgen: FILE: ")
    assert sentence.replace("{path}", str(path)) in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--jobs", "0"], "--jobs must be from 1 to 1024, not 0"),
        (
            ["--jobs", "2", "--dask", "tcp://127.0.0.1:1"],
            "--jobs sets the cores of this machine and cannot be combined with --dask",
        ),
        (["--timeout", "0"], "--timeout must be a positive number of seconds up to 1,000,000,000, not 0"),
        (["--timeout", "1e10"], "--timeout must be a positive number of seconds up to 1,000,000,000, not 1e+10"),
        (["--dask", "tcp://127.0.0.1:1"], "--dask: there is no Dask scheduler at 'tcp://127.0.0.1:1'"),
    ],
)
def test_bad_options_are_refused(file, tmp_path, capsys, monkeypatch, words, sentence):
    monkeypatch.setattr(cluster, "CONNECT", 1.0)
    assert main(["sweep", str(file), "-o", str(tmp_path / "out"), "--store", str(tmp_path / "store"), *words]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("place", ["file", "file/out"])
def test_a_folder_that_cannot_be_written_to_is_refused_before_the_first_job(file, tmp_path, capsys, place):
    (tmp_path / "file").touch()
    assert main(["sweep", str(file), "-o", str(tmp_path / place), "--store", str(tmp_path / "store")]) == 2
    problem = f"{str(tmp_path / place)!r} cannot be written to: {str(tmp_path / 'file')!r} is not a folder"
    assert capsys.readouterr().err == f"hwgen: -o: {problem}\n"
    assert not (tmp_path / "store").exists()


def test_without_dask_the_extra_is_named(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["sweep", str(file), "--store", str(tmp_path / "store"), "--dask", "tcp://127.0.0.1:1"]) == 2
    assert capsys.readouterr().err == "hwgen: --dask: Dask is not installed: pip install '.[dask]' in the clone\n"


# -- the engine --------------------------------------------------------------------------------------------------------


def test_stored_results_are_not_measured_again(file, tmp_path):
    described, store = space.read(file), Store(tmp_path / "store")
    first, second = Stub(stub), Stub(stub)
    assert len(list(measure(space.jobs(described, store), first, store))) == 7
    assert len(list(measure(space.jobs(described, store), second, store))) == 7
    assert (len(first.ran), second.ran) == (7, [])


def test_a_failing_job_is_reported_and_the_others_finish(file, tmp_path):
    described, store = space.read(file), Store(tmp_path / "store")

    def work(job):
        if "bfloat16" in job.top:
            raise ToolError("no")
        return stub(job)

    outcomes = list(measure(space.jobs(described, store), Stub(work), store))
    errors = sorted(outcome.error for outcome in outcomes if outcome.error)
    assert errors == [f"{name}_decoder_bfloat16 on gates: no" for name in ("hif8", "ocp_e4m3")]
    path = space.write(described, store, [outcome for outcome in outcomes if outcome.error], tmp_path / "out")
    data = json.loads(path.read_text())
    measured = {row["name"] for row in data["rows"]}
    assert measured.isdisjoint({failure["name"] for failure in data["failures"]})
    assert len(measured) == 5


# -- pools -------------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.usefixtures("unshared")
def test_a_killed_tool_is_started_again(file, tmp_path):
    """A sweep whose tools are killed twice gives the same bytes as an undisturbed one."""
    described = space.read(file)
    files = []
    for name, kills in (("undisturbed", 0), ("disturbed", 2)):
        store, pool = Store(tmp_path / name), LocalPool(2)

        def kill(kills=kills):
            for _ in range(kills):
                deadline = time.monotonic() + 60
                while not process._running and time.monotonic() < deadline:
                    time.sleep(0.01)
                time.sleep(0.2)
                for tool in list(process._running)[:1]:
                    tool.kill()

        for _ in space.jobs(described, store):
            pass  # the Verilog is in the store
        killer = threading.Thread(target=kill)
        killer.start()
        outcomes = list(measure(space.jobs(described, store), pool, store))
        killer.join()
        pool.close()
        assert [outcome.error for outcome in outcomes] == [None] * 7
        files.append(space.write(described, store, [], tmp_path / f"out_{name}").read_bytes())
    assert files[0] == files[1]


def test_a_job_that_hangs_times_out(file, tmp_path):
    store, pool = Store(tmp_path / "store"), LocalPool(2)
    outcomes = list(measure(space.jobs(space.read(file), store), pool, store, timeout=0.001))
    pool.close()
    assert len(outcomes) == 7
    assert [outcome.log for outcome in outcomes if "no result within 0.001 s" not in outcome.log] == []


SLOWLY = """\
import signal, sys, time
from hwgen.__main__ import main
from synth.area.jobs import Job

def execute(job, timeout, run=Job.execute):
    time.sleep(1)
    return run(job, timeout)

Job.execute = execute
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes background processes ignore the signal
sys.exit(main())
"""
"""``hwgen`` with jobs so slow that an interrupt arrives before the end on any machine."""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), exhaustive(signal.SIGTERM, 143)])
def test_an_interrupted_sweep_resumes(file, tmp_path, monkeypatch, number, status):
    """Finished jobs are not run again."""
    store = Store(tmp_path / "store")
    jobs = list(space.jobs(space.read(file), store))
    words = ["sweep", str(file), "-o", str(tmp_path / "out"), "--store", str(store.path), "--jobs", "1"]

    def kept():
        return [job.top for job in jobs if store.get(job.key) is not None]

    with running([sys.executable, "-c", SLOWLY, *words]) as process:
        wait_until(lambda: bool(kept()), process)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    done = kept()
    assert (process.returncode, out) == (status, "")
    kept_jobs = r"(\d) of 7 jobs are done and kept"
    message = re.fullmatch(rf"hwgen: interrupted: {kept_jobs}; run the same command again to resume\n", err)
    assert message, err
    assert int(message[1]) <= len(done) < 7
    assert not (tmp_path / "out").exists()
    ran = []

    def execute(job, timeout, run=Job.execute):
        ran.append(job.top)
        return run(job, timeout)

    monkeypatch.setattr(Job, "execute", execute)
    assert main(words) == 0
    assert sorted(ran + done) == sorted(job.top for job in jobs)
    assert len({row["name"] for row in json.loads((tmp_path / "out" / "sweep.json").read_text())["rows"]}) == 7


def test_checking_the_designs_is_reported(tmp_path, monkeypatch, capsys):
    """Thousands of designs take a minute to check before the first job starts."""
    (tmp_path / "space.toml").write_text(
        'formats = ["hif8", "e2m1"]\ntargets = ["gates"]\n[decoder]\nto = ["bfloat16", "binary32"]\n[mac]\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hwgen.tools.progress.time.monotonic", count(0, 6).__next__)
    monkeypatch.setattr("synth.area.jobs.Job.execute", lambda job, timeout: failing())
    assert main(["sweep", "space.toml", "-o", "out", "--store", "store"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert re.match(r"[12] of up to 6 designs are checked, about \d+ s left$", lines[0])
    described = space.read("space.toml")
    assert described.total == 6


def failing():
    raise ToolError("no tool")
