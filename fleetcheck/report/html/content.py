"""What the page's script reads: nodes, checks, limits, pairs, curves and serials, as short lists. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fleetcheck.inventory import Node
from fleetcheck.report import hours
from fleetcheck.report.case import part_text
from fleetcheck.report.changes import Comparison
from fleetcheck.report.html.evidence import NODES_WITH_CURVES, Found
from fleetcheck.report.html.outcomes import CheckRow, Outcomes
from fleetcheck.report.html.series import Series
from fleetcheck.report.past_words import consequences, past_words, suspect_words

NODE = ("name", "rack", "profile", "state", "verdict", "certified", "action", "reason", "serial", "planned", "measured", "marks",
        "findings", "gaps", "unreachable", "use", "change", "parts", "hours", "suspects")
"""Columns of a node's list."""


def told(verdicts: Mapping[str, Any], nodes: Sequence[Node], outcomes: Outcomes, found: Found, comparison: Comparison, run_dir: Path,
         inventory: str) -> dict[str, Any]:
    """Everything, by what it is."""
    texts = Texts()
    labels = {node.name: node.labels for node in nodes}
    changed = _changed(comparison)
    rows = [_node(name, node, labels.get(name, {}), outcomes, found, changed, texts) for name, node in verdicts["nodes"].items()]
    return {
        "run": verdicts["run"], "fleet": verdicts["fleet"], "tier": verdicts["tier"], "complete": verdicts["complete"],
        "folder": str(run_dir), "inventory": inventory, "compared": bool(comparison.against), "columns": NODE, "nodes": rows,
        "checks": [_check(row, outcomes) for row in outcomes.checks.values()], "several": outcomes.several,
        "pairs": [_pairs(name, measured) for name, measured in outcomes.pairs.items()],
        "curves": {name: _curve(curve) for name, curve in found.curves.items()}, "loaded": found.loaded, "most_curves": NODES_WITH_CURVES,
        "texts": texts.known,
    }


class Texts:
    """Every text once; it is named by its number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    @property
    def known(self) -> list[str]:
        """The texts in the order of their numbers."""
        return list(self.numbers)

    def number(self, text: str) -> int:
        """The number of a text."""
        return self.numbers.setdefault(text, len(self.numbers))


def _changed(comparison: Comparison) -> dict[str, str]:
    """By node, its gravest state: NEW before STILL before the rest."""
    changed: dict[str, str] = {}
    for each in comparison.changes if comparison.against else ():
        changed.setdefault(each.node, each.state)
    return changed


def _node(name: str, node: Mapping[str, Any], labels: Mapping[str, str], outcomes: Outcomes, found: Found, changed: Mapping[str, str],
          texts: Texts) -> list[Any]:
    gaps = [[texts.number(_generic(reason, name)), numbers] for reason, numbers in outcomes.gaps.get(name, {}).items()]
    silent = node["unreachable"] or {}
    if silent:
        gaps = []
    return [
        name, labels.get("rack", ""), node["profile"], node["state"], node["verdict"], int(node["certified"]), node["action"],
        texts.number(_generic(node["reason"], name)), node["serial"], node["coverage"]["planned"], node["coverage"]["measured"],
        outcomes.marks.get(name, b"").decode(), [_finding(each, name, outcomes, texts) for each in node["findings"]], gaps,
        texts.number(_generic(silent["message"], name)) if silent else -1, found.use.get(name, ""), changed.get(name, ""),
        _parts(found.serials.get(name, ()), texts), texts.number(hours.of_node(node)),
        [[each["check"], texts.number(_generic(each["message"], name)), texts.number(suspect_words(each))]
         for each in node.get("suspects", ()) if each["state"] != "failing"],
    ]


def _generic(text: str, name: str) -> str:
    """A text that most nodes share, without the node's name in front."""
    return text.removeprefix(f"{name}: ")


def _parts(serials: Iterable[tuple[str, str, str]], texts: Texts) -> list[list[Any]]:
    """Serial numbers as [number of what and which, serial]."""
    return [[texts.number(f"{what} {which}"), serial] for what, which, serial in dict.fromkeys(serials)]


def _finding(each: Mapping[str, Any], name: str, outcomes: Outcomes, texts: Texts) -> list[Any]:
    row = outcomes.checks.get(each["check"])
    cause = f"follows from {each['follows']}" if each.get("follows") else ""
    words = "; ".join(filter(None, [past_words(each), consequences(each), cause]))
    return [row.number if row else each["check"], each["severity"], each["action"], texts.number(_generic(each["message"], name)),
            "; ".join(part_text(part) for part in each["parts"][:8]), int(each["common_cause"]), texts.number(words) if words else -1]


def _check(row: CheckRow, outcomes: Outcomes) -> dict[str, Any]:
    limits = [[each.text, each.source, each.date, each.nodes, each.low, each.high] for each in row.limits.values()]
    return {"name": row.name, "file": row.file, "component": row.component, "stage": row.stage, "severity": row.severity,
            "action": row.action, "says": row.description, "limits": limits, "counts": dict(outcomes.counts(row))}


def _pairs(name: str, measured: Sequence[tuple[str, str, float]]) -> dict[str, Any]:
    """One figure of pairs: the nodes, and [row, column, value]."""
    names = sorted({node for pair in measured for node in pair[:2]})
    places = {node: place for place, node in enumerate(names)}
    return {"name": name, "nodes": names, "values": [[places[one], places[other], round(value, 2)] for one, other, value in measured]}


def _curve(curve: Series) -> dict[str, Any]:
    return {"at": curve.at, "curves": curve.curves, "loads": curve.loads, "events": curve.events}
