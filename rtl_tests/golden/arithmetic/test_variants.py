"""Sums as other people's hardware has them, against their definition in exact integers."""

from itertools import product

import numpy as np
import pytest

import golden
from golden.arithmetic.options import DAZ, FTZ, IEEE_LIKE, OVERFLOWS
from rtl_tests.golden.arithmetic.test_mac import NAN, SHAPE, accumulators_near
from rtl_tests.support.blocks import generator
from rtl_tests.support.boundaries import INFINITE, SIGN

SPARE = 40
"""Places below the last bit of the smallest accumulator: sums are integers in units of the last one."""
VARIANTS = [*product((None, "toward_zero"), (None, *OVERFLOWS), (None, *DAZ), (None, *FTZ))]


def rounded(size, places, truncates):
    """An integer without its last places, to nearest, ties to even, or toward zero."""
    kept, lost, half = size >> places, size & (1 << places) - 1, 1 << places >> 1
    return kept + (not truncates and (lost > half or (lost == half and places > 0 and kept & 1)))


def definition(target, term, negative, acc, variant):
    """Bits of the sum of an accumulator and a product of some units, None for NaN, that has a sign."""
    rounding, overflow, daz, ftz = variant
    fraction_bits, truncates, sign = SHAPE[target][0], rounding == "toward_zero", SIGN[target]
    size = acc & sign - 1
    if term is None or size > INFINITE[target]:
        return NAN[target]
    if size == INFINITE[target]:
        return acc
    field, fraction = size >> fraction_bits, size & (1 << fraction_bits) - 1
    if field:
        fraction = fraction + (1 << fraction_bits) << field - 1
    elif daz in ("all", "accumulator"):
        fraction = 0
    total = term + ((-fraction if acc & sign else fraction) << SPARE)
    if total == 0:
        return sign if negative and acc & sign and term == 0 and fraction == 0 else 0
    size, sign = abs(total), sign if total < 0 else 0
    precise, smallest = size.bit_length() - 1 - fraction_bits, 1 << fraction_bits + SPARE
    if ftz == "before_rounding" and size < smallest:
        return sign
    if ftz == "after_rounding" and rounded(size, max(precise, 0), truncates) << max(precise, 0) < smallest:
        return sign
    places = max(precise, SPARE)
    code = (places - SPARE << fraction_bits) + rounded(size, places, truncates)
    if code >= INFINITE[target]:
        saturates = overflow == "saturate" or (overflow is None and truncates)
        code = INFINITE[target] - saturates
    return code | sign


def operands(name, daz):
    """For each code: its number in units of the smallest one, and its sign; subnormals are 0 with ``daz``."""
    fmt = golden.get(name)
    f, numbers = fmt.rows[-1].fraction_bits, []
    for code in range(1 << fmt.width):
        field, fraction = (code & fmt.sign_bit - 1) >> f, code & (1 << f) - 1
        size = fraction + (1 << f) << field - 1 if field else 0 if daz in ("all", "codes") else fraction
        is_nan = name == "ocp_e4m3" and code & 0x7F == 0x7F
        numbers.append((None if is_nan else -size if code & fmt.sign_bit else size, code & fmt.sign_bit != 0))
    return numbers, fmt.ulp_exponent


@pytest.mark.parametrize("target", IEEE_LIKE)
@pytest.mark.parametrize("name", ["e2m1", "ocp_e4m3"])
def test_the_definition(name, target):
    """All pairs of codes; each product has scales that make it ordinary, tiny or huge, and some accumulators."""
    rng, fmt, seen = generator("variants", name, target), golden.get(name), set()
    lowest = 1 - sum(SHAPE[target])
    f, bias = SHAPE[target]
    scales = (0, lowest - 6, lowest + f - 2, bias - int(np.log2(fmt.largest)))
    each = 2 if name == "ocp_e4m3" else 4
    for daz in (None, *DAZ):
        numbers, ulp = operands(name, daz)
        places, classes, index = {}, [], []
        for (x, x_sign), (y, y_sign) in product(numbers, numbers):
            key = (None if x is None or y is None else x * y, x_sign != y_sign)
            index.append(places.setdefault(key, len(places)))
        for term, negative in places:
            classes += [(term, negative, scale) for scale in rng.permutation(scales)[:each].tolist()]
        index = np.array(index).reshape(1 << fmt.width, -1, 1) * each + np.arange(each)
        products = np.array([np.nan if term is None else np.ldexp(float(term), 2 * ulp + s) for term, _, s in classes])
        corner = [(1 << f) + (0 if negative else SIGN[target]) for _, negative, _ in classes]  # the smallest normal one
        acc = np.array([*(accumulators_near(rng, target, products) for _ in range(1 if each == 2 else 9)), corner]).T
        units = [None if t is None else t << 2 * ulp + s - lowest + SPARE for t, _, s in classes]
        codes = np.arange(1 << fmt.width)
        left, right = codes[:, None, None, None], codes[:, None, None]
        scale = np.array([s for *_, s in classes])[index][..., None]
        for variant in VARIANTS:
            if variant[2] != daz:
                continue
            expected = np.array(
                [
                    [definition(target, unit, negative, bits, variant) for bits in row]
                    for unit, (_, negative, _), row in zip(units, classes, acc.tolist(), strict=True)
                ]
            )
            options = dict(zip(("accumulator_rounding", "accumulator_overflow", "daz", "ftz"), variant, strict=True))
            options |= {"accumulator": target, "scale": scale, "scale_bits": 9}
            ours = golden.mac(left, right, acc[index], name, **options)
            wrong = np.argwhere(ours != expected[index])
            assert not wrong.size, (variant, wrong[:3], ours[tuple(wrong[0])], expected[index][tuple(wrong[0])])
            seen.add(expected.tobytes())
    # the default overflow is one of both others, and rounding toward zero makes no result less tiny
    assert len(seen) == 2 * (1 + len(DAZ)) * (3 + 2)


