"""Area jobs: rows have the promised keys and are reproducible; errors contain the tool's message."""

import json
import pickle
import re
from dataclasses import replace

import pytest

from golden.refusal import BadKind, BadValue
from hwgen.blocks.catalog import build
from hwgen.tools import yosys
from hwgen.tools.process import ToolError
from rtl_tests.support.blocks import texts
from rtl_tests.support.ports import ports
from rtl_tests.support.selection import exhaustive
from rtl_tests.synth.area.test_liberty import CELLS, cut
from synth.area import jobs
from synth.area.jobs import Job
from synth.area.liberty import GATES, parse, read
from synth.area.recipes import SPEED, portfolio
from synth.area.targets import LIBERTY, TARGETS
from synth.area.timing import gates_with_drives

VERILOG = """
module small (input [4:0] a, input [4:0] b, input c, output [5:0] y, output z);
  wire [4:0] m = c ? a : b;
  assign y = {1'b0, a} + {1'b0, m ^ b};
  assign z = (a & b) == m || &(a | m);
endmodule
"""
JOB = Job(
    "toy",
    (("format", "hif8"), ("format-b", "e5m2")),
    VERILOG,
    "small",
    tuple(ports(VERILOG, "small")),
    "gates",
    renamings=2,
    command="hwgen area toy",
)


def rows_of(job):
    return [row.to_json() for row in job.rows(job.execute())]


@pytest.mark.parametrize("target", [*TARGETS, LIBERTY])
def test_rows(target):
    libraries = (read(GATES),) if target == LIBERTY else ()
    job = replace(JOB, target=target, libraries=libraries)
    rows = rows_of(job)
    recipes = list(portfolio("standard", "cells" if target in {"gates", LIBERTY} else "lut"))
    assert [row["recipe"] for row in rows] == [*recipes, "best"]
    for row in rows:
        assert (row["component"], row["format"], row["format_b"]) == ("toy", "hif8", "e5m2")
        assert (row["target"], row["command"]) == (target, "hwgen area toy")
        assert row["tool"] == yosys.version()
        assert row["unit"]
        assert len(row["samples"]) == 2
        assert min(row["samples"]) == row["min"] <= row["median"] <= row["max"] == max(row["samples"])
        assert row["min"] > 0
        assert {"verilog_sha256", "script_sha256", "portfolio", "renamings", "metric"} <= set(row)
    best = rows[-1]
    assert best["median"] == min(row["median"] for row in rows)
    assert best["best_recipe"] in recipes
    assert json.loads(json.dumps(rows)) == rows
    if target == LIBERTY:
        assert best["median_nand2_equivalents"] == best["median"]
        assert best["libraries"] == ["gates"]


@pytest.mark.usefixtures("unshared")
@pytest.mark.parametrize("target", ["gates", "xc7"])
def test_the_same_job_gives_the_same_rows(target):
    job = replace(JOB, target=target)
    assert job.execute() == pickle.loads(pickle.dumps(job)).execute()


@pytest.mark.parametrize(
    ("target", "portfolio", "renamings"),
    [
        ("gates", "standard", 2),
        *(exhaustive("gates", portfolio, 4) for portfolio in ("standard", "full", SPEED)),
        exhaustive("cyclonev", "standard", 4),
    ],
)
def test_a_renaming_depends_on_its_own_seed_alone(target, portfolio, renamings):
    """A job of some renamings has the samples of as many jobs of one."""
    design = build("mac", "hif8")  # its samples showed when the order depended on earlier renamings
    text = texts([design])[design.name]
    job = Job(design.kind, (), text, design.name, design.ports, target, portfolio, renamings=renamings)
    together = job.execute()
    for number, seed in enumerate(job.seeds):
        alone = replace(job, renamings=1, seed=seed).execute()
        assert alone == {recipe: [samples[number]] for recipe, samples in together.items()}


def test_seed_0_is_the_module_as_emitted():
    assert not re.search("scramble|swap", replace(JOB, seed=0, renamings=1).script)
    first, second = JOB.rows(replace(JOB, seed=0).execute())[0].samples
    assert replace(JOB, seed=1, renamings=1).execute()["amap"][0]["area"] == second
    assert mapped_area(0) == first


def mapped_area(seed):
    """Area of the netlist of :data:`JOB` by ``amap``."""
    areas = {cell.name: cell.area for cell in read(GATES).cells}
    netlist = jobs.mapped_netlist(VERILOG, "small", [read(GATES)], "amap", seed)
    return sum(areas[name] for name in re.findall(r"^  (\w+) \S+ \($", netlist, re.MULTILINE))


def test_hashes_depend_on_module_and_script():
    hashes = JOB.hashes()
    assert hashes == replace(JOB, command="another", component="other").hashes()
    assert hashes["verilog_sha256"] != replace(JOB, verilog=VERILOG + "\n").hashes()["verilog_sha256"]
    for other in (replace(JOB, renamings=3), replace(JOB, target="xc7"), replace(JOB, portfolio="stock")):
        assert hashes["script_sha256"] != other.hashes()["script_sha256"]


@pytest.mark.parametrize("verilog", ["module small (input a output y);", "module other; endmodule"])
def test_errors_pass_process_boundaries(verilog):
    with pytest.raises(ToolError, match=r"^Yosys did not write") as caught:
        replace(JOB, verilog=verilog).execute()
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == str(caught.value)
    assert not error.killed
    assert "\n" not in str(error)
    assert "ERROR" in error.log


