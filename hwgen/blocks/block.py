# amaranth: UnusedElaboratable=no
"""Blocks as data: a component, its options, and the texts about it. A design is a block with its options chosen.

The command line, batch files, sweeps, the JSON file of a module, and the tables of docs and report loop over these.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar

from amaranth.hdl import Module, Value
from amaranth.lib import wiring

from golden import WIDE, ExactAccumulator, Format
from golden.lfsr import EXPONENTS
from golden.refusal import BadKind, BadValue, Refusal, check_choice, check_flag, check_integer, past_checking
from hwgen.datapath.random import DEFAULT_SEED, DEFAULT_WIDTH, Fed, Random
from hwgen.netlist.component import plain
from hwgen.netlist.emit import CLOCK, Port, check_module_name, emit
from hwgen.netlist.pipeline import MAX_STAGES, Pipelined

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional arguments of a component, and those by keyword."""


class Core(Protocol):
    """What a block's component has, whatever the block; a block's texts are functions of its own component."""

    _call: Call
    of_others: tuple[str, ...]

    @property
    def signature(self) -> wiring.Signature:
        """The component's ports."""

    def check_ours(self) -> None:
        """Refuse what only other people's modules have."""

    def elaborate(self, platform: object) -> Module:
        """Return the hardware."""


C = TypeVar("C", bound=Core)

RESETS = ("sync", "none")


@dataclass(frozen=True)
class Option:
    """One option of a block."""

    name: str
    """On the command line, in batches, sweeps and JSON, e.g. ``scale-bits``."""
    kind: type
    """Type of the values: ``str``, ``int``, ``bool``, or ``Format``, which users write as a name or a path."""
    help: str
    allowed: tuple[str, ...] | range | None = None
    """All values that some design accepts."""
    argument: str = ""
    """Keyword of the component; default: the name with underscores."""
    attribute: str = ""
    """Attribute of the component that holds the value; default: the argument."""
    always: bool = False
    """Whether a design shows the option even at its default."""
    suffix: str | Callable[[Any], str] = ""
    """What a shown option adds to the module's name: a template for the value, or a function of the component."""
    line: Callable[[Any], str] | None = None
    """From a component to the line that a shown option adds to the module's header."""
    default: str | None = None
    """Default of designs, if it differs from the component's."""
    only_with: tuple[str, tuple[str, ...] | None] | None = None
    """The option that this option requires, and the values of it that will do; None stands for any but 0."""
    spelled: Callable[[str], str] = str
    """From a word as users write it to an allowed one; formats have several names."""
    listing: str = ""
    """The allowed values as text, if there are too many to name each."""

    def __post_init__(self) -> None:
        argument = self.argument or self.name.replace("-", "_")
        object.__setattr__(self, "argument", argument)
        object.__setattr__(self, "attribute", self.attribute or argument)

    @property
    def values(self) -> str:
        """The allowed values as text."""
        if self.kind is bool:
            return "true or false"
        if isinstance(self.allowed, range):
            return f"integers from {self.allowed[0]} to {self.allowed[-1]}"
        if self.listing:
            return self.listing
        return ", ".join(self.allowed) if self.allowed else "names of formats, or paths of .toml files"


STAGES = Option(
    "stages",
    int,
    "ranks of pipeline registers; 0 is combinational",
    range(MAX_STAGES + 1),
    suffix="_s{}",
    line=lambda pipeline: f"Pipeline: latency of {cycles(pipeline.stages)}, one input per cycle",
)
RESET = Option(
    "reset",
    str,
    "with --stages: synchronous reset of the valid bits, or no reset port",
    RESETS,
    suffix="_no_reset",
    only_with=("stages", None),
)
CLOCK_ENABLE = Option(
    "clock-enable", bool, "with --stages: the port enable, a clock enable", suffix="_ce", only_with=("stages", None)
)
PIPELINE = (STAGES, RESET, CLOCK_ENABLE)
"""Options of :class:`Pipelined`, for blocks whose component is combinational."""

