"""Complete runs before this one in the same reports folder: what a run is compared with. Runs on the controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from fleetcheck.records import Result
from fleetcheck.report.changes import Comparison, compare
from fleetcheck.run import Run, RunError, runs

LOOKED_BACK = 60
"""Complete runs read at most to date a finding: two months of nights."""


def compared(run: Run, verdicts: Mapping[str, Any], results: Iterable[Result]) -> Comparison:
    """This run against the complete runs before it; results are read only where something was wrong before."""
    earlier = islice(complete_before(run, verdicts), LOOKED_BACK)
    last = next(earlier, None)
    if last is None:
        return compare(verdicts, (), ())
    wrong = {(name, each["check"]) for name, node in last["nodes"].items() for each in node["findings"]}
    passed = {asked for each in (results if wrong else ()) if each.outcome == "passed" and (asked := (each.node, each.check)) in wrong}
    return compare(verdicts, chain([last], earlier), passed)


def complete_before(run: Run, verdicts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Verdicts of complete runs of the same fleet and tier, the newest first. A replay is compared with what was before the run that it
    replays; replays themselves count nothing, and a run that cannot be read is passed over."""
    for other in runs(run.path.parent, before=verdicts["replay_of"] or run.id):
        try:
            if _comparable(other.facts, verdicts):
                yield other.conclusions()
        except (RunError, AttributeError):
            continue


def _comparable(facts: Mapping[str, Any], verdicts: Mapping[str, Any]) -> bool:
    """Whether run.json tells of a complete run, no replay, of this fleet and tier."""
    same = all(facts.get(key) == verdicts[key] for key in ("fleet", "tier"))
    return same and facts.get("complete") is True and not facts.get("replay_of")
