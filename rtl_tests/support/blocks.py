"""Cases for the bench: a block's Verilog, its inputs, and what golden says of them."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import golden
from golden import Format
from golden.mac import exact
from hwgen.blocks import build
from hwgen.blocks.design import Design
from hwgen.bundle import vectors
from hwgen.bundle.testbench import CLOCK, columns
from hwgen.bundle.trace import CARE
from hwgen.datapath.code_ports import code_widths, split
from hwgen.netlist.ports import ports as module_ports
from hwgen.tools import yosys
from rtl_tests.support.bench import Case
from rtl_tests.support.lint import lint
from rtl_tests.support.simulators import seed
from synth.proof.questions import explain, made_of, ports, unpacked

_TEXTS: dict[str, str] = {}


def texts(designs: Sequence[Design]) -> dict[str, str]:
    """Verilog of designs by name: emitted side by side, once however many tests ask for it, and linted before anybody sees it."""
    missing = [design for design in designs if design.name not in _TEXTS]
    if missing:
        yosys.version()  # the first run of Yosys must be alone
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            fresh = dict(zip((design.name for design in missing), pool.map(Design.verilog, missing), strict=True))
        with tempfile.TemporaryDirectory() as folder:
            lint(fresh, Path(folder))
        _TEXTS.update(fresh)
    return {design.name: _TEXTS[design.name] for design in designs}


def generator(*words: str) -> np.random.Generator:
    """Random numbers that depend on the run's seed and on what they are for."""
    return np.random.default_rng([seed(), *(ord(letter) for letter in " ".join(words))])


def _case(design: Design, inputs: Mapping[str, NDArray], outputs: Mapping[str, NDArray], seed: int | None = None) -> Case:
    """Vectors for a block's module, whose codes of two formats come in two ports."""
    wide, out = ports(design)
    widths, driven = {**wide, **out}, dict(inputs)
    for name, fmt in design.codes.items():
        widths |= code_widths(name, fmt)
        driven |= split(name, fmt, driven[name])
    told = None if made_of(design) else explain(design)
    return Case(design.name, texts([design])[design.name], widths, driven, outputs, told, seed)


def clocked_case(design: Design, cycles: Sequence[Mapping[str, int]]) -> Case:
    """What happens in each cycle (see :mod:`hwgen.bundle.trace`), as two vectors: before the clock rises, and after it, when no output
    counts."""
    verilog = texts([design])[design.name]
    found = module_ports(verilog, design.name)
    twice = {port.name: np.repeat(_column(port.width, [cycle[port.name] for cycle in cycles]), 2, axis=0) for port in columns(found)}
    clock = np.tile(np.array([0, 1], np.uint8), len(cycles))
    outputs = [port.name for port in found if port.direction == "output"]
    inputs = {port.name: twice[port.name] for port in found if port.direction == "input" and port.name != CLOCK} | {CLOCK: clock}
    care = {name: twice[CARE + name] * (1 - clock) for name in outputs}
    widths = {port.name: port.width for port in found}
    return Case(design.name, verilog, widths, inputs, {name: twice[name] for name in outputs}, None, seed(), care)


def _column(width: int, values: Sequence[int]) -> NDArray:
    """Values of a port, beyond 64 bits in limbs."""
    if width <= 64:
        return np.array(values, np.uint64)
    return np.array([[value >> 64 * limb & (1 << 64) - 1 for limb in range(-(-width // 64))] for value in values], np.uint64)


def all_codes(width: int) -> NDArray[np.uint64]:
    """Every pattern of ``width`` bits."""
    return np.arange(1 << width, dtype=np.uint64)


def pairs(a: Format, b: Format) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Every pair of codes."""
    index = all_codes(a.width + b.width)
    return index >> np.uint64(b.width), index & np.uint64((1 << b.width) - 1)


# -- decoders -----------------------------------------------------------------------------------------------------------------


def decoder_case(fmt: Format, target: str) -> Case:
    """All codes of a format."""
    design = build.decoder(fmt, target)
    codes = all_codes(fmt.width)
    outputs = unpacked(fmt) if target == "unpacked" else {"bits": fmt.decode_bits(codes, target)}
    return _case(design, {"code": codes}, outputs)


# -- encoders -----------------------------------------------------------------------------------------------------------------


def encoder_case(
    fmt: Format,
    source: str,
    rounding: str | None = None,
    overflow: str | None = None,
    nan_to_zero: bool = False,
    random_bits: int | None = None,
) -> Case:
    """All 65,536 inputs of a 16-bit source; from binary32 every rounding boundary ± 1 ulp, specials, and random patterns."""
    design = build.encoder(fmt, source, rounding, overflow, nan_to_zero, random_bits)
    rng = generator(design.name)
    wide = golden.get(source)
    bits = (
        all_codes(16) if wide.width == 16 else np.concatenate([vectors.boundaries(fmt), vectors.random_binary32(fmt, 5000, rng)])
    ).astype(np.uint64)
    inputs = {"bits": bits}
    words = None
    if design.options["rounding"] == "stochastic":
        drawn = design.options["random-bits"]
        words = rng.integers(0, 1 << drawn, bits.size, dtype=np.uint64)
        words[: bits.size // 4] = rng.choice(np.array([0, (1 << drawn) - 1], np.uint64), bits.size // 4)
        inputs["random"] = words
    codes = fmt.encode(bits, source, rounding, overflow, nan_to_zero, random=words, random_bits=design.options.get("random-bits", 1))
    return _case(design, inputs, {"code": codes}, seed())


# -- multiply-accumulate ------------------------------------------------------------------------------------------------------


def mac_case(a: Format, b: Format | None = None, accumulator: str = "binary16", terms: int | None = None, some: int | None = None) -> Case:
    """All pairs of codes, or ``some`` of them; each with a directed or random accumulator."""
    other = a if b is None else b
    design = build.mac(a, b, accumulator, terms)
    rng = generator(design.name)
    left, right = pairs(a, other)
    if some is not None:
        left, right = (codes[rng.permutation(left.size)[:some]] for codes in (left, right))
    if accumulator == "exact":
        acc = vectors.exact_accumulators(exact(a, other, design.options["terms"]), left, right, rng)
    else:
        acc = vectors.directed_accumulators(a, other, left, right, golden.get(accumulator), rng)
    after = golden.mac(left, right, acc, a, other, accumulator, design.options.get("terms", 1))
    return _case(design, {"a": left, "b": right, "acc_in": acc}, {"acc_out": after}, seed())
