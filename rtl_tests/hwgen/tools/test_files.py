"""Files: all of them or none, and nothing else in the folder changes."""

import re

import pytest

from golden.refusal import BadValue
from hwgen.tools.files import check_writable, staging, write_files, write_folder


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_files_appear_beside_what_is_there(tmp_path):
    write_files(tmp_path / "deep" / "out", {"a": "1", "in/b": "2"})
    write_files(tmp_path / "deep" / "out", {"a": "3", "in/c": "ü\n"})
    assert contents(tmp_path / "deep" / "out") == {"a": "3", "in/b": "2", "in/c": "ü\n"}
    assert sorted(path.name for path in (tmp_path / "deep" / "out").iterdir()) == ["a", "in"]


def test_after_an_exception_nothing_has_changed(tmp_path):
    write_files(tmp_path, {"a": "old"})

    def broken_off():
        with staging(tmp_path) as draft, (draft / "a").open("w") as out:
            out.write("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert contents(tmp_path) == {"a": "old"}


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "file").touch()
    place = str(tmp_path / "file" / "out")
    with pytest.raises(BadValue, match=rf"^folder: {re.escape(repr(place))} cannot be written to: Not a directory$"):
        write_folder(tmp_path / "file", "out", {"a": ""})
    with pytest.raises(BadValue, match=rf"^folder: {re.escape(repr(place))} cannot be written to: '.*/file' is not a folder$"):
        check_writable(tmp_path / "file" / "out")
    check_writable(tmp_path / "new" / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
