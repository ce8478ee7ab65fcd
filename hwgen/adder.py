"""The adder of a fused MAC: an accumulator plus an exact product, rounded once.

The accumulator's fraction and the product meet in a frame of ``frame_bits`` significand bits, two guard bits and a sticky bit. Four
decisions keep the datapath small:

* The product is normalized first (its msb is a carry into the exponent): two guard bits are enough, wherever the operands stand.
* The operand with the larger *exponent* leads; significands are not compared. The other one moves right by the exponent difference d,
  or by ~d = -d - 1 where d is negative and a wire has moved it by one already.
* Subtraction is in one's complement. Without a carry-out the trailing operand was the larger one, and the complement of the sum is the
  exact difference. With one, a unit of the infinitely distant last place is missing: ones move in from the right when the sum is
  normalized, and the rounding decision counts the missing unit in. Nothing is ever negated or incremented but in rounding.
* The frame has a carry bit on top. So the frame's exponent is itself the number of places that a sum may move left before it becomes
  subnormal, and fraction and exponent can be packed with one addition.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Biased, Format
from hwgen.multiplier import ProductShape
from hwgen.operand import range_shape

GUARD_BITS = 2
"""Bits between the frame and the sticky bit: a difference of operands that are more than one place apart moves left by one at most."""


@dataclass(frozen=True)
class AdderShape:
    """Widths of the sum of an accumulator and a product.

    Parameters
    ----------
    accumulator : Format
        ``binary16``, ``bfloat16``, ``binary32`` or ``dlfloat16``.
    product : ProductShape
    """

    accumulator: Format
    product: ProductShape

    @property
    def fraction_bits(self) -> int:
        """Stored bits of the accumulator's significand."""
        return self.accumulator.rows[-1].fraction_bits

    @property
    def exponent_bits(self) -> int:
        """Width of the accumulator's exponent field."""
        return self.accumulator.rows[-1].exponent.bits

    @property
    def bias(self) -> int:
        """Bias of the accumulator's exponent field."""
        rule = self.accumulator.rows[-1].exponent
        assert isinstance(rule, Biased)
        return rule.bias

    @property
    def has_subnormals(self) -> bool:
        """Whether the exponent field 0 is for subnormals."""
        return len(self.accumulator.rows) > 1

    @property
    def product_bits(self) -> int:
        """Bits of a normalized product."""
        return self.product.significand_bits

    @property
    def frame_bits(self) -> int:
        """Bits of the wider significand."""
        return max(self.fraction_bits + 1, self.product_bits)

    @property
    def sum_bits(self) -> int:
        """Carry, frame, guard bits."""
        return 1 + self.frame_bits + GUARD_BITS

    @property
    def shift_bits(self) -> int:
        """Bits of a shift amount that moves a whole frame below the guard bits, or a last guard bit to the top."""
        return (self.frame_bits + GUARD_BITS).bit_length()

    @cached_property
    def product_exponents(self) -> tuple[int, int]:
        """Exponents of a normalized product, as the accumulator's exponent field would have them."""
        low, high = self.product.exponents
        offset = self.bias - self.product.bias
        return low + offset, high + offset + (self.product.integer_bits - 1)

    @property
    def offset(self) -> int:
        """What takes a product's exponent to the accumulator's bias."""
        return self.bias - self.product.bias

    @property
    def ties_lead(self) -> bool:
        """Whether the product leads when the exponents are equal; whichever leaves the comparison the constant with more zeros at its end."""
        return _trailing_zeros(self.offset + 1) >= _trailing_zeros(self.offset)

    @property
    def highest_exponent(self) -> int:
        """Largest exponent of a frame whose sum can still be finite: with more, no accumulator cancels enough of the product."""
        return (1 << self.exponent_bits) - (1 if self.has_subnormals else 0)

    @property
    def difference(self) -> tuple[int, int]:
        """Range of the exponents' difference: product minus accumulator, minus 1 where ``ties_lead`` is not."""
        low, high = self.product_exponents
        ties = 0 if self.ties_lead else 1
        return low - (1 << self.exponent_bits) + 1 - ties, high - int(self.has_subnormals) - ties

    @staticmethod
    def spare_carry(accumulator: Format, product: ProductShape) -> int:
        """Whether the sum of the product's exponents had better be 1 larger."""
        if product.a.has_increment or product.b.has_increment:
            return 0  # the carry-in is taken
        offset = AdderShape(accumulator, product).offset
        return int(_trailing_zeros(offset - 1) > max(_trailing_zeros(offset), _trailing_zeros(offset + 1)))


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1 if number else 32


def _plus_constant(value: Value, constant: int, width: int) -> Value:
    """``value + constant`` in ``width`` bits of two's complement; no gate below the constant's last 1."""
    low = min(_trailing_zeros(constant), width)
    extended = Cat(value, value[-1].replicate(max(width - len(value), 0)))[:width]
    return extended if low == width else Cat(extended[:low], (extended[low:] + (constant >> low))[: width - low])


