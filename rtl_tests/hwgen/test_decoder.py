"""Decoders in simulation against the reference model: every code of every format, to every target."""

import pytest

import golden
from golden.explain import describe
from hwgen.blocks.catalog import build
from hwgen.blocks.options import TARGETS
from hwgen.reference.conversions import DecoderReference
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import all_codes, decoder_case, texts
from rtl_tests.support.selection import exhaustive

FORMATS = [golden.get(name) for name in golden.names()]
USUAL_TARGET = "binary16"
"""The target in `make test`; `make exhaustive` simulates the others, and checks the gates of all."""


@pytest.mark.parametrize("target", [name if name == USUAL_TARGET else exhaustive(name) for name in TARGETS])
def test_simulation_of_all_codes(target, tmp_path):
    texts([build("decoder", fmt, target=target) for fmt in FORMATS])  # emit in parallel; decoder_case reads the cache
    cases = [decoder_case(fmt, target) for fmt in FORMATS]
    assert sum(case.vectors for case in cases) == sum(1 << fmt.width for fmt in FORMATS)
    simulate(cases, tmp_path)


@pytest.mark.parametrize("name", golden.names())
def test_unpacked_is_what_the_contract_says(name):
    """value = significand * 2**(exponent - (width - 1)), normalized, zero unless finite and not zero."""
    fmt = golden.get(name)
    design = build("decoder", fmt, target="unpacked")
    outputs = DecoderReference(design).columns({"code": all_codes(fmt.width)})
    widths = {port.name: port.width for port in design.ports}
    places = widths["significand"] - 1
    for code, value in enumerate(fmt.values.tolist()):
        out = {port: int(column[code]) for port, column in outputs.items()}
        exponent = out["exponent"] - (out["exponent"] >> (widths["exponent"] - 1) << widths["exponent"])
        assert out["sign"] == (code & fmt.sign_bit != 0)
        if out["is_zero"] | out["is_inf"] | out["is_nan"]:
            assert (exponent, out["significand"]) == (0, 0), describe(fmt, code)
        else:
            assert out["significand"] >> places == 1
            assert abs(value) == out["significand"] * 2.0 ** (exponent - places), describe(fmt, code)


def test_bad_target():
    with pytest.raises(
        ValueError, match=r"^target must be one of binary16, bfloat16, binary32, dlfloat16, unpacked, not 'binary64'$"
    ):
        build("decoder", "hif8", target="binary64")
