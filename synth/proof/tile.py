"""The proof of a tile: its element and its readout, each by its own proof, and by induction all that is around them.

One query of the solver shows that the claims of :mod:`synth.proof.streams` hold after a cycle with ``rst`` from any
state, and after any other cycle in which they held; for all values of the inputs and of the parts that are cut out. If
it fails, a second search looks for cycles after a reset that end in a wrong output.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bitwuzla import Bitwuzla, Option, Options, Parser, Result, TermManager

from hwgen.blocks.block import Design
from hwgen.netlist.emit import Port
from hwgen.tile.block import TileDesign
from hwgen.tools import yosys
from hwgen.tools.yosys import YosysError
from synth.area.digest import sha256
from synth.proof.evidence import DIFFERENT, EMITTED, EQUAL, PROVED, UNPROVED, Evidence, EvidenceStore, program_hashes
from synth.proof.gates import NetlistError
from synth.proof.streams import WATCH, Watcher
from synth.proof.verify import begin, emitted, require, tools, verify

METHOD = (
    "the element and the readout by their own proofs; streams, skew and queue by induction over cycles, for all inputs "
    "and any arithmetic of the parts"
)
UNKNOWN_STATE = "no cycles after a reset were found in which an output is wrong"
CYCLES, SECONDS = 40, 120.0
"""Limits of the search for cycles that end in a wrong output."""

_CUT = """\
read_verilog module.v
hierarchy -check -top {top}
select -assert-count {elements} {top}/t:{top}_pe
select -assert-count {readouts} {top}/t:{top}_readout
select -clear
blackbox {parts}
proc
cd {top}
expose -evert
cd
opt_clean
read_verilog -formal watch.v
hierarchy -check -top {watch}
proc
flatten
opt_expr
opt_clean
chformal -lower
dffunmap
opt_clean
write_smt2 -stbv model.smt2
"""


@dataclass(frozen=True)
class Model:
    """The tile with its watching module as functions of states, in SMT-LIB."""

    text: str
    claims: Sequence[tuple[str, bool]]
    """What each claim is about, and whether it is about the tile's pins; others relate its registers."""
    inputs: Sequence[Port]

    @classmethod
    def of(cls, design: TileDesign, verilog: str) -> "Model":
        """The model of a module; a NetlistError if it has no such parts or ports."""
        watcher = Watcher(design)
        tile = design.core
        script = _CUT.format(
            top=design.name,
            elements=tile.rows * tile.columns,
            readouts=0 if tile.readout is None else tile.columns,
            parts=" ".join(part.name for part in design.parts),
            watch=WATCH,
        )
        try:
            files = {"module.v": verilog, "watch.v": watcher.text}
            text = yosys.run(script, files, ["model.smt2"])["model.smt2"]
        except YosysError as error:
            raise NetlistError(f"{design.name} does not have the parts of a tile: {yosys.reason(error.log)}") from error
        numbers = re.findall(r"^; yosys-smt2-assert (\d+) claim_(\d+)$", text, re.M)
        order = {int(number): int(claim) for number, claim in numbers}
        if sorted(order.values()) != list(range(len(watcher.claims))):
            raise NetlistError(f"{design.name} cannot be read as a model of all {len(watcher.claims)} claims")
        claims = [watcher.claims[order[number]] for number in range(len(order))]
        return cls(text, [(what, not what.startswith("register")) for what, _ in claims], watcher.inputs)

    def failing(self) -> list[str]:
        """The claims that one step of the induction does not show, in a state that the solver found; none if proved."""
        start = f"(or (|{WATCH}_n rst| s0) (|{WATCH}_a| s0))"
        parser = self._parser(f"(assert {start})", f"(assert (not (|{WATCH}_a| s1)))")
        solver = parser.bitwuzla()
        result = solver.check_sat()
        if result == Result.UNSAT:
            return []
        if result != Result.SAT:
            raise RuntimeError(f"the solver found neither a proof nor a counterexample: {result}")
        return [what for number, (what, _) in enumerate(self.claims) if not _holds(parser, solver, number, 1)]

    def trace(self) -> tuple[str, list[dict[str, int]]] | None:
        """The claim on pins that fails first after a reset, and the inputs from then on; None if none was found."""
        parser = self._parser(f"(assert (|{WATCH}_n rst| s0))", "")
        solver, end = parser.bitwuzla(), time.monotonic() + SECONDS
        about_pins = [number for number, (_, is_about_pins) in enumerate(self.claims) if is_about_pins]
        for cycle in range(1, CYCLES):
            if cycle > 1:
                parser.parse(_step(cycle), True, False)
            wrong = " ".join(f"(not (|{WATCH}_a {number}| s{cycle}))" for number in about_pins)
            solver.push(1)
            solver.assert_formula(parser.parse_term(f"(or {wrong} false)"))
            parser.configure_terminator(lambda: time.monotonic() > end)
            if solver.check_sat() == Result.SAT:
                number = next(number for number in about_pins if not _holds(parser, solver, number, cycle))
                return self.claims[number][0], [self._values(parser, solver, k) for k in range(1, cycle + 1)]
            solver.pop(1)
            if time.monotonic() > end:
                return None
        return None

    def _values(self, parser: Parser, solver: Bitwuzla, cycle: int) -> dict[str, int]:
        values = {}
        for port in self.inputs:
            value = solver.get_value(parser.parse_term(f"(|{WATCH}_n {port.name}| s{cycle})"))
            text = str(value)
            values[port.name] = int(text == "true") if text in ("true", "false") else int(value.value(10))
        return values

    def _parser(self, *lines: str) -> Parser:
        """A parser whose solver knows the model and its first step."""
        options = Options()
        options.set(Option.PRODUCE_MODELS, True)
        parser = Parser(TermManager(), options)
        parser.parse("\n".join([self.text, f"(declare-const s0 |{WATCH}_s|)", _step(1), *lines]), True, False)
        return parser


