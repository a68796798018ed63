"""Values that grow while a sandbox runs: numbers, and text with numbers in it. Controller side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetcheck.sandbox.errors import SandboxError

KEYS = {"start", "per_second"}


@dataclass(frozen=True)
class Growing:
    """A whole number that grows: max(0, floor(start + per_second × seconds since the sandbox's epoch))."""

    start: float
    per_second: float


def growing(value: Any) -> Growing | None:
    """The growing number a value describes, or None where it is of another kind.

    >>> growing({"start": 5, "per_second": 2})
    Growing(start=5, per_second=2)
    """
    if isinstance(value, Growing) or not isinstance(value, Mapping) or not set(value) & KEYS:
        return value if isinstance(value, Growing) else None
    numbers = [value.get("start", 0), value.get("per_second", 0)]
    if set(value) - KEYS or any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        raise SandboxError(f"a growing number is {{start: NUMBER, per_second: NUMBER}}, not {dict(value)!r}")
    return Growing(*numbers)


def grows(content: Any) -> bool:
    """Whether a file's or output's content changes while the sandbox runs."""
    return any(isinstance(piece, Growing) for piece in pieces(content))


def pieces(content: Any) -> tuple[bytes | Growing, ...]:
    """A content in the parts to write one after another: bytes, and numbers that are computed when it is read.

    A mapping is a growing number on a line of its own, or ``text`` with the names in it that its other keys define.

    >>> pieces({"text": "TOTAL {n} of {all}", "n": {"start": 5, "per_second": 2}})
    (b'TOTAL ', Growing(start=5, per_second=2), b' of {all}')
    """
    if content is None or isinstance(content, bytes):
        return (content,) if content else ()
    if not isinstance(content, Mapping | Growing):
        return (_encoded(content),)
    number = growing(content)
    return (number, b"\n") if number else _filled(content)


def _filled(template: Any) -> tuple[bytes | Growing, ...]:
    text, names = template.get("text"), {name: template[name] for name in template if name != "text"}
    missing = [name for name in names if "{" + str(name) + "}" not in str(text)]
    if not isinstance(text, str) or missing:
        raise SandboxError(f"growing text is {{text: '… {{n}} …', n: {{start, per_second}}}}, not {dict(template)!r}")
    parts = re.split("({(?:" + "|".join(map(re.escape, names)) + ")})", text) if names else [text]
    return tuple(_part(part, names) for part in parts if part)


def _part(part: str, names: Mapping[str, Any]) -> bytes | Growing:
    value = names.get(part[1:-1], part) if part[0] == "{" else part
    return growing(value) or _encoded(value)


def _encoded(value: object) -> bytes:
    return str(value).encode("utf-8", "surrogateescape")