PORT, LFSR = "port", "lfsr"
RANDOM = Option(
    "random",
    str,
    "with a stochastic rounding: where random bits come from, a port, or a linear-feedback shift register inside, with "
    "ports clk, rst and enable",
    (PORT, LFSR),
    suffix="_{}",
)
RANDOM_WIDTH = Option(
    "random-width",
    int,
    "bits of the shift register",
    range(min(EXPONENTS), max(EXPONENTS) + 1),
    listing=", ".join(map(str, EXPONENTS)),
    only_with=("random", (LFSR,)),
    suffix="_w{}",
)
RANDOM_SEED = Option(
    "random-seed",
    int,
    "state of the shift register after a reset",
    range(1, 1 << max(EXPONENTS)),
    listing="1 to 2^width - 1",
    only_with=("random", (LFSR,)),
    suffix="_seed{}",
)
GENERATOR = (RANDOM, RANDOM_WIDTH, RANDOM_SEED)
"""Options of :class:`Generator`, for combinational blocks with a port ``random``."""


def cycles(count: int) -> str:
    """A number of clock cycles as text."""
    return f"{count} cycle{'s' if count != 1 else ''}"


@dataclass(frozen=True)
class Pipeline:
    """Ranks of registers in a combinational block."""

    stages: int = 0
    """0 to 16; the latency in cycles."""
    reset: str = RESETS[0]
    """``sync``: port ``rst``, active high, clears the valid bits; ``none``: no such port."""
    clock_enable: bool = False
    """Whether there is a port ``enable``; all registers hold their values while it is 0."""

    @classmethod
    def of(cls, stages: int = 0, reset: str | None = None, clock_enable: bool = False) -> Pipeline:
        """Check the options and apply the default reset."""
        stages, clock_enable = check_integer("stages", stages, 0, MAX_STAGES), check_flag("clock_enable", clock_enable)
        if not stages:
            for argument, is_set in (("reset", reset is not None), ("clock_enable", clock_enable)):
                if is_set:
                    raise BadValue(argument, "needs stages: without them there is no clock")
        return cls(stages, RESETS[0] if reset is None else check_choice("reset", reset, RESETS), clock_enable)


@dataclass(frozen=True)
class Generator:
    """Where a block's random words come from."""

    random: str = PORT
    """``port``, or ``lfsr``: a :class:`hwgen.Random` in the module, in place of the port."""
    random_width: int = DEFAULT_WIDTH
    random_seed: int = DEFAULT_SEED
    """Arguments of :class:`hwgen.Random`."""

    @classmethod
    def of(cls, core: Any, pipeline: Pipeline, random: str = PORT, **register: int) -> Generator:
        """Check the options beside those of the component."""
        is_register = check_choice("random", random, (PORT, LFSR)) == LFSR
        if not is_register:
            for argument in register:
                raise BadValue(argument, f"needs random {LFSR!r}, not {random!r}")
            return cls()
        if "random" not in core.signature.members:
            raise BadValue("random", f"{LFSR!r} needs a stochastic rounding, which takes random bits")
        if pipeline.stages:
            raise BadValue("random", f"{LFSR!r} needs a module without stages; a pipeline takes the words of a port")
        generator = cls(random, **register)
        generator.source(core)
        return generator

    def source(self, core: Any) -> Random | None:
        """A new register for a component; None if it has a port."""
        if self.random == PORT:
            return None
        lanes, options = len(core.random) // core.random_bits, {"random_seed": self.random_seed}
        try:
            return Random(self.random_width, random_bits=core.random_bits, lanes=lanes, **options)
        except Refusal as refusal:
            raise (refusal.about("random_width") if refusal.argument == "width" else refusal) from None


