"""Areas of tiles: parts are mapped once and counted as often as they are there; what is between pins is not counted."""

import re

from hwgen.__main__ import main
from hwgen.tile.block import TILE
from hwgen.tools import yosys
from rtl_tests.support.paths import ROOT
from synth.area.jobs import Job
from synth.area.plan import area_jobs
from synth.area.recipes import STOCK
from synth.area.tile import TileJob, _pins

OPTIONS = {"accumulator": "exact", "terms": 4, "target": "e2m1"}
WORDS = "area tile --format e2m1 --rows 2 --columns 2 --accumulator exact --terms 4 --to e2m1 --readout-stages 1"


def measured(make, **sides):
    design = TILE.design("e2m1", **sides, **OPTIONS, readout_stages=1)
    (job,) = area_jobs(design, design.verilog(), ["gates"], STOCK, renamings=1, make=make)
    return job.execute()[STOCK][0]


def test_parts_are_counted_as_often_as_they_are_there():
    parts, whole = (measured(make, rows=2, columns=2) for make in (TileJob.of, Job))
    assert 0.97 < parts["area"] / whole["area"] < 1.1  # what is mapped at once is smaller
    wide = measured(TileJob.of, rows=2, columns=4)
    part = TILE.design("e2m1", rows=1, columns=1, **OPTIONS).own_parts[0]
    (job,) = area_jobs(part, part.verilog(), ["gates"], STOCK, renamings=1)
    assert wide["area"] - parts["area"] > 4 * job.execute()[STOCK][0]["area"]


def test_place_and_route_counts_the_tile_alone(capsys):
    sizes = {"rows": 2, "columns": 2, "stages": 1}
    registers = measured(TileJob.of, **sizes)["ff"] - 4  # the parts alone keep their sticky overflow, which has no load
    assert measured(TileJob, **sizes)["ff"] < registers  # mapped at once, elements of a row share registers
    assert main([*WORDS.split(), "--stages", "1", "--target", "ecp5", "--jobs", "1"]) == 0
    (line,) = re.findall(r"^ecp5 .*$", capsys.readouterr().out, re.M)
    luts, found, mhz = re.search(
        r"lut +(\S+) .*, ff (\d+), dsp 0, memory 0, delay_ps \S+, fmax_mhz (\S+)$", line
    ).groups()
    assert 100 < float(luts) < 2000
    assert int(found) == registers
    assert 50 < float(mhz) < 500


def test_each_bit_of_a_port_has_its_place():
    ports = TILE.design("e2m1", rows=2, columns=1, **OPTIONS).ports
    widths = {way: sum(port.width for port in ports if port.direction == way) for way in ("input", "output")}
    text = _pins("top", ports, widths["input"] - 1, widths["output"])
    for bus, count in (("inputs", widths["input"] - 1), ("outputs", widths["output"])):
        places = [range(int(low), int(high) + 1) for high, low in re.findall(rf"\({bus}\[(\d+):(\d+)\]\)", text)]
        assert [place for part in places for place in part] == [*range(count)]


def test_a_portfolio_can_be_chosen(capsys):
    assert main([*WORDS.split(), "--portfolio", "none"]) == 2
    assert main([*WORDS.split(), "--target", "ecp5", "--portfolio", "stock", "--renamings", "1", "--jobs", "1"]) == 0
    assert "fmax_mhz" not in capsys.readouterr().out


def test_products_stay_in_logic():
    """The script of docs/tile.md selects modules by their attribute; without it Yosys takes a multiplier."""
    options = {"rows": 1, "columns": 1, "accumulator": "exact", "terms": 4, "name": "NAME"}
    tile, other = (TILE.design("ocp_e4m3", fabric=fabric, **options).verilog() for fabric in ("fpga", "asic"))
    assert "(*" not in other
    script = re.search(r"```text\n(read_verilog NAME.v\n.*?)```", (ROOT / "docs" / "tile.md").read_text(), re.S)[1]
    for commands, count in ((script, 0), ("read_verilog NAME.v\nsynth_ecp5 -top NAME\n", 1)):
        yosys.run(f"{commands}select -assert-count {count} t:MULT18X18D\n", {"NAME.v": tile}, [])
    assert not TILE.design("binary16", fabric="fpga").core.is_in_logic  # products of 11 x 11 bits
