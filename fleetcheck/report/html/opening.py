"""What the first screen says: complete or not, what is wrong beyond single nodes, what is new, what to type. Pure."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fleetcheck.inventory import Node, fold
from fleetcheck.report import causes, changes, hours, terminal
from fleetcheck.report.changes import Change, Comparison

Verdicts = Mapping[str, Any]
NAMED = 6
SHOWN = 40
WORDS = {
    "NEW": "since the last complete run", "STILL": "seen before, not repaired", "HEALED": "measured again and passed",
    "UNPROVEN": "seen before, not measured in this run",
}


class Typed(NamedTuple):
    """The run's folder and the inventory as they are typed in commands."""

    run: Path
    inventory: str


def opening(verdicts: Verdicts, facts: Mapping[str, Any], nodes: Sequence[Node], comparison: Comparison,
            use: Mapping[str, str], typed: Typed) -> dict[str, Any]:
    """Everything the first screen needs, as text and numbers. use: by node, what the scheduler says of it, and its jobs."""
    return {
        **{key: verdicts[key] for key in ("run", "fleet", "tier", "started", "complete", "partial", "interrupted", "replay_of", "isolate")},
        "version": facts.get("version", ""), "took": took(verdicts["started"], str(facts.get("ended", ""))),
        "began": verdicts["started"][:16].replace("T", " "), "counts": verdicts["counts"],
        "controller": [[str(line) for line in block] for block in causes.controller(verdicts["fleet_findings"])],
        "missing": [str(line).strip() for block in causes.missing(verdicts) for line in block][:NAMED],
        "expired": list(verdicts.get("expired_waivers", ())),
        "out": [str(line).strip() for block in causes.out_of_service(nodes) for line in block],
        "waived": [str(line).strip() for block in causes.waived(verdicts["nodes"]) for line in block][:SHOWN],
        "comparison": {"against": comparison.against, "began": comparison.began[:16].replace("T", " "), "words": WORDS},
        "limits": verdicts.get("limits", ""), "hours": [str(line).strip() for block in hours.blocks(verdicts) for line in block][:SHOWN],
        "changes": grouped(comparison, use, typed), "next": next_steps(verdicts, typed),
    }


def took(started: str, ended: str) -> str:
    """How long a run took, in words; empty where it did not end.

    >>> took("2026-11-30T03:15:00+00:00", "2026-11-30T03:17:05+00:00")
    '2 min 5 s'
    """
    try:
        seconds = int((datetime.datetime.fromisoformat(ended) - datetime.datetime.fromisoformat(started)).total_seconds())
    except ValueError:
        return ""
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"


def grouped(comparison: Comparison, use: Mapping[str, str], typed: Typed) -> list[dict[str, Any]]:
    """Changes by state, equal ones of several nodes together; without an earlier run all are simply what was found."""
    if not comparison.against:
        return [_state("FOUND", list(comparison.changes), use, typed)] if comparison.changes else []
    return [_state(state, comparison.of(state), use, typed) for state in changes.STATES]


def _state(state: str, found: list[Change], use: Mapping[str, str], typed: Typed) -> dict[str, Any]:
    blocks = changes.folded(found)
    return {"state": state, "nodes": len({each.node for each in found}), "more": max(0, len(blocks) - SHOWN),
            "blocks": [_block(group, use, typed) for group in blocks[:SHOWN]]}


def _block(group: Sequence[Change], use: Mapping[str, str], typed: Typed) -> dict[str, Any]:
    first = group[0]
    names, known = [each.node for each in group], [where for each in group if (where := _where(each, use))]
    do = terminal.SILENT["unreachable"] if first.severity == "unreachable" else terminal.DO.get(first.action, first.action)
    return {
        "nodes": fold(names), "names": names, "message": first.message.removeprefix(f"{first.node}: "), "check": first.check,
        "severity": first.severity, "action": do, "since": first.since[:16].replace("T", " "), "also": first.also, "note": first.note,
        "where": known[:NAMED] or ["no serial known"], "hidden": max(0, len(known) - NAMED),
        "command": _closer(first, names, typed),
    }


def _where(change: Change, use: Mapping[str, str]) -> str:
    parts = [f"machine serial {change.serial}" if change.serial else "", *change.parts[:3], use.get(change.node, "")]
    said = ", ".join(filter(None, parts))
    return said and f"{change.node}: {said}"


def _closer(change: Change, names: Sequence[str], typed: Typed) -> str:
    """What to type to look closer; a login that fails is looked at by logging in."""
    if change.check == changes.LOGIN:
        return f"fleetcheck doctor --inventory {shlex.quote(typed.inventory)} --nodes {shlex.quote(fold(names))}"
    return f"pytest checks/ --replay {shlex.quote(str(typed.run))} --nodes {shlex.quote(fold(names))} -k {shlex.quote(change.check)} -vv"


def next_steps(verdicts: Verdicts, typed: Typed) -> list[dict[str, str]]:
    """The terminal page's steps, each as words and the command after them."""
    texts = (str(line).strip() for block in terminal.commands(verdicts, typed.run, typed.inventory) for line in block)
    return [_step(text) for text in texts]


def _step(text: str) -> dict[str, str]:
    for program in ("pytest", "fleetcheck"):
        words, separator, command = text.partition(f": {program} ")
        if separator:
            return {"words": words, "command": f"{program} {command}"}
    return {"words": text, "command": ""}


