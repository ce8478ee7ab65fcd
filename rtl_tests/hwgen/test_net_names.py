"""Names in emitted Verilog are true: a net named after an Amaranth signal has that signal's value."""

import re
from functools import cache
from itertools import accumulate
from random import Random

import numpy as np
import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Fragment, Signal, Value
from amaranth.lib import wiring
from amaranth.sim import Simulator

import golden
from hwgen import Decoder, Dot, Encoder, Mac, Pe, Quantizer, Readout
from hwgen.blocks.compressor import Compressor
from hwgen.datapath.aligned import AlignedShape, Aligner, Cutter
from hwgen.datapath.bulk import BulkShape
from hwgen.datapath.multiplier import Lane
from hwgen.datapath.product import ProductShape
from hwgen.datapath.random import Fed
from hwgen.datapath.random import Random as Register
from hwgen.datapath.rows import SumShape
from hwgen.netlist.emit import emit
from hwgen.netlist.pipeline import Pipelined
from rtl_tests.support.selection import one_of_each
from synth.proof import mapping
from synth.proof.gates import Netlist, apply

VECTORS = 200
MEANING = (
    r"(not|minus|any_of|all_of|none_of|parity_of)_\w+|\w+_(others|otherwise|registered)(_\d+)?"
    r"|\w+_(and|or|xor|plus|minus|times|equals|differs_from|below|reaches|above|if)_\w+|\w+_is_[\dx]\w*"
)
"""Names that say what an intermediate result is, see :mod:`hwgen.netlist.meaning`."""
BLOCK = "mac|compressor|lane|aligner|dot|readout|encoder|quantizer|decoder"
NET = re.compile(r"^  (?:wire|reg) (?:\[(\d+):(\d+)\] )?(\w+)( =|;)", flags=re.M)
TINY = ProductShape.of(golden.get("e2m1"), golden.get("e2m1"), normalized=False, keeps_exponents=True)
SMALL = ProductShape.of(golden.get("ocp_e5m2"), golden.get("ocp_e5m2"), normalized=False)
COMPONENTS = {
    "mac": lambda: Mac("hif8"),
    "mac of two formats": lambda: Mac("ocp_e4m3", "gc_1_5_2_b16", accumulator="bfloat16", scale_bits=4, overflow=True),
    "fast mac": lambda: Mac("ocp_e5m2", optimize="speed"),
    "fast mac of two formats": lambda: Mac(
        "gc_1_0_7_b0", "hif8", accumulator="bfloat16", scale_bits=4, flags=True, optimize="speed"
    ),
    "exact mac": lambda: Mac("binary8p3", accumulator="exact", flags=True),
    "compressor": lambda: Compressor("ocp_e4m3", lanes=3, flags=True),
    "lane": lambda: Lane(
        ProductShape.of(golden.get("hif8"), golden.get("ocp_e5m2"), normalized=False), None, flags=True
    ),
    "lane of a sum": lambda: Lane(SMALL, SumShape(SMALL, 2), masks=True, finite=True, adders=True),
    "aligner": lambda: Aligner(AlignedShape(SMALL, 2, 12)),
    "aligner to odd": lambda: Aligner(BulkShape(SMALL, 2, 24)),
    "aligner in a frame": lambda: Cutter(AlignedShape(TINY, 2, 12), cuts=False),
    "aligner in a frame that cuts": lambda: Cutter(AlignedShape(TINY, 2, 12), cuts=True),
    "dot": lambda: Dot("ibm_1_4_3", accumulator="dlfloat16", overflow=True),
    "stochastic dot": lambda: Dot("hif8", accumulator="dlfloat16", flags=True, accumulator_rounding="stochastic"),
    "dot without accumulator": lambda: Dot("ocp_e5m2", accumulator="none", target="binary16", flags=True),
    "fast dot": lambda: Dot("hif8", accumulator="bfloat16", flags=True, optimize="speed"),
    "fast dot with a scale": lambda: Dot("e2m1", accumulator="binary32", block_scale="ue4m3", optimize="speed"),
    "fast readout": lambda: Readout("ocp_e4m3", optimize="speed"),
    "hybrid encoder": lambda: Encoder("hif8", rounding="hybrid", rounding_pin=True),
    "fast encoder": lambda: Encoder("ocp_e4m3", optimize="speed"),
    "encoder": lambda: Encoder("ocp_e4m3", flags=True),
    "quantizer": lambda: Quantizer("ocp_e4m3", "bfloat16", lanes=3, policy="nearest"),
    "decoder": lambda: Decoder("hif8", "binary16"),
    "decoder of a pair": lambda: Decoder("ocp_e4m3+ocp_e5m2", "binary16"),
    "mac of a pair": lambda: Mac("hif8+binary8p3", flags=True),
    "readout": lambda: Readout("hif8", target="ocp_e5m2", rounding="stochastic"),
    "pipelined dot for FPGAs": lambda: Pipelined(Dot("ocp_e4m3", accumulator="binary32", fabric="fpga"), 3),
    "pipelined mac": lambda: Pipelined(Mac("hif8"), 4),
    "pipelined quantizer": lambda: Pipelined(Quantizer("e2m1", lanes=4), 3),
    "pipelined dot": lambda: Pipelined(Dot("ocp_e4m3", accumulator="exact"), 5),
    "pipelined encoder": lambda: Pipelined(Encoder("ocp_e5m2", "binary16"), 3, reset=False),
}


