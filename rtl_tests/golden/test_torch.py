"""Tensors of PyTorch, if it is there: results are those of golden on arrays, and gradients pass straight through."""

import subprocess
import sys

import numpy as np
import pytest

import golden
from rtl_tests.support.blocks import generator


def test_golden_alone_does_not_import_torch():
    command = "import sys, golden; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", command], check=True)


torch = pytest.importorskip("torch")
ours = pytest.importorskip("golden.torch")
TYPES = {torch.float32: np.float32, torch.float16: np.float16}
FORMATS = ("hif8", "e5m2b1", "ocp_e4m3", "e2m1", "e8m0", "posit8_1", "e5m3")


def numbers(kind, shape=(40, 32)):
    rng = generator(kind.__name__)
    x = rng.normal(size=shape) * np.exp2(rng.integers(-20, 12, shape))
    x.flat[:4] = np.inf, -np.inf, np.nan, -0.0
    return x.astype(kind)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("dtype", TYPES)
def test_codes_and_values_are_goldens(name, dtype):
    x, fmt = numbers(TYPES[dtype]), golden.get(name)
    x = x if fmt.signed else np.abs(x)
    every = [{}, {"overflow": "saturate"}]
    every += [{"rounding": "toward_zero"}] if "toward_zero" in fmt.roundings else []
    for choices in every:
        codes = ours.codes(torch.from_numpy(x), name, **choices)
        assert np.array_equal(codes.numpy(), fmt.codes(x, **choices))
        with np.errstate(over="ignore"):
            right = fmt.quantize(x, **choices)
        for values in (ours.values(codes, name, dtype), ours.quantize(torch.from_numpy(x), name, **choices)):
            assert values.dtype == dtype
            np.testing.assert_array_equal(values.numpy(), right)


def test_bfloat16_has_the_bits_of_float32():
    x = torch.from_numpy(numbers(np.float32)).to(torch.bfloat16)
    assert torch.equal(ours.codes(x, "ocp_e5m2"), ours.codes(x.float(), "ocp_e5m2"))
    assert ours.quantize(x, "ocp_e5m2").dtype == torch.bfloat16
    finite = torch.isfinite(x)
    assert torch.equal(ours.quantize(x, "ocp_e5m2")[finite].float(), ours.quantize(x.float(), "ocp_e5m2")[finite])


def test_stochastic_rounding_takes_random_words():
    x = numbers(np.float32)
    random = generator("torch").integers(0, 1 << 16, x.shape)
    codes = ours.codes(torch.from_numpy(x), "hif8", rounding="stochastic", random=random)
    assert np.array_equal(codes.numpy(), golden.get("hif8").codes(x, rounding="stochastic", random=random))


@pytest.mark.parametrize("name", ["e2m1", "hif8"])
def test_blocks_are_goldens(name):
    x = numbers(np.float32)
    for policy in (None, "even"):
        right = golden.dequantize_block(*golden.quantize_block(x, name, policy=policy), name)
        np.testing.assert_array_equal(ours.quantize_block(torch.from_numpy(x), name, policy).numpy(), right)


@pytest.mark.parametrize("quantize", [ours.quantize, ours.quantize_block])
def test_gradients_pass_straight_through(quantize):
    x = torch.linspace(-9, 9, 64, requires_grad=True)
    weights = torch.arange(64.0)
    (quantize(x, "e2m1") * weights).sum().backward()
    assert torch.equal(x.grad, weights)


def test_other_layouts():
    x = torch.from_numpy(numbers(np.float32)).t()
    assert torch.equal(ours.codes(x, "hif8"), ours.codes(x.contiguous(), "hif8"))
    assert ours.quantize(torch.tensor(1.3), "hif8").item() == golden.get("hif8").quantize(np.float32([1.3]))[0]


@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        (torch.zeros(3, dtype=torch.float64), "not torch.float64$"),
        (np.zeros(3, np.float32), "not ndarray$"),
    ],
)
def test_refusals(x, sentence):
    with pytest.raises(golden.Refusal, match=f"^x must be a tensor of float32, float16 or bfloat16, {sentence}"):
        ours.quantize(x, "hif8")
