"""Making node text safe to show: no control characters, no runaway length. Pure."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")


def plain(text: str) -> str:
    r"""The text without a terminal's colours.

    >>> plain("\x1b[31mred\x1b[0m")
    'red'
    """
    return _COLOUR.sub("", text)


def visible(text: str) -> str:
    r"""Control, bidirectional and unpaired surrogate characters as escapes; tab and newline stay.

    >>> visible("\x1b[31mred")
    '\\x1b[31mred'
    """
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def clean(text: str, limit: int) -> str:
    """Visible text of at most ``limit`` characters, saying how much was cut."""
    shown = visible(text)
    return shown if len(shown) <= limit else f"{shown[: limit - 28]}… ({len(shown) - limit + 28} more characters)"
