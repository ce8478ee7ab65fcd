"""Liberty libraries are read as they are written: units, tables, conditions, supply pins."""

import re

import pytest

from synth.area.liberty import GATES, Library, parse, read
from synth.energy import library
from synth.energy.cells import CellError, Table

HEAD = """
library (small) {
  /* a comment { with a brace */
  time_unit : "10ps"; voltage_unit : "100mV"; leakage_power_unit : 1uW;
  capacitive_load_unit (0.1, pf);
  nom_voltage : 10;
  default_cell_leakage_power : 7
  lu_table_template (delays) { variable_1 : input_net_transition; variable_2 : total_output_net_capacitance;
    index_1 ("0, 10"); index_2 ("0, 2"); }
  power_lut_template (energies) { variable_1 : total_output_net_capacitance; variable_2 : input_transition_time;
    index_1 ("0, 2"); index_2 ("0, 10"); }
  power_lut_template (passive) { variable_1 : input_transition_time; index_1 ("0, 10"); }
"""
TIMING = """
      timing () { related_pin : "A"; timing_type : combinational;
        cell_rise (delays) { values ("1, 2", \\
          "3, 4"); }
        cell_fall (delays) { index_1 ("0, 20"); values ("2, 4", "6, 8"); }
        rise_transition (delays) { values ("1, 1", "1, 1"); } fall_transition (scalar) { values ("3"); } }
      timing () { related_pin : "A"; timing_type : three_state_enable; cell_rise (scalar) { values ("1000"); } }
"""
INVERTER = f"""
  cell (INV) {{ area : 1; cell_leakage_power : 5;
    pin (A) {{ direction : input; capacitance : 2; }}
    pin (Y) {{ direction : output; function : "!A";{TIMING}
      internal_power () {{ related_pin : "A"; related_pg_pin : VDD;
        rise_power (energies) {{ values ("1, 2", "3, 4"); }} fall_power (scalar) {{ values ("-1"); }} }}
      internal_power () {{ related_pin : "A"; related_pg_pin : VSS;
        rise_power (scalar) {{ values ("10"); }} }}
    }} }}
"""
GATE = f"""
  cell ("NAND") {{ area : 2;
    leakage_power () {{ when : "A"; value : 2; }} leakage_power () {{ when : "!A"; value : 4; }}
    pin (A) {{ direction : input; capacitance : 1;
      internal_power () {{ when : "!B & Y"; power (passive) {{ values ("1, 2"); }} }} }}
    pin (B) {{ direction : input; capacitance : 1; }}
    pin (Y) {{ direction : output; function : "(A B)'";{TIMING.replace('"A"', '"A B"')}
      internal_power () {{ related_pin : "A B"; when : "B"; rise_power (scalar) {{ values ("1"); }} }}
      internal_power () {{ related_pin : "A"; rise_power (scalar) {{ values ("2"); }} }}
    }} }}
"""
LATCH = """
  cell (LATCH) { area : 1; latch (IQ, IQN) { enable : "G"; data_in : "D"; }
    pin (D) { direction : input; } pin (G) { direction : input; } pin (Q) { direction : output; function : "IQ"; } }
"""
SMALL = Library("small", f"{HEAD}{INVERTER}{GATE}{LATCH}}}")


def test_units_and_conditions():
    technology = library.technology([SMALL], ["INV", "NAND"])
    assert technology.voltage == pytest.approx(1.0)
    assert technology.load == pytest.approx(4 * 2 * 100.0)  # fF
    inverter = technology.cells["INV"]
    assert inverter.capacitances == pytest.approx((200.0,))
    assert inverter.leakage == pytest.approx(5e-3)  # µW as fJ/ps
    assert technology.cells["NAND"].leakage == pytest.approx(3e-3)  # the mean over conditions
    (output,) = inverter.outputs
    assert output.truth == b"\1\0"
    (arc,) = output.arcs
    fall, rise = arc.delays
    assert rise.at(50, 100) == pytest.approx((1 + 2 + 3 + 4) / 4 * 10)  # half of 10 x 10 ps and of 2 x 100 fF
    assert fall.at(50, 100) == pytest.approx((2 * 0.75 + 6 * 0.25 + 4 * 0.75 + 8 * 0.25) / 2 * 10)
    assert technology.slew == pytest.approx((1 + 3) / 2 * 10)


def test_supply_pins_are_added():
    (power,) = library.technology([SMALL], ["INV"]).cells["INV"].outputs[0].powers
    fall, rise = power.energies  # in units of 100 fF times (100 mV)²
    assert rise.at(0, 0) == pytest.approx((1 + 10) * 1.0)
    assert rise.at(100, 0) == pytest.approx((2 + 10) * 1.0)  # the second index is the slew
    assert rise.at(0, 200) == pytest.approx((3 + 10) * 1.0)
    assert fall.at(33, 44) == pytest.approx(-1.0)


def test_energies_with_conditions():
    gate = library.technology([SMALL], ["NAND"]).cells["NAND"]
    assert gate.outputs[0].truth == b"\1\1\1\0"
    first, second, other = gate.outputs[0].powers
    assert [power.pin for power in (first, second, other)] == [0, 1, 0]
    assert first.when == second.when == b"\0\0\1\1"
    assert other.when is None
    (passive,) = gate.passive
    assert (passive.pin, passive.when) == (0, b"\1\1\0\0")
    assert [table.at(50, 0) for table in passive.energies] == pytest.approx([1.5, 1.5])


