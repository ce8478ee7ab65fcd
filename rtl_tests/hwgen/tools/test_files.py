"""Writing files: all of them or none; other files in the folder do not change."""

import errno
import os
import re
import resource
from pathlib import Path

import pytest

from golden.refusal import BadValue
from hwgen.tools.files import check_writable, staging, write_files, write_folder, write_whole


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_files_appear_beside_what_is_there(tmp_path):
    write_files(tmp_path / "deep" / "out", {"a": "1", "in/b": "2"})
    write_files(tmp_path / "deep" / "out", {"a": "3", "in/c": "ü\n"})
    assert contents(tmp_path / "deep" / "out") == {"a": "3", "in/b": "2", "in/c": "ü\n"}
    assert sorted(path.name for path in (tmp_path / "deep" / "out").iterdir()) == ["a", "in"]


def test_after_an_exception_nothing_has_changed(tmp_path):
    write_files(tmp_path, {"a": "old"})

    def interrupted():
        with staging(tmp_path) as draft, (draft / "a").open("w") as out:
            out.write("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert contents(tmp_path) == {"a": "old"}


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "file").touch()
    place = str(tmp_path / "file" / "out")
    with pytest.raises(BadValue, match=rf"^folder: {re.escape(repr(place))} cannot be written to: Not a directory$"):
        write_folder(tmp_path / "file", "out", {"a": ""})
    with pytest.raises(
        BadValue, match=rf"^folder: {re.escape(repr(place))} cannot be written to: '.*/file' is not a folder$"
    ):
        check_writable(tmp_path / "file" / "out")
    check_writable(tmp_path / "new" / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_files_without_a_place_are_refused_before_any_is_written(tmp_path):
    (tmp_path / "out" / "a").mkdir(parents=True)
    (tmp_path / "out" / "in").touch()
    before = sorted(tmp_path.rglob("*"))
    for file, taken in (("a", "a"), ("in/b", "in")):
        where = re.escape(repr(str(tmp_path / "out" / taken)))
        with pytest.raises(BadValue, match=rf"cannot be written to: {where} is in the way$"):
            check_writable(tmp_path / "out", ["c", file])
    with pytest.raises(BadValue, match=r"cannot be written to: File name too long$"):
        check_writable(tmp_path / "out", ["c" * 300])
    check_writable(tmp_path / "out", ["c", "d/e"])
    assert sorted(tmp_path.rglob("*")) == before


def test_a_full_disk_is_not_bad_input(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left on device"):
        write_folder(tmp_path, "out", {"a": ""})
    assert not any((tmp_path / "out").iterdir())


def test_an_error_of_a_full_disk_names_the_file(tmp_path):
    """Also below a second draft, as in reports. No name of a draft is left in it."""
    large = {"small": "", "in/large": "0" * 5000}

    def nested():
        with staging(tmp_path / "out") as draft:
            write_files(draft, large)

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for write in (lambda: write_files(tmp_path / "out", large), nested):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        try:
            with pytest.raises(OSError, match=rf"File too large: '{re.escape(str(tmp_path))}/out/in/large'$"):
                write()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not any((tmp_path / "out").iterdir())


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / ("a" * 255)
    write_whole(path, b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left on device"):
        write_whole(path, b"new")
    assert contents(tmp_path) == {path.name: "old"}


def test_an_error_names_the_file():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_whole(Path("/dev/full"), b"text")


def test_pipes_are_written_to_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", b"text")
    assert os.read(reader, 9) == b"text"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
