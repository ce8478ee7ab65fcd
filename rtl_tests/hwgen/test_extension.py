"""New options, blocks and roundings need a patch of a few files; they are then generated, measured and swept."""

import json
import os
import re
import shutil
import subprocess
import sys

import jsonschema
import pytest

from rtl_tests.support.formal import symbiyosys
from rtl_tests.support.optional import NEEDS_GIT, NEEDS_ICARUS
from rtl_tests.support.paths import ROOT
from rtl_tests.support.selection import exhaustive

PATCHES = ROOT / "rtl_tests" / "support" / "patches"
CASES = {
    "toy_option.patch": ("mac", "invert", "hif8_mac_binary16"),
    "toy_block.patch": ("magnitude", "negative", "hif8_magnitude"),
    "toy_sum.patch": ("dot", "magnitude", "hif8_dot2_binary16"),
}
"""By patch: the block, the option, and the module's name without the option."""
MAX_FILES = {"toy_option.patch": 2, "toy_block.patch": 4, "toy_sum.patch": 6, "toy_rounding.patch": 3}
"""Production files that these patches may change."""


def files(patch):
    """Production files that a patch changes."""
    return re.findall(r"^diff --git a/(\S+)", (PATCHES / patch).read_text(), re.M)


def patched(tree, patch):
    """A copy of the tree with a patch applied."""
    for package in ("golden", "hwgen", "synth"):
        shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "apply", str(PATCHES / patch)], cwd=tree, check=True)
    return tree


@pytest.fixture(scope="module", params=sorted(CASES))
def patched_tree(request, tmp_path_factory):
    """A copy of the tree with one of the patches applied and a module in ``out``, its block and option, its name, and
    the names of the modules with and without the option.
    """
    tree = patched(tmp_path_factory.mktemp("tree"), request.param)
    block, option, plain = CASES[request.param]
    python(tree, "hwgen", "generate", block, "--format", "hif8", f"--{option}", "-o", "out")
    return tree, block, option, f"{plain}_{option}", [plain, f"{plain}_{option}"]


