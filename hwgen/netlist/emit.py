"""Emission: the only way from an Amaranth component to Verilog, the text of one Verilog-2005 module."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

from amaranth.back import rtlil
from amaranth.hdl import Fragment, Value
from amaranth.lib import wiring

from golden.refusal import BadKind, BadValue
from hwgen.netlist import dataflow, verilog
from hwgen.netlist.book import ATTRIBUTE, chapters_by_path
from hwgen.netlist.chapters import in_chapters
from hwgen.netlist.joins import joined
from hwgen.netlist.layout import comment, span
from hwgen.tools import yosys

# proc -norom keeps case tables, which would become memories. wreduce has a list of cells because it breaks $shift
# (Yosys 0.70; rtl_tests/hwgen/test_emit.py proves the result); `dataflow` reduces the width of right shifts.
_SCRIPT = """
read_rtlil module.il
proc -norom
flatten -noscopeinfo
opt_expr
opt_merge
wreduce t:$add t:$sub t:$neg t:$mul t:$not t:$and t:$or t:$xor t:$shl t:$mux t:$pmux t:$eq t:$ne t:$lt t:$le t:$gt t:$ge
opt_clean
opt_expr
opt_merge
opt_clean
write_json module.json
"""

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
    """Verilog-2005 text of ``component`` as one module called ``name``.

    Signals keep their Python names, with the path of their instance if a name alone is ambiguous. An intermediate
    result without a name is named after the first signal that depends on it, with the suffix ``_part``. Chapters
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
    loaded = netlist(component, name)
    for path, _, value in component.signature.flatten(component):
        port = check_name("__".join(map(str, path)), "port name")
        if not len(Value.cast(value)):
            raise BadValue(f"port {port}", "must have at least one bit")
        if port == name:
            raise BadValue("name", f"must not be that of one of the module's ports, which {name!r} is")
    tools = f"amaranth {version('amaranth')} and {yosys.version()}"
    tools = f"Generated by minifloat-rtl {version('minifloat-rtl')} with {tools}."
    banner = [name, *header, tools, "You may use this Verilog without restrictions."]
    lines = [line for text in banner for line in comment(text, indent="")]
    return "\n".join([*lines, "", verilog.module(name, in_chapters(joined(loaded)), KEYWORDS | {name})])


def netlist(component: wiring.Component, name: str) -> dataflow.Netlist:
    """The netlist of a component in chapters."""
    own = {"__".join(map(str, path)): Value.cast(value) for path, _, value in component.signature.flatten(component)}
    ports = [(port, value, None) for port, value in own.items()]
    il, paths = rtlil.convert_fragment(Fragment.get(component, None), ports, name, emit_src=False)
    # Yosys takes port number 0 as unset.
    il = re.sub(r"^(  wire .*?(?:input|output)) (\d+)", lambda m: f"{m[1]} {int(m[2]) + 1}", il, flags=re.M)
    chapters = chapters_by_path(il, {".".join(path): signal.attrs.get(ATTRIBUTE, "") for signal, path in paths.items()})
    loaded = dataflow.load(yosys.run(_SCRIPT, {"module.il": il}, ["module.json"])["module.json"], chapters)
    # Clock and reset come first. An unread reset is no port.
    used = [port for port in loaded.ports if port[1] in own or not loaded.read.isdisjoint(port[2])]
    return in_chapters(replace(loaded, ports=tuple(sorted(used, key=lambda port: port[1] in own))))
