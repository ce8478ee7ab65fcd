"""Formats that the papers compare with: integers, posits, and 16-bit operands, against their definitions.

The definitions are typed here a second time, in exact integers and fractions.
"""

from bisect import bisect_left
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

import golden

POSITS = {"posit8_0": 0, "posit8_1": 1, "posit8_2": 2}
INTEGERS = {"int8": 8, "int4": 4}
RNG = np.random.default_rng(20)


def posit(width: int, exponent_bits: int, code: int) -> Fraction | None:
    """The value of a posit by the standard of 2022, section 3.3, which knows no two's complement; None is NaR."""
    if code == 0:
        return Fraction(0)
    if code == 1 << (width - 1):
        return None
    bits = f"{code:0{width}b}"
    sign, body = int(bits[0]), bits[1:]
    run = len(body) - len(body.lstrip(body[0]))
    regime = run - 1 if body[0] == "1" else -run
    rest = body[run + 1 :]
    exponent = int((rest + "0" * exponent_bits)[:exponent_bits] or "0", 2)
    fraction = rest[exponent_bits:]
    f = Fraction(int(fraction or "0", 2), 1 << len(fraction))
    return ((1 - 3 * sign) + f) * Fraction(2) ** ((1 - 2 * sign) * ((regime << exponent_bits) + exponent + sign))


@cache
def posits(exponent_bits: int) -> tuple[list[Fraction], list[int], list[Fraction]]:
    """The values of 8-bit posits in order, their codes, and the 9-bit posits between each two of them."""
    codes = [code & 0xFF for code in range(-127, 128)]
    values = [posit(8, exponent_bits, code) for code in codes]
    between = [posit(9, exponent_bits, 2 * code & 0x1FF | 1) for code in codes[:-1]]
    return values, codes, between


def rounded_posit(exponent_bits: int, x: Fraction) -> int:
    """The posit to which the standard's section 4.1 rounds a number."""
    values, codes, between = posits(exponent_bits)
    if x == 0:
        return 0
    if abs(x) >= values[-1]:
        return 0x7F if x > 0 else 0x81
    if abs(x) <= values[128]:  # never to zero
        return 0x01 if x > 0 else 0xFF
    place = bisect_left(values, x)
    if values[place] == x:
        return codes[place]
    u, v = codes[place - 1], between[place - 1]
    return u if x < v or (x == v and u % 2 == 0) else codes[place]


def cut_posit(exponent_bits: int, x: Fraction) -> int:
    """The same by the bit string of the magnitude, cut after 7 bits and rounded as an integer, ties to even."""
    magnitude = abs(x)
    if not magnitude:
        return 0
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > magnitude
    regime, field = exponent >> exponent_bits, exponent % (1 << exponent_bits)
    string = "1" * (regime + 1) + "0" if regime >= 0 else "0" * -regime + "1"
    string += f"{field:0{exponent_bits}b}" if exponent_bits else ""
    integer = (magnitude / Fraction(2) ** exponent - 1) * (1 << 60)
    assert integer.denominator == 1
    string += f"{integer.numerator:060b}"
    code = min(max(round(Fraction(int(string, 2), 1 << (len(string) - 7))), 1), 0x7F)
    return code if x > 0 else -code & 0xFF


def rounded_integer(width: int, x: Fraction) -> int:
    """The code of the integer to which a number rounds to nearest, ties to even, and saturates."""
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    return min(max(round(x), low), high) & ((1 << width) - 1)


def rounded(name: str, x: float) -> int:
    """The code of any number, infinities and NaN included."""
    if np.isnan(x):
        return 0x80 if name in POSITS else 0
    if np.isinf(x):
        width = INTEGERS.get(name, 8)
        return 0x80 if name in POSITS else (1 << (width - 1)) - int(x > 0)
    return rounded_posit(POSITS[name], Fraction(x)) if name in POSITS else rounded_integer(INTEGERS[name], Fraction(x))


def value(name: str, code: int) -> Fraction | None:
    if name in POSITS:
        return posit(8, POSITS[name], code)
    width = INTEGERS[name]
    return Fraction(code - ((code >> (width - 1)) << width))


@pytest.mark.parametrize("name", [*POSITS, *INTEGERS])
def test_values(name):
    fmt = golden.get(name)
    assert fmt.width == INTEGERS.get(name, 8)
    for code, kind in enumerate(fmt.kinds):
        expected = value(name, code)
        assert (kind is golden.Kind.NAN) == (expected is None)
        if expected is not None:
            assert fmt.exact_value(code) == fmt.values[code] == expected
    assert not np.signbit(fmt.values[0])
    assert not fmt.has_negative_zero
    assert not fmt.has_infinity


@pytest.mark.parametrize("source", ["binary16", "bfloat16"])
@pytest.mark.parametrize("name", [*POSITS, *INTEGERS])
def test_codes_of_all_numbers_of_16_bits(name, source):
    bits = np.arange(1 << 16)
    numbers = golden.get(source).decode(bits)
    expected = [rounded(name, x) for x in numbers.tolist()]
    np.testing.assert_array_equal(golden.get(name).encode(bits, source), expected)