@pytest.mark.parametrize("target", IEEE_LIKE)
def test_dot_products(target):
    """The exact sum of all products is rounded once; a zero is -0 if all addends are."""
    rng, count = generator("variants", "dot", target), 300
    for variant in VARIANTS[::5]:
        options = dict(zip(("accumulator_rounding", "accumulator_overflow", "daz", "ftz"), variant, strict=True))
        numbers, ulp = operands("ocp_e4m3", variant[2])
        codes = rng.integers(0, 256, (2, count, 3)) & rng.choice([0xFF, 0x87, 0x80], (1, count, 1))
        lowest = 1 - sum(SHAPE[target])
        scale = rng.choice([0, lowest - 6, lowest + 8, SHAPE[target][1] - 9], count)
        pairs = [
            [(numbers[a], numbers[b]) for a, b in zip(*case, strict=True)] for case in codes.swapaxes(0, 1).tolist()
        ]
        terms = [
            None if any(None in (x, y) for (x, _), (y, _) in row) else sum(x * y for (x, _), (y, _) in row)
            for row in pairs
        ]
        negative = [all(x != y for (_, x), (_, y) in row) for row in pairs]
        zeros = [
            all(x * y == 0 for (x, _), (y, _) in row) if term == 0 else False
            for row, term in zip(pairs, terms, strict=True)
        ]
        acc = accumulators_near(
            rng, target, np.array([np.nan if t is None else np.ldexp(float(t), 2 * ulp) for t in terms])
        )
        units = [
            None if t is None else t << 2 * ulp + s - lowest + SPARE for t, s in zip(terms, scale.tolist(), strict=True)
        ]
        expected = [
            definition(target, unit, sign and zero, bits, variant)
            for unit, sign, zero, bits in zip(units, negative, zeros, acc.tolist(), strict=True)
        ]
        ours = golden.fused_dot(*codes, acc, "ocp_e4m3", accumulator=target, scale=scale, scale_bits=9, **options)
        np.testing.assert_array_equal(ours, expected, str(variant))


def test_infinities_of_operands_stay():
    options = {"accumulator_rounding": "toward_zero", "daz": "all", "ftz": "before_rounding"}
    sums = golden.mac([0x7C, 0xFC, 0x7C, 0x7B], [0x3C, 0x3C, 0x01, 0x7B], [0, 0x3C00, 0, 0x7BFF], "ocp_e5m2", **options)
    assert [hex(word) for word in sums] == ["0x7c00", "0xfc00", "0x7e00", "0x7bff"]  # infinity times a flushed number


def test_a_zero_without_a_negative_one():
    """The smallest number of e4m3fnuz, and its negative, become its only zero."""
    sums = golden.mac([0x01, 0x81, 0x81], 0x40, [0x8000, 0x8000, 0], "e4m3fnuz", daz="codes")
    assert sums.tolist() == [0, 0, 0]


def test_matrix_products_are_truncated():
    rng = generator("variants", "matmul")
    a, b = rng.integers(0, 0x7F, (5, 6), np.uint8), rng.integers(0, 0xFF, (6, 4), np.uint8)
    state = np.zeros((5, 4), np.uint16)
    for step in range(6):
        state = golden.mac(a[:, step, None], b[None, step], state, "ocp_e4m3", accumulator_rounding="toward_zero")
    np.testing.assert_array_equal(golden.matmul(a, b, "ocp_e4m3", accumulator_rounding="toward_zero"), state)


FEW = "in binary16, bfloat16 or binary32, not "


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"accumulator_overflow": "wrap"}, "accumulator_overflow must be one of infinity, saturate, not 'wrap'"),
        ({"daz": True}, "daz must be one of all, codes, accumulator, not True"),
        ({"ftz": "on"}, "ftz must be one of before_rounding, after_rounding, not 'on'"),
        ({"daz": "all", "accumulator": "dlfloat16"}, f"daz 'all' needs an accumulator {FEW}'dlfloat16'"),
        (
            {"accumulator_rounding": "toward_zero", "accumulator": "exact"},
            f"accumulator_rounding 'toward_zero' needs an accumulator {FEW}'exact'",
        ),
        (
            {"accumulator_rounding": "stochastic", "random": 0, "ftz": "after_rounding"},
            "ftz 'after_rounding' cannot be combined with stochastic rounding",
        ),
        (
            {"a_format": "ocp_e4m3+ocp_e5m2", "daz": "codes"},
            "daz 'codes' needs operands of one format each, not a pair",
        ),
    ],
)
def test_refusals(options, sentence):
    with pytest.raises(golden.Refusal) as caught:
        golden.mac(0, 0, 0, **options)
    assert str(caught.value) == sentence
    if "cannot" in sentence:
        with pytest.raises(
            golden.BadValue, match=r"^accumulator_rounding 'toward_zero' cannot be combined with flags$"
        ):
            golden.mac_with_flags(0, 0, 0, accumulator_rounding="toward_zero")