def test_tables_continue_beyond_their_ends():
    table = Table((0.0, 1.0), (0.0, 1.0, 3.0), ((0.0, 1.0, 2.0), (10.0, 11.0, 12.0)))
    assert table.at(0.5, 2.0) == 6.5
    assert table.at(2.0, 5.0) == 23.0
    assert table.at(-1.0, -1.0) == -11.0


def test_only_the_inverter_is_read_besides_the_used_cells():
    assert set(library.technology([SMALL], ["INV"]).cells) == {"INV"}
    assert set(library.technology([SMALL], ["MISSING"]).cells) == {"INV"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("nom_voltage : 10;", "", "the library states no supply voltage (nom_voltage)"),
        ("internal_power ()", "other ()", "the library states no internal energies (internal_power)"),
        (
            "leakage_power",
            "leak",
            "the library states no leakage (leakage_power, cell_leakage_power or default_cell_leakage_power)",
        ),
        ('time_unit : "10ps"', 'time_unit : "10 hours"', "the library has the unit '10 hours', which is none of s"),
        (
            '"!B & Y"',
            '"!Z"',
            "the cell NAND has a function that cannot be read: 'Z' in the function '!Z' is not an input pin",
        ),
        ('"0, 20"', '"0, 0"', "the library has a table delays whose indices do not increase"),
        ('values ("1, 2", "3, 4")', 'values ("1, 2, 3")', "the library has a table energies with 3 values"),
        (
            'values ("1, 2", "3, 4")',
            'values ("1, 2", "3, four")',
            "the library cannot be read: a value of a table must be a number, not 'four'",
        ),
        (
            'values ("1, 2", "3, 4")',
            'values ("1, 2", "3, nan")',
            "the library cannot be read: a value of a table must be a number, not 'nan'",
        ),
        ("(0.1, pf)", "(0, pf)", "the library has the unit '0pf', which must be more than 0"),
        (
            "(0.1, pf)",
            "(1e, pf)",
            "the library cannot be read: the number of the unit '1epf' must be a number, not '1e'",
        ),
    ],
)
def test_libraries_that_lack_something(old, new, problem):
    assert old in SMALL.text
    with pytest.raises(CellError, match=rf"^{re.escape(problem)}$"):
        library.technology([Library("small", SMALL.text.replace(old, new))], ["INV", "NAND"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nom_voltage : 10;", "nom_voltage : 10; // nom_voltage : 20;"),
        ("cell_leakage_power : 5;", "cell_leakage_power : 5; // it's \" {\n"),
        ('time_unit : "10ps"', 'time_unit \\\n : "10ps"'),
        ("\n", "\r\n"),
        ("  cell (INV) {", "  // cell (INV) { area : 0.1; }\n  cell (INV) {"),
    ],
)
def test_comments_and_continued_lines_change_nothing(tmp_path, old, new):
    path = tmp_path / "small.lib"
    path.write_bytes(SMALL.text.replace(old, new).encode())
    assert library.technology([read(path)], ["INV", "NAND"]) == library.technology([SMALL], ["INV", "NAND"])


@pytest.mark.parametrize("stated", ["internal_power ()", "leakage_power", "cell_rise"])
def test_comments_state_nothing(stated):
    text = SMALL.text.replace(stated, "other ()" if "(" in stated else "other").replace(
        "library", f"// {stated}\nlibrary", 1
    )
    with pytest.raises(CellError, match=r"^the library (states no |has no inverter with delays)"):
        library.technology([Library("small", text)], [])


def test_files_for_several_voltages_are_no_library():
    other = Library("other", SMALL.text.replace("nom_voltage : 10;", "nom_voltage : 18;").replace("INV", "NOT"))
    with pytest.raises(CellError, match=r"^its files are for 1 and 1.8 V, not for one voltage$"):
        library.technology([SMALL, other], ["INV"])


def test_cells_that_cannot_be_simulated():
    with pytest.raises(CellError, match=r"^the cell LATCH is neither a gate nor a single flip-flop, and cannot"):
        library.technology([SMALL], ["LATCH"])


def test_cells_with_too_many_inputs():
    pins = " ".join(f"pin (P{number}) {{ direction : input; }}" for number in range(40))
    text = SMALL.text.replace(
        "  cell (INV)", f'  cell (WIDE) {{ area : 1; {pins} pin (Y) {{ function : "P1"; }} }}\n  cell (INV)'
    )
    with pytest.raises(CellError, match=r"^the cell WIDE has more than 16 inputs, and cannot be simulated$"):
        library.technology([Library("small", text)], ["WIDE"])


def test_a_library_without_delays():
    with pytest.raises(CellError, match=r"^the library has no inverter with delays, which energies need$"):
        library.technology([read(GATES)], ["INV"])
    with pytest.raises(CellError, match=r"^the library has no inverter with delays, which energies need$"):
        library.technology([parse(SMALL.text.replace('"!A"', '"A"'), "small")], ["INV"])
