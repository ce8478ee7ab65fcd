"""The command line: output, files, and one sentence for each kind of bad input."""

import errno
import importlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import golden
from golden.catalog import described
from golden.explain import explain
from hwgen.__main__ import COMMANDS, main
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.cli import show
from rtl_tests.support.optional import NEEDS_FULL_DEVICE
from rtl_tests.support.processes import HEARS_HANGUPS
from rtl_tests.support.selection import exhaustive
from rtl_tests.support.toys import TOML_FORMAT

GENERATE = ["generate", "mac", "--format", "hif8"]


def test_formats_lists_every_format(capsys):
    assert main(["formats"]) == 0
    out = capsys.readouterr().out
    for name in golden.names():
        assert re.search(rf"^{name} ", out, re.M), name
    assert max(map(len, out.splitlines())) <= 80
    assert main(["formats", "--long"]) == 0
    long = capsys.readouterr().out
    assert all(golden.get(name).cite in long for name in golden.names())
    assert re.search(r"^hif8 .*  38, 2\^-22 to 2\^15; most precise: 4 bits, 2\^-3 to 2\^3  Ascend", long, re.M)
    assert main(["formats", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == list(golden.names())


def test_alone_it_prints_the_help(capsys):
    with pytest.raises(SystemExit) as exit_info:
        main([])
    captured = capsys.readouterr()
    assert exit_info.value.code == 0
    assert captured.out.startswith("usage: hwgen ")
    assert all(f"\n    {command} " in captured.out for command in COMMANDS)
    assert not captured.err


def test_explain_shows_fields_value_neighbours_and_boundaries(capsys):
    assert main(["explain", "hif8", "0x5a"]) == 0
    out = capsys.readouterr().out
    assert "0x5a = sign 0, prefix 10, exponent 110, fraction 10" in out
    assert "value: 1.5 * 2^-6 = 0.0234375" in out
    assert "binades of hif8: 38, 2^-22 to 2^15; most precise: 4 bits, 2^-3 to 2^3" in out
    assert "neighbour toward zero: 0x59" in out
    assert "neighbour away from zero: 0x5b" in out
    assert "ties_to_away: [1.375 * 2^-6 = 0.021484375, 1.625 * 2^-6 = 0.025390625)" in out
    assert all(f"  {rounding}: " in out for rounding in golden.get("hif8").roundings)


def test_explain_of_negative_zero_and_of_saturation(capsys):
    assert main(["explain", "ocp_e4m3", "0x80"]) == 0
    assert "neighbour away from zero: 0x81" in capsys.readouterr().out
    assert main(["explain", "ibm_1_4_3", "0x7f"]) == 0
    assert "ties_to_even: (1.8125 * 2^4 = 29, Inf)" in capsys.readouterr().out


def test_explain_of_formats_without_a_sign_or_zero(capsys):
    assert main(["explain", "e8m0", "0"]) == 0
    certain = "probability that falls linearly from 1 in (0, 1 * 2^-127 ≈ 5.87747175411e-39] to 0 at the other end"
    assert capsys.readouterr().out.count(certain) == 3
    assert main(["explain", "Binary8p3se", "0xfe"]) == 0
    beyond = "neighbour away from zero: none: no finite value is further from zero; the next would be -1.75 * 2^15"
    assert beyond in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["hif8", "e2m1", "e8m0", "gc_1_0_7_b0", "Binary12p1se", *map(exhaustive, ("Binary16p1se", "binary16"))]
)
def test_a_table_in_json_has_the_exact_values(name, capsys):
    assert main(["table", name, "--json"]) == 0
    table, fmt = json.loads(capsys.readouterr().out), described(name)
    assert (table["format"], table["width"], table["signed"]) == (fmt.name, fmt.width, fmt.signed)
    assert [row["code"] for row in table["codes"]] == list(range(1 << fmt.width))
    for row in table["codes"]:
        value = fmt.exact_value(row["code"])
        assert row["negative"] == bool(row["code"] & fmt.sign_bit)
        if row["kind"] in ("inf", "nan"):
            assert (row["significand"], row["exponent"]) == (None, None)
            assert str(value) == ("nan" if row["kind"] == "nan" else "-inf" if row["negative"] else "inf")
        else:
            magnitude = row["significand"] * Fraction(2) ** row["exponent"]
            assert value == (-magnitude if row["negative"] else magnitude)


def test_a_table_shows_the_sign_of_zero(capsys):
    assert main(["table", "e2m1"]) == 0
    assert "\n0x8 1000 -0\n" in capsys.readouterr().out


RULES = {
    ("hif8", "ties_to_away", "infinity"): ("overflow and infinities to infinity", (0x6F, 0xEF, 0x6F, 0xEF)),
    ("hif8", "toward_zero", "infinity"): (
        "overflow to the largest finite value; infinities to infinity",
        (0x6E, 0xEE, 0x6F, 0xEF),
    ),
    ("ocp_e4m3", "toward_positive", "nan"): (
        "overflow to NaN if positive, to the largest finite value if negative; infinities to NaN",
        (0x7F, 0xFE, 0x7F, 0x7F),
    ),
    ("Binary6p3ue", "to_odd", "none"): (
        "overflow to the largest finite value, infinity to infinity; numbers that round below zero and -infinity to "
        "NaN",
        (0x3D, 0x3F, 0x3E, 0x3F),
    ),
    ("Binary6p3uf", "toward_negative", "nan"): (
        "overflow to the largest finite value, infinity to NaN; numbers that round below zero and -infinity to NaN",
        (0x3E, 0x3F, 0x3F, 0x3F),
    ),
    ("Binary6p3ue", "toward_positive", "none"): (
        "overflow and infinity to infinity; numbers that round below zero to code 0x00, -infinity to NaN",
        (0x3E, 0x00, 0x3E, 0x3F),
    ),
}


@pytest.mark.parametrize("choice", RULES, ids=" ".join)
def test_the_header_says_what_becomes_of_numbers_out_of_range(choice):
    """Its sentence, and what golden makes of the largest numbers of binary32 and of infinities."""
    name, rounding, overflow = choice
    sentence, codes = RULES[choice]
    bits = np.array([3e38, -3e38, np.inf, -np.inf], np.float32).view(np.uint32)
    assert tuple(golden.get(name).encode(bits, rounding=rounding, overflow=overflow).tolist()) == codes
    assert sentence[1:] in build("encoder", name, rounding=rounding, overflow=overflow).verilog()


@pytest.mark.parametrize(("overflow", "zero"), [("nan", "NaN"), ("saturate", "code 0x00")])
def test_the_header_says_what_becomes_of_zero(overflow, zero):
    design = build("encoder", "e8m0", overflow=overflow)
    assert f"; negative numbers and -infinity to NaN; zero to {zero};" in design.verilog()


def test_random_bits_are_accepted_if_stochastic_is_the_default(tmp_path):
    file = tmp_path / "tiny.toml"
    file.write_text(TOML_FORMAT + 'roundings = ["stochastic", "ties_to_even"]\n')
    options = ["--format", str(file), "--from", "bfloat16", "--random-bits", "8", "-o", str(tmp_path)]
    assert main(["generate", "encoder", *options]) == 0


@pytest.mark.parametrize("name", golden.names())
def test_explain_works_for_every_code(name):
    fmt = golden.get(name)
    for code in range(1 << fmt.width):
        lines = list(explain(fmt, code))
        assert lines[2].startswith("value: ")
        assert lines[3].startswith(f"binades of {name}: {len(fmt.binades)}, ")
        assert len(lines) in (4, 7 + len(fmt.roundings), 6 + len(fmt.roundings))


@pytest.mark.usefixtures("unshared")
def test_doctor_finds_what_is_required(capsys):
    assert main(["doctor"]) == 0
    assert "Everything required is installed." in capsys.readouterr().out


def test_doctor_names_the_extras_of_what_is_absent(monkeypatch, capsys):
    packages = [
        (f"{name}-none" if "extra: route" in text else name, *rest, text) for name, *rest, text in show._PACKAGES
    ]
    monkeypatch.setattr(show, "_PACKAGES", [*packages, ("none", False, "is needed (extra: dask)")])
    assert main(["doctor"]) == 0
    assert "\nFor what is absent: pip install '.[route,dask]' in the clone.\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("body", "end"), [("", "ready    slow-tool"), ("raise OSError('no room')", "failed   slow-tool: OSError: no room")]
)
def test_doctor_prepares_tools_and_is_never_silent_for_long(body, end, tmp_path, monkeypatch, capsys):
    """A tool whose first start takes a while; tools that are not installed are left out."""
    (tmp_path / "slow_tool.py").write_text(
        f"import time\ndef start(words):\n  assert words == ['--version']\n  time.sleep(1)\n  {body}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(show, "_COMPILED", {"slow_tool": "start", "no_such_tool": "start"})
    monkeypatch.setattr(show, "PATIENCE", 0.2)
    assert main(["doctor", "--prepare"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "starting slow-tool; its first start compiles it, for a minute or two"
    waited = [line for line in lines if re.fullmatch(r"  \d+ s", line)]
    assert len(waited) >= 4
    assert lines[: len(waited)] == waited
    assert re.fullmatch(rf"{end}, after \d+\.\d s", lines[len(waited)])
    assert "no-such-tool" not in "".join(lines)


def test_doctor_knows_every_tool_that_is_compiled():
    assert show.PATIENCE < 10
    for package, function in show._COMPILED.items():
        if importlib.util.find_spec(package):
            assert callable(getattr(importlib.import_module(package), function))


def test_generate_writes_a_folder_under_its_default_name(tmp_path, capsys):
    assert main(["generate", "decoder", "--format", "hif8", "--to", "binary16", "-o", str(tmp_path)]) == 0
    file = tmp_path / "hif8_decoder_binary16" / "hif8_decoder_binary16.v"
    assert capsys.readouterr().out.strip() == str(file)
    assert list(tmp_path.iterdir()) == [file.parent]
    text = file.read_text()
    assert text.startswith("// hif8_decoder_binary16\n")
    assert "HiFloat8" in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["encoder", "--format", "hif8", "--from", "binary32", "--rounding", "hybrid"], "hif8_encoder_binary32_hybrid"),
        (
            ["encoder", "--format", "hif8", "--overflow", "saturate", "--nan-to-zero"],
            "hif8_encoder_binary32_ties_to_away_saturate_nan_to_zero",
        ),
        (
            ["encoder", "--format", "e5m2b1", "--rounding", "stochastic", "--random-bits", "8"],
            "e5m2b1_encoder_binary32_stochastic_r8",
        ),
        (["mac", "--format", "e5m2b1", "--accumulator", "binary16"], "e5m2b1_mac_binary16"),
        (["mac", "--format", "ocp_e4m3", "--format-b", "ocp_e5m2"], "ocp_e4m3_ocp_e5m2_mac_binary16"),
        (["mac", "--format", "ocp_e4m3+ocp_e5m2", "--format-b", "hif8"], "ocp_e4m3_or_ocp_e5m2_hif8_mac_binary16"),
        (["mac", "--format", "hif8", "--accumulator", "exact", "--terms", "16"], "hif8_mac_exact_n16"),
        (["decoder", "--format", "hif8", "--to", "unpacked", "--name", "mine"], "mine"),
    ],
)
def test_names_of_modules(arguments, name, tmp_path):
    assert main(["generate", *arguments, "-o", str(tmp_path)]) == 0
    assert re.search(rf"^module {name}\b", (tmp_path / name / f"{name}.v").read_text(), re.M)


