"""Commands that write Verilog: one block, or the modules that a file lists."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from golden.refusal import about
from hwgen.blocks.block import Design
from hwgen.cli.parser import design_from


def generate(arguments: argparse.Namespace) -> int:
    """Write the bundle of a block."""
    return _write([design_from(arguments)], arguments.output)


def build(arguments: argparse.Namespace) -> int:
    """Write the bundles of the modules that a file lists."""
    from hwgen.cli import batch

    with about("FILE"):
        designs = batch.read(arguments.file)
    return _write(designs, arguments.output)


def _write(designs: Sequence[Design], output: str) -> int:
    """Write bundles and print the paths of the Verilog; write none before all are made and their folders checked."""
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
            print(write_folder(parent, design.name, bundle) / f"{design.name}.v")
    return 0
