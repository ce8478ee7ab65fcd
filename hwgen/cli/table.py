"""Prints the options of all blocks as a page of the docs: `python -m hwgen.cli.table > docs/options.md`."""

from inspect import Parameter

from golden import Format
from hwgen.blocks.block import Block, Option
from hwgen.tile.block import EVERY

INTRODUCTION = """\
# Options of the blocks

`python -m hwgen.cli.table` generates this page; a test compares it with the code.
On the command line an option is `--name`. In batch files, sweeps and JSON the name is the key. In Python the option is
the argument of `hwgen.build` in the last column. Components such as `hwgen.Mac` have the same arguments, except those
of a pipeline, which belong to `hwgen.Pipelined`. `multiplier`, `adder` and `compressor` are only
measured, by `hwgen area`. The [tile](tile.md) is made of other blocks: in Python its options are those of
`hwgen.tile.block.TILE.design`, and no sweep takes it.
"""


def page() -> str:
    """The page as Markdown."""
    return "\n".join([INTRODUCTION, *(line for block in EVERY.values() for line in _section(block))])


def _section(block: Block) -> list[str]:
    lines = [f"## {block.name}", "", f"{block.help[0].upper()}{block.help[1:]}.", ""]
    lines += ["| option | values | default | meaning | in Python |", "|---|---|---|---|---|"]
    return [*lines, *(_row(block, option) for option in block.all_options), ""]


def _row(block: Block, option: Option) -> str:
    default = block.default(option)
    text = "required" if default is Parameter.empty else "" if default is None else _word(default)
    values = "a format" if option.kind is Format else option.values
    help_text = option.help.replace("|", "\\|")
    return f"| `{option.name}` | {values} | {text} | {help_text} | `{option.argument}` |"


def _word(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else f"`{default}`"


if __name__ == "__main__":
    print(page(), end="")
