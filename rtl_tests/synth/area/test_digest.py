"""The fingerprint of a program: each file that results depend on counts, and no other."""

import ast
import shutil
from functools import cache

import pytest

from hwgen.blocks.catalog import build
from rtl_tests.support.paths import ROOT
from rtl_tests.synth.area.test_jobs import JOB
from rtl_tests.test_layers import loaded
from synth.area import digest, jobs, store
from synth.area.digest import fingerprint, program, without_docstrings
from synth.energy import job as energy
from synth.energy.data import Data
from synth.energy.job import energy_jobs
from synth.proof import evidence
from synth.proof.choose import PROVERS
from synth.proof.evidence import program_hashes

CHOICE = "synth.proof.choose"
USED = ("golden", "hwgen", "synth")

USERS = {
    "area": ("synth.area.jobs",),
    "energy": ("synth.energy.job",),
    "evidence": ("synth.proof.verify", "hwgen.blocks.catalog"),
    "files": ("synth.proof.files", "hwgen.blocks.catalog"),
    "verilog": ("synth.area.store", "hwgen.blocks.catalog"),
}
OUTSIDE = (
    *("hwgen/__main__.py", "hwgen/cli/parser.py", "hwgen/simulate/engine.py", "hwgen/bundle/files.py"),
    *("synth/cli/verify.py", "synth/cli/energy.py", "synth/report/plan.py", "synth/report/speeds.json"),
    *("synth/studies/fast.py", "synth/sweep/space.py", "synth/proof/everything.py", "hwgen/coverage/suite.py"),
)
"""Files that change no result: commands, reports, simulation, studies, the list of modules to check."""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A copy of our packages, in which no file comes or goes; each text is read for imports and docstrings once."""
    for package in ("golden", "hwgen", "synth"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    read = digest._imported
    monkeypatch.setattr(digest, "_imported", cache(lambda *arguments: tuple(read(*arguments))))
    monkeypatch.setattr(digest, "_file", cache(digest._file))
    monkeypatch.setattr(digest, "without_docstrings", cache(without_docstrings))
    return tmp_path


@pytest.mark.parametrize("user", USERS)
def test_every_file_of_the_program_counts(tree, user):
    before = fingerprint.__wrapped__(*USERS[user], root=tree)
    assert before == fingerprint(*USERS[user])
    for name in program(*USERS[user], root=tree):
        content = (ROOT / name).read_bytes()
        (tree / name).write_bytes(content + b"x = 1\n")
        assert fingerprint.__wrapped__(*USERS[user], root=tree) != before, name
        (tree / name).write_bytes(content)
    for name in OUTSIDE:
        (tree / name).write_text("changed")
    assert fingerprint.__wrapped__(*USERS[user], root=tree) == before


class _Docstrings(ast.NodeTransformer):
    """Replaces every statement that is a string by ``...``."""

    def visit_Expr(self, node):
        is_string = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return ast.Expr(ast.Constant(...)) if is_string else node


def test_all_but_docstrings_counts():
    """The quick way to leave them out is compared with Python's own grammar."""
    for path in (path for top in USED for path in (ROOT / top).rglob("*.py")):
        content = path.read_bytes()
        tree = _Docstrings().visit(ast.parse(content))
        assert ast.dump(ast.parse(without_docstrings(path.name, content))) == ast.dump(tree), path
    assert without_docstrings("a.cpp", b'"""x"""') == b'"""x"""'


@pytest.mark.parametrize(
    ("before", "after"), [('"""A."""\nx = 1\n', '"""B.\n\n"C" or "".\n"""\nx = 1\n'), ("x = 1\n", "x = 2\n")]
)
def test_better_words_invalidate_nothing(before, after, tmp_path):
    fingerprints = []
    for text in (before, after):
        (tmp_path / "golden.py").write_text(text)
        fingerprints.append(fingerprint.__wrapped__("golden", root=tmp_path))
    assert (fingerprints[0] == fingerprints[1]) == ("x = 2" not in after)


