# amaranth: UnusedElaboratable=no
"""A bug is never reported as bad input: it leaves every command with its traceback and status 1."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from golden.refusal import Refusal, check_integer
from hwgen.__main__ import main
from hwgen.blocks.mac import Mac
from hwgen.blocks.parts import Adder
from hwgen.reference.sums import MacReference
from synth.cli import verify

COMMANDS = {
    "generate": ["generate", "mac", "--format", "hif8", "-o", "out"],
    "build": ["build", "chip.toml", "-o", "out"],
    "area": ["area", "mac", "--format", "hif8"],
    "verify": ["verify", "mac", "--format", "hif8", "-o", "out"],
    "verify all": ["verify", "all", "--only", "hif8_mac_binary16", "-o", "out"],
    "sweep": ["sweep", "space.toml", "-o", "out", "--store", "store.sqlite"],
    "report": ["report", "--formats", "hif8", "-o", "out", "--store", "store.sqlite"],
}
BATCH = '[[module]]\nblock = "mac"\nformat = "hif8"\n'
SPACE = 'formats = ["hif8"]\ntargets = ["gates"]\n[mac]\n[decoder]\n'
pytestmark = pytest.mark.usefixtures("silence_unelaborated")
"""A bug leaves components without elaboration."""


def buggy(*_, **__):
    """A bug in a block whose ValueError begins with a word that looks like an option."""
    list(zip([1], [1, 2], strict=True))


def refused(*_, **__):
    """A bug in a block that calls one of its parts with a bad value."""
    check_integer("scale_bits", 99, 0, 10)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verify, "processes", ThreadPoolExecutor)  # other processes would not have the bug
    (tmp_path / "chip.toml").write_text(BATCH)
    (tmp_path / "space.toml").write_text(SPACE)
    return tmp_path


@pytest.mark.parametrize("where", ["_check", "elaborate"])
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_bug_in_a_block_comes_out_as_a_bug(command, where, folder, monkeypatch, capsys):
    monkeypatch.setattr(Mac, where, buggy)
    with pytest.raises(ValueError, match=r"^zip\(\) argument 2 is longer than argument 1$") as bug:
        main(COMMANDS[command])
    assert not isinstance(bug.value, Refusal)
    assert "hwgen: " not in capsys.readouterr().err


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_value_of_our_own_that_is_refused_is_a_bug(command, folder, monkeypatch):
    monkeypatch.setattr(Adder, "elaborate", refused)
    with pytest.raises(
        RuntimeError, match=r"^a value of our own was refused: scale_bits must be an integer from 0 to 10, not 99$"
    ):
        main(COMMANDS[command])


@pytest.mark.parametrize("command", ["generate", "build"])
def test_a_refusal_in_the_reference_is_a_bug(command, folder, monkeypatch):
    monkeypatch.setattr(MacReference, "columns", refused)
    with pytest.raises(RuntimeError, match=r"^a value of our own was refused: "):
        main(COMMANDS[command])
    assert not (folder / "out").exists()


def test_a_bug_ends_with_a_traceback_and_status_1(folder):
    program = "import sys; from hwgen import Mac, __main__; del Mac.elaborate; sys.exit(__main__.main(sys.argv[1:]))"
    process = subprocess.run(
        [sys.executable, "-c", program, *COMMANDS["generate"]], capture_output=True, text=True, check=False
    )
    assert process.returncode == 1
    assert "Traceback (most recent call last):" in process.stderr
    assert not (folder / "out").exists()


def test_generate_runs_without_synth(folder):
    program = "import sys; sys.modules['synth'] = None; from hwgen.__main__ import main; sys.exit(main(sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", program, *COMMANDS["generate"]], check=True)
    assert (folder / "out").exists()
