"""What rasdaemon and mcelog recorded of memory and machine checks. Runs on the controller.

rasdaemon's views disagree: its counters by DIMM, and "No Memory errors.", may stand at zero while its machine-check list holds an error
("Corrected error, no action required. errors"). So its lists are read. Its records outlive a boot: one dated before this boot is
history; one without a readable date counts.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts.growth import measured
from fleetcheck.facts.kernel_event import printable
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern
from fleetcheck.view import Parts, View

SECTIONS = ("memory", "mce", "extlog", "arm")
"""Lists of the daemon that speak of memory and processors; those of links and disks have checks of their own."""
HINTS = (("no such table", "; update rasdaemon"), ("unable to open database", "; is rasdaemon running, and recording (--record)?"))
NOT_INSTALLED = "program not found"
_NOT_RUNNING = re.compile(r"does not support this processor|client connect: (?:No such file|Connection refused)")
"""mcelog where it cannot work, or was installed and is not running: it records nothing."""
_HEADING = re.compile(r"^(?P<what>[A-Za-z].*?) (?:events?|records?|errors)(?: summary)?:\s*$|^(?P<bare>Disk) errors\s*$|"
                      r"^No (?P<none>.+?) errors?\.?\s*$")
"""The heading of disks alone is "Disk errors", without a colon in one of the views."""
_DATED = re.compile(r"^\d+ (?P<when>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4})\s")
_COUNT = re.compile(r"(?:^\s*(\d+) .*\berrors?\b|\berrors?: (\d+))")
_TOTAL = re.compile(r"(?P<kind>corrected|uncorrected) memory errors:\s*(?P<total>\d+) total", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One record, or several alike: seconds since 1970 where its date can be read."""

    section: str
    text: str
    seconds: float | None = None


class Daemon(View):
    """One record, as a part that may offend."""

    __slots__ = ("recorded",)

    def __init__(self, recorded: Recorded) -> None:
        super().__init__({}, "ras")
        self.recorded = recorded


def sections(text: str) -> tuple[dict[str, list[str]], bool]:
    """The lines below each heading of one of rasdaemon's views, and whether it is such a view at all.

    >>> sections("No Memory errors.\\n\\nMCE records summary:\\n\\t1 Corrected error, no action required. errors\\n")[0]["mce"]
    ['1 Corrected error, no action required. errors']
    """
    found: dict[str, list[str]] = {}
    current = None
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading:
            current = found.setdefault(_section(heading["what"] or heading["bare"] or heading["none"]), [])
        elif line.strip() and current is not None:
            current.append(line.strip())
    return found, bool(found)


def _section(title: str) -> str:
    word = title.split()[0].lower()
    return "pcie" if "aer" in title.lower() else word


def listed(text: str) -> list[Recorded]:
    """The records of ``ras-mc-ctl --errors``."""
    return [Recorded(name, line, _dated(line)) for name, lines in sections(text)[0].items() if name in SECTIONS for line in lines]


def _dated(line: str) -> float | None:
    found = _DATED.match(line)
    return datetime.datetime.strptime(found["when"], "%Y-%m-%d %H:%M:%S %z").timestamp() if found else None


def summed(text: str) -> list[Recorded]:
    """What ``ras-mc-ctl --summary`` counts above zero."""
    return [Recorded(name, line) for name, lines in sections(text)[0].items() if name in SECTIONS for line in lines if _counts(line)]


def _counts(line: str) -> bool:
    found = _COUNT.search(line)
    return not found or int(found[1] or found[2]) > 0


def totals(text: str) -> list[Recorded]:
    """What ``mcelog --client`` counts above zero; it prints nothing when it counts nothing."""
    return [Recorded("mcelog", " ".join(found[0].split())) for found in _TOTAL.finditer(text) if int(found["total"])]


class Ras(View):
    """The daemons of one node."""

    __slots__ = ()

    def since_boot(self) -> Parts[Daemon]:
        """Every record that is not history, with gaps where a daemon could not tell."""
        gaps: list[str] = []
        found = [*self._rasdaemon(gaps), *totals(self._said("mcelog", gaps))]
        return Parts([Daemon(each) for each in found], "records of hardware errors", unreadable=gaps)

    def _rasdaemon(self, gaps: list[str]) -> Iterator[Recorded]:
        """The list, and the sums of sections of which the list has no record."""
        errors, summary = (self._view(name, gaps) for name in ("errors", "summary"))
        records = listed(errors)
        boot = self.get("boot_time_seconds", int)
        yield from (each for each in records if each.seconds is None or isinstance(boot, Absent) or each.seconds >= boot)
        told = {each.section for each in records}
        yield from (each for each in summed(summary) if each.section not in told)

    def _view(self, name: str, gaps: list[str]) -> str:
        said = self._said(name, gaps)
        if said and not sections(said)[1]:
            gaps.append(f"ras-mc-ctl --{name}: not as expected: {said.strip()[:80]!r}")
        return said

    def _said(self, name: str, gaps: list[str]) -> str:
        """What a daemon's client printed; empty where it is not installed, a gap where it failed or is not in the answer.

        What it printed before it failed stands: ras-mc-ctl of rasdaemon 0.6 breaks off at a table that its daemon never made."""
        raw = self.raw.get(name) if isinstance(self.raw, Mapping) else None
        if _missing(raw):
            return ""
        try:
            ran = View(raw, f"ras.{name}")
            status, said = measured(ran.get("status", int)), str(measured(ran.get("stdout", str)))
            if status == 0:
                return said
            gaps.append(_ended(name, status, said, str(measured(ran.get("stderr", str)))))
            return said if sections(said)[1] else ""
        except NotMeasured as unmeasured:
            gaps.append(str(unmeasured))
        return ""


def _ended(name: str, status: int, said: str, complaint: str) -> str:
    """Why a client failed, and what to do where its version is known to."""
    words = " ".join((complaint or said).split())[:120]
    return f"{name} ended with {status}: {words}{next((hint for sign, hint in HINTS if sign in complaint), '')}"


def concern(record: Daemon) -> Concern:
    """A record as a finding."""
    return Concern(printable(f"{record.recorded.section}: {record.recorded.text}"))


def _missing(raw: Any) -> bool:
    if not isinstance(raw, Mapping):
        return False
    said = f"{raw.get('stdout', '')} {raw.get('stderr', '')}"
    return NOT_INSTALLED in str(raw.get("absent", "")) or (raw.get("status") not in (0, None) and bool(_NOT_RUNNING.search(said)))


def installed(data: Mapping[str, Any], names: Sequence[str] = ("errors", "summary", "mcelog")) -> bool:
    """Whether any client is there, or its absence was not established."""
    return not all(_missing(data.get(name)) for name in names)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Ras:
    """The daemons' records; skips where there is no such daemon: the kernel log and the EDAC counters are read anyway."""
    if not installed(data):
        pytest.skip("neither rasdaemon nor mcelog is installed and at work")
    return Ras(data, "ras")
