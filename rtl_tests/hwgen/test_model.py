"""Models in C equal golden: on all inputs where these are few, otherwise on directed and random ones."""

import ctypes
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

import golden
from golden.arithmetic.blocks import POLICIES, SCALES
from golden.refusal import Refusal, past_checking
from hwgen.blocks.catalog import BLOCKS, build
from hwgen.coverage.suite import suite
from hwgen.model.files import TEMPLATES, files
from hwgen.netlist.emit import CLOCK
from hwgen.reference import reference
from hwgen.reference.reference import ClockedReference
from hwgen.reference.trace import CARE
from hwgen.simulate.simulators import verilator_environment
from rtl_tests.support.blocks import generator, texts
from rtl_tests.support.toys import TOML_FORMAT

COMPILERS = [[path] for path in map(shutil.which, ("gcc", "clang")) if path]
if find_spec("ziglang"):  # it has Clang
    COMPILERS.append([sys.executable, "-m", "ziglang", "cc"])
NEEDS_C = pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror")
FORMATS = (
    *("hif8", "binary8p3", "e5m2b1", "ocp_e4m3", "ocp_e5m2", "gc_1_4_3_b8", "gc_1_0_7_b0"),
    *("ibm_1_4_3", "e5m3", "int8", "posit8_2", "ue4m3"),
)


def vectors(design, count):
    """Values of all ports with the outputs of the reference model: cycles, or all cases if there are at most 2^16."""
    model, rng = reference(design), generator("model", design.name)
    with past_checking():
        if isinstance(model, ClockedReference):
            return model.cycles(count, rng)
        if design.is_clocked:
            return suite(design, count, rng).rows()
        bits = sum(model.arguments.values())
        if bits <= 16 and count > 1000:
            words = range(1 << bits)
            (first, width), *others = model.arguments.items()
            cases = [
                {first: word & (1 << width) - 1, **({others[0][0]: word >> width} if others else {})} for word in words
            ]
        else:
            cases = [*model.stimuli(count, rng), *(model.near_stimuli(count, rng) if hasattr(model, "formats") else [])]
        return [model.physical({**pins, **results}) for pins, results in zip(cases, model.answers(cases), strict=True)]


