"""Tests of the checks: the stored vectors find every fault that changes any output."""

import json
from pathlib import Path

import pytest

from rtl_tests.support.mutation import FORMATS, MUTANTS, designs, killed, killing_vectors, mutate
from rtl_tests.support.selection import kind_of_design, one_of_each

RECORDS = json.loads((Path(__file__).parent / "mutants.json").read_text())


def test_every_block_has_its_faults():
    assert list(RECORDS) == [design.name for design in designs()]
    assert len(RECORDS) == 3 * len(FORMATS) + 1
    for name, record in RECORDS.items():
        assert record["faults"] == MUTANTS, name
        assert len(record["equivalent"]) < MUTANTS // 2, name


@pytest.mark.parametrize("design", one_of_each(kind_of_design, designs()), ids=lambda design: design.name)
def test_the_stored_vectors_find_every_fault(design):
    record = RECORDS[design.name]
    mutants = mutate(design)
    assert mutants.verilog_sha256 == record["verilog_sha256"], (
        "the Verilog has changed: `make mutants` finds new vectors"
    )
    vectors = [dict(zip(record["ports"], row, strict=True)) for row in record["vectors"]]
    assert killed(mutants, vectors) == set(range(1, MUTANTS + 1)) - set(record["equivalent"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("design", designs(), ids=lambda design: design.name)
def test_faults_that_no_vector_finds_change_nothing_on_any_input(design):
    vectors = killing_vectors(mutate(design))
    assert [number for number, pins in vectors.items() if pins is None] == RECORDS[design.name]["equivalent"]
