"""The exact accumulator against Python's integers: widths, sums, sticky flags, limbs."""

from fractions import Fraction

import numpy as np
import pytest

import golden
from rtl_tests.support.paper_tables import CATALOGUE, values

FLAGS = {"pos_inf": 0, "neg_inf": 1, "nan": 2}


def finite_fractions(name):
    return {code: Fraction(v) for code, v in enumerate(values(name).tolist()) if np.isfinite(v)}


def lsb(name):
    """Weight of the lowest bit of all values."""
    return min(Fraction(v.numerator & -v.numerator, v.denominator) for v in finite_fractions(name).values() if v)


def accumulator(a_name, b_name=None, terms=1024):
    return golden.ExactAccumulator(golden.get(a_name), golden.get(b_name or a_name), terms)


def read(unit, limbs):
    """Value, as a fraction, and set of flags of a state."""
    state = sum(int(limb) << 64 * i for i, limb in enumerate(limbs.tolist()))
    assert state >> unit.width == 0
    value = state & ((1 << unit.value_width) - 1)
    value -= (value >> (unit.value_width - 1)) << unit.value_width
    flags = {name for name, i in FLAGS.items() if state >> (unit.value_width + i) & 1}
    return value * Fraction(2) ** unit.lsb_exponent, flags


@pytest.mark.parametrize(("name", "terms", "width"), [("hif8", 1, 76), ("hif8", 1024, 86), ("ocp_e4m3", 1024, 47)])
def test_widths_of_the_specification(name, terms, width):
    """Specification, section 6."""
    assert accumulator(name, terms=terms).value_width == width


def test_hif8_products_span_as_specified():
    unit = accumulator("hif8", terms=1)
    assert unit.lsb_exponent == -44
    state = unit.accumulate(0x6E, 0x6E, unit.zeros())
    assert read(unit, state) == (Fraction(2) ** 30, set())


@pytest.mark.parametrize("b_name", ["hif8", "ocp_e4m3", "e5m3"])
@pytest.mark.parametrize("a_name", CATALOGUE)
def test_the_width_is_the_smallest_that_holds_the_largest_sum(a_name, b_name):
    weight = lsb(a_name) * lsb(b_name)
    product = max(finite_fractions(a_name).values()) * max(finite_fractions(b_name).values())
    for terms in (1, 3, 64, 1024):
        unit = accumulator(a_name, b_name, terms)
        assert Fraction(2) ** unit.lsb_exponent == weight
        assert 2 ** (unit.value_width - 2) <= product * terms / weight < 2 ** (unit.value_width - 1)
        assert unit.width == unit.value_width + 3
        assert unit.limbs == (unit.width + 63) // 64


@pytest.mark.parametrize("a_name", CATALOGUE)
def test_every_product_and_random_sums_are_exact(a_name):
    """Random products added to earlier random products; special values set flags and do not change the value."""
    rng = np.random.default_rng(500)
    for b_name in (a_name, "e5m2b4"):
        unit = accumulator(a_name, b_name, 3)
        a = rng.integers(0, len(values(a_name)), 1500)
        b = rng.integers(0, len(values(b_name)), 1500)
        first = unit.accumulate(a, b, unit.zeros((1500,)))
        second = unit.accumulate(a[::-1], b, first)
        for i, (x, y, z) in enumerate(zip(a.tolist(), b.tolist(), a[::-1].tolist(), strict=True)):
            expected = expected_sum([(values(a_name)[x], values(b_name)[y]), (values(a_name)[z], values(b_name)[y])])
            assert read(unit, second[i]) == expected, f"{x:#x} * {y:#x} + {z:#x} * {y:#x} of {a_name} and {b_name}"


def expected_sum(pairs):
    total, flags = Fraction(0), set()
    for va, vb in pairs:
        with np.errstate(invalid="ignore"):
            product = va * vb
        if np.isnan(product):
            flags.add("nan")
        elif np.isinf(product):
            flags.add("pos_inf" if product > 0 else "neg_inf")
        else:
            total += Fraction(va) * Fraction(vb)
    if {"pos_inf", "neg_inf"} <= flags:
        flags.add("nan")
    return total, flags


def test_all_pairs_of_hif8():
    unit = accumulator("hif8", terms=1)
    a, b = np.divmod(np.arange(1 << 16), 256)
    state = unit.accumulate(a, b, unit.zeros())
    assert len(state) == 1 << 16
    for i in range(1 << 16):
        assert read(unit, state[i]) == expected_sum([(values("hif8")[a[i]], values("hif8")[b[i]])])


@pytest.mark.parametrize("name", ["hif8", "e5m2b4", "gc_1_0_7_b0", "ocp_e4m3"])
def test_dot_of_a_thousand_terms(name):
    """Random vectors, and the largest products of both signs; no sum wraps."""
    rng = np.random.default_rng(501)
    codes = np.array(list(finite_fractions(name)))
    largest = golden.get(name).magnitude_codes[-1]
    negative = negated(name, largest)
    a = np.concatenate([rng.choice(codes, (3, 1024)), np.full((2, 1024), largest)])
    b = np.concatenate([rng.choice(codes, (3, 1024)), np.full((1, 1024), largest), np.full((1, 1024), negative)])
    sums = golden.dot(a, b, name, accumulator="exact")
    unit = accumulator(name)
    fractions = finite_fractions(name)
    for i in range(5):
        expected = sum(fractions[x] * fractions[y] for x, y in zip(a[i].tolist(), b[i].tolist(), strict=True))
        assert read(unit, sums[i]) == (expected, set())
    np.testing.assert_array_equal(golden.dot(a, b, name, accumulator="exact", terms=1024), sums)


