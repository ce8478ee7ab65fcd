"""Modules of users' files: what synthesis and simulators read differently is refused before anything is proved.

What Yosys parses is judged: the text behind its preprocessor, and its syntax tree before any simplification. Modules
that ``hwgen generate`` writes have nothing of it, which linters check; so their verdicts do not depend on this file.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import inf

from hwgen.blocks.pe import Pe
from hwgen.netlist.emit import CLOCK
from hwgen.tools import yosys
from synth.proof.gates import NetlistError
from synth.proof.mapping import functions, library_files, sv_option
from synth.proof.verify import Subject

_MACROS = (
    r"SYNTHESIS|YOSYS|SYSTEMVERILOG|VERILATOR(?:_\w+)?|verilator3?|__ICARUS__|SV_COV_\w+|MODEL_TECH|VCS|XILINX_SIMULATOR"
    r"|COCOTB_\w+|coverage_block_off|systemc_clock"
)
"""Macros that synthesis or a simulator defines by itself."""
_DIRECTIVES = (
    r"__\w+__|timescale|celldefine|default_nettype|resetall|include|line|pragma|\w+_\w*(?:drive|mode|keywords)\w*"
)
"""Names that some simulators take for macros when a condition asks."""

_FUNCTIONS = {rf"\${name}" for name in ("clog2", "bits", "size", "high", "low", "left", "right")}
_WORDS = {"CONDX": "use casex", "EQX": "compare with ===", "NEX": "compare with !==", "DEFPARAM": "use defparam"}
_ATTRIBUTES = "full_case", "parallel_case", "init", "blackbox", "whitebox", "lib_whitebox", "gclk", "defaultvalue"
_ITEMS = (("COND", "bits='[01]*[xz?]", "x or z in an item of case"), ("CONDZ", "bits='[^']*x", "x in an item of casez"))
_ASSIGN = "ASSIGN", "ASSIGN_EQ", "ASSIGN_LE"
_PARAMETERS = "PARAMETER", "LOCALPARAM"
_SCOPES, _DECLARED = ("BLOCK", "GENBLOCK", "FUNCTION", "TASK"), ("WIRE", "MEMORY", *_PARAMETERS, "GENVAR")
_STRUCTURES = "STRUCT", "UNION"
_SUMS = "ADD", "SUB", "MUL", "POW", "NEG", "BIT_NOT", "SHIFT_LEFT", "SHIFT_SLEFT"
_SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|"""|"(?:\\.|[^"\\])*"|\\\S+', re.S)
"""Comments, strings, and names that begin with a backslash, which may contain quotes and slashes."""
_NODE = re.compile(r"^( +)(?:AST_(\w+) <[^:>]*:(\d+)\.[^>]*> \[\w+\]|ATTR \\(\S+):)(?: str='(.*?)'(?= |$))?(.*)$", re.M)
_LINE_OF_TREE = re.compile(r"^ +(?:AST_|ATTR )", re.M)

_RESIZED = re.compile(r"Resizing cell port (\S+) from (\d+) bits to (\d+) bits")

_PARSE = "tee -q -o read.txt read_verilog {sv}-ppdump -dump_ast1 module.v"

_LOOK = """\
{functions}
read_verilog {sv}module.v
tee -o sizes.txt hierarchy -check -top {top}
proc -noopt
write_json whole.json
setattr -mod -unset keep_hierarchy
flatten
hilomap -hicell $initstate Y -locell $initstate Y
check -assert
write_json early.json
"""
"""Each constant comes from a cell of its own, without which two constants could drive a net."""


