"""What synthesis and simulators read differently in Verilog: it is refused, with its line.

What Yosys parses is judged: the text behind its preprocessor, and its syntax tree.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain

from synth.proof.gates import NetlistError
from synth.proof.syntax import ASSIGN, DECLARED, Node, followers, forest
from synth.proof.words import short_sums, signs_and_sizes, without_assertions

_MACROS = (
    r"SYNTHESIS|YOSYS|SYSTEMVERILOG|VERILATOR(?:_\w+)?|verilator3?|__ICARUS__|SV_COV_\w+|MODEL_TECH|VCS|XILINX_SIMULATOR"
    r"|COCOTB_\w+|coverage_block_off|systemc_clock|INCA|XCELIUM|QUESTA|ALDEC|SYNOPSYS"
)
"""Macros that synthesis or a simulator defines by itself."""
_PLACES = "__(?:FILE|LINE)__"
"""Macros whose value is not that of the user's file where a tool reads a copy, or several files as one."""
_DIRECTIVES = (
    r"__\w+__|timescale|celldefine|default_nettype|resetall|include|line|pragma|\w+_\w*(?:drive|mode|keywords)\w*"
)
"""Names that some simulators take for macros when a condition asks."""

_RESERVED = (
    r"(?<![\w$])(?:accept_on|alias|always_comb|always_ff|always_latch|assert|assume|before|bind|bins|binsof|bit|break|byte"
    r"|chandle|checker|class|clocking|const|constraint|context|continue|cover|covergroup|coverpoint|cross|dist|do"
    r"|endchecker|endclass|endclocking|endgroup|endinterface|endpackage|endprogram|endproperty|endsequence|enum"
    r"|eventually|expect|export|extends|extern|final|first_match|foreach|forkjoin|global|iff|ignore_bins"
    r"|illegal_bins|implements|implies|import|inside|int|interconnect|interface|intersect|join_any|join_none|let"
    r"|local|logic|longint|matches|modport|nettype|new|nexttime|null|package|packed|priority|program|property"
    r"|protected|pure|rand|randc|randcase|randsequence|ref|reject_on|restrict|return|s_always|s_eventually"
    r"|s_nexttime|s_until|s_until_with|sequence|shortint|shortreal|soft|solve|static|string|strong|struct|super"
    r"|sync_accept_on|sync_reject_on|tagged|this|throughout|timeprecision|timeunit|type|typedef|union|unique"
    r"|unique0|until|until_with|untyped|var|virtual|void|wait_order|weak|wildcard|with|within)(?![\w$])"
)
"""Words that IEEE 1800-2017 reserves beyond Verilog, which tools take for such, or for names."""
_CHANGES = "ifn?def|elsif|else|endif|define|undef|undefineall|include|timescale|resetall|line|pragma|default_nettype"
"""Directives that change how the text behind them is read; tools differ in when those of a macro act."""

