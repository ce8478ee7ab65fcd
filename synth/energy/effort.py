"""Our own gates as a technology without a process, by the method of logical effort.

The unit of capacitance is the input of a unit inverter, C; that of time is the delay of such an inverter per load of C,
a fifth of an FO4; that of energy is C·V². A gate's delay without load, its parasitic delay of p units, is the time that
a unit inverter takes for a load of p·C. It stands for such a capacitance inside the gate, which is charged with each
transition of the output; in gates of several stages it includes the inputs of the inner stages. Gates in larger sizes
have proportionally larger capacitances. There is no leakage.

The flip-flop has two latches, each a clocked inverter, an inverter and a clocked keeper, and inverters for its clock
and its output. Clocked gates have half the width of a unit inverter: their data inputs, and their outputs, have 1 C;
their clock inputs 1/3 C or 2/3 C. The capacitances inside are then

* 5 C with each transition of the clock: 2 C at the clock pin itself, beside the 1 C that its driver is charged with,
  the inverter's output 1 C, and 2 C behind it;
* 6 C with each transition of the first latch, which follows D while the clock is low, and when it falls if D differs
  from Q: the storage node 3 C, its complement 2 C, and the input of the second latch 1 C;
* 7 C with each transition of Q: the same in the second latch, and the output 1 C. The delay from the clock is 7 units.
"""

from functools import cache

from synth.area.groups import columns, evaluate
from synth.area.liberty import GATES, parse
from synth.area.liberty import Cell as Outline
from synth.area.timing import DRIVES, EFFORTS
from synth.energy.cells import FANOUT, Arc, Cell, Output, Power, State, Table, Technology, Truth

_FAR = 1000.0
"""A load; the delays are linear."""
_CLOCK, _FIRST, _SECOND = 5.0, 6.0, 7.0


def _constant(value: float) -> Table:
    return Table((0.0,), (0.0,), ((value,),))


def _energies(capacitance: float) -> tuple[Table, Table]:
    return (_constant(capacitance / 2),) * 2


def _delays(parasitic: float, drive: int) -> tuple[Table, Table]:
    return (Table((0.0,), (0.0, _FAR), ((parasitic, parasitic + _FAR / drive),)),) * 2


def _sized(outline: Outline, drive: int, suffix: str) -> Cell:
    loads, parasitics = EFFORTS[outline.name]
    (pin,) = outline.functions
    arcs = tuple(
        Arc(number, _delays(parasitics[name], drive), (_constant(0), _constant(0)))
        for number, name in enumerate(outline.inputs)
    )
    powers = tuple(
        Power(number, None, _energies(parasitics[name] * drive)) for number, name in enumerate(outline.inputs)
    )
    return Cell(
        outline.name + suffix,
        outline.inputs,
        tuple(loads[name] * drive for name in outline.inputs),
        (Output(pin, outline.truth(), arcs, powers),),
    )


def _flip_flop(outline: Outline) -> Cell:
    pins = ("C", "D", "state")

    def truth(function: str) -> Truth:
        return evaluate(function, columns(pins), 8)

    arcs = (Arc(0, _delays(_SECOND, 1), (_constant(0), _constant(0))),)
    output = Output("Q", truth("state"), arcs, (Power(0, None, _energies(_SECOND)),))
    falling = _constant((_CLOCK + _FIRST) / 2), _constant(_CLOCK / 2)
    passive = (
        Power(0, truth("D ^ state"), falling),
        Power(0, None, _energies(_CLOCK)),
        Power(1, truth("!C"), _energies(_FIRST)),
    )
    state = State(truth("D"), truth("C"), 0)
    return Cell(outline.name, pins[:2], (1.0, 1.0), (output,), passive, 0.0, state)


@cache
def technology() -> Technology:
    """The gates of ``gates.lib``, and the same in the sizes of :func:`synth.area.timing.gates_with_drives`."""
    outlines = parse(GATES.read_text(encoding="utf-8"), GATES.name).cells
    cells = [_flip_flop(outline) if outline.sequential else _sized(outline, 1, "") for outline in outlines]
    cells += [_sized(outline, drive, f"X{drive}") for outline in outlines if not outline.sequential for drive in DRIVES]
    words = "C·V², where C is the input capacitance of a unit inverter and V the supply voltage"
    return Technology({cell.name: cell for cell in cells}, "C·V²", words, "fo4", 5.0, 0.01, 1.0, float(FANOUT), 0.0)
