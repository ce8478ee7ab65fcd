"""Random words in hardware: a linear-feedback shift register, and a block that contains one."""

from __future__ import annotations

from functools import reduce
from math import gcd
from operator import xor

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.lfsr import EXPONENTS, Lfsr
from golden.refusal import BadKind, BadValue, check_integer
from golden.rows import DEFAULT_RANDOM_BITS
from hwgen.datapath.arithmetic import named
from hwgen.netlist.book import chapter
from hwgen.netlist.component import Checked

MAX_WORDS = 32
"""Largest number of words that a register makes in a cycle."""
DEFAULT_WIDTH, DEFAULT_SEED = 32, 1


class Random(Checked, wiring.Component):
    """A linear-feedback shift register in Galois form, whose bits all lanes share: ``lanes`` words in a cycle.

    The words are those of :class:`golden.lfsr.Lfsr`, one after the other: lane k has in the t-th enabled cycle the word
    number ``t * lanes + k``. All bits of a cycle are made at once.

    Parameters
    ----------
    width : int
        Bits of the register: 16, 24, 32, 48 or 64.
    random_bits : int
        Bits of a word, 1 to 32, and at most ``width``.
    lanes : int
        Words in a cycle, 1 to 32.
    random_seed : int
        State after a reset, 1 to ``2**width - 1``.

    Members
    -------
    enable : ``In(1)``
        Go to the next words.
    random : ``Out(lanes * random_bits)``
        Words of all lanes, lane 0 in the least significant bits. The domain's reset makes them the first ones.
    """

    def __init__(
        self,
        width: int = DEFAULT_WIDTH,
        *,
        random_bits: int = DEFAULT_RANDOM_BITS,
        lanes: int = 1,
        random_seed: int = DEFAULT_SEED,
    ):
        try:
            self.lfsr = Lfsr(width, random_bits)
        except (BadKind, BadValue) as refusal:
            raise (refusal.about("random_bits") if refusal.argument == "word_bits" else refusal) from None
        self.width, self.random_bits = int(width), int(random_bits)
        self.lanes = check_integer("lanes", lanes, 1, MAX_WORDS)
        self.random_seed = check_integer("random_seed", random_seed, 1, self.lfsr.states)
        super().__init__({"enable": In(1), "random": Out(self.lanes * self.random_bits)})

    @property
    def period(self) -> int:
        """Number of enabled cycles until all words repeat."""
        return self.lfsr.states // gcd(self.lfsr.states, len(self.random))

    def elaborate(self, _platform: object) -> Module:
        """The words from the state, and the state after as many steps as they have bits."""
        m = Module()
        width, count, exponents = self.width, len(self.random), EXPONENTS[self.width]
        state = Signal(width, name="state", init=self.random_seed)
        chapter(m, f"Sequence: {count} bits, each the exclusive or of those {_listed(exponents)} bits before it")
        bits: list[Value] = []
        for place in range(count):
            # To square the polynomial doubles its exponents; the sequence obeys all its powers. The largest one that
            # fits has the shortest way from the state.
            power = (place // width).bit_length() - 1
            if place < width:
                sources = [state[place], *(bits[place - e] for e in exponents if e <= place)]
            else:
                sources = [bits[place - (e << power)] for e in exponents]
            bits.append(named(m, f"bit_{place}", reduce(xor, sources)) if len(sources) > 1 else sources[0])
        m.d.comb += self.random.eq(Cat(*bits))
        chapter(m, f"Register: {width} bits in Galois form, moved by {count} places")
        moved = []
        for place in range(count, count + width):
            inverting = [bits[place - e] for e in exponents if 0 <= place - e < count]
            moved.append(reduce(xor, [*([state[place]] if place < width else []), *inverting]))
        after = named(m, "state_after", Cat(*moved))
        with m.If(self.enable):
            m.d.sync += state.eq(after)
        return m


class Fed(Checked, wiring.Component):
    """A combinational component whose port ``random`` has the words of a register.

    Parameters
    ----------
    core : wiring.Component
        It is not used elsewhere.
    source : Random
        Its words are as wide as the port.

    Members
    -------
    enable : ``In(1)``
        See :class:`Random`.
    others
        Those of the core, but ``random``.
    """

    def __init__(self, core: wiring.Component, source: Random):
        self.core, self.source = core, source
        self._shared = tuple(name for name in core.signature.members if name != "random")
        super().__init__({"enable": In(1), **{name: core.signature.members[name] for name in self._shared}})

    def elaborate(self, _platform: object) -> Module:
        """The register, and the core."""
        m = Module()
        m.submodules.generator, m.submodules.core = self.source, self.core
        m.d.comb += [self.source.enable.eq(self.enable), self.core.random.eq(self.source.random)]
        for name in self._shared:
            port, own = getattr(self.core, name), getattr(self, name)
            m.d.comb += port.eq(own) if self.core.signature.members[name].flow is In else own.eq(port)
        return m


def _listed(exponents: tuple[int, ...]) -> str:
    *others, last = sorted(exponents)
    return f"{', '.join(map(str, others))} and {last}"