@dataclass(eq=False)
class _Node:
    """A node of the syntax tree; ``rest`` has the properties that follow its name."""

    kind: str
    line: int
    name: str
    rest: str
    children: list["_Node"] = field(default_factory=list)
    member: str = ""
    """Of an identifier, the member of a structure, e.g. ``.a``; a member of that is one more child."""

    def all(self, *kinds: str, but: "_Node | None" = None) -> Iterator["_Node"]:
        """This node and those below it, of some kinds or all, without those of one below."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            waiting += [child for child in reversed(node.children) if child is not but]
            if not kinds or node.kind in kinds:
                yield node

    def names(self, *kinds: str) -> set[str]:
        return {node.name for node in self.all(*kinds)}

    @property
    def is_array(self) -> bool:
        """Whether a variable or one of its members has several dimensions."""
        counts = (sum(child.kind == "RANGE" for child in node.children) for node in self.all())
        return any(self.all("MULTIRANGE")) or max(counts) > 1

    @property
    def members(self) -> set[str]:
        """The members of a structure; unions have none here, for each of theirs is the whole."""
        items = [] if " union" in self.rest else self.children
        return {"." + item.name.lstrip("\\") for item in items if item.kind in ("STRUCT_ITEM", *_STRUCTURES)}

    def targets(self) -> list["_Node"]:
        """The variables that an assignment writes, or a loop counts."""
        if self.kind == "IDENTIFIER":
            return [self]
        parts = self.children if self.kind == "CONCAT" else self.children[:1]
        return [target for part in parts for target in part.targets()]

    def counters(self) -> set[str]:
        """The variables that loops count, and nothing else writes."""
        loops = list(self.all("FOR", "GENFOR"))
        heads = {id(step) for loop in loops for step in (loop.children[0], loop.children[2])}
        written = {node.name for step in self.all(*_ASSIGN) if id(step) not in heads for node in step.targets()}
        return {node.name for loop in loops for node in loop.targets()} - written

    def written(self, *kinds: str) -> dict[str, int]:
        """Lines of the variables that are written here, but not declared here."""
        inner = self.names("WIRE") | self.counters()
        nodes = [target for node in self.all(*kinds) for target in node.targets()]
        return {node.name: node.line for node in nodes if node.name not in inner}

    def read(self, inner: Collection[str] | None = None) -> dict[str, int]:
        """The same for variables that are read."""
        targets = {id(node) for assign in self.all(*_ASSIGN) for node in assign.targets()}
        inner = self.names("WIRE") | self.counters() if inner is None else inner
        nodes = [node for node in self.all("IDENTIFIER") if id(node) not in targets]
        return {node.name: node.line for node in nodes if node.name not in inner}

    def read_early(self, variables: Mapping[str, Collection[str]], done: set[str]) -> Iterator["_Node"]:
        """Uses of variables before they are wholly assigned; those that are assigned here are added to ``done``.

        ``variables`` have the members of structures.
        """
        if self.kind == "IDENTIFIER" and self.name in variables:
            members = {self.member} if self.member else variables[self.name]
            if self.name not in done and not (members and {self.name + member for member in members} <= done):
                yield self
        targets = self.targets() if self.kind == "ASSIGN_EQ" else []
        branches = []
        for child in [*self.children[1:], *targets] if targets else self.children:
            branch = set(done) if self.kind in ("CASE", "FOR", "WHILE", "REPEAT") else done
            for below in child.children if child in targets else [child]:
                yield from below.read_early(variables, branch)
            branches += [branch] if child.kind.startswith("COND") else []
        done |= {target.name + target.member for target in targets if not target.children}
        if any(child.kind.startswith("COND") and child.children[0].kind == "DEFAULT" for child in self.children):
            done |= set.intersection(*branches)


def refuse_misread(text: str, log: str, top: str, cells: Collection[str]) -> None:
    """Refuse a user's file, given Yosys's log of ``read_verilog -ppdump -dump_ast1``; ``cells`` are names of cells.

    The NetlistError has the line in the file.
    """
    for line, problem in _problems(text, log, rf"\{top}", cells):
        raise NetlistError(f"{top} must not {problem} (line {line}): simulators and synthesis read that differently")


def _problems(text: str, log: str, top: str, cells: Collection[str]) -> Iterator[tuple[int, str]]:
    for match in re.finditer(rf"`((ifn?def|elsif)\s+)?({_MACROS})\b", _SKIPPED.sub(_blank, text)):
        yield _line(text, match), f"depend on the macro {match[3]}"
    for match in re.finditer(rf"`(?:ifn?def|elsif)\s+({_DIRECTIVES})\b", _SKIPPED.sub(_blank, text)):
        yield _line(text, match), f"depend on the macro {match[1]}"
    for match in re.finditer(r"`define\s+\w+\((?:\\\n|[^\n])*?\"", text):
        yield _line(text, match), "have a string in a macro with arguments"
    for match in re.finditer(r"(//|/\*)[^\n]*\b((translate|synthesis)_(off|on))\b", text):
        yield _line(text, match), f"use {match[2]}"
    code, _, trees = log.partition("-- Verilog code after preprocessor --\n")[2].partition("\n-- END OF DUMP --\n")
    code = code.partition("\n")[2].rpartition("`file_pop")[0]
    for verilog in (text, code):
        has_members = re.search(r"\b(struct|union|interface)\b", verilog) is not None
        for match in _SKIPPED.finditer(verilog):
            if match[0][0] in '"\\' and (match[0] == '"""' or re.search(r"[\\\n`]", match[0][1:])):
                yield _line(verilog, match), "have a backslash, a grave accent or a line break in a string or name"
            if match[0][0] == "\\" and "." in match[0] and has_members:
                yield _line(verilog, match), "have a point in a name beside structures, whose members have such names"
    code = _SKIPPED.sub(_blank, code)
    for match in re.finditer(r"`(line|file_\w+)", code):
        yield _line(code, match), f"use `{match[1]}"
    for match in re.finditer(r"\b(wand|wor|triand|trior)\b", code):
        yield _line(code, match), f"use {match[1]}"
    for match in re.finditer(r"('\s*[sS]?[a-zA-Z]\s*)?\b(\d[\d_]*)\b(?!\s*')", code):
        if not match[1] and int(match[2]) >> 31:
            yield _line(code, match), "have a constant of more than 31 bits without its size"
    modules = {node.name: node for node in _forest(trees)}
    names = {*re.findall(r"\bmodule\s+([\w$]+)", code), *cells}  # a file with an error has no tree
    is_coarse = re.search(r"`timescale\s+10*\s*(s|ms|us)\b", _SKIPPED.sub(_blank, text)) is not None
    for match in re.finditer(r"([\w$]+|\S)\s*#\s*([\w.]*)", code):
        is_usual = code[: match.end(1)].endswith("<=") and match[2] in ("0", "1") and not is_coarse
        is_label = re.search(r"\b(begin|fork|end|join\w*)\s*:\s*$", code[: match.start(1)])
        if not is_usual and (is_label or match[1] not in names):
            yield _line(code, match), "delay a signal, except by q <= #1 d"
    for match in re.finditer(r"\balways\b(?!\s*@)", code):
        yield _line(code, match), "use always without @"
    waiting, used = {top, *(name for name, node in modules.items() if node.kind == "PACKAGE")}, set[str]()
    while fresh := waiting - used:
        used |= fresh
        waiting |= {cell for name in fresh if name in modules for cell in modules[name].names("CELLTYPE")}
    for name in sorted(used & modules.keys()):
        yield from _misread(modules[name], modules)


