"""What earlier runs say of a finding, and what follows from it, in an operator's words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetcheck.report.lines import said, several

Finding = Mapping[str, Any]


def past_words(finding: Finding, brief: bool = False) -> str:
    """How long, how often, whether it was measured at all; empty where this run is all there is to say. brief: without date and outlook.

    >>> past_words({"since": "2026-11-28T02:00:00", "runs": 3, "time": 2, "isolates": True, "failed": 2, "measured": 3})
    'since 2026-11-28 02:00, 3 runs, 2nd time, failed in 2 of the last 3 runs'
    """
    long = [] if brief else [_since(finding), _often(finding)]
    return ", ".join(filter(None, [*long[:1], _times(finding), *long[1:], _open(finding)]))


def _since(finding: Finding) -> str:
    began = moment(finding.get("since", ""))
    return f"since {began}" if began and (finding.get("runs", 1) > 1 or finding.get("open_since")) else ""


def _times(finding: Finding) -> str:
    runs, time = finding.get("runs", 1), finding.get("time", 1)
    return ", ".join([*([f"{runs} runs"] if runs > 1 else []), *([f"{ordinal(time)} time"] if time > 1 else [])])


def _often(finding: Finding) -> str:
    if finding.get("suspect") and finding.get("failed", 0) <= 1:
        words = "to be isolated when it repeats"
    elif finding.get("isolates") or finding.get("suspect"):
        words = f"failed in {finding.get('failed', 0)} of the last {finding.get('measured', 0)} runs"
    else:
        words = ""
    return ", ".join(filter(None, [words, "passes and fails in turn" if finding.get("flaky") else ""]))


def _open(finding: Finding) -> str:
    last = finding.get("open_since", "")
    tier = f", tier {finding['tier']}" if finding.get("tier") else ""
    return f"not measured again since run {said(last)}{tier}" if last else ""


def consequences(finding: Finding) -> str:
    """The checks that failed for the same cause, and how many it left unmeasured.

    >>> consequences({"consequences": ["test_a", "test_b"], "unmeasured": 41})
    '2 more findings follow: test_a, test_b; 41 checks not measured for it'
    """
    checks, lost = finding.get("consequences", ()), finding.get("unmeasured", 0)
    follow = f"{len(checks)} more finding{'s follow' if len(checks) > 1 else ' follows'}: {several(checks)}" if checks else ""
    return "; ".join(filter(None, [follow, f"{lost} check{'s' if lost > 1 else ''} not measured for it" if lost else ""]))


def suspect_words(suspect: Finding) -> str:
    """How a suspect stands: how often, when last, whether it passed since."""
    flaky = ", passes and fails in turn" if suspect["flaky"] else ""
    return f"failed in {suspect['failed']} of {suspect['measured']} runs, last {moment(suspect['last'])}, {suspect['state']}{flaky}"


def moment(text: str) -> str:
    """A time as people read it, to the minute."""
    return said(text[:16].replace("T", " "))


def ordinal(number: int) -> str:
    """
    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 21)]
    ['1st', '2nd', '3rd', '4th', '11th', '21st']
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
