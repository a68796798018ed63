"""What is wrong, folded: nodes that show the same are one block. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fleetcheck.common_cause import generic
from fleetcheck.inventory import Node, fold
from fleetcheck.records import ACTIONS, SEVERITIES, Result
from fleetcheck.report.case import part_text
from fleetcheck.report.lines import NAMED, Block, Line, said, several
from fleetcheck.report.past_words import consequences, past_words, suspect_words

Verdict = Mapping[str, Any]
Finding = Mapping[str, Any]
Key = tuple[str, str, str, str]
"""What makes findings of several nodes one: check, severity, action, message without the node's name."""


def controller(findings: Iterable[Finding]) -> list[Block]:
    """Findings about the controller, the configuration or the fleet as a whole: no node is blamed."""
    def gravity(each: Finding) -> tuple[int, int]:
        return SEVERITIES.index(each["severity"]), each["failed"] + each["unmeasured"]

    return [[Line(f"{_subject(each)}: {_extent(each)}", 1), Line(_quote(each), 2)]
            for each in sorted(findings, key=gravity, reverse=True)]


def _subject(finding: Finding) -> str:
    return said(several(finding["checks"])) if finding["checks"] else said(f"login ({finding['check']})")


def _extent(finding: Finding) -> str:
    if finding["kind"] == "fleet-check":
        return f"{finding['severity']} → {finding['action']}, nobody is blamed yet"
    words = {"failed": "failed", "unmeasured": "not measured"}
    counts = [f"{finding[key]} {word}" for key, word in words.items() if finding[key]]
    return f"{' and '.join(counts)} of {finding['of']} nodes: one cause, no node is blamed [{finding['severity']}]"


def _quote(finding: Finding) -> str:
    return f"{said(finding['nodes'])}: {said(finding['message'])}" if finding["nodes"] else said(finding["message"])


def unreachable(verdicts: Mapping[str, Verdict]) -> list[Block]:
    """Nodes nobody could log in to, by cause."""
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, node in verdicts.items():
        if node["unreachable"]:
            kinds[node["unreachable"]["which"], node["unreachable"]["kind"]].append(name)
    return [[Line(f"{_fold(names)}: {which} ({kind})", 1), Line(_example(verdicts, names), 2)]
            for (which, kind), names in sorted(kinds.items(), key=lambda group: -len(group[1]))]


def _example(verdicts: Mapping[str, Verdict], names: Sequence[str]) -> str:
    return said(verdicts[names[0]]["unreachable"]["message"])


def faults(verdicts: Mapping[str, Verdict], severity: str) -> list[Block]:
    """Nodes whose worst own finding is of this severity; equal ones are one block, the gravest block first."""
    groups: dict[tuple[Key, ...], list[str]] = defaultdict(list)
    for name, node in verdicts.items():
        own = own_findings(node)
        if own and own[0]["severity"] == severity:
            groups[tuple(_key(each, name) for each in independent(own))].append(name)
    ordered = sorted(groups.items(), key=lambda group: (-ACTIONS.index(group[0][0][2]), -len(group[1])))
    return [list(_fault(keys, names, verdicts)) for keys, names in ordered]


def own_findings(node: Verdict) -> list[Finding]:
    """Findings that count against the node, worst first."""
    return [each for each in node["findings"] if not each["common_cause"]]


def _key(finding: Finding, name: str) -> Key:
    return finding["check"], finding["severity"], finding["action"], generic(finding["message"], name)


def independent(findings: Sequence[Finding]) -> list[Finding]:
    """The causes, warnings left out; the rest follows from them. Verdicts of runs before this was told: by the parts they share."""
    if all("since" in each for each in findings):
        return [findings[0], *(each for each in findings[1:] if not each.get("follows") and each["severity"] != "warn")]
    parts = slots(findings[0])
    others = [each for each in findings[1:] if each["severity"] != "warn"]
    return [findings[0], *(each for each in others if not parts & slots(each))]


def slots(finding: Finding) -> set[str]:
    """Where a finding's parts sit: the kernel log and NVML name one GPU differently, at the same place."""
    return {slot(part) for part in finding["parts"]}


def slot(part: Mapping[str, str]) -> str:
    """Where one part sits, else what it is called."""
    return (part.get("slot") or part.get("label") or part.get("kind", "")).lower()


def _fault(keys: Sequence[Key], names: Sequence[str], verdicts: Mapping[str, Verdict]) -> Iterator[Line]:
    yield from _cause(keys[0], f"{_fold(names)}: ", 1)
    yield from _follows(own_findings(verdicts[names[0]])[0], 2)
    for key in keys[1 : 1 + NAMED]:
        yield from _cause(key, "", 2)
    told = {key[0] for key in keys[: 1 + NAMED]}
    also = [each["check"] for name in names for each in own_findings(verdicts[name])
            if each["check"] not in told and each["severity"] != "warn" and not each.get("follows")]
    if also:
        yield Line(f"also: {said(several(also))}", 2)
    yield from _where(names, verdicts)


def _follows(finding: Finding, indent: int) -> Iterator[Line]:
    words = consequences(finding)
    if words:
        yield Line(said(words), indent)


def _cause(key: Key, prefix: str, indent: int) -> Iterator[Line]:
    check, severity, action, message = key
    yield Line(f"{prefix}{said(message)}  [{severity} → {action}, {said(check)}]", indent)