@dataclass(frozen=True)
class Block(Generic[C]):
    """A kind of hardware to generate."""

    name: str
    """E.g. ``mac``."""
    help: str
    """A phrase that says what it does."""
    component: type[C]
    """Takes formats positionally and options by keyword. Its defaults apply where an option states none."""
    formats: tuple[Option, ...]
    options: tuple[Option, ...]
    """In the order of module names, JSON and commands."""
    title: Callable[[C], str]
    """From a component to the first line of the header."""
    lines: Callable[[C], list[str]] = lambda _: []
    """From a component to the lines that follow the title, before those of the options."""
    rules: Callable[[C], Mapping[str, str]] = lambda _: {}
    """From a component to texts on its rounding, overflow and NaN."""
    meanings: Mapping[str, str] = field(default_factory=dict)
    """Meaning of each port by name, without the select pins of codes, which the bundle describes."""
    codes: tuple[str, ...] = ()
    """Inputs that are codes of the formats, in the order of the formats."""
    generated: bool = True
    """Whether ``hwgen generate`` writes it; the halves of a MAC are only measured."""
    clocked: bool = False
    """Whether the component has registers; others can be pipelined."""

    @cached_property
    def all_options(self) -> tuple[Option, ...]:
        """Formats, options, and the options of a generator of random words and of a pipeline."""
        others = () if self.clocked or not self.generated else (*(GENERATOR if self.draws else ()), *PIPELINE)
        return (*self.formats, *self.options, *others)

    @property
    def draws(self) -> bool:
        """Whether it is combinational and may have a port ``random``."""
        return not self.clocked and any(option.argument == "random_bits" for option in self.options)

    def default(self, option: Option) -> Any:
        """An option's default: None if the component chooses it, ``inspect.Parameter.empty`` if it is required."""
        if option.default is not None:
            return option.default
        home = Pipeline if option in PIPELINE else Generator if self.draws and option in GENERATOR else self.component
        return inspect.signature(home).parameters[option.argument].default

    def option(self, argument: str | None) -> Option | None:
        """The option of a Python argument; None if there is no such option."""
        return next((option for option in self.all_options if option.argument == argument), None)

    def design(self, *formats: Format | str, name: str | None = None, **arguments: Any) -> Design[C]:
        """Return the block with its options chosen.

        Parameters
        ----------
        formats : Format or str
            Positional arguments of the component.
        name : str, optional
            Name of the module; default: derived from the options.
        arguments
            Arguments of the component, and the fields of a :class:`Pipeline` and of a :class:`Generator`.

        Raises
        ------
        Refusal
            If an argument is unknown or wrong.
        """
        for argument in arguments:
            if self.option(argument) is None:
                known = ", ".join(option.argument for option in self.all_options if option not in self.formats)
                raise BadKind(argument, f"is no option of the block {self.name}, which has {known or 'none'}")
        defaults = {option.argument: option.default for option in self.options if option.default is not None}
        around = [option.argument for option in self.all_options if option not in (*self.formats, *self.options)]
        groups = [
            {key: value for key, value in arguments.items() if key in around and self.option(key) in group}
            for group in (PIPELINE, GENERATOR)
        ]
        pipeline = Pipeline.of(**groups[0])
        core = self.component(*formats, **{k: value for k, value in (defaults | arguments).items() if k not in around})
        return Design(self, core, pipeline, Generator.of(core, pipeline, **groups[1]), name)


