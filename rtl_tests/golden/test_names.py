# amaranth: UnusedElaboratable=no
"""Names of formats: every alias, in any case, is accepted everywhere; output shows the names of the catalogue."""

import json
import re

import numpy as np
import pytest

import golden
from golden.names import ALIASES, AMBIGUOUS, DIFFERENCES
from hwgen import Decoder, Encoder, Mac, Pe
from hwgen.__main__ import main
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from rtl_tests.support.blocks import texts
from rtl_tests.support.paths import ROOT
from rtl_tests.support.toys import TOML_FORMAT
from synth.cli.report import _formats
from synth.sweep import space

REQUIRED = {
    "hifloat8": "hif8",
    "e4m3": "ocp_e4m3",
    "e5m2": "ocp_e5m2",
    "e4m3fn": "ocp_e4m3",
    "float8_e4m3fn": "ocp_e4m3",
    "fp8_e4m3": "ocp_e4m3",
    "fp8_e5m2": "ocp_e5m2",
    "float8_e5m2": "ocp_e5m2",
    "FLOAT8E4M3FN": "ocp_e4m3",
    "FLOAT8E5M2": "ocp_e5m2",
    "float8_e4m3fnuz": "gc_1_4_3_b8",
    "float8_e5m2fnuz": "gc_1_5_2_b16",
    "float8_e4m3b11fnuz": "gc_1_4_3_b11",
    "torch.float8_e5m2": "ocp_e5m2",
    "torch.bfloat16": "bfloat16",
    "Float8_e5m2FNUZ": "gc_1_5_2_b16",
    "fp16": "binary16",
    "half": "binary16",
    "bf16": "bfloat16",
    "fp32": "binary32",
}
"""Aliases that users rely on, typed independently of the table."""

_ALL = {name: name for name in (*golden.names(), *golden.WIDE)} | ALIASES | REQUIRED
NAMES = {spelling: fmt for name, fmt in _ALL.items() for spelling in (name, name.upper())}
"""Names of the catalogue by every accepted name."""


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_its_format(name, capsys):
    assert golden.get(name) is golden.get(NAMES[name])
    assert golden.get(name).name == NAMES[name]
    assert main(["explain", name, "1"]) == 0
    assert capsys.readouterr().out.startswith(f"{NAMES[name]} (")