def signals_of(component: wiring.Component) -> tuple[Fragment, dict[str, Signal]]:
    """A component's signals by instance and name, written as in Verilog.

    The ports of each instance come from its signature. They take precedence over inner signals of the same name.
    """
    fragment = Fragment.get(component, None)
    ports = [
        ("__".join(map(str, path)), Value.cast(value), None)
        for path, _, value in component.signature.flatten(component)
    ]
    signals: dict[str, Signal] = {}

    def enter(part: Fragment, path: list[str]) -> None:
        for origin in part.origins or ():
            if path and isinstance(origin, wiring.Component):
                for names, _, value in origin.signature.flatten(origin):
                    signals["__".join([*path, *map(str, names)])] = Value.cast(value)
        for child, name, _ in part.subfragments:
            enter(child, [*path, str(name)])

    enter(fragment, [])
    for signal, path in rtlil.convert_fragment(fragment, ports, "top", emit_src=False)[1].items():
        signals.setdefault("__".join(path[1:]).replace("$", "_"), signal)
    return fragment, signals


def simulate(
    component: wiring.Component, fragment: Fragment, signals: dict[str, Signal], stimuli: list[dict[str, int]]
):
    """Values of signals under stimuli, in Amaranth's simulator."""
    values: dict[str, list[int]] = {name: [] for name in signals}
    ports = [Value.cast(getattr(component, port)) for port in stimuli[0]]
    starts = [0, *accumulate(map(len, ports))][:-1]

    async def bench(context):
        for stimulus in stimuli:
            # in one assignment: the simulator evaluates the component after each
            context.set(Cat(ports), sum(value << start for value, start in zip(stimulus.values(), starts, strict=True)))
            for name, signal in signals.items():
                values[name].append(int(context.get(signal)) & (1 << len(signal)) - 1)

    simulator = Simulator(fragment)
    simulator.add_testbench(bench)
    simulator.run()
    return values


def add_probes(text: str) -> tuple[Netlist, dict[str, tuple[str, int]]]:
    """Gates of a design with an output for each net, and for each net its output and the index of its lowest bit.

    Parts are modules of their own, whose nets have no outputs.
    """
    probes: dict[str, tuple[str, int]] = {}
    ports, assigns = "", ""
    for high, low, name, _ in NET.findall(text.partition("endmodule")[0]):
        probes[name] = f"probe_{len(probes)}", int(low or 0)
        ports += f",\n  output wire [{int(high or 0) - int(low or 0)}:0] {probes[name][0]}"
        assigns += f"  assign {probes[name][0]} = {name};\n"
    text = text.replace("\n);\n", f"{ports}\n);\n", 1).replace("endmodule", f"{assigns}endmodule", 1)
    return mapping.read(text, "top"), probes


def evaluate(netlist: Netlist, stimuli: list[dict[str, int]]) -> dict[str, list[int]]:
    """Outputs of gates under stimuli."""
    planes = [np.zeros(len(stimuli), bool), np.ones(len(stimuli), bool)]
    for port, width in netlist.inputs.items():
        planes += [
            np.array([stimulus.get(port, 0) >> place & 1 for stimulus in stimuli], bool) for place in range(width)
        ]
    for gate in netlist.gates:
        planes.append(apply(gate.kind, [planes[pin] for pin in gate.pins]))
    bits = iter(planes[net] for net in netlist.driven)
    words = {port: [next(bits) for _ in range(width)] for port, width in netlist.outputs.items()}
    return {
        port: [sum(int(bit[case]) << place for place, bit in enumerate(word)) for case in range(len(stimuli))]
        for port, word in words.items()
    }


