"""Write the default decoders, encoders and MACs of every format to a folder.

Usage: python examples/all_verilog.py DIR
"""

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import golden
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.tools import yosys
from hwgen.tools.files import write_folder


def designs() -> list[Design]:
    """Return the designs with the most common options, for every format of the catalogue."""
    result = []
    for name in golden.names():
        result += [build("decoder", name, target=to) for to in ("unpacked", "binary16", "bfloat16", "binary32")]
        result += [build("encoder", name, source=source) for source in ("binary32", "binary16", "bfloat16")]
        result += [build("mac", name, accumulator=accumulator) for accumulator in golden.ACCUMULATORS]
    result.append(build("encoder", "hif8", rounding="hybrid"))
    return result


def main() -> None:
    """Write all designs, with one Yosys process per core."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder to write to; existing modules are overwritten")
    folder = parser.parse_args().folder
    yosys.version()
    everything = designs()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for design, text in zip(everything, pool.map(Design.verilog, everything), strict=True):
            write_folder(folder, design.name, {f"{design.name}.v": text})
    print(f"{len(everything)} modules in {folder}")


if __name__ == "__main__":
    main()