@pytest.mark.parametrize("name", [name for name, fmt in NAMES.items() if fmt in golden.WIDE])
def test_names_of_wide_formats_are_sources_targets_and_accumulators(name, tmp_path, capsys, monkeypatch):
    wide, hif8 = golden.get(name).name, golden.get("hif8")
    assert hif8.encode(np.uint16([0x40]), name) == hif8.encode(np.uint16([0x40]), wide)
    assert hif8.decode_bits([8], name) == hif8.decode_bits([8], wide)
    assert golden.dot([0x38], [0x38], "e4m3", accumulator=name) == golden.dot([8], [8], accumulator=wide)
    assert golden.mac(8, 8, 1, "hif8", "e5m2", name) == golden.mac(8, 8, 1, "hif8", "ocp_e5m2", wide)
    assert (Encoder("HIFLOAT8", name).source.name, Decoder("e5m2", name).target) == (wide, wide)
    assert (Mac("E4M3", accumulator=name).accumulator, Pe("e4m3", accumulator=name).accumulator) == (wide, wide)
    module = f"hif8_decoder_{wide}"
    emitted = texts([build("decoder", "hif8", target=wide)])  # once, not for every name
    monkeypatch.setattr(Design, "verilog", lambda design: emitted[design.name])
    assert main(["generate", "decoder", "--format", "hif8", "--to", name, "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/{module}/{module}.v\n"


def test_exact_accumulators_take_any_name():
    unit = golden.ExactAccumulator("E4M3", "e5m2", 4)
    assert (unit.a_format.name, unit.b_format.name) == ("ocp_e4m3", "ocp_e5m2")
    assert unit.encode(unit.accumulate(0x38, 0x3C, unit.zeros()), "FP32") == np.float32(1).view(np.uint32)
    assert golden.mac(0x38, 0x38, unit.zeros(), "E4M3", "e5m2", "EXACT", 4).shape == (unit.limbs,)


def test_output_shows_the_names_of_the_catalogue(tmp_path, capsys):
    words = ["mac", "--format", "float8_e4m3fn", "--format-b", "HIF8", "--accumulator", "FP32"]
    assert main(["generate", *words, "-o", str(tmp_path)]) == 0
    folder = tmp_path / "ocp_e4m3_hif8_mac_binary32"
    assert capsys.readouterr().out == f"{folder}/{folder.name}.v\n"
    for file in folder.rglob("*"):
        text = file.read_text().lower() if file.is_file() else ""
        assert "float8_e4m3fn" not in text, file
        assert "fp32" not in text, file
    described = json.loads((folder / f"{folder.name}.json").read_text())
    assert described["options"] == {"format": "ocp_e4m3", "format-b": "hif8", "accumulator": "binary32"}
    assert main(["area", "decoder", "--format", "E5M2", "--to", "HALF", "--renamings", "1", "--json"]) == 0
    assert {(row["format"], row["to"]) for row in json.loads(capsys.readouterr().out)} == {("ocp_e5m2", "binary16")}
    assert main(["verify", "decoder", "--format", "fp8_e4m3", "-o", str(tmp_path / "evidence")]) == 0
    assert capsys.readouterr().out.startswith("ocp_e4m3_decoder_binary16: equal to the reference model on all 256")


def test_pairs_batches_sweeps_and_reports_take_any_name(tmp_path, capsys):
    assert golden.get("e4m3+E5M2") == golden.get("ocp_e4m3+ocp_e5m2")
    (tmp_path / "chip.toml").write_text('[[module]]\nblock = "encoder"\nformat = "E5M2"\nfrom = "half"\n')
    assert main(["build", str(tmp_path / "chip.toml"), "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith("ocp_e5m2_encoder_binary16_ties_to_even.v\n")
    file = tmp_path / "space.toml"
    file.write_text(
        'formats = ["e4m3", "OCP_E4M3"]\n[mac]\nformat-b = ["HiFloat8"]\naccumulator = ["fp16", "exact", "binary16"]\n'
    )
    designs = [design.name for design in space.read(file).designs()]
    assert designs == ["ocp_e4m3_hif8_mac_binary16", "ocp_e4m3_hif8_mac_exact"]
    assert list(_formats("HIFLOAT8,e4m3,float8_e4m3fn")) == ["hif8", "ocp_e4m3"]


@pytest.mark.parametrize("name", [*AMBIGUOUS, "FP8", "torch.float8_e4m3"])
def test_ambiguous_names_are_refused_with_the_choice(name, capsys):
    with pytest.raises(golden.BadValue, match=rf"^name must be .* or .*, not the ambiguous {name!r}$"):
        golden.get(name)
    assert main(["generate", "mac", "--format", name]) == 2
    assert re.match(rf"hwgen: --format must be .* or .*, not the ambiguous {name!r}$", capsys.readouterr().err)
    for choice in re.findall(r"(?:ieee|ocp|gc)_\w+", AMBIGUOUS[name.lower().removeprefix("torch.")]):
        assert golden.get(choice).name == choice
    with pytest.raises(
        golden.BadValue,
        match=rf"^accumulator must be one of binary16, .*, exact, or aligned6 to aligned40, not {name!r}$",
    ):
        golden.mac(0, 0, 0, accumulator=name)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("E4M3", "a known format"),
        ("Half", "a source and accumulator"),
        ("fp8", "several known formats"),
        ("float8_e4m3", "several known formats"),
    ],
)
def test_a_file_does_not_take_a_name_that_stands_for_another_format(name, kind, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TOML_FORMAT.replace('"tiny"', f'"{name}"'))
    with pytest.raises(golden.BadValue, match=rf"name {name!r} is that of {kind}"):
        golden.get(path)


def test_negative_biases():
    fmt = golden.get("GC_1_4_3_BM3")
    assert fmt.name == "gc_1_4_3_bm3"
    np.testing.assert_array_equal(fmt.values, golden.get("gc_1_4_3_b7").values * 2.0**10)


@pytest.mark.parametrize(
    ("written", "name"),
    [("gc_1_4_3_b08", "gc_1_4_3_b8"), ("gc_1_4_3_bm0", "gc_1_4_3_b0"), ("gc_1_4_3_bm03", "gc_1_4_3_bm3"),
     ("e05m2b1", "e5m2b1"), ("gc_1_4_3_bm00", "gc_1_4_3_b0"), ("e5m2b01_02", "e5m2b1_2")],
)  # fmt: skip
def test_an_integer_is_written_in_one_way(written, name):
    assert golden.get(written) is golden.get(name)
    assert golden.get(written).name == name


def test_other_defaults_of_the_libraries_are_stated(capsys):
    """An alias changes no default."""
    assert golden.get("float8_e4m3fnuz").overflows[0] == "saturate"
    assert golden.get("FLOAT8E4M3FN").overflows[0] == "nan"
    assert main(["formats"]) == 0
    listing = " ".join(capsys.readouterr().out.split())  # lines are folded
    assert all(sentence in listing for sentence in DIFFERENCES)
    assert all(f" {name}: {choice} " in listing for name, choice in AMBIGUOUS.items())
    assert " ocp_e5m2: e5m2, fp8_e5m2, float8_e5m2, float8e5m2 " in listing


def test_the_page_lists_all_names():
    page = (ROOT / "docs" / "formats.md").read_text().split("## Names")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*`) \| (.*) \|$", page, re.M)
    cells = [[[name.lower() for name in re.findall(r"`(\w+)`", cell)] for cell in row] for row in rows]
    aliases = {alias: names[0] for names, others in cells for alias in others if names[0] not in AMBIGUOUS}
    assert aliases == ALIASES
    assert {name for names, _ in cells for name in names} >= set(AMBIGUOUS)
