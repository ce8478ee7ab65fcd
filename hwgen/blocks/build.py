"""Blocks by name: from their options to their designs, what `generate`, `area`, `report` and the tests share."""

from collections.abc import Callable
from functools import partial
from typing import Any

from amaranth.lib import wiring

from hwgen.blocks.conversions import decoder, encoder
from hwgen.blocks.design import Design, finished
from hwgen.blocks.sums import adder, dot, mac, multiplier, pe, readout
from hwgen.netlist.pipeline import Pipelined, check_stages

__all__ = ["BLOCKS", "RESETS", "adder", "decoder", "dot", "encoder", "mac", "multiplier", "pe", "pipelined", "readout"]

RESETS = ("sync", "none")


def pipelined(design: Design, stages: int, reset: str = "sync", clock_enable: bool = False, name: str | None = None) -> Design:
    """A combinational design with ranks of registers in it.

    Parameters
    ----------
    design : Design
        With its default name.
    stages : int
        Ranks of registers, 1 to 16: the latency in cycles.
    reset : str
        ``sync``: port ``rst``, active high, clears the valid bits; ``none``: no such port.
    clock_enable : bool
        Whether there is a port ``enable``, without which everything stands still.
    name : str, optional
        Of the module.
    """
    check_stages(stages, 1)
    if reset not in RESETS:
        raise ValueError(f"reset must be one of {', '.join(RESETS)}, not {reset!r}")
    options: dict[str, Any] = {"stages": stages}
    default = f"{design.name}_s{stages}"
    if reset == "none":
        options["reset"] = reset
        default += "_no_reset"
    if clock_enable:
        options["clock-enable"] = True
        default += "_ce"
    make = partial(_pipelined, design.make, stages, reset, clock_enable)
    line = f"Pipeline: {stages} rank{'s' if stages > 1 else ''} of registers, a latency of as many cycles, one input a cycle"
    return finished(design.kind, name, default, make, design.options | options, [*design.header[:-1], line], design.formats)


def _pipelined(make: Callable[[], wiring.Component], stages: int, reset: str, clock_enable: bool) -> Pipelined:
    return Pipelined(make(), stages, reset=reset == "sync", clock_enable=clock_enable)


def _staged(block: Callable[..., Design]) -> Callable[..., Design]:
    """A block with the arguments of :func:`pipelined`, too."""

    def make(
        *arguments: Any, stages: int = 0, reset: str | None = None, clock_enable: bool = False, name: str | None = None, **options: Any
    ) -> Design:
        if check_stages(stages) == 0:
            for word, given in (("reset", reset is not None), ("clock_enable", clock_enable)):
                if given:
                    raise ValueError(f"{word} goes with stages only: without them there is no clock")
            return block(*arguments, name=name, **options)
        return pipelined(block(*arguments, **options), stages, RESETS[0] if reset is None else reset, clock_enable, name)

    return make


BLOCKS: dict[str, Callable[..., Design]] = {
    "decoder": _staged(decoder), "encoder": _staged(encoder), "multiplier": multiplier, "adder": adder, "mac": _staged(mac),
    "dot": _staged(dot), "pe": pe, "readout": _staged(readout),
}  # fmt: skip
"""By kind, as the command line makes them: with all the arguments of their options."""