def without_registers(text: str) -> str:
    """A pipeline with wires in place of registers: it has the same values while the inputs are constant."""
    head, _, tail = text.partition("  always @(posedge clk) begin\n")
    registers = re.findall(r"^    (\w+) <=", tail, flags=re.M)
    head = re.sub(rf"\breg ((?:\[\S+\] )?(?:{'|'.join(registers)})\b)", r"wire \1", head)
    return head + re.sub(r"^    (\w+) <=", r"  assign \1 =", tail, flags=re.M).replace("\n  end\n", "\n", 1)


def wrong_nets(component: wiring.Component, text: str) -> tuple[list[str], int]:
    """Nets of the Verilog that differ from the signals they are named after, and the number of nets named after one.

    Parts are modules of their own, so what is inside them has no net here. A pipeline's nets
    are compared with the signals of its core.
    """
    if isinstance(component, Pipelined):
        component._MustUse__silence = True
        component, text = component.core, without_registers(text)
    draw = Random(1)
    inputs = {
        "__".join(map(str, path)): len(Value.cast(value))
        for path, member, value in component.signature.flatten(component)
        if member.flow is wiring.In
    }
    stimuli = [{port: draw.getrandbits(width) for port, width in inputs.items()} for _ in range(VECTORS)]
    fragment, signals = signals_of(component)
    netlist, probes = add_probes(text)
    actual = evaluate(netlist, stimuli)
    named: dict[str, list[str]] = {}
    parts = "|".join(re.findall(r"^  top_\w+ (\w+) \(", text.partition("endmodule")[0], flags=re.M)) or "(?!)"
    for name in (name for name in signals if not re.match(rf"(?:{parts})__\w+?__", name)):
        for match in re.finditer("(?=__)", name):
            named.setdefault(name[match.start() + 2 :], []).append(name)
    models = {}
    for net in probes:
        own = re.sub(r"_stage_\d+$", "", net)
        models[net] = [own] if own in signals else named.get(own, [])
    needed = {name for names in models.values() for name in names}
    expected = simulate(component, fragment, {name: signals[name] for name in needed}, stimuli)
    mismatches = []
    for net, (probe, low) in probes.items():
        mask = (1 << netlist.outputs[probe]) - 1
        mismatches += [
            net for name in models[net] if [value >> low & mask for value in expected[name]] != actual[probe]
        ]
    return mismatches, sum(map(bool, models.values()))


def without_meaning(component: wiring.Component, text: str) -> list[str]:
    """Nets of the Verilog that are named neither after a signal nor as docs/verilog.md explains."""
    signals = signals_of(component)[1]
    endings = {name[match.end() :] for name in signals for match in re.finditer("^|__", name)}
    nets = [re.sub(r"(_bits)?_stage_\d+$", "", match[2]) for match in NET.findall(text)]
    explained = re.compile(rf"\w+_part(_\d+)?|\w+_carry_\d+|unused(_\d+)?|{MEANING}")
    return [
        net
        for net in nets
        if net not in endings
        and not explained.fullmatch(net)
        and re.sub(r"^not_|_\d+(_to_\d+)?$", "", net) not in endings
    ]


def value_of(name: str, words: dict[str, np.ndarray], widths: dict[str, int]) -> np.ndarray | None:
    """What a factor of a name of the form ``x_3_to_1_is_10x_and_not_y_4`` says, from the values of all nets."""
    if name.startswith("not_") and (value := value_of(name.removeprefix("not_"), words, widths)) is not None:
        return 1 - value
    if name in words:
        return words[name] if widths[name] == 1 else None
    if (match := re.fullmatch(r"(\w+?)_(\d+)_to_(\d+)_is_([01x]+)", name)) and match[1] in words:
        digits = [(place, digit) for place, digit in enumerate(reversed(match[4]), int(match[3])) if digit != "x"]
        return np.all([words[match[1]] >> place & 1 == int(digit) for place, digit in digits], axis=0).astype(int)
    if (match := re.fullmatch(r"(\w+)_is_(\d+)", name)) and match[1] in words:
        return (words[match[1]] == int(match[2])).astype(int)
    if (match := re.fullmatch(r"(\w+)_(\d+)", name)) and match[1] in words:
        return words[match[1]] >> int(match[2]) & 1
    return None


@cache
def emitted(name: str) -> str:
    """The Verilog of a component."""
    return emit(COMPONENTS[name](), "top")