def test_a_toml_format_works_wherever_a_name_does(tmp_path, capsys):
    file = tmp_path / "tiny.toml"
    file.write_text(TOML_FORMAT)
    assert main(["explain", str(file), "7"]) == 0
    assert "value: 1.5 * 2^2 = 6" in capsys.readouterr().out
    assert main(["generate", "mac", "--format", str(file), "-o", str(tmp_path)]) == 0
    text = (tmp_path / "tiny_mac_binary16" / "tiny_mac_binary16.v").read_text()
    assert f"tiny (file with SHA-256 {golden.get(str(file)).source_sha256})" in text
    assert str(tmp_path) not in text


def test_a_deeply_nested_file_is_refused(tmp_path, capsys):
    file = tmp_path / "deep.toml"
    file.write_text(f'name = "x"\nwidth = 8\nrows = {"[" * 5000}{"]" * 5000}\n')
    assert main(["explain", str(file), "1"]) == 2
    problem = "has a number that is too long, or tables that are too deep"
    assert capsys.readouterr().err == f"hwgen: FORMAT: Format file {str(file)!r} {problem}\n"


def test_a_low_limit_of_open_files_is_named(tmp_path):
    command = f"ulimit -n 16; exec {shlex.quote(sys.executable)} -m hwgen generate decoder --format e2m1 -o out"
    process = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout) == (1, "")
    assert re.fullmatch(r"hwgen: .*; only 16 files may be open at a time \(ulimit -n\)\n", process.stderr)


