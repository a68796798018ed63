"""What linuxptp says of a clock that is kept by PTP: the ports' state, the grandmaster, the offsets. Runs on the controller.

Two programs keep such a clock: ptp4l sets the network card's clock by the grandmaster's, phc2sys the system's by the card's. Either can
stop while the other goes on, so both are judged. pmc speaks for ptp4l; where it may not, and for phc2sys, the journal does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fleetcheck.absent import NotMeasured

NANOSECOND = 1e-9
SETTLING = ("UNCALIBRATED", "INITIALIZING", "PRE_MASTER")
_ROW = re.compile(r"^\s+(\w+)\s+(\S+)\s*$", re.MULTILINE)
_SYSTEM = re.compile(r"CLOCK_REALTIME (?:phc |sys )?(?:offset\s+(-?\d+)\s+(s\d)|rms\s+(\d+))")
_MASTER = re.compile(r"(?:master offset\s+(-?\d+)\s+(s\d)|^(?!.*CLOCK_REALTIME).*\brms\s+(\d+))", re.MULTILINE)
_BECAME = re.compile(r"port \d+[^:\n]*: \w+ to (\w+) on ")


@dataclass(frozen=True)
class Ptp:
    """What was told. states: of the ports; grandmaster: whether there is one, None untold; offsets_seconds by what is off; unlocked:
    programs whose servo has not locked."""

    states: tuple[str, ...] = ()
    grandmaster: bool | None = None
    offsets_seconds: Mapping[str, float] | None = None
    unlocked: tuple[str, ...] = ()

    @property
    def told(self) -> bool:
        """Whether PTP runs on this node at all."""
        return bool(self.states or self.offsets_seconds or self.grandmaster is not None)

    @property
    def trouble(self) -> str:
        """Why the clock follows no grandmaster; empty when it does. NotMeasured while a port is still settling."""
        if self.grandmaster is False:
            return f"PTP knows of no grandmaster (port {', '.join(self.states) or 'untold'})"
        if self.states and "SLAVE" not in self.states:
            if set(self.states) & set(SETTLING):
                raise NotMeasured(f"PTP is still settling: port {', '.join(self.states)}; ask again")
            return f"PTP follows no grandmaster: port {', '.join(self.states)}"
        if not self.offsets_seconds:
            raise NotMeasured("PTP told no offset")
        return f"{', '.join(self.unlocked)} has not locked" if self.unlocked else ""

    @property
    def worst_seconds(self) -> float:
        """The offset that is furthest from 0, of ptp4l's or of phc2sys'; NotMeasured when neither told one."""
        if not self.offsets_seconds:
            raise NotMeasured("PTP told no offset")
        return max(self.offsets_seconds.values(), key=abs)


def ptp(answers: str, journal: str) -> Ptp:
    """What pmc answered to its questions, and the last lines of ptp4l and phc2sys.

    >>> ptp("\\tx-1 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP\\n\\t\\tmaster_offset  -3\\n\\t\\tgmPresent  true\\n", "").grandmaster
    True
    """
    rows = _ROW.findall(answers) if "RESPONSE MANAGEMENT" in answers else []
    told = dict(rows)
    states = tuple(dict.fromkeys(value for name, value in rows if name == "portState")) or tuple(_BECAME.findall(journal)[-1:])
    present = told.get("gmPresent")
    offsets, unlocked = _logged(journal)
    asked = [told[name] for name in ("master_offset", "offsetFromMaster") if re.fullmatch(r"-?\d+(\.\d+)?", told.get(name, ""))]
    if asked:
        offsets["ptp4l"] = max((float(each) * NANOSECOND for each in asked), key=abs)
    return Ptp(states, None if present is None else present == "true", offsets, unlocked)


def _logged(journal: str) -> tuple[dict[str, float], tuple[str, ...]]:
    """The last offset of each program, and those whose servo was not locked in their last lines (s0: not yet, s1: about to step)."""
    offsets, unlocked = {}, []
    for name, pattern in (("ptp4l", _MASTER), ("phc2sys", _SYSTEM)):
        last = pattern.findall(journal)[-3:]
        for offset, _, rms in last[-1:]:
            offsets[name] = float(offset or rms) * NANOSECOND
            unlocked += [name] if {servo for _, servo, _ in last} <= {"s0", "s1"} else []
    return offsets, tuple(unlocked)
