"""`hwgen verify`: evidence for emitted modules, users' Verilog and mapped cells; interrupted runs resume."""

import json
import math
import multiprocessing
import os
import re
import shlex
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hwgen.__main__ import main
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import BLOCKS, build
from hwgen.tools import yosys
from hwgen.tools.yosys import YosysError
from rtl_tests.support.blocks import texts
from rtl_tests.support.formal import prove_mapping
from rtl_tests.support.optional import ASAP7, NEEDS_OSU018, NEEDS_SHARED, OSU018, SINGLE_FILE_LIBRARIES
from rtl_tests.support.processes import running, wait_until
from rtl_tests.support.selection import exhaustive
from synth.area import liberty
from synth.area.digest import sha256
from synth.area.jobs import Job, mapped_netlist
from synth.area.recipes import RECIPES, SIZING, SPEED
from synth.area.targets import LIBERTY
from synth.area.timing import gates_with_drives
from synth.cli import verify as commands
from synth.proof import verify as checks
from synth.proof.cases import input_sweep
from synth.proof.codes import ReadoutProof
from synth.proof.evidence import PROVED, EvidenceStore, read_verdicts, write_verdicts
from synth.proof.files import UserFile
from synth.proof.gates import NetlistError
from synth.proof.mapping import read_cells
from synth.proof.solver import Claim
from synth.proof.verify import Subject, begin
from synth.studies import speeds

GATES = liberty.GATES
ENCODER = ["verify", "encoder", "--format", "hif8", "--from", "binary16"]


NO_VALUE = """
module hif8_decoder_binary16 (input [7:0] code, output [15:0] bits);
  wire [15:0] r;
  right u (.code(code), .bits(r));
  assign bits = code == 8'h12 ? 16'hzzzz : r;
endmodule
"""
"""A decoder around the right one, with z for one code."""


def own(tmp_path, design, change=lambda text: text, top="mine"):
    """Options for a user's file: the emitted text under another name, with a change."""
    text = change(texts([design])[design.name]).replace(f"module {design.name} ", f"module {top} ")
    file = tmp_path / "mine.v"
    file.write_text(text)
    return ["--verilog", str(file), "--top", top, "-o", str(tmp_path / "evidence")]


