"""Which nodes enter a campaign: well by themselves, and idle. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fleetcheck.burnin.preflight import trouble
from fleetcheck.common_cause import common_checks
from fleetcheck.inventory import Node
from fleetcheck.observed import observe
from fleetcheck.records import Evidence, Failure, Planned, Result
from fleetcheck.verdict_rules import worst_first


def unwell(nodes: Sequence[Node], planned: Sequence[Planned], results: Sequence[Result],
           failures: Mapping[str, Failure]) -> dict[str, Failure]:
    """Nodes that the checks before found failed or degraded, each with its worst finding; what most nodes show is nobody's."""
    seen = observe(nodes, planned, results, failures)
    common = {(name, each.check) for each in common_checks(seen) for name in each.names}
    found = {}
    for name, node in seen.items():
        findings = [each for each in node.results
                    if each.outcome == "failed" and each.severity != "warn" and (name, each.check) not in common]
        if findings:
            worst = worst_first(findings)[0]
            said = worst.message.removeprefix(f"{name}: ")
            found[name] = Failure("excluded", f"{name}: not tried with others: {worst.check} failed: {said}"[:600])
    return found


def busy(node: str, evidence: Evidence) -> Failure | None:
    """Why a node that was asked is left alone: it is in use, or told nothing; None when it is idle."""
    failure = trouble(node, [evidence])
    if failure is None:
        return None
    return Failure(failure.kind, failure.message.replace("(so it was not loaded)", "(so it was not tried with others)"))


def accelerated(evidence: Evidence) -> bool:
    """Whether its torch sees accelerators."""
    answer = evidence.answers.get("rank_ready")
    found = answer.data.get("accelerators") if answer and answer.ok else None
    return isinstance(found, list) and bool(found)
