"""The table of options as a page of the docs: `python -m hwgen.cli.table > docs/options.md`."""

from inspect import Parameter

from golden import Format
from hwgen.blocks.block import Block, Option
from hwgen.blocks.catalog import BLOCKS

INTRODUCTION = """\
# Options of the blocks

This page is generated from the table of options (`python -m hwgen.cli.table`); a test compares it with the code.
On the command line an option is `--name`; in batch files, sweeps and JSON its key is the name; in Python it is the argument of
`hwgen.build` in the last column. Components such as `hwgen.Mac` have the same arguments, but a pipeline's: those are of
`hwgen.Pipelined`. `multiplier` and `adder` are measured (`hwgen area`), not generated.
"""


def page() -> str:
    """The page."""
    return "\n".join([INTRODUCTION, *(line for block in BLOCKS.values() for line in _section(block))])


def _section(block: Block) -> list[str]:
    lines = [f"## {block.name}", "", f"{block.help[0].upper()}{block.help[1:]}.", ""]
    lines += ["| option | values | default | meaning | in Python |", "|---|---|---|---|---|"]
    return [*lines, *(_row(block, option) for option in block.all_options), ""]


def _row(block: Block, option: Option) -> str:
    default = block.default(option)
    shown = "required" if default is Parameter.empty else "" if default is None else _word(default)
    values = "a format" if option.kind is Format else option.values
    help_text = option.help.replace("|", "\\|")
    return f"| `{option.name}` | {values} | {shown} | {help_text} | `{option.argument}` |"


def _word(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else f"`{default}`"


if __name__ == "__main__":
    print(page(), end="")