def first_wrong(code, design, rows):
    """The first row of values of ports that the function for DPI does not give, called for one row after the other."""
    ports = [port for port in design.ports if port.name != CLOCK]
    outputs = [port for port in ports if port.direction == "output"]
    is_returned = len(outputs) == 1 and outputs[0].width <= 64 and not design.is_clocked
    function, state = code[f"{design.name}_dpi"], []
    function.restype = ctypes.c_uint64
    if design.is_clocked:
        new = code[f"{design.name}_new"]
        new.restype = ctypes.c_void_p
        state = [ctypes.c_void_p(new())]
    results = {port.name: (ctypes.c_uint32 * (port.width // 32 + 1))() for port in outputs}
    for number, row in enumerate(rows):
        arguments: list = list(state)
        for port in ports:
            if port in outputs:
                arguments += [] if is_returned else [results[port.name]]
            elif port.width > 64:
                arguments.append(row[port.name].to_bytes(port.width // 8 + 4, "little"))
            else:
                arguments.append(ctypes.c_uint64(row[port.name]))
        returned = function(*arguments)
        for port in outputs:
            word = returned if is_returned else int.from_bytes(bytes(results[port.name]), "little")
            if row.get(CARE + port.name, 1) and word & (1 << port.width) - 1 != row[port.name]:
                return number
    return None


def wrong(design, folder, rows, change=lambda text: text, compiler=None):
    """Compile a model, which must give no warnings; return the first of the rows that it does not give, or None."""
    for name, text in files(design).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(change(text) if name.endswith(".h") else text)
    library = folder / f"{len(list(folder.iterdir()))}.so"  # a new name: libraries are loaded once
    words = [*(compiler or COMPILERS[0]), *STRICT, "-shared", "-fPIC", "-o", library, f"model/{design.name}_dpi.c"]
    process = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return first_wrong(ctypes.CDLL(str(library)), design, rows)


FEW = [
    build("decoder", "hif8", target="unpacked"),
    build("decoder", "ocp_e4m3+ocp_e5m2", target="dlfloat16"),
    build("encoder", "hif8", source="binary16", rounding="hybrid", rounding_pin=True, flags=True),
    build("encoder", "posit8_2", scale_bits=4, flags=True),
    build("encoder", "e5m3", source="bfloat16", rounding="stochastic_c", flags=True),
    build("encoder", "ocp_e4m3", rounding="stochastic", random_bits=9, random="lfsr"),
    build("mac", "ocp_e5m2", flags=True),
    build("mac", "hif8", accumulator="exact", scale_bits=3, stages=2, clock_enable=True),
    build("dot", "ocp_e4m3+ocp_e5m2", "hif8", lanes=5, flags=True),
    build("dot", "ocp_e5m2", lanes=4, accumulator="rvbna", flags=True),
    build("dot", "ocp_e4m3", lanes=3, accumulator="aligned13", block_scale="e8m0", flags=True),
    build("dot", "ocp_e4m3", lanes=3, accumulator="none", target="dlfloat16", flags=True),
    build("mac", "ocp_e5m2", accumulator_rounding="stochastic", random_bits=9, flags=True),
    build("pe", "e5m2b1", accumulator="dlfloat16", accumulator_rounding="stochastic", random_bits=32, flags=True),
    build("pe", "e5m2b1", accumulator="dlfloat16", stages=1, flags=True),
    build("pe", "ocp_e5m2", accumulator="exact", lanes=12, stages=2, interleave=2, carry_save=True),
    build("readout", "hif8", target="e5m2b1", rounding="stochastic_b"),
    build("quantizer", "e2m1", lanes=3, source="bfloat16", policy="even"),
    build("amax", "e2m1", source="int8", lanes=2, nan="ignore", stages=1),
    build("random", lanes=5, random_bits=13, width=48),
]


def options_of(kind, name):
    """The options of the designs of a block and a format: all roundings, overflows, accumulators, policies, scales."""
    fmt, wide = golden.get(name), ("binary16", "bfloat16", "binary32", "dlfloat16")
    match kind:
        case "decoder":
            yield from ({"target": target} for target in (*wide, "unpacked"))
        case "encoder":
            for mode in fmt.roundings:
                for source in ("binary32", "bfloat16", "dlfloat16", "e5m2b2"):
                    yield {"source": source, "rounding": mode, "flags": True}
            yield from ({"source": "binary16", "overflow": rule, "flags": True} for rule in fmt.overflows)
            yield {"source": "bfloat16", "scale_bits": 5, "flags": True}
        case "mac" | "dot":
            lanes = {"lanes": 4} if kind == "dot" else {}
            for accumulator in (*wide, "exact", "aligned13", "aligned40", "rvbna"):
                yield from ({"accumulator": accumulator, "flags": True, "scale_bits": bits, **lanes} for bits in (0, 3))
            yield {"zero": "positive", **lanes}
            for accumulator in ("binary16", "bfloat16", "dlfloat16"):
                words = {"accumulator": accumulator, "accumulator_rounding": "stochastic", "flags": True, **lanes}
                yield from ({"random_bits": bits, **words} for bits in (3, 13, 32))
            for target in wide if kind == "dot" else ():
                yield {"accumulator": "none", "target": target, "flags": True, **lanes}
            yield {"b_format": "bfloat16", "accumulator": "binary32", "flags": True, **lanes}
            for scales in SCALES if kind == "dot" else ():
                yield {"lanes": 9, "accumulator": "binary32", "block_scale": scales, "flags": True}
        case "pe":
            yield from ({"accumulator": accumulator, "stages": 1} for accumulator in (*wide, "exact", "aligned13"))
            yield {"lanes": 32, "accumulator": "aligned25", "block_scale": "e8m0", "stages": 2, "flags": True}
        case "readout":
            yield from ({"target": target, "result_scale_bits": 4} for target in (*wide, name))
        case "quantizer":
            yield from ({"lanes": 3, "policy": policy} for policy in POLICIES)
            yield {"lanes": 2, "rounding": "stochastic"}
        case "amax":
            yield {"source": "binary16", "lanes": 3, "infinity": "ignore"}
            yield {"source": name, "lanes": 2}


@NEEDS_C
@pytest.mark.parametrize("design", FEW, ids=lambda design: design.name)
def test_the_model_equals_golden(design, tmp_path):
    rows = vectors(design, 300)
    for compiler in COMPILERS:
        assert wrong(design, tmp_path, rows, compiler=compiler) is None


@pytest.mark.exhaustive
@NEEDS_C
@pytest.mark.parametrize("kind", [kind for kind in TEMPLATES if kind != "random"])
@pytest.mark.parametrize("name", FORMATS)
def test_all_models_of_a_format_equal_golden(name, kind, tmp_path):
    count = 0
    for options in options_of(kind, name):
        try:
            design = build(kind, name, **options)
        except Refusal:  # of formats without a sign, or with few roundings
            continue
        rows = vectors(design, 4000)
        for compiler in COMPILERS:
            assert wrong(design, tmp_path, rows, compiler=compiler) is None, design.name
        count += 1
    assert count or (kind in ("quantizer", "amax") and not golden.get(name).signed)


def test_every_block_that_is_generated_has_a_model():
    assert {name for name, block in BLOCKS.items() if block.generated} == set(TEMPLATES)
    assert not files(build("adder", "hif8"))


def test_names_that_begin_with_the_letter_of_the_templates_are_kept(tmp_path):
    (tmp_path / "M_x.toml").write_text(TOML_FORMAT.replace('"tiny"', '"M_x"'))
    texts = files(BLOCKS["decoder"].design(tmp_path / "M_x.toml", name="M_y"))
    assert " M_y(" in texts["model/M_y.h"]
    assert "/* M_x: " in texts["model/M_y.h"]
    assert '#include "M_y.h"' in texts["model/M_y_dpi.c"]
    assert "M_y_y" not in "".join(texts.values())


def test_names_that_differ_in_case_only_have_two_guards():
    guards = [files(BLOCKS["mac"].design("e2m1", name=name))[f"model/{name}.h"] for name in ("Mac", "mAC")]
    assert len({text.partition("#ifndef ")[2].split()[0] for text in guards}) == 2


FAULTS = [
    ("mac", {}, "rest + odd > half", "rest > half"),  # ties
    ("dot", {"lanes": 5, "accumulator": "binary32"}, "if (left) y.sig |=", "if (left && !left) y.sig |="),
    ("encoder", {}, "side == 0 && step->tie", "side == 0"),
    ("decoder", {"target": "binary16"}, "{1,-16,-14,0,0}", "{1,-15,-14,0,0}"),
    ("pe", {"flags": True}, "next.flags[0] |= before.flags[0];", ""),
    ("readout", {}, "!(specials & 1)", "(specials & 1)"),
    ("quantizer", {"lanes": 2}, "largest.exp + (", "largest.exp + !("),
    ("amax", {"lanes": 2}, "x.kind > largest.kind :", "x.kind < largest.kind :"),
]
"""Blocks of E5M2, each with a fault that a comparison must find."""


@NEEDS_C
@pytest.mark.parametrize(("kind", "options", "old", "new"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_fault_is_found(kind, options, old, new, tmp_path):
    design = build(kind, "ocp_e5m2", **options)
    assert old in "".join(files(design).values())
    rows = vectors(design, 600)
    assert wrong(design, tmp_path, rows, lambda text: text.replace(old, new)) is not None


BENCH = """
module bench;
  import {name}_dpi_pkg::*;
{nets}
  integer failed = 0;
  {name} dut (.*);
{begin}
    for (int i = 0; i < 1000; i++) begin
{stimuli}
      #1 {check}
      {clock}
    end
    $display("%0d differ", failed);
    $finish;
  end
endmodule
"""


@NEEDS_C
@pytest.mark.parametrize("kind", ["mac", pytest.param("pe", marks=pytest.mark.exhaustive)])
def test_a_bench_of_verilator_calls_the_model(kind, tmp_path):
    design = (
        build(kind, "ocp_e4m3", accumulator="exact" if kind == "pe" else "binary16", lanes=12)
        if kind == "pe"
        else build("mac", "ocp_e4m3")
    )
    name, is_clocked = design.name, design.is_clocked
    for path, text in (files(design) | {f"{name}.v": texts([design])[name]}).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    inputs = [port for port in design.ports if port.direction == "input" and port.name != CLOCK]
    outputs = [port for port in design.ports if port.direction == "output"]
    kinds = {port.name: f"{_kind(port.width)} model_{port.name}" for port in outputs}
    nets = [f"  logic {port.range}{port.name};" for port in (*inputs, *outputs)] + [
        f"  {text};" for text in kinds.values()
    ]
    stimuli = [f"      {port.name} = {{{', '.join(['$urandom'] * (-(-port.width // 32)))}}};" for port in inputs]
    wrong = " || ".join(f"{port.name} !== model_{port.name}[{port.width - 1}:0]" for port in outputs)
    if is_clocked:
        nets += ["  logic clk = 0;", "  chandle state;"]
        stimuli += ["      rst = i == 0;", "      clear = i % 16 == 0;"]
        words = [
            *(port.name if port in inputs else f"model_{port.name}" for port in design.ports if port.name != CLOCK)
        ]
        call = f"{name}_dpi(state, {', '.join(words)}); if (i > 0 && ({wrong})) failed++;"
        begin, clock = f"  initial begin\n    state = {name}_new();", "clk = 1; #1 clk = 0;"
    else:
        call = (
            f"model_{outputs[0].name} = {name}_dpi({', '.join(port.name for port in inputs)}); if ({wrong}) failed++;"
        )
        begin, clock = "  initial begin", ""
    bench = BENCH.format(
        name=name, nets="\n".join(nets), begin=begin, stimuli="\n".join(stimuli), check=call, clock=clock
    )
    (tmp_path / "bench.sv").write_text(bench)

    def differing():
        options = [
            "-Wno-WIDTH",
            "-CFLAGS",
            f"-std=c++20 -O0 -I{tmp_path}/model",
            "-MAKEFLAGS",
            "CFG_CXXFLAGS_PCH_I=-include",
        ]
        words = ["verilator_bin", "--binary", *options, "--Mdir", "obj", "-o", "t", "--top", "bench"]
        words += [f"model/{name}_dpi.sv", "bench.sv", f"{name}.v", f"model/{name}_dpi.c"]
        environment = os.environ | verilator_environment()
        process = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stdout + process.stderr
        stdout = subprocess.run([tmp_path / "obj" / "t"], check=True, capture_output=True, text=True).stdout
        return int(stdout.split()[0])

    assert differing() == 0
    model = tmp_path / f"model/{name}.h"
    model.write_text(model.read_text().replace("p.sign = a.sign ^ b.sign", "p.sign = a.sign & b.sign"))
    assert differing() > 0


def _kind(width):
    name = next(
        (name for bits, name in ((8, "byte"), (16, "shortint"), (32, "int"), (64, "longint")) if width <= bits), None
    )
    return f"{name} unsigned" if name else f"bit [{width - 1}:0]"
