"""The products of a policy are those of its formats and accumulators, and what they lose is counted."""

import jax
import numpy as np
import pytest

import golden
from examples.training.products import AMAX_EVERY, Products, encoded
from rtl_tests.support.blocks import generator
from synth.report.training.policy import ACTIVATION, WEIGHT, Operand, Policy


def policy(fmt, accumulator="binary32", gradient=None, **choices):
    operand = Operand(fmt)
    return Policy("test", operand, operand, gradient or operand, accumulator, **choices)


def product(products, x, y, name="p"):
    return np.asarray(products.matmul(x, y, name))


def gradients(products, x, y, gradient):
    """The product of activations and weights, and the gradients of both."""
    value, propagate = jax.vjp(lambda x, y: products.matmul(x, y, "p"), x, y)
    return [np.asarray(result) for result in (value, *propagate(gradient))]


def numbers(*shape, deviation=1.0):
    return (generator("numbers", str(shape)).normal(size=shape) * deviation).astype(np.float32)


def test_without_formats_products_are_plain():
    x, y = numbers(9, 30), numbers(30, 7)
    products = Products(Policy("binary32"), 0)
    np.testing.assert_allclose(product(products, x, y), x @ y, rtol=1e-5, atol=1e-5)
    assert products.shares() == {}


@pytest.mark.parametrize("name", ["hif8", "ocp_e4m3", "gc_1_4_3_b10", "e5m2b1"])
def test_exact_sums_are_products_in_binary64_rounded_once(name):
    """All partial sums are exact in binary64: bits, magnitudes and lengths are small enough."""
    fmt, x, y = golden.get(name), numbers(20, 60), numbers(60, 30)
    products = Products(policy(name, "exact"), 0)
    a, b = (fmt.decode(fmt.encode(operand.view(np.uint32))) for operand in (x, y))
    smallest = min(np.abs(a[a != 0]).min() * 2.0**-3, 1) * min(np.abs(b[b != 0]).min() * 2.0**-3, 1)
    assert np.log2((np.abs(a) @ np.abs(b)).max() / smallest) < 53
    np.testing.assert_array_equal(product(products, x, y), (a @ b).astype(np.float32))


@pytest.mark.parametrize("accumulator", ["binary16", "bfloat16", "dlfloat16", "binary32", "aligned13"])
def test_sums_are_chains(accumulator):
    fmt, x, y = golden.get("ocp_e5m2"), numbers(5, 9), numbers(9, 6)
    products = Products(policy("ocp_e5m2", accumulator), 0)
    a, b = (fmt.encode(operand.view(np.uint32)) for operand in (x, y))
    wide = golden.get("binary32" if accumulator == "aligned13" else accumulator)
    acc = np.zeros((5, 6), wide.code_dtype)
    for k in range(9):
        acc = golden.mac(a[:, k, None], b[None, k], acc, fmt, None, accumulator)
    np.testing.assert_array_equal(product(products, x, y), wide.decode(acc))


def test_each_kind_has_its_format():
    rules = Policy("mixed", Operand("ocp_e4m3"), Operand("hif8"), Operand("ocp_e5m2"), "exact")
    products = Products(rules, 0)
    x, y, gradient = numbers(4, 300), numbers(300, 5), numbers(4, 5)

    def rounded(name, operand):
        return golden.get(name).quantize(operand).astype(np.float64)

    forward, of_x, of_y = gradients(products, x, y, gradient)
    a, b, g = rounded("ocp_e4m3", x), rounded("hif8", y), rounded("ocp_e5m2", gradient)
    np.testing.assert_array_equal(forward, (a @ b).astype(np.float32))
    np.testing.assert_array_equal(of_x, (g @ b.T).astype(np.float32))
    np.testing.assert_array_equal(of_y, (a.T @ g).astype(np.float32))


def test_stacks_are_products_of_their_own():
    products = Products(policy("hif8"), 0)
    x, y = numbers(3, 5, 6), numbers(3, 6, 4)
    whole = product(products, x, y)
    for part in range(3):
        np.testing.assert_array_equal(whole[part], product(products, x[part], y[part]))


def test_what_is_lost_is_counted():
    products = Products(policy("ocp_e4m3"), 0)
    x = np.float32([[0, 1, 2**-12, -(2**-12), 1000, -np.inf, 448, 2**-9]])
    product(products, x, np.ones((8, 1), np.float32))
    assert products.shares() == {ACTIVATION: (2 / 7, 2 / 7), WEIGHT: (0.0, 0.0)}
    products.begin(1)
    assert products.shares() == {}


def test_random_bits_depend_on_seed_and_iteration_alone():
    rules = policy("hif8", gradient=Operand("hif8", "stochastic"))
    x, y, gradient = numbers(20, 20), numbers(20, 20), numbers(20, 20)

    def of_x(seed, iteration, before=0):
        products = Products(rules, seed)
        for number in (*range(before), iteration):
            products.begin(number)
            _, result, _ = gradients(products, x, y, gradient)
        return result

    np.testing.assert_array_equal(of_x(1, 5), of_x(1, 5, before=3))
    assert (of_x(1, 5) != of_x(1, 6)).any()
    assert (of_x(1, 5) != of_x(2, 5)).any()


def test_both_products_of_a_gradient_have_the_same_codes():
    """Factors of 1 make the gradients of the operands the rounded gradient itself."""
    one = np.eye(20, dtype=np.float32)
    products = Products(policy("hif8", "exact", Operand("hif8", "stochastic")), 0)
    _, of_x, of_y = gradients(products, one, one, numbers(20, 20))
    np.testing.assert_array_equal(of_x, of_y)
    assert (of_x != golden.get("hif8").quantize(numbers(20, 20))).any()