@NEEDS_FULL_DEVICE
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_device_is_a_failure_in_one_sentence(unbuffered):
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "hwgen", "formats"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert process.returncode == 1
    assert re.fullmatch(r"hwgen: standard output: No space left on device\n", process.stderr)


def test_a_failed_write_names_the_file(tmp_path, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    monkeypatch.setattr(Design, "verilog", lambda _: "")
    assert main(["generate", "decoder", "--format", "hif8", "--name", "d", "-o", str(tmp_path)]) == 1
    assert capsys.readouterr() == ("", f"hwgen: {tmp_path / 'd' / 'd.v'}: No space left on device\n")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_terminated_run_leaves_nothing_behind(number, status, tmp_path):
    command = [*HEARS_HANGUPS, sys.executable, "-m", "hwgen", "area", "mac", "--format", "hif8"]
    with subprocess.Popen(
        command,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        for _ in range(300):
            if list(tmp_path.glob("hwgen-*")):
                break
            time.sleep(0.1)
        process.send_signal(number)
        assert process.wait(30) == status
    assert not list(tmp_path.glob("hwgen-*"))


def test_version_and_help_run_as_a_program():
    for arguments in (["--version"], ["--help"], ["generate", "encoder", "--help"]):
        process = subprocess.run(
            [sys.executable, "-m", "hwgen", *arguments], capture_output=True, text=True, check=True
        )
        assert process.stdout.strip()
        assert not process.stderr


def test_help_of_a_readout_names_the_format_of_each_option(capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(["generate", "readout", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert exit_info.value.code == 0
    assert text.count("same as for the accumulator") == 4
    assert text.count("if --to is a format of codes (default: that format's)") == 2
    assert "overwritten" in text


BAD = {
    "unknown format": (["explain", "hif9", "1"], "FORMAT must be a known format, not 'hif9'; the nearest is hif8"),
    "unknown format to generate": (
        ["generate", "mac", "--format", "e5m"],
        "--format must be a known format, not 'e5m'; the nearest are",
    ),
    "ambiguous format": (
        ["generate", "readout", "--format", "hif8", "--to", "fp8"],
        "--to must be ocp_e4m3 or ocp_e5m2, not the ambiguous 'fp8'",
    ),
    "wide format": (
        ["generate", "mac", "--format", "binary32"],
        "--format: 'binary32' is a source, decoder target or accumulator",
    ),
    "code too large": (["explain", "hif8", "0x100"], "CODE must lie in 0 to 0xff for hif8, not 0x100"),
    "negative code": (["explain", "hif8", "--", "-1"], "CODE must lie in 0 to 0xff for hif8, not -0x1"),
    "code that is no number": (
        ["explain", "hif8", "x"],
        "CODE must be an integer such as 0x5a, 90 or 0b1011010, not 'x'",
    ),
    "unknown option": (
        [*GENERATE, "--frobnicate"],
        "unrecognized arguments: --frobnicate; see hwgen generate mac --help",
    ),
    "abbreviated option": (
        ["generate", "decoder", "--form=hif8"],
        "unrecognized arguments: --form; the nearest is --format",
    ),
    "misspelt options": (
        [*GENERATE, "--acumulator", "exact", "--term", "4"],
        "unrecognized arguments: --acumulator --term; the nearest are --accumulator, --accumulator-rounding",
    ),
    "ambiguous option": (
        ["verify", "mac", "--format", "hif8", "--re", "amap"],
        "unrecognized arguments: --re; the nearest are --reset, --recipe, --renaming",
    ),
    "misspelt option of a command": (
        ["report", "--format", "hif8"],
        "unrecognized arguments: --format; the nearest is --formats",
    ),
    "unknown option of hwgen": (["--verison"], "unrecognized arguments: --verison; the nearest is --version"),
    "unknown block": (["generate", "divider"], "argument BLOCK: invalid choice: 'divider'"),
    "unknown target": (
        ["generate", "decoder", "--format", "hif8", "--to", "binary64"],
        "argument --to: invalid choice: 'binary64'",
    ),
    "unknown source": (
        ["generate", "encoder", "--format", "hif8", "--from", "int9"],
        "--from must be a known format, not 'int9'; the nearest are int8, int4",
    ),
    "rounding the format lacks": (
        ["generate", "encoder", "--format", "ocp_e4m3", "--rounding", "hybrid"],
        f"--rounding of ocp_e4m3 must be one of {', '.join(golden.rows.ALL_ROUNDINGS)}, not 'hybrid'",
    ),
    "encoder to two formats": (
        ["generate", "encoder", "--format", "hif8+e5m2b1"],
        "--format 'hif8+e5m2b1' is two formats in one unit; encode to one of the two",
    ),
    "two formats of different widths": (
        ["generate", "mac", "--format", "hif8+e5m3"],
        "--format 'hif8+e5m3': both must have the same",
    ),
    "hybrid from dlfloat16": (
        ["generate", "encoder", "--format", "hif8", "--rounding", "hybrid", "--from", "dlfloat16"],
        "--rounding 'hybrid' is defined for source binary16, bfloat16 or binary32, not 'dlfloat16'",
    ),
    "overflow the format lacks": (
        ["generate", "encoder", "--format", "hif8", "--overflow", "nan"],
        "--overflow of hif8 must be one of infinity, saturate, propagate, not 'nan'",
    ),
    "mptorch saturating": (
        ["generate", "encoder", "--format", "e5m2b1", "--rounding", "mptorch", "--overflow", "saturate"],
        "--overflow with rounding 'mptorch' must be infinity, not 'saturate'",
    ),
    "random bits without stochastic": (
        ["generate", "encoder", "--format", "hif8", "--random-bits", "8"],
        "--random-bits needs a stochastic rounding, not 'ties_to_away'",
    ),
    "rounding pin without hybrid": (
        ["generate", "encoder", "--format", "hif8", "--rounding-pin"],
        "--rounding-pin needs rounding 'hybrid', not 'ties_to_away'",
    ),
    "too many random bits": (
        ["generate", "encoder", "--format", "hif8", "--rounding", "stochastic", "--random-bits", "33"],
        "--random-bits must be an integer from 1 to 32, not 33",
    ),
    "unknown accumulator": (
        [*GENERATE, "--accumulator", "binary64"],
        "--accumulator must be one of binary16, bfloat16, binary32, dlfloat16, exact, rvbna, or aligned6 to aligned40, "
        "not",
    ),
    "negative terms": (
        [*GENERATE, "--accumulator", "exact", "--terms", "-3"],
        "--terms must be an integer from 1 to 16777216, not -3",
    ),
    "terms without exact": (
        [*GENERATE, "--terms", "4"],
        "--terms needs accumulator 'exact', not 'binary16'",
    ),
    "terms that are no number": ([*GENERATE, "--terms", "many"], "argument --terms: invalid int value: 'many'"),
    "name that is no identifier": ([*GENERATE, "--name", "8bit"], "--name must be a Verilog identifier"),
    "name that is a keyword": (
        [*GENERATE, "--name", "always"],
        "--name must not be a keyword of Verilog or SystemVerilog, which 'always' is",
    ),
    "name of a port": (
        [*GENERATE, "--name", "acc_in"],
        "--name must not be that of one of the module's ports, which 'acc_in' is",
    ),
    "name with a path": ([*GENERATE, "--name", "../x"], "--name must be a Verilog identifier"),
    "missing TOML": (
        ["explain", "none.toml", "1"],
        "FORMAT: Format file 'none.toml' cannot be read: No such file or directory",
    ),
    "unknown area target": (["area", "mac", "--format", "hif8", "--target", "tpu"], "--target"),
    "missing liberty": (["area", "mac", "--format", "hif8", "--liberty", "none.lib"], "none.lib"),
    "no renamings": (["area", "mac", "--format", "hif8", "--renamings", "0"], "--renamings"),
    "no jobs": (["area", "mac", "--format", "hif8", "--jobs", "0"], "--jobs"),
    "unknown format in the report": (
        ["report", "--formats", "hif8,hif9"],
        "--formats must be a known format, not 'hif9'",
    ),
}


@pytest.mark.parametrize("case", sorted(BAD))
def test_bad_input_gets_one_sentence_status_2_and_leaves_nothing(case, tmp_path, capsys, monkeypatch):
    arguments, sentence = BAD[case]
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("hwgen: ")
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("width = 4", "width = 40"), "width must be an integer from 3 to 16, not 40"),
        (("width = 4", "widht = 4"), "the file has an unknown key 'widht'; did you mean 'width'?"),
        (("width = 4", 'width = "4"'), "the file: width must be an integer, not '4'"),
        (('name = "tiny"', 'name = "ti ny"'), "name must be an identifier, not 'ti ny'"),
        (
            ('rule = "biased"', 'rule = "based"'),
            "rows[1].exponent.rule must be one of fixed, biased, sign_magnitude, not 'based'",
        ),
        (("fraction_bits = 1 }", "fraction_bits = 2 }"), "must make up 3 bits"),
        (('prefix = "00"', 'prefix = "01"'), "code 0 must be zero"),
        (("]\n", ""), "is not valid TOML: "),
    ],
)
def test_a_malformed_toml_format_is_refused(change, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = TOML_FORMAT.replace(*change)
    assert text != TOML_FORMAT
    (tmp_path / "tiny.toml").write_text(text)
    assert main(["generate", "mac", "--format", "tiny.toml", "-o", "out"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("hwgen: --format: Format file 'tiny.toml'")
    assert sentence in err
    assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["tiny.toml"]


def test_bundles_are_written_whole_or_not_at_all(tmp_path, capsys):
    """A folder that has the name of one of the files prevents all of them."""
    (tmp_path / "two.toml").write_text(
        "".join(f'[[module]]\nblock = "decoder"\nformat = "hif8"\nname = "{name}"\n' for name in "xy")
    )
    obstacle = tmp_path / "out" / "y" / "y.json"
    obstacle.mkdir(parents=True)
    assert main(["build", str(tmp_path / "two.toml"), "-o", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert sorted((tmp_path / "out").rglob("*")) == [obstacle.parent, obstacle]


@pytest.mark.parametrize("length", [250, 300])
def test_a_name_that_is_too_long_for_files_is_refused(length, tmp_path, capsys):
    assert main([*GENERATE, "--name", "a" * length, "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.endswith(" cannot be written to: File name too long\n")
    assert not (tmp_path / "out").exists()


PIPES = {
    "--format": ["generate", "mac", "--format", "pipe.toml"],
    "a pair": ["generate", "mac", "--format=hif8+pipe.toml"],
    "FORMAT": ["table", "./pipe.toml"],
    "a batch file": ["build", "pipe.toml"],
    "in a batch file": ["build", "batch.toml"],
    "a sweep": ["sweep", "pipe.toml"],
    "--formats": ["report", "--formats", "hif8,pipe.toml"],
    "--accuracy": ["report", "--accuracy", "pipe.toml"],
    "--liberty": ["report", "--liberty", "pipe.toml"],
    "--verilog": ["verify", "decoder", "--format", "hif8", "--verilog", "pipe.toml"],
    "-f": ["simulate", "decoder", "--format", "hif8", "-f", "pipe.toml"],
    "in a list": ["compare", "decoder", "--format", "hif8", "-f", "list.f"],
    "--data": ["energy", "decoder", "--format", "hif8", "--data", "pipe.npy"],
}


@pytest.mark.usefixtures("unblocked")
@pytest.mark.parametrize("words", PIPES.values(), ids=PIPES)
def test_a_pipe_that_may_have_no_end_is_not_read(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.toml")
    os.mkfifo("pipe.npy")
    Path("batch.toml").write_text('[[module]]\nblock = "decoder"\nformat = "pipe.toml"\n')
    Path("list.f").write_text("pipe.toml\n")
    assert main(words) == 2
    captured = capsys.readouterr().err
    assert captured.endswith("cannot be read: it is a pipe\n")
    assert captured.count("\n") == 1


@pytest.mark.parametrize("name", ["a" * 5000 + ".toml", "a\0.toml"], ids=["long", "null"])
def test_a_path_that_no_file_can_have_is_refused(name, capsys):
    assert main(["table", name]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_an_output_without_a_name_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([*GENERATE, "-o", ""]) == 2
    assert capsys.readouterr().err == "hwgen: argument -o: must be a folder, not ''\n"
    assert not list(tmp_path.iterdir())


def test_an_output_that_is_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "taken").write_text("x")
    assert main([*GENERATE, "-o", str(tmp_path / "taken")]) == 2
    assert "cannot be written to" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "evil.toml", "0"],
        ["explain", "\x1b[2Jnone.toml", "0"],
        ["verify", "decoder", "--format", "e2m1", "--verilog", "\x1b[2Jnone.v"],
        ["area", "decoder", "--format", "e2m1", "--liberty", "\x1b[2Jnone.lib"],
        ["report", "--compare", "\x9b2Jnone.json"],
        ["\x1b[2J"],
    ],
)
def test_texts_of_users_cannot_control_a_terminal(tmp_path, monkeypatch, capsys, words):
    """Escapes in a format's source, in names of files, and in words of the command line."""
    monkeypatch.chdir(tmp_path)
    text = 'cite = "a\\u001b[2J\\u0007 paper"\n' + TOML_FORMAT
    (tmp_path / "evil.toml").write_text(text)
    streams = sys.stdout, sys.stderr
    main(words)
    printed = "".join(capsys.readouterr())
    assert re.search(r"\\x(1b\[2J|9b2J)", printed), printed
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", printed)
    assert streams == (sys.stdout, sys.stderr)


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["cp1252", "C"],
)
def test_letters_that_the_output_lacks_are_escaped(environment):
    command = [sys.executable, "-m", "hwgen", "table", "binary8p3"]
    result = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"1.5 * 2^-16 \\u2248 2.28881835938e-05" in result.stdout


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_no_bug(closed):
    result = subprocess.run(f"{sys.executable} -m hwgen formats {closed}", shell=True, capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (0, b"")
