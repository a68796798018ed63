"""Backend ``slurm``: a drain with our reason, by ``scontrol``. Running jobs end in their own time. Runs on the controller.

A state is BASE+FLAG+FLAG, with signs of sinfo in some versions; every part counts. Slurm has no compare-and-set: carry_out.py reads a
node just before it is drained, so that a drain of somebody else is overwritten only when it comes within that moment.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from fleetcheck.burnin.claims import ClaimError, Said, run
from fleetcheck.facts.scheduler import BY, DEAD, DRAINED, KNOWN, OUT, SIGNS
from fleetcheck.isolation.mark import read as mark_in
from fleetcheck.isolation.standing import BackendError, Standing
from fleetcheck.quoting import quoted

Ask = Callable[[Sequence[str]], Said]
FAILING = frozenset({"FAIL", "FAILING", "FAILG"})
AWAY = OUT | {"MAINT", "MAINTENANCE", "POWER_DOWN", "POWERING_DOWN", "BLOCKED"}
REBOOT = frozenset({"REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED"})
UNSURE = frozenset({"UNKNOWN", "UNK", "FUTURE", "NOT_FOUND", "DYNAMIC_FUTURE"})
EVERYTHING = "all"
"""What scontrol takes for every node: no node may be called so."""
_RECORD = re.compile(r"^NodeName=(\S+)", re.MULTILINE)


class Slurm:
    """One cluster. template: how it names a node."""

    name = "slurm"

    def __init__(self, template: str = "{name}", ask: Ask = run) -> None:
        self._template, self._ask = template, ask

    def read(self, nodes: Collection[str]) -> Mapping[str, Standing]:
        """One call, for one node or for all."""
        names = {self._called(node): node for node in nodes}
        said = self._said(["scontrol", "show", "node", *(names if len(names) == 1 else ())])
        if said.status and len(names) == 1 and re.search(r"[Nn]ode \S+ not found", said.stdout + said.stderr):
            return {}
        if said.status:
            raise BackendError(f"scontrol show node: {said.words}")
        return {names[name]: standing for name, standing in standings(said.stdout).items() if name in names}

    def isolate(self, node: str, reason: str, seen: Standing) -> None:
        """Drain it: jobs that run end in their own time."""
        self._update(self._argv("isolate", node, reason))

    def release(self, node: str, seen: Standing) -> None:
        """Take the drain back. UNDRAIN, unlike RESUME, leaves a node down that is down."""
        self._update(self._argv("release", node, ""))

    def shown(self, kind: str, node: str, reason: str) -> str:
        """The command."""
        return shlex.join(self._argv(kind, node, reason))

    def _argv(self, kind: str, node: str, reason: str) -> list[str]:
        change = ["State=DRAIN", f"Reason={reason}"] if kind == "isolate" else ["State=UNDRAIN"]
        return ["scontrol", "update", f"NodeName={self._called(node)}", *change]

    def _called(self, node: str) -> str:
        name = self._template.replace("{name}", node)
        if name.lower() == EVERYTHING:
            raise BackendError(f"a node called {name} cannot be addressed: scontrol takes that name for every node")
        return name

    def _update(self, argv: Sequence[str]) -> None:
        said = self._said(argv)
        if said.status:
            raise BackendError(f"{shlex.join(argv[:4])}: {said.words}")

    def _said(self, argv: Sequence[str]) -> Said:
        try:
            return self._ask(argv)
        except ClaimError as error:
            raise BackendError(f"{error}; is Slurm's scontrol on this machine, and its slurmctld up?") from None


def standings(said: str) -> dict[str, Standing]:
    """By Slurm's name of the node, out of ``scontrol show node``. A comment can hold anything, so what is told twice is in doubt."""
    found: dict[str, Standing] = {}
    for name, record in _records(said):
        twice = Standing("told twice", trouble=f"Slurm tells of {name} more than once")
        found[name] = twice if name in found else _standing(record)
    return found


def _records(said: str) -> Iterator[tuple[str, str]]:
    places = [match.start() for match in _RECORD.finditer(said)]
    for begin, end in zip(places, [*places[1:], len(said)], strict=False):
        record = said[begin:end]
        yield record.split(maxsplit=1)[0].removeprefix("NodeName="), record


def _standing(record: str) -> Standing:
    words, told = _values(record, r"^\s*State=(\S+)"), _values(record, r"^\s*Reason=(.*)$")
    if len(words) != 1 or len(told) > 1:
        return Standing("not understood", trouble=f"scontrol show node: {len(words)} states and {len(told)} reasons in one record")
    reason, by = BY.sub("", told[0]).strip() if told else "", BY.search(told[0]) if told else None
    partitions = [name for each in _values(record, r"^\s*Partitions=(\S+)") for name in each.split(",")]
    return standing(words[0], "" if reason.lower() in ("none", "(null)", "n/a") else reason, by[1] if by else "", tuple(partitions))


def _values(record: str, pattern: str) -> list[str]:
    return re.findall(pattern, record, re.MULTILINE)


def standing(state: str, reason: str, by: str = "", partitions: tuple[str, ...] = ()) -> Standing:
    """How a node stands by its state and reason.

    >>> standing("MIXED+DRAIN+REBOOT", "fans").held, standing("DOWN*", "Not responding").held, standing("IDLE", "").out
    (True, False, False)
    """
    parts = states(state)
    doubt = parts - KNOWN or parts & UNSURE
    trouble = f"Slurm: {quoted(state, 60)}, {'+'.join(sorted(doubt))} is not understood" if doubt or not parts else ""
    unsettled = f"a reboot is under way: {state}" if parts & REBOOT else ""
    return Standing(state, _held(parts, reason), reason, by, bool(parts & AWAY), partitions, trouble, unsettled)


def states(text: str) -> frozenset[str]:
    """Every part of a state, signs spelt out.

    >>> sorted(states("IDLE*+DRAIN"))
    ['DRAIN', 'IDLE', 'NOT_RESPONDING']
    """
    parts: set[str] = set()
    for word in text.upper().split("+"):
        parts |= {word.rstrip("".join(SIGNS)), *(SIGNS[sign] for sign in word if sign in SIGNS)} - {""}
    return frozenset(parts)


def _held(parts: frozenset[str], reason: str) -> bool:
    """Drained, or set down by somebody. A node that is down for Slurm's own reasons is held by nobody, and may come back by itself."""
    down = "DOWN" in parts and bool(reason) and not DEAD.search(reason) and mark_in(reason) is None
    return bool(parts & (DRAINED | FAILING)) or down
