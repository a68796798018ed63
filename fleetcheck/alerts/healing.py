"""When an alert may end: what it says was measured again and is gone. What was not measured again stays open. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from fleetcheck.alerts.alert import DEGRADED, FAILED, UNMEASURED, UNREACHABLE, Alert
from fleetcheck.alerts.due import Fleet

OUTCOMES = """
SELECT tier, node, "check", arg_max(outcome, run) AS outcome, max(run) AS run FROM m
WHERE metric = '' AND complete AND fleet = $fleet AND outcome IN ('passed', 'failed')
AND node IN (SELECT unnest($nodes)) AND "check" IN (SELECT unnest($checks)) GROUP BY ALL"""
"""Of each tier, node and check, what the newest complete run that measured it found."""
Outcomes = Mapping[tuple[str, str, str], tuple[str, str]]
"""(tier, node, check) → (outcome, run)."""


@dataclass(frozen=True)
class Proof:
    """What is known now. due: ids of the alerts there is cause for."""

    fleet: Fleet
    due: Collection[str]
    outcomes: Outcomes = field(default_factory=dict)


def healed(alert: Alert, proof: Proof) -> str:
    """Why an alert ends; empty while it stands."""
    if "node" not in alert.labels:
        return "" if alert.id in proof.due else "no longer so"
    name = alert.labels["node"]
    if name not in proof.fleet.serving:
        return "no longer in service"
    run = proof.fleet.latest(name)
    entry = run.verdicts["nodes"][name] if run else {}
    if run and entry["serial"] and alert.serial and entry["serial"] != alert.serial and alert.id not in proof.due:
        return f"another machine now: serial {entry['serial']}"
    return _measured(alert, proof, name)


def _measured(alert: Alert, proof: Proof, name: str) -> str:
    if alert.name in (UNREACHABLE, UNMEASURED):
        return _answers(alert, proof, name)
    if alert.name in (FAILED, DEGRADED):
        return _certified(alert, proof, name) or _passed(alert, proof, name)
    return ""


def _answers(alert: Alert, proof: Proof, name: str) -> str:
    """Silence ends with an answer; how the node is, other alerts say."""
    run = proof.fleet.latest(name)
    answered = run and run.verdicts["run"] > alert.run and run.verdicts["nodes"][name]["coverage"]["measured"]
    return f"it answers in {run.verdicts['run']}" if run and answered and alert.id not in proof.due else ""


def _certified(alert: Alert, proof: Proof, name: str) -> str:
    """A later certificate of the tier that found it: every required check was measured and passed."""
    run = proof.fleet.tiers[alert.tier].nodes.get(name) if alert.tier in proof.fleet.tiers else None
    later = run and run.verdicts["run"] > alert.run and run.verdicts["nodes"][name]["certified"]
    return f"certified in {run.verdicts['run']}" if run and later else ""


def _passed(alert: Alert, proof: Proof, name: str) -> str:
    """Every check of it has passed in a later complete run of the tier that found it."""
    found = [proof.outcomes.get((alert.tier, name, check), ("", "")) for check in alert.checks]
    later = all(outcome == "passed" and run > alert.run for outcome, run in found)
    return f"passed in {max(run for _, run in found)}" if found and later else ""
