"""Emission: the only way from an Amaranth component to Verilog-2005, a module and the parts that it repeats."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

from amaranth.back import rtlil
from amaranth.hdl import Fragment
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from golden.refusal import BadKind, BadValue
from hwgen.netlist import dataflow, verilog
from hwgen.netlist.book import ATTRIBUTE, NOTE, chapters_by_path, in_chapters
from hwgen.netlist.joins import joined
from hwgen.netlist.layout import comment, span
from hwgen.netlist.parts import Part, flat_ports, repeated, separated
from hwgen.tools import yosys

# proc -norom keeps case tables, which would become memories. wreduce has a list of cells because it breaks $shift
# (Yosys 0.70; rtl_tests/hwgen/test_emit.py proves the result); `dataflow` reduces the width of right shifts.
_SCRIPT = """
read_rtlil module.il
proc -norom
{parts}flatten -noscopeinfo
opt_expr
opt_merge
{between}wreduce {reduced}
opt_clean
opt_expr
opt_merge
opt_clean
write_json module.json
"""

_REDUCED = "add sub neg mul not and or xor shl mux pmux eq ne lt le gt ge"
_KEEP = "setattr -mod -set keep_hierarchy 1 {name}\n"
# Constants, and results that nothing reads, pass from module to module; each time by one level.
_BETWEEN = "setattr -mod -unset keep_hierarchy *\n" + 3 * "opt_hier\nopt_clean\nopt_expr\nopt_merge\n"

# Verilator expects a module in a file of its name.
_IN_OTHER_FILE = "/* verilator lint_off DECLFILENAME */\n{}/* verilator lint_on DECLFILENAME */\n"

_WORDS = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge else
end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage
endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually expect export extends
extern final first_match for force foreach forever fork forkjoin function generate genvar global highz0 highz1 if iff
ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input inside instance int integer
interconnect interface intersect join join_any join_none large let liblist library local localparam logic longint
macromodule matches medium modport module nand negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1
null or output package packed parameter pmos posedge primitive priority program property protected pull0 pull1 pulldown
pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg
reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually s_nexttime s_until
s_until_with scalared sequence shortint shortreal showcancelled signed small soft solve specify specparam static string
strong strong0 strong1 struct super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned
until until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire
with within wor xnor xor
"""
KEYWORDS = frozenset(_WORDS.split())
"""Reserved words of IEEE 1364-2005 (Verilog) and IEEE 1800-2017 (SystemVerilog)."""

_TAKEN = {"TOP": "Verilator", "std": "Verilator", **dict.fromkeys(("bool", "wone", "wreal"), "Icarus Verilog")}
"""Names that a simulator refuses for a module although they are no keywords."""

CLOCK = "clk"
"""Name of the clock port, which all modules with registers have."""


@dataclass(frozen=True)
class Port:
    """A port of a module; ``direction`` is ``input`` or ``output``."""

    name: str
    direction: str
    width: int

    @property
    def range(self) -> str:
        """The range in a declaration, with a blank after it; empty for one bit."""
        return span(self.width)


def check_name(name: str, argument: str = "name") -> str:
    """Return a name if it is a Verilog identifier and no keyword.

    Raises
    ------
    BadKind, BadValue
        Otherwise; ``argument`` is what the message calls the name.
    """
    if not isinstance(name, str):
        raise BadKind(argument, f"must be a string, not {name!r}")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise BadValue(
            argument, f"must be a Verilog identifier (a letter or _, then letters, digits and _), not {name!r}"
        )
    if name in KEYWORDS:
        raise BadValue(argument, f"must not be a keyword of Verilog or SystemVerilog, which {name!r} is")
    return name


def check_module_name(name: str) -> str:
    """:func:`check_name` for a module of ours, whose name no simulator may refuse."""
    if check_name(name) in _TAKEN:
        raise BadValue("name", f"must not be {name!r}, which {_TAKEN[name]} refuses as the name of a module")
    return name


def emit(component: wiring.Component, name: str, header: Sequence[str] = ()) -> str:
    """Verilog-2005 text of ``component`` as a module called ``name``, and of the parts that it repeats.

    Parts (:mod:`hwgen.netlist.parts`) are modules below it; their names begin with ``name`` and an underscore. Signals
    keep their Python names, with the path of their instance if a name alone is ambiguous. An intermediate result
    without a name is named after the first signal that depends on it, with the suffix ``_part``. Chapters
    (:mod:`hwgen.netlist.book`) are in dataflow order. Registers have no initial value and need a reset.

    Parameters
    ----------
    component : wiring.Component
        Its ports, in the order of its signature, become flat unsigned ports.
    name : str
        A Verilog identifier.
    header : sequence of str
        Lines for the comment at the top, between the module's name and the tool versions.

    Returns
    -------
    str
        The same bytes for the same component, on every machine and in every run.

    Raises
    ------
    Refusal
        If the module's or a port's name is not allowed, a port has no bits, or a string of the header has more than one
        line.
    """
    check_module_name(name)
    if not isinstance(component, wiring.Component):
        raise BadKind("component", f"must be a wiring.Component, not {component!r}")
    if isinstance(header, str) or not all(isinstance(line, str) for line in header):
        raise BadKind("header", f"must be a sequence of lines, not {header!r}")
    for line in header:
        if "".join(line.splitlines()) != line:  # only its first line would be a comment
            raise BadValue("header", f"must have one line in each string, not {line!r}")
    fragment = Fragment.get(component, None)
    for port, _, value in flat_ports(component):
        check_name(port, "port name")
        if not len(value):
            raise BadValue(f"port {port}", "must have at least one bit")
        if port == name:
            raise BadValue("name", f"must not be that of one of the module's ports, which {name!r} is")
    parts = separated(fragment, name)
    tools = f"amaranth {version('amaranth')} and {yosys.version()}"
    tools = f"Generated by minifloat-rtl {version('minifloat-rtl')} with {tools}."
    banners = [[name, *header, tools, "You may use this Verilog without restrictions."]]
    banners += [[f"{part.name}: {part.component.summary}"] for part in parts]
    texts: list[str] = []
    for banner, loaded in zip(banners, _netlists(component, fragment, name, parts), strict=True):
        lines = [line for text in banner for line in comment(text, indent="")]
        own = verilog.module(loaded.name, in_chapters(joined(loaded)), KEYWORDS | {loaded.name})
        texts.append("\n".join([*lines, "", own if loaded.name == name else _IN_OTHER_FILE.format(own)]))
    return "\n".join(texts)