@pytest.mark.parametrize("source", ["binary16", "bfloat16"])
@pytest.mark.parametrize("exponent_bits", [0, 1, 2])
def test_both_definitions_of_rounding_to_posits_agree(exponent_bits, source):
    """The standard's (n + 1)-bit posits, and the bit string that hardware rounds, for all numbers of 16 bits."""
    numbers = golden.get(source).decode(np.arange(1 << 16))
    for x in map(Fraction, np.unique(numbers[np.isfinite(numbers)]).tolist()):
        assert cut_posit(exponent_bits, x) == rounded_posit(exponent_bits, x)


@pytest.mark.parametrize("name", [*POSITS, *INTEGERS])
def test_codes_of_binary32_at_boundaries(name):
    known = {value(name, code) for code in range(1 << INTEGERS.get(name, 8))} - {None}
    if name in POSITS:
        between = posits(POSITS[name])[2]
    else:
        between = [x + side for x in known for side in (Fraction(1, 2), Fraction(-1, 2))]
    marks = np.array([float(x) for x in {*known, *between}], np.float32)
    assert all(map(float.__eq__, marks.astype(float).tolist(), [float(x) for x in {*known, *between}]))
    near = [np.nextafter(marks, np.float32(end)) for end in (-np.inf, np.inf)]
    tiny = np.array([1e-45, -1e-45, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)
    others = RNG.integers(0, 1 << 32, 20_000, dtype=np.uint32).view(np.float32)
    x = np.concatenate([marks, *near, tiny, others])
    expected = [rounded(name, number) for number in golden.get("binary32").decode(x.view(np.uint32)).tolist()]
    np.testing.assert_array_equal(golden.get(name).encode(x.view(np.uint32)), expected)


@pytest.mark.parametrize("name", [*POSITS, *INTEGERS])
def test_values_keep_their_codes(name):
    fmt, codes = golden.get(name), np.arange(1 << INTEGERS.get(name, 8))
    for target in ("binary32", "binary16", "bfloat16"):
        bits = fmt.decode_bits(codes, target)
        kept = ~np.isinf(golden.get(target).decode(bits))  # 2**16 and above are too large for binary16
        np.testing.assert_array_equal(fmt.encode(bits, target)[kept], codes[kept])
        assert kept.all() or (name, target) == ("posit8_2", "binary16")


def test_stochastic_rounding_reaches_the_lowest_integer():
    """-127.25 becomes -128 for a quarter of the random words, and 127.25 stays."""
    words = np.arange(256, dtype=np.uint32)
    for x, expected in ((-127.25, [0x81, 0x80]), (127.25, [0x7F, 0x7F]), (-128.5, [0x80, 0x80])):
        bits = np.full(256, x, np.float32).view(np.uint32)
        for source in ("binary32", "binary16"):
            bits = bits if source == "binary32" else np.full(256, x, np.float16).view(np.uint16)
            codes = golden.get("int8").encode(bits, source, rounding="stochastic", random=words, random_bits=8)
            np.testing.assert_array_equal(codes, np.where(words < 192, *expected))


def test_posit_ties_lie_at_the_appended_bit():
    """Where exponent bits are cut off, as between 2**-24 and 2**-20, the tie is 2**-22, not the arithmetic mean."""
    fmt = golden.get("posit8_2")
    x = np.array([2.0**-22, 1.001 * 2.0**-22, 0.999 * 2.0**-22, 2.0**22, 1.001 * 2.0**22], np.float32)
    np.testing.assert_array_equal(fmt.encode(x.view(np.uint32)), [2, 2, 1, 0x7E, 0x7F])
    saturated = fmt.encode(np.array([np.inf, -np.inf, np.nan], np.float32).view(np.uint32), overflow="saturate")
    np.testing.assert_array_equal(saturated, [0x7F, 0x81, 0x80])


@pytest.mark.parametrize(
    "rounding", [rounding for rounding in golden.get("int8").roundings if not rounding.is_stochastic]
)
def test_every_rounding_of_integers(rounding):
    """Around the lowest number, -128, and its negative, which is no value."""
    x = np.array([-130, -128.75, -128.5, -128.25, -128, -127.5, 126.5, 127, 127.5, 128, -0.25, 0.25], np.float32)
    exact = [Fraction(float(number)) for number in x]
    ways = {
        "ties_to_even": round,
        "ties_to_away": lambda y: int(abs(y) + Fraction(1, 2)) * (1 if y > 0 else -1),
        "toward_zero": int,
        "toward_positive": lambda y: -int(-y // 1),
        "toward_negative": lambda y: int(y // 1),
        "to_odd": lambda y: int(y) if y == int(y) else int(y // 1) | 1,
    }
    expected = [min(max(ways[rounding](y), -128), 127) & 0xFF for y in exact]
    np.testing.assert_array_equal(golden.get("int8").encode(x.view(np.uint32), rounding=rounding), expected)


def nearest(x: Fraction, fraction_bits: int, bias: int) -> float:
    """A number rounded to an IEEE format: to nearest, ties to even, with subnormals."""
    if x == 0:
        return 0.0
    exponent = max(abs(x).numerator.bit_length() - abs(x).denominator.bit_length() - 1, 1 - bias)
    exponent += abs(x) >= Fraction(2) ** (exponent + 1)
    unit = Fraction(2) ** (exponent - fraction_bits)
    result = round(x / unit) * unit
    return (
        float("inf")
        if abs(result) >= Fraction(2) ** (bias + 1) and x > 0
        else (float("-inf") if abs(result) >= Fraction(2) ** (bias + 1) else float(result))
    )


FIELDS = {"binary16": (10, 15), "bfloat16": (7, 127), "binary32": (23, 127)}
OPERANDS = [*POSITS, *INTEGERS, "binary16", "bfloat16"]


def exact_value(name: str, code: int) -> Fraction | None:
    if name in FIELDS:
        number = float(golden.get(name).decode(np.array([code]))[0])
        return Fraction(number) if np.isfinite(number) else None
    return value(name, code) if name in {**POSITS, **INTEGERS} else golden.get(name).exact_value(code)


@pytest.mark.parametrize("accumulator", FIELDS)
@pytest.mark.parametrize(
    ("a_name", "b_name"), [*((name, name) for name in OPERANDS), ("ocp_e4m3", "binary16"), ("hif8", "int8")]
)
def test_sums_are_rounded_once(a_name, b_name, accumulator):
    """MACs, and dot products of two lanes, of finite operands."""
    a, b = (RNG.integers(0, 1 << golden.get(name).width, (2000, 2)) for name in (a_name, b_name))
    acc = RNG.integers(0, 1 << golden.get(accumulator).width, 2000)
    one = golden.mac(a[:, 0], b[:, 0], acc, a_name, b_name, accumulator)
    two = golden.fused_dot(a, b, acc, a_name, b_name, accumulator)
    checked = 0
    for i in range(len(acc)):
        start = golden.get(accumulator).decode(acc[i : i + 1])[0]
        left, right = (
            [exact_value(name, code) for code in codes[i].tolist()] for name, codes in ((a_name, a), (b_name, b))
        )
        for lanes, result in ((1, one), (2, two)):
            factors = [*left[:lanes], *right[:lanes]]
            if not np.isfinite(start) or not all(isinstance(factor, Fraction) for factor in factors):
                continue
            total = Fraction(start) + sum(x * y for x, y in zip(left[:lanes], right[:lanes], strict=True))
            assert golden.get(accumulator).decode(result[i : i + 1])[0] == nearest(total, *FIELDS[accumulator])
            checked += 1
    assert checked > 2000


@pytest.mark.parametrize("name", INTEGERS)
def test_exact_sums_of_all_products(name):
    """-128 * -128 included: the accumulator has room for ``terms`` of these."""
    count = 1 << INTEGERS[name]
    codes = np.array(list(product(range(count), repeat=2)))
    unit = golden.ExactAccumulator(name, name, 4)
    assert unit.value_width == (4 * (count // 2) ** 2).bit_length() + 1
    state = unit.zeros((len(codes),))
    for times in range(1, 5):
        state = unit.accumulate(codes[:, 0], codes[:, 1], state)
        expected = [times * value(name, a) * value(name, b) for a, b in codes.tolist()]
        np.testing.assert_array_equal(unit.decode(state), np.array(expected, float))
    assert not unit.flags(codes[:, :1], codes[:, 1:], unit.zeros((len(codes),))).any()


@pytest.mark.parametrize("name", [*POSITS, *INTEGERS])
def test_products_of_matrices(name):
    a, b = (RNG.integers(0, 1 << golden.get(name).width, shape) for shape in ((5, 40), (40, 7)))
    a, b = (np.where(codes == 0x80, 1, codes).astype(np.uint8) if name in POSITS else codes for codes in (a, b))
    unit = golden.ExactAccumulator(name, name, 40)
    sums = golden.matmul(a, b, name, accumulator="exact", terms=40)
    exact = [
        [sum(value(name, x) * value(name, y) for x, y in zip(row, column, strict=True)) for column in b.T.tolist()]
        for row in a.tolist()
    ]
    for row, sums_of_row in zip(exact, sums, strict=True):
        for total, limbs in zip(row, sums_of_row, strict=True):
            word = sum(limb << (64 * place) for place, limb in enumerate(limbs.tolist()))
            assert word == int(total / Fraction(2) ** unit.lsb_exponent) % (1 << unit.value_width)


@pytest.mark.parametrize(
    ("code", "phrases"),
    [
        (("int8", 0x80), ["value: -1 * 2^7 = -128", "ties_to_even: [1.99"]),
        (("posit8_2", 1), ["value: 1 * 2^-24", "ties_to_even: (0, 1 * 2^-22 ≈ 2.38418579102e-07)"]),
    ],
)
def test_explanations(code, phrases):
    from golden.explain import explain

    text = "\n".join(explain(golden.get(code[0]), code[1]))
    print(text)
    for phrase in phrases:
        assert phrase in text
