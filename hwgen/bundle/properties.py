"""Properties for SymbiYosys: what must hold of a block whoever wrote it. (``hwgen verify`` proves more: every input against golden.)"""

from collections.abc import Sequence

import golden
from golden import Format, Kind
from golden.rows import Overflow, Rounding
from hwgen.blocks.design import Design
from hwgen.bundle.testbench import Vector
from hwgen.datapath.code_ports import expression
from hwgen.netlist.ports import Port

_MONOTONE = (Rounding.TIES_TO_EVEN, Rounding.TIES_TO_AWAY, Rounding.TOWARD_ZERO)


def properties(design: Design, ports: Sequence[Port], vectors: Sequence[Vector]) -> str:
    """Module ``NAME_properties``, which asserts what must hold of ``NAME``.

    Parameters
    ----------
    design : Design
        Of a kind that ``hwgen generate`` writes.
    ports : sequence of Port
        Of its module.
    vectors : sequence of Vector
        What golden says; of a decoder that is all codes, in order.
    """
    match design.kind:
        case "pe":
            found = _pe(design, ports)
        case _ if design.stages:
            found = _pipeline(design, ports)
        case "decoder":
            found = _decoder(design, ports, vectors)
        case "encoder":
            found = _encoder(design, ports)
        case "dot":
            found = _dot(design, ports)
        case "readout":
            found = _readout(design, ports)
        case _:
            found = _mac(design, ports)
    return "\n".join([f"// Properties of {design.name}; {design.name}.sby proves them.", f"module {design.name}_properties (", *found, ""])


def _instance(name: str, ports: Sequence[Port], suffix: str = "", **changed: str) -> list[str]:
    """An instance whose outputs are wires with ``suffix``; inputs are this module's unless ``changed`` says otherwise."""
    lines = [f"  wire {port.range}{port.name}{suffix};" for port in ports if port.direction == "output"]
    links = ", ".join(f".{p.name}({p.name + suffix if p.direction == 'output' else changed.get(p.name, p.name)})" for p in ports)
    return [*lines, f"  {name} dut{suffix} ({links});"]


def _head(ports: Sequence[Port], *more: Port) -> list[str]:
    inputs = [*(port for port in ports if port.direction == "input"), *more]
    return [*(f"  input wire {port.range}{port.name}," for port in inputs[:-1]), f"  input wire {inputs[-1].range}{inputs[-1].name}", ");"]


def _decoder(design: Design, ports: Sequence[Port], vectors: Sequence[Vector]) -> list[str]:
    """The whole table where there is one; otherwise the flags exclude each other."""
    fmt = design.formats[0]
    lines = [*_head(ports), *_instance(design.name, ports)]
    if design.options["to"] == "unpacked":
        bits = next(port.width for port in ports if port.name == "significand")
        first = f"significand[{bits - 1}]" if bits > 1 else "significand"  # one bit alone has no index
        return [
            *lines, "  // no two classes at once, and a finite number other than zero is normalized", "  always @* begin",
            "    assert (is_zero + is_inf + is_nan <= 1);", f"    if (!is_zero && !is_inf && !is_nan) assert ({first});",
            "  end", "endmodule",
        ]  # fmt: skip
    width = golden.get(design.options["to"]).width
    rows = [f"      {fmt.width}'h{code:x}: expected = {width}'h{vector['bits']:x};" for code, vector in enumerate(vectors)]
    return [
        *lines, f"  reg [{width - 1}:0] expected;", "  // the golden model's table", "  always @* begin",
        f"    case ({expression('code', fmt)})", *rows, "    endcase", "    assert (bits == expected);", "  end", "endmodule",
    ]  # fmt: skip