def python(tree, *words, status=0):
    environment = os.environ | {"PYTHONPATH": str(tree), "GIT_CEILING_DIRECTORIES": str(tree)}
    process = subprocess.run(
        [sys.executable, "-m", *words], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == status, process.stdout + process.stderr
    return process.stdout


COMMANDS = """
import io, json, sys
from contextlib import redirect_stdout
from hwgen.__main__ import main
results = []
for words in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as printed:
        results.append((main(words), printed.getvalue()))
json.dump(results, sys.stdout)
"""


def hwgen(tree, *commands, statuses=None):
    """What commands of ``hwgen`` print that follow each other in one process."""
    (tree / "commands.py").write_text(COMMANDS)
    results = json.loads(python(tree, "commands", json.dumps(commands)))
    assert [status for status, _ in results] == (statuses or [0] * len(commands)), results
    return [printed for _, printed in results]


@pytest.mark.parametrize("patch", sorted(MAX_FILES))
def test_few_files_are_touched(patch):
    assert 0 < len(files(patch)) <= MAX_FILES[patch]


@NEEDS_GIT
def test_command_line_json_and_docs(patched_tree):
    tree, block, option, name, _ = patched_tree
    assert f"--{option}" in python(tree, "hwgen", "generate", block, "--help")
    description = json.loads((tree / "out" / name / f"{name}.json").read_text())
    assert description["options"][option] is True
    jsonschema.validate(description, json.loads((ROOT / "docs" / "bundle.schema.json").read_text()))
    assert description["command"].endswith(f" --{option}")
    assert f"| `{option}` | true or false |" in python(tree, "hwgen.cli.table")


@NEEDS_GIT
def test_area_batch_and_sweep(patched_tree):
    tree, block, option, name, names = patched_tree
    (tree / "chip.toml").write_text(f'[[module]]\nblock = "{block}"\nformat = "hif8"\n{option} = true\n')
    (tree / "space.toml").write_text(
        f'formats = ["hif8"]\ntargets = ["gates"]\nrenamings = 1\n[{block}]\n{option} = [false, true]\n'
    )
    area, batch, _ = hwgen(
        tree,
        ["area", block, "--format", "hif8", f"--{option}", "--renamings", "1", "--json"],
        ["build", "chip.toml", "-o", "batch"],
        ["sweep", "space.toml", "-o", "swept", "--store", "store.sqlite", "--jobs", "1"],
    )
    assert {row[option] for row in json.loads(area)} == {True}
    assert batch.strip().endswith(f"{name}.v")
    rows = json.loads((tree / "swept" / "sweep.json").read_text())["rows"]
    assert sorted({row["name"] for row in rows}) == names


@NEEDS_GIT
@NEEDS_ICARUS
def test_the_testbench_passes(patched_tree):
    tree, _, _, name, _ = patched_tree
    folder = tree / "out" / name
    subprocess.run(["iverilog", "-g2005", "-o", "t.vvp", f"tb/{name}_tb.v", f"{name}.v"], cwd=folder, check=True)
    process = subprocess.run(["vvp", "t.vvp"], cwd=folder, capture_output=True, text=True, check=True)
    assert process.stdout.splitlines()[-1].startswith("PASS ")


@NEEDS_GIT
def test_the_properties_are_proved(patched_tree):
    tree, _, _, name, _ = patched_tree
    assert symbiyosys(tree / "out" / name, name).returncode == 0


@NEEDS_GIT
@pytest.mark.parametrize("patched_tree", ["toy_option.patch"], indirect=True)
@pytest.mark.parametrize(("name", "bits"), [("e3m2", 28), exhaustive("ocp_e4m3", 32)])
def test_verify_takes_the_option_from_the_reference(patched_tree, name, bits):
    tree, block, option, _, _ = patched_tree
    words = ["verify", block, "--format", name, f"--{option}", "-o", "evidence"]
    equal, unproved = hwgen(tree, words, [*words, "--accumulator", "binary32"], statuses=[0, 1])
    assert equal.startswith(f"{name}_mac_binary16_{option}: equal to the reference model on all 2^{bits} inputs")
    assert f"the proof does not support the option {option}" in unproved


OF_ALL_SUMS = """
import golden, numpy as np
rng = np.random.default_rng(1)
a, b = (rng.integers(0, 256, shape).astype(np.uint8) for shape in ((200, 32), (32, 60)))
sums = np.zeros((200, 60), np.uint16)
for k in range(0, 32, 2):
    lanes = np.broadcast_arrays(a[:, None, k : k + 2], b.T[None, :, k : k + 2])
    sums = golden.fused_dot(*lanes, sums, "ocp_e4m3", magnitude=True)
assert np.array_equal(golden.matmul(a, b, "ocp_e4m3", lanes=2, magnitude=True), sums)
assert not np.array_equal(golden.matmul(a, b, "ocp_e4m3", lanes=2), sums)
"""


@NEEDS_GIT
@NEEDS_ICARUS
@pytest.mark.parametrize("patched_tree", ["toy_sum.patch"], indirect=True)
def test_an_option_of_sums_is_one_of_all_sums(patched_tree):
    tree, *_ = patched_tree
    (tree / "sums.py").write_text(OF_ALL_SUMS)
    python(tree, "sums")
    words = ["--format", "ocp_e4m3", "--magnitude", "--vectors", "500", "--sim", "icarus"]
    *equal, _ = hwgen(
        tree,
        ["simulate", "mac", *words],
        ["simulate", "pe", "--lanes", "2", *words],
        ["generate", "mac", "--format", "hif8", "--accumulator", "exact", "--magnitude"],
        statuses=[0, 0, 2],
    )
    assert all("equal to the reference model" in printed for printed in equal)


@NEEDS_GIT
def test_a_rounding_is_one_of_all_encoders(tmp_path):
    tree = patched(tmp_path, "toy_rounding.patch")
    names = ("hif8", "ocp_e4m3", "e8m0", "e5m2_nosub", "ibm_1_4_3")
    words = ["--from", "binary16", "--rounding", "from_zero"]
    *equal, _, explained = hwgen(
        tree,
        *(["verify", "encoder", "--format", name, *words] for name in names),
        ["generate", "encoder", "--format", "hif8", "--rounding", "from_zero", "-o", "out"],
        ["explain", "ocp_e4m3", "0x11"],
    )
    assert all("equal to the reference model on all 2^16 inputs" in printed for printed in equal)
    name = "hif8_encoder_binary32_from_zero"
    assert "// Rounding: away from zero\n" in (tree / "out" / name / f"{name}.v").read_text()
    assert "  from_zero: (" in explained
