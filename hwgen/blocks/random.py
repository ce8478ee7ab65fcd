"""The block of random words, for several modules that round stochastically, or for those with pipelines."""

from dataclasses import replace

from hwgen.blocks.block import RANDOM_SEED, RANDOM_WIDTH, Block, register_line
from hwgen.blocks.options import LANES, RANDOM_BITS
from hwgen.datapath.random import Random


def _lines(core: Random) -> list[str]:
    return [register_line(core), f"The words repeat after {core.period} enabled cycles"]


RANDOM_WORDS = Block(
    "random",
    "random words for stochastic roundings, from a linear-feedback shift register",
    Random,
    (),
    (
        replace(RANDOM_WIDTH, name="width", argument="width", attribute="width", always=True, only_with=None),
        replace(
            RANDOM_BITS,
            help="bits of a word, at most as many as the register has",
            only_with=None,
            always=True,
            suffix="_r{}",
        ),
        replace(LANES, help="number of words in a cycle, which share the register", suffix="_l{}"),
        replace(RANDOM_SEED, only_with=None),
    ),
    clocked=True,
    rules=lambda _: {"rounding": "none", "overflow": "none", "nan": "none"},
    title=lambda core: f"Random words of {core.random_bits} bits",
    lines=_lines,
    meanings={
        "rst": "synchronous reset of the register to its seed, active high",
        "enable": "go to the next words at the rising edge",
        "random": "random words of all lanes, lane 0 lowest",
    },
)
