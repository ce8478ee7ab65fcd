"""Cell libraries: ours follows the rule in its header; others are read, or refused in one sentence."""

import gzip
import re
from itertools import product

import pytest

from golden.refusal import BadValue
from hwgen.__main__ import main
from rtl_tests.support.optional import LIBERTY_FOLDER, NEEDS_SHARED
from synth.area import groups, liberty

CELLS = {
    "INV": (2, lambda a: not a),
    "BUF": (4, lambda a: a),
    "NAND2": (4, lambda a, b: not (a and b)),
    "NAND3": (6, lambda a, b, c: not (a and b and c)),
    "NAND4": (8, lambda a, b, c, d: not (a and b and c and d)),
    "NOR2": (4, lambda a, b: not (a or b)),
    "NOR3": (6, lambda a, b, c: not (a or b or c)),
    "NOR4": (8, lambda a, b, c, d: not (a or b or c or d)),
    "AND2": (6, lambda a, b: a and b),
    "OR2": (6, lambda a, b: a or b),
    "XOR2": (10, lambda a, b: a != b),
    "XNOR2": (10, lambda a, b: a == b),
    "AOI21": (6, lambda a, b, c: not ((a and b) or c)),
    "OAI21": (6, lambda a, b, c: not ((a or b) and c)),
    "AOI22": (8, lambda a, b, c, d: not ((a and b) or (c and d))),
    "OAI22": (8, lambda a, b, c, d: not ((a or b) and (c or d))),
    "MAJI3": (10, lambda a, b, c: a + b + c < 2),
    "MUX2": (12, lambda a, b, s: b if s else a),
}
"""Transistors and function of every combinational cell of gates.lib."""


def test_gates_have_the_function_of_their_names():
    cells = {cell.name: cell for cell in liberty.read(liberty.GATES).cells}
    assert set(cells) == {*CELLS, "DFF"}
    for name, (transistors, function) in CELLS.items():
        cell = cells[name]
        assert cell.area == transistors / 4
        rows = product((False, True), repeat=len(cell.inputs))  # the last value changes the fastest
        assert cell.truth() == bytes(bool(function(*values[::-1])) for values in rows), name
    assert cells["DFF"].area == 6
    assert cells["DFF"].sequential


def test_the_nand2_equivalent_is_one_in_gates():
    assert liberty.nand2_area([liberty.read(liberty.GATES)]) == 1


def test_the_nand2_is_identified_by_its_function():
    pins = "pin (X) {{ direction : input; }} pin (Y) {{ direction : input; }}"
    cell = f'cell ({{}}) {{{{ area : {{}}; {pins} pin (Z) {{{{ direction : output; function : "{{}}"; }}}} }}}}'
    odd, large, other = cell.format("ODD", 7, "X' + Y'"), cell.format("ND", 9, "!(X*Y)"), cell.format("NAND2", 3, "X Y")
    libraries = [
        liberty.parse(f"library (a) {{ {odd} }}", "a.lib"),
        liberty.parse(f"library (b) {{ {large} {other} }}", "b.lib"),
    ]
    assert liberty.nand2_area(libraries) == 7
    assert liberty.nand2_area(libraries[1:]) == 9
    assert liberty.nand2_area([]) is None
    bus = "bus (S) { bus_type : pair; direction : input; pin (S[1:0]) { direction : input; } }"
    assert liberty.nand2_area([liberty.parse(NAND.replace("area : 4;", f"area : 4; {bus}"), "x.lib")]) is None