def test_scales_of_tensors_follow_their_largest_number():
    """From the second choice on, tiny operands have the same products as if they were larger, and none overflows."""
    x, y = numbers(8, 40), numbers(40, 8)
    products = Products(policy("ocp_e4m3", scaling="tensor"), 0)
    assert not product(products, np.ldexp(x, -30), y).any()
    products.begin(AMAX_EVERY)
    tiny = product(products, np.ldexp(x, -30), y)
    assert tiny.all()
    scales = dict(products.exponents)
    assert scales["p.left"] == 30 + np.floor(np.log2(448 / np.abs(x).max()))
    np.testing.assert_array_equal(product(products, np.ldexp(x, -29), y, "q"), np.ldexp(tiny, 1))
    again = Products(policy("ocp_e4m3", scaling="tensor"), 0)
    again.begin(AMAX_EVERY, trains=False)
    assert not product(again, np.ldexp(x, -30), y).any()
    again.exponents = scales
    again.begin(AMAX_EVERY + 1)
    np.testing.assert_array_equal(product(again, np.ldexp(x, -30), y), tiny)
    assert not any(lost["overflows"] for lost in products.losses.values())


@pytest.mark.parametrize(("scaling", "policy_name"), [("tensor", "max"), ("adaptive, center", "center")])
def test_scales_of_tensors_are_those_of_golden(scaling, policy_name):
    """For HiF8 they bring the largest number, or the median, to where its precision is."""
    x, y = numbers(8, 40, deviation=2.0**9), numbers(40, 8)
    products = Products(policy("hif8", scaling=scaling))
    products.begin(AMAX_EVERY)
    product(products, x, y)
    expected = {name: golden.scale_for(z, "hif8", policy_name).item() for name, z in (("p.left", x), ("p.right", y))}
    assert products.exponents == expected
    assert golden.get("hif8").binades[int(np.floor(np.log2(np.median(np.abs(x)) * 2.0 ** expected["p.left"])))] == 4


def test_exceptions_have_their_own_formats():
    half, common = Operand("binary16"), Operand("ocp_e4m3")
    rules = Policy("p", common, common, common, "exact", exceptions=(("p.left", half), ("q", half)))
    products, x, y = Products(rules), numbers(4, 30), numbers(30, 5)
    narrow, wide = (
        [golden.get(fmt).quantize(z).astype(np.float64) for z in (x, y)] for fmt in ("ocp_e4m3", "binary16")
    )
    np.testing.assert_array_equal(product(products, x, y), (wide[0] @ narrow[1]).astype(np.float32))
    np.testing.assert_array_equal(product(products, x, y, "q"), (wide[0] @ wide[1]).astype(np.float32))
    np.testing.assert_array_equal(product(products, x, y, "r"), (narrow[0] @ narrow[1]).astype(np.float32))


def test_operands_come_from_their_source():
    """Hybrid rounding from binary16 has the thresholds of SR2; numbers beyond binary16 are out of range."""
    rule, x = Operand("hif8", "hybrid", source="binary16"), numbers(1000, deviation=2.0**9)
    codes, losses = encoded(rule, x, np.random.default_rng(0))
    half = golden.get("hif8").encode(x.astype(np.float16).view(np.uint16), "binary16", "hybrid")
    np.testing.assert_array_equal(codes, half)
    assert (codes != golden.get("hif8").encode(x.view(np.uint32), "binary32", "hybrid")).any()
    assert losses == {"numbers": 1000, "underflows": 0, "overflows": 0}
    saturating = Operand("hif8", overflow="saturate", source="binary16")
    assert encoded(saturating, np.float32([1e5, 1.0]), np.random.default_rng(0))[1]["overflows"] == 1


@pytest.mark.parametrize("stack", [(), (3,)], ids=["matrices", "stacks"])
@pytest.mark.parametrize("accumulator", ["binary16", "bfloat16", "exact"])
def test_products_of_both_passes_are_goldens_bit_for_bit(accumulator, stack):
    """Also under operations that JAX differentiates before and after a product."""
    rules = Policy("mixed", Operand("hif8"), Operand("e5m2b1"), Operand("ocp_e5m2"), accumulator)
    x, y, gradient = numbers(*stack, 9, 40), numbers(*stack, 40, 6), numbers(*stack, 9, 6)

    def golden_product(a, b, formats):
        pairs = zip(a, b, strict=True) if stack else [(a, b)]
        sums = [golden.matmul(a, b, *formats, accumulator) for a, b in pairs]
        if accumulator == "exact":
            wide = [golden.ExactAccumulator(*formats, a.shape[-1]).encode(s, "binary32").view(np.float32) for s in sums]
        else:
            wide = [golden.get(accumulator).decode(s).astype(np.float32) for s in sums]
        return np.stack(wide) if stack else wide[0]

    value, propagate = jax.vjp(lambda x, y: 4 * Products(rules).matmul(2 * x, y, "p"), x, y)
    of_x, of_y = propagate(gradient)
    operands = (("hif8", 2 * x), ("e5m2b1", y), ("ocp_e5m2", 4 * gradient))
    a, b, g = (golden.get(name).encode(operand.view(np.uint32)) for name, operand in operands)
    np.testing.assert_array_equal(value, 4 * golden_product(a, b, ("hif8", "e5m2b1")))
    np.testing.assert_array_equal(of_x, 2 * golden_product(g, b.swapaxes(-1, -2), ("ocp_e5m2", "e5m2b1")))
    np.testing.assert_array_equal(of_y, golden_product(a.swapaxes(-1, -2), g, ("hif8", "ocp_e5m2")))
