"""Verilog of designs, kept in a store: the text depends only on the design and on the program that generates it."""

from functools import cache
from importlib.metadata import version

from hwgen.blocks.block import Design
from hwgen.tools import yosys
from synth.area.digest import fingerprint, sha256
from synth.area.store import Store


@cache
def _program() -> str:
    """SHA-256 of the program that generates Verilog, and of the versions of its tools."""
    return sha256(
        fingerprint(__name__, "hwgen.blocks.catalog"), version("minifloat-rtl"), version("amaranth"), yosys.version()
    )


def verilog(design: Design, store: Store | None = None) -> str:
    """The Verilog of a design, taken from the store if it is there."""
    if store is None:
        return design.verilog()
    key = sha256(
        "verilog", _program(), design.kind, design.name, repr(design.options), repr(design.header), repr(design.formats)
    )
    text = store.get(key)
    if text is None:
        text = design.verilog()
        store.put(key, text)
    return str(text)
