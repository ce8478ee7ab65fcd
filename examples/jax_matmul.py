"""Bit-exact matrix products under a function of JAX, with a gradient: a small network learns with them.

Products of float32 arrays round their operands to a format and add in an accumulator; the gradients are such products,
too. It needs JAX: pip install '.[jax]' in the clone.

Usage: python examples/jax_matmul.py
"""

import jax
import jax.numpy as jnp
import numpy as np

import golden


def product(x, y, fmt="ocp_e4m3", accumulator="binary32"):
    """The product of float32 matrices, which are rounded to the format."""
    a, b = (golden.get(fmt).encode(np.asarray(operand, np.float32).view(np.uint32)) for operand in (x, y))
    bits = golden.matmul(a, b, fmt, accumulator=accumulator)
    return golden.get(accumulator).decode_bits(bits, "binary32").view(np.float32)


@jax.custom_vjp
def matmul(x, y):
    """The same, to be compiled and differentiated."""
    return jax.pure_callback(product, jax.ShapeDtypeStruct((x.shape[0], y.shape[1]), jnp.float32), x, y)


matmul.defvjp(lambda x, y: (matmul(x, y), (x, y)), lambda saved, g: (matmul(g, saved[1].T), matmul(saved[0].T, g)))


def loss(weights, x, y):
    """Mean square error of a network of two layers."""
    hidden = jnp.tanh(matmul(x, weights[0]))
    return jnp.mean((matmul(hidden, weights[1]) - y) ** 2)


def main() -> None:
    """Train on the product of two numbers, and print the loss before and after."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (256, 2)).astype(np.float32)
    y = x[:, :1] * x[:, 1:]
    x = np.concatenate((x, np.ones((256, 1), np.float32)), axis=1)
    weights = [rng.normal(size=shape).astype(np.float32) for shape in ((3, 32), (32, 1))]
    step = jax.jit(jax.value_and_grad(loss))
    losses = []
    for _ in range(200):
        value, gradients = step(weights, x, y)
        weights = [w - 0.1 * g for w, g in zip(weights, gradients, strict=True)]
        losses.append(float(value))
    print(f"loss {losses[0]:.4f} before, {losses[-1]:.4f} after")


if __name__ == "__main__":
    main()
