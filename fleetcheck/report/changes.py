"""What changed since the last complete run: what is new, what is still there, what healed, what nobody could look at. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fleetcheck.common_cause import generic
from fleetcheck.inventory import fold
from fleetcheck.report import causes
from fleetcheck.report.case import part_text
from fleetcheck.report.lines import Block, Line, said
from fleetcheck.report.past_words import past_words

STATES = ("NEW", "STILL", "HEALED", "UNPROVEN")
"""UNPROVEN: seen in the last complete run, and this run has not measured that it is gone."""
LOGIN = "login"
"""What stands for a check where a node cannot be reached."""
Verdicts = Mapping[str, Any]
Finding = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """One cause on one node. since: when the oldest run began that saw it, with no complete run in between that did not; also: how many
    further findings of the node follow from it or stand beside it; note: why it is unproven, or that the machine is another one."""

    state: str
    node: str
    check: str
    severity: str
    action: str
    message: str
    since: str
    serial: str = ""
    component: str = ""
    parts: tuple[str, ...] = ()
    also: int = 0
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """against, began: the last complete run and when it started; empty: there is none, so nothing is called new."""

    against: str = ""
    began: str = ""
    changes: tuple[Change, ...] = ()

    def of(self, state: str) -> list[Change]:
        """The changes in one state."""
        return [each for each in self.changes if each.state == state]


def compare(now: Verdicts, earlier: Iterable[Verdicts], passed: Container[tuple[str, str]]) -> Comparison:
    """earlier: complete runs of the same fleet and tier, the newest first; read only as far as something is still open.

    passed: (node, check) that this run measured and passed.
    """
    runs = iter(earlier)
    last = next(runs, None)
    found = list(_present(now))
    if last is None:
        return Comparison(changes=tuple(_gravest_first(found)))
    still = {(each.node, each.check, each.parts): each for each in found if each.state == "NEW" and _saw(last, now, each)}
    dated = _dated(still, now, last, runs)
    fresh = [dated.get((each.node, each.check, each.parts), each) for each in found]
    return Comparison(last["run"], last["started"], tuple(_gravest_first([*fresh, *_gone(now, last, passed)])))


def _present(verdicts: Verdicts, state: str = "NEW") -> Iterator[Change]:
    """The causes a run found, a node at a time: not reached at all, or its independent findings."""
    for name, node in verdicts["nodes"].items():
        own = causes.own_findings(node)
        if node["unreachable"]:
            message = node["unreachable"]["message"]
            yield Change(state, name, LOGIN, "unreachable", node["action"], message, verdicts["started"], node["serial"])
        if own and own[0]["severity"] != "warn":
            chosen = causes.independent(own)
            for each in chosen:
                also = len(own) - len(chosen) if each is own[0] else 0
                open_one = state == "NEW" and each.get("open_since")
                yield Change("UNPROVEN" if open_one else state, name, each["check"], each["severity"], each["action"], each["message"],
                             each.get("since") or verdicts["started"], node["serial"], each["component"],
                             tuple(map(part_text, each["parts"])), also, past_words(each, brief=True) if state == "NEW" else "")


def _saw(earlier: Verdicts, now: Verdicts, change: Change) -> bool:
    """Whether an earlier run found the same on the same machine."""
    then = earlier["nodes"].get(change.node)
    if then is None or _swapped(then["serial"], change.serial):
        return False
    if change.check == LOGIN:
        return bool(then["unreachable"])
    present = next((each for each in causes.own_findings(now["nodes"][change.node])
                    if each["check"] == change.check and tuple(map(part_text, each["parts"])) == change.parts), None)
    return present is not None and any(_same(each, present) for each in causes.own_findings(then))


def _swapped(one: str, other: str) -> bool:
    return bool(one and other and one != other)


def _same(one: Finding, other: Finding) -> bool:
    """The same check about a part at the same place; a finding that names no part is about the whole node."""
    mine, theirs = causes.slots(one), causes.slots(other)
    return one["check"] == other["check"] and (not mine or not theirs or bool(mine & theirs)) and not _other_parts(one, other)


def _other_parts(one: Finding, other: Finding) -> bool:
    """Whether the parts at the same places were all replaced by others."""
    mine = {causes.slot(part): part.get("serial", "") for part in one["parts"]}
    shared = [(mine[causes.slot(part)], part.get("serial", "")) for part in other["parts"] if causes.slot(part) in mine]
    return bool(shared) and all(_swapped(*pair) for pair in shared)


def _dated(still: dict[Any, Change], now: Verdicts, last: Verdicts, runs: Iterator[Verdicts]) -> dict[Any, Change]:
    """Those changes as STILL, each with the start of the oldest run that saw it without a gap."""
    dated = {key: replace(each, state="STILL", since=_older(each.since, last["started"])) for key, each in still.items()}
    open_ones = dict(still)
    while open_ones and (run := next(runs, None)) is not None:
        open_ones = {key: each for key, each in open_ones.items() if _saw(run, now, each)}
        dated |= {key: replace(dated[key], since=_older(dated[key].since, run["started"])) for key in open_ones}
    return dated


def _older(one: str, other: str) -> str:
    """The earlier of two moments; a finding's own date may be that of a run of another tier."""
    return min(one, other, key=lambda moment: moment[:19])