def test_keys_have_the_fingerprint(monkeypatch):
    """The program of an area job is part of the key of the energy job that uses its netlists."""
    (work,) = energy_jobs(build("multiplier", "hif8"), "", ["gates"], Data("uniform"))
    keys = JOB.key, work.key
    monkeypatch.setattr(energy, "fingerprint", lambda *entries: f"changed {entries}")
    assert (JOB.key, work.key != keys[1]) == (keys[0], True)
    monkeypatch.undo()
    monkeypatch.setattr(jobs, "fingerprint", lambda *entries: f"changed {entries}")
    assert JOB.key != keys[0]
    assert work.key != keys[1]
    monkeypatch.setattr(evidence, "fingerprint", lambda *entries, below, leaf: (below, leaf, *entries))
    monkeypatch.setattr(store, "fingerprint", lambda *entries: " ".join(entries))
    before = store._program.__wrapped__()
    monkeypatch.setattr(store, "fingerprint", lambda *entries: f"changed {' '.join(entries)}")
    assert store._program.__wrapped__() != before
    for is_emitted, user in ((True, "evidence"), (False, "files")):
        for prover in ([], ["synth.proof.codes"]):
            entries = (CHOICE, *USERS[user], *prover)
            hashes = {"golden": ("golden/", *entries), "checks": ("", *entries)}
            assert program_hashes.__wrapped__(is_emitted, *prover or [""]) == hashes


def test_a_verdict_rests_on_its_proof_and_no_other():
    """What chooses the proof counts; proofs that it does not choose do not, unless the chosen one uses them."""
    swept, codes, fast = (
        program(*USERS["evidence"], *prover, leaf=CHOICE).keys()
        for prover in ([], ["synth.proof.codes"], ["synth.proof.rounded"])
    )
    proofs = {module.replace(".", "/") + ".py" for module in PROVERS} - swept
    assert "synth/proof/choose.py" in swept
    assert codes - swept == {"synth/proof/codes.py"} == proofs & codes
    assert {f"synth/proof/{name}.py" for name in ("rounded", "prefix", "dot", "lanes", "twofold")} <= fast
    assert not {"synth/proof/codes.py", "synth/proof/mac.py"} & fast
    every = set().union(*(program(*USERS["evidence"], module, leaf=CHOICE) for module in PROVERS))
    assert every == program(*USERS["evidence"]).keys()


def test_the_programs_have_what_they_use():
    area, work, proof = (program(*USERS[user]).keys() for user in ("area", "energy", "evidence"))
    assert {"synth/area/timing.py", "synth/area/data/swap.v", "hwgen/tools/fork_server.py", "golden/refusal.py"} <= area
    assert area < work
    assert {"synth/energy/engine.cpp", "hwgen/blocks/mac.py", "hwgen/reference/sums.py", "golden/bits.py"} <= work
    assert "synth/proof/files.py" in program(*USERS["files"])
    assert "synth/proof/files.py" not in proof  # what judges users' files does not change verdicts on our modules
    assert {"golden/arithmetic/cpp/chain.cpp", "synth/proof/unroll.py", "hwgen/datapath/fast/far.py"} <= proof
    assert "hwgen/reference/conversions.py" in proof  # by the package's own imports
    assert not {"golden/scaling.py", "golden/loss.py"} & proof  # golden only exports them
    assert {"hwgen/datapath/fast/far.py", "hwgen/rounding/direct.py"} <= program(*USERS["verilog"]).keys()
    assert "golden/arithmetic/mac.py" not in area  # areas depend on the Verilog, not on the reference model


