"""Lines, blocks and sections of a terminal page, cut where they would hide the rest. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fleetcheck.text import clean, visible

MESSAGE_CHARACTERS = 200
NAMED = 4


@dataclass(frozen=True)
class Line:
    """One line of the page.

    indent: in steps of four columns. style: rich's name of a style, for terminals only. whole: never broken by us, so
    that a command can be copied.
    """

    text: str
    indent: int = 0
    style: str = ""
    whole: bool = False

    def __str__(self) -> str:
        """As plain text."""
        return "    " * self.indent + self.text


Block = Sequence[Line]
"""Lines that belong together: a finding with its nodes and parts."""


def said(text: str, limit: int = MESSAGE_CHARACTERS) -> str:
    r"""Text of a node on one line, with nothing in it that a terminal would obey.

    >>> said("bad\x1b[2J\n  news")
    'bad\\x1b[2J news'
    """
    return clean(" ".join(visible(text).split()), limit)


def several(words: Iterable[str], named: int = NAMED) -> str:
    """The first few words, and how many more there are.

    >>> several(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    unique = list(dict.fromkeys(words))
    more = f" and {len(unique) - named} more" if len(unique) > named else ""
    return ", ".join(unique[:named]) + more


def section(title: str, blocks: Sequence[Block], lines: int, style: str = "") -> list[Line]:
    """A titled section of at most so many lines below its title (0: all), and how many blocks were left out."""
    if not blocks:
        return []
    shown: list[Line] = []
    fitting = 0
    for block in blocks:
        if lines and fitting and len(shown) + len(block) > lines:
            break
        shown += block[:lines] if lines else block
        fitting += 1
    left = len(blocks) - fitting
    more = [Line(f"… and {left} more, see --all", 1)] if left else []
    return [Line(title, 0, style), *shown, *more]
