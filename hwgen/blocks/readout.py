"""The end of an exact accumulation: the state of an ``exact`` accumulator, rounded once to bits of a wide format or to a code."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import WIDE, ExactAccumulator, Format, Rounding, get
from golden.options import Options, check_random_bits, target_options
from hwgen.rounding.position import Parts
from hwgen.rounding.rounder import Rounder


class Readout(wiring.Component):
    """Round an accumulator; combinational.

    ::

        | nan | neg_inf | pos_inf | value |
                                     └─► sign, magnitude ─► normalize ─► rounder ─► bits or code

    Parameters
    ----------
    accumulator : golden.ExactAccumulator
    to : Format or str
        A wide format, or one of codes.
    rounding, overflow : str, optional
        One of that format's, but not ``hybrid``, which looks at the bits of a source; None is its default.
    nan_to_zero : bool
        Whether NaN becomes code 0.
    random_bits : int
        Width of ``random``, 1 to 32; with ``stochastic`` only.

    Members
    -------
    acc : ``In(accumulator.width)``
    random : ``In(random_bits)``
        With ``stochastic`` only.
    bits or code : ``Out``
    """

    def __init__(
        self,
        accumulator: ExactAccumulator,
        to: Format | str = "binary32",
        rounding: str | None = None,
        overflow: str | None = None,
        nan_to_zero: bool = False,
        random_bits: int = 16,
    ):
        self.accumulator, self.fmt = accumulator, get(to)
        self.options: Options = target_options(self.fmt, rounding, overflow, nan_to_zero)
        ports = {"acc": In(accumulator.width)}
        if self.options.rounding is Rounding.STOCHASTIC:
            check_random_bits(random_bits)
            ports["random"] = In(random_bits)
        super().__init__({**ports, output(self.fmt): Out(self.fmt.width)})

    def elaborate(self, _platform: object) -> Module:
        """Normalize, then round."""
        m = Module()
        chosen, unit = self.options, self.accumulator
        random = self.random if chosen.rounding is Rounding.STOCHASTIC else None
        rounder = Rounder(self.fmt, chosen.rounding, chosen.overflow, chosen.nan_to_zero, random)
        value = Signal(unit.value_width, name="value")
        pos_inf, neg_inf, nan = Signal(name="pos_inf"), Signal(name="neg_inf"), Signal(name="nan")
        sign, is_inf = Signal(name="sign"), Signal(name="is_inf")
        magnitude = Signal(unit.value_width, name="magnitude")
        m.d.comb += [
            Cat(value, pos_inf, neg_inf, nan).eq(self.acc),
            is_inf.eq((pos_inf | neg_inf) & ~nan),
            sign.eq(Mux(pos_inf | neg_inf, ~pos_inf, value[-1]) & ~nan),
            magnitude.eq((value ^ value[-1].replicate(len(value))) + value[-1]),
        ]
        # With zeros in front, 2**steps places in all, the place of the first 1 is the complement of how far it moves.
        steps = max((unit.value_width - 1).bit_length(), 1)
        normalized: Value = Cat(magnitude, Const(0, (1 << steps) - unit.value_width))
        moves = []
        for k in reversed(range(steps)):
            step = 1 << k
            move = Signal(name=f"normalize_by_{step}")
            moved = Signal(len(normalized), name=f"normalized_by_{step}")
            m.d.comb += [
                move.eq(~normalized[-step:].any()),
                moved.eq(Mux(move, Cat(Const(0, step), normalized[:-step]), normalized)),
            ]
            moves.append(move)
            normalized = moved
        place = Signal(steps, name="place")
        m.d.comb += place.eq(Cat(*(~move for move in reversed(moves))))
        behind = normalized[:-1]
        first = min(rounder.fraction_bits, len(behind))
        parts = Parts(
            sign, place, -unit.lsb_exponent, (unit.lsb_exponent, unit.lsb_exponent + unit.value_width - 1), Const(1, 1),
            behind[len(behind) - first :], behind[: len(behind) - first].any(), ~normalized[-1], is_inf, nan,
        )  # fmt: skip
        result = rounder.code(m, parts)
        if unit.lsb_exponent > rounder.order.top_exponent:  # every number overflows, but zero looks as if it did, too
            result = Mux(parts.is_zero & ~is_inf & ~nan, 0, result)
        m.d.comb += getattr(self, output(self.fmt)).eq(result)
        return m


def output(fmt: Format) -> str:
    """What the output is called."""
    return "bits" if fmt.name in WIDE else "code"
