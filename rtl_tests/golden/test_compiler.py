"""Compilers that make wrong code are not used, and libraries of wrong code are not kept."""

import subprocess

import pytest

from golden import compiler

REAL = compiler.compiler()
pytestmark = pytest.mark.skipif(REAL is None, reason="there is no C++ compiler")

WRONG = {
    "fast sums": 'exec {real} -ffast-math "$@"',
    "sums in another order": 'exec {real} -fassociative-math -fno-signed-zeros -fno-trapping-math "$@"',
    "no NaN": 'exec {real} -ffinite-math-only "$@"',
    "nothing differs": "[ -f code.cpp ] && sed -i 's/return bits/return 0/' code.cpp; exec {real} \"$@\"",
    "all differs": "[ -f code.cpp ] && sed -i 's/int bits = 0/int bits = 1/' code.cpp; exec {real} \"$@\"",
    "no code": '[ -f code.cpp ] && : > code.cpp; exec {real} "$@"',
}
"""Commands of compilers."""


@pytest.fixture(params=WRONG)
def wrong(request, tmp_path):
    """The path of a compiler that makes wrong code."""
    path = tmp_path / "wrong-c++"
    path.write_text("#!/bin/sh\n" + WRONG[request.param].format(real=REAL) + "\n")
    path.chmod(0o755)
    return str(path)


def test_a_compiler_that_makes_wrong_code_is_not_used(wrong, monkeypatch):
    monkeypatch.setenv("CXX", wrong)
    assert compiler.compiler.__wrapped__() not in (None, wrong)


def test_a_library_of_wrong_code_is_refused_and_not_kept(wrong, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = 'extern "C" int n() { return 8; }'
    with pytest.raises((OSError, subprocess.CalledProcessError)):
        compiler.kept_library(wrong, text, ("-O3",), "n")
    assert compiler.kept_library(REAL, text, ("-O3",), "n").n() == 8


def test_the_command_may_have_arguments(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = 'extern "C" int n() { return ANSWER; }'
    monkeypatch.setenv("CXX", f"{REAL} -DANSWER='4 + 4'")
    command = compiler.compiler.__wrapped__()
    assert command == f"{REAL} '-DANSWER=4 + 4'"
    for _ in range(2):
        assert compiler.kept_library(command, text, ("-O1",), "n").n() == 8
    assert len(list((tmp_path / "minifloat-rtl").iterdir())) == 1


def test_a_kept_library_that_was_cut_off_or_swapped_is_compiled_again(monkeypatch, tmp_path):
    """Loading one that was cut off would kill the process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for answer in (8, 9):
        compiler.kept_library(REAL, f'extern "C" int n() {{ return {answer}; }}', (), f"n{answer}")
    first, other = sorted((tmp_path / "minifloat-rtl").iterdir())
    size = first.stat().st_size
    for content in (first.read_bytes()[: size // 2], first.read_bytes()[:-1], other.read_bytes()):
        first.unlink()
        first.write_bytes(content)
        first.chmod(0o700)
        text = 'extern "C" int n() { return 8; }'
        assert compiler.kept_library(REAL, text, (), "n8").n() == 8
        assert first.stat().st_size == size


@pytest.mark.parametrize("command", ["", " ", "'g++", "no-such-compiler -O1"])
def test_a_command_that_starts_no_compiler_is_passed_over(command, monkeypatch):
    monkeypatch.setenv("CXX", command)
    assert compiler.compiler.__wrapped__() not in (None, command)


def test_the_path_of_a_compiler_may_have_blanks(monkeypatch, tmp_path):
    path = tmp_path / "my compilers" / "c++"
    path.parent.mkdir()
    path.symlink_to(REAL)
    monkeypatch.setenv("CXX", str(path))
    assert compiler.library(compiler.compiler.__wrapped__(), 'extern "C" int n() { return 8; }').n() == 8