_FUNCTIONS = {rf"\${name}" for name in ("clog2", "bits", "size", "high", "low", "left", "right")}
_WORDS = {
    "CONDX": "use casex",
    "EQX": "compare with ===",
    "NEX": "compare with !==",
    "TASK": "have a task",
    "TCALL": "call a task, or use break or continue",
    "WHILE": "use while",
    "REPEAT": "use repeat",
    "INTERFACE": "have an interface",
}
_READ = re.compile(
    r"MODULE|PACKAGE|CELL(TYPE)?|PARASET|ARGUMENT|PRIMITIVE|FUNCTION|(LOCAL)?PARAM(ETER)?|TYPEDEF|WIRE(TYPE)?|MEMORY"
    r"|(MULTI)?RANGE|STRUCT(_ITEM)?|UNION|ENUM(_ITEM)?|GEN(VAR|FOR|IF|CASE|BLOCK)|ASSIGN(_EQ|_LE)?|ALWAYS|(POS|NEG)?EDGE"
    r"|BLOCK|CASE|CONDZ?|DEFAULT|FOR|COUNTER|NONE|ATTR|IDENTIFIER|PREFIX|MEMBER|CONSTANT|CONCAT|REPLICATE|TERNARY|FCALL"
    r"|TO_(UN)?SIGNED|SELFSZ|CAST_SIZE|ADD|SUB|MUL|DIV|MOD|POW|POS|NEG|[LG][TE]|EQ|NE|SHIFT_S?(LEFT|RIGHT)"
    r"|ASSERT|ASSUME|COVER|BIT_(NOT|AND|OR|XNOR|XOR)|REDUCE_(AND|OR|XNOR|XOR|BOOL)|LOGIC_(NOT|AND|OR)"
)
"""The kinds of nodes that the rules here know; whatever is not among them is refused."""
_ATTRIBUTES = "full_case", "parallel_case", "init", "blackbox", "whitebox", "lib_whitebox", "gclk", "defaultvalue"
_PRAGMAS = "use full_case", "use parallel_case"
_REAL = r"(?<![\w.$'])\d[\d_]*(?:\.\d|[eE][-+]?\d)|\b(?:real|shortreal|realtime)\b"
_CHOICE = r"\b(unique0?|priority)\s+(if|case[zx]?)\b"
"""What SystemVerilog has instead; Yosys's tree has those attributes for it."""
_ITEMS = (("COND", "bits='[01]*[xz?]", "x or z in an item of case"), ("CONDZ", "bits='[^']*x", "x in an item of casez"))
_SUMS = "ADD", "SUB", "MUL", "POW", "NEG", "BIT_NOT", "SHIFT_LEFT", "SHIFT_SLEFT"
_SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|"""|"(?:\\.|[^"\\])*"|\\\S+', re.S)
"""Comments, strings, and names that begin with a backslash, which may contain quotes and slashes."""


PREPROCESSED, END = "-- Verilog code after preprocessor --\n", "\n-- END OF DUMP --\n"
"""What is around the code in Yosys's log."""

Place = Callable[[int], str]
"""From a line to words that say where it is."""


_PARAMETRIZED = re.compile(
    r"\b(?:(?:macro)?module|interface|program|class)\s+(?:(?:automatic|static|class)\s+)?([\w$]+)"
)
"""What may have parameters, by its name."""
_IMPORTS = re.compile(r"(?<![\w$])import\s[^;#]*;(?=\s*(?:import\s[^;#]*;\s*)*#\s*\()")
"""Imports between the name of a module and its parameters, which only there come before a parenthesis."""


def refuse_misread(
    text: str,
    log: str,
    top: str,
    cells: Collection[str],
    place: Place = "line {}".format,
    is_system_verilog: bool = True,
) -> None:
    """Refuse a user's file, given Yosys's log of ``read_verilog -ppdump -dump_ast1``; ``cells`` are names of cells.

    The NetlistError has the place of the line in the file.
    """
    reserved = re.compile("(?!)" if is_system_verilog else _RESERVED)
    for line, problem in _problems(text, log, rf"\{top}", cells, reserved):
        raise NetlistError(f"{top} must not {problem} ({place(line)}): simulators and synthesis read that differently")


