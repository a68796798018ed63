"""One node's findings beside its own past: measured, carried from earlier runs, suspect. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any

from fleetcheck.finding import Finding, found
from fleetcheck.finding_rules import is_flaky, ruled
from fleetcheck.folding import folded
from fleetcheck.observed import Observed
from fleetcheck.past import NO_PIECE, Told, course, covers, pieces, same_piece, within
from fleetcheck.records import Result
from fleetcheck.terms import Terms
from fleetcheck.verdict_rules import worst_first

LISTED = 12
"""Suspects of one node that are listed at most."""


@dataclass(frozen=True)
class Examined:
    """findings: measured and carried, worst first, those of a common cause last; carried: fatal ones of earlier runs that are still open,
    of nodes out of service too; suspects: what is not held against the node, and was or is seen on it."""

    findings: tuple[Finding, ...] = ()
    carried: tuple[Finding, ...] = ()
    suspects: tuple[dict[str, Any], ...] = ()


def examined(node: Observed, terms: Terms) -> Examined:
    """A node's findings, weighed by what earlier runs said of them."""
    failed = [each for each in node.results if each.outcome == "failed"]
    if not failed and not node.past:
        return Examined()
    lines = (*_now(node, terms), *node.past)
    carried = tuple(_weighed(each, lines, terms) for each in _open(node, lines))
    if not node.in_service:
        return Examined(carried=carried)
    own = [_weighed(found(each, each.check in node.held_back), lines, terms) for each in failed]
    findings = sorted(worst_first([*own, *carried]), key=lambda each: each.common_cause)
    return Examined(folded(findings, node.results), carried, tuple(_suspects(findings, node, lines, terms))[:LISTED])


def _weighed(finding: Finding, lines: Sequence[Told], terms: Terms) -> Finding:
    """What is shared by many nodes says nothing of this one, whatever its past."""
    if finding.common_cause:
        return finding
    return ruled(finding, course(finding.check, pieces(finding.parts), lines), terms)


def _now(node: Observed, terms: Terms) -> Iterator[Told]:
    """This run's outcomes as lines of the past, of the checks that matter."""
    known = {each.check for each in node.past}
    for result in node.results:
        if result.outcome == "failed" and result.check not in node.held_back:
            yield from (_line(result, node, terms, about) for about in _named(result))
        elif result.outcome == "passed" and result.check in known:
            yield _line(result, node, terms, {})
    for check in node.passed_with & known:
        yield Told(terms.run, terms.started, terms.tier, terms.complete, node.name, "", check, "passed")


def _named(result: Result) -> list[dict[str, str]]:
    return [dict(part) for part in result.parts if part.get("kind") != "node"] or [{}]


def _line(result: Result, node: Observed, terms: Terms, part: dict[str, str]) -> Told:
    return Told(
        terms.run, terms.started, terms.tier, terms.complete, node.name, "", result.check, result.outcome, result.severity, result.action,
        result.component, result.message, part.get("kind", ""), part.get("label", ""), part.get("slot", ""), part.get("serial", ""),
        result.boot_id,
    )


def _open(node: Observed, lines: Sequence[Told]) -> Iterator[Finding]:
    """Fatal findings of earlier runs that this one has neither measured again nor proved gone."""
    known: list[Told] = []
    measured = [each for each in lines[: len(lines) - len(node.past)] if each.outcome == "failed"]
    for told in node.past:
        if told.severity != "fatal" or told.outcome not in ("failed", "open") or any(_alike(told, each) for each in [*measured, *known]):
            continue
        known.append(told)
        newer = takewhile(lambda each, run=told.run: each.run != run, lines)  # type: ignore[misc]
        if not any(_proves(list(group), told) for _, group in groupby(newer, key=lambda each: each.run)):
            yield Finding(told.check, told.component, told.severity, told.action, told.message, told.parts, told.boot_id,
                          open_since=told.last or told.run, tier=told.tier)


def _alike(one: Told, other: Told) -> bool:
    return one.check == other.check and same_piece(one.piece, other.piece)


def _proves(lines: Sequence[Told], open_one: Told) -> bool:
    """Whether one run proves a fatal finding gone: complete, of the failed tier, the check measured and passed, and nothing found that
    is fatal, or degraded on the same part or component."""
    first = lines[0]
    if not first.complete or not covers(first.tier, open_one.tier) or not any(each.check == open_one.check for each in lines):
        return False
    return not any(_contradicts(each, open_one) for each in lines if each.outcome in ("failed", "open"))


def _contradicts(line: Told, open_one: Told) -> bool:
    near = line.component == open_one.component or (open_one.piece != NO_PIECE and line.piece[1] and same_piece(line.piece, open_one.piece))
    return line.severity == "fatal" or bool(near)


def _suspects(findings: Iterable[Finding], node: Observed, lines: Sequence[Told], terms: Terms) -> Iterator[dict[str, Any]]:
    """What failed now and is not held against the node yet, and what failed within the window and is not there now."""
    own = [each for each in findings if not each.common_cause]
    yield from (_suspect(each, lines, terms, "failing") for each in own if each.suspect or each.flaky)
    begin = within(terms.started, terms.repeats.window_days)
    told: list[tuple[str, tuple[str, str]]] = [(each.check, about) for each in own for about in pieces(each.parts)]
    passed = {each.check for each in node.results if each.outcome == "passed"} | node.passed_with
    for each in node.past:
        alike = any(each.check == check and same_piece(each.piece, about) for check, about in told)
        if each.outcome == "failed" and each.started >= begin and not alike:
            told.append((each.check, each.piece))
            past = Finding(each.check, each.component, each.severity, each.action, each.message, each.parts)
            yield _suspect(past, lines, terms, "passed since" if each.check in passed else "not measured again")


def _suspect(finding: Finding, lines: Sequence[Told], terms: Terms, state: str) -> dict[str, Any]:
    begin = within(terms.started, terms.repeats.window_days)
    steps = [each for each in course(finding.check, pieces(finding.parts), lines) if each.started[:19] >= begin and each.state != "open"]
    failed = [each for each in steps if each.state == "failed"]
    return {
        "check": finding.check, "severity": finding.severity, "message": finding.message, "parts": [dict(part) for part in finding.parts],
        "state": state, "failed": len(failed), "measured": len(steps), "first": failed[-1].started if failed else terms.started,
        "last": failed[0].started if failed else terms.started, "flaky": is_flaky(steps, terms),
    }


