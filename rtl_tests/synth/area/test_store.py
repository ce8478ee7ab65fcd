"""The store: results survive concurrent writers, and a file that is not a store is refused."""

import json
import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from golden.refusal import BadValue
from hwgen.__main__ import main
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from synth.area.store import Store, StoreError, verilog
from synth.cli import sweep as commands


def test_results_come_back(tmp_path):
    store = Store(tmp_path / "deep" / "store.sqlite")
    assert store.get("a") is None
    store.put("a", {"samples": {"amap": [{"area": 1.5}]}})
    store.put("a", "a later result of the same key does not count")
    assert store.get("a") == {"samples": {"amap": [{"area": 1.5}]}}
    store.close()
    assert Store(tmp_path / "deep" / "store.sqlite").get("a") == {"samples": {"amap": [{"area": 1.5}]}}


def test_threads_and_processes_share_it(tmp_path):
    path = tmp_path / "store.sqlite"
    program = "import sys; from synth.area.store import Store; store = Store(sys.argv[1]); "
    program += "[store.put(f'{sys.argv[2]}{i}', i) for i in range(200)]"
    processes = [subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in ("p", "q")]
    store = Store(path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: store.put(f"t{i}", i), range(200)))
    assert [process.wait() for process in processes] == [0, 0]
    assert len(store) == 600
    assert store.get("p199") == 199


def test_a_full_disk_is_no_bad_input(tmp_path):
    program = (
        "import resource, signal, sys\nfrom synth.area.store import Store, StoreError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "try:\n    Store(sys.argv[1])\nexcept StoreError as error:\n    print(error)\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "store")]
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert out.startswith(f"Store '{tmp_path / 'store'}' cannot be used: ")


def test_results_keep_their_order(tmp_path):
    """A row lists metrics in the order in which they were measured, also if they come from the store."""
    store = Store(tmp_path / "store")
    store.put("a", {"synch": [{"area": 1, "alm": 2}], "amap": []})
    assert json.dumps(store.get("a")) == '{"synch": [{"area": 1, "alm": 2}], "amap": []}'


@pytest.mark.parametrize("value", ["{", "", "3.5", '{"amap": 3}', "0 {}", "[" * 100_000, b"\xff\x00", 5])
def test_a_value_that_is_no_result_is_measured_again(tmp_path, value):
    store = Store(tmp_path / "store")
    with closing(sqlite3.connect(tmp_path / "store")) as other, other:
        other.execute("insert into results values ('a', ?)", (value,))
    assert store.get("a") is None
    store.put("a", 1)
    assert store.get("a") == 1


def test_a_result_of_another_key_is_measured_again(tmp_path):
    store = Store(tmp_path / "store")
    store.put("a", 1)
    with closing(sqlite3.connect(tmp_path / "store")) as other, other:
        other.execute("insert into results select 'b', value from results")
    assert (store.get("a"), store.get("b")) == (1, None)


def test_a_file_that_is_not_a_store_is_refused(tmp_path):
    (tmp_path / "text").write_text("this is no database, and long enough to look like one" * 100)
    with pytest.raises(BadValue, match=r"^store '.*text' cannot be used: file is not a database$"):
        Store(tmp_path / "text")
    with pytest.raises(BadValue, match=r"^store '.*text/below' cannot be used: "):
        Store(tmp_path / "text" / "below")


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="this system has no such file")
def test_a_file_that_cannot_be_read_is_refused(tmp_path, capsys):
    assert main(["area", "decoder", "--format", "hif8", "--store", "/proc/self/mem"]) == 2
    assert capsys.readouterr().err == "hwgen: --store '/proc/self/mem' cannot be used: disk I/O error\n"
    (tmp_path / "text").write_text("text")
    with pytest.raises(BadValue, match=r"below' cannot be used: .*text: File exists$"):
        Store(tmp_path / "text" / "below")


