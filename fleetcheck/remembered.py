"""The past of a fleet's findings, read from earlier runs' measurements, and what this run leaves for later ones. Runs on the controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fleetcheck import plan
from fleetcheck.history import History
from fleetcheck.inventory import Inventory, Node
from fleetcheck.measured import HELD_BACK, INSTALLED, NOWHERE, OPEN, VERDICT, Machine, Row, one_line
from fleetcheck.past import Past, Told, placed, with_serials

PEERS = "peers"
"""The component of findings that comparing makes."""
RUNS = """
SELECT run, any_value(started) AS started, any_value(tier) AS tier, any_value(complete) AS complete FROM m WHERE fleet = $fleet
GROUP BY run ORDER BY run"""
FINDINGS = f"""
WITH bad AS (SELECT * FROM m WHERE outcome IN ('failed', '{OPEN}', '{HELD_BACK}') AND "check" <> '' AND fleet = $fleet
             AND ((metric = '' AND outcome = 'failed' AND severity IN ('degraded', 'fatal')) OR metric = '{VERDICT}')),
     held AS (SELECT run, node, "check" FROM bad WHERE outcome = '{HELD_BACK}'),
     counted AS (SELECT * FROM bad ANTI JOIN held USING (run, node, "check")),
     names AS (SELECT DISTINCT node, "check" FROM counted),
     machines AS (SELECT DISTINCT machine, "check" FROM counted WHERE machine <> ''),
     good AS (SELECT * FROM m WHERE outcome = 'passed' AND metric = '' AND fleet = $fleet AND "check" IN (SELECT "check" FROM names)
              AND ((node, "check") IN (SELECT (node, "check") FROM names)
                   OR (machine, "check") IN (SELECT (machine, "check") FROM machines)))
SELECT run, strftime(started, '%Y-%m-%dT%H:%M:%S') AS started, tier, complete, node, machine, "check", outcome, severity, action, component,
       message, part_kind AS kind, part AS label, slot, serial, boot_id, source FROM counted
UNION ALL
SELECT DISTINCT run, strftime(started, '%Y-%m-%dT%H:%M:%S'), tier, complete, node, machine, "check", outcome, '', '', component,
       '', '', '', '', '', boot_id, '' FROM good
ORDER BY run DESC"""
STOOD = f"""
SELECT node, lower(slot) AS slot, run, serial FROM m WHERE metric = '{INSTALLED}' AND fleet = $fleet AND node IN (SELECT unnest($nodes))
AND lower(slot) IN (SELECT unnest($slots)) ORDER BY run"""


def remembered(history: History, inventory: Inventory, machines: Mapping[str, Machine]) -> Past:
    """What the earlier runs of the fleet say of its findings. Raises RunError where the history cannot be asked."""
    fleet = {"fleet": inventory.fleet}
    runs = list(history.ask(RUNS, fleet))
    if not runs:
        return Past(damaged=tuple(history.skipped))
    told = [_told(row) for row in history.ask(FINDINGS, fleet)]
    told = sorted([*told, *_not_below(told, runs)], key=lambda each: each.run, reverse=True)
    found = placed(with_serials(told, _installed(told, history, fleet)), machines)
    nodes = {node.name: node for node in inventory.nodes}
    worded = {name: tuple(_worded(lines, nodes.get(name), inventory)) for name, lines in found.items()}
    return Past(worded, len(runs), sum(row["complete"] for row in runs), runs[0]["started"].isoformat(), tuple(history.skipped))


def _told(row: Mapping[str, Any]) -> Told:
    """A line; the row of an open finding keeps tier, first and last run in its source."""
    given = {key: value for key, value in row.items() if key != "source"}
    if row["outcome"] != OPEN:
        return Told(**given)
    tier, since, last = ([*row["source"].split("|"), "", "", ""])[:3]
    return Told(**{**given, "tier": tier, "since": since, "last": last})


def _not_below(told: Sequence[Told], runs: Iterable[Mapping[str, Any]]) -> Iterator[Told]:
    """What a node's peers say is told only where it is bad: complete runs of the same tier that say nothing of it have passed it."""
    below = {(each.node, each.check, each.tier, each.machine) for each in told if each.component == PEERS and each.outcome == "failed"}
    said = {(each.run, each.node, each.check) for each in told}
    for run in runs:
        for node, check, tier, machine in below:
            if run["complete"] and run["tier"] == tier and (run["run"], node, check) not in said:
                started = run["started"].isoformat()
                yield Told(run["run"], started, tier, True, node, machine, check, "passed")


def _installed(told: Sequence[Told], history: History, fleet: Mapping[str, str]) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """What stood in the slots of parts that did not tell their serial."""
    silent = [each for each in told if each.slot and not each.serial]
    if not silent:
        return {}
    asked = {**fleet, "nodes": sorted({each.node for each in silent}), "slots": sorted({each.slot.lower() for each in silent})}
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in history.ask(STOOD, asked):
        found.setdefault((row["node"], row["slot"]), []).append((row["run"], row["serial"]))
    return found


def _worded(lines: Iterable[Told], node: Node | None, inventory: Inventory) -> Iterator[Told]:
    """What the site says of a check today holds for its past too: a waived one is passed over, another severity is that one."""
    for each in lines:
        word = plan.policy(inventory, node, each.check)
        if word.waiver is None:
            yield replace(each, severity=word.severity) if word.severity and each.outcome != "passed" else each


def kept_rows(verdicts: Mapping[str, Any], machines: Mapping[str, Machine]) -> Iterator[Row]:
    """What later runs must know of this run's verdicts: open findings it carried, and findings that many nodes shared."""
    for name, node in verdicts["nodes"].items():
        machine = machines.get(name, NOWHERE)
        for each in node["open"]:
            source = f"{each['tier']}|{each['since']}|{each['open_since']}"
            yield from (_row(name, machine, each, OPEN, part, source) for part in each["parts"] or [{}])
        shared = [each for each in node["findings"] if each["common_cause"]]
        yield from (_row(name, machine, each, HELD_BACK, {}, "") for each in shared)


def _row(node: str, machine: Machine, each: Mapping[str, Any], outcome: str, part: Mapping[str, str], source: str) -> Row:
    return Row(
        node, machine.profile, machine.serial, part.get("kind", ""), part.get("label", ""), part.get("slot", ""), part.get("serial", ""),
        each["component"], each["check"], VERDICT, None, "", None, None, source, outcome, each["severity"], each["action"],
        one_line(each["message"]), "",
    )