def _problems(
    text: str, log: str, top: str, cells: Collection[str], reserved: re.Pattern[str]
) -> Iterator[tuple[int, str]]:
    yield from _directives(text)
    code, _, trees = log.partition(PREPROCESSED)[2].partition(END)
    code = code.partition("\n")[2].rpartition("`file_pop")[0]
    for verilog in (text, code):
        has_members = re.search(r"\b(struct|union|interface)\b", verilog) is not None
        for match in _SKIPPED.finditer(verilog):
            if match[0][0] in '"\\' and (match[0] == '"""' or re.search(r"[\\\n`]|[^\0-\x7f]", match[0][1:])):
                problem = "have a letter beyond ASCII, a backslash, a ` or a line break in a string or name"
                yield _line(verilog, match), problem
            if match[0][0] == '"' and re.search(r"/[/*]", match[0]):
                yield _line(verilog, match), "have // or /* in a string"
            if match[0][0] == "\\" and "." in match[0] and has_members:
                yield _line(verilog, match), "have a point in a name beside structures, whose members have such names"
    code = _SKIPPED.sub(_blank, code)
    for verilog in (_SKIPPED.sub(_blank, text), code):
        for match in re.finditer(r"`(line|undefineall|file_\w+)", verilog):
            yield _line(verilog, match), f"use `{match[1]}"
    for match in reserved.finditer(code):
        yield _line(code, match), f"use {match[0]}, a word of SystemVerilog, in a .v file"
    for place, problem in chain(short_sums(code), signs_and_sizes(code)):
        yield code.count("\n", 0, place) + 1, problem
    code, changing = without_assertions(code)
    for place, problem in changing:
        yield code.count("\n", 0, place) + 1, problem
    for match in re.finditer(r"\b(wand|wor|triand|trior|specify|defparam)\b", code):
        yield _line(code, match), f"use {match[1]}"
    read = forest(trees)
    modules = {node.name: node for node in read}
    names = {*_PARAMETRIZED.findall(code), *cells}  # a file with an error has no tree
    units = f"{_SKIPPED.sub(_blank, text)}\n{code}"
    is_coarse = re.search(r"(`timescale|\btimeunit)\b(?!\s+10*\s*[npf]s\b)", units) is not None
    headed = _IMPORTS.sub(_blank, code)
    for match in re.finditer(r"([\w$]+|\S)\s*#\s*([\w.]*)", headed):
        is_usual = headed[: match.end(1)].endswith("<=") and match[2] in ("0", "1") and not is_coarse
        is_label = re.search(r"\b(begin|fork|end|join\w*)\s*:\s*$", headed[: match.start(1)])
        if not is_usual and (is_label or match[1] not in names):
            yield _line(code, match), "delay a signal, except by q <= #1 d"
    blocks = [node for tree in read for node in tree.all("ALWAYS")]
    always = re.compile(r"\balways(?:_ff|_comb|_latch)?\b")
    heads, parts = [*always.finditer(code)], always.split(code)[1:]  # in the order of the tree, which has no delays
    for number, (head, part) in enumerate(zip(heads, parts, strict=True) if read else ()):
        own = re.split(r"\b(?:task|function|initial|final)\b", part)[0]  # those have assignments of their own
        delays = re.findall(r"<=\s*#\s*(\w+)", own)
        assigned = [*blocks[number].all("ASSIGN_LE")] if len(heads) == len(blocks) else []
        if delays and (len({*delays}) > 1 or len(delays) != len(assigned)):
            yield _line(code, head), "delay some assignments of a block, and others not or otherwise"
    for match in re.finditer(r"\balways\b(?!\s*@)", code):
        yield _line(code, match), "use always without @"
    for match in re.finditer(_REAL, code) if read or not trees.strip() else ():
        yield _line(code, match), "use real numbers"
    waiting, used = {top, *(name for name, node in modules.items() if node.kind == "PACKAGE")}, set[str]()
    while fresh := waiting - used:
        used |= fresh
        waiting |= {cell for name in fresh if name in modules for cell in modules[name].names("CELLTYPE")}
    lines = code.splitlines()
    for name in sorted(used & modules.keys()):
        for line, problem in _misread(modules[name], modules):
            words = re.search(_CHOICE, " ".join(lines[max(line - 2, 0) : line])) if problem in _PRAGMAS else None
            yield line, f"use {words[1]} {words[2]}" if words else problem


def _directives(text: str) -> Iterator[tuple[int, str]]:
    """What a text has before it is preprocessed; of comments, those for synthesis."""
    for match in re.finditer(rf"`((ifn?def|elsif)\s+)?({_MACROS}|{_PLACES})\b", _SKIPPED.sub(_blank, text)):
        yield _line(text, match), f"depend on the macro {match[3]}"
    for match in re.finditer(rf"`(?:ifn?def|elsif)\s+({_DIRECTIVES})\b", _SKIPPED.sub(_blank, text)):
        yield _line(text, match), f"depend on the macro {match[1]}"
    for match in re.finditer(r"`(ifn?def|elsif)\b(?![ \t]+[A-Za-z_])", _SKIPPED.sub(_blank, text)):
        yield _line(text, match), f"have `{match[1]} without a plain name behind it"
    for match in re.finditer(r"`define\s+\w+\((?:\\\n|[^\n])*?\"", text):
        yield _line(text, match), "have a string in a macro with arguments"
    for match in re.finditer(rf"`define\b(?:\\\n|[^\n])*?`({_CHANGES})\b", text):
        yield _line(text, match), f"have `{match[1]} in a macro"
    for match in re.finditer(r"`define\b(?:\\\r?\n|[^\n])*?\\[^\S\r\n]+\r?\n", text):
        yield _line(text, match) - 1, "end a line of a macro by a backslash and a blank"
    for match in re.finditer(r"`define\b(?:\\\r?\n|[^\n])*?//[^\n]*\\\r?\n", text):
        yield _line(text, match) - 1, "continue a macro behind a comment"
    for match in re.finditer(r"(//|/\*)[^\n]*\b((translate|synthesis)_(off|on))\b", text):
        yield _line(text, match), f"use {match[2]}"


