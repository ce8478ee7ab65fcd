"""A dot product of codes as an Amaranth design, checked against the reference model and written as Verilog.

Usage: python examples/amaranth_mac.py DIR
"""

import argparse
from pathlib import Path

import numpy as np
from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator, SimulatorContext

import golden
from hwgen import Adder, Encoder, Mac, Multiplier, emit


class Halves(wiring.Component):
    """A MAC made of its two halves. A design can put something between them, registers for example."""

    def __init__(self, fmt: str):
        self.fmt = fmt
        super().__init__({"a": In(8), "b": In(8), "acc_in": In(16), "acc_out": Out(16)})

    def elaborate(self, _platform: object) -> Module:
        """Connect multiplier and adder."""
        m = Module()
        m.submodules.multiplier = multiplier = Multiplier(self.fmt)
        m.submodules.adder = adder = Adder(self.fmt)
        wiring.connect(m, multiplier.product, adder.product)
        m.d.comb += [multiplier.a.eq(self.a), multiplier.b.eq(self.b)]
        m.d.comb += [adder.acc_in.eq(self.acc_in), self.acc_out.eq(adder.acc_out)]
        return m


class DotProduct(wiring.Component):
    """Add ``a * b`` to ``sum`` each cycle, or to 0 if ``clear`` is 1.

    ``code`` is the sum, rounded to the format of ``a`` and ``b``.
    """

    def __init__(self, fmt: str, mac: Mac | Halves):
        self.fmt, self.mac = fmt, mac
        super().__init__({"clear": In(1), "a": In(8), "b": In(8), "sum": Out(16), "code": Out(8)})

    def elaborate(self, _platform: object) -> Module:
        """Instantiate the MAC and the encoder, and add the register."""
        m = Module()
        m.submodules.mac = mac = self.mac
        m.submodules.encoder = encoder = Encoder(self.fmt, "binary16")
        m.d.comb += [mac.a.eq(self.a), mac.b.eq(self.b), mac.acc_in.eq(Mux(self.clear, 0, self.sum))]
        m.d.comb += [encoder.bits.eq(self.sum), self.code.eq(encoder.code)]
        m.d.sync += self.sum.eq(mac.acc_out)
        return m


def check(design: DotProduct, a: np.ndarray, b: np.ndarray) -> None:
    """Simulate a dot product for each row of codes, and compare sums and codes with the reference model."""
    fmt = golden.get(design.fmt)
    results = []

    async def bench(ctx: SimulatorContext) -> None:
        for row in zip(a.tolist(), b.tolist(), strict=True):
            for step, (x, y) in enumerate(zip(*row, strict=True)):
                ctx.set(design.clear, step == 0)
                ctx.set(design.a, x)
                ctx.set(design.b, y)
                await ctx.tick()
            results.append((ctx.get(design.sum), ctx.get(design.code)))

    simulator = Simulator(design)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    sums = golden.dot(a, b, design.fmt)
    assert results == list(zip(sums.tolist(), fmt.encode(sums, "binary16").tolist(), strict=True))


def main() -> None:
    """Check a design with each of the two MACs, and write the Verilog of the first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder to write dot_product.v to")
    folder = parser.parse_args().folder
    a, b = np.random.default_rng(1).integers(0, 256, (2, 20, 16)).astype(np.uint8)
    for mac in (Mac("hif8"), Halves("hif8")):
        check(DotProduct("hif8", mac), a, b)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dot_product.v").write_text(emit(DotProduct("hif8", Mac("hif8")), "dot_product"), encoding="utf-8")
    print(
        f"{a.shape[0]} dot products of {a.shape[1]} agree with the reference model; {folder}/dot_product.v is written"
    )


if __name__ == "__main__":
    main()