def kind_of_component(name: str) -> tuple[str, ...]:
    """Its block and goal; pipelines are of one kind."""
    return ("pipelined",) if "pipelined" in name else ("fast",) * ("fast" in name) + (re.search(BLOCK, name)[0],)


@pytest.mark.parametrize("name", one_of_each(kind_of_component, COMPONENTS))
def test_nets_have_the_values_of_the_signals_that_they_are_named_after(name):
    """Other nets have names that the docs explain."""
    component = COMPONENTS[name]()
    text = emitted(name)
    assert not without_meaning(COMPONENTS[name](), text)
    mismatches, count = wrong_nets(component, text)
    assert not mismatches
    own = [net for net in NET.findall(text.partition("endmodule")[0]) if not re.fullmatch(MEANING, net[2])]
    assert count > (0.5 if isinstance(component, Pipelined) else 0.7) * len(own)


@pytest.mark.parametrize("name", ["fast encoder", "fast mac"])
def test_products_of_bits_are_what_their_names_say(name):
    text = emitted(name)
    netlist, probes = add_probes(text)
    draw = Random(2)
    stimuli = [{port: draw.getrandbits(width) for port, width in netlist.inputs.items()} for _ in range(VECTORS)]
    actual = evaluate(netlist, stimuli)
    words = {port: np.array([stimulus[port] for stimulus in stimuli]) for port in netlist.inputs}
    words |= {net: np.array(actual[probe]) << low for net, (probe, low) in probes.items()}
    widths = {**netlist.inputs, **{net: netlist.outputs[probe] for net, (probe, _) in probes.items()}}
    signals = signals_of(COMPONENTS[name]())[1]
    own = {signal[match.end() :] for signal in signals for match in re.finditer("^|__", signal)}
    checked = 0
    for net, value in words.items():
        others = {other: word for other, word in words.items() if other != net}
        factors = [value_of(factor, others, widths) for factor in net.split("_and_")]
        if net not in own and re.search("_and_|_is_", net) and all(factor is not None for factor in factors):
            checked += 1
            assert np.array_equal(np.prod(factors, axis=0), value), net
    assert checked > (15 if name == "fast encoder" else 2)


@pytest.mark.parametrize("name", [name for name in COMPONENTS if name.startswith("pipelined")])
def test_registers_hold_what_they_are_named_after(name):
    text = emitted(name)
    registers = re.findall(r"^    (\w+?)(?:_bits)?_stage_(\d+) <=([^;]*);", text, flags=re.M)
    assert registers
    for signal, stage, value in registers:
        earlier = {f"{signal}{kind}_stage_{int(stage) - 1}" for kind in ("", "_bits")}
        assert {*re.findall(r"[a-z]\w*", value)} <= {signal, *earlier}


def test_a_sum_without_its_last_place_keeps_its_name_in_a_pipeline():
    """Proofs cut the module there."""
    assert {"products_sum", "sum_1_0"} <= {match[3] for match in NET.finditer(emitted("pipelined dot for FPGAs"))}


def test_nets_with_exchanged_names_are_found():
    text = emit(Mac("hif8"), "top")
    pairs = [
        ("operand_a__is_zero", "operand_b__is_zero"),
        ("leading", "acc_significand"),
        ("at_least_two", "carry_out"),
    ]
    other = {name: pair[1 - place] for pair in pairs for place, name in enumerate(pair)}
    swapped = re.sub(rf"\b({'|'.join(other)})\b", lambda match: other[match[0]], text)
    assert {*other} <= {*wrong_nets(Mac("hif8"), swapped)[0]}


CLOCKED = {
    "random words": lambda: Register(48, lanes=9),
    "encoder with random words": lambda: Fed(Encoder("hif8", rounding="stochastic"), Register()),
    "processing element": lambda: Pe("ocp_e4m3"),
    "processing element in carry-save form": lambda: Pe("ocp_e4m3", accumulator="exact", carry_save=True, stages=1),
    "pipelined processing element": lambda: Pe("hif8+binary8p3", flags=True, stages=2, interleave=2),
}


@pytest.mark.parametrize("name", CLOCKED)
def test_nets_are_named_after_a_signal_or_as_the_docs_explain(name):
    assert not without_meaning(CLOCKED[name](), emit(CLOCKED[name](), "top"))


def test_names_without_meaning_are_found():
    text = emit(Mac("hif8"), "top")
    renamed = text.replace("operand_a__is_zero", "operand_b__is_zero_flag").replace("subtract", "add_only")
    assert without_meaning(Mac("hif8"), renamed) == ["operand_b__is_zero_flag", "add_only"]
