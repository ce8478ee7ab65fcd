# amaranth: UnusedElaboratable=no
"""A block as data: a component, the options that make it, and its words; and a design, a block whose options are
chosen.

The command line, batch files, sweeps, the JSON beside a module, and the tables of docs and report are loops over these.
"""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from amaranth.hdl import Value
from amaranth.lib import wiring

from golden import WIDE, ExactAccumulator, Format
from golden.refusal import BadKind, BadValue, check_choice, check_flag, check_integer, past_checking
from hwgen.netlist.component import plain
from hwgen.netlist.emit import CLOCK, Port, check_name, emit
from hwgen.netlist.pipeline import MAX_STAGES, Pipelined

Component = Any
"""A component: each block has attributes of its own."""

RESETS = ("sync", "none")


@dataclass(frozen=True)
class Option:
    """One choice that makes a block.

    Attributes
    ----------
    name : str
        On the command line, in batches, sweeps and JSON, e.g. ``scale-bits``.
    kind : type
        Of its values: ``str``, ``int``, ``bool``, or ``Format``, which users give as a name or a TOML file's path.
    help : str
    allowed : tuple of str, or range, optional
        Every value that some design takes.
    argument : str
        The component's keyword; default: the name with underscores.
    attribute : str
        Where the component keeps the value that it uses; default: the argument.
    always : bool
        Whether a design shows the option at its default, too. Others show it where it is not the default.
    suffix : str or callable
        What the option adds to the module's name where it is shown: a template for its value, or a function of the
        component.
    line : callable, optional
        From a component to the line that the option adds to the module's header.
    default : optional
        What designs take where the component's own default is another one.
    spelled : callable, optional
        From a word as users write it to an allowed one; formats have several names.
    only_with : (str, value), optional
        The option and the value without which this one is refused; a value of None stands for any but 0.
    """

    name: str
    kind: type
    help: str
    allowed: tuple[str, ...] | range | None = None
    argument: str = ""
    attribute: str = ""
    always: bool = False
    suffix: str | Callable[[Component], str] = ""
    line: Callable[[Component], str] | None = None
    default: str | None = None
    only_with: tuple[str, str | None] | None = None
    spelled: Callable[[str], str] = str

    def __post_init__(self) -> None:
        argument = self.argument or self.name.replace("-", "_")
        object.__setattr__(self, "argument", argument)
        object.__setattr__(self, "attribute", self.attribute or argument)

    @property
    def values(self) -> str:
        """What is allowed, in words."""
        if self.kind is bool:
            return "true or false"
        if isinstance(self.allowed, range):
            return f"integers from {self.allowed[0]} to {self.allowed[-1]}"
        return ", ".join(self.allowed) if self.allowed else "names of formats, or paths of .toml files"


STAGES = Option(
    "stages",
    int,
    "ranks of registers; 0 is combinational",
    range(MAX_STAGES + 1),
    suffix="_s{}",
    line=lambda pipeline: (
        f"Pipeline: {pipeline.stages} rank{'s' if pipeline.stages > 1 else ''} of registers, a latency of as many cycles, one input a cycle"
    ),
)
RESET = Option(
    "reset", str, "with --stages: synchronous reset of the valid bits, or no reset port", RESETS, suffix="_no_reset",
    only_with=("stages", None),
)  # fmt: skip
CLOCK_ENABLE = Option(
    "clock-enable",
    bool,
    "with --stages: a port that lets the clock act where it is 1",
    suffix="_ce",
    only_with=("stages", None),
)
PIPELINE = (STAGES, RESET, CLOCK_ENABLE)
"""Options of every block that is combinational by itself; :class:`Pipelined` has them, not the block's component."""


@dataclass(frozen=True)
class Pipeline:
    """Ranks of registers in a combinational block.

    Attributes
    ----------
    stages : int
        0 to 16; the latency in cycles.
    reset : str
        ``sync``: port ``rst``, active high, clears the valid bits; ``none``: no such port.
    clock_enable : bool
        Whether there is a port ``enable``, without which everything stands still.
    """

    stages: int = 0
    reset: str = RESETS[0]
    clock_enable: bool = False

    @classmethod
    def of(cls, stages: int = 0, reset: str | None = None, clock_enable: bool = False) -> Pipeline:
        """Check the options and choose a reset where none is named."""
        stages, clock_enable = check_integer("stages", stages, 0, MAX_STAGES), check_flag("clock_enable", clock_enable)
        if not stages:
            for argument, chosen in (("reset", reset is not None), ("clock_enable", clock_enable)):
                if chosen:
                    raise BadValue(argument, "goes with stages only: without them there is no clock")
        return cls(stages, RESETS[0] if reset is None else check_choice("reset", reset, RESETS), clock_enable)


