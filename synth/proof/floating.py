"""What the proofs of sums with a floating-point accumulator have in common: queries, factors, infinities and NaN."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from golden import Flag, Format
from golden.arithmetic.aligned import row_exponents
from golden.bits import scale_range
from golden.wide import POSITIVE
from hwgen.blocks.block import Design
from synth.proof.adders import LinearForm, linear_form
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.dot import Choice, SumProof, Which, specials_after
from synth.proof.gates import Netlist, NotShownError
from synth.proof.lanes import LaneClass
from synth.proof.prefix import is_by_prefix, rows_added
from synth.proof.rounding import EXPONENT_BITS, Rounded
from synth.proof.solver import Claim, Pins, Search, Solver
from synth.proof.twofold import linear_form_of_rows

SUM_OF_PRODUCTS = "products_sum"
"""The net with the sum of all products, or the unknown number that stands for it."""
_OVERFLOW = Flag.OVERFLOW.bit_length() - 1


@dataclass(frozen=True)
class SymbolicScale:
    """Unknown ports of a scale; its exponent in :data:`EXPONENT_BITS`; whether it is 0, or a NaN.

    The exponent is meaningless for 0 and NaN.
    """

    ports: Mapping[str, Bits]
    exponent: Bits
    is_zero: Bool
    is_nan: Bool


class Scales:
    """What the ports ``scale``, or ``a_scale`` and ``b_scale``, mean; without any, the factor is 1.

    A factor is ``significand * 2**(exponent - fraction_bits)``. The code of a block's scale has the significand and the
    exponent of its row, as :func:`golden.arithmetic.aligned.row_exponents` has it.
    """

    def __init__(self, design: Design, netlist: Netlist):
        self.fmt: Format | None = design.core.block_scale
        self.bits = design.scale_bits
        names = ("a_scale", "b_scale") if self.fmt else ("scale",) if self.bits else ()
        self.nets = {name: list(netlist.input_nets(name)) for name in names}

    @cached_property
    def fraction_bits(self) -> int:
        """Bits after the point of the product of two significands."""
        return 2 * max(row.fraction_bits for row in self.fmt.rows) if self.fmt else 0

    @cached_property
    def _row_exponents(self) -> NDArray[np.int64]:
        assert self.fmt is not None
        return row_exponents(self.fmt).astype(np.int64)

    @cached_property
    def significands(self) -> NDArray[np.int64]:
        """The significand of each code, an integer, which is 0 for NaN; or of the only factor that there is."""
        if self.fmt is None:
            return np.ones(1, np.int64)
        values = np.ldexp(self.fmt.values, self.fraction_bits // 2 - self._row_exponents)
        return np.where(np.isnan(values), 0, values).astype(np.int64)

    @cached_property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a factor that is neither 0 nor NaN."""
        if self.fmt is None:
            return scale_range(self.bits)
        own = self._row_exponents[self.significands != 0]
        return 2 * int(own.min()), 2 * int(own.max())

    def symbolic(self, solver: Solver) -> SymbolicScale:
        """All factors at once."""
        ports = {name: solver.variable(name, len(nets)) for name, nets in self.nets.items()}
        exponent = solver.word(0, EXPONENT_BITS).signed
        if self.fmt is None:
            for word in ports.values():
                exponent = word.signed.to(EXPONENT_BITS)
            return SymbolicScale(ports, exponent, solver.false, solver.false)
        zero, nan = self.fmt.values == 0, np.isnan(self.fmt.values)
        for word in ports.values():
            level = [exponent.constant(number) for number in np.where(zero | nan, 0, self._row_exponents).tolist()]
            for bit in word:  # a tree of choices
                pairs = zip(level[::2], level[1::2], strict=True)
                level = [ite(bit, high, low) for low, high in pairs]
            exponent = exponent + level[0]
        is_zero, is_nan = (
            solver.any(word == code for word in ports.values() for code in np.flatnonzero(codes).tolist())
            for codes in (zero, nan)
        )
        return SymbolicScale(ports, exponent, is_zero & ~is_nan, is_nan)

    def known(self, scale: SymbolicScale) -> dict[int, Bool]:
        """The nets of the ports with their values."""
        return {net: bit for name, nets in self.nets.items() for net, bit in zip(nets, scale.ports[name], strict=True)}

    def pins_of(self, exponent: int) -> dict[str, int] | None:
        """Ports with the factor ``2**exponent``; None if there are none."""
        if self.fmt is None:
            low, high = scale_range(self.bits)
            if not low <= exponent <= high:
                return None
            return {"scale": exponent % (1 << self.bits)} if self.bits else {}
        values = self.fmt.values
        with np.errstate(invalid="ignore"):
            pairs = np.argwhere(np.outer(values, values) == 2.0**exponent)
        return dict(zip(self.nets, pairs[0].tolist(), strict=True)) if len(pairs) else None


