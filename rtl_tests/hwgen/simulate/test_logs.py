"""What logs say about ports, in the words of both simulators."""

import pytest

from hwgen.simulate.engine import other_ports, tail, unread_files

ICARUS = [
    "/x/bench_top.v:2: warning: Instantiating module enc with dangling input port 1 (extra) floating.",
    "/x/bench_top.v:2: warning: Port 2 (code) of enc expects 7 bits, got 6.",
]
VERILATOR = [
    "%Warning-PINMISSING: /x/bench_top.v:2:7: Instance has missing pin: 'extra'",
    "%Warning-WIDTHTRUNC: /x/bench_top.v:2:15: Input port connection 'bits' expects 31 bits on the pin connection, but"
    " pin connection's SEL generates 32 bits.",
]
HARMLESS = [
    "/x/enc.v:7: warning: Port 1 (x) of part expects 2 bits, got 3.",
    "%Warning-WIDTHEXPAND: /x/enc.v:57:15: Operator ASSIGNW expects 7 bits on the Assign RHS, but generates 6 bits.",
    "%Warning-TIMESCALEMOD: /x/bench_top.v:1:8: Timescale missing on this module as other modules have it",
    "/x/bench_top.v:1: warning: Some modules have no timescale.",
]


@pytest.mark.parametrize("lines", [ICARUS, VERILATOR])
def test_other_ports_are_those_of_the_module_under_test(lines, tmp_path):
    log = tmp_path / "build.log"
    log.write_text("\n".join([*HARMLESS, *lines, *HARMLESS]))
    assert other_ports(log, "bench_top") == lines


def test_files_that_cannot_be_read(tmp_path):
    lines = [
        "ERROR: /x/enc.v:57: $readmemh: Unable to open id.hex for reading.",
        "%Warning: id.hex:0: $readmem file not found",
    ]
    log = tmp_path / "test.log"
    log.write_text("\n".join(["0.00ns INFO cocotb", *lines]))
    assert unread_files(log) == lines
    assert tail(tmp_path / "none.log") == []
