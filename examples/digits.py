"""A classifier of handwritten digits in every 8-bit format: what the formats' arithmetic does to real data.

A small network is trained in float32 on the digits that ship with scikit-learn. Its weights and activations are quantized, its matrix
products run through ``golden.dot`` with a binary16 accumulator; and for three formats a batch of images runs through the emitted MAC's
Verilog in simulation, equal to golden bit for bit.

Usage: python examples/digits.py [--json FILE] [--formats F,...] [--without-rtl]
"""

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import golden
from golden import Format
from hwgen import build
from rtl_tests.bench import Case, simulate

RTL_FORMATS = ("hif8", "e5m2b1", "ocp_e4m3")
RTL_IMAGES = 8
HIDDEN = 32
ACCUMULATOR = "binary16"

Product = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""``x @ w.T``, in some arithmetic."""


class Network:
    """A trained network of two layers, and its test images: pixels in [0, 1]."""

    def __init__(self) -> None:
        digits = load_digits()
        images = (digits.data / 16).astype(np.float32)
        train_x, self.images, train_y, self.labels = train_test_split(images, digits.target, test_size=450, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = MLPClassifier((HIDDEN,), max_iter=150, random_state=0).fit(train_x, train_y)
        self.weights = [w.T.astype(np.float32) for w in model.coefs_]
        self.biases = [b.astype(np.float32) for b in model.intercepts_]

    def logits(self, images: np.ndarray, product: Product) -> np.ndarray:
        """Outputs, with ``product(x, w)`` in place of ``x @ w.T``."""
        hidden = np.maximum(product(images, self.weights[0]) + self.biases[0], 0)
        return product(hidden, self.weights[1]) + self.biases[1]

    def accuracy(self, logits: np.ndarray) -> float:
        """Share of the test images whose largest output is their label."""
        return float(np.mean(logits.argmax(axis=1) == self.labels))


def scale_down(fmt: Format, x: np.ndarray) -> np.float32:
    """The power of two, at most 1, that brings a tensor into the format's range."""
    return np.float32(2.0 ** min(0, int(np.floor(np.log2(fmt.largest / float(np.abs(x).max()))))))


def quantized_product(fmt: Format, trace: list[tuple[np.ndarray, np.ndarray]] | None = None) -> Product:
    """``x @ w.T`` on codes, accumulated in binary16; ``trace`` collects the operands of each call."""

    def product(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        scale_x, scale_w = scale_down(fmt, x), scale_down(fmt, w)
        a = fmt.encode((x * scale_x).view(np.uint32))[:, np.newaxis, :]
        b = fmt.encode((w * scale_w).view(np.uint32))[np.newaxis, :, :]
        if trace is not None:
            trace.append((a, b))
        total = golden.dot(a, b, fmt, accumulator=ACCUMULATOR)
        return golden.get(ACCUMULATOR).decode(total).astype(np.float32) / (scale_x * scale_w)

    return product


def rtl_case(fmt: Format, network: Network) -> Case:
    """Every multiply-accumulate of a batch of images, in order: each starts from what golden says that the one before has left.

    As every step must be equal, so is the chain.
    """
    trace: list[tuple[np.ndarray, np.ndarray]] = []
    network.logits(network.images[:RTL_IMAGES], quantized_product(fmt, trace))
    columns: dict[str, list[np.ndarray]] = {"a": [], "b": [], "acc_in": [], "acc_out": []}
    for left, right in trace:
        a, b = np.broadcast_arrays(left, right)
        acc = np.zeros(a.shape[:-1], np.uint16)
        for k in range(a.shape[-1]):
            after = golden.mac(a[..., k], b[..., k], acc, fmt, accumulator=ACCUMULATOR)
            for name, values in zip(columns, (a[..., k], b[..., k], acc, after), strict=True):
                columns[name].append(values.reshape(-1))
            acc = after
    vectors = {name: np.concatenate(parts) for name, parts in columns.items()}
    design = build.mac(fmt, accumulator=ACCUMULATOR)
    return Case(
        name=design.name, verilog=design.verilog(),
        ports={"a": fmt.width, "b": fmt.width, "acc_in": 16, "acc_out": 16},
        inputs={name: vectors[name] for name in ("a", "b", "acc_in")}, outputs={"acc_out": vectors["acc_out"]},
    )  # fmt: skip


def main() -> int:
    """Print the table; with ``--json`` write it, too."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    parser.add_argument("--formats", default=",".join(golden.names()), metavar="F,...", help="default: the whole catalogue")
    parser.add_argument("--without-rtl", action="store_true", help="golden only, no simulation")
    arguments = parser.parse_args()
    network = Network()
    exact = network.logits(network.images, lambda x, w: x @ w.T)
    cases = [] if arguments.without_rtl else [rtl_case(golden.get(name), network) for name in RTL_FORMATS]
    if cases:
        with tempfile.TemporaryDirectory() as folder:
            simulate(cases, Path(folder))  # raises where the Verilog differs from golden
    checked = {case.name: len(case.inputs["a"]) for case in cases}
    rows: list[dict[str, Any]] = [{"format": "binary32", "accuracy": network.accuracy(exact), "rtl_cases": 0}]
    print(f"{len(network.labels)} test images; accumulator {ACCUMULATOR}; SNR of the outputs against float32's")
    print(f"{'format':14} accuracy     SNR  RTL equal to golden\n{'float32':14} {network.accuracy(exact):8.2%}")
    for name in arguments.formats.split(","):
        fmt = golden.get(name)
        outputs = network.logits(network.images, quantized_product(fmt))
        accuracy = network.accuracy(outputs)
        snr_db = float(10 * np.log10(np.mean(exact**2) / np.mean((outputs - exact) ** 2)))
        cases_run = checked.get(f"{fmt.name}_mac_{ACCUMULATOR}", 0)
        rows.append({"format": fmt.name, "accuracy": accuracy, "snr_db": snr_db, "rtl_cases": cases_run})
        print(f"{fmt.name:14} {accuracy:8.2%} {snr_db:4.1f} dB  {f'yes, {cases_run} steps' if cases_run else ''}".rstrip())
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        result = {"images": len(network.labels), "accumulator": ACCUMULATOR, "rows": rows}
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
