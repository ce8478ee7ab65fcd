"""Batch files: the modules they describe, and one sentence for each error in them."""

import json

import pytest

from hwgen.__main__ import main
from rtl_tests.support.toys import TOML_FORMAT

GOOD = """
[[module]]
block = "decoder"
format = "hif8"

[[module]]
block = "encoder"
format = "mine.toml"
from = "bfloat16"
rounding = "stochastic"
random-bits = 4
name = "enc"
"""


def run(tmp_path, text, capsys):
    (tmp_path / "chip.toml").write_text(text)
    (tmp_path / "mine.toml").write_text(TOML_FORMAT)
    status = main(["build", str(tmp_path / "chip.toml"), "-o", str(tmp_path / "out")])
    return status, capsys.readouterr()


def test_modules(tmp_path, capsys):
    status, captured = run(tmp_path, GOOD, capsys)
    assert status == 0
    assert [line.rsplit("/", 1)[1] for line in captured.out.split()] == ["hif8_decoder_binary16.v", "enc.v"]
    assert (tmp_path / "out" / "enc" / "tb" / "enc_tb.v").exists()


def test_nothing_is_written_if_one_module_cannot_be(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "enc").write_text("mine")
    status, captured = run(tmp_path, GOOD, capsys)
    assert status == 2
    assert captured.err.endswith("enc' is not a folder\n")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["enc"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the file needs a key 'module'"),
        ("module = 1", "module must be an array of tables: [[module]]"),
        ('[[modul]]\nblock = "mac"', "the file has an unknown key 'modul'; did you mean 'module'?"),
        (
            '[[module]]\nblock = "mac"\nformat = "hif8"\nacumulator = "exact"',
            "key 'acumulator'; did you mean 'accumulator'?",
        ),
        (
            '[[module]]\nblock = "decoder"\nformat = "hif8"\nterms = 4',
            "has an unknown key 'terms'; allowed are block, format, to, stages, reset, clock-enable, name",
        ),
        (
            '[[module]]\nblock = "decoder"\nformat = "hif8"\nlanes = 4',  # a key of other blocks
            "1 has an unknown key 'lanes'; allowed are block, format, to, stages, reset, clock-enable, name\n",
        ),
        (f"{'.'.join('a' * 3000)} = 1", "chip.toml' has a number that is too long, or tables that are too deep\n"),
        (f"a = {'9' * 5000}", "chip.toml' has a number that is too long, or tables that are too deep\n"),
        (f"{'a' * 300} = 1", f"has an unknown key '{'a' * 99}...; allowed are module\n"),
        (
            '[[module]]\nblock = "adder"\nformat = "hif8"',
            "1: block must be one of decoder, encoder, quantizer, mac, dot, pe, readout, amax, random, tile, "
            "not 'adder'",
        ),
        ('[[module]]\nblock = "mac"', "module 1 needs a key 'format'"),
        ('[[module]]\nformat = "hif8"', "module 1 needs a key 'block'"),
        ('[[module]]\nblock = "mac"\nformat = 8', "module 1: format must be a string, not 8"),
        ('[[module]]\nblock = "mac"\nformat = "hif9"', "must be a known format, not 'hif9'; the nearest is hif8"),
        (
            '[[module]]\nblock = "mac"\nformat = "hif8"\nterms = 4',
            "module 1: terms needs accumulator 'exact', not 'b",
        ),
        (
            '[[module]]\nblock = "mac"\nformat = "hif8"\nname = "module"',
            "module 1: name must not be a keyword of Verilog",
        ),
        (
            '[[module]]\nblock = "mac"\nformat = "hif8"\n' * 2,
            "module 2: name 'hif8_mac_binary16' is taken by module 1; choose another one",
        ),
        (
            "".join(f'[[module]]\nblock = "mac"\nformat = "hif8"\nname = "{name}"\n' for name in ("Sum", "sum")),
            "module 2: name 'sum' is taken by module 1; choose another one",
        ),
        (
            "".join(f'[[module]]\nblock = "mac"\nformat = "hif8"\nname = "{name}"\n' for name in ("sum_tb", "Sum")),
            "module 1: name 'sum_tb' is that of a module in the bundle of module 2; choose another one",
        ),
        (
            "".join(f'[[module]]\nblock = "mac"\nformat = "hif8"\nname = "{name}"\n' for name in ("x", "x_properties")),
            "module 2: name 'x_properties' is that of a module in the bundle of module 1; choose another one",
        ),
        *(
            (
                '[[module]]\nblock = "tile"\nformat = "e2m1"\nrows = 1\ncolumns = 1\naccumulator = "exact"\n'
                f'to = "binary16"\nname = "t"\n[[module]]\nblock = "decoder"\nformat = "hif8"\nname = "{part}"',
                f"module 2: name '{part}' is that of a module in the bundle of module 1; choose another one",
            )
            for part in ("t_pe", "t_readout")
        ),
        (
            '[[module]]\nblock = "mac"\nformat = "hif8"\nname = "TOP"',
            "module 1: name must not be 'TOP', which Verilator refuses as the name of a module",
        ),
        (
            '[[module]]\nblock = "encoder"\nformat = "hif8"\nrandom-bits = 4',
            "module 1: random-bits needs a stochastic rounding, not 'ties_to_away'",
        ),
        (
            '[[module]]\nblock = "encoder"\nformat = "hif8+e5m2b1"',
            "'hif8+e5m2b1' is two formats in one unit; encode to",
        ),
        (
            '[[module]]\nblock = "mac"\nformat = "hif8"\n[[module]]\nblock = "decoder"\nformat = "hif8"\nname = "code"',
            "module 2: name must not be that of one of the module's ports, which 'code' is",
        ),
        ("[[module", "is not valid TOML: "),
    ],
)
def test_refusals(tmp_path, capsys, text, sentence):
    status, captured = run(tmp_path, text, capsys)
    assert status == 2
    assert captured.err.startswith("hwgen: FILE: ")
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["double", "uint8_t", "template", "main"])
def test_a_word_of_c_is_no_name(tmp_path, capsys, name):
    assert main(["generate", "mac", "--format", "e2m1", "--name", name, "-o", str(tmp_path)]) == 2
    sentence = f"name '{name}' is a word of C or C++, or of a header that its model includes; choose another one"
    assert capsys.readouterr().err == f"hwgen: {sentence}\n"


