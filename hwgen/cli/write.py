"""Commands that write Verilog: one block, or the modules of a file."""

import argparse
from pathlib import Path

from golden.refusal import about
from hwgen.blocks.block import Design
from hwgen.cli.parser import design_from


def generate(arguments: argparse.Namespace) -> int:
    """Write a block's Verilog, and the files beside it."""
    design = design_from(arguments)
    print(_written(design, design.verilog(), arguments.output))
    return 0


def build_batch(arguments: argparse.Namespace) -> int:
    """Write the bundles of a file's modules."""
    from hwgen.cli import batch

    with about("FILE"):
        designs = batch.read(arguments.file)
    texts = [design.verilog() for design in designs]  # all of them before the first is written
    for design, text in zip(designs, texts, strict=True):
        print(_written(design, text, arguments.output))
    return 0


def _written(design: Design, text: str, output: str) -> Path:
    """The Verilog of a bundle that is written."""
    from hwgen.bundle.files import files
    from hwgen.tools.files import write_folder

    texts = files(design, text)
    with about("-o"):
        return write_folder(Path(output), design.name, texts) / f"{design.name}.v"