@dataclass(frozen=True)
class Query:
    """A symbolic accumulator, random word and scale, named words inside, the classes of all lanes, and the outputs.

    ``relations`` hold for the words, because some of their bits are the same net, or constant.
    """

    solver: Solver
    acc: Bits
    random: Bits | None
    scale: SymbolicScale
    words: Mapping[str, Bits]
    relations: Sequence[Bool]
    choices: Sequence[Choice]
    out: Bits

    def any(self, which: Which) -> Bool:
        """Whether ``which`` is true for the class of any lane."""
        return self.solver.any(choice.any(which) for choice in self.choices)

    def all(self, which: Which) -> Bool:
        """Whether ``which`` is true for the classes of all lanes."""
        return self.solver.all(choice.any(which) for choice in self.choices)

    @property
    def are_finite(self) -> Bool:
        """Whether no product is infinite or NaN."""
        return ~self.any(lambda member: not member.is_finite)


class FloatSumProof(SumProof):
    """A sum of products and a floating-point accumulator.

    Most have the net ``products_sum``, the sum of all products as a multiple of ``2**lsb_exponent``. With ``compares``
    the claim is not that the result is rounded. It is about any result and the flags of an aligned sum: inexact says
    whether the exact sum is another number, underflow whether it is also tiny.
    """

    def __init__(self, design: Design, netlist: Netlist, compares: bool = False):
        super().__init__(design, netlist)
        self.compares = compares
        self.target = design.core.sums.state
        self.scales = Scales(design, netlist)
        fa, fb = design.codes.values()
        self.lsb_exponent = fa.ulp_exponent + fb.ulp_exponent

    def shared_claims(self, searches: Sequence[tuple[str, Search]]) -> list[Claim]:
        """Claims that only together cover all inputs: the second is about special accumulators, the others share."""
        total, count = 1 << sum(self.inputs.values()), len(searches)
        special = 0 if self.target.flush or count == 1 or not self.acc_nets else total >> self.target.exponent_bits
        share, rest = divmod(total - special, count - 1 or 1)
        cases = [share + rest, special, *[share] * (count - 2)]
        return [Claim(what, number, search) for (what, search), number in zip(searches, cases, strict=False)]

    # -- the sum of the products

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest sum of all products."""
        values = self.lanes.products.values
        values = values[np.isfinite(values)]
        low, high = (
            int(Fraction(float(end)) / Fraction(2) ** self.lsb_exponent) for end in (values.min(), values.max())
        )
        return self.lanes.count * low, self.lanes.count * high

    @cached_property
    def sign_mask(self) -> int:
        return sum(1 << net for net in self.acc_nets[-1:])

    @property
    def sum_name(self) -> str:
        """The net with the sum of all products."""
        return SUM_OF_PRODUCTS

    @cached_property
    def is_flipped(self) -> bool:
        """Whether the sum is negated if the accumulator is negative: whether it depends on that sign."""
        return any(self.lanes.supports[net] & self.sign_mask for net in self.word(self.sum_name))

    def check_sum(self) -> None:
        """Show that ``products_sum`` is the sum of all products, negated or not."""
        proof, form = self.form_of(self.sum_name)
        *parts, others = proof.lanes.split(form.terms, self.sign_mask)
        if others:
            raise NotShownError(f"{self.sum_name} is not a sum of words that belong to one lane each")
        proof.check_parts(form, parts)

    def form_of(self, name: str) -> tuple[Self, LinearForm]:
        """What a word is the sum of; and the proof whose netlist has full adders, in place of a parallel prefix."""
        if not is_by_prefix(self, name):
            return self, linear_form(self.netlist, self.word(name))
        netlist, word = rows_added(self, name, self.word(name))
        return type(self)(self.design, netlist), linear_form_of_rows(netlist, word)

    def check_parts(self, form: LinearForm, parts: Sequence[Mapping[int, int]]) -> None:
        """Show that the terms of all lanes add up to the sum of all products, negated or not."""
        for negative in (0, 1) if self.acc_nets else (0,):
            known = dict.fromkeys(self.acc_nets[-1:], ~np.uint64(0) if negative else np.uint64(0))
            self.check_lanes(form, parts, self.lsb_exponent, known, -1 if negative and self.is_flipped else 1, False)
        if self.lanes.count * self.largest(self.lsb_exponent) >= form.modulus // 2:
            raise NotShownError(f"{self.sum_name} is too short for the largest sum")

    # -- queries

    def field_weight(self, field: int) -> int:
        """Exponent of the last bit of accumulators with an exponent field."""
        return max(field, int(not self.target.flush)) - self.target.bias - self.target.fraction_bits

    def unknown_acc(self, field: int | None = None) -> tuple[Solver, Bits]:
        """A new solver, and any accumulator of an exponent field, or of all; -0, which adds nothing, without one."""
        solver, target = Solver(), self.target
        if not self.acc_nets:
            return solver, solver.word(target.sign_bit, target.width)
        acc = solver.variable("acc_in", target.width)
        if field is not None:
            acc = cat(acc[: target.fraction_bits], solver.word(field, target.exponent_bits), acc[-1])
        return solver, acc

    def query(
        self, solver: Solver, acc: Bits, names: Sequence[str], words: Mapping[str, Bits] = MappingProxyType({})
    ) -> Query:
        """Outputs for an accumulator, any values of some named words, and certain values of others."""
        scale = self.scales.symbolic(solver)
        random = solver.variable("random", self.inputs["random"]) if "random" in self.inputs else None
        known = self.scales.known(scale) | (self.bound("acc_in", acc) if self.acc_nets else {})
        known |= {} if random is None else self.bound("random", random)
        words = {**{name: solver.variable(name, len(self.word(name))) for name in names}, **words}
        inside, relations = self.bound_words(solver, [(self.word(name), word) for name, word in words.items()])
        known |= inside | self._replaced(solver)
        choices = self.choices(solver, known, self.netlist.driven)
        return Query(solver, acc, random, scale, words, relations, choices, solver.outputs(self.netlist, known))

    def _replaced(self, solver: Solver) -> dict[int, Bool]:
        """With ``compares`` the result and the overflow flag have any value."""
        if not self.compares:
            return {}
        nets = {*self.netlist.driven[: self.target.width], self.netlist.output_nets["flags"][_OVERFLOW]}
        return {net: solver.variable(f"net_{net}", 1)[0] for net in sorted(nets) if net >= self.netlist.first_gate}

    def search(
        self, query: Query, conditions: Sequence[Bool], claim: Bool, flags: Sequence[Bool | None]
    ) -> Pins | None:
        """Inputs that contradict a claim, or the expected flags but those that are None, under some conditions."""
        expected = self.expected_flags(flags)
        pairs = zip([*query.out][self.target.width :], expected, strict=True)
        claim = query.solver.all([claim, *(bit == flag for bit, flag in pairs if flag is not None)])
        words = {"acc_in": query.acc, **query.scale.ports, **query.words}
        words |= {} if query.random is None else {"random": query.random}
        found = self.searched(query.choices, [*query.relations, *conditions], claim, words)
        return None if found is None else self.confirmed(self.example(*found), "the result")

    def example(self, values: Pins, members: Sequence[LaneClass]) -> Pins:
        """Inputs with the accumulator and the classes that the solver has found."""
        return self.lanes.pins_of(members, self.before(values) | {name: values[name] for name in self.scales.nets})

    def before(self, values: Pins) -> Pins:
        """The accumulator and the random word that the solver has found, as far as the block has them."""
        return {name: values[name] for name in ("acc_in", "random") if name in self.inputs}

    def specials(self, query: Query, conditions: Sequence[Bool] = ()) -> Pins | None:
        """Sums with an infinity or NaN; with ``compares`` the proof of the aligned sum has them."""
        if self.compares:
            return None
        solver, acc, scale = query.solver, query.acc, query.scale
        k, flush = self.target.fraction_bits, self.target.flush
        acc_special = solver.all(acc[:-1] if flush else acc[k:-1])
        acc_inf = solver.false if flush else acc_special & (acc[:k] == 0)
        acc_nan = acc_special & ~acc_inf
        undefined = scale.is_zero & query.any(lambda member: bool(np.isinf(member.product)))
        # a factor of 0 or NaN that meets an infinity makes the sum a NaN anyway
        before = acc_inf & ~acc[-1], acc_inf & acc[-1], acc_nan | scale.is_nan | undefined
        (_, minus, nan), invalid = specials_after(solver, query.choices, before)
        claim = self._special_bits(query, nan, minus, acc_special)
        signaling = solver.false if flush else acc_nan & ~acc[k - 1]
        flags = [solver.false, solver.false, solver.false, (invalid | undefined) & ~scale.is_nan | signaling]
        special = acc_special | scale.is_nan | ~query.are_finite
        return self.search(query, [special, *conditions], claim, flags)

    def _special_bits(self, query: Query, nan: Bool, minus: Bool, acc_special: Bool) -> Bool:
        target, solver = self.target, query.solver
        code, nan_bits = query.out[: target.width], solver.word(target.canonical_nan or 0, target.width)
        if not target.nan_keeps_sign:
            assert target.infinity is not None
            infinity = ite(minus, solver.word(target.infinity | target.sign_bit, target.width), target.infinity)
            return code == ite(nan, nan_bits, infinity)
        sign = solver.false
        for choice in reversed(query.choices):  # the first product that is special, unless the accumulator is
            is_special = choice.any(lambda member: not member.is_finite) | query.scale.is_nan
            sign = ite(is_special, choice.any(lambda member: member.negative), sign)
        sign = ite(acc_special, query.acc[-1], sign)
        return code == cat(nan_bits[:-1], sign)

    def judged(self, query: Query, conditions: Sequence[Bool], rounded: Rounded, sign: Bool) -> Pins | None:
        """Inputs that contradict that the result is a rounded number with a sign, with its flags."""
        solver, width = query.solver, self.target.width
        code = query.out[: width - 1]
        if self.design.core.zero == POSITIVE:
            sign = sign & (code != 0)
        same_sign = query.out[width - 1] == sign
        if not self.compares:
            flags = [rounded.inexact, rounded.inexact & rounded.tiny, rounded.overflow, solver.false]
            return self.search(query, conditions, rounded.claim & same_sign, flags)
        inexact = ~(rounded.claim & ~rounded.inexact & (same_sign | (code == 0)))
        infinity = code == (self.target.infinity or 0)
        overflow = query.out[width + _OVERFLOW].implies(infinity)
        return self.search(query, [*conditions, overflow], solver.true, [inexact, inexact & rounded.tiny, None, None])