def test_a_damaged_file_is_refused_even_if_the_reason_is_no_text(tmp_path):
    """The message has the damaged statement that makes the table."""
    with closing(sqlite3.connect(tmp_path / "store")) as other, other:
        other.execute("create table results (key text primary key, value text not null) without rowid")
    content = (tmp_path / "store").read_bytes()
    (tmp_path / "store").write_bytes(content.replace(b"rowid", b"\xffowid"))
    with pytest.raises(BadValue, match=r"^store '.*store' cannot be used: it is damaged$"):
        Store(tmp_path / "store")


def test_a_file_with_other_results_is_refused(tmp_path, capsys):
    with closing(sqlite3.connect(tmp_path / "other")) as other:
        other.execute("create table results (run integer, score real)")
    sentence = f"store {str(tmp_path / 'other')!r} cannot be used: no such column: key"
    with pytest.raises(BadValue, match=f"^{re.escape(sentence)}$"):
        Store(tmp_path / "other")
    assert main(["area", "decoder", "--format", "hif8", "--store", str(tmp_path / "other")]) == 2
    assert capsys.readouterr().err == f"hwgen: --{sentence}\n"


def test_a_database_of_another_program_is_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / "other")) as other:
        other.execute("create table runs (run integer)")
    before = (tmp_path / "other").read_bytes()
    with pytest.raises(BadValue, match=r"cannot be used: it is a database of another program$"):
        Store(tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == before


def test_a_store_that_fails_in_use_is_reported(tmp_path, monkeypatch, capsys):
    """If the disk is full, earlier results stay and the command ends with one sentence."""
    store = Store(tmp_path / "store.sqlite")
    store.put("small", 1)
    store._connection.execute("pragma max_page_count = 3")
    sentence = f"Store {str(tmp_path / 'store.sqlite')!r} cannot be used: database or disk is full"
    with pytest.raises(StoreError, match=f"^{re.escape(sentence)}$"):
        store.put("large", "x" * 100_000)
    assert store.get("small") == 1
    monkeypatch.setattr(commands, "Store", lambda path: store)
    (tmp_path / "space.toml").write_text('formats = ["hif8"]\ntargets = ["gates"]\nrenamings = 1\n[mac]\n')
    assert main(["sweep", str(tmp_path / "space.toml"), "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == f"hwgen: {sentence}\n"


def read_only(store):
    store._connection.execute("pragma query_only = on")


def without_table(store):
    store._connection.execute("drop table results")


def damaged(store):
    store.close()
    content = store.path.read_bytes()
    store.path.write_bytes(content[:4096] + b"x" * (len(content) - 4096))
    store.__init__(store.path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (read_only, "attempt to write a readonly database"),
        (without_table, "no such table: results"),
        (damaged, "database disk image is malformed"),
    ],
)
def test_a_file_that_fails_in_use_is_refused(tmp_path, monkeypatch, capsys, change, problem):
    """The file is at fault, not the machine: one sentence names it."""
    store = Store(tmp_path / "store.sqlite")
    for place in range(100):
        store.put(f"key {place}", "x" * 1000)
    change(store)
    monkeypatch.setattr(commands, "Store", lambda path: store)
    (tmp_path / "space.toml").write_text('formats = ["hif8"]\ntargets = ["gates"]\nrenamings = 1\n[decoder]\n')
    assert main(["sweep", str(tmp_path / "space.toml"), "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"hwgen: --store {str(store.path)!r} cannot be used: {problem}\n"


def test_verilog_is_emitted_once(tmp_path, monkeypatch):
    store = Store(tmp_path / "store.sqlite")
    text = verilog(build("decoder", "hif8"), store)
    assert text == build("decoder", "hif8").verilog() == verilog(build("decoder", "hif8"))
    monkeypatch.setattr(Design, "verilog", lambda self: "emitted again")
    assert verilog(build("decoder", "hif8"), store) == text
    assert verilog(build("decoder", "hif8", name="other"), store) == "emitted again"
