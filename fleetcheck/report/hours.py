"""What a report says of an acceptance: hours under load beside those asked for, waivers in force, the hash of the limits. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from fleetcheck.acceptance.hours import other_limits
from fleetcheck.inventory import fold
from fleetcheck.report.lines import Block, Line, said, several

HASH_CHARACTERS = 23
"""Of ``sha256:…`` on a terminal: enough to tell two apart."""


def title(verdicts: Mapping[str, Any]) -> str:
    """By what, with how many waivers."""
    waived = len({each["check"] for node in verdicts["nodes"].values() for each in node.get("waived", ())})
    waivers = f"{waived} check{'s' if waived != 1 else ''} waived" if waived else "no waivers in force"
    limits = verdicts.get("limits", "")[:HASH_CHARACTERS]
    return f"ACCEPTANCE: hours under load since the last swap, reset or reboot; {waivers}; limits {limits}"


def blocks(verdicts: Mapping[str, Any]) -> list[Block]:
    """Nodes with the same hours asked for and the same reason for beginning anew together; nothing for another tier."""
    groups: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for name, node in verdicts["nodes"].items():
        told = node.get("acceptance")
        if told:
            lacking = told["required_hours"] is not None and told["loaded_hours"] < told["required_hours"]
            groups[lacking, told["required_hours"], told["restarted"]][name] = told
    ordered = sorted(groups.items(), key=lambda group: (not group[0][0], -len(group[1])))
    return [[Line(f"{said(fold(found))}: {_hours(found)}{_again(restarted)}", 1), *_others(found, verdicts["limits"])]
            for (_, _, restarted), found in ordered]


def of_node(node: Mapping[str, Any]) -> str:
    """The same of one node, for its line on the certificate; empty for another tier."""
    told = node.get("acceptance")
    return f"under load: {_hours({'': told})}{_again(told['restarted'])}" if told else ""


def _hours(found: Mapping[str, Mapping[str, Any]]) -> str:
    hours = sorted(each["loaded_hours"] for each in found.values())
    shown = words(hours[0]) if words(hours[0]) == words(hours[-1]) else f"{words(hours[0])} to {words(hours[-1])}"
    first = next(iter(found.values()))
    required, source = first["required_hours"], said(first["required_by"], 90)
    asked = "none asked for" if required is None else f"{required:g} asked for ({source})"
    since = min((each["since"] for each in found.values() if each["since"]), default="")
    return f"{shown} h, {asked}{f', since {since[:16]}' if since else ''}"


def words(hours: float) -> str:
    """Hours with as many digits as are worth it.

    >>> words(71.9666), words(0.0125)
    ('72.0', '0.013')
    """
    return f"{hours:.1f}" if hours >= 1 else f"{hours:.2g}"


def _again(restarted: str) -> str:
    return f"; began anew: {said(restarted, 300)}" if restarted else ""


def _others(found: Mapping[str, Mapping[str, Any]], limits: str) -> list[Line]:
    """That some of the hours were judged by other limits."""
    runs = dict.fromkeys(run for each in found.values() for run in other_limits(each, limits))
    return [Line(f"judged by other limits then: {several(runs)}", 2)] if runs else []
