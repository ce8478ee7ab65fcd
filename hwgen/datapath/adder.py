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

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Format
from hwgen.datapath.flags import flag_port, word
from hwgen.datapath.frame import GUARD_BITS, AdderShape, trailing_zeros
from hwgen.datapath.multiplier import ProductShape, invalid_port
from hwgen.datapath.operand import extended, range_shape


def _plus_constant(value: Value, constant: int) -> Value:
    """``value + constant`` in the bits of ``value``; no gate below the constant's last 1."""
    low = min(trailing_zeros(constant), len(value))
    return value if low == len(value) else Cat(value[:low], (value[low:] + (constant >> low))[: len(value) - low])


class Adder(wiring.Component):
    """``acc_out = round(acc_in + product)``; combinational.

    Parameters
    ----------
    accumulator : Format
    product : ProductShape
        Of normalized operands.
    overflow, flags : bool
        Whether to tell of it, of them.

    Members
    -------
    sign, exponent, significand, is_zero, is_inf, is_nan : ``In``
        A product as ``Multiplier`` delivers it; with ``flags`` ``is_invalid``, too.
    acc_in : ``In(accumulator.width)``
    acc_out : ``Out(accumulator.width)``
    overflow : ``Out(1)``
        If asked for: whether a finite sum of finite operands became infinite.
    flags : ``Out(4)``
        If asked for: see :func:`golden.flags.of_sum`.
    """

    def __init__(self, accumulator: Format, product: ProductShape, overflow: bool = False, flags: bool = False):
        self.accumulator, self.layout = accumulator, AdderShape(accumulator, product)
        self.tells_overflow, self.tells_flags = overflow, flags
        super().__init__(
            {
                "sign": In(1),
                "exponent": In(product.exponent_shape.width),
                "significand": In(product.significand_bits),
                "is_zero": In(1),
                "is_inf": In(1),
                "is_nan": In(1),
                **invalid_port(flags),
                "acc_in": In(accumulator.width),
                "acc_out": Out(accumulator.width),
                **({"overflow": Out(1)} if overflow else {}),
                **flag_port(flags),
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
        if self.tells_flags:
            self._flag(m)
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
        exponent = self._signed_as_it_is(self.exponent)
        if w.offset % 2:  # exponent + at_least_two = exponent + 1 - (not at_least_two)
            adjusted, offset = extended(exponent, width) - ~self.at_least_two, w.offset + 1
        else:
            adjusted, offset = extended(exponent, width) + self.at_least_two, w.offset
        m.d.comb += self.product_exponent.eq(_plus_constant(adjusted[:width], offset))

    def _signed_as_it_is(self, exponent: Value) -> Value:
        return exponent.as_signed() if self.layout.product.exponent_shape.signed else exponent

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
        # exponent + at_least_two - acc_exponent + offset (- 1), where -x = ~x + 1, and a carry-in enters below the last bit
        minus_acc = extended(Cat(~self.acc_exponent, Const(1, 1)).as_signed(), width)
        minus_acc = _plus_constant(minus_acc, w.offset + int(w.ties_lead))
        exponent = extended(self._signed_as_it_is(self.exponent), width)
        m.d.comb += [
            difference.eq((Cat(self.at_least_two, exponent) + Cat(self.at_least_two, minus_acc))[1:]),
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
        self.beyond_kept = below | (half ^ missing)

        # Zero and subnormal sums end without a 1 in front; their exponent field is 0. Only where sums are flushed can it become negative.
        rest = self.sum_exponent - self.places
        bits = len(self.sum_exponent) + (0 if w.has_subnormals else 1)
        rest = Cat(rest[:bits], Const(0, 1) if w.has_subnormals else rest[-1])
        width = len(rest)
        self.exponent_before = exponent = Signal(width, name="exponent_before_rounding")
        m.d.comb += exponent.eq(rest & kept[-1].replicate(width))
        self.packed = Signal(w.fraction_bits + width)
        m.d.comb += self.packed.eq(Cat(kept[:-1], exponent) + Cat(up, Const(0, w.fraction_bits - 1), kept[-1]))

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
        self.flushed: Value = Const(0, 1)
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
            self.flushed = self.normalized[-1] & ~(self.packed & kept).any()
            m.d.comb += [
                infinite.eq(self.acc_special | special | beyond | (~field[-1] & field[w.exponent_bits : -1].any())),
                underflow.eq(field[-1] | ~self.normalized[-1]),
                Cat(fraction_out, exponent_out).eq((self.packed & kept) | infinite.replicate(len(kept))),
                sign_out.eq(Mux(product_sign, self.sign, self.acc_sign) & ~(plus_zero & ~self.acc_special & ~special)),
            ]
        m.d.comb += self.acc_out.eq(Cat(fraction_out, exponent_out, sign_out))
        # The one special of a format without subnormals is where a carry leads, too.
        self.past_largest = infinite if w.has_subnormals else self.acc_out[:-1].all()
        if self.tells_overflow:
            m.d.comb += self.overflow.eq(self.past_largest & ~(self.acc_special | self.is_inf | self.is_nan))

    def _flag(self, m: Module) -> None:
        """What the sum lost: ones in the tail, the missing unit counted in, or all of it where sums are flushed."""
        w = self.layout
        finite, lost, overflow = Signal(name="operands_finite"), Signal(name="lost"), Signal(name="overflow_flag")
        tiny = ~self.normalized[-1]
        if not w.has_subnormals:  # the exponent is 1 less than the field; field 0 with fraction 0 is no number
            fraction = self.normalized[-w.fraction_bits - 1 : -1]
            tiny = tiny | (self.exponent_before[-1] & ~(self.exponent_before.all() & fraction.any()))
        opposite = self.acc_special & ~self.acc_nan & self.is_inf & ~self.is_nan & self.subtract
        signaling = self.acc_nan & ~self.acc_in[w.fraction_bits - 1]
        m.d.comb += [
            finite.eq(~(self.acc_special | self.is_inf | self.is_nan)),
            overflow.eq(self.past_largest & finite),
            lost.eq((self.beyond_kept | self.flushed) & finite),
            self.flags.eq(word(lost | overflow, lost & tiny & ~overflow, overflow, self.is_invalid | opposite | signaling)),
        ]