def _misread(module: Node, modules: Mapping[str, Node]) -> Iterator[tuple[int, str]]:
    fixed = module.names("PARAMETER", "LOCALPARAM", "ENUM_ITEM", "GENVAR")
    line, declared, inside = module.line, module.names(*DECLARED), module.names("GENBLOCK", "BLOCK")
    signed = {node.name for node in module.all("WIRE") if "signed" in node.rest} - fixed
    # integers have more bits than a memory may be selected by
    short = {node.name for node in module.all("WIRE") if "signed" in node.rest and "range=[31:0]" not in node.rest}
    functions = {
        node.name
        for node in module.all("FUNCTION")
        if any(part.name in short and part.name[1:] == node.name[1:] for part in node.children)
    }
    links: dict[str, set[str]] | None = None
    lists = module.names("MEMORY") | {node.name for node in module.all("WIRE") if node.is_array}
    for node in module.all():
        line = node.line or line
        if problem := _odd_value(node):
            yield line, problem
        for target in node.targets() if node.kind in ASSIGN else ():
            places = {rf"\{place}" for place in target.name[1:].split(".")[:-1]}
            if target.name not in declared and not places <= inside:
                yield line, f"assign {target.name[1:]}, which is in another module"
            if target.name in lists and any(place.names("IDENTIFIER") - fixed for place in target.children):
                yield line, f"assign a word of {target.name[1:]} by a variable place"
            for index in _indices(target):
                if index.names("IDENTIFIER") & signed or any(
                    term.names("IDENTIFIER") - fixed for term in index.all("SUB", "NEG")
                ):
                    yield line, f"assign bits of {target.name[1:]} at a place that may be negative"
        terms = node.all(*_SUMS) if node.kind == "IDENTIFIER" and node.name in lists else ()
        if any(term.names("IDENTIFIER") - fixed for term in terms):
            yield line, f"select from {node.name[1:]} by a sum"
        indices = node.children if node.kind == "IDENTIFIER" and node.name in lists else ()
        if any(
            term.kind == "TO_SIGNED" or term.name in functions or (term.name in short and not term.children)
            for place in indices
            for term in place.all()
        ):
            yield line, f"select from {node.name[1:]} by a number with a sign"
        for name, place in (node.written(*ASSIGN) | node.read()).items() if node.kind == "INITIAL" else ():
            yield place, f"give {name[1:]} an initial value"
        if not _READ.fullmatch(node.kind):
            yield line, _WORDS.get(node.kind, f"have what Yosys calls {node.kind}")
        if node.kind == "ATTR" and node.name in _ATTRIBUTES:
            yield line, f"use {node.name}"
        heads = (node.children[0], node.children[2]) if node.kind == "FOR" else ()
        for target in (target for step in heads for target in step.targets() if target.kind != "COUNTER"):
            yield line, f"use {target.name[1:]}, which a loop counts, outside its loops"
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
        if node.kind == "FUNCTION":
            counted = node.names("COUNTER") - node.names("WIRE")
            for name in (node.written(*ASSIGN) | node.read()).keys() - fixed | counted:
                yield line, f"use {name[1:]} in {node.name[1:]}, whose argument it is not"
        if node.kind == "ALWAYS":
            links = followers(module, modules) if links is None else links
            yield from _misread_block(node, module, fixed, links)