def _misread(module: _Node, modules: Collection[str]) -> Iterator[tuple[int, str]]:
    changed = {name for node in module.all("ALWAYS", "ASSIGN") for name in node.written(*_ASSIGN)}
    fixed = module.names("PARAMETER", "LOCALPARAM", "ENUM_ITEM", "GENVAR") | module.counters()
    fixed |= module.names("MEMORY") - changed
    initial, line = set[str](), module.line
    integers = {node.name for node in module.all("WIRE") if "range=[31:0]" in node.rest}
    lists = module.names("MEMORY") | {node.name for node in module.all("WIRE") if node.is_array}
    for node in module.all():
        line = node.line or line
        if problem := _odd_value(node) or _odd_target(node, fixed, lists):
            yield line, problem
        if node.kind == "FOR":
            changed_inside = {target.name for step in node.children[3].all(*_ASSIGN) for target in step.targets()}
            for name in {target.name for target in node.targets()} - (integers - changed_inside):
                yield line, f"count a loop by {name[1:]}, unless it is an integer that the loop does not change"
        terms = node.all(*_SUMS) if node.kind == "IDENTIFIER" and node.name in lists else ()
        if any(term.names("IDENTIFIER") - fixed for term in terms):
            yield line, f"select from {node.name[1:]} by a sum"
        if node.kind in _WORDS or (node.kind == "ATTR" and node.name in _ATTRIBUTES):
            yield line, _WORDS.get(node.kind, f"use {node.name}")
        for kind, digits, words in _ITEMS:
            if node.kind == kind and any(re.search(digits, item.rest) for item in node.children[:-1]):
                yield node.children[0].line, f"have {words}"
        if node.kind in ("DIV", "MOD") and (unknown := node.children[1].names("IDENTIFIER") - fixed):
            yield line, f"divide by {min(unknown)[1:]}, which may be 0"
        if (
            node.kind in ("FCALL", "CELLTYPE")
            and node.name.startswith(r"\$")
            and node.name not in {*_FUNCTIONS, *modules}
        ):
            yield line, f"use {node.name[1:]}"
        if node.kind == "TASK" and any("output" in port.rest and "signed" in port.rest for port in node.children):
            yield line, f"have an output with a sign in {node.name[1:]}"
        if node.kind in ("FUNCTION", "TASK"):
            for variable in node.all("WIRE"):
                if variable.is_array:
                    yield line, f"have an array of several dimensions in {node.name[1:]}"
                ends = [end for child in variable.children if child.kind == "RANGE" for end in child.children[1:]]
                if any(not re.match(r" bits='0+'", end.rest) for end in ends):
                    yield line, f"have a range that does not end at 0 in {node.name[1:]}"
            counted = {target.name for loop in node.all("FOR") for target in loop.targets()} - node.names("WIRE")
            for name in (node.written(*_ASSIGN) | node.read()).keys() - fixed | counted:
                yield line, f"use {name[1:]} in {node.name[1:]}, whose argument it is not"
        if node.kind == "INITIAL":
            for name, place in (node.written(*_ASSIGN) | node.read()).items():
                if name not in fixed or name in initial:
                    yield place, f"give {name[1:]} an initial value"
            initial |= node.written(*_ASSIGN).keys()
        if node.kind == "ALWAYS":
            yield from _misread_block(node, module, fixed)


