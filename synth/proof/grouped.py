"""The proof of aligned sums built for speed, in the frame of a group of levels.

The module is that of :mod:`hwgen.datapath.fast.aligned`.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from synth.proof.adders import LinearForm
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.floating import Query
from synth.proof.gates import NotShownError, cut
from synth.proof.lanes import Lanes
from synth.proof.levels import LEVEL, TOTAL
from synth.proof.prefix import places_of, rows_added
from synth.proof.rounded import MARKS, PrefixRoundedProof, are_marks
from synth.proof.rounding import EXPONENT_BITS
from synth.proof.solver import Solver
from synth.proof.truncated import Acc, AlignedDotProof
from synth.proof.twofold import linear_form_of_rows

_GROUP, _PLACE, _LESS_1, _IS_ZERO = "largest_group", "largest_place", "total_less_1", "total_is_zero"


class GroupedDotProof(AlignedDotProof):
    """The same for a module whose largest level is two nets in unary: the number of its group, from the first one of
    products, and its place in the group.

    The last bit of ``total`` is that of the smallest level of the group, and level 0 is the smallest one of the first
    group. An accumulator above the largest level is the result, whatever ``total`` is.

    A parallel prefix adds two rows: ``total_less_1``, and with 1 more ``total``, which may lack its sign. Beside it,
    the first bit of both that is not the sign is found, or the place above it, and whether ``total`` is 0. All that is
    shown for any two rows, and holds for any of these words from then on.
    """

    exact_prover = PrefixRoundedProof

    def word(self, name: str) -> tuple[int, ...]:
        """The bits of a named net; of the largest level, those of its two nets."""
        return super().word(_PLACE) + super().word(_GROUP) if name == LEVEL else super().word(name)

    @cached_property
    def group(self) -> int:  # type: ignore[override]
        """Levels of a group."""
        size = len(super().word(_PLACE)) + 1
        if size & size - 1:
            raise NotShownError(f"{_PLACE} has not one bit less than a power of two")
        return size

    @cached_property
    def level_codes(self) -> NDArray[np.int64]:
        """The ones of the place, then those of the group."""
        if len(self.word(LEVEL)) > 62:
            raise NotShownError(f"{_PLACE} and {_GROUP} have more than 62 bits")
        levels = np.arange(self.group * (len(super().word(_GROUP)) + 1))
        place, group = ((1 << number) - 1 for number in (levels % self.group, levels // self.group))
        return place | group << self.group - 1

    def level_of(self, word: Bits) -> tuple[Bits, Bool]:
        """The level, and whether the bits are those of any."""
        some = word[0] & False
        number = cat(some).to(EXPONENT_BITS).signed
        for level, code in enumerate(self.level_codes.tolist()):
            number, some = ite(word == code, level, number), some | (word == code)
        return number, some

    def unknown_level(self, solver: Solver) -> tuple[Bits, Bits]:
        """Any largest level, as a number with a sign, and its nets."""
        number = solver.variable("level", self.top.bit_length())
        places = [number & self.group - 1 > reached for reached in range(self.group - 1)]
        groups = [number >= first for first in range(self.group, self.top, self.group)]
        return number.to(EXPONENT_BITS).signed, cat(*places, *groups)

    def is_alone(self, acc: Acc) -> Bool:
        """Whether the accumulator is above the largest level that there is."""
        return acc.dominates

    def _show(self) -> None:
        netlist, word = rows_added(self, _LESS_1, self.word(_LESS_1))
        level = self.word(LEVEL)
        netlist = cut(netlist, LEVEL, level)
        form = linear_form_of_rows(netlist, [net + len(level) for net in word])
        form = LinearForm(form.terms, form.constant + 1, form.modulus)
        lanes, sign = Lanes(self.design, netlist, scaled=False), netlist.input_nets("acc_in")[-1]
        *parts, addend = lanes.split(form.terms, sum(1 << net for net in (*netlist.input_nets(LEVEL), sign)))
        self.check_rows(lanes, form, parts, is_framed=False, follows=True)
        self._check_acc(netlist, LinearForm(addend, 0, form.modulus), [])
        self._check_largest()
        self._check_beside()

    def _check_beside(self) -> None:
        """What is found beside the addition, and the sum plus 1."""
        solver = Solver()
        less_1, words = places_of(self, solver, _LESS_1)
        known, relations = self.bound_words(solver, words)
        marks, own, is_zero = (
            cat(*solver.nets(self.netlist, known, self.word(name))) for name in (MARKS, TOTAL, _IS_ZERO)
        )
        total = less_1 + 1
        claim = self._is_beside(marks, less_1, total) & (own == total[: own.width]) & (is_zero[0] == (total == 0))
        if solver.search(solver.all(relations).implies(claim), {}) is not None:
            raise NotShownError(f"{TOTAL}, {_IS_ZERO} or {MARKS} is not that of the sum of two rows")

    @staticmethod
    def _is_beside(marks: Bits, less_1: Bits, total: Bits) -> Bool:
        """Whether marks are those of both sums, if these have the same sign; otherwise of the smaller one."""
        return are_marks(marks, less_1) & (less_1[-1] == total[-1]).implies(less_1[-1] | are_marks(marks, total))

    def _unknown_sum(self) -> tuple[Query, Acc, Bits, Bits, Bits]:
        """The same, with all that is found beside the addition."""
        solver, acc_in = self.unknown_acc()
        total, (level, nets) = solver.variable(TOTAL, len(self.word(_LESS_1))), self.unknown_level(solver)
        words = {TOTAL: total[: len(self.word(TOTAL))], _LESS_1: total - 1, _IS_ZERO: cat(total == 0)}
        query = self.query(solver, acc_in, [MARKS, LEVEL], words)
        acc = self._acc(solver, query.acc, query.scale)
        # of infinities and NaN, of no products and of an accumulator alone, nothing is shown of the level's nets
        some = query.any(lambda member: member.product != 0) & query.are_finite & acc.is_added & ~self.is_alone(acc)
        is_level = some.implies(query.words[LEVEL] == nets)
        relations = [self._is_beside(query.words[MARKS], total - 1, total), level <= self.top, is_level]
        query = replace(query, relations=[*query.relations, *relations])
        return query, acc, total.signed, cat(solver.false, total).signed, level