def test_no_import_is_overlooked():
    """The quick reading of imports is compared with Python's own, also what a module takes from a package."""
    paths = {path: path.relative_to(ROOT).with_suffix("") for top in USED for path in (ROOT / top).rglob("*.py")}
    names = {".".join(path.parts).removesuffix(".__init__") for path in paths.values()}
    assert len(names) > 200
    for path in paths:
        text = path.read_text()
        tree, found = ast.parse(text), set(digest._imported(path, text, ROOT))
        assert {name for name, _ in loaded(tree, names)} <= found, path
        whole = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names} & {
            *USED
        }
        used = {node.value: node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for name in (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in whole):
            assert f"{name.id}.{used[name]}" in found, path


def test_kinds_of_imports(tmp_path):
    files = {
        "golden/__init__.py": "from golden import whole",
        "golden/whole.py": "",
        "golden/entry.py": "def late():\n    from golden.a import (\n        x,  # why\n        y as z,\n    )\n"
        "    import golden.b.c",
        "golden/a.py": "from golden import d\nfrom golden.e import *\nimport hwgen.f as f, json",
        "golden/b/__init__.py": "from golden import g",
        "golden/b/c.py": 'COMMAND = ["started.py"]',
        "golden/b/started.py": "import golden.h",
        "golden/b/data.lib": "",
        "golden/b/more/data.bin": "\0",
        "golden/b/apart/__init__.py": "",
        "golden/b/apart/data.lib": "",
        "golden/b/__pycache__/c.pyc": "",
        **{f"golden/{name}.py": "" for name in "degh"},
        "hwgen/f.py": "import numpy",
        "hwgen/not_used.py": "",
        "synth/__init__.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    left_out = {"golden/b/__pycache__/c.pyc", "golden/b/apart/__init__.py", "golden/b/apart/data.lib"}
    left_out |= {"hwgen/not_used.py", "synth/__init__.py"}
    assert program("golden.entry", root=tmp_path).keys() == files.keys() - left_out
    assert program("golden.d", root=tmp_path).keys() == {"golden/__init__.py", "golden/d.py"}
    with pytest.raises(FileNotFoundError):
        program("golden.misspelt", root=tmp_path)


def test_only_what_is_taken_from_exports_counts(tmp_path):
    """A package that does nothing but export is no more than the modules whose names a module uses."""
    files = {
        "golden/__init__.py": '"""A."""\n\nfrom golden.a import x\nfrom golden.b import y as z\n\n__all__ = ["x"]\n',
        "golden/a.py": "",
        "golden/b.py": "from golden.c import w",
        "golden/c.py": "",
        "golden/plain.py": "import golden\ngolden.x()",
        "golden/named.py": "from golden import z",
        "golden/renamed.py": "import golden as g\ng.x()",
        "golden/all.py": "from golden import *",
        "golden/own.py": "from golden import own, a",
    }
    (tmp_path / "golden").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    used = {"plain": "a", "renamed": "a", "named": "bc", "all": "abc", "own": "a"}
    for entry, names in used.items():
        expected = {f"golden/{name}.py" for name in ("__init__", entry, *names)}
        assert program(f"golden.{entry}", root=tmp_path).keys() == expected, entry
    assert program("golden", root=tmp_path).keys() == {f"golden/{name}.py" for name in ("__init__", *"abc")}
    digest._exports.cache_clear()
    (tmp_path / "golden/__init__.py").write_text(files["golden/__init__.py"] + "x()\n")
    assert program("golden.plain", root=tmp_path).keys() == {
        f"golden/{name}.py" for name in ("__init__", "plain", *"abc")
    }


def test_exports_of_a_package_on_the_way_do_not_count(tmp_path):
    """Areas stay known when the reference model has a new name."""
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden/a.py").write_text("x = y = 1\n")
    (tmp_path / "golden/b.py").write_text("")
    found = []
    for imports, names in (("import x", '"x"'), ("import (\n    x,\n    y,\n)", '\n    "x", "y",\n')):
        package = f'"""Words."""\n\nfrom golden.a {imports}\n\n__all__ = [{names}]  # fmt: skip\n'
        (tmp_path / "golden/__init__.py").write_text(package)
        found.append([fingerprint.__wrapped__(entry, root=tmp_path) for entry in ("golden.b", "golden")])
        assert program("golden", root=tmp_path).keys() == {"golden/__init__.py", "golden/a.py"}
    assert (found[0][0] == found[1][0], found[0][1] == found[1][1]) == (True, False)
