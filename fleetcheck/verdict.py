"""From results to verdicts: what a run says about each node and about the fleet. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fleetcheck.acceptance.hours import Accepted
from fleetcheck.common_cause import Common, check_findings, common_checks, login_findings, several_findings
from fleetcheck.examined import Examined, examined
from fleetcheck.exchanged import two_names
from fleetcheck.inventory import Node, fold
from fleetcheck.observed import Observed, coverage, observe
from fleetcheck.past import NO_PAST, Past
from fleetcheck.policy import Repeats
from fleetcheck.profile import Profile
from fleetcheck.reconcile import Reconciliation, item, reconcile
from fleetcheck.records import ISOLATING, OUTCOMES, Failure, Planned, Result
from fleetcheck.shared_place import Shared, place_findings, shared_places, silent_places
from fleetcheck.terms import Terms
from fleetcheck.verdict_rules import WHICH, obstacles, rule

SCHEMA = 1
VERDICTS = ("failed", "unreachable", "degraded", "unknown", "healthy")
"""Worst first."""


@dataclass(frozen=True)
class RunInfo:
    """The run being judged. narrowed: why it is partial, such as ``-k ecc``; replay_of: whose evidence it used.
    expired: waivers that no longer count, in words; limits: the hash of what it was judged by."""

    run: str
    fleet: str
    tier: str
    started: str
    narrowed: str = ""
    interrupted: bool = False
    replay_of: str = ""
    expired: tuple[str, ...] = ()
    limits: str = ""


def judge(
    info: RunInfo, nodes: Sequence[Node], planned: Sequence[Planned], results: Sequence[Result],
    failures: Mapping[str, Failure], *,
    required: Mapping[str, Sequence[str]] | None = None, serials: Mapping[str, str] | None = None,
    concluded: Sequence[Result] = (), observations: Sequence[Mapping[str, Any]] = (), accepted: Mapping[str, Accepted] | None = None,
    past: Past = NO_PAST, repeats: Repeats | None = None,
) -> dict[str, Any]:
    """The content of verdicts.json.

    nodes: every node listed, out of service too. failures: by node, why a probe of it brought no answer. required: by
    profile, the checks this tier demands (none named: every applicable one). serials: by node, as measured. concluded: findings
    that no planned check made but a node's peers and history. observations: what the run shows beside earlier ones and blames nobody for.
    accepted: by node, its hours under load; none but in an acceptance. past: what earlier runs found; repeats: how it weighs.
    """
    book = reconcile(planned, results)
    partial = _partial(info, planned, book)
    seen = observe(nodes, planned, [*results, *concluded], failures, past.told, two_names(serials or {}))
    places = shared_places(seen)
    commons = common_checks(seen, _held_back(places))
    held_back = _held_back([*places, *commons])
    seen = {name: replace(node, held_back=held_back.get(name, frozenset())) for name, node in seen.items()}
    expected = {node.name: node.serials.get("chassis", "") for node in nodes}
    common = Terms(info.tier, not partial, partial, run=info.run, started=info.started, repeats=repeats or Repeats())
    terms = {name: replace(common, required=tuple((required or {}).get(node.profile, ())), accepted=(accepted or {}).get(name))
             for name, node in seen.items()}
    verdicts = {
        name: {
            **_verdict(node, terms[name]), "serial": (serials or {}).get(name) or expected.get(name, ""), "profile": node.profile,
        }
        for name, node in seen.items()
    }
    reached = sum(node.reached for node in seen.values())
    return {
        "schema": SCHEMA, "run": info.run, "fleet": info.fleet, "tier": info.tier, "started": info.started,
        "complete": not partial, "partial": partial, "narrowed": info.narrowed, "interrupted": info.interrupted,
        "replay_of": info.replay_of, "expired_waivers": list(info.expired), "limits": info.limits,
        "nodes": verdicts, "isolate": fold(_isolated(verdicts)),
        "fleet_findings": [*login_findings(seen), *silent_places(seen), *place_findings(places), *check_findings(commons, reached),
                           *several_findings(results)],
        "observations": [dict(each) for each in observations], "history": past.about(),
        "missing": [{"check": each.check, "node": each.node, "component": each.component, "item": item(each)}
                    for each in book.missing],
        "repeated": list(book.repeated), "unplanned": list(book.unplanned),
        "counts": _counts(verdicts, planned, results),
    }


def demanded(profiles: Mapping[str, Profile], tier: str) -> dict[str, Sequence[str]]:
    """By profile, the checks a tier names as required; what ``judge`` takes as ``required``."""
    return {name: profile.required.get(tier, ()) for name, profile in profiles.items()}


def _partial(info: RunInfo, planned: Sequence[Planned], book: Reconciliation) -> str:
    """Why the run is not complete; empty when it is."""
    why = [f"narrowed by {info.narrowed}" if info.narrowed else "", "interrupted" if info.interrupted else "",
           f"{len(book.missing)} of {len(planned)} planned items have no outcome" if book.missing else "",
           f"{len(book.repeated)} items have several outcomes" if book.repeated else "",
           f"{len(book.unplanned)} outcomes were not planned" if book.unplanned else "",
           "" if planned else "nothing was planned"]
    return "; ".join(filter(None, why))


def _held_back(commons: Iterable[Common | Shared]) -> dict[str, frozenset[str]]:
    checks: dict[str, set[str]] = {}
    for each in commons:
        for name in each.names:
            checks.setdefault(name, set()).add(each.check)
    return {name: frozenset(held) for name, held in checks.items()}


def _verdict(node: Observed, terms: Terms) -> dict[str, Any]:
    seen = examined(node, terms)
    node = replace(node, found=seen.findings)
    ruling = rule(node)
    hindering = obstacles(node, ruling, terms)
    hours = terms.accepted.hours_lacking if terms.accepted and ruling.verdict == "healthy" else []
    failure = node.failure if node.failure and node.unreachable and _silent(seen, ruling.verdict) else None
    return {
        "verdict": ruling.verdict, "certified": not (hindering or hours), "state": node.state, "action": ruling.action,
        "reason": "; ".join([*hindering, *hours]),
        "findings": [each.told() for each in seen.findings],
        "open": [each.told() for each in seen.carried], "suspects": list(seen.suspects), "same_machine": list(node.doubled),
        "coverage": coverage(node) if node.in_service else {"planned": 0, "measured": 0},
        "waived": [_waived(each) for each in node.planned if each.waived],
        "unreachable": _cause(failure) if failure else None,
        **({"acceptance": terms.accepted.told(counts=not hindering)} if terms.accepted else {}),
    }


def _silent(seen: Examined, verdict: str) -> bool:
    """Whether nobody could log in and nothing measured now is graver."""
    return verdict == "unreachable" or (verdict == "failed" and all(each.carried for each in seen.findings if each.severity == "fatal"))


def _cause(failure: Failure) -> dict[str, str]:
    return {"which": WHICH[failure.kind], "kind": failure.kind, "message": failure.message}


def _waived(planned: Planned) -> dict[str, str]:
    """A check the site does not ask of this node: neither passed nor in the way of a certificate, but always named."""
    return {"check": planned.check, "until": planned.policy["waived_until"], "reason": planned.policy["reason"]}


def _isolated(verdicts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [name for name, each in verdicts.items() if _isolates(each) and not each["same_machine"]]


def _isolates(node: Mapping[str, Any]) -> bool:
    """A hard fault at once, a soft one when it has repeated."""
    hard = node["verdict"] == "failed" and node["action"] in ISOLATING
    return hard or any(each.get("isolates") for each in node["findings"])


def _counts(
    verdicts: Mapping[str, Mapping[str, Any]], planned: Sequence[Planned], results: Sequence[Result],
) -> dict[str, Any]:
    serving = [each for each in verdicts.values() if each["state"] == "in-service"]
    judged = Counter(each["verdict"] for each in serving)
    outcomes = Counter(result.outcome for result in results)
    return {
        "nodes": {"in-service": len(serving), "out-of-service": len(verdicts) - len(serving),
                  "certified": sum(each["certified"] for each in serving), **{word: judged[word] for word in VERDICTS}},
        "items": {"planned": len(planned), **{word: outcomes[word] for word in OUTCOMES}},
    }