@pytest.mark.parametrize(
    ("function", "meaning"),
    [
        ("A & B | C", lambda a, b, c: (a and b) or c),
        ("!A B' ^ C", lambda a, b, c: not a and (not b) != c),
        ("A*B^C", lambda a, b, c: a and b != c),
        ("A ^ B C", lambda a, b, c: a != b and c),
        ("A+B^C", lambda a, b, c: a or b != c),
        ("(A+B)*C'", lambda a, b, c: (a or b) and not c),
        ("!(A^B)", lambda a, b, c: a == b),
        ("1", lambda a, b, c: True),
    ],
)
def test_functions_follow_the_notation(function, meaning):
    rows = product((False, True), repeat=3)
    table = groups.evaluate(function, groups.columns("ABC"), 8)
    assert table == bytes(bool(meaning(*values[::-1])) for values in rows)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        ("A & D", "'D' in the function 'A & D' is not an input pin"),
        ("(A", "a parenthesis is never closed in the function '\\(A'"),
        ("A )", "\\) is out of place in the function 'A \\)'"),
        ("A &", "the end is out of place in the function 'A &'"),
        ("(" * 100_000 + "A" + ")" * 100_000, r"too many parentheses are nested in the function '\({99}\.\.\."),
        ("!" * 100_000 + "A", r"too many parentheses are nested in the function '!{99}\.\.\."),
    ],
)
def test_bad_functions(function, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        groups.evaluate(function, {"A": 1}, 1)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"module m; endmodule", "{} is not a liberty library: line 1 cannot be read: 'module m; endmodule'"),
        (b"", "{} is not a liberty library: there must be one library group, not 0"),
        (
            b"library (x) {\ncell (A) { area : 1; }",
            "{} is not a liberty library: line 1 has an opening brace that is never closed",
        ),
        (b"library (x) { } }", "{} is not a liberty library: line 1 has an unmatched closing brace"),
        (b"library (x) { }", "{} is not a liberty library: no cell states an area"),
        (
            b"library (x) { cell (A) { area : big; } }",
            "{} is not a liberty library: the area of cell A must be a number of 0 or more, not 'big'",
        ),
        *(
            (
                f"library (x) {{ cell (A) {{ area : {area}; }} }}".encode(),
                f"{{}} is not a liberty library: the area of cell A must be a number of 0 or more, not {area!r}",
            )
            for area in ("nan", "inf", "-1", "1e999", "1_0", "١")
        ),
        (
            b'library (x) { cell (A) { area : 1; pin (Y) { direction : output; function : "%b"; } } }'
            % (b"(" * 100_000 + b"A" + b")" * 100_000),
            "{} is not a liberty library: the cell A has a function of more than 10,000 characters",
        ),
        (b"library (x) {\n" * 100_000, "{} is not a liberty library: line 65 is beyond 64 levels of groups"),
        (
            gzip.compress(b"library (x) { }", mtime=0)[:15] + b"\xff" * 9,
            "{} is not a liberty library: it is neither text nor compressed text",
        ),
        (
            b'library (x) {\n  include_file ("units.lib");\n  cell (A) { area : 1; } }',
            "{} is not a liberty library: line 2 includes a file, which tools do not read; put its text there",
        ),
        (
            b"library (x) { cell (A) {\n area : 1; pin (B) {\n include_file (pin.lib) } } }",
            "{} is not a liberty library: line 3 includes a file, which tools do not read; put its text there",
        ),
        *(
            (
                f"library (x) {{ cell (A) {{ area : 1; pin ({pins}) {{ direction : input; }} }} }}".encode(),
                "{} is not a liberty library: the cell A has one group for the pins B, C; write one each",
            )
            for pins in ("B, C", "B C", '"B", "C"')
        ),
        (b"\xff\xfe\x00", "{} is not a liberty library: it is neither text nor compressed text"),
        (
            gzip.compress(b"library (x) { }", mtime=0)[:-9],
            "{} is not a liberty library: it is neither text nor compressed text",
        ),
    ],
)
def test_bad_files(tmp_path, content, sentence):
    path = tmp_path / "cells.lib"
    path.write_bytes(content)
    with pytest.raises(BadValue, match=f"^liberty: {re.escape(sentence.format(path))}$"):
        liberty.read(path)


def test_missing_files(tmp_path):
    with pytest.raises(BadValue, match=r"none\.lib cannot be read: No such file or directory$"):
        liberty.read(tmp_path / "none.lib")
    with pytest.raises(BadValue, match=r"cannot be read: Is a directory$"):
        liberty.read(tmp_path)
    with pytest.raises(BadValue, match=r"a\0b cannot be read: no file can have this name$"):
        liberty.read("a\0b")