def _encoder(design: Design, ports: Sequence[Port]) -> list[str]:
    """Codes of a number and its negative differ in their signs only; larger numbers have no smaller codes."""
    source, fmt = golden.get(design.options["from"]), design.formats[0]
    top = source.width - 1
    k = source.rows[-1].fraction_bits
    infinity = ((1 << source.rows[-1].exponent.bits) - 1) << k
    rounding, overflow = Rounding(design.options["rounding"]), Overflow(design.options["overflow"])
    monotone = rounding in _MONOTONE and not fmt.twos_complement and _in_order(fmt, rounding, overflow)
    lines = [*_head(ports, *([Port("other", "input", source.width)] if monotone else []))]
    lines += _instance(design.name, ports)
    lines += _instance(design.name, ports, "_negated", bits=f"{{~bits[{top}], bits[{top - 1}:0]}}")
    limit = f"{top}'h{infinity:x}"
    nan = f"bits[{top - 1}:0] > {limit}" if source.name != "dlfloat16" else f"&bits[{top - 1}:0]"
    lines += [f"  wire is_nan = {nan};", "  always @* begin"]
    if fmt.twos_complement:
        lines.append("    if (!is_nan) assert (code_negated == -code);")
    else:
        low = f"[{fmt.width - 2}:0]"
        lines.append(f"    if (!is_nan) assert (code_negated{low} == code{low});")
    lines.append("  end")
    if monotone:
        lines += _instance(design.name, ports, "_other", bits="other")
        lines += [
            "  always @*", f"    if (!bits[{top}] && !other[{top}] && other <= bits && bits < {source.width}'h{infinity:x})",
            f"      assert (code_other[{fmt.width - 2}:0] <= code[{fmt.width - 2}:0]);",
        ]  # fmt: skip
    return [*lines, "endmodule"]


def _in_order(fmt: Format, rounding: Rounding, overflow: Overflow) -> bool:
    """Whether larger positive values have larger codes, and what finite numbers overflow to has the largest."""
    codes = fmt.magnitude_codes.tolist()
    beyond = {Overflow.INFINITY: fmt.infinity, Overflow.NAN: fmt.canonical_nan}.get(overflow)
    if beyond is not None and rounding is not Rounding.TOWARD_ZERO:  # which never overflows
        codes.append(beyond & (fmt.sign_bit - 1))
    return codes == sorted(codes)


def _mac(design: Design, ports: Sequence[Port]) -> list[str]:
    """A NaN operand makes a NaN; a product of zero leaves the accumulator as it is."""
    a, b = design.formats
    top = next(port.width for port in ports if port.name == "acc_out") - 1
    is_nan = _nan_sum(design, top)
    if design.options["accumulator"] == "exact":
        ordinary = f"acc_in[{top}:{top - 2}] == 0"
    else:
        field = f"acc_in[{top - 1}:{golden.get(design.options['accumulator']).rows[-1].fraction_bits}]"
        ordinary = f"{field} != 0 && !(&{field})"
    checks = []
    for (one, fmt), (other, other_fmt) in ((("a", a), ("b", b)), (("b", b), ("a", a))):
        nans, zeros = (_hit(one, fmt, kind) for kind in (Kind.NAN, Kind.ZERO))
        unlike = " || ".join(filter(None, (_hit(other, other_fmt, kind) for kind in (Kind.NAN, Kind.INF)))) or "0"
        checks += [f"    if ({nans}) assert ({is_nan});"] if nans else []
        checks.append(f"    if (({zeros}) && !({unlike}) && {ordinary}) assert (acc_out == acc_in);")
    return [*_head(ports), *_instance(design.name, ports), "  always @* begin", *checks, "  end", "endmodule"]


def _nan_sum(design: Design, top: int) -> str:
    """Whether a sum, whose first bit has the place ``top``, is NaN."""
    if design.options["accumulator"] == "exact":
        return f"acc_out[{top}]"
    nan = golden.get(design.options["accumulator"]).canonical_nan or 0
    return f"acc_out[{top - 1}:0] == {top}'h{nan & ((1 << top) - 1):x}"


def _dot(design: Design, ports: Sequence[Port]) -> list[str]:
    """A NaN in any lane makes a NaN; zeros in all lanes leave the accumulator as it is, but for the sign of its zero."""
    top = next(port.width for port in ports if port.name == "acc_out") - 1
    nan, codes = _nan_sum(design, top), []
    lines = [*_head(ports), *_instance(design.name, ports)]
    for name, fmt in zip("ab", design.formats, strict=True):
        for lane in range(design.lanes):
            word = f"{name}_{lane}"
            codes.append((word, fmt))
            lines.append(f"  wire [{fmt.width - 1}:0] {word} = {expression(name, fmt, lane, design.lanes)};")
    checks = [f"    if ({_among(word, fmt, Kind.NAN)}) assert ({nan});" for word, fmt in codes if Kind.NAN in fmt.kinds]
    silent = " && ".join(f"({_among(word, fmt, Kind.ZERO)})" for word, fmt in codes)
    if design.options["accumulator"] == "exact":
        ordinary, number = f"acc_in[{top}:{top - 2}] == 0", f"[{top}:0]"
    else:
        ordinary, number = f"!(&acc_in[{top - 1}:{golden.get(design.options['accumulator']).rows[-1].fraction_bits}])", f"[{top - 1}:0]"
    return [
        *lines, "  always @* begin", *checks, f"    if ({silent} && {ordinary})", f"      assert (acc_out{number} == acc_in{number});",
        "  end", "endmodule",
    ]  # fmt: skip


