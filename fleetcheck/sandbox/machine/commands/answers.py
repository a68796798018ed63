"""How the output of a program is written down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Answers = dict[str, dict[str, Any]]


def says(stdout: str | Mapping[str, Any]) -> dict[str, Any]:
    """A program that ends well; its output may grow."""
    return {"stdout": stdout}


def fails(stderr: str, status: int = 1, stdout: str = "") -> dict[str, Any]:
    """A program that ends with this status."""
    return {"stdout": stdout, "stderr": stderr, "exit": status}


def rows(values: Mapping[str, object], separator: str = ": ", width: int = 0) -> str:
    """``name: value`` lines.

    >>> rows({"Stratum": 3}, width=16)
    'Stratum         : 3\\n'
    """
    return "".join(f"{name:<{width}}{separator}{value}\n" for name, value in values.items())


def spelled(names: Iterable[str], answer: dict[str, Any]) -> Answers:
    """The same answer under several spellings."""
    return dict.fromkeys(names, answer)
