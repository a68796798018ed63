"""What Slurm says of the node: whether it may work, and why not. Runs on the controller.

A state is BASE+FLAG+FLAG; any part decides. An administrator's drain and a reservation are no fault; a reason that Slurm
itself gives is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fleetcheck.absent import NotMeasured
from fleetcheck.facts.growth import measured, noted
from fleetcheck.inventory import Node
from fleetcheck.isolation import mark
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern
from fleetcheck.view import Nested, Reading, View

KNOWN = frozenset({
    "IDLE", "ALLOCATED", "ALLOC", "MIXED", "MIX", "COMPLETING", "COMP", "PLANNED", "PLND", "RESERVED", "RESV", "MAINT",
    "MAINTENANCE", "DRAIN", "DRAINED", "DRAINING", "DRNG", "DOWN", "FAIL", "FAILING", "FAILG", "ERROR", "NOT_RESPONDING",
    "NO_RESPOND", "INVAL", "INVALID_REG", "INVALID", "REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED", "CLOUD", "DYNAMIC_NORM",
    "DYNAMIC_FUTURE", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_UP", "POWERED_UP", "FUTURE",
    "PERFCTRS", "NPC", "BLOCKED", "UNKNOWN", "NOT_FOUND", "UNK", "EXTERNAL", "POWER", "POWER_DRAIN", "POWERING", "RESUME", "UNDRAIN",
    "REBOOT_CANCELED",
})
SIGNS = {"*": "NOT_RESPONDING", "$": "MAINT", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED", "#": "POWERING_UP", "~": "POWERED_DOWN",
         "%": "POWERING_DOWN", "!": "POWER_DOWN", "-": "PLANNED"}
"""The signs sinfo adds to a state."""
UNREGISTERED = frozenset({"INVAL", "INVALID", "INVALID_REG"})
"""The node answers, and has less than slurm.conf promises."""
OUT = frozenset({"DOWN", "NOT_RESPONDING", "NO_RESPOND", "FAIL", "FAILING", "FAILG", "ERROR", "INVAL", "INVALID", "INVALID_REG"})
DRAINED = frozenset({"DRAIN", "DRAINED", "DRAINING", "DRNG"})
PLANNED_OUT = frozenset({"MAINT", "MAINTENANCE", "RESERVED", "RESV", "REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED"})
"""Flags that say why a node is out: a reservation, or a reboot somebody asked for."""
DEAD = re.compile(r"not responding|unexpectedly rebooted|kill task failed|reboot timed out|resumetimeout reached", re.IGNORECASE)
UNFIT = re.compile(r"^low (?:realmemory|tmpdisk|cores|cpus|socket)|gres/\S+ count|duplicate jobid|slurmdspooldir is full", re.IGNORECASE)
"""Reasons for which slurmctld itself drains a node that registers with less than slurm.conf promises."""
SCRIPT = re.compile(r"(?:prolog|epilog)\b.*(?:error|fail)|batch job complete failure", re.IGNORECASE)
"""Slurm's own reasons: slurmctld's "Prolog error", slurmd's "Epilog error", "Prolog/Epilog failure", "batch job complete failure"."""
OWN = ("slurm", "root", "")
BY = re.compile(r"\s*\[([^@\]]*)@[^\]]*\]\s*$")


class Told(View):
    """One program's words about the node."""

    __slots__ = ()
    state = Reading(str)
    reason = Reading(str)
    gres = Reading(str)

    @property
    def states(self) -> frozenset[str]:
        """Every part of the state; NotMeasured for one that Slurm does not define."""
        parts = set()
        for word in measured(self.state).upper().split("+"):
            parts |= {word.rstrip("".join(SIGNS)), *(SIGNS[sign] for sign in word if sign in SIGNS)} - {""}
        if not parts or parts - KNOWN:
            raise NotMeasured(f"scheduler: {self.state!r:.60} is no state of a Slurm node")
        noted(f"{self.where}.states", sorted(parts))
        return frozenset(parts)

    @property
    def why(self) -> str:
        """The reason without who gave it; Slurm writes none."""
        text = BY.sub("", measured(self.reason))
        return "" if text.lower() in ("none", "(null)", "n/a") else text

    @property
    def by(self) -> str:
        """Who gave the reason; empty when it is not told."""
        found = BY.search(measured(self.reason))
        return found[1] if found else ""


