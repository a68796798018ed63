"""``fleetcheck alert``: how a fleet stands, told to whom its inventory names. Dry run unless applied. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from fleetcheck import inventory as inventories
from fleetcheck.alerts import ledger as ledgers
from fleetcheck.alerts.alert import STALE, Alert
from fleetcheck.alerts.backends import Backend, backends
from fleetcheck.alerts.due import Fleet, due
from fleetcheck.alerts.healing import OUTCOMES, Outcomes, Proof, healed
from fleetcheck.alerts.ledger import Alerts, Ledger
from fleetcheck.alerts.outward import Undelivered
from fleetcheck.history import History
from fleetcheck.inventory import Inventory, InventoryError
from fleetcheck.records import TIERS
from fleetcheck.report.textfile import runs_of
from fleetcheck.run import RunError
from fleetcheck.standing import stand
from fleetcheck.text import clean


@dataclass(frozen=True)
class Told:
    """What stands, and what has ended with the reason, by id."""

    firing: Alerts
    ended: Mapping[str, tuple[Alert, str]]


def run(inventory: Path, reports: Path, apply: bool, screen: TextIO, now: datetime.datetime | None = None) -> int:
    """0: told, or shown; 1: somebody did not take it. Raises InventoryError or RunError."""
    loaded = inventories.load(inventory)
    receivers = backends(loaded.alerts)
    if not receivers:
        raise InventoryError(f"{inventory}: nobody to tell; expected alertmanager: or webhook: under alerts: (docs/alerts.md)")
    if not reports.is_dir():
        raise RunError(f"{reports}: no such folder; name the one with the runs: --reports DIR")
    now, path = now or datetime.datetime.now(datetime.UTC), ledgers.path_of(reports, loaded.fleet)
    if not apply:
        return _tell(loaded, reports, receivers, ledgers.read(path), now, None, screen)
    with ledgers.alone(path):
        return _tell(loaded, reports, receivers, ledgers.read(path), now, path, screen)


def _tell(loaded: Inventory, reports: Path, receivers: Sequence[Backend], ledger: Ledger, now: datetime.datetime, path: Path | None,
          screen: TextIO) -> int:
    """path: the ledger to keep; None: a dry run."""
    told = concluded(loaded, reports, ledger, now)
    _show(told, screen)
    failed = [each for each in receivers if not _delivered(each, loaded.fleet, told, ledger, now, path is None, screen)]
    if path is not None:
        ledgers.write(path, replace(ledger, standing=told.firing))
    return 1 if failed else 0


def concluded(loaded: Inventory, reports: Path, ledger: Ledger, now: datetime.datetime) -> Told:
    """What stands and what has ended: what there is cause for, and what was told before and nobody has proven gone. Raises RunError."""
    fleet = _fleet(loaded, reports)
    causes = {alert.id: _dated(alert, ledger) for alert in due(fleet, now)}
    candidates = {**ledger.standing, **causes}
    proof = Proof(fleet, frozenset(causes), _outcomes(reports, loaded.fleet, candidates))
    ends = {key: (alert, why) for key, alert in candidates.items() if (why := healed(alert, proof))}
    firing = {key: alert for key, alert in candidates.items() if key not in ends}
    return Told(firing, {key: each for key, each in ends.items() if key in ledger.standing})


def _fleet(loaded: Inventory, reports: Path) -> Fleet:
    standings = {tier: stand(runs_of(reports, loaded.fleet, tier)) for tier in TIERS}
    tiers = {tier: each for tier, each in standings.items() if each.newest}
    serving = [node.name for node in loaded.nodes if node.in_service]
    return Fleet(loaded.fleet, tiers, serving, loaded.alerts.stale_hours, loaded.floor)


def _dated(alert: Alert, ledger: Ledger) -> Alert:
    """A fleet that never had a complete run has lacked it since that was first said."""
    before = ledger.standing.get(alert.id)
    return replace(alert, since=before.since) if before and alert.name == STALE and not alert.run else alert


def _outcomes(reports: Path, fleet: str, candidates: Alerts) -> Outcomes:
    nodes = sorted({alert.labels["node"] for alert in candidates.values() if alert.checks})
    checks = sorted({check for alert in candidates.values() for check in alert.checks})
    if not checks:
        return {}
    since = min(alert.run for alert in candidates.values() if alert.checks)
    with History(reports) as history:
        history.files = [path for path in history.files if path.parent.name > since]
        rows = list(history.ask(OUTCOMES, {"fleet": fleet, "nodes": nodes, "checks": checks}))
    return {(row["tier"], row["node"], row["check"]): (row["outcome"], row["run"]) for row in rows}


def _show(told: Told, screen: TextIO) -> None:
    for alert in told.firing.values():
        since = alert.since[:16].replace("T", " ") or "?"
        screen.write(f"{alert.severity.upper():6} {alert.name}  {clean(alert.summary, 400)}  [since {since}]\n")
    for alert, why in told.ended.values():
        screen.write(f"ENDED  {alert.name}  {clean(alert.summary, 400)}  [{why}]\n")
    if not told.firing and not told.ended:
        screen.write("nothing stands against the fleet\n")


def _delivered(backend: Backend, fleet: str, told: Told, ledger: Ledger, now: datetime.datetime, dry: bool, screen: TextIO) -> bool:
    """Tell one backend what it does not know; whether it is up to date."""
    known = ledger.taken.get(backend.key, {})
    ended = {key: told.ended.get(key, (alert, "no longer so")) for key, alert in known.items() if key not in told.firing}
    firing = list(told.firing.values())
    extent = f"{len(firing)} standing ({sum(alert.id not in known for alert in firing)} new), {len(ended)} ended"
    news = backend.news(firing, known, ended)
    if dry or not news:
        screen.write(f"{backend.name}: {f'would be told: {extent}; --apply does it' if news else 'nothing new'}\n")
        return True
    try:
        backend.send(fleet, firing, known, ended, now)
    except Undelivered as why:
        screen.write(f"{backend.name}: NOT TOLD: {why}; nothing is lost: the next call tells it again\n")
        return False
    ledger.taken[backend.key] = dict(told.firing)
    screen.write(f"{backend.name}: told: {extent}\n")
    return True