def _misread_block(block: _Node, module: _Node, fixed: Collection[str]) -> Iterator[tuple[int, str]]:
    body, kinds = block.children[-1], {node.kind for node in block.children}
    at_once, later, read = body.written("ASSIGN_EQ"), body.written("ASSIGN_LE"), body.read()
    if kinds & {"POSEDGE", "NEGEDGE"}:
        for task in module.all("TASK"):
            if task.name in body.names("TCALL") and any("output" in port.rest for port in task.children):
                yield block.line, f"call {task.name[1:]}, which has outputs, in a clocked block"
        if "EDGE" in kinds:
            yield block.line, "mix edges and levels in one list"
        for node in module.all(but=block) if at_once else ():
            inner = next((name for name in at_once if f".{name[1:]}." in node.name + "."), node.name)
            if inner in at_once and (node.kind == "IDENTIFIER" or re.search(r"\b(out|in)put\b", node.rest)):
                yield at_once[inner], f"assign {inner[1:]} by = in a clocked block and use it elsewhere"
        for name in at_once.keys() & later.keys():
            yield later[name], f"assign {name[1:]} by = and <="
        return
    for name, line in later.items():
        yield line, f"assign {name[1:]} by <= in a block without a clock"
    own = {node.name for assign in body.all("ASSIGN_EQ") for node in assign.targets()} - body.counters()
    variables = {name: set[str]() for name in own}
    variables |= {node.name: node.members for node in module.all("WIRE") if node.name in own}
    for node in body.read_early(variables, set()) if own & body.read(()).keys() else ():
        yield node.line, f"read {node.name[1:]} in its block before all of it is assigned there"
    needed = {name: line for name, line in read.items() if name not in fixed | at_once.keys()}
    listed = {
        event.children[0].name for event in block.children if event.kind == "EDGE" if not event.children[0].children
    }
    for name in needed.keys() - listed if "EDGE" in kinds else ():
        yield needed[name], f"read {name[1:]} outside the list of its block always"
    if not needed and not {node.name for node in block.children} & {"always_comb", "always_latch"}:
        yield block.line, "have a block always that reads nothing"