def _gone(now: Verdicts, last: Verdicts, passed: Container[tuple[str, str]]) -> Iterator[Change]:
    """What the last complete run found and this one did not: healed only where this run measured that it is gone."""
    earlier = {name: node for name, node in last["nodes"].items()}
    for old in _present(last, "HEALED"):
        node = now["nodes"].get(old.node)
        findings = [each for each in causes.own_findings(earlier[old.node]) if each["check"] == old.check]
        own = causes.own_findings(node) if node else []
        if node and (any(_same(each, mine) for each in findings for mine in own) or (old.check == LOGIN and node["unreachable"])):
            continue
        doubt = _doubt(node, old, passed)
        note = doubt or _machine(node, old)
        yield replace(old, state="UNPROVEN" if doubt else "HEALED", note=note, serial=(node or {}).get("serial") or old.serial)


def _doubt(node: Mapping[str, Any] | None, old: Change, passed: Container[tuple[str, str]]) -> str:
    """Why nobody knows whether it healed; empty when this run measured it."""
    if node is None:
        return "the node is not part of this run"
    if node["state"] != "in-service":
        return f"the node is in state {node['state']} and was not contacted"
    if node["unreachable"]:
        return f"the node was not reached ({node['unreachable']['kind']})"
    if old.check == LOGIN:
        return "" if node["coverage"]["measured"] else "nothing was measured on the node"
    failed = any(each["check"] == old.check for each in node["findings"])
    return "" if failed or (old.node, old.check) in passed else f"{old.check} was not measured"


def _machine(node: Mapping[str, Any] | None, old: Change) -> str:
    serial = node["serial"] if node else ""
    return f"another machine now: serial {serial}, was {old.serial}" if _swapped(serial, old.serial) else ""


def _gravest_first(found: Iterable[Change]) -> list[Change]:
    gravity = ("fatal", "unreachable", "degraded", "warn")
    return sorted(found, key=lambda each: (STATES.index(each.state), gravity.index(each.severity)))


def folded(found: Iterable[Change]) -> list[list[Change]]:
    """Changes that say the same of several nodes, together; the order stays."""
    groups: dict[tuple[str, ...], list[Change]] = defaultdict(list)
    for each in found:
        words = generic(each.message, each.node) if each.check != LOGIN else ""
        groups[each.state, each.check, each.severity, each.action, words, each.since, each.note].append(each)
    return list(groups.values())


def title(comparison: Comparison) -> str:
    """How much is new, still there, healed, unproven, and against which run."""
    counts = ", ".join(f"{count} {state}" for state in STATES if (count := len(comparison.of(state))))
    return f"SINCE {comparison.against}, the last complete run, {comparison.began}: {counts or 'nothing was wrong, nothing is'}"


def blocks(comparison: Comparison) -> list[Block]:
    """The changes as blocks of a terminal page, folded over nodes."""
    return [[Line(_line(group), 1)] for group in folded(comparison.changes)]


def _line(group: Sequence[Change]) -> str:
    first = group[0]
    since = f", since {first.since[:16].replace('T', ' ')}" if first.state in ("STILL", "UNPROVEN") else ""
    note = f" ({said(first.note)})" if first.note else ""
    message = said(generic(first.message, first.node), 120)
    return f"{first.state} {said(fold(each.node for each in group))}: {message}{note}  [{said(first.check)}{since}]"
