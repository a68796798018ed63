"""The rules that earlier runs lay on one finding, in the order they apply. Pure; docs/verdicts.md says them in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from fleetcheck.finding import Finding
from fleetcheck.past import Step, covers, within
from fleetcheck.records import ISOLATING
from fleetcheck.terms import Terms

LADDER = ("reset-gpu", "reboot", "replace")
"""What to do when the same fault comes back on the same part after the step before."""


def dated(finding: Finding, steps: Sequence[Step], terms: Terms) -> Finding:
    """Since when it has been there, with no proof in between that it was gone, and how many runs measured it."""
    streak = list(unbroken(finding, steps))
    oldest = streak[-1] if streak else None
    since = (oldest.since or oldest.started) if oldest else terms.started
    return replace(finding, since=since, runs=max(1, sum(step.state == "failed" for step in streak)))


def unbroken(finding: Finding, steps: Sequence[Step]) -> Iterator[Step]:
    """The steps that saw it, back to the first pass that proves it gone: any of a soft finding, one of the failed tier of a fatal one."""
    for number, step in enumerate(steps):
        if step.state != "passed":
            yield step
        elif finding.severity != "fatal" or _closes(step, steps[number + 1 :]):
            return


def _closes(step: Step, older: Sequence[Step]) -> bool:
    failed = next((each for each in older if each.state != "passed"), None)
    return failed is not None and step.complete and covers(step.tier, failed.tier)


def returned(finding: Finding, steps: Sequence[Step], terms: Terms) -> Finding:
    """How often it has come within the window: gone in between in some run, or back after a reboot."""
    recent = [step for step in _recent(steps, terms) if step.state != "open"]
    failing = [step for step in recent if step.state == "failed"]
    again = sum(_anew(newer, older, recent) for newer, older in pairwise(failing))
    return replace(finding, time=1 + again)


def _anew(newer: Step, older: Step, steps: Sequence[Step]) -> bool:
    """Whether the newer of two failures that follow each other is another one than the older."""
    rebooted = bool(newer.boot_id and older.boot_id and newer.boot_id != older.boot_id)
    return rebooted or steps.index(older) - steps.index(newer) > 1


def counted(finding: Finding, steps: Sequence[Step], terms: Terms) -> Finding:
    """A soft finding isolates once it failed in so many of the last complete runs that measured it; before that it is suspect."""
    asked = [step for step in steps if step.complete and step.state != "open"][: terms.repeats.of_runs]
    failed = sum(step.state == "failed" for step in asked)
    often = terms.complete and failed >= terms.repeats.isolate_after
    soft = finding.severity == "degraded" and finding.action in ISOLATING and not finding.carried
    return replace(finding, failed=failed, measured=len(asked), isolates=soft and often, suspect=soft and not often)


def laddered(finding: Finding, steps: Sequence[Step], terms: Terms) -> Finding:
    """The same fault back on the same part asks for more than last time: reset the GPU, reboot, replace."""
    of_a_part = any(part.get("kind") != "node" for part in finding.parts)
    if finding.severity == "warn" or finding.action not in LADDER or not of_a_part:
        return finding
    place = min(LADDER.index(finding.action) + finding.time - 1, len(LADDER) - 1)
    return replace(finding, action=LADDER[place])


def flickering(finding: Finding, steps: Sequence[Step], terms: Terms) -> Finding:
    """It passes and fails in turn."""
    return replace(finding, flaky=is_flaky(steps, terms))


def is_flaky(steps: Sequence[Step], terms: Terms) -> bool:
    """Whether outcomes within the window changed often enough to be called so."""
    states = [step.state for step in _recent(steps, terms) if step.state != "open"]
    return sum(one != other for one, other in pairwise(states)) >= terms.repeats.flaky_changes


def _recent(steps: Iterable[Step], terms: Terms) -> list[Step]:
    begin = within(terms.started, terms.repeats.window_days)
    return [step for step in steps if step.started[:19] >= begin]


RULES: tuple[Callable[[Finding, Sequence[Step], Terms], Finding], ...] = (dated, returned, counted, laddered, flickering)


def ruled(finding: Finding, steps: Sequence[Step], terms: Terms) -> Finding:
    """The finding once every rule has said its word."""
    for rule in RULES:
        finding = rule(finding, steps, terms)
    return finding
