"""Which alerts a fleet gives cause for, as it stands. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetcheck import nodeset
from fleetcheck.alerts.alert import BETWEEN, CAPACITY, COMMON_CAUSE, DEGRADED, FAILED, STALE, UNMEASURED, UNREACHABLE, Alert
from fleetcheck.measured import one_line
from fleetcheck.report import causes
from fleetcheck.standing import Ran, Standing

NAMED: Mapping[str, str] = {"failed": FAILED, "unreachable": UNREACHABLE, "degraded": DEGRADED, "unknown": UNMEASURED}
"""The alert a verdict is cause for, the gravest first."""


@dataclass(frozen=True)
class Fleet:
    """tiers: how it stands in each; serving: names of the nodes in service today; floor: how many of them must be healthy."""

    name: str
    tiers: Mapping[str, Standing]
    serving: Sequence[str]
    stale_hours: float
    floor: int | None = None

    @property
    def completed(self) -> Ran | None:
        """The last complete run of the whole fleet, of whatever tier."""
        found = [standing.last_complete for standing in self.tiers.values() if standing.last_complete]
        return max(found, key=lambda run: run.ended, default=None)

    def latest(self, name: str) -> Ran | None:
        """The newest run that counts for a node, of whatever tier."""
        found = [each.nodes[name] for each in self.tiers.values() if name in each.nodes]
        return max(found, key=lambda run: run.verdicts["run"], default=None)


def due(fleet: Fleet, now: datetime.datetime) -> list[Alert]:
    """Pages first. A node that many share a silence with has no ticket of its own for it."""
    nodes = [each for name in fleet.serving for each in _of_node(fleet, name)]
    return [*_stale(fleet, now), *_capacity(fleet), *_of_fleet(fleet), *nodes]


def _of_node(fleet: Fleet, name: str) -> Iterator[Alert]:
    """The node's gravest standing, over the tiers. Silence is outdone by any later answer."""
    found = [(tier, run) for tier, standing in fleet.tiers.items() if (run := standing.nodes.get(name))]
    telling = [(tier, run) for tier, run in found if _tells(run, name, fleet)]
    gravest = min(telling, key=lambda each: list(NAMED).index(_entry(each[1], name)["verdict"]), default=None)
    if gravest:
        yield _ticket(fleet, name, *gravest)


def _entry(run: Ran, name: str) -> Mapping[str, Any]:
    entry: Mapping[str, Any] = run.verdicts["nodes"][name]
    return entry


def _tells(run: Ran, name: str, fleet: Fleet) -> bool:
    entry = _entry(run, name)
    if entry["state"] != "in-service" or entry["verdict"] == "healthy":
        return False
    if entry["verdict"] in ("failed", "degraded"):
        return True
    fault = entry["verdict"] == "unreachable" or entry["action"] == "fix-config"
    return fault and run is fleet.latest(name) and name not in run.silenced


def _ticket(fleet: Fleet, name: str, tier: str, run: Ran) -> Alert:
    entry = _entry(run, name)
    own = [each for each in causes.own_findings(entry) if each["severity"] != "warn"]
    findings = causes.independent(own) if own else []
    message = findings[0]["message"] if findings else (entry["unreachable"] or {}).get("message") or entry["reason"]
    since = min([each["since"] for each in findings if each.get("since")], default=run.verdicts["started"])
    where = [f"{part.get('label', '')} serial {part['serial']}" for each in findings for part in each["parts"] if part.get("serial")]
    said = [f"action: {entry['action']}", f"machine serial {entry['serial']}" if entry["serial"] else "", *dict.fromkeys(where),
            f"more: fleetcheck history {name}"]
    summary = f"{name} {entry['verdict']}: {message.removeprefix(f'{name}: ')}"
    return Alert(NAMED[entry["verdict"]], {"fleet": fleet.name, "node": name}, one_line(summary), one_line("; ".join(filter(None, said))),
                 _zoned(since), run.verdicts["run"], tier, tuple(dict.fromkeys(each["check"] for each in findings)), entry["serial"])


def _zoned(moment: str) -> str:
    """A time in ISO form with its zone; times of runs are UTC."""
    try:
        parsed = datetime.datetime.fromisoformat(moment)
    except ValueError:
        return ""
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.UTC)).isoformat()


def _of_fleet(fleet: Fleet) -> Iterator[Alert]:
    """Findings about the fleet that stand: a common cause pages, a check of several nodes is a ticket."""
    seen = set[tuple[str, str, str]]()
    for tier, standing in fleet.tiers.items():
        for run in standing.of_fleet:
            for each in run.verdicts["fleet_findings"]:
                name = BETWEEN if each["kind"] == "fleet-check" else COMMON_CAUSE
                if (tier, name, each["check"]) not in seen:
                    seen.add((tier, name, each["check"]))
                    yield _shared(fleet, tier, run, name, each)


def _shared(fleet: Fleet, tier: str, run: Ran, name: str, finding: Mapping[str, Any]) -> Alert:
    extent = f"{finding['failed']} failed, {finding['unmeasured']} not measured of {finding['of']} nodes"
    return Alert(name, {"fleet": fleet.name, "tier": tier, "check": finding["check"]},
                 one_line(f"{finding['check']}: {extent}: {finding['message']}"),
                 one_line(f"nodes: {finding['nodes']}; action: {finding['action']}; no node is blamed"), _zoned(run.verdicts["started"]),
                 run.verdicts["run"], tier)


def _capacity(fleet: Fleet) -> Iterator[Alert]:
    """Fewer healthy nodes than the floor; not asked before anything ran."""
    latest = {name: run for name in fleet.serving if (run := fleet.latest(name))}
    if fleet.floor is None or not latest:
        return
    sick = {name for name in latest for _ in _of_node(fleet, name)}
    healthy = [name for name, run in latest.items() if name not in sick and _entry(run, name)["verdict"] == "healthy"]
    if len(healthy) < fleet.floor:
        newest = max(latest.values(), key=lambda run: run.verdicts["run"])
        yield Alert(CAPACITY, {"fleet": fleet.name}, f"{len(healthy)} healthy nodes of fleet {fleet.name}, the floor is {fleet.floor}",
                    f"not healthy: {nodeset.fold(sorted(set(fleet.serving) - set(healthy)))[:400]}", _zoned(newest.verdicts["started"]),
                    newest.verdicts["run"])


def _stale(fleet: Fleet, now: datetime.datetime) -> Iterator[Alert]:
    """No complete run of the whole fleet for too long: nobody knows how it is."""
    last = fleet.completed
    ended = _zoned(last.ended) if last else ""
    limit = datetime.timedelta(hours=fleet.stale_hours)
    if last is None or not ended:
        yield Alert(STALE, {"fleet": fleet.name}, f"no complete run of fleet {fleet.name} is known",
                    "a narrowed, interrupted or replayed run, or one of some nodes, is none", now.isoformat(timespec="seconds"))
    elif now - datetime.datetime.fromisoformat(ended) > limit:
        since = datetime.datetime.fromisoformat(ended) + limit
        yield Alert(STALE, {"fleet": fleet.name}, f"no complete run of fleet {fleet.name} for {fleet.stale_hours:g} h",
                    f"the last one, {last.verdicts['run']}, ended {ended}", since.isoformat(), last.verdicts["run"])