def _misread_block(
    block: Node, module: Node, fixed: Collection[str], links: Mapping[str, set[str]]
) -> Iterator[tuple[int, str]]:
    body, kinds = block.children[-1], {node.kind for node in block.children}
    at_once, later, read = body.written("ASSIGN_EQ"), body.written("ASSIGN_LE"), body.read()
    if kinds & {"POSEDGE", "NEGEDGE"}:
        if "EDGE" in kinds:
            yield block.line, "mix edges and levels in one list"
        for node in module.all(but=block) if at_once else ():
            inner = next((name for name in at_once if f".{name[1:]}." in node.name + "."), node.name)
            if inner in at_once and (node.kind == "IDENTIFIER" or re.search(r"\b(out|in)put\b", node.rest)):
                yield at_once[inner], f"assign {inner[1:]} by = in a clocked block and use it elsewhere"
        for name in (name for name in at_once if "." in name):
            yield at_once[name], f"assign {name[1:]} by = in a clocked block, where other modules may use it"
        for name in at_once.keys() & later.keys():
            yield later[name], f"assign {name[1:]} by = and <="
        return
    for name, line in later.items():
        yield line, f"assign {name[1:]} by <= in a block without a clock"
    own = {node.name for assign in body.all("ASSIGN_EQ") for node in assign.targets()}
    variables = {name: {name} for name in own}
    parts = {node.name: {node.name + part for part in node.parts} for node in module.all("WIRE") if node.name in own}
    variables |= {name: each for name, each in parts.items() if each}
    behind: dict[str, set[str]] = {}
    for name in own:
        for net in links.get(name, set()) - own:
            behind[net] = behind.get(net, set()) | variables[name]
    for node in body.read_early(variables | behind, set()) if (own | behind.keys()) & body.read(()).keys() else ():
        follows = ", which follows from another," if node.name in behind else ""
        yield node.line, f"read {node.name[1:]}{follows} in its block before all of it is assigned there"
    needed = {name: line for name, line in read.items() if name not in fixed | at_once.keys()}
    events = [event.children[0] for event in block.children if event.kind == "EDGE"]
    listed = {event.name + event.member for event in events if not event.children}
    for node in body.all("IDENTIFIER") if events else ():
        if node.name in needed and not listed & {node.name, node.name + node.member}:
            yield node.line, f"read {node.name[1:]} outside the list of its block always"
    if not needed and not {node.name for node in block.children} & {"always_comb", "always_latch"}:
        yield block.line, "have a block always that reads nothing"


def _odd_value(node: Node) -> str:
    """What is wrong with a constant or type that Yosys reads in its own way; empty if nothing is."""
    if node.kind == "CASE" and any(
        re.search("bits='[^']*[z?]", item.rest) for item in node.children[0].all("CONSTANT")
    ):
        return "choose by the value z"
    if node.kind == "STRUCT_ITEM" and "signed" in node.rest:
        return "have a signed member of a structure"
    if node.kind in ("STRUCT_ITEM", "TYPEDEF") and _ascends(node):
        return "have a member of a structure, or a type, whose range ascends"
    is_odd = node.kind == "WIRE" and "signed" in node.rest and node.is_array
    return "have a signed array of several dimensions" if is_odd else ""


def _ascends(declared: Node) -> bool:
    """Whether the range of a member or type ascends, or may: a first bound that is no number is trusted above 0, 1."""
    if known := re.findall(r"\[(-?\d+):(-?\d+)\]", declared.rest.partition("dimensions=")[2]):
        return any(int(left) < int(right) for left, right in known)
    if declared.kind == "TYPEDEF":  # of an array, the first range is that of its words
        return any(_ascends(inner) for inner in declared.children if inner.kind in ("WIRE", "MEMORY"))
    ranges = [inner for inner in declared.children[:1] if inner.kind == "RANGE"]
    for inner in declared.children if declared.kind != "MEMORY" else ():
        ranges += inner.children if inner.kind == "MULTIRANGE" else ()
    for bounds in (each.children for each in ranges if len(each.children) == 2):
        left, right = (_number(bound) for bound in bounds)
        if right is None or (left is None and right > 1) or (left is not None and left < right):
            return True
    return False


def _number(node: Node) -> int | None:
    """The value of a constant, or None."""
    if node.kind != "CONSTANT":
        return None
    found = re.search(r"\bint=(-?\d+)", node.rest)
    return int(found[1]) if found else 0


def _indices(target: Node) -> list[Node]:
    """The expressions that select bits of a target; those of +: and -: are marked as of their own size."""
    sized = [index for place in target.children for index in place.all("SELFSZ")]
    return sized or [place.children[0] for place in target.children if len(place.children) == 1]


def _blank(skipped: re.Match[str]) -> str:
    return re.sub(r"[^\n]+", "\\\\ " if skipped[0].startswith("\\") else " ", skipped[0])


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.end()) + 1