def _step(number: int) -> str:
    """SMT-LIB's text of a further state and of the cycle before it."""
    return f"(declare-const s{number} |{WATCH}_s|)\n(assert (|{WATCH}_t| s{number - 1} s{number}))\n"


def _holds(parser: Parser, solver: Bitwuzla, number: int, cycle: int) -> bool:
    return str(solver.get_value(parser.parse_term(f"(|{WATCH}_a {number}| s{cycle})"))) == "true"


def verify_tile(
    design: TileDesign,
    store: EvidenceStore,
    report: Callable[[str], None],
    workers: int | None = None,
    is_known: Callable[[Design], bool] = lambda _: False,
) -> list[Evidence]:
    """Check a tile and its parts; return the records, that of the tile last.

    The parts are checked under their own names, which are the same in other tiles, unless the store has their verdicts,
    or they are known to be equal: these have no record. ``report`` is called with what is being checked.
    """
    records = []
    for alone, part in zip(design.own_parts, design.parts, strict=True):
        subject = emitted(alone)
        require(is_renamed(alone, part), f"{part.name} differs from {alone.name}")
        if is_known(alone):
            continue
        record = begin(subject, store)
        if record.verdict not in (EQUAL, DIFFERENT):
            report(alone.name)
            record = verify(subject, subject.netlist(), store, workers)
        records.append(record)
    report(design.name)
    own = verify_around(design, design.verilog())
    if own.verdict == EQUAL and (other := next((part for part in records if part.verdict != EQUAL), None)):
        own.verdict, own.kind, own.cases = UNPROVED, "", 0
        own.method = f"its part {other.module} is not proved"
    store.save(own)
    return [*records, own]


def is_renamed(alone: Design, part: Design) -> bool:
    """Whether the Verilog of two designs differs only in their names, with which those of their submodules begin."""
    text, other = (re.sub("//.*", "", design.verilog()).split() for design in (alone, part))
    return re.sub(rf"\b{alone.name}", part.name, " ".join(text)) == " ".join(other)


def verify_around(design: TileDesign, verilog: str) -> Evidence:
    """The record of what is around the parts in a module, the text of all modules."""
    start = time.monotonic()
    model = Model.of(design, verilog)
    parts = sha256(*(part.name for part in design.parts))
    hashes = {"verilog": sha256(verilog), "parts": parts, **program_hashes(True, __name__)}
    record = Evidence(
        design.name, f"hwgen verify {design.command()}", EMITTED, [], PROVED, METHOD, len(model.claims), hashes,
        tools(PROVED), prover=__name__,
    )  # fmt: skip
    failing = model.failing()
    if not failing:
        record.verdict, record.cases = EQUAL, len(model.claims)
    elif found := model.trace():
        what, cycles = found
        words = "; ".join(", ".join(f"{name} {value:#x}" for name, value in each.items()) for each in cycles)
        record.verdict = DIFFERENT
        record.counterexamples = [{"sentence": f"{what}, {len(cycles)} cycles after a reset, with {words}"}]
    else:
        record.verdict, record.kind = UNPROVED, ""
        record.method = f"the induction does not show: {', '.join(dict.fromkeys(failing))}; {UNKNOWN_STATE}"
    record.seconds = time.monotonic() - start
    return record