@pytest.mark.parametrize("target", ["gates", "ice40"])
def test_wires_cost_nothing(target):
    wires = "module small (input [1:0] a, output [1:0] y); assign y = {a[0], a[1]}; endmodule"
    assert rows_of(replace(JOB, verilog=wires, target=target))[-1]["samples"] == [0, 0]


REGISTERS = "module small (input clk, input a, output reg y); always @(posedge clk) y <= !a; endmodule"


@pytest.mark.parametrize("portfolio", ["standard", SPEED])
def test_registers_need_a_flip_flop(portfolio):
    """Without one, registers would count as nothing. A module without registers needs none."""
    without = parse(cut(*CELLS), "cut.lib")
    job = replace(JOB, target=LIBERTY, libraries=(without,), renamings=1)
    assert rows_of(job)[-1]["median"] > 0
    with pytest.raises(
        BadValue,
        match=r"^liberty: the library cut has no flip-flop, which small needs; add the file that contains one, ",
    ):
        replace(job, verilog=REGISTERS, ports=tuple(ports(REGISTERS, "small")), portfolio=portfolio)
    libraries = (without, parse(cut("DFF"), "dff.lib"))
    whole = replace(job, verilog=REGISTERS, ports=tuple(ports(REGISTERS, "small")), libraries=libraries)
    assert rows_of(whole)[-1]["median"] == 6.5


@pytest.mark.parametrize("area", ["", "area : 0;"])
@pytest.mark.parametrize("portfolio", ["standard", SPEED])
def test_a_cell_without_an_area_is_an_error(portfolio, area):
    text = gates_with_drives().text if portfolio == SPEED else GATES.read_text()
    odd = parse(re.sub(r"(cell \(NAND2\w*\) \{\s*)area : \w+;", rf"\1{area}", text), "odd.lib")
    job = replace(JOB, target=LIBERTY, libraries=(odd,), renamings=1, portfolio=portfolio)
    with pytest.raises(ToolError, match=r"^the netlist has cells without an area in the library: NAND2"):
        job.execute()


ODD = """  cell (ODD) { area : 0.1; // area : 9; it's " {
    comment : "http://x.y /* "; pin (A) { direction : input; } pin (B) { direction : input; }
    pin (C) { direction \\ \r\n : input; } pin (Y) { direction : output; function : "A*B^C"; } }
"""


def test_tools_read_a_library_as_we_do(tmp_path):
    """Yosys, ABC and OpenSTA have readers of their own. In Liberty, XOR binds tighter than AND."""
    place = (text := GATES.read_text()).index("  cell (INV)")
    path = tmp_path / "odd.lib"
    path.write_bytes("\ufeff".encode() + (text[:place] + ODD + text[place:]).encode("latin-1"))
    verilog = "module m (input a, input b, input c, output y); assign y = {}; endmodule"
    for function, used in (("a & (b ^ c)", True), ("(a & b) ^ c", False)):
        netlist = jobs.mapped_netlist(verilog.format(function), "m", [read(path)], "stock", 1)
        assert ("ODD" in netlist) is used, function


def test_a_crash_is_reported_without_its_calls():
    """ABC crashes on a library without simple gates; :func:`synth.area.liberty.read_all` refuses such a library."""
    crashing = parse(cut("INV", "BUF", "XOR2"), "cut.lib")
    with pytest.raises(
        ToolError, match=r"^Yosys did not write stock\.1\.json: ERROR: the tool crashed: wasm trap: "
    ) as caught:
        replace(JOB, target=LIBERTY, libraries=(crashing,), renamings=1, portfolio="stock").execute()
    log = caught.value.log
    assert log.splitlines()[-1] == str(caught.value).partition("stock.1.json: ")[2]
    assert not re.search("Traceback|backtrace|wasmtime", log)


def test_a_time_limit_is_an_error():
    with pytest.raises(ToolError) as caught:
        JOB.execute(timeout=0.01)
    assert "no result within 0.01 s" in caught.value.log


@pytest.mark.parametrize("renamings", [0, -3, 65])
def test_bad_renamings(renamings):
    with pytest.raises(BadValue, match=rf"^renamings must be an integer from 1 to 64, not {renamings}$"):
        replace(JOB, renamings=renamings)


def test_bad_seeds():
    with pytest.raises(BadValue, match=r"^seed must be an integer from 0 to 1000000, not -1$"):
        replace(JOB, seed=-1)
    with pytest.raises(BadKind, match=r"^seed must be an integer from 0 to 1000000, not 1\.5$"):
        replace(JOB, seed=1.5)


def test_a_mapped_netlist_has_a_recipe_and_a_seed():
    with pytest.raises(BadValue, match=r"^recipe must be one of stock, amap, .*, not 'best'$"):
        jobs.mapped_netlist(VERILOG, "small", [read(GATES)], "best", 1)
    with pytest.raises(BadValue, match=r"^seed must be an integer from 0 to 1000000, not -1$"):
        jobs.mapped_netlist(VERILOG, "small", [read(GATES)], "amap", -1)


def test_bad_target_and_portfolio():
    with pytest.raises(BadValue, match=r"^target must be one of .*, not 'gate'$"):
        replace(JOB, target="gate")
    with pytest.raises(BadValue, match=r"^portfolio must be one of .*, not 'all'$"):
        replace(JOB, portfolio="all")