def test_the_emitted_module_is_equal(tmp_path, capsys):
    assert main([*ENCODER, "-o", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("hif8_encoder_binary16_ties_to_away: equal to the reference model on all 2^16 inputs, in ")
    record = json.loads((tmp_path / "hif8_encoder_binary16_ties_to_away.json").read_text())
    assert (record["verdict"], record["cases"], record["inputs"]) == ("equal", 65536, 65536)
    assert record["method"] == "every input, evaluated on the gates"
    assert set(record["hashes"]) == {"verilog", "formats", "golden", "checks"}
    assert set(record["tools"]) == {"yosys", "numpy", "python", "compiler", "amaranth"}
    assert (
        record["command"]
        == "hwgen verify encoder --format hif8 --from binary16 --rounding ties_to_away --overflow infinity"
    )
    assert main([*ENCODER, "-o", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "equal"


def test_a_users_own_file_is_checked(tmp_path, capsys):
    design = build("encoder", "hif8", source="binary16")
    assert main([*ENCODER, *own(tmp_path, design)]) == 0
    assert capsys.readouterr().out.startswith("mine: equal to the reference model on all 2^16 inputs")
    broken = own(
        tmp_path, design, lambda text: text.replace("assign code = ", "assign code = (bits == 16'h3c01) ? 8'h09 : ")
    )
    assert main([*ENCODER, *broken]) == 1
    out = capsys.readouterr().out
    first = "one unit in the last place (1 of 20,000 vectors): bits 0x3c01: code 0x9, expected code 0x8 (1.0009765625 "
    assert f"mine: differs from the reference model\n  {first}" in out
    record = json.loads(next((tmp_path / "evidence").glob("mine.mine.v.*.json")).read_text())
    assert record["verdict"] == "different"
    assert record["counterexamples"][0]["inputs"] == {"bits": "0x3c01"}


WRONG = {
    "decoder": {},
    "encoder": {"source": "ocp_e4m3"},
    "quantizer": {"source": "bfloat16", "lanes": 1},
    "mac": {"accumulator": "exact"},
    "dot": {"accumulator": "exact", "lanes": 2},
    "pe": {"accumulator": "exact", "lanes": 2},
    "readout": {"target": "e2m1", "terms": 1},
    "amax": {"source": "ocp_e4m3", "lanes": 2, "policy": "rceil"},
    "random": {"width": 16, "random_bits": 5},
}
"""Options of a small module of each block."""


@pytest.mark.parametrize("kind", [kind for kind, block in BLOCKS.items() if block.generated])
def test_a_wrong_module_of_each_block_differs(tmp_path, capsys, kind):
    """One bit of the first operand is inverted; a block without operands takes its next state from another bit."""
    design = build(kind, *([] if kind == "random" else ["e2m1"]), **WRONG[kind])
    operand = next((port for port in design.ports if port.direction == "input" and port.width > 1), None)

    def wrong(text):
        if operand is None:
            return text.replace("state[2] ^ state[4]", "state[2] ^ state[5]", 1)
        head, end, body = text.partition(");\n")
        body = re.sub(rf"\b{operand.name}\b", "operand", body)
        return f"{head}{end}  wire [{operand.width - 1}:0] operand = {operand.name} ^ 1;\n{body}"

    words = design.command().split() + own(tmp_path, design, wrong)
    assert main(["verify", *words, "--jobs", "1"]) == 1
    assert capsys.readouterr().out.startswith("mine: differs from the reference model\n")


@pytest.mark.parametrize("kind", sorted(WRONG.keys() - {"random"}))
def test_an_additional_output_is_refused_or_named(tmp_path, capsys, kind):
    """With ``--ports`` it is named, as one that is not compared."""
    design = build(kind, "e2m1", **WRONG[kind])
    result = design.ports[-1].name
    more = ",\n  output more\n);\n  assign more = 1'b0;"
    words = design.command().split() + own(tmp_path, design, lambda text: text.replace("\n);", more, 1))
    assert main(["verify", *words]) == 2
    assert "more[1]" in capsys.readouterr().err
    assert main(["verify", *words, "--ports", f"{result}={result}"]) == 0
    assert "not compared: more[1]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--verilog", "{tmp}/none.v"], "--verilog: '{tmp}/none.v' cannot be read: No such file or directory"),
        (["--top", "x"], "--top needs --verilog"),
        (["--jobs", "0"], "--jobs must be from 1 to 1024, not 0"),
        (["--jobs", str(1 << 64)], f"--jobs must be from 1 to 1024, not {1 << 64}"),
        (["--verilog", "{tmp}/other.lib"], "--verilog: hif8_encoder_binary16_ties_to_away cannot be mapped: "),
        (["--liberty", "{tmp}/none.lib"], "--liberty: {tmp}/none.lib cannot be read: No such file or directory"),
        (
            ["--liberty", str(GATES), "--liberty", "{tmp}/other.lib"],
            "--liberty: a module is mapped to one library; separate the files of one library by commas",
        ),
        (["--verilog", "{tmp}/ports.v", "--top", "ports"], "--verilog: ports must have the inputs bits[16], not x[16]"),
        (
            ["--verilog", "{tmp}/clocked.v", "--top", "clocked"],
            "--verilog: clocked must be combinational; it contains a register or latch ($dff)",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(tmp_path, capsys, words, sentence):
    (tmp_path / "ports.v").write_text(
        "module ports (input [15:0] x, output [7:0] code); assign code = x[7:0]; endmodule"
    )
    (tmp_path / "clocked.v").write_text(
        "module clocked (input [15:0] bits, output reg [7:0] code);"
        " always @(posedge bits[0]) code <= bits[8:1]; endmodule"
    )
    (tmp_path / "other.lib").write_text(GATES.read_text())
    folder = tmp_path / "evidence"
    assert main([*ENCODER, "-o", str(folder), *(word.replace("{tmp}", str(tmp_path)) for word in words)]) == 2
    err, start = capsys.readouterr().err, f"hwgen: {sentence.replace('{tmp}', str(tmp_path))}"
    assert err.startswith(start) if sentence.endswith(": ") else err == f"{start}\n"
    assert err.count("\n") == 1
    assert not folder.exists()


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("assign code = ;", "syntax error"),
        ("wire [7:0] n; assign code = n;", "is used but has no driver"),
        ("assign code = bits[7:0]; assign code = bits[15:8];", "multiple conflicting drivers"),
        ("wire n; assign n = n & bits[0]; assign code = {8{n}};", "found logic loop"),
        ("reg r; always @(posedge bits[0]) r <= 1; assign code = {8{r}};", "it contains a register or latch ($dff)"),
        ("reg r; always @* if (bits[0]) r = 1; assign code = {8{r}};", "it contains a register or latch ($adlatch)"),
        ("assign code = bits[0] ? 8'h00 : 8'hzz;", "must not use the value z"),
        ("assign code = bits[0] ? 8'h00 : 8'hxx;", "outputs that may depend on the undefined value x"),
        ("missing m (bits, code);", "missing"),
    ],
)
def test_what_simulators_and_synthesis_see_differently_is_refused(tmp_path, capsys, body, sentence):
    file = tmp_path / "mine.v"
    file.write_text(f"module mine (input [15:0] bits, output [7:0] code); {body} endmodule")
    assert main([*ENCODER, "--verilog", str(file), "--top", "mine", "-o", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("hwgen: --verilog: mine ")
    assert sentence in message
    assert not list(tmp_path.glob("*.json"))


def test_a_macro_that_contains_itself_is_refused(tmp_path, capsys):
    file = tmp_path / "mine.v"
    file.write_text(
        "`define A (`A + 1)\nmodule mine (input [15:0] bits, output [7:0] code); assign code = `A; endmodule"
    )
    assert main([*ENCODER, "--verilog", str(file), "--top", "mine", "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "hwgen: --verilog: the macro `A contains itself\n"
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize("top", ["", "mine; log hi", "x\nwrite_verilog y.v", "\\a/b ", "nope"])
def test_a_bad_top_is_refused(tmp_path, capsys, top):
    file = tmp_path / "mine.v"
    file.write_text(texts([build("encoder", "hif8", source="binary16")])["hif8_encoder_binary16_ties_to_away"])
    assert main([*ENCODER, "--verilog", str(file), "--top", top, "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_inputs_checked_as_one_block_do_not_count_for_another(tmp_path):
    """Otherwise a file that is right for other halves of its inputs under each option would pass for both."""
    designs = [build("encoder", "hif8", overflow=overflow) for overflow in ("saturate", "infinity")]
    store = EvidenceStore(tmp_path)
    subjects = [
        Subject(design, "some text", "mine", "mine.v", (), f"hwgen verify {design.command()}") for design in designs
    ]
    partial = begin(subjects[0], store)
    partial.done, partial.cases = [0, 1], 1 << 25
    store.save(partial)
    assert begin(subjects[0], store).done == [0, 1]
    assert begin(subjects[1], store).done == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("done", [0, 0]),
        ("done", [-1]),
        ("done", None),
        ("done", ["0"]),
        ("seconds", "x"),
        ("seconds", -1.0),
        ("cases", "all"),
        ("hashes", []),
        ("hashes", {}),
        ("hashes", {"verilog": 3}),
        ("tools", {"yosys": None}),
        ("libraries", ["a library without its hash"]),
        ("libraries", [1]),
        ("seconds", math.inf),
        ("seconds", math.nan),
        ("inputs", 0),
        ("cases", -1),
        ("verdict", "perfect"),
        ("module", "\ud800"),
        ("counterexamples", [{}]),
        ("counterexamples", {}),
        ("counterexamples", [{"sentence": "of a check without a verdict"}]),
        ("module", ""),
        ("place", ""),
        ("inputs", 10**4000),
        ("seconds", 10**400),
        ("verdict", "different"),
        ("prover", "../synth.proof.codes"),
    ],
)
def test_a_broken_record_is_ignored(tmp_path, key, value):
    store, subject = EvidenceStore(tmp_path), Subject(build("encoder", "hif8"), "some text", "mine", "mine.v", (), "")
    partial = begin(subject, store)
    store.save(partial)
    path = store.path(partial.name)
    path.write_text(json.dumps({**json.loads(path.read_text()), "done": [3], key: value}))
    assert begin(subject, store).done == []


def test_only_a_verdict_without_contradiction_under_its_own_name_counts(tmp_path):
    assert main([*ENCODER, "-o", str(tmp_path)]) == 0
    (path,), store = tmp_path.iterdir(), EvidenceStore(tmp_path)
    record = json.loads(path.read_text())
    path.with_name("copy.json").write_text(path.read_text())
    assert [evidence.name for evidence in store] == [path.stem]
    path.write_text(json.dumps({**record, "counterexamples": [{"sentence": "bits 0x1: code 0x2"}]}))
    assert not list(store)


@pytest.mark.parametrize("name", ["emitted", "mine.v"])
def test_no_name_of_a_users_file_makes_it_ours(tmp_path, capsys, name):
    """Checks that our own modules pass by construction are made of every other file, and its record says so."""
    design, file, folder = build("decoder", "hif8"), tmp_path / name, tmp_path / "evidence"
    words = ["verify", "decoder", "--format", "hif8", "--verilog", str(file), "-o", str(folder)]
    text = texts([design])[design.name]
    file.write_text(text.replace(f"module {design.name} ", "module right ") + NO_VALUE)
    assert main(words) == 2
    sentence = f"{design.name} must not use the value z, which gates cannot represent"
    assert capsys.readouterr().err == f"hwgen: --verilog: {sentence}\n"
    file.write_text(text)
    assert main(words) == 0
    (record,) = EvidenceStore(folder)
    assert not record.is_emitted
    assert record.name.startswith(f"{design.name}.{name}.")
    assert main(words[:4] + words[-2:]) == 0
    assert [record.is_emitted for record in EvidenceStore(folder)].count(True) == 1
    nameless = UserFile(design, text, design.name, name, (), "")
    assert not nameless.evidence().is_emitted


ALL = ["verify", "all", "--only", "hif8_decoder_binary16,ocp_e4m3_decoder_binary16"]
HERE = ["--jobs", "1"]
"""The modules are checked in this process."""


@pytest.fixture
def three_modules(monkeypatch):
    monkeypatch.setattr(commands, "designs", lambda: [build("decoder", name) for name in ("hif8", "e2m1", "ocp_e4m3")])


@pytest.mark.usefixtures("three_modules")
def test_verdicts_are_a_table_that_resumes(tmp_path, capsys):
    """Rows of the same program and tools are not checked again; others are, and rows keep the order of the modules."""
    file = tmp_path / "proofs.csv"
    words = [*ALL, "--verdicts", str(file), "-o"]
    assert main([*words[:2], "--only", "ocp_e4m3_decoder_binary16", *words[4:], str(tmp_path / "first")]) == 0
    assert main([*words, str(tmp_path / "second")]) == 0
    assert [path.stem for path in (tmp_path / "second").iterdir()] == ["hif8_decoder_binary16"]
    assert capsys.readouterr().out.endswith(f"1 modules are equal according to {file}\n")
    text = file.read_text()
    _, basis, _, *rows = text.splitlines()
    digits, _, words_of_basis = basis.removeprefix("# ").partition(": ")
    assert digits == sha256(words_of_basis)[:8]
    assert words_of_basis.startswith("every input, evaluated on the gates; program ")
    assert [row.split(",")[0] for row in rows] == ["hif8_decoder_binary16", "ocp_e4m3_decoder_binary16"]
    verilog = texts([build("decoder", "hif8")])["hif8_decoder_binary16"]
    assert rows[0] == f"hif8_decoder_binary16,{sha256(verilog)[:12]},256,equal,{digits}"
    record = json.loads((tmp_path / "second" / "hif8_decoder_binary16.json").read_text())
    assert all(tool in basis for tool in record["tools"].values())
    changes = (
        (",equal,", ",different,"),
        ("program ", "program 0"),
        ("yosys yowasp", "yosys other"),
        ("on the gates", "on paper"),
        (",256,equal", ",99,equal"),
    )
    for place, (old, new) in enumerate(changes):
        file.write_text(text.replace(old, new).replace(digits, sha256(words_of_basis.replace(old, new))[:8]))
        assert main([*words, str(tmp_path / str(place)), *HERE]) == 0
        assert len(list((tmp_path / str(place)).iterdir())) == 2
        assert file.read_text() == text
    capsys.readouterr()
    assert main([*words, str(tmp_path / "last")]) == 0
    assert capsys.readouterr().out == f"2 modules are equal according to {file}\n"
    file.write_text(text.replace("hif8_decoder_binary16", "a_module_that_no_longer_exists"))
    assert main([*words, str(tmp_path / "gone"), *HERE]) == 0
    assert file.read_text() == text


@pytest.mark.usefixtures("three_modules")
def test_a_row_with_the_verilog_of_another_module_is_not_believed(tmp_path):
    file, designs = tmp_path / "proofs.csv", commands.designs()
    subjects = [Subject(design, design.name, design.name, None, (), "") for design in designs]
    rows = [replace(subject.evidence(*subject.method()), verdict="equal").verdict_row for subject in subjects]
    write_verdicts(file, rows)
    assert [commands.Verdicts(str(file), designs).has(design) for design in designs] == [True] * 3
    write_verdicts(file, [rows[0], rows[1]._replace(verilog=rows[0].verilog), rows[2]])
    assert [commands.Verdicts(str(file), designs).has(design) for design in designs] == [False, False, True]


@pytest.mark.parametrize(("reason", "status"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
@pytest.mark.usefixtures("three_modules")
def test_an_interrupted_table_has_what_is_done(tmp_path, capsys, monkeypatch, reason, status):
    file, add = tmp_path / "proofs.csv", commands.Verdicts.add

    def interrupt(self, record):
        add(self, record)
        raise reason

    monkeypatch.setattr(commands.Verdicts, "add", interrupt)
    assert main([*ALL, "--verdicts", str(file), "-o", str(tmp_path / "out")]) == status
    done = "hwgen: interrupted: 1 of 2 modules are done; run the same command again to resume\n"
    assert capsys.readouterr().err.endswith(done)
    assert len(read_verdicts(file)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "proofs.csv"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "module,verilog\n",
        "\xff",
        "{head}\nmodule,verilog,inputs,verdict,basis\na,b,1,equal,0\n",
        "{head}\n# {x}: x\nmodule,verilog,inputs,verdict,basis\na,b,1,equal,{x}\na,b,1,different,{x}\n",
        "{head}\n# {x}: y\nmodule,verilog,inputs,verdict,basis\na,b,1,equal,{x}\n",
        "{head}\n# 0: x\nmodule,verilog,inputs,verdict,basis\na,b,1,equal,0\n",
        "{head}\n# {x}: x\nmodule,verilog,inputs,verdict,basis\na,b,1,equal,{y}\n",
    ],
)
@pytest.mark.usefixtures("three_modules")
def test_another_table_is_refused(tmp_path, capsys, text):
    file = tmp_path / "proofs.csv"
    write_verdicts(file, [])
    digits = {basis: sha256(basis)[:8] for basis in "xy"}
    content = text.format(head=file.read_text().splitlines()[0], **digits).encode("latin-1")
    file.write_bytes(content)
    assert main([*ALL, "--verdicts", str(file), "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"hwgen: --verdicts {str(file)!r} is not what hwgen verify all writes\n"
    assert file.read_bytes() == content


def test_a_table_is_a_file(tmp_path, capsys):
    assert main([*ALL, "--verdicts", "/dev/zero", "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "hwgen: --verdicts '/dev/zero' is not a file\n"


def test_a_table_that_is_only_read_exists(tmp_path, capsys):
    words = ["verify", "tile", "--format", "e2m1", "--verdicts", str(file := tmp_path / "new" / "none.csv")]
    assert main([*words, "-o", str(tmp_path / "out")]) == 2
    sentence = f"hwgen: --verdicts {str(file)!r} cannot be read: No such file or directory\n"
    assert capsys.readouterr().err == sentence
    assert not any(tmp_path.iterdir())


@pytest.mark.usefixtures("three_modules")
def test_two_writers_of_a_table_lose_no_row(tmp_path, monkeypatch):
    """The file may be behind a link, in a folder that does not exist yet."""
    (tmp_path / "link.csv").symlink_to("new/proofs.csv")
    (tmp_path / "new").mkdir()
    records = [Subject(design, "", design.name, None, (), "").evidence() for design in commands.designs()]
    tables = [commands.Verdicts(str(tmp_path / "link.csv"), commands.designs()) for _ in records]

    def write(table, record):
        table.add(record)
        for _ in range(20):
            table.write()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, tables, records))
    assert list(read_verdicts(tmp_path / "new" / "proofs.csv")) == [record.module for record in records]
    assert (tmp_path / "link.csv").is_symlink()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["proofs.csv"]
    monkeypatch.setattr(os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tables[0].write()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["proofs.csv"]
    commands.Verdicts(str(tmp_path / "other" / "proofs.csv"), commands.designs())
    assert (tmp_path / "other").is_dir()


def test_equal_needs_every_input(tmp_path):
    store, subject = EvidenceStore(tmp_path), Subject(build("encoder", "hif8"), "some text", "mine", "mine.v", (), "")
    partial = begin(subject, store)
    partial.verdict, partial.cases = "equal", 5
    store.save(partial)
    assert begin(subject, store).verdict == "incomplete"


def test_a_compiler_that_does_not_compile_is_not_used(tmp_path):
    command = [sys.executable, "-m", "hwgen", *ENCODER[:-2], "--from", "bfloat16", "-o", str(tmp_path)]
    process = subprocess.run(
        command, env={**os.environ, "CXX": "/bin/false"}, capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.parametrize(
    "library",
    [
        pytest.param(GATES, id=GATES.name),
        *(
            pytest.param(*item.values, marks=[*item.marks, pytest.mark.exhaustive], id=item.id)
            for item in SINGLE_FILE_LIBRARIES
        ),
    ],
)
def test_mapped_cells_are_checked_by_their_functions(tmp_path, capsys, library):
    words = ["verify", "mac", "--format", "e5m2_nosub", "--liberty", str(library), "-o", str(tmp_path), "--json"]
    assert main(words) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["verdict"], record["cases"]) == ("equal", 1 << 32)
    assert record["libraries"] == [liberty.read(library).name]
    assert "libraries" in record["hashes"]


@pytest.mark.parametrize("words", [["decoder", "--format", "hif8"], ["all", "--only", "hif8_decoder_binary16"]])
def test_a_folder_in_the_way_of_the_evidence_is_refused_before_the_check(tmp_path, capsys, words):
    (tmp_path / "hif8_decoder_binary16.json").mkdir()
    assert main(["verify", *words, "-o", str(tmp_path)]) == 2
    place = tmp_path / "hif8_decoder_binary16.json"
    assert (
        capsys.readouterr().err == f"hwgen: -o: {str(tmp_path)!r} cannot be written to: {str(place)!r} is in the way\n"
    )


def test_a_cell_with_a_wrong_function_is_found():
    """Cells are checked by their functions in the library, not by the functions that they were chosen for."""
    design = build("decoder", "hif8")
    cells = mapped_netlist(texts([design])[design.name], design.name, [liberty.read(GATES)], "amap", 1)
    assert "NAND2 " in cells
    right, other = (read_cells(cells, design.name, [library]) for library in (liberty.read(GATES), wrong_nand()))
    assert any(right.evaluate({"code": code}) != other.evaluate({"code": code}) for code in range(256))


FAST = (
    *(("mfs_depth_map", name) for name in speeds.FORMATS),
    *(("mfs_fast_map", "ocp_e5m2"), ("mfs_map_20", "hif8"), ("mfs_dc2_depth_map_28", "ocp_e4m3")),
)
"""Recipes and formats of netlists of MACs that are built for speed."""


@pytest.mark.parametrize(
    ("recipe", "design"),
    [
        ("lut_amap", build("encoder", "hif8", source="binary16", rounding="hybrid")),
        ("amap", build("decoder", "ocp_e4m3", stages=2, clock_enable=True)),
        ("depth_map", build("encoder", "hif8", source="binary16", rounding="hybrid")),
        *(exhaustive(recipe, build("mac", "hif8")) for recipe in RECIPES["cells"]),
        *(exhaustive(recipe, speeds.mac(name, "speed")) for recipe, name in FAST),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_counted_netlists_are_right(tmp_path, capsys, recipe, design):
    """One renaming of each recipe that maps to cells; recipes that choose sizes use cells in four sizes."""
    library = GATES
    if recipe in SIZING:
        library = tmp_path / "sized.lib"
        library.write_text(gates_with_drives().text)
    words = [*design.command().split(), "--liberty", str(library), "--recipe", recipe, "--renaming", "2"]
    assert main(["verify", *words, "-o", str(tmp_path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["verdict"], record["cases"]) == ("equal", record["inputs"])
    assert record["command"].endswith(f"--recipe {recipe} --renaming 2")


def test_sizes_need_delays(tmp_path, capsys):
    words = ["--liberty", str(GATES), "--recipe", "depth_map", "-o", str(tmp_path)]
    assert main(["verify", "decoder", "--format", "hif8", *words]) == 2
    assert capsys.readouterr().err == (
        "hwgen: --recipe: depth_map sizes cells by their delays, but gates has none; "
        "use one of stock, amap, amap2, lut_amap\n"
    )


MAC, STAGED = build("mac", "hif8"), build("encoder", "e5m2b1", source="binary16", stages=2)


@pytest.mark.parametrize(
    ("design", "portfolio"),
    [
        (STAGED, "full"),
        *(exhaustive(*pair) for pair in ((STAGED, SPEED), (MAC, "full"), (MAC, SPEED))),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_mapped_netlist_is_the_counted_one(design, portfolio):
    """Its cells have the area that a job reports, for each recipe and seed, in any order of renamings."""
    library = gates_with_drives() if portfolio == SPEED else liberty.read(GATES)
    text, areas = texts([design])[design.name], {cell.name: cell.area for cell in library.cells}
    job = Job(design.kind, (), text, design.name, design.ports, LIBERTY, portfolio, 2, (library,), seed=2)
    for recipe, samples in job.execute().items():
        for seed, sample in zip(job.seeds, samples, strict=True):
            names = re.findall(r"^  (\w+) \S+ \($", mapped_netlist(text, design.name, [library], recipe, seed), re.M)
            assert len(names) == sample["cells"]
            assert sum(areas[name] for name in names) == pytest.approx(sample["area"])


def test_a_netlist_of_cells_is_checked_unchanged(tmp_path, capsys):
    design = build("encoder", "ocp_e4m3", source="binary16")
    cells = mapped_netlist(texts([design])[design.name], design.name, [liberty.read(GATES)], "amap2", 1)
    file = tmp_path / "placed.v"
    words = ["verify", *design.command().split(), "--verilog", str(file), "--liberty", str(GATES), "-o", str(tmp_path)]
    file.write_text(cells)
    assert main(words) == 0
    capsys.readouterr()
    file.write_text(cells.replace("NAND2 ", "NOR2 ", 1))
    assert main(words) == 1
    assert "differs from the reference model" in capsys.readouterr().out
    file.write_text(cells.replace("NAND2 ", "NAND9 ", 1))
    assert main(words) == 2
    assert "NAND9" in capsys.readouterr().err


def test_a_netlist_may_have_other_logic(tmp_path, capsys):
    """Beside cells of the library, a module may have anything that a module without cells may have."""
    design = build("decoder", "e2m1", target="bfloat16")
    arms = " ".join(f"4'd{code}: sign = {code >> 3};" for code in range(15))
    logic = "wire same; BUF u (.A(code[3]), .Y(same)); reg sign; "
    logic += f"always @* case (code) {arms} default: sign = same; endcase"
    text = texts([design])[design.name]
    assert "wire sign = code[3];" in text
    file = tmp_path / "mixed.v"
    words = ["verify", *design.command().split(), "--verilog", str(file), "--liberty", str(GATES), "-o", str(tmp_path)]
    for shown, right in ((logic, True), (logic.replace("sign = 1", "sign = 0", 1), False)):
        file.write_text(text.replace("wire sign = code[3];", shown))
        assert main(words) == (0 if right else 1)
        assert ("equal to the reference model on all 16 inputs" in capsys.readouterr().out) is right


@pytest.mark.parametrize("command", ["verify", "simulate"])
def test_files_in_other_encodings(tmp_path, capsys, monkeypatch, command):
    """Comments may have bytes that are no UTF-8; a file may begin with a byte order mark, and have the lines of DOS."""
    design = build("decoder", "e2m1", target="bfloat16")
    text = texts([design])[design.name]
    monkeypatch.chdir(tmp_path)
    for content in (b"// caf\xe9\r\n" + text.encode(), b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()):
        (tmp_path / "old.v").write_bytes(content)
        assert main([command, *design.command().split(), "--verilog", "old.v"]) == 0, capsys.readouterr()


def test_files_with_the_same_name_have_separate_evidence(tmp_path):
    design = build("decoder", "ocp_e4m3")
    for folder in ("right", "wrong"):
        file = tmp_path / folder / "mine.v"
        file.parent.mkdir()
        text = texts([design])[design.name]
        file.write_text(text if folder == "right" else re.sub(r"assign (\w+) = ", r"assign \1 = ~", text, count=1))
        words = ["verify", *design.command().split(), "--verilog", str(file), "-o", str(tmp_path / "evidence")]
        assert main(words) == (folder == "wrong")
        assert main(words) == (folder == "wrong")
    assert sorted(record.verdict for record in EvidenceStore(tmp_path / "evidence")) == ["different", "equal"]


def test_files_with_long_names_have_separate_evidence(tmp_path):
    """Of a long name only the first letters are in that of the record."""
    text = texts([build("decoder", "e2m1")])["e2m1_decoder_binary16"]
    for name in ("a" * 250 + "1.v", "a" * 250 + "2.v", "short.v"):
        (tmp_path / name).write_text(text)
        words = ["verify", "decoder", "--format", "e2m1", "--verilog", str(tmp_path / name)]
        assert main([*words, "-o", str(tmp_path / "evidence")]) == 0
    assert len(list(EvidenceStore(tmp_path / "evidence"))) == 3


def test_a_file_has_evidence_for_each_block_that_it_is_checked_as(tmp_path):
    words = own(tmp_path, build("decoder", "ocp_e4m3"))
    assert main(["verify", "decoder", "--format", "ocp_e4m3", "--to", "binary16", *words]) == 0
    assert main(["verify", "decoder", "--format", "ocp_e4m3", "--to", "bfloat16", *words]) == 1
    records = list(EvidenceStore(tmp_path / "evidence"))
    assert sorted(record.verdict for record in records) == ["different", "equal"]
    again = shlex.split(next(record.command for record in records if record.verdict == "equal"))
    assert main([*again[1:], "-o", str(tmp_path / "again")]) == 0


def test_a_file_has_evidence_for_each_choice_in_it(tmp_path):
    """Macros, also those of lists, parameters and constants for inputs."""
    design = build("decoder", "e2m1")
    head = "module mine #(parameter K = 0) (input [3:0] code, input k, output [15:0] bits); wire [15:0] d;"
    body = f"`ifndef N\n`define N 0\n`endif\n{design.name} u (.code(code), .bits(d)); assign bits = d ^ (K ^ k ^ `N);"
    (tmp_path / "mine.v").write_text(f"{texts([design])[design.name]}\n{head}\n{body}\nendmodule\n")
    (tmp_path / "0.f").write_text("mine.v")
    (tmp_path / "1.f").write_text("mine.v +define+N=1")
    words = ["verify", "decoder", "--format", "e2m1", "--top", "mine", "-o", str(tmp_path / "evidence")]
    verdicts = []
    for macro, list_macro, parameter, tie in ((0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)):
        choice = ["-f", str(tmp_path / f"{list_macro}.f"), "--parameter", f"K={parameter}", "--tie", f"k={tie}"]
        verdicts.append(main([*words, *choice, *(["-D", "N=1"] if macro else [])]))
    assert verdicts == [0, 1, 1, 1, 1]
    records = [record.verdict for record in EvidenceStore(tmp_path / "evidence")]
    assert sorted(records) == ["different"] * 4 + ["equal"]


@pytest.mark.parametrize("name", ["ctl\x01.v", os.fsdecode(b"non\xff.v"), "usual <&>.v"])
def test_the_junit_file_is_xml_whatever_the_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(build("decoder", "e2m1").verilog())
    assert main(["verify", "decoder", "--format", "e2m1", "--verilog", name, "--junit", "junit.xml"]) == 0
    (case,) = ElementTree.parse("junit.xml").getroot()
    assert shlex.quote(repr(name)[1:-1]) in case.attrib["name"]


@pytest.mark.parametrize("command", ["verify", "simulate"])
@pytest.mark.parametrize(
    ("junit", "problem"),
    [
        (".", "'.' is a folder"),
        ("", "'' is a folder"),
        ("mine.v", "'mine.v' is read, and would be replaced"),
        ("link", "'link' is read, and would be replaced"),
        ("list.f", "'list.f' is read, and would be replaced"),
        ("head", "'head' is read, and would be replaced"),
    ],
)
def test_a_bad_junit_file_is_refused(tmp_path, monkeypatch, capsys, command, junit, problem):
    monkeypatch.chdir(tmp_path)
    Path("head").write_text("// head\n")
    Path("mine.v").write_text('`include "head"\n' + build("decoder", "e2m1").verilog())
    Path("list.f").write_text("mine.v")
    Path("link").symlink_to("mine.v")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert main([command, "decoder", "--format", "e2m1", "-f", "list.f", "--junit", junit]) == 2
    assert capsys.readouterr().err == f"hwgen: --junit: {problem}\n"
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_error_in_our_own_module_is_a_bug(tmp_path, monkeypatch):
    text = "module hif8_encoder_binary16_ties_to_away (input bits, output code); assign code = bits; endmodule"
    monkeypatch.setattr(Design, "verilog", lambda _: text)
    with pytest.raises(NetlistError, match="must have the inputs"):
        main([*ENCODER, "-o", str(tmp_path)])


def test_a_proof_of_a_wrong_module_is_a_bug(monkeypatch):
    design = build("readout", "e2m1", terms=4)
    text = re.sub(r"(assign bits = )([^;]+);", r"\1(\2) ^ &acc[3:0];", texts([design])[design.name])
    subject = Subject(design, text, design.name, None, (), "")
    monkeypatch.setattr(ReadoutProof, "claims", [Claim("nothing", 1 << design.core.accumulator_width, lambda: None)])
    with pytest.raises(RuntimeError, match=r"^the proof calls a module equal that is not: acc "):
        checks.prove(ReadoutProof, subject, subject.netlist(), subject.evidence(PROVED), lambda _: None, workers=0)


def test_a_killed_tool_does_not_blame_a_users_file(tmp_path, monkeypatch, capsys):
    def killed(*_, **__):
        raise YosysError("Yosys did not write netlist.json: no message", killed=True)

    words = own(tmp_path, build("encoder", "hif8", source="binary16"))
    monkeypatch.setattr(yosys, "run", killed)
    assert main([*ENCODER, *words]) == 1
    assert capsys.readouterr().err == "hwgen: Yosys did not write netlist.json: no message\n"


@pytest.mark.parametrize(("name", "bits"), [("e3m2", 28), pytest.param("ocp_e4m3", 32, marks=pytest.mark.exhaustive)])
def test_a_dot_product_of_one_lane_is_a_mac(name, bits, tmp_path, capsys):
    assert main(["verify", "dot", "--format", name, "--lanes", "1", "-o", str(tmp_path)]) == 0
    equal = f"{name}_dot1_binary16: equal to the reference model on all 2^{bits} inputs"
    assert capsys.readouterr().out.startswith(equal)


def test_a_quantizer_of_one_lane_from_binary32_is_unproved(tmp_path, capsys):
    assert main(["verify", "quantizer", "--format", "e2m1", "--lanes", "1", "-o", str(tmp_path)]) == 1
    assert "no method reaches all 2^32 inputs; there are too many inputs to enumerate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--recipe", "amap"], "--recipe needs --liberty, and cannot be combined with --verilog"),
        (
            ["--liberty", str(GATES), "--recipe", "amap", "--renaming", "-1"],
            "--renaming must be an integer from 0 to 1000000, not -1",
        ),
        (["--liberty", str(GATES), "--recipe", "best"], "argument --recipe: invalid choice: 'best'"),
    ],
)
def test_bad_recipes_are_refused(tmp_path, capsys, words, sentence):
    assert main(["verify", "decoder", "--format", "hif8", *words, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def wrong_nand():
    """Our library with a fault."""
    text = GATES.read_text()
    wrong = liberty.parse(text.replace('function : "!(A&B)"', 'function : "!(A|B)"', 1), "wrong")
    assert wrong.text != text
    return wrong


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("decoder", (GATES,)),
        ("encoder", (GATES,)),
        pytest.param("decoder", ASAP7, marks=NEEDS_SHARED),
        pytest.param("encoder", ASAP7, marks=[NEEDS_SHARED, pytest.mark.exhaustive]),
    ],
    ids=["decoder", "encoder", "decoder of ASAP7", "encoder of ASAP7"],
)
def test_yosys_also_proves_the_mapping(kind, files):
    design = build(kind, "hif8")
    report = prove_mapping(texts([design])[design.name], design.name, [liberty.read(file) for file in files])
    assert "Equivalence successfully proven!" in report


def test_yosys_proves_no_wrong_mapping():
    design = build("decoder", "hif8")
    with pytest.raises(YosysError, match="unproven"):
        prove_mapping(texts([design])[design.name], design.name, [liberty.read(GATES)], [wrong_nand()])


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "library",
    [pytest.param(GATES, id=GATES.name), *SINGLE_FILE_LIBRARIES, pytest.param(OSU018, id="osu018", marks=NEEDS_OSU018)],
)
@pytest.mark.parametrize("name", ["hif8", "e5m2b1", "ocp_e4m3"])
def test_yosys_proves_the_mapping_of_macs(name, library):
    """With all libraries that are one file; each MAC in ASAP7 would take more than a quarter of an hour."""
    design = build("mac", name)
    assert "Equivalence successfully proven!" in prove_mapping(
        texts([design])[design.name], design.name, [liberty.read(library)]
    )


OFTEN = """\
import signal, sys, time
from hwgen.__main__ import main
from synth.proof import evidence, verify

def slowly(store, record, save=evidence.EvidenceStore.save):
    save(store, record)
    time.sleep(0.3)

evidence.EvidenceStore.save, verify.SAVE_EVERY = slowly, 0.0
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes background processes ignore the signal
sys.exit(main())
"""
"""``hwgen`` that saves after each part, and slowly: an interrupt arrives before the end on any machine."""


@pytest.fixture
def begun(monkeypatch):
    """The parts that checks in this process start with."""
    begun, completed = [], checks.completed

    def noted(todo, *others):
        begun.extend(todo)
        return completed(todo, *others)

    monkeypatch.setattr(checks, "completed", noted)
    return begun


def message(record, reason=""):
    """The message of an interrupted run with this record."""
    checked = f"{record.cases} of {record.inputs} inputs are checked"
    return f"hwgen: interrupted{reason}: {checked}, no verdict; run the same command again to resume\n"


def test_an_interrupted_run_resumes(tmp_path, capsys, begun):
    """Killed and interrupted runs leave a record of the checked inputs without a verdict."""
    design, store = build("mac", "e3m2"), EvidenceStore(tmp_path)
    words = ["verify", *design.command().split(), "--jobs", "1", "-o", str(tmp_path)]

    def done():
        record = store.load(design.name)
        return set(record.done) if record else set()

    def interrupted(number):
        before = done()
        with running([sys.executable, "-c", OFTEN, *words]) as process:
            wait_until(lambda: done() > before, process)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        record = store.load(design.name)
        assert (out, record.verdict) == ("", "incomplete")
        assert 0 < record.cases < record.inputs
        assert set(record.done) > before
        return process.returncode, err, record

    assert interrupted(signal.SIGKILL)[0] == -signal.SIGKILL
    status, err, record = interrupted(signal.SIGINT)
    assert status == 130
    assert err.endswith(message(record))
    assert main(words) == 0
    assert sorted(begun + record.done) == list(range(input_sweep(design).chunks))
    assert capsys.readouterr().out.startswith(f"{design.name}: equal to the reference model on all 2^28 inputs")


def test_a_proof_resumes_after_a_lost_worker(tmp_path, monkeypatch, capsys, begun):
    design, store = build("mac", "e4m3_nosub", accumulator="exact", terms=1), EvidenceStore(tmp_path)
    words = ["verify", *design.command().split(), "--jobs", "2", "-o", str(tmp_path)]
    save = EvidenceStore.save

    def save_and_lose(self, evidence):
        save(self, evidence)
        for worker in multiprocessing.active_children()[:1]:
            worker.kill()

    monkeypatch.setattr(checks, "SAVE_EVERY", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(EvidenceStore, "save", save_and_lose)
        assert main(words) == 1
    record, (out, err) = store.load(design.name), capsys.readouterr()
    assert (out, record.verdict) == ("", "incomplete")
    assert 0 < record.cases < record.inputs
    assert re.sub(r"lost: [^)]*", "lost", err).endswith(message(record, " (a worker was lost)"))
    before = sorted(begun)
    begun.clear()
    assert main(words) == 0
    assert sorted(begun + record.done) == before
    assert capsys.readouterr().out.startswith(f"{design.name}: equal to the reference model on all 2^58 inputs")
