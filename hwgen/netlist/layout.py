"""Layout of Verilog text: expressions with their precedence, statements broken into lines, ranges and constants."""

import textwrap
from dataclasses import dataclass
from itertools import pairwise

LINE = 120
"""Longest line, in characters."""

CHOICE_LINE = 100
"""Longest statement with a choice (``?:``), in characters, that stays on one line."""

CHAINED = ("&", "|", "^")
"""Operators that may be chained without parentheses."""

_BREAKABLE = {*CHAINED, "+", "-", "*", "=="}
"""A line may be broken before these operators."""

ATOM, UNARY, BINARY, CHOICE = range(4)
"""Precedence: an atom needs no parentheses in any expression, a choice needs them in every one."""


@dataclass(frozen=True)
class Expression:
    """A Verilog expression: ``condition ? value :`` for each of ``choices``, then ``text``.

    ``operator`` is set if the expression is a chain of one of :data:`CHAINED`.
    """

    text: str
    precedence: int
    choices: tuple[tuple[str, str], ...] = ()
    operator: str = ""


def statement(left: str, right: Expression) -> list[str]:
    """Lines of ``left right;``. Choices have a line each unless all of them are short."""
    choices = [f"{condition} ? {value} :" for condition, value in right.choices]
    whole = " ".join([left, *choices, f"{right.text};"])
    indent = " " * (len(left) - len(left.lstrip()) + 2)
    if choices and (len(whole) > CHOICE_LINE or len(choices) > 2):
        return [left, *(line for part in [*choices, f"{right.text};"] for line in _lines(indent + part, indent))]
    return _lines(whole, indent)


def noted(lines: list[str], note: str) -> list[str]:
    """A statement with a comment, if there is one: behind it if both fit into a line, else above."""
    if not note:
        return lines
    if len(lines) == 1 and len(lines[0]) + len(note) + 5 <= LINE:
        return [f"{lines[0]}  // {note}"]
    return [*comment(note), *lines]


def comment(text: str, indent: str = "  ") -> list[str]:
    """Lines of a comment, by default within a module."""
    return _folded(f"{indent}// {text}", f"{indent}//  ")


def _lines(line: str, indent: str) -> list[str]:
    """A line, or several if it is too long: broken before operators outside all parentheses and after commas inside one
    pair of them; where that is not enough, at any blank.
    """
    if len(line) <= LINE:
        return [line]
    words, depth = line.split(), 0
    terms = [words[0]]
    for previous, word in pairwise(words):
        depth += sum(map(previous.count, "({[")) - sum(map(previous.count, ")}]"))
        if (depth == 0 and word in _BREAKABLE) or (depth == 1 and previous.endswith(",")):
            terms.append(word)
        else:
            terms[-1] += f" {word}"
    lines = [line[: len(line) - len(line.lstrip())] + terms[0]]
    for term in terms[1:]:
        if len(lines[-1]) + 1 + len(term) <= LINE:
            lines[-1] += f" {term}"
        else:
            lines.append(f"{indent}  {term}")
    return [part for text in lines for part in _folded(text, f"{indent}  ")]


def _folded(line: str, indent: str) -> list[str]:
    return textwrap.wrap(line, LINE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def span(width: int, low: int = 0) -> str:
    """The range in a declaration, with a blank after it; empty for a single bit 0."""
    return "" if width == 1 and not low else f"[{low + width - 1}:{low}] "


def literal(digits: str) -> str:
    """A constant, given as binary digits: binary up to four bits or with don't-cares, else hexadecimal."""
    width = len(digits)
    if width <= 4 or "?" in digits:
        return f"{width}'b{digits}"
    return f"{width}'h{int(digits, 2):0{(width + 3) // 4}x}"
