"""The study of tiles: what it measures, and that its chapter shows that."""

import json
import re
from dataclasses import replace

import pytest

from hwgen.tile.block import TILE
from rtl_tests.support.selection import only
from synth.area.jobs import Job
from synth.area.plan import area_jobs
from synth.area.store import Store
from synth.area.tile import TileJob
from synth.energy.job import DEFAULT_DATA
from synth.report import load
from synth.report.chapters import tiles as chapter
from synth.report.data import assemble
from synth.studies.family import Point
from synth.studies.tiles import ACCUMULATOR, FORMATS, SIDES, Tiles, around, element

TILES = load.tiles()


@pytest.mark.parametrize("fmt", FORMATS)
def test_what_is_around_elements_depends_on_widths_alone(fmt):
    tile, alike = TILE.design(fmt, rows=2, columns=3, accumulator=ACCUMULATOR), around(fmt, 4).core.a_format.name
    other = TILE.design(alike, rows=2, columns=3, accumulator=ACCUMULATOR)
    texts = (re.sub("//.*", "", design.glue()).replace(design.name, "tile") for design in (tile, other))
    assert len({*texts}) == 1


def test_parts_and_what_is_around_them_make_up_the_tile():
    tile = TILE.design("e2m1", rows=2, columns=2, accumulator="binary16")
    text = tile.verilog()
    (whole,), (rest,) = (
        area_jobs(tile, text, ["gates"], renamings=1, make=make) for make in (TileJob.of, TileJob.around_parts)
    )
    own = tile.own_parts[0]
    (part,) = area_jobs(own, own.verilog(), ["gates"], renamings=1, make=Job)
    areas = [job.execute()["amap"][0]["area"] for job in (whole, rest, part)]
    assert areas[0] == pytest.approx(areas[1] + 4 * areas[2], rel=0.03)


@pytest.mark.parametrize("label", only(["ocp_e4m3_pe_binary32", "ocp_e4m3_tile_4x4_binary32"], Tiles.labelled()))
def test_the_file_belongs_to_the_verilog_of_today(label, monkeypatch, tmp_path):
    point = Tiles.labelled()[label]
    monkeypatch.setattr(Tiles, "labelled", lambda: {label: point})
    ((job,),) = Tiles.jobs(Store(tmp_path / "store")).values()
    row = TILES.row(point)
    assert job.hashes() == {"verilog_sha256": row.verilog_sha256, "script_sha256": row.script_sha256}, (
        "run `make tiles`"
    )


def test_the_chapter_has_the_figures_of_the_study():
    report = replace(assemble([], []), tiles=TILES, tool=TILES.tool, energies=load.energies())
    section = chapter.section(report)
    table, energies = section.tables
    for fmt, row in zip(FORMATS, table.rows, strict=True):
        alone = TILES.row(Point(element(fmt))).median
        sizes = [alone + TILES.row(Point(around(fmt, side))).median / side**2 for side in SIDES]
        expected = [alone, *sizes, *(1 - alone / size for size in sizes)]
        assert [cell.value for cell in row[1:]] == pytest.approx(expected)
    for fmt, row in zip(FORMATS, energies.rows, strict=True):
        measured = report.energies.row(Point(element(fmt), data=DEFAULT_DATA))
        assert [cell.value for cell in row[1:]] == [measured.median, measured.medians["clock"]]
    assert len(chapter.section(replace(report, energies=None)).tables) == 1
    assert len(section.charts) == 1
    assert json.loads(json.dumps(dict(TILES.source))) == TILES.source
