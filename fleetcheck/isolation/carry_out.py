"""Doing what was planned, one node after another: look again, say so, act, read back. Runs on the controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fleetcheck.isolation.act import DO, ISOLATE, REFUSE, Act, Plan
from fleetcheck.isolation.audit import CONFIRMED, Audit
from fleetcheck.isolation.standing import Backend, BackendError, Standing

LEFT, FAILED, UNTRIED = "left", "failed", "not tried"


@dataclass(frozen=True)
class Done:
    """What became of an act. step: confirmed; left, since the node stood otherwise by then; failed; or not tried after another failed."""

    act: Act
    step: str
    why: str = ""


def carry_out(plan: Plan, backend: Backend, audit: Audit) -> list[Done]:
    """Each act whole or not at all; after the first that fails nothing more is tried. Raises RunError when the log cannot be written."""
    for act in plan.decided(REFUSE):
        audit.add(act.node, act.kind, "refused", guard=act.guard, why=act.why)
    done: list[Done] = []
    for act in plan.decided(DO):
        failed = next((each for each in done if each.step == FAILED), None)
        done.append(Done(act, UNTRIED, f"{failed.act.node} failed before it") if failed else _one(act, backend, audit))
    return done


def _one(act: Act, backend: Backend, audit: Audit) -> Done:
    try:
        before = _standing(backend, act.node)
    except BackendError as error:
        return _told(audit, Done(act, FAILED, str(error)))
    changed = _changed(act, before)
    if changed:
        return _told(audit, Done(act, LEFT, changed))
    audit.add(act.node, act.kind, "intended", why=act.why, reason=act.reason, before=str(before))
    return _told(audit, _acted(act, before, backend), before=str(before), reason=act.reason)


def _acted(act: Act, before: Standing, backend: Backend) -> Done:
    """The act itself. What counts is how the node stands afterwards: an answer that was lost is no failure."""
    said = ""
    try:
        if act.kind == ISOLATE:
            backend.isolate(act.node, act.reason, before)
        else:
            backend.release(act.node, before)
    except BackendError as error:
        said = str(error)
    try:
        after = _standing(backend, act.node)
    except BackendError as error:
        return Done(act, FAILED, f"{said or 'no error was told'}; whether it was done is unknown: {error}")
    if _stands(act, after):
        return Done(act, CONFIRMED, str(after))
    return Done(act, FAILED, f"{said or 'no error was told'}; it stands at: {after}")


def _standing(backend: Backend, node: str) -> Standing:
    found = backend.read([node]).get(node)
    if found is None:
        raise BackendError(f"{backend.name} does not know {node} any more")
    return found


def _changed(act: Act, now: Standing) -> str:
    """Why an act is no longer called for: in the meantime somebody else has been there."""
    if now.trouble:
        return now.trouble
    if act.kind == ISOLATE:
        return f"out of service in the meantime: {now}" if now.held else ""
    return "" if now.held and now.reason == act.reason else f"not as we left it any more: {now}"


def _stands(act: Act, after: Standing) -> bool:
    return after.held and after.reason == act.reason if act.kind == ISOLATE else not after.held


def _told(audit: Audit, done: Done, **more: str) -> Done:
    audit.add(done.act.node, done.act.kind, done.step, why=done.why, **more)
    return done


def failures(done: Sequence[Done]) -> list[Done]:
    """What should have been done and was not."""
    return [each for each in done if each.step in (FAILED, UNTRIED)]
