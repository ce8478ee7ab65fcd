"""Commands that write Verilog: one block, or the modules of a file."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from golden.refusal import about
from hwgen.blocks.block import Design
from hwgen.cli.parser import design_from


def generate(arguments: argparse.Namespace) -> int:
    """Write a block's Verilog, and the files beside it."""
    return _written([design_from(arguments)], arguments.output)


def build_batch(arguments: argparse.Namespace) -> int:
    """Write the bundles of a file's modules."""
    from hwgen.cli import batch

    with about("FILE"):
        designs = batch.read(arguments.file)
    return _written(designs, arguments.output)


def _written(designs: Sequence[Design], output: str) -> int:
    """Write bundles, once all of them are there and have a place, and say where the Verilog is."""
    from hwgen.bundle.files import files
    from hwgen.tools.files import check_writable, write_folder

    parent = Path(output)
    with about("-o"):
        for design in designs:
            check_writable(parent / design.name)
    bundles = [files(design, design.verilog()) for design in designs]
    with about("-o"):
        for design, bundle in zip(designs, bundles, strict=True):
            check_writable(parent / design.name, bundle)
    for design, bundle in zip(designs, bundles, strict=True):
        with about("-o"):
            print(write_folder(parent, design.name, bundle) / f"{design.name}.v")
    return 0