def test_files_that_are_too_large(tmp_path, monkeypatch):
    """What a small compressed file unpacks to is limited, and is not unpacked further."""
    path, sizes = tmp_path / "bomb.lib.gz", []
    monkeypatch.setattr(liberty, "text_of", lambda data: sizes.append(len(data)) or "")
    with gzip.open(path, "wb", 1) as file:
        for _ in range(300):
            file.write(b" " * (1 << 20))
    assert path.stat().st_size < 1 << 21
    with pytest.raises(BadValue, match=rf"^liberty: {re.escape(str(path))} is larger than 256 MiB when unpacked$"):
        liberty.read(path)
    with pytest.raises(BadValue, match=r"^liberty: /dev/zero is larger than 256 MiB$"):
        liberty.read("/dev/zero")
    assert sizes == [(256 << 20) + 1] * 2


# -- the notation ------------------------------------------------------------------------------------------------------


def outline(text):
    return [(cell.name, cell.area, cell.inputs, dict(cell.functions)) for cell in liberty.parse(text, "x.lib").cells]


NAND = """library (x) {
  cell (ND) { area : 4; pin (A) { direction : input; } pin (B) { direction : input; }
    pin (Y) { direction : output; function : "!(A B)"; } } }
"""


@pytest.mark.parametrize(
    "text",
    [
        NAND.replace("area : 4;", "area : 4; // area : 0.5;\n"),
        NAND.replace("area : 4;", "/* area : 0.5; // */ area : 4;"),
        NAND.replace("area : 4;", "area : 4; area : 8;"),
        NAND.replace("  cell", "  // cell (Z) { area : 1; }\n  cell"),
        NAND.replace("  cell", "  // it's a \" and a {\n  cell"),
        NAND.replace("  cell", '  /* " { */\n  cell'),
        NAND.replace("  cell", '  comment : "http://x.y/{z; /* ";\n  cell'),
        NAND.replace("area : 4;", 'area : 4; revision : "}";'),
        NAND.replace("  cell", "  operating_conditions (a) { }\n\n  cell").replace("\n", "\r\n"),
        NAND.replace("area : 4;", "area \\\n : \\ \n 4\n"),
        NAND.replace("area : 4;", "area \\\r\n : \\\r\n 4\r\n"),
        "\ufeff" + NAND,
        NAND.replace("  cell", '  revision : "caf\xe9"; /* \xe9 */ // \xb5\n  cell'),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_ordinary_files_are_read(tmp_path, text, encoding):
    """Comments, quotes, line ends, continued lines, byte order marks, and bytes that are no UTF-8."""
    path = tmp_path / "x.lib"
    path.write_bytes(text.encode(encoding if text[0] != "\ufeff" else "utf-8"))
    library = liberty.read(path)
    assert outline(library.text) == outline(NAND)
    assert outline(library.for_tools) == outline(NAND)
    assert not re.search(r"//|\r|\ufeff", library.for_tools)
    strings = re.findall(r'"[^"]*"', groups.without_comments(library.for_tools))
    assert not re.search(r"/\*|[{}]", "".join(strings))


def test_names():
    text = NAND.replace("(ND)", '("N-D.1$_")').replace("(x)", '("x/2 <b>")')
    assert outline(text) == [("N-D.1$_", *outline(NAND)[0][1:])]
    assert liberty.parse(text, "x.lib").name == "x/2 <b>"


@pytest.mark.parametrize("name", ["3N", '"N X"', "N\x1b[31mX", "N<b>", "N\u202eX", "$nand", "$_NAND_", "N" * 257, ""])
def test_names_of_cells_that_tools_read_as_something_else(name):
    """Yosys's own cells begin with ``$``, and it writes a backslash before a digit; ABC ends at long names."""
    allowed = re.escape("must be a letter or _, then at most 255 letters, digits, _, ., $ and -, not ")
    with pytest.raises(BadValue, match=f"^liberty: x.lib is not a liberty library: the name of a cell {allowed}"):
        liberty.parse(NAND.replace("ND", name), "x.lib")


@pytest.mark.parametrize("name", ['"\x1b[31mred"', '"a\n b"', '"a\u202eb"', "../x", "x#2"])
def test_names_of_libraries_that_cannot_be_shown_or_read(name):
    with pytest.raises(BadValue, match=r"the name of the library must be printable characters, in quotes unless they"):
        liberty.parse(NAND.replace("(x)", f"({name})"), "x.lib")


def test_most_libraries_reach_the_tools_unchanged():
    library = liberty.read(liberty.GATES)
    assert library.for_tools == library.text


def test_functions_reach_the_tools_with_parentheses():
    """ABC binds AND tighter than XOR; Liberty, Yosys and OpenSTA do not."""
    texts = {
        "A*B^C": "(A*(B^C))",
        "A B' ^ C": "(A*(!B^C))",
        "A^B": "A^B",
        "A^B+C": "A^B+C",
        "A & B": "A & B",
        "!(A)": "!(A)",
        "1": "1",
    }
    for text, expected in texts.items():
        assert tools_get(text) == expected, text
    assert tools_get("A*B^C", quote="") == "(A*(B^C))"


INPUTS = " ".join(f"pin ({name}) {{ direction : input; }}" for name in "ABC")


def tools_get(function, quote='"'):
    """The function as tools read it; nothing else changes."""
    cell = "library (x) {{ cell (X) {{ area : 1; {} pin (Y) {{ direction : output; function : {}; }} }} }}"
    library = liberty.parse(cell.format(INPUTS, f"{quote}{function}{quote}"), "x.lib")
    (written,) = re.findall('"([^"]*)"', library.for_tools)
    assert library.for_tools == cell.format(INPUTS, f'"{written}"')
    return written


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("A*B \\\n ^C", "(A*(B^C))"),
        ("A*\\\nB+C", "((A*B)+C)"),
        ("A\n&B", "(A*B)"),
        ("A*B^C^0", "(A*(B^C))"),
        ("A*!(B^1^C)", "(A*!(!B^C))"),
        ("A*B+0", "(A*B)"),
        ("1|A", "1"),
        ("A 0", "0"),
        ("A'^1", "A"),
        ("A*C''", "(A*C)"),
        ("!(!(B^C))A", "((B^C)*A)"),
        ("! !A", "A"),
        ("(A B)'", "!(A*B)"),
    ],
)
def test_functions_that_abc_cannot_read_are_rewritten(function, expected):
    assert tools_get(function) == expected
    for text in (function.replace("\\", " "), expected):
        table = groups.evaluate(text, groups.columns("ABC"), 8)
        assert table == groups.evaluate(function.replace("\\", " "), groups.columns("ABC"), 8)


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("A*Q", "'Q' in the function 'A*Q' is not another pin"),
        ("Y", "'Y' in the function 'Y' is not another pin"),
        ("", "the end is out of place in the function ''"),
        ("A**B", "* is out of place in the function 'A**B'"),
        ("(A", "a parenthesis is never closed in the function '(A'"),
    ],
)
def test_functions_that_no_tool_reads(function, problem):
    sentence = re.escape(f"liberty: x.lib is not a liberty library: in the cell ND, {problem}")
    with pytest.raises(BadValue, match=f"^{sentence}$"):
        liberty.parse(NAND.replace("!(A B)", function), "x.lib")


