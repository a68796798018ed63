"""The ten points of an acceptance and how a run answers them. Runs on the controller; answering is pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import PurePath

import yaml

from fleetcheck.report.html.outcomes import Outcomes

FAILING = "fdcw"


@dataclass(frozen=True)
class Point:
    """One point: what must hold, by which proof, and which check files (``node/test_gpu*``) answer it."""

    point: str
    proof: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Answered:
    """state: met, failed, open (not measured everywhere), not asked (no such check in this run). counts: items by letter."""

    point: Point
    state: str
    checks: tuple[str, ...]
    failing: tuple[str, ...]
    passed: int
    failed: int
    unmeasured: int
    skipped: int


def points() -> tuple[Point, ...]:
    """The ten points."""
    text = resources.files("fleetcheck.report.html").joinpath("acceptance.yaml").read_text(encoding="utf-8")
    return tuple(Point(each["point"], each["proof"], tuple(each["files"])) for each in yaml.safe_load(text))


def point_of(listed: Sequence[Point], file: str) -> int | None:
    """The number of the point that a check's file answers; a site's own check file answers none.

    >>> point_of(points(), "checks/node/test_pcie.py")
    4
    """
    path = PurePath(file)
    name = f"{path.parent.name}/{path.stem}"
    return next((number for number, each in enumerate(listed) if any(fnmatchcase(name, pattern) for pattern in each.files)), None)


def answered(listed: Sequence[Point], outcomes: Outcomes) -> list[Answered]:
    """Every point with what the run says of it. Met needs something measured, everything passed, and nothing left unmeasured."""
    belongs: list[list[str]] = [[] for _ in listed]
    for row in outcomes.checks.values():
        number = point_of(listed, row.file)
        if number is not None:
            belongs[number].append(row.name)
    return [_answered(point, names, outcomes) for point, names in zip(listed, belongs, strict=True)]


def _answered(point: Point, names: Sequence[str], outcomes: Outcomes) -> Answered:
    counted = {name: outcomes.counts(outcomes.checks[name]) for name in names}
    total: Counter[str] = sum(counted.values(), Counter())
    failed, unmeasured = sum(total[letter] for letter in FAILING), total["e"] + total["m"]
    failing = tuple(name for name, counts in counted.items() if any(counts[letter] for letter in FAILING))
    state = ("not asked" if not total["p"] + failed + unmeasured else "failed" if failed else "open" if unmeasured else "met")
    return Answered(point, state, tuple(names), failing, total["p"], failed, unmeasured, total["s"])