@dataclass(frozen=True)
class Block:
    """A kind of hardware that is generated.

    Attributes
    ----------
    name : str
        E.g. ``mac``.
    help : str
        What it does, in a phrase.
    component : type
        Takes formats positionally and the options by keyword; the home of every default but those that an option
        states.
    formats, options : tuple of Option
        In the order of the component's name, JSON and command.
    title : callable
        From a component to the first line of the header.
    lines : callable
        To the lines that follow, before those of its options.
    rules : callable
        To its rounding, overflow and NaN, in words.
    meanings : mapping
        What each port means, by its name; codes' select pins are described by the bundle.
    codes : tuple of str
        Inputs that are codes of the formats, in their order.
    generated : bool
        Whether ``hwgen generate`` writes it; parts of a MAC are only measured.
    clocked : bool
        Whether it holds registers by itself; others can be pipelined.
    """

    name: str
    help: str
    component: type[wiring.Component]
    formats: tuple[Option, ...]
    options: tuple[Option, ...]
    title: Callable[[Component], str]
    lines: Callable[[Component], list[str]] = lambda _: []
    rules: Callable[[Component], Mapping[str, str]] = lambda _: {}
    meanings: Mapping[str, str] = field(default_factory=dict)
    codes: tuple[str, ...] = ()
    generated: bool = True
    clocked: bool = False

    @cached_property
    def all_options(self) -> tuple[Option, ...]:
        """Formats, options, and those of a pipeline."""
        return (*self.formats, *self.options, *(() if self.clocked or not self.generated else PIPELINE))

    def default(self, option: Option) -> Any:
        """An option's default; None where the component chooses it, ``inspect.Parameter.empty`` where there is none."""
        if option.default is not None:
            return option.default
        home = Pipeline if option in PIPELINE else self.component
        return inspect.signature(home).parameters[option.argument].default

    def option(self, argument: str | None) -> Option | None:
        """The option of a Python argument, if it is one."""
        return next((option for option in self.all_options if option.argument == argument), None)

    def design(self, *formats: Format | str, name: str | None = None, **arguments: Any) -> Design:
        """The block with its options chosen.

        Parameters
        ----------
        formats : Format or str
            As the component takes them.
        name : str, optional
            Of the module; default: made of the options.
        arguments
            Of the component; and ``stages``, ``reset``, ``clock_enable`` of a :class:`Pipeline`.

        Raises
        ------
        Refusal
            Of an argument that is wrong.
        """
        for argument in arguments:
            if self.option(argument) is None:
                known = ", ".join(option.argument for option in self.all_options if option not in self.formats)
                raise BadKind(argument, f"is no option of the block {self.name}, which has {known or 'none'}")
        arguments = {
            option.argument: option.default for option in self.options if option.default is not None
        } | arguments
        pipelined = {option.argument for option in PIPELINE} if STAGES in self.all_options else set()
        pipeline = Pipeline.of(**{key: value for key, value in arguments.items() if key in pipelined})
        core = {key: value for key, value in arguments.items() if key not in pipelined}
        return Design(self, self.component(*formats, **core), pipeline, name)


