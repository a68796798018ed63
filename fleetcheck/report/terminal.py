"""The page printed when a run ends, for somebody woken at 3 a.m.: complete or not, what is broken, what to type."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from fleetcheck.inventory import Node, fold
from fleetcheck.records import ACTIONS, TIERS, Result
from fleetcheck.report import causes, changes, hours
from fleetcheck.report.changes import Comparison
from fleetcheck.report.lines import Line, said, section

DO = {
    "none": "nothing to do", "observe": "keep an eye on it", "fix-config": "correct the configuration",
    "restart-service": "restart the service", "reset-gpu": "reset the GPU when idle", "reboot": "reboot",
    "isolate": "take out of service", "replace": "replace the part",
}
SILENT = {"unreachable": "find out why nobody can log in", "unknown": "find out why it told nothing"}
LINES = {
    "missing": 3, "changes": 6, "controller": 8, "unreachable": 6, "failed": 11, "degraded": 7, "suspects": 4, "warnings": 3, "observed": 3,
    "unmeasured": 4, "out of service": 2, "waived": 3, "hours": 5, "uncertified": 2, "next": 7,
}
"""Lines a section may take, so that a page of 64 nodes stays readable; more is said to be more."""


def summary(
    verdicts: Mapping[str, Any], results: Sequence[Result], nodes: Sequence[Node], run_dir: Path, inventory: str,
    everything: bool = False, comparison: Comparison | None = None, html: bool = False,
) -> str:
    """The page as plain text."""
    return "\n".join(map(str, page(verdicts, results, nodes, run_dir, inventory, everything, comparison, html)))


def show(lines: Sequence[Line], stream: TextIO) -> None:
    """Print a page: coloured and wrapped to the width on a terminal, plain lines elsewhere, never an encoding error."""
    console = Console(file=stream, markup=False, emoji=False, highlight=False)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    for line in lines:
        text = str(line).encode(encoding, "backslashreplace").decode(encoding)
        if not console.is_terminal:
            stream.write(text + "\n")
        elif line.whole:
            console.print(Text(text, style=line.style), soft_wrap=True)
        else:
            console.print(Padding(Text(text.strip(), style=line.style), (0, 0, 0, 4 * line.indent)))


def page(
    verdicts: Mapping[str, Any], results: Sequence[Result], nodes: Sequence[Node], run_dir: Path, inventory: str,
    everything: bool = False, comparison: Comparison | None = None, html: bool = False,
) -> list[Line]:
    """Every line of the page, in the order in which they are needed. everything: nothing is left out for length; comparison: with the last
    complete run; html: whether report.html was written."""
    limit = {name: 0 if everything else lines for name, lines in LINES.items()}
    found = verdicts["nodes"]
    return [
        *_head(verdicts, limit["missing"]),
        *section(*_titled("CONTROLLER AND CONFIGURATION", causes.controller(verdicts["fleet_findings"])),
                 limit["controller"], "bold magenta"),
        *_changed(comparison, limit["changes"]),
        *section(f"UNREACHABLE: {_nodes(sum(bool(each['unreachable']) for each in found.values()))}", causes.unreachable(found),
                 limit["unreachable"], "bold red"),
        *section(f"FAILED: {_graded(found, 'fatal')}", causes.faults(found, "fatal"), limit["failed"], "bold red"),
        *section(f"DEGRADED: {_graded(found, 'degraded')}", causes.faults(found, "degraded"), limit["degraded"],
                 "bold yellow"),
        *section("SUSPECTS of the last weeks, not there now, nobody is blamed", causes.suspects(found), limit["suspects"], "bold"),
        *section("WARNINGS, verdict unchanged", causes.warnings(found), limit["warnings"], "bold"),
        *section("BESIDE PEERS AND EARLIER RUNS, nobody is blamed", causes.observed(verdicts.get("observations", ())),
                 limit["observed"], "bold"),
        *section("NOT MEASURED", causes.unmeasured(results, verdicts), limit["unmeasured"], "bold"),
        *section("OUT OF SERVICE, not contacted", causes.out_of_service(nodes), limit["out of service"], "bold"),
        *section("WAIVED by the site, neither checked nor passed", causes.waived(found), limit["waived"], "bold"),
        *section("EXPIRED WAIVERS, no longer in force", causes.expired(verdicts.get("expired_waivers", ())),
                 limit["waived"], "bold yellow"),
        *section(hours.title(verdicts), hours.blocks(verdicts), limit["hours"], "bold"),
        *_certified(verdicts, limit["uncertified"]),
        *_next(verdicts, run_dir, inventory, limit["next"], html),
    ]


def _changed(comparison: Comparison | None, lines: int) -> list[Line]:
    """What is new, still there and healed; nothing where no complete run came before."""
    if comparison is None or not comparison.against:
        return []
    return [Line(said(changes.title(comparison)), 0, "bold"), *section("", changes.blocks(comparison), lines)[1:]]


def _titled(title: str, blocks: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    return f"{title}: {len(blocks)} finding{'s' if len(blocks) != 1 else ''}", blocks


def _graded(found: Mapping[str, Any], severity: str) -> str:
    worst = [own[0]["severity"] for node in found.values() if (own := causes.own_findings(node))]
    return _nodes(worst.count(severity))


def _nodes(count: int) -> str:
    return f"{count} node{'s' if count != 1 else ''}"


def _head(verdicts: Mapping[str, Any], lines: int) -> list[Line]:
    replay = f", replay of {verdicts['replay_of']}" if verdicts["replay_of"] else ""
    tier = f", tier {verdicts['tier']}" if verdicts["tier"] else ""
    title = f"run {verdicts['run']}, fleet {verdicts['fleet']}{tier}, started {verdicts['started']}{replay}"
    lost = section("MISSING, no outcome at all", causes.missing(verdicts), lines, "bold red")
    return [Line(said(title), 0, "bold"), *_completeness(verdicts), *lost]


def _completeness(verdicts: Mapping[str, Any]) -> list[Line]:
    items, serving = verdicts["counts"]["items"], verdicts["counts"]["nodes"]["in-service"]
    counts = (f"{_nodes(serving)}, {items['planned']} checks: {items['passed']} passed, {items['failed']} failed, "
              f"{items['error']} not measured, {items['skipped']} do not apply")
    if verdicts["complete"]:
        return [Line(f"COMPLETE: {counts}", 0, "bold green")]
    return [Line(f"PARTIAL, so it certifies nothing: {said(verdicts['partial'])}", 0, "bold red"), Line(counts, 1)]


def _certified(verdicts: Mapping[str, Any], lines: int) -> list[Line]:
    counts = verdicts["counts"]["nodes"]
    tier = f" for {verdicts['tier']}" if verdicts["tier"] else ""
    names = [name for name, node in verdicts["nodes"].items() if node["certified"]]
    which = f": {said(fold(names))}" if names else ""
    held = causes.uncertified(verdicts["nodes"]) if verdicts["complete"] else []
    return [
        Line(said(f"certified{tier}: {counts['certified']} of {counts['in-service']} in service{which}"), 0, "bold"),
        *section("healthy, not certified", held, lines),
        Line(f"isolate: {said(verdicts['isolate']) or 'none'}", 0, "bold red" if verdicts["isolate"] else "bold"),
    ]


def _next(verdicts: Mapping[str, Any], run_dir: Path, inventory: str, lines: int, html: bool) -> list[Line]:
    return [
        *section("next", commands(verdicts, run_dir, inventory), lines, "bold"),
        Line(f"files: {run_dir}/{'report.html, ' if html else ''}junit*.xml, verdicts.json, results.jsonl, evidence.jsonl"),
    ]


def commands(verdicts: Mapping[str, Any], run_dir: Path, inventory: str) -> list[list[Line]]:
    """What to type and what to do next, in that order."""
    run = shlex.quote(str(run_dir))
    resume = [[Line(f"finish the run: pytest checks/ --resume {run}", 1, whole=True)]] if verdicts["missing"] else []
    isolate = f"see what taking {said(verdicts['isolate'])} out of service would change: fleetcheck isolate {run} --backend BACKEND"
    out = [[Line(isolate, 1, whole=True)]] if verdicts["isolate"] and verdicts["complete"] else []
    return [*resume, *_closer(verdicts, run), *out, *_work(verdicts, inventory), *_gaps(verdicts, inventory)]


def _gaps(verdicts: Mapping[str, Any], inventory: str) -> list[list[Line]]:
    """Where something stayed unmeasured on nodes that are healthy as far as it goes: how to learn what this user cannot read there."""
    names = [name for name, node in verdicts["nodes"].items()
             if node["verdict"] == "healthy" and node["coverage"]["measured"] < node["coverage"]["planned"]]
    command = f"fleetcheck doctor --inventory {shlex.quote(inventory)} --nodes {_quoted(names)}"
    return [[Line(f"see what cannot be read there, and the fix: {command}", 1, whole=True)]] if names and verdicts["complete"] else []


def _closer(verdicts: Mapping[str, Any], run: str) -> list[list[Line]]:
    """Looking again at what was recorded, without touching a node."""
    graver = [name for name, node in verdicts["nodes"].items() if node["verdict"] in ("failed", "degraded")]
    if not graver:
        return []
    command = f"pytest checks/ --replay {run} --nodes {_quoted(graver)} -vv"
    return [[Line(f"look closer, no node is touched: {command}", 1, whole=True)]]


def _work(verdicts: Mapping[str, Any], inventory: str) -> list[list[Line]]:
    """The run that proves the work done, and the work: what to do on which nodes, the strongest action first."""
    work: dict[tuple[int, str], list[str]] = defaultdict(list)
    for name, node in verdicts["nodes"].items():
        idle = node["verdict"] == "healthy" and node["action"] in ("none", "observe")
        if node["state"] == "in-service" and not idle and not _unasked(node):
            work[-ACTIONS.index(node["action"]), _do(node)].append(name)
    todo = [[Line(f"{said(fold(names))}: {what}", 1)] for (_, what), names in sorted(work.items())]
    proofs = [Line(f"prove the work below done: {_retest(tier, inventory, names)}", 1, whole=True)
              for tier, names in _tiers(verdicts, work.values()).items()]
    return [*([proof] for proof in proofs), *todo] if todo else []


def _unasked(node: Mapping[str, Any]) -> bool:
    """Whether a narrowed run asked a node nothing, so that its silence says nothing of it."""
    return node["verdict"] == "unknown" and not node["coverage"]["planned"]


def _tiers(verdicts: Mapping[str, Any], groups: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """By tier, the nodes it proves repaired: the run's own, or that in which a finding is open that this one does not ask for."""
    found: dict[str, list[str]] = {}
    for name in (name for group in groups for name in group):
        asked = [verdicts["tier"], *(each.get("tier", "") for each in verdicts["nodes"][name].get("open", ()))]
        found.setdefault(max(asked, key=lambda tier: TIERS.index(tier) if tier in TIERS else -1), []).append(name)
    return found


def _do(node: Mapping[str, Any]) -> str:
    silent = SILENT.get(node["verdict"]) if node["action"] in ("none", "observe") else None
    return silent or DO[node["action"]]


def _retest(tier: str, inventory: str, names: Sequence[str]) -> str:
    asked = f" --tier {tier}" if tier else ""
    return f"pytest checks/ --inventory {shlex.quote(inventory)}{asked} --nodes {_quoted(names)}"


def _quoted(names: Sequence[str]) -> str:
    return shlex.quote(said(fold(names), 2000))