def test_cells_that_abc_cannot_use_are_marked():
    """ABC leaves a cell out that has ``dont_use``, even if it is false."""
    many = NAND.replace("area : 4;", "area : 4;" + "".join(f" pin (C{n}) {{ direction : input; }}" for n in range(15)))
    for text in (NAND.replace("input", "inout"), many):
        assert liberty.parse(text, "x.lib").for_tools == text.replace("(ND) {", "(ND) { dont_use : true;")
    for stated, used in (("TRUE", False), ("true", False), ('"true"', False), ("false", True), ("FALSE", True)):
        text = NAND.replace("area : 4;", f"area : 4; dont_use : {stated};") + " "
        library = liberty.Library("x", text)
        assert len(library.cells) == used
        kept = "" if used else f"dont_use : {stated.lower()}"
        assert library.for_tools == text.replace(f"dont_use : {stated}", kept)


def test_a_cell_with_three_states_is_no_gate():
    text = NAND.replace("function :", 'three_state : "A"; function :')
    library = liberty.parse(text, "x.lib")
    assert library.cells[0].functions == {}
    assert library.for_tools == text
    assert liberty.nand2_area([library]) is None


@pytest.mark.parametrize("area", ["1e-320", "1e300"])
def test_areas_whose_sums_and_ratios_are_no_numbers(area):
    with pytest.raises(BadValue, match=r"the area of cell ND must be 0, or 1e-30 to 1e30, not [\d.e+-]+$"):
        liberty.parse(NAND.replace("area : 4", f"area : {area}"), "x.lib")