def _odd_value(node: _Node) -> str:
    """What is wrong with a constant or type that Yosys reads in its own way; empty if nothing is."""
    if node.kind == "CONSTANT" and (width := re.search(r"\((\d+)\).* unsized", node.rest)) and int(width[1]) > 32:
        return "have a constant of more than 32 bits without its size"
    if node.kind == "CONSTANT" and "signed unsized" in node.rest:
        return "have a constant with a sign but without its size"
    if node.kind == "ARGUMENT" and any(re.match(r" bits='1'\(1\) unsized", item.rest) for item in node.children):
        return "connect '1 to an input"
    if node.kind == "CAST_SIZE" and (node.children[0].kind == "WIRE" or node.children[1].kind in ("TERNARY", "NEG")):
        return "cast to a type, or cast a choice or a negative value"
    if node.kind == "REALVALUE":
        return "use real numbers"
    if node.kind in _PARAMETERS and not any(child.kind == "RANGE" for child in node.children):
        sizes = [int(size) for item in node.all("CONSTANT") for size in re.findall(r"'\((\d+)\)", item.rest)]
        is_narrow = any(child.kind in _SUMS for child in node.children) and max(sizes, default=32) < 32
        is_filled = any(re.search(r"'\(1\) unsized", item.rest) for item in node.all("CONSTANT"))
        if " signed" in node.rest or is_narrow or is_filled:
            return f"have the parameter {node.name[1:]} without a range"
    if node.kind == "CASE" and any(
        re.search("bits='[^']*[z?]", item.rest) for item in node.children[0].all("CONSTANT")
    ):
        return "choose by the value z"
    if node.kind == "STRUCT_ITEM" and "signed" in node.rest:
        return "have a signed member of a structure"
    if node.kind == "ENUM_ITEM" and "signed" not in node.rest and "signed" in node.children[-1].rest:
        return "have an enumeration without a type"
    is_odd = node.kind == "WIRE" and "signed" in node.rest and node.is_array
    return "have a signed array of several dimensions" if is_odd else ""


def _odd_target(node: _Node, fixed: set[str], lists: set[str]) -> str:
    """What is wrong with the variables that an assignment writes; empty if nothing is."""
    written: dict[str, list[tuple[str, float, float]]] = {}
    for target in node.targets() if node.kind in _ASSIGN else ():
        places = target.children[0].children if len(target.children) == 1 else []
        if target.name in lists and any(place.names("IDENTIFIER") - fixed for place in target.children):
            return f"assign a word of {target.name[1:]} by a variable place"
        terms = [term for place in places[1:] for base in place.all("SELFSZ") for term in base.all("ADD", "SUB", "NEG")]
        terms += [place for place in places[1:] if place.kind == "SUB"]  # of -:
        if any(term.names("IDENTIFIER") - fixed for term in terms):
            return f"assign bits of {target.name[1:]} by -: or from a sum"
        ends = [int(match[1], 2) for place in places if (match := re.match(r" bits='([01]+)'", place.rest))]
        first, last = (min(ends), max(ends)) if ends and len(ends) == len(places) else (-inf, inf)
        for member, low, high in written.get(target.name, ()):
            if (first <= high and low <= last) if member == target.member else not (member and target.member):
                return f"assign {target.name[1:]} twice at once"
        written.setdefault(target.name, []).append((target.member, first, last))
    return ""


def _forest(dump: str) -> list[_Node]:
    """The modules in a dump of syntax trees; the indentation of a line is its depth."""
    path: list[tuple[int, _Node]] = [(0, _Node("", 0, "", ""))]
    lines = _NODE.findall(dump)
    if len(lines) != len(_LINE_OF_TREE.findall(dump)):
        raise NetlistError("Yosys's syntax tree has a line that hwgen cannot read")
    for indent, kind, line, attribute, name, rest in lines:
        node = _Node(kind or "ATTR", int(line or 0), attribute or name, rest)
        while path[-1][0] >= len(indent):
            path.pop()
        if kind in _STRUCTURES and name and path[-1][1].kind not in _STRUCTURES:
            node.kind, node.rest = "WIRE", f"{rest} {kind.lower()}"
        path[-1][1].children.append(node)
        path.append((len(indent), node))
    _resolve(path[0][1])
    # names that are declared in a scope become others, which begin with another character: inner scopes first
    for number, scope in enumerate(reversed(list(path[0][1].all(*_SCOPES)))):
        declared = {node.name for node in scope.children if node.kind in _DECLARED}
        for node in scope.all("IDENTIFIER", *_DECLARED) if declared else ():
            node.name = chr(0xE000 + number) + node.name[1:] if node.name in declared else node.name
    return path[0][1].children