class Adder(wiring.Component):
    """``acc_out = round(acc_in + product)``; combinational.

    Parameters
    ----------
    accumulator : Format
    product : ProductShape
        Of normalized operands.

    Members
    -------
    sign, exponent, significand, is_zero, is_inf, is_nan : ``In``
        A product as ``Multiplier`` delivers it.
    acc_in : ``In(accumulator.width)``
    acc_out : ``Out(accumulator.width)``
    """

    def __init__(self, accumulator: Format, product: ProductShape):
        self.accumulator, self.layout = accumulator, AdderShape(accumulator, product)
        super().__init__(
            {
                "sign": In(1),
                "exponent": In(product.exponent_shape.width),
                "significand": In(product.significand_bits),
                "is_zero": In(1),
                "is_inf": In(1),
                "is_nan": In(1),
                "acc_in": In(accumulator.width),
                "acc_out": Out(accumulator.width),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """The stages."""
        m = Module()
        self._unpack(m)
        self._normalize_product(m)
        self._align(m)
        self._add(m)
        self._normalize(m)
        self._round(m)
        self._pack(m)
        return m

    def _unpack(self, m: Module) -> None:
        """Accumulator: sign, exponent (1 for subnormals, whose hidden bit is 0), significand, class."""
        w = self.layout
        self.acc_sign = Signal()
        self.acc_field = Signal(w.exponent_bits)
        self.acc_exponent = Signal(w.exponent_bits)
        self.acc_significand = Signal(w.fraction_bits + 1)
        self.acc_special = Signal()
        self.acc_nan = Signal()
        hidden = Signal(name="hidden")
        fraction = Signal(w.fraction_bits, name="fraction")
        m.d.comb += Cat(fraction, self.acc_field, self.acc_sign).eq(self.acc_in)
        m.d.comb += self.acc_significand.eq(Cat(fraction, hidden))
        if w.has_subnormals:
            m.d.comb += [
                hidden.eq(self.acc_field.any()),
                self.acc_exponent.eq(Cat(self.acc_field[0] | ~hidden, self.acc_field[1:])),
                self.acc_special.eq(self.acc_field.all()),
                self.acc_nan.eq(self.acc_special & fraction.any()),
            ]
        else:
            m.d.comb += [
                hidden.eq(self.acc_field.any() | fraction.any()),
                self.acc_exponent.eq(self.acc_field),
                self.acc_special.eq(self.acc_field.all() & fraction.all()),
                self.acc_nan.eq(self.acc_special),
            ]

    def _normalize_product(self, m: Module) -> None:
        """A product in [1, 4) to one in [1, 2); its exponent as the accumulator counts."""
        w = self.layout
        product = w.product
        self.product_significand = Signal(w.product_bits)
        self.product_exponent = Signal(range_shape(*w.product_exponents))
        self.at_least_two = Signal()
        if product.integer_bits == 2:
            m.d.comb += self.at_least_two.eq(self.significand[-1])
            m.d.comb += self.product_significand.eq(Mux(self.at_least_two, self.significand, self.significand << 1))
        else:
            m.d.comb += self.product_significand.eq(self.significand)
        width = len(self.product_exponent)
        if w.offset % 2:  # exponent + at_least_two = exponent + 1 - (not at_least_two)
            adjusted = self._extended(self.exponent, width) - ~self.at_least_two
            m.d.comb += self.product_exponent.eq(_plus_constant(adjusted[:width], w.offset + 1, width))
        else:
            adjusted = self._extended(self.exponent, width) + self.at_least_two
            m.d.comb += self.product_exponent.eq(_plus_constant(adjusted[:width], w.offset, width))

    def _extended(self, exponent: Value, width: int) -> Value:
        """A product's exponent in more bits, or fewer."""
        fill = exponent[-1] if self.layout.product.exponent_shape.signed else Const(0, 1)
        return Cat(exponent, fill.replicate(max(width - len(exponent), 0)))[:width]

    def _align(self, m: Module) -> None:
        """The operand with the larger exponent leads; the other one moves right.

        ::

            frame:           | frame_bits ... | guard | round |   sticky: OR of what has left
            the one trailing | 0 1.xxxx ..... |       |       |   one place to the right: d < 0 stands for a shift by -d = ~d + 1
        """
        w = self.layout
        low, high = w.difference
        difference = Signal(range_shape(min(low, -1), high), name="difference")
        product_is_lower = Signal(name="product_is_lower")
        self.acc_leads = Signal()
        width = len(difference)
        # exponent + at_least_two - acc_exponent + offset (- 1), with -x = ~x + 1
        minus_acc = _plus_constant(Cat(~self.acc_exponent, Const(1, 1)), w.offset + int(w.ties_lead), width)
        m.d.comb += [
            difference.eq((Cat(self.at_least_two, self._extended(self.exponent, width)) + Cat(self.at_least_two, minus_acc))[1:]),
            product_is_lower.eq(difference[-1]),
            self.acc_leads.eq(product_is_lower | self.is_zero),
        ]
        acc = Cat(Const(0, w.frame_bits - len(self.acc_significand)), self.acc_significand)
        product = Cat(Const(0, w.frame_bits - w.product_bits), self.product_significand)

        self.leading = Signal(w.frame_bits)
        trailing = Signal(w.frame_bits + GUARD_BITS, name="trailing")
        product_trails = Signal(name="product_trails")
        straight, one_lower = Const(0, GUARD_BITS), Const(0, GUARD_BITS - 1)
        acc_trailing = Cat(straight if w.ties_lead else one_lower, acc)
        product_trailing = Cat(one_lower if w.ties_lead else straight, product)
        m.d.comb += [
            product_trails.eq(product_is_lower & ~self.is_zero),
            self.leading.eq(Mux(self.acc_leads, acc, product)),
            trailing.eq(
                (acc_trailing & (~self.acc_leads).replicate(len(trailing))) | (product_trailing & product_trails.replicate(len(trailing)))
            ),
        ]

        distance = Signal(w.shift_bits, name="distance")
        magnitude = difference[:-1] ^ product_is_lower.replicate(len(difference) - 1)
        too_far = magnitude[w.shift_bits :].any()
        m.d.comb += distance.eq(magnitude[: w.shift_bits] | too_far.replicate(w.shift_bits))
        self.aligned, self.sticky = self._shift_right(m, trailing, distance)

    @staticmethod
    def _shift_right(m: Module, value: Signal, distance: Signal) -> tuple[Signal, Signal]:
        """The value moved right, and whether a 1 was lost."""
        lost: Value = Const(0, 1)
        for k in reversed(range(len(distance))):
            step = 1 << k
            moved = Signal(len(value), name=f"moved_right_{step}")
            m.d.comb += moved.eq(Mux(distance[k], value >> step, value))
            lost = lost | (distance[k] & value[:step].any())
            value = moved
        sticky = Signal(name="sticky")
        m.d.comb += sticky.eq(lost)
        return value, sticky

    def _add(self, m: Module) -> None:
        """Leading plus or minus trailing operand, in one's complement.

        ::

            | carry | frame_bits ... | guard | round |
        """
        w = self.layout
        self.subtract = Signal()
        total = Signal(w.frame_bits + 1, name="total")
        carry_out = Signal(name="carry_out")
        self.trailing_is_larger = Signal()
        self.unit_missing = Signal()
        self.sum = Signal(w.sum_bits)
        tail, addend = self.aligned[:GUARD_BITS], self.aligned[GUARD_BITS:]
        m.d.comb += [
            self.subtract.eq(self.sign ^ self.acc_sign),
            total.eq(self.leading + (addend ^ self.subtract.replicate(w.frame_bits))),
            carry_out.eq(total[-1]),
            self.trailing_is_larger.eq(self.subtract & ~carry_out),
            self.unit_missing.eq(self.subtract & carry_out),
            self.sum.eq(
                Cat(
                    tail ^ self.unit_missing.replicate(GUARD_BITS),
                    total[:-1] ^ self.trailing_is_larger.replicate(w.frame_bits),
                    carry_out & ~self.subtract,
                )
            ),
        ]
        self.product_wins = Signal()  # where the signs differ, the sum has the product's
        m.d.comb += self.product_wins.eq(self.acc_leads ^ carry_out)

    def _normalize(self, m: Module) -> None:
        """Move the sum left until its carry place is taken, but by no more places than its exponent allows."""
        w = self.layout
        exponent_bits = w.highest_exponent.bit_length()
        self.sum_exponent = Signal(exponent_bits)
        m.d.comb += self.sum_exponent.eq(Mux(self.acc_leads, self.acc_exponent, self.product_exponent))
        moves: list[Value] = []
        value = self.sum
        for k in reversed(range(w.shift_bits)):
            step = 1 << k
            move = Signal(name=f"move_left_{step}")
            room: Value = self.sum_exponent[w.shift_bits :].any()
            for j, done in enumerate(reversed(moves), start=k + 1):
                if j < exponent_bits:
                    room = room | (self.sum_exponent[j] & ~done)
            if k < exponent_bits:
                room = room | self.sum_exponent[k]
            m.d.comb += move.eq(~value[-step:].any() & room if w.has_subnormals else ~value[-step:].any())
            moved = Signal(len(value), name=f"moved_left_{step}")
            m.d.comb += moved.eq(Mux(move, Cat(self.unit_missing.replicate(step), value[:-step]), value))
            moves.append(move)
            value = moved
        self.normalized = value
        self.places = Signal(w.shift_bits)
        m.d.comb += self.places.eq(Cat(reversed(moves)))

    def _round(self, m: Module) -> None:
        """Pack exponent and significand, and round them in one addition.

        ::

            | 1.fraction_bits ... | half | below ... |   sticky
        """
        w = self.layout
        tail_bits = w.sum_bits - (w.fraction_bits + 1)
        kept, half = self.normalized[tail_bits:], self.normalized[tail_bits - 1]
        below = Signal(name="below")
        up = Signal(name="up")
        missing = self.unit_missing
        m.d.comb += below.eq((self.normalized[: tail_bits - 1] ^ missing.replicate(tail_bits - 1)).any() | self.sticky)
        # Without the missing unit, half decides, and in a tie odd. With it, the tail is a complement: half still decides where anything is
        # below, but half = 1 with nothing below is then a whole unit, and half = 0 the tie. The majority is both.
        odd = Const(1, 1) if w.accumulator.flush else kept[0]  # ties away from zero, or to even
        tie = (half & missing) | (odd & (half | missing))
        m.d.comb += up.eq(Mux(below, half, tie))

        exponent_bits = len(self.sum_exponent) + (0 if w.has_subnormals else 1)
        exponent = Signal(exponent_bits if w.has_subnormals else signed(exponent_bits), name="exponent_before_rounding")
        m.d.comb += exponent.eq((self.sum_exponent - self.places)[:exponent_bits] & kept[-1].replicate(exponent_bits))
        self.packed = Signal(w.fraction_bits + exponent_bits + 1)
        unit = Cat(up, Const(0, w.fraction_bits - 1), kept[-1])
        m.d.comb += self.packed.eq(Cat(kept[:-1], exponent, exponent[-1] & Const(int(not w.has_subnormals), 1)) + unit)

    def _pack(self, m: Module) -> None:
        """Specials over the rounded sum, and the sign."""
        w, acc = self.layout, self.accumulator
        field = self.packed[w.fraction_bits :]
        beyond = Signal(name="product_beyond")
        sum_is_zero = Signal(name="sum_is_zero")
        plus_zero = Signal(name="plus_zero")
        low, high = w.product_exponents
        # A leading product's exponent is not negative.
        magnitude = self.product_exponent[:-1] if low < 0 else self.product_exponent
        m.d.comb += [
            beyond.eq(~self.acc_leads & (magnitude > w.highest_exponent) if high > w.highest_exponent else Const(0, 1)),
            sum_is_zero.eq(~(self.sum.any() | self.sticky)),
            plus_zero.eq(sum_is_zero & self.trailing_is_larger),
        ]
        exponent_out = Signal(w.exponent_bits, name="exponent_out")
        fraction_out = Signal(w.fraction_bits, name="fraction_out")
        sign_out = Signal(name="sign_out")
        infinite = Signal(name="infinite")
        fraction = self.packed[: w.fraction_bits]
        if w.has_subnormals:
            nan = Signal(name="nan")
            overflow = Signal(name="overflow")
            product_sign = ~self.acc_special & (self.is_inf | self.product_wins)
            assert acc.canonical_nan is not None
            payload = acc.canonical_nan & ((1 << w.fraction_bits) - 1)
            m.d.comb += [
                overflow.eq(beyond | field[-1] | field[:-1].all()),
                nan.eq(self.is_nan | self.acc_nan | (self.acc_special & self.is_inf & self.subtract)),
                infinite.eq(overflow | self.acc_special | self.is_inf | self.is_nan),
                exponent_out.eq(field[:-1] | infinite.replicate(w.exponent_bits)),
                fraction_out.eq((fraction & (~infinite).replicate(w.fraction_bits)) | Mux(nan, payload, 0)),
                sign_out.eq(Mux(product_sign, self.sign, self.acc_sign) & ~(nan | (plus_zero & ~infinite))),
            ]
        else:
            underflow = Signal(name="underflow")
            special = self.is_inf | self.is_nan
            product_sign = ~self.acc_special & (special | self.product_wins)
            kept = (~underflow).replicate(w.exponent_bits + w.fraction_bits)
            m.d.comb += [
                infinite.eq(self.acc_special | special | beyond | (~field[-1] & field[w.exponent_bits : -1].any())),
                underflow.eq(field[-1] | ~self.normalized[-1]),
                Cat(fraction_out, exponent_out).eq((self.packed & kept) | infinite.replicate(len(kept))),
                sign_out.eq(Mux(product_sign, self.sign, self.acc_sign) & ~(plus_zero & ~self.acc_special & ~special)),
            ]
        m.d.comb += self.acc_out.eq(Cat(fraction_out, exponent_out, sign_out))
