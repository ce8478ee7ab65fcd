"""Rows and their JSON: rows survive writing and reading; other data is refused in one sentence."""

import json

import pytest

from golden.refusal import Refusal
from hwgen.blocks.catalog import BLOCKS, build
from rtl_tests.synth.report.test_load import made_up
from synth.area.rows import Row, Timing
from synth.area.targets import LIBERTY, TARGETS

DESIGNS = (
    build("decoder", "hif8"),
    build("encoder", "hif8", flags=True),
    build("multiplier", "hif8"),
    build("adder", "hif8"),
    build("mac", "ocp_e4m3", "ocp_e5m2", scale_bits=2),
    build("mac", "hif8", accumulator="exact"),
    build("dot", "ocp_e4m3", lanes=2),
    build("pe", "hif8"),
)
ROWS = [row for design in DESIGNS for target in (*TARGETS, LIBERTY) for row in made_up(design, target)]
ROWS += [row for design in DESIGNS for target in ("gates", "ice40") for row in made_up(design, target, "speed")]


def test_written_rows_are_read():
    """The row is the same, and so is its text with the order of the keys."""
    for row in ROWS:
        text = json.dumps(row.to_json())
        assert Row.from_json(json.loads(text)) == row
        assert json.dumps(Row.from_json(json.loads(text)).to_json()) == text


def test_the_order_of_keys():
    (row,) = [
        row for row in ROWS if (row.component, row.target, row.is_best, row.timing) == ("mac", LIBERTY, True, None)
    ][:1]
    assert " ".join(row.to_json()) == (
        "component format format_b accumulator scale_bits accumulator_bits target recipe metric min median max samples "
        "median_nand2_equivalents unit tool portfolio renamings seed name command verilog_sha256 script_sha256 "
        "libraries libraries_sha256 best_recipe"
    )
    timed = next(row for row in ROWS if row.timing is not None)
    keys = list(timed.to_json())
    assert keys[keys.index("script_sha256") + 1 :] == ["delay", "timer", "delay_samples"]


def test_a_best_row_repeats_another():
    for row in ROWS:
        data = row.to_json()
        assert (data["recipe"] == "best") == row.is_best == ("best_recipe" in data)
        assert row.recipe in (data["recipe"], data.get("best_recipe"))
    assert sum(row.is_best for row in ROWS) == len(DESIGNS) * (len(TARGETS) + 1 + 2)


def test_timers_are_read():
    fo4 = Timing("delay_fo4", (8.0, 9.0), "opensta 2.6.0", ("between registers", "before layout"))
    assert (fo4.source, fo4.unit, fo4.delays) == ("opensta 2.6.0, between registers, before layout", "FO4", [8.0, 9.0])
    ps = Timing("delay_ps", (1500.0,), "nextpnr 1", ("after place and route",))
    assert (ps.unit, ps.delays) == ("ns", [1.5])


MAC = next(row for row in ROWS if (row.component, row.target, row.is_best) == ("mac", LIBERTY, True)).to_json()
FAST = next(row for row in ROWS if row.timing is not None).to_json()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], "row must be a mapping, not a list"),
        ({**MAC, "name": " "}, "name must be text, not ' '"),
        ({**MAC, "name": None}, "name must be text, not None"),
        ({**MAC, "min": "1"}, "min must be a finite number of at least 0, not '1'"),
        ({**MAC, "min": 0}, "min must be positive, not 0"),
        ({**MAC, "max": float("inf")}, "max must be a finite number of at least 0, not inf"),
        ({**MAC, "seed": True}, "seed must be an integer of at least 0, not True"),
        ({**MAC, "renamings": 1.5}, "renamings must be an integer of at least 0, not 1.5"),
        ({**MAC, "accumulator_bits": "16"}, "accumulator_bits must be an integer of at least 0, not '16'"),
        ({**MAC, "samples": 1}, "samples must be a list, not 1"),
        ({**MAC, "samples": []}, "samples must not be empty"),
        ({**MAC, "libraries_sha256": [1]}, "libraries_sha256 must be text, not 1"),
        ({**MAC, "median_cells": -1}, "median_cells must be a finite number of at least 0, not -1"),
        ({**MAC, "target": "tpu"}, "target must be one of gates, cyclonev, xc7, ice40, ecp5, liberty, not 'tpu'"),
        ({**MAC, "scale_bits": [2]}, "scale_bits must be text, an integer or a truth value, not [2]"),
        ({**MAC, "accumulator": 16}, "accumulator must be text, not 16"),
        ({key: value for key, value in MAC.items() if key != "accumulator"}, "accumulator is missing"),
        (
            {**MAC, "samples": [1.0]},
            f"samples must have min {MAC['min']}, median {MAC['median']} and max {MAC['max']}, not be [1.0]",
        ),
        ({**MAC, "renamings": 3}, f"renamings must be the number of samples, {len(MAC['samples'])}, not 3"),
        ({**FAST, "delay": "delay_ns"}, "delay must be one of delay_fo4, delay_ps, not 'delay_ns'"),
        ({key: value for key, value in FAST.items() if key != "timer"}, "timer must be text, not None"),
    ],
)
def test_other_data_is_refused(data, sentence):
    with pytest.raises(Refusal) as refused:
        Row.from_json(data)
    assert str(refused.value) == sentence


def test_no_option_has_the_name_of_another_key_of_a_row():
    """JSON has options and other keys in one mapping."""
    own = {key for row in ROWS for key in row.to_json() if key not in row.options}
    names = {option.name.replace("-", "_") for block in BLOCKS.values() for option in block.all_options}
    assert not names & own
    assert not any(name.startswith("median_") for name in names)