def _readout(design: Design, ports: Sequence[Port]) -> list[str]:
    """Numbers and their negatives give the same but for the sign."""
    wide, fmt = "rounding" not in design.options, golden.get(design.options["to"]) if len(design.formats) == 2 else design.formats[2]
    width = next(port.width for port in ports if port.name == "acc") - 3
    out = "bits" if wide else "code"
    low = f"[{fmt.width - 2}:0]"
    lines = [*_head(ports), *_instance(design.name, ports)]
    lines += _instance(design.name, ports, "_negated", acc=f"{{3'b000, -acc[{width - 1}:0]}}")
    same = f"{out}_negated == -{out}" if fmt.twos_complement else f"{out}_negated{low} == {out}{low}"
    return [
        *lines, f"  wire ordinary = acc[{width + 2}:{width}] == 0 && acc[{width - 1}:0] != {{1'b1, {width - 1}'b0}};",
        f"  always @* if (ordinary) assert ({same});", "endmodule",
    ]  # fmt: skip


def _among(word: str, fmt: Format, kind: Kind) -> str:
    """Whether a word is a code of a kind."""
    return " || ".join(f"{word} == {fmt.width}'h{code:x}" for code, found in enumerate(fmt.kinds) if found == kind) or "0"


def _pe(design: Design, ports: Sequence[Port]) -> list[str]:
    """From a reset to the first product, accumulators are 0, and nothing is to be reported of them."""
    zero = " && ".join(f"{port.name} == 0" for port in ports if port.direction == "output")
    return [
        *_head(ports), *_instance(design.name, ports), "  reg clean;", "  initial clean = 1'b0;",
        "  always @(posedge clk) if (rst) clean <= 1'b1; else if (enable) clean <= 1'b0;",
        f"  always @* if (clean) assert ({zero});", "endmodule",
    ]  # fmt: skip


def _pipeline(design: Design, ports: Sequence[Port]) -> list[str]:
    """``out_valid`` is what ``in_valid`` was; where the clock is not enabled, nothing moves."""
    names = {port.name for port in ports}
    ranks = design.stages
    lines = [*_head(ports), *_instance(design.name, ports)]
    lines += [
        f"  reg [{ranks - 1}:0] history;  // in_valid, the latest one lowest",
        f"  reg [{ranks - 1}:0] known;  // which of it has been seen", f"  initial known = {ranks}'b0;",
        "  always @(posedge clk)",
    ]  # fmt: skip
    shift = "begin history <= {history, in_valid}; known <= {known, 1'b1}; end"
    if "rst" in names:
        lines += [f"    if (rst) begin history <= {ranks}'b0; known <= ~{ranks}'b0; end", "    else"]
    lines.append(f"    {'if (enable) ' if 'enable' in names else ''}{shift}")
    lines.append(f"  always @* if (known[{ranks - 1}]) assert (out_valid == history[{ranks - 1}]);")
    if "enable" in names:
        outputs = [port.name for port in ports if port.direction == "output"]
        still = "!enable" + (" && !rst" if "rst" in names else "")
        lines += [
            "  reg still;", "  initial still = 1'b0;", f"  reg [{sum(p.width for p in ports if p.direction == 'output') - 1}:0] before;",
            "  always @(posedge clk) begin", f"    still <= {still};", f"    before <= {{{', '.join(outputs)}}};", "  end",
            f"  always @* if (still) assert ({{{', '.join(outputs)}}} == before);",
        ]  # fmt: skip
    return [*lines, "endmodule"]


def _hit(name: str, fmt: Format, kind: Kind) -> str:
    """Whether a code is of a kind; empty where the format has none."""
    codes = [code for code, found in enumerate(fmt.kinds) if found == kind]
    return " || ".join(f"{expression(name, fmt)} == {fmt.width}'h{code:x}" for code in codes)


def sby(design: Design) -> str:
    """The job file of SymbiYosys: ``sby -f NAME.sby`` in the bundle's folder."""
    name = design.name
    return f"""\
# Proves the properties in formal/{name}_properties.v; run it in this folder: sby -f {name}.sby
[options]
mode bmc
depth {2 * design.latency + 1}

[engines]
smtbmc z3

[script]
read_verilog -formal {name}.v {name}_properties.v
prep -flatten -top {name}_properties

[files]
{name}.v
formal/{name}_properties.v
"""
