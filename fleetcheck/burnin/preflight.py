"""Whether a node may be loaded at all: its facts came, and nobody else works there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fleetcheck.burnin.claims import busy
from fleetcheck.exchange import Request
from fleetcheck.quoting import escaped
from fleetcheck.records import Evidence, Failure

FRESH_SECONDS = 120.0
"""For so long facts say whether a node is busy; later it is asked again."""
LOOK_SECONDS = 60.0


def trouble(node: str, facts: Iterable[Evidence]) -> Failure | None:
    """Why a node is not loaded, from all that was asked of it before; None when it may be."""
    facts = list(facts)
    failure = next((each.failure for each in facts if each.failure), None)
    if failure:
        return Failure(failure.kind, f"{failure.message} (so it was not loaded)")
    found = next((each.answers["system"] for each in facts if "system" in each.answers), None)
    if found is None or not found.ok:
        return _deferred(node, f"whether a job runs there is unknown: {found.error if found else 'nobody asked'}")
    jobs = found.data.get("busy")
    if isinstance(jobs, list):
        return _deferred(node, busy([str(job) for job in jobs])) if jobs else None
    reason = jobs.get("absent") if isinstance(jobs, Mapping) else f"it says {jobs!r:.80}"
    return _deferred(node, f"whether a job runs there is unknown: {reason}")


def _deferred(node: str, reason: str) -> Failure:
    return Failure("deferred", escaped(f"{node}: deferred: {reason}"))


def look(run: str) -> Request:
    """The question whether a node is busy now."""
    return Request(run, "load", "preflight", ("system",), LOOK_SECONDS)