def test_the_command_of_a_bundle_has_the_name(tmp_path):
    assert main(["generate", "decoder", "--format", "e2m1", "--name", "mine", "-o", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "mine" / "mine.json").read_text())["command"].endswith(" --name mine")


def test_random_bits_are_accepted_if_stochastic_is_the_default(tmp_path, capsys):
    (tmp_path / "chance.toml").write_text(
        TOML_FORMAT.replace('"tiny"', '"chance"') + 'roundings = ["stochastic", "ties_to_even"]\n'
    )
    status, captured = run(
        tmp_path, '[[module]]\nblock = "encoder"\nformat = "chance.toml"\nfrom = "bfloat16"\nrandom-bits = 4', capsys
    )
    assert status == 0
    assert captured.out.strip().endswith("chance_encoder_bfloat16_stochastic_r4.v")


def test_a_byte_order_mark_is_read(tmp_path, capsys):
    (tmp_path / "tiny.toml").write_text("\ufeff" + TOML_FORMAT)
    text = '\ufeff[[module]]\nblock = "decoder"\nformat = "tiny.toml"'
    status, captured = run(tmp_path, text, capsys)
    assert (status, captured.err) == (0, "")
    assert captured.out.strip().endswith("tiny_decoder_binary16.v")


def test_a_missing_file(tmp_path, capsys):
    assert main(["build", str(tmp_path / "none.toml")]) == 2
    assert "cannot be read: No such file or directory" in capsys.readouterr().err
