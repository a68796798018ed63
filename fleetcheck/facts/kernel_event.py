"""A kernel log record and the event it amounts to. Runs on the controller; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetcheck.text import plain

TEXT_LIMIT = 200
_CLOCK = r"(?:[+\d.]+|[^\]\n]{0,24}\d\d:\d\d:\d\d[^\]\n<]{0,24}|[^\]\n\d:]{2,12}\d{1,2} \d\d:\d\d)"
_ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_PREFIX = re.compile(
    r"(?:.{0,200}?\bkernel(?:\[\d+\])?:\s+"  # a syslog daemon, journalctl, with the name of a file before it
    r"|[\w.-]{1,64}: (?=\[\s*[+\d]|<\d|kern\s*:|\d{4}-)|\d{1,9}[:-](?=[\[<])"  # a parallel shell's host; grep -n
    r"|\d{1,4},\d+,\d+,[^;\s]*;|<\d{1,3}>(?:1 )?"  # /dev/kmsg, dmesg -r, RFC 5424
    r"|kern\s*:\s*\w+\s*:\s*"  # dmesg -x
    rf"|{_ISO}:?\s+(?:\S+ kernel - - (?:-|\[[^\]]*\])\s+)?"
    rf"|\[\s*{_CLOCK}(?:\s*<\s*[+\d.]+>)?\s*\]:?\s*|\[\s*[TC]\d+\]\s*)*"
)
"""What stands before the kernel's words wherever its log is shown: dmesg's ways to tell the time, relays, shells. A program's own words
are none of it: a line that it quotes stays recognisable as quoted."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record of the kernel itself. seconds: since boot."""

    seconds: float
    text: str


@dataclass(frozen=True, slots=True)
class Event:
    """What one record, or a burst of them, amounts to.

    code: ``xid-79``, ``soft-lockup``; component, severity, action: as the catalogue or the text decides; kind and slot: the
    part it names (a PCI address, a device, a server), slot may be empty; count: records folded into it; cleared: it ends an
    earlier event of that code and slot instead; cause: the Xid a line says it was caused by; note: why the severity is not
    the catalogue's; repeat: from how many on the severity holds; by_line: every line counts
    towards that, not every burst.
    """

    code: str
    component: str
    severity: str
    action: str
    text: str
    seconds: float
    kind: str = ""
    slot: str = ""
    name: str = ""
    note: str = ""
    count: int = 1
    cleared: bool = False
    cause: int = 0
    repeat: int = 1
    by_line: bool = False

    @property
    def says(self) -> str:
        """One line for an operator: the record, how often, when."""
        times = f" ({self.count} lines)" if self.count > 1 else ""
        note = f"; {self.note}" if self.note else ""
        return f"{self.text}{times} at {self.seconds:.0f} s since boot{note}"


def record_of(line: Mapping[str, Any]) -> Record | None:
    """A record from the node's answer: None for what a program wrote to the kernel log (facility is not 0).

    Raises ValueError on a line that is no record.

    >>> record_of({"facility": 0, "seconds": 3.5, "text": "[    3.5] NVRM: loading"})
    Record(seconds=3.5, text='NVRM: loading')
    >>> record_of({"facility": 1, "seconds": 3.5, "text": "NVRM: Xid (PCI:0000:3b:00): 79, quoted by a program"})
    """
    facility, seconds, text = line.get("facility"), line.get("seconds"), line.get("text")
    if (
        not isinstance(text, str)
        or isinstance(seconds, bool)
        or not isinstance(seconds, (int, float))
        or not isinstance(facility, int)
    ):
        raise ValueError(f"{dict(line)!r:.120}")
    return Record(float(seconds), without_prefix(text)) if facility == 0 else None


def without_prefix(text: str) -> str:
    """The message without what a syslog relay put before it.

    >>> without_prefix("Okt 06 17:59:27 node-a kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=1122")
    'NVRM: Xid (PCI:0000:01:00): 79, pid=1122'
    """
    line = plain(text)
    found = _PREFIX.match(line)
    return line[found.end() if found else 0 :].strip()


def printable(text: str) -> str:
    """One line of at most 200 characters, control characters escaped.

    >>> printable("NVRM: a\\nNVRM: b\\x1b")
    'NVRM: a\\\\nNVRM: b\\\\x1b'
    """
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[:TEXT_LIMIT]
    )
    return shown if len(shown) <= TEXT_LIMIT else shown[: TEXT_LIMIT - 1] + "…"