@pytest.mark.parametrize("between", ["\n", " \n ", "/* ( */\n/* { */ ", " // ) {\n", "\n\n"])
def test_braces_on_the_next_line(between):
    assert liberty.parse(NAND.replace("(ND) {", f"(ND){between}{{"), "x.lib").for_tools == NAND


def test_statements_outside_the_library():
    for text in ("x : 1;\n" + NAND, NAND + "x () { }"):
        with pytest.raises(BadValue, match=r"'x' is outside the library group$"):
            liberty.parse(text, "x.lib")


def test_odd_functions_have_the_area_of_plain_ones(tmp_path, capsys):
    """Through the tools: the same figures, and a proof that the module of these cells is the same."""
    areas = set()
    for name, function in (("ref", '"A*(B^C)"'), ("bare", "A*B^C "), ("odd", "\"A*\\\nB^!(!(C''))^0\"")):
        cell = f"cell (X9) {{ area : 0.25; {INPUTS} pin (Y) {{ direction : output; function : {function}; }} }}"
        (tmp_path / name).write_text(liberty.GATES.read_text().replace("(gates) {", "(gates)\n{ " + cell))
        words = ["decoder", "--format", "ocp_e4m3", "--liberty", str(tmp_path / name)]
        assert main(["area", *words, "--renamings", "1", "--jobs", "1"]) == 0
        areas.add(capsys.readouterr().out)
        assert main(["verify", *words]) == 0
        capsys.readouterr()
    assert len(areas) == 1


def test_a_nand_without_an_area_is_no_unit():
    assert liberty.nand2_area([liberty.parse(NAND.replace("area : 4", "area : 0"), "x.lib")]) is None


def test_compressed_is_the_same(tmp_path):
    path = tmp_path / "gates.lib.gz"
    path.write_bytes(gzip.compress(liberty.GATES.read_bytes()))
    assert liberty.read(path) == liberty.read(liberty.GATES)


# -- what a library must have ------------------------------------------------------------------------------------------


def cut(*names):
    """A library of some cells of gates.lib."""
    cells = re.findall(r"^  cell \((\w+)\) (.*?^  \}\n)", liberty.GATES.read_text(), re.M | re.S)
    return "library (cut) {\n" + "".join(f"  cell ({name}) {body}" for name, body in cells if name in names) + "}\n"