@dataclass(frozen=True)
class Design(Generic[C]):
    """A block with its options chosen: it has a name, a header and ports, and can be emitted."""

    block: Block[C]
    core: C
    """The block's component, without a pipeline's registers."""
    pipeline: Pipeline
    generator: Generator
    given_name: str | None
    """The module's name, if it is not derived from the options."""

    def __post_init__(self) -> None:
        if self.given_name is not None:
            check_module_name(self.given_name)
            if any(port.name == self.given_name for port in self.ports):
                raise BadValue("name", f"must not be that of one of the module's ports, which {self.given_name!r} is")

    def __reduce__(self) -> tuple[Any, ...]:  # signals cannot be pickled; the arguments of the component can
        around = self.pipeline, self.generator
        return _rebuilt, (self.block.title.__module__, self.kind, self.core._call, *around, self.given_name)

    @property
    def kind(self) -> str:
        """The block's name."""
        return self.block.name

    @cached_property
    def _shown(self) -> list[tuple[Option, Any]]:
        """Options that are always shown or not at their defaults, with their values."""
        shown = []
        for option in self.block.all_options:
            value = getattr(self.owner(option), option.attribute)
            default = self._positional[0] if option in self.block.formats[1:] else self.block.default(option)
            if value is not None and (option.always or value != default):
                shown.append((option, value))
        return shown

    def owner(self, option: Option) -> Any:
        """What has the option's value as an attribute: the component, or what is around it."""
        if option in PIPELINE:
            return self.pipeline
        return self.generator if self.block.draws and option in GENERATOR else self.core

    @cached_property
    def options(self) -> dict[str, str | int | bool]:
        """Values of the shown options by name, as plain data."""
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
        """Lines of the comment at the top of the Verilog."""
        owners = ((self.owner(option), option.line) for option, _ in self._shown)
        lines = [line(owner) for owner, line in owners if line is not None]
        lines += [register_line(self.source)] if self.generator.random == LFSR and self.source else []
        options = ", ".join(key if value is True else f"{key} {value}" for key, value in self.options.items())
        return (self.block.title(self.core), *self.block.lines(self.core), *lines, f"Options: {options}")

    @property
    def _positional(self) -> tuple[Format, ...]:
        return tuple(getattr(self.core, option.attribute) for option in self.block.formats)

    @cached_property
    def formats(self) -> tuple[Format, ...]:
        """Formats of codes: those of the block, and the target of a readout unless it is wide."""
        others = (value for option, value in self._shown if option.kind is Format and option not in self.block.formats)
        return (*self._positional, *(fmt for fmt in others if fmt.name not in WIDE))

    @property
    def codes(self) -> dict[str, Format]:
        """Formats of the inputs that are codes, by name; an input holds the codes of all lanes, lane 0 lowest."""
        return dict(zip(self.block.codes, self.formats, strict=False))

    @property
    def stages(self) -> int:
        """Ranks of registers between the inputs and the outputs; of a ``pe``, up to the accumulator."""
        return getattr(self.core, "stages", 0) or self.pipeline.stages

    @property
    def latency(self) -> int:
        """Clock cycles from inputs to outputs; 0 is combinational."""
        return self.stages + self.block.clocked

    @property
    def is_clocked(self) -> bool:
        """Whether the module has registers."""
        return self.latency > 0 or self.generator.random == LFSR

    @cached_property
    def source(self) -> Random | None:
        """The register that makes random words; None if the module has none."""
        return self.core if isinstance(self.core, Random) else self.generator.source(self.core)

    @property
    def lanes(self) -> int:
        """Number of products in a step, or of elements in a block."""
        return getattr(self.core, "lanes", 1)

    @property
    def scale_bits(self) -> int:
        """Width of the port ``scale``; 0 if there is none."""
        return getattr(self.core, "scale_bits", 0)

    @property
    def has_flags(self) -> bool:
        """Whether there is a port ``flags``."""
        return "flags" in self.core.signature.members

    @property
    def exact(self) -> ExactAccumulator | None:
        """The ``exact`` accumulator; None if the block has none."""
        return getattr(self.core, "exact", None)

    @cached_property
    def component(self) -> wiring.Component:
        """The component to emit: the core, or the core with registers in it or beside it."""
        if self.generator.random == LFSR and self.source is not None:
            return Fed(self.core, self.source)
        if not self.pipeline.stages:
            return self.core
        reset = self.pipeline.reset == RESETS[0]
        return Pipelined(self.core, self.pipeline.stages, reset=reset, clock_enable=self.pipeline.clock_enable)

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """Ports of the Verilog module, in the order of its header."""
        clock = [Port(CLOCK, "input", 1)] if self.is_clocked else []
        if self.is_clocked and (not self.pipeline.stages or self.pipeline.reset == RESETS[0]):
            clock.append(Port("rst", "input", 1))
        ports = []
        for path, member, value in self.component.signature.flatten(self.component):
            direction = "input" if member.flow is wiring.In else "output"
            ports.append(Port("__".join(map(str, path)), direction, len(Value.cast(value))))
        return (*clock, *ports)

    @property
    def ours(self) -> Design[C]:
        """The design without what only other people's modules have."""
        formats, options = self.core._call
        own = {name: value for name, value in options.items() if name not in self.core.of_others}
        return replace(self, core=type(self.core)(*formats, **own))

    def verilog(self) -> str:
        """Text of the Verilog module."""
        self.core.check_ours()
        with past_checking():
            return emit(self.component, self.name, self.header)

    def command(self) -> str:
        """Block and options as on the command line, e.g. ``mac --format hif8 --accumulator binary16``."""
        words = [self.kind]
        for option, value in self._shown:
            # a format from a file is written as the file's name
            text = value.source_name or value.name if isinstance(value, Format) else plain(value)
            words.append(f"--{option.name}" if text is True else f"--{option.name} {shlex.quote(str(text))}")
        return " ".join(words)


def register_line(source: Random) -> str:
    """The header's line on the words of a register."""
    words = f"{source.lanes} words" if source.lanes > 1 else "a word"
    register = f"{words} of {source.random_bits} bits in a cycle from a register of {source.width} bits"
    return f"Random: {register}, {source.random_seed:#x} after a reset; period 2^{source.width} - 1 bits"


def _rebuilt(module: str, kind: str, call: Call, pipeline: Pipeline, generator: Generator, name: str | None) -> Design:
    """Unpickle a design. Its block holds functions, which cannot be pickled: look for it in its title's module."""
    values = vars(import_module(module)).values()
    blocks = [block for block in values if isinstance(block, Block) and block.name == kind]
    if len(blocks) != 1:
        raise RuntimeError(f"{module} must define the block {kind} once, and its title")
    formats, options = call
    return Design(blocks[0], blocks[0].component(*formats, **options), pipeline, generator, name)
