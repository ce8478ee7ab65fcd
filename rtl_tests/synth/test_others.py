"""``hwgen area``, ``energy`` and ``compare`` of other people's modules."""

import json
import shlex
import shutil
import sys

import pytest

from examples.audit.__main__ import main as audits
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from rtl_tests.support.blocks import texts
from rtl_tests.synth.proof.test_peers import PEERS, RIGHT
from synth.cli.others import UNPROVED

DECODER = """\
package kinds;
  typedef struct packed {{ logic s; logic [1:0] e; logic m; }} e2m1_t;
endpackage
module peer import kinds::*; (input e2m1_t op_i, output logic [15:0] res_o);
  always_comb begin
    if (op_i.e == 0) res_o = op_i.m ? {{op_i.s, 5'd14, 10'd0}} : {{op_i.s, 15'd0}};
    else res_o = {{op_i.s, 5'd14 + {{3'd0, op_i.e}}, {fraction}, 9'd0}};
  end
endmodule
"""
E2M1 = ["decoder", "--format", "e2m1", "--to", "binary16"]
PEER = ["--top", "peer", "--ports", "code=op_i,bits=res_o"]


@pytest.fixture
def peer(tmp_path):
    """Write a peer's decoder of E2M1 and return its path."""

    def write(fraction="op_i.m"):
        (tmp_path / "peer.sv").write_text(DECODER.format(fraction=fraction))
        return str(tmp_path / "peer.sv")

    return write


def test_area_of_system_verilog_with_its_own_ports(peer, capsys):
    file = peer()
    words = [*E2M1, "--verilog", file, *PEER, "--renamings", "1", "--jobs", "1"]
    assert main(["area", *words]) == 0
    first, *table = capsys.readouterr().out.splitlines()
    assert first == f"peer: {UNPROVED}"
    assert "NAND2" in table[1]
    assert main(["area", *words, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith(f"peer: {UNPROVED}")
    row = json.loads(captured.out)[-1]
    assert (row["name"], row["recipe"]) == ("peer", "best")
    assert row["command"].endswith(f"--verilog {file} --top peer --ports code=op_i,bits=res_o")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--top", "other"], "--verilog: other cannot be mapped: "),
        (["--top", "peer"], "--ports must give peer the input code of 4 bits, which has none"),
    ],
)
def test_refusals(words, problem, peer, capsys):
    assert main(["area", *E2M1, "--verilog", peer(), *words]) == 2
    assert problem in capsys.readouterr().err


def test_compare_needs_a_file(capsys):
    assert main(["compare", *E2M1]) == 2
    assert capsys.readouterr().err == "hwgen: --verilog must name the module to compare with ours\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize(("fraction", "verdict"), [("op_i.m", "equal to"), ("1'b0", "differs from")])
def test_compare_prints_a_verdict_and_the_figures_of_both(fraction, verdict, peer, tmp_path, capsys):
    words = [*E2M1, "--verilog", peer(fraction), *PEER, "--renamings", "2", "-o", str(tmp_path / "evidence")]
    assert main(["compare", *words]) == int(verdict != "equal to")
    first, *_, head, area, _, delay = (line for line in capsys.readouterr().out.splitlines() if "energy" not in line)
    assert first.startswith(f"peer: {verdict} the reference model")
    assert head.split() == ["figure", "e2m1_decoder_binary16", "peer", "theirs", "against", "ours"]
    assert area.startswith("area [NAND2], gates")
    assert delay.startswith("fastest delay [FO4], gates")


@pytest.mark.exhaustive
def test_energy_of_a_file_checks_its_results(tmp_path, capsys):
    design = build("mac", "e2m1")
    text, file = texts([design])[design.name], tmp_path / "mine.v"
    file.write_text(text)
    words = ["energy", "mac", "--format", "e2m1", "--verilog", str(file), "--operations", "100", "--renamings", "1"]
    assert main(words) == 0
    assert capsys.readouterr().out.startswith(f"{design.name}: {UNPROVED}\n")
    file.write_text(text.replace("assign acc_out = ", "assign acc_out = 16'd1 ^ "))
    assert main(words) == 1
    assert "differs from the reference model" in capsys.readouterr().err


UNITS = """
[[unit]]
name = "peer"
version = "1.0"
folder = "rtl"
command = "decoder --format e2m1 --to binary16 --verilog {file} --top peer {words} --renamings 2 --jobs 1"
"""


def audit(tmp_path, monkeypatch, file, words="--ports code=op_i,bits=res_o"):
    """Audit a unit, and return the exit status and the page."""
    (tmp_path / "rtl").mkdir()
    (tmp_path / "units.toml").write_text(UNITS.format(file=file, words=words))
    monkeypatch.setattr(sys, "argv", ["audit", str(tmp_path / "units.toml"), "-o", str(tmp_path / "page")])
    return audits(), (tmp_path / "page" / "audit.md").read_text()


def test_an_audit_names_a_unit_that_cannot_be_read(tmp_path, monkeypatch):
    status, page = audit(tmp_path, monkeypatch, "missing.sv")
    assert status == 1
    assert "| peer | 1.0 | hwgen: --verilog: 'missing.sv' " in page


@pytest.mark.exhaustive
@pytest.mark.parametrize(("fraction", "verdict"), [("op_i.m", "equal to"), ("1'b0", "differs from")])
def test_an_audit_has_verdicts_and_figures(fraction, verdict, peer, tmp_path, monkeypatch):
    status, page = audit(tmp_path, monkeypatch, peer(fraction))
    assert status == int(verdict != "equal to")
    assert f"| peer | 1.0 | peer: {verdict} the reference model" in page
    assert "\nfigure " in page
    assert ("\nenergy on gaussian data" in page) == (status == 0)  # wrong results have no energy


@pytest.mark.exhaustive
@pytest.mark.parametrize(("words", "phrases"), RIGHT.values(), ids=RIGHT)
def test_energy_of_peers_with_their_own_ports_and_clocks(words, phrases, tmp_path, monkeypatch, capsys):
    del phrases
    monkeypatch.chdir(shutil.copytree(PEERS, tmp_path / "rtl"))
    assert main(["energy", *shlex.split(words), "--operations", "100", "--renamings", "1", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].endswith(UNPROVED)
    assert "all with the right results" in out