@dataclass(frozen=True)
class Design:
    """A block whose options are chosen: it has a name, a header, and can be emitted.

    Attributes
    ----------
    block : Block
    core : wiring.Component
        The block's component, without a pipeline's registers.
    pipeline : Pipeline
    given_name : str or None
        The module's name where it is not made of the options.
    """

    block: Block
    core: Component
    pipeline: Pipeline
    given_name: str | None

    def __post_init__(self) -> None:
        if self.given_name is not None:
            check_name(self.given_name)
            if any(port.name == self.given_name for port in self.ports):
                raise BadValue("name", f"must not be that of one of the module's ports, which {self.given_name!r} is")

    def __reduce__(self) -> tuple[Any, ...]:  # signals cannot be sent to other processes, what makes them can
        return _rebuilt, (self.kind, self.block.component, *self.core._call, self.pipeline, self.given_name)

    @property
    def kind(self) -> str:
        """The block's name."""
        return self.block.name

    @cached_property
    def _shown(self) -> list[tuple[Option, Any]]:
        """Options that are not at their defaults, or always shown, with their values."""
        shown = []
        for option in self.block.all_options:
            value = getattr(self.pipeline if option in PIPELINE else self.core, option.attribute)
            default = self._positional[0] if option in self.block.formats[1:] else self.block.default(option)
            if value is not None and (option.always or value != default):
                shown.append((option, value))
        return shown

    @cached_property
    def options(self) -> dict[str, str | int | bool]:
        """What makes the block, by the names of the options; plain data."""
        return {option.name: plain(value) for option, value in self._shown}

    @cached_property
    def name(self) -> str:
        """Name of the Verilog module."""
        if self.given_name is not None:
            return self.given_name
        identifiers = dict.fromkeys(fmt.identifier for fmt in self._positional)
        return "_".join([*identifiers, self.kind]) + "".join(
            self._suffix(option, value) for option, value in self._shown
        )

    def _suffix(self, option: Option, value: Any) -> str:
        if callable(option.suffix):
            return option.suffix(self.core)
        return option.suffix.format(value.identifier if isinstance(value, Format) else plain(value))

    @property
    def header(self) -> tuple[str, ...]:
        """Lines of the comment on top of the Verilog."""
        owners = ((self.pipeline if option in PIPELINE else self.core, option.line) for option, _ in self._shown)
        lines = [line(owner) for owner, line in owners if line is not None]
        options = ", ".join(key if value is True else f"{key} {value}" for key, value in self.options.items())
        return (self.block.title(self.core), *self.block.lines(self.core), *lines, f"Options: {options}")

    @property
    def _positional(self) -> tuple[Format, ...]:
        return tuple(getattr(self.core, option.attribute) for option in self.block.formats)

    @cached_property
    def formats(self) -> tuple[Format, ...]:
        """Formats of codes: of one operand, or of both; and the one that a readout rounds to, if it is one of codes."""
        others = (value for option, value in self._shown if option.kind is Format and option not in self.block.formats)
        return (*self._positional, *(fmt for fmt in others if fmt.name not in WIDE))

    @property
    def codes(self) -> dict[str, Format]:
        """Inputs that are codes, as golden has them, and their formats; the codes of several lanes are one word, lane 0
        lowest.
        """
        return dict(zip(self.block.codes, self.formats, strict=False))

    @property
    def stages(self) -> int:
        """Ranks of registers between inputs and outputs, or the accumulator."""
        stages: int = getattr(self.core, "stages", 0) or self.pipeline.stages
        return stages

    @property
    def latency(self) -> int:
        """Clock cycles from inputs to outputs."""
        return self.stages + self.block.clocked

    @property
    def lanes(self) -> int:
        """Products of a step."""
        lanes: int = getattr(self.core, "lanes", 1)
        return lanes

    @property
    def scale_bits(self) -> int:
        """Bits of the port ``scale``; 0 where there is none."""
        bits: int = getattr(self.core, "scale_bits", 0)
        return bits

    @property
    def has_flags(self) -> bool:
        """Whether there is a port ``flags``."""
        return "flags" in self.core.signature.members

    @property
    def exact(self) -> ExactAccumulator | None:
        """The ``exact`` accumulator of a block that has one."""
        unit: ExactAccumulator | None = getattr(self.core, "exact", None)
        return unit

    @cached_property
    def component(self) -> wiring.Component:
        """What is emitted: the core, or the core with a pipeline's registers in it."""
        if not self.pipeline.stages:
            core: wiring.Component = self.core
            return core
        reset = self.pipeline.reset == RESETS[0]
        return Pipelined(self.core, self.pipeline.stages, reset=reset, clock_enable=self.pipeline.clock_enable)

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """Ports of the Verilog module, in their order."""
        clock = [Port(CLOCK, "input", 1)] if self.latency else []
        if self.latency and (self.block.clocked or self.pipeline.reset == RESETS[0]):
            clock.append(Port("rst", "input", 1))
        flat = self.component.signature.flatten(self.component)
        return (
            *clock,
            *(
                Port(
                    "__".join(map(str, path)), "input" if member.flow is wiring.In else "output", len(Value.cast(value))
                )
                for path, member, value in flat
            ),
        )

    def verilog(self) -> str:
        """Text of the module."""
        with past_checking():
            return emit(self.component, self.name, self.header)

    def command(self) -> str:
        """The options as they stand on a command line, e.g. ``mac --format hif8 --accumulator binary16``."""
        words = [self.kind]
        for option, value in self._shown:
            # the command line knows formats of files by their names
            text = value.source_name or value.name if isinstance(value, Format) else plain(value)
            words.append(f"--{option.name}" if text is True else f"--{option.name} {shlex.quote(str(text))}")
        return " ".join(words)


def _rebuilt(
    kind: str,
    component: type[wiring.Component],
    formats: tuple[Any, ...],
    options: dict[str, Any],
    pipeline: Pipeline,
    name: str | None,
) -> Design:
    """A design in another process: its block, which holds functions and so is not sent, stands beside the component."""
    beside = vars(sys.modules[component.__module__]).values()
    blocks = [
        value for value in beside if isinstance(value, Block) and value.component is component and value.name == kind
    ]
    if len(blocks) != 1:
        raise RuntimeError(
            f"{component.__module__} must hold the block {kind} of its component {component.__name__}, once"
        )
    return Design(blocks[0], component(*formats, **options), pipeline, name)
