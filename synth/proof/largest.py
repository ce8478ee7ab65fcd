"""The claims on a circuit that finds the largest of some numbers (:func:`hwgen.datapath.arithmetic.largest`).

It is cut at its named nets, which are unknown words to the parts behind them: the bits of the largest, and which
numbers lead to them. A number leads to a bit if it has the first bits of the largest one, up to this bit. So a bit of
the largest is 1 if and only if a number that leads to the bit before has a 1 there; from the first bit down, these are
the bits of the largest number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from synth.proof.bits import Bits, Bool
from synth.proof.gates import NotShownError
from synth.proof.solver import Solver

Nets = Callable[[Solver, Mapping[int, Bool], Sequence[int]], list[Bool]]
"""The values of nets, from those of other nets."""


@dataclass(frozen=True)
class Largest:
    """The nets of such a circuit of numbers of ``width`` bits; ``word`` has the nets of a name."""

    name: str
    width: int
    items: Sequence[str]
    word: Callable[[str], Sequence[int]]
    values: Nets

    def bits(self) -> list[int]:
        """The nets of the largest number."""
        return [self.word(f"{self.name}_bit_{place}")[0] for place in range(self.width)]

    def leads(self, place: int, item: str) -> int:
        """The net that says whether a number has the first bits of the largest, to a place; 1 above the first."""
        return 1 if place == self.width else self.word(f"{item}_leads_to_bit_{place}")[0]

    def leads_are_right(
        self, solver: Solver, known: Mapping[int, Bool], item: str, number: Bits, largest: Bits, first: int = 1
    ) -> Bool:
        """Whether a number leads to the bits, from place ``first`` on, whose bits before are those of the largest."""
        known = {**known, **dict(zip(self.bits(), largest, strict=True))}
        places = range(first, self.width)
        nets = [self.leads(place, item) for place in places]
        return solver.same(self.values(solver, known, nets), [number[place:] == largest[place:] for place in places])

    def bit_is_right(self, solver: Solver, known: Mapping[int, Bool], place: int, numbers: Sequence[Bits]) -> Bool:
        """Whether a bit of the largest is 1 if a number that leads to the bit before has it."""
        some, known = [], dict(known)
        for item, number in zip(self.items, numbers, strict=True):
            lead = self.leads(place + 1, item)
            known[lead] = solver.true if lead == 1 else solver.variable(f"leads_{item}", 1)[0]
            some.append(known[lead] & number[place])
        return solver.same(self.values(solver, known, self.word(f"{self.name}_bit_{place}")), [solver.any(some)])


def refute(what: str, pins: dict[str, int] | None) -> None:
    """Raise unless nothing was found: inputs that contradict a part of a proof are only suspects."""
    if pins is not None:
        raise NotShownError(f"{what} may be wrong", [pins])