@pytest.mark.parametrize(
    ("name", "terms"), [("hif8", 1024), ("e5m2b4", 1), ("gc_1_4_3_b7", 3), ("gc_1_0_7_b0", 64), ("e7m2b4", 5)]
)
def test_decoded_values_are_exact_if_53_bits_hold_them(name, terms):
    """Random states, states with few significant bits, and both ends, against fractions; flags take precedence."""
    rng = np.random.default_rng(502)
    unit = accumulator(name, terms=terms)
    w = unit.value_width
    integers = [int.from_bytes(rng.bytes(w // 8 + 1), "little") % 2**w - 2 ** (w - 1) for _ in range(300)]
    few = [int(rng.integers(-(1 << 53), 1 << 53)) << shift for shift in range(max(w - 54, 0)) for _ in range(4)]
    integers += [*few, *(n + step for n in few for step in (-1, 1)), 0, 1, -1, 2 ** (w - 1) - 1, -(2 ** (w - 1))]
    integers = [n for n in integers if -(2 ** (w - 1)) <= n < 2 ** (w - 1)]
    state = np.array([[(n % 2**w) >> 64 * i & (2**64 - 1) for i in range(unit.limbs)] for n in integers], np.uint64)
    decoded = unit.decode(state)
    exact = 0
    for i, n in enumerate(integers):
        value = n * Fraction(2) ** unit.lsb_exponent
        assert read(unit, state[i]) == (value, set())
        holds = Fraction(float(value)) == value
        exact += holds
        assert abs(Fraction(float(decoded[i])) - value) <= (0 if holds else 2 * Fraction(np.spacing(abs(float(value)))))
    assert 0 < exact <= len(integers)
    assert unit.decode(unit.zeros((2, 3))).shape == (2, 3)
    for flags, expected in ((1, np.inf), (2, -np.inf), (4, np.nan), (7, np.nan)):
        flagged = unit.zeros()
        for j in range(3):
            flagged[(unit.pos_inf_bit + j) // 64] |= np.uint64((flags >> j & 1) << (unit.pos_inf_bit + j) % 64)
        np.testing.assert_array_equal(unit.decode(flagged), expected)


def negated(name, code):
    """Code of the negative value."""
    return next(c for c, v in finite_fractions(name).items() if v == -finite_fractions(name)[int(code)])


def test_flags_stay_and_scalars_do_not_warn():
    """Scalar states with carries out of every limb (-1 + 1), and flags that later sums keep."""
    unit = accumulator("hif8")
    one, minus_one, inf, minus_inf, nan = 0x08, 0x88, 0x6F, 0xEF, 0x80
    state, every = unit.zeros(), {"pos_inf", "neg_inf", "nan"}
    for a, value, flags in (
        (minus_one, -1, set()),
        (one, 0, set()),
        (minus_one, -1, set()),
        (inf, -1, {"pos_inf"}),
        (one, 0, {"pos_inf"}),
        (minus_inf, 0, every),
        (one, 1, every),
    ):
        state = unit.accumulate(a, one, state)
        assert read(unit, state) == (value, flags)
    for a, b in ((nan, one), (inf, 0), (0, minus_inf)):
        assert read(unit, unit.accumulate(a, b, unit.zeros())) == (0, {"nan"})


def test_mac_and_dot_use_the_exact_accumulator_and_broadcast():
    unit = accumulator("hif8", "ocp_e4m3", 4)
    a, b = np.arange(256).reshape(256, 1), np.arange(256)
    b = b[~np.isnan(values("ocp_e4m3")[b])]
    state = golden.mac(a, b, unit.zeros(), "hif8", "ocp_e4m3", "exact", terms=4)
    assert state.shape == (256, b.size, unit.limbs)
    np.testing.assert_array_equal(state, unit.accumulate(a, b, unit.zeros((256, b.size))))
    np.testing.assert_array_equal(
        golden.dot(a, np.array([[0x38]]), "hif8", "ocp_e4m3", "exact", terms=4), state[:, 0x38]
    )


@pytest.mark.parametrize("terms", [0, -1, 1 << 25, 1.5, "8", True])
def test_terms_out_of_range_are_refused(terms):
    error = ValueError if type(terms) is int else TypeError
    with pytest.raises(error, match=rf"^terms must be an integer from 1 to 16777216, not {terms!r}$"):
        accumulator("hif8", terms=terms)


def test_states_of_the_wrong_shape_or_width_are_refused():
    unit = accumulator("hif8")
    with pytest.raises(TypeError, match=r"^acc must be uint64 limbs with a last axis of 2, not int64 of shape \(2,\)$"):
        unit.accumulate(0, 0, [0, 0])
    with pytest.raises(
        ValueError, match=r"^acc must be uint64 limbs with a last axis of 2, not uint64 of shape \(3,\)$"
    ):
        unit.accumulate(0, 0, np.zeros(3, np.uint64))
    with pytest.raises(ValueError, match=r"^acc must have no bits beyond its 89$"):
        unit.accumulate(0, 0, np.array([0, 1 << 25], np.uint64))
    with pytest.raises(ValueError, match=r"^acc must have no bits beyond its 89$"):
        unit.decode(np.array([0, 1 << 25], np.uint64))


def test_states_have_any_byte_order():
    unit = accumulator("hif8")
    state = unit.accumulate(0x3, 0x85, unit.zeros())
    assert np.array_equal(unit.accumulate(1, 2, state.astype(">u8")), unit.accumulate(1, 2, state))
    assert unit.decode(state.astype(">u8")) == unit.decode(state) != 0
