"""For tests only: a format of four bits, components with many operators, and random components."""

import random

from amaranth.hdl import Array, Cat, ClockDomain, ClockSignal, Const, Module, Mux, ResetSignal, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

TOML_FORMAT = """
name = "tiny"
width = 4
rows = [
    { prefix = "00", exponent = { rule = "fixed", exponent = 0 }, fraction_bits = 1, hidden = 0 },
    { prefix = "", exponent = { rule = "biased", bits = 2, bias = 1 }, fraction_bits = 1 },
]
"""


class Inner(wiring.Component):
    """A submodule whose selection has don't-cares."""

    def __init__(self):
        super().__init__({"x": In(5), "y": Out(signed(6))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.Switch(self.x[2:]):
            with m.Case("11-"):
                m.d.comb += self.y.eq(-self.x)
            with m.Case("0-1"):
                m.d.comb += self.y.eq(self.x[:2].as_signed() * 3)
            with m.Default():
                m.d.comb += self.y.eq(1)
        return m


class Toy(wiring.Component):
    """Signed arithmetic, shifts, a table, nested choices, a submodule; the twin adds 3 instead of 2."""

    def __init__(self, twin: bool = False):
        self.twin = twin
        super().__init__(
            {
                "z": In(5),
                "code": In(8),
                "amount": In(4),
                "idle": In(2),
                "a_out": Out(16),
                "negative": Out(1),
                "zero": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = Inner()
        total = Signal(signed(12))
        wide = Signal(signed(28))
        right = Signal(signed(16))
        table_value = Signal(8)
        m.d.comb += [
            inner.x.eq(self.z),
            total.eq(inner.y * self.code[:4].as_signed() + (3 if self.twin else 2)),
            wide.eq(total << self.amount),
            right.eq(total >> self.amount[:3]),
            table_value.eq(Array(Const((i * 37 + 11) & 255, 8) for i in range(32))[self.z]),
            self.a_out.eq(Mux(self.code[0], wide >> 6, right)),
            self.negative.eq(total < 0),
            self.zero.eq(total == 0),
        ]
        with m.If(self.amount == 9):
            m.d.comb += self.a_out.eq(Cat(table_value, self.code))
        return m


class Register(wiring.Component):
    """An accumulator with enable and reset; ``parity`` reads a delayed bit."""

    def __init__(self):
        super().__init__({"clk": In(1), "rst": In(1), "enable": In(1), "x": In(4), "total": Out(6), "parity": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = ClockDomain("sync")
        delayed = Signal()
        m.d.comb += [ClockSignal().eq(self.clk), ResetSignal().eq(self.rst), self.parity.eq(delayed ^ self.total.xor())]
        m.d.sync += delayed.eq(self.x.xor())
        with m.If(self.enable):
            m.d.sync += self.total.eq(self.total + self.x)
        return m


class RandomComponent(wiring.Component):
    """A random component of Amaranth's operators, selections and conditions, made from ``seed``."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        inputs = {f"i{k}": In(self.random.randint(1, 7)) for k in range(4)}
        super().__init__(inputs | {f"o{k}": Out(self.random.randint(1, 9)) for k in range(3)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pick = self.random
        pool = [getattr(self, f"i{k}") for k in range(4)]
        for n in range(pick.randint(3, 10)):
            width = pick.randint(1, 10)
            target = Signal(pick.choice([width, width, signed(width)]), name=f"s{n}")
            match pick.randrange(3):
                case 0:
                    m.d.comb += target.eq(self._expression(pool))
                case 1:
                    self._switch(m, target, pool)
                case 2:
                    with m.If(self._expression(pool).bool()):
                        m.d.comb += target.eq(self._expression(pool, 1))
                        with m.If(self._expression(pool).bool()):
                            m.d.comb += target[: max(1, width // 2)].eq(self._expression(pool, 1))
                    with m.Elif(self._expression(pool).bool()):
                        m.d.comb += target.eq(self._expression(pool, 1))
                    with m.Else():
                        m.d.comb += target.eq(self._expression(pool, 1))
            pool.append(target)
        m.d.comb += [getattr(self, f"o{k}").eq(self._expression(pool[-4:])) for k in range(3)]
        return m

    def _switch(self, m: Module, target: Signal, pool: list[Value]) -> None:
        subject = self._expression(pool)[:6]
        patterns = [
            "".join(self.random.choice("01-") for _ in range(len(subject))) for _ in range(self.random.randint(2, 9))
        ]
        with m.Switch(subject):
            while patterns:
                with m.Case(*(patterns.pop() for _ in range(min(len(patterns), self.random.randint(1, 2))))):
                    m.d.comb += target.eq(self._expression(pool, 1))
            with m.Default():
                m.d.comb += target.eq(self._expression(pool, 1))

    def _expression(self, pool: list[Value], depth: int = 0) -> Value:
        pick = self.random
        if depth > 2 or pick.random() < 0.25:
            return pick.choice(pool) if pick.random() < 0.8 else Const(pick.randint(-9, 15))
        a, b, c = (self._expression(pool, depth + 1) for _ in range(3))
        low = pick.randrange(len(a))
        forms = (
            lambda: a + b,
            lambda: a - b,
            lambda: a[:5] * b[:4],
            lambda: a[:5].as_signed() * b[:4].as_signed(),
            lambda: a & b,
            lambda: a | b,
            lambda: a ^ b,
            lambda: ~a,
            lambda: -a,
            lambda: a == b,
            lambda: a != b,
            lambda: a < b,
            lambda: a >= b,
            lambda: Mux(a.bool(), b, c),
            lambda: Cat(a, b, c[:1]),
            lambda: a >> b[:3].as_unsigned(),
            lambda: a << b[:3].as_unsigned(),
            lambda: a[low : pick.randint(low + 1, len(a))],
            lambda: pick.choice([a.any(), a.all(), a.xor()]),
            a.as_signed,
            lambda: a.bit_select(b[:3].as_unsigned(), pick.randint(1, 4)),
        )
        return pick.choice(forms)()