def netlist(component: wiring.Component, name: str) -> dataflow.Netlist:
    """The netlist of a component in chapters; parts that it repeats are not separate."""
    (flat,) = _netlists(component, Fragment.get(component, None), name, ())
    return flat


def _netlists(
    component: wiring.Component, fragment: Fragment, name: str, parts: Sequence[Part]
) -> list[dataflow.Netlist]:
    """The netlists in chapters of a component and of the parts that are separate from its fragment."""
    sources = [_Source(name, component, fragment, {port for port, _, _ in flat_ports(component)})]
    read = {part.name: {port for port, flow, _ in flat_ports(part.component) if flow == In} for part in parts}
    for part in parts:  # outer ones come first
        for module, port in sources[-1].pins():
            read[module].add(port)
        sources.append(_Source(part.name, part.component, part.fragment, read[part.name]))
    keep = "".join(_KEEP.format(name=part.name) for part in parts)
    script = _SCRIPT.format(parts=keep, between=_BETWEEN if parts else "", reduced=re.sub(r"\b(?=\w)", "t:$", _REDUCED))
    top, *others = (source.with_pins(read) for source in sources)
    il = "\n".join([top, *(other.replace("attribute \\top 1\n", "") for other in others)])
    text = yosys.run(script, {"module.il": il}, ["module.json"])["module.json"]
    chapters, notes = ({source.name: getattr(source, kind) for source in sources} for kind in ("chapters", "notes"))
    loaded = dataflow.load(text, chapters, notes)
    # Clock and reset come first. An unread reset is no port.
    own = {port for port, _, _ in flat_ports(component)}
    used = [port for port in loaded[0].ports if port[1] in own or not loaded[0].read.isdisjoint(port[2])]
    loaded[0] = replace(loaded[0], ports=tuple(sorted(used, key=lambda port: port[1] in own)))
    return [in_chapters(item) for item in loaded]


_CELL = re.compile(r"(?<=^  cell \\)(\S+)( \\instance\n)((?:    connect .*\n)+)", flags=re.M)
_PIN = re.compile(r"^    connect \\(\S+) (.*)\n", flags=re.M)


class _Source:
    """RTLIL of a fragment, and by the paths of its signals the titles of their chapters, and comments on some.

    Outputs that are not in ``ports`` remain signals.
    """

    def __init__(self, name: str, component: wiring.Component, fragment: Fragment, ports: Collection[str]):
        own = [(port, value, None) for port, _, value in flat_ports(component) if port in ports]
        il, paths = rtlil.convert_fragment(fragment, own, name, emit_src=False)
        # Yosys takes port number 0 as unset.
        self.il = re.sub(r"^(  wire .*?(?:input|output)) (\d+)", lambda m: f"{m[1]} {int(m[2]) + 1}", il, flags=re.M)
        self.name = name
        titles = {".".join(path): signal.attrs.get(ATTRIBUTE, "") for signal, path in paths.items()}
        self.notes = {".".join(path[1:]): signal.attrs[NOTE] for signal, path in paths.items() if NOTE in signal.attrs}
        pins, follows = dict[str, str](), dict[str, str]()
        for path, part, is_instance in repeated(fragment, name):
            if part.follows:
                follows[path] = part.follows
            for port, _, value in flat_ports(part) if is_instance else ():
                titles.pop(".".join(paths.get(value, ())), None)  # where another module reads it
                pins[f"{path}.{port}"] = part.heading
        self.chapters = chapters_by_path(self.il, titles | pins, {*pins.values()}, follows)

    def pins(self) -> Iterator[tuple[str, str]]:
        """The module and the port of each pin of an instance that is connected to a signal with a name."""
        for module, _, pins in _CELL.findall(self.il):
            yield from ((module, port) for port, signal in _PIN.findall(pins) if not signal.startswith("$"))

    def with_pins(self, ports: Mapping[str, Collection[str]]) -> str:
        """The RTLIL with the instances' ports that are in ``ports``, by module."""

        def chosen(cell: re.Match[str]) -> str:
            pins = "".join(pin[0] for pin in _PIN.finditer(cell[3]) if pin[1] in ports[cell[1]])
            return f"{cell[1]}{cell[2]}{pins}"

        return _CELL.sub(chosen, self.il)