def _where(names: Sequence[str], verdicts: Mapping[str, Verdict]) -> Iterator[Line]:
    """Which machine and which piece of it, a line each node."""
    located = [(name, where) for name in names if (where := _pieces(verdicts[name]))]
    yield from (Line(f"{said(name)}: {where}", 2) for name, where in located[:NAMED])
    if len(located) > NAMED:
        yield Line(f"… and {len(located) - NAMED} more nodes", 2)


def _pieces(node: Verdict) -> str:
    parts: dict[str, Mapping[str, str]] = {}
    for part in (part for each in own_findings(node) if each["severity"] != "warn" for part in each["parts"]):
        if part.get("serial") or slot(part) not in parts:
            parts[slot(part)] = part
    machine = [f"machine serial {node['serial']}"] if node["serial"] else []
    past = past_words(own_findings(node)[0])
    return said("; ".join(filter(None, [past, several([*machine, *map(part_text, parts.values())], 1 + NAMED)])))


def suspects(verdicts: Mapping[str, Verdict]) -> list[Block]:
    """What was found within the window, is not there now, and is held against nobody."""
    return [[Line(said(f"{name}: {each['check']}: {generic(each['message'], name)} ({suspect_words(each)})"), 1)]
            for name, node in verdicts.items() for each in node.get("suspects", ()) if each["state"] != "failing"]


def warnings(verdicts: Mapping[str, Verdict]) -> list[Block]:
    """Recorded warnings, folded over nodes; the verdict stays what it is."""
    groups: dict[Key, list[str]] = defaultdict(list)
    for name, node in verdicts.items():
        for each in own_findings(node):
            if each["severity"] == SEVERITIES[0]:
                groups[_key(each, name)].append(name)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    return [[*_cause(key, f"{_fold(names)}: ", 1)] for key, names in ordered]


def observed(observations: Iterable[Finding]) -> list[Block]:
    """What a run shows beside its peers and earlier runs: swapped parts, one machine under two names, odd settings."""
    return [[Line(_quote(each), 1)] for each in observations]


def unmeasured(results: Iterable[Result], verdicts: Mapping[str, Any]) -> list[Block]:
    """What was not measured on nodes that could be reached, folded by reason; common causes are told already."""
    causes = [each for each in verdicts["fleet_findings"] if each["kind"] == "common-cause"]
    common = {check for each in causes for check in each["checks"]}
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        node = verdicts["nodes"].get(result.node)
        told = (node and node["unreachable"]) or (result.check in common and result.node)
        if result.outcome == "error" and not told:
            concerned = [result.node] if result.node else [*result.nodes] or ["fleet"]
            groups[generic(result.message, result.node)][result.check] += concerned
    return [_gap(message, checks) for message, checks in sorted(groups.items(), key=lambda group: -_size(group[1]))]


def _gap(message: str, checks: Mapping[str, Sequence[str]]) -> Block:
    names = dict.fromkeys(name for concerned in checks.values() for name in concerned)
    what = said(next(iter(checks))) if len(checks) == 1 else f"{len(checks)} checks ({said(several(checks, 2))})"
    return [Line(f"{_fold(names)}: {what}: {said(message.replace('<node>: ', ''))}", 1)]


def _size(checks: Mapping[str, Sequence[str]]) -> int:
    return sum(len(names) for names in checks.values())


def out_of_service(nodes: Iterable[Node]) -> list[Block]:
    """Nodes that were listed and not contacted, with what the inventory says of them."""
    groups: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        if not node.in_service:
            until = f" until {node.until}" if node.until else ""
            groups[f"{node.state}{until}{f', {node.note}' if node.note else ''}"].append(node.name)
    return [[Line(f"{_fold(names)}: {said(why)}", 1)] for why, names in groups.items()]


def waived(verdicts: Mapping[str, Verdict]) -> list[Block]:
    """Checks that the site does not ask of some nodes for a while, folded over nodes."""
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, node in verdicts.items():
        for each in node.get("waived", ()):
            groups[each["until"], each["reason"], each["check"]].append(name)
    return [[Line(f"{_fold(names)}: {said(check)} until {until}: {said(reason)}", 1)]
            for (until, reason, check), names in sorted(groups.items())]


def expired(sentences: Iterable[str]) -> list[Block]:
    """Waivers that no longer count."""
    return [[Line(said(sentence), 1)] for sentence in sentences]


def uncertified(verdicts: Mapping[str, Verdict]) -> list[Block]:
    """Healthy nodes without a certificate, and why."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for name, node in verdicts.items():
        if node["verdict"] == "healthy" and not node["certified"]:
            reasons[node["reason"]].append(name)
    ordered = sorted(reasons.items(), key=lambda group: -len(group[1]))
    return [[Line(f"{_fold(names)}: {said(reason)}", 1)] for reason, names in ordered]


def missing(verdicts: Mapping[str, Any]) -> list[Block]:
    """Planned items without an outcome, folded over nodes and checks."""
    checks: dict[str, list[str]] = defaultdict(list)
    for entry in verdicts["missing"]:
        checks[entry["check"]].append(entry["node"] or "fleet")
    folded: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for check, names in checks.items():
        folded[tuple(names)].append(check)
    return [[Line(f"{_fold(names)}: {said(several(found))}", 1)] for names, found in folded.items()]


def _fold(names: Iterable[str]) -> str:
    return said(fold(names))