@pytest.mark.parametrize(
    ("cells", "lacks"),
    [
        ("BUF NAND2", "no inverter; add the file that contains it"),
        ("INV NAND2", "no buffer; add the file that contains it"),
        ("INV BUF XOR2 NAND3 MAJI3 MUX2 DFF", "no two-input gate; add the file that contains it"),
        ("NAND2 NOR2", "no inverter, no buffer; add the file that contains them"),
        ("DFF", "no inverter, no buffer, no two-input gate; add the file that contains them"),
    ],
)
def test_a_library_without_the_simplest_gates_is_refused(tmp_path, capsys, monkeypatch, cells, lacks):
    """Without them ABC crashes or, worse, produces a netlist with another function."""
    (tmp_path / "cut.lib").write_text(cut(*cells.split()))
    (tmp_path / "space.toml").write_text('formats = ["hif8"]\nliberty = ["cut.lib"]\n[decoder]\n')
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    block = ["decoder", "--format", "hif8", "--liberty", "cut.lib"]
    for words in (["area", *block], ["verify", *block], ["report", "--liberty", "cut.lib"], ["sweep", "space.toml"]):
        assert main(words) == 2
        assert f"the library cut.lib has {lacks}, separated by a comma\n" in capsys.readouterr().err
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("gate", ["NAND2", "NOR2", "AND2", "OR2"])
def test_the_files_of_a_library_count_together(tmp_path, gate):
    for name, cells in (("a", ("INV",)), ("b", ("BUF", gate))):
        (tmp_path / f"{name}.lib").write_text(cut(*cells))
    files = (str(tmp_path / "a.lib"), str(tmp_path / "b.lib"))
    (libraries,) = liberty.read_all([",".join(files)]).values()
    assert [[cell.name for cell in library.cells] for library in liberty.richest_first(libraries)] == [
        ["BUF", gate],
        ["INV"],
    ]


def test_cells_that_synthesis_may_not_use_do_not_count():
    text = cut("INV", "BUF", "NAND2").replace("cell (BUF) {", "cell (BUF) {\n    dont_use : true;")
    library = liberty.parse(text, "cut.lib")
    assert [cell.name for cell in library.cells] == ["INV", "NAND2"]
    with pytest.raises(BadValue, match=r"^liberty: the library cut\.lib has no buffer; "):
        liberty.check_gates([library], "cut.lib")


def test_a_latch_is_no_flip_flop():
    latch = liberty.parse(cut("INV", "DFF").replace("ff (IQ, IQN)", "latch (IQ, IQN)"), "cut.lib")
    assert [cell.sequential for cell in latch.cells] == [False, True]
    assert liberty.has_flip_flop([liberty.read(liberty.GATES)])
    with pytest.raises(
        BadValue,
        match=r"^liberty: the library cut \+ cut has no flip-flop, which m needs; add the file that contains one, ",
    ):
        liberty.check_flip_flop([latch, latch], "m")


# -- other libraries ---------------------------------------------------------------------------------------------------


@NEEDS_SHARED
@pytest.mark.parametrize(
    ("lacking", "lacks"), [("INVBUF", "no inverter, no buffer"), ("SIMPLE", "no two-input gate"), ("SEQ", None)]
)
def test_a_library_in_several_files(lacking, lacks):
    files = ",".join(
        str(LIBERTY_FOLDER / f"asap7_{part}_TT.lib.gz") for part in ("INVBUF", "SIMPLE", "SEQ") if part != lacking
    )
    if lacks:
        with pytest.raises(BadValue, match=f"has {lacks}; add"):
            liberty.read_all([files])
        return
    (libraries,) = liberty.read_all([files]).values()
    with pytest.raises(BadValue, match="has no flip-flop"):
        liberty.check_flip_flop(libraries, "m")


@NEEDS_SHARED
@pytest.mark.parametrize(("name", "area"), [("sky130hd_tt.lib.gz", 3.7536), ("sg13g2_typ.lib.gz", 7.2576)])
def test_real_libraries_are_read(name, area):
    assert liberty.nand2_area([liberty.read(LIBERTY_FOLDER / name)]) == area


def test_a_cell_in_two_files_is_refused(tmp_path):
    gates = liberty.read(liberty.GATES).text
    for name in ("a.lib", "b.lib"):
        (tmp_path / name).write_text(gates)
    first, second = (str(tmp_path / name) for name in ("a.lib", "b.lib"))
    with pytest.raises(BadValue, match=rf"^liberty: the cell INV is in {re.escape(first)} and in {re.escape(second)}$"):
        liberty.read_all([f"{first},{second}"])
    with pytest.raises(BadValue, match=rf"^liberty: the cell INV is twice in {re.escape(first)}$"):
        liberty.read_all([f"{first},{first}"])