class Scheduler(View):
    """Both programs' words. One that could not be asked leaves the other."""

    __slots__ = ()
    scontrol = Nested(Told)
    sinfo = Nested(Told)

    @property
    def out_of_work(self) -> Concern | None:
        """Why Slurm takes the node for dead."""
        return self._first(_out_of_work)

    @property
    def unexplained_drain(self) -> Concern | None:
        """A drain for which neither program has a reason."""
        return self._first(self._unexplained)

    @property
    def failed_script(self) -> Concern | None:
        """The prolog or epilog for which Slurm drained the node."""
        return self._first(_failed_script)

    @property
    def gpu_count(self) -> int:
        """GPUs in Gres: the number is the last field of each entry, types may be numbers too (gpu:1080:7)."""
        entries = re.findall(r"(?:^|,)gpu(?::[^,:(]+)?:(\d+)(?:\([^)]*\))?", measured(self.scontrol.gres))
        if not entries and "gpu" in self.scontrol.gres:
            raise NotMeasured(f"scheduler: no count of GPUs in Gres {self.scontrol.gres!r:.80}")
        return noted("scheduler.gpu_count", sum(int(count) for count in entries))

    def _unexplained(self, told: Told) -> Concern | None:
        states = told.states
        if not states & DRAINED or states & PLANNED_OUT or any(_reason_of(one) for one in (self.scontrol, self.sinfo)):
            return None
        return Concern(f"Slurm: {'+'.join(sorted(states))}, out of service and no reason is given")

    def _first(self, judge: Any) -> Concern | None:
        """What either says against the node; not measured when neither could be asked."""
        gaps = []
        for told in (self.scontrol, self.sinfo):
            try:
                concern: Concern | None = judge(told)
            except NotMeasured as gap:
                gaps.append(str(gap))
            else:
                if concern:
                    return concern
        if len(gaps) == 2 or (gaps and "not found" not in gaps[0]):
            raise NotMeasured("; ".join(gaps))
        return None


def _reason_of(told: Told) -> str:
    """Its reason, empty where it could not be asked."""
    try:
        return told.why
    except NotMeasured:
        return ""


def _out_of_work(told: Told) -> Concern | None:
    states, why = told.states, told.why
    if "NOT_FOUND" in states:
        return Concern("Slurm does not know this node", "degraded", "fix-config")
    shown = f"Slurm: {'+'.join(sorted(states))}, reason {why or 'none'!r}"
    if UNFIT.search(why) and states & (DRAINED | UNREGISTERED) and not states & (OUT - UNREGISTERED):
        return Concern(shown, "degraded", "fix-config")
    if states & OUT and (states & {"NOT_RESPONDING", "NO_RESPOND"} or DEAD.search(why) or told.by in OWN):
        return Concern(shown)
    if not states & DRAINED or _ours(why):
        return None
    return Concern(shown) if DEAD.search(why) else None


def _failed_script(told: Told) -> Concern | None:
    states, why = told.states, told.why
    out = states & (DRAINED | OUT)
    return Concern(f"Slurm: {'+'.join(sorted(states))}, reason {why!r}") if out and SCRIPT.search(why) and not _ours(why) else None


def _ours(why: str) -> bool:
    """A drain of ``fleetcheck isolate``, whose words are those of a finding: they must not stand in the way of a retest."""
    return mark.read(why) is not None


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Scheduler:
    """The node as Slurm tells it."""
    return Scheduler(data, "scheduler")