def _resolve(tree: _Node) -> None:
    """Give variables what their types say, and separate members of structures from the names of variables."""
    types: dict[str, list[_Node]] = {}
    for node in tree.all("TYPEDEF"):
        types.setdefault(node.name[1:].rpartition("::")[2], []).append(node.children[0])
    for node in tree.all():
        found: list[_Node] = []
        for child in node.children:  # which grows
            name = child.name[1:].rpartition("::")[2] if child.kind == "WIRETYPE" else ""
            for definition in (item for item in types.get(name, ()) if item not in found):
                found.append(definition)
                node.kind = "MEMORY" if (node.kind, definition.kind) == ("WIRE", "MEMORY") else node.kind
                node.rest += f" {definition.rest} {definition.kind.lower()}"
                node.children += definition.children
        while node.kind == "PREFIX":  # g[0].m
            *places, inner = node.children
            node.kind, node.name = inner.kind, f"{node.name}.{inner.name[1:]}"
            node.children = [*places, *inner.children]
    for module in tree.children:
        declared = module.names(*_DECLARED) - module.names("GENBLOCK", "CELL")
        unions = {node.name for node in module.all("WIRE") if not node.members}
        for node in module.all("IDENTIFIER"):
            name, *members = node.name.split(".")
            if members and name in declared and node.name not in declared:
                node.name, node.member = name, "" if name in unions else "." + members[0]
                node.children += [_Node("MEMBER", node.line, "", "")] * (len(members) > 1)


def _blank(skipped: re.Match[str]) -> str:
    return re.sub(r"[^\n]+", "\\\\ " if skipped[0].startswith("\\") else " ", skipped[0])


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.end()) + 1


@dataclass(frozen=True)
class UserFile(Subject):
    """A module of a user's file."""

    @cached_property
    def has_cells(self) -> bool:
        """Whether the module uses cells of the libraries; a YosysError if Yosys cannot read it.

        It is a NetlistError if synthesis and simulators treat the module differently, or if it has registers that its
        block does not have.
        """
        sv, files = sv_option(self.is_system_verilog), library_files(self.libraries)
        script = _LOOK.format(functions=functions(files), sv=sv, top=self.top)
        names = {cell.name for library in self.libraries for cell in library.cells}
        tree = yosys.run(_PARSE.format(sv=sv), {"module.v": self.verilog}, ["read.txt"])["read.txt"]
        refuse_misread(self.verilog, tree, self.top, names)
        outputs = yosys.run(script, {"module.v": self.verilog, **files}, ["sizes.txt", "whole.json", "early.json"])
        sizes, whole, early = outputs.values()
        for port, connected, width in _RESIZED.findall(sizes):
            if int(connected) < int(width):
                raise NetlistError(f"{port} must not be connected to fewer bits than it has")
        is_clocked = isinstance(self.design.core, Pe) or self.design.stages > 0
        state = ("latch", "$sr", "memwr", *(() if is_clocked else ("dff", "$ff", "$_ff_")))
        module = json.loads(early)["modules"][self.top]
        cells = module["cells"].values()
        clocks = module["ports"].get(CLOCK, {}).get("bits", [])
        before = {  # of inverters: other gates may have glitches, which simulators take for edges
            output: bit
            for cell in cells
            if cell["type"] in ("$not", "$_NOT_", "$_BUF_")
            for output, bit in zip(cell["connections"]["Y"], cell["connections"]["A"], strict=False)
        }
        for cell in cells:
            kind = cell["type"].lower()
            if any(part in kind for part in state):
                raise NetlistError(
                    f"{self.top} must be combinational; it contains a register or latch ({cell['type']})"
                )
            for first in chain(*(cell["connections"].get(pin, ()) for pin in ("CLK", "C"))) if "dff" in kind else ():
                clock = first
                while clock in before:  # no ring, which Yosys has refused
                    clock = before[clock]
                if clock not in clocks:
                    raise NetlistError(f"{self.top} must have all its registers on clk, with no gates but inverters")
            if any("z" in bits for bits in cell["connections"].values()):
                raise NetlistError(f"{self.top} must not use the value z, which gates cannot represent")
        used = {cell["type"] for module in json.loads(whole)["modules"].values() for cell in module["cells"].values()}
        for group in (group for library in self.libraries for group in library.content.all("cell")):
            if group.argument in used and any("three_state" in pin.attributes for pin in group.all("pin")):
                raise NetlistError(f"{self.top} must not use the cell {group.argument}, whose output may be z")
        return not used.isdisjoint(names)
