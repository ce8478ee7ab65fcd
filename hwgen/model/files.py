"""The files of a model in the bundle of a module."""

from __future__ import annotations

from hwgen.blocks.block import Design
from hwgen.model.dpi import package, wrapper
from hwgen.model.header import MODELLED, header
from hwgen.model.program import program


def files(design: Design) -> dict[str, str]:
    """Return the texts of the folder ``model`` by path in the bundle; none of a block that has no model in C."""
    if design.kind not in MODELLED:
        return {}
    stem = f"model/{design.name}"
    return {
        f"{stem}.h": header(design),
        f"{stem}_test.c": program(design),
        f"{stem}_dpi.sv": package(design),
        f"{stem}_dpi.c": wrapper(design),
    }
