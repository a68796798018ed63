"""A Node of the Kubernetes API as a Standing, and the patches that cordon and release it. Pure.

A patch is a JSON Patch (RFC 6902) that first tests the version we have read: it is carried out whole, or not at all when anybody has
changed the node since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetcheck.isolation.standing import Standing

KEY = "fleetcheck/isolated"
"""Of our taint and of the annotation that holds the reason."""
TAINT = {"key": KEY, "value": "true", "effect": "NoSchedule"}
"""No new pods; those that run are left alone."""
PRESSURE = ("MemoryPressure", "DiskPressure", "PIDPressure")
Patch = list[dict[str, Any]]


def standing(node: Mapping[str, Any]) -> Standing:
    """How it stands. Raises KeyError, TypeError or AttributeError on what is no Node."""
    meta, spec = node["metadata"], node.get("spec") or {}
    annotations, taints = meta.get("annotations") or {}, spec.get("taints") or []
    cordoned, ours = spec.get("unschedulable") is True, any(taint["key"] == KEY for taint in taints)
    told = [_ready(node), *_conditions(node), *(["cordoned"] if cordoned else []), *(["tainted by fleetcheck"] if ours else [])]
    return Standing(
        ", ".join(told), held=cordoned or ours, reason=_reason(annotations, cordoned, ours), by=_cordoned_by(meta) if cordoned else "",
        away=told[0] != "Ready" or "NetworkUnavailable" in told,
        about={"version": str(meta["resourceVersion"]), "taints": taints, "annotated": "annotations" in meta and bool(annotations),
               "reason": annotations.get(KEY), "unschedulable": "unschedulable" in spec, "tainted": bool(taints)},
    )


def _ready(node: Mapping[str, Any]) -> str:
    """``Ready``, ``NotReady`` (which the kubelet says of itself), or ``Unknown`` (nobody has heard of it)."""
    status = next((str(each["status"]) for each in _told(node) if each["type"] == "Ready"), "Unknown")
    return {"True": "Ready", "False": "NotReady"}.get(status, "Unknown")


def _conditions(node: Mapping[str, Any]) -> list[str]:
    """Conditions that speak against it. NetworkUnavailable means that no pod can talk: the scheduler leaves such a node out."""
    bad = {*PRESSURE, "NetworkUnavailable"}
    return [str(each["type"]) for each in _told(node) if each["type"] in bad and each["status"] == "True"]


def _told(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return (node.get("status") or {}).get("conditions") or []


def _reason(annotations: Mapping[str, str], cordoned: bool, ours: bool) -> str:
    """Ours as we wrote it, as long as our taint stands; a cordon has no reason of its own."""
    if ours:
        return annotations.get(KEY, "tainted by fleetcheck, and its annotation is gone")
    return "cordoned" if cordoned else ""


def _cordoned_by(meta: Mapping[str, Any]) -> str:
    """Which program set ``unschedulable``, where the server keeps account of it: kubectl-cordon, kubectl-drain, …"""
    return next((str(each.get("manager", "")) for each in meta.get("managedFields") or []
                 if "f:unschedulable" in ((each.get("fieldsV1") or {}).get("f:spec") or {})), "")


def isolation(seen: Standing, reason: str) -> Patch:
    """Cordon, taint and annotation, beside all that is there."""
    about = seen.about
    kept = [taint for taint in about["taints"] if taint["key"] != KEY]
    empty = [] if about["annotated"] else [{"op": "add", "path": "/metadata/annotations", "value": {}}]
    return [_unchanged(seen), {"op": "add", "path": "/spec/unschedulable", "value": True},
            {"op": "add", "path": "/spec/taints", "value": [*kept, TAINT]},
            *empty, {"op": "add", "path": f"/metadata/annotations/{_escaped(KEY)}", "value": reason}]


def release(seen: Standing) -> Patch:
    """Everybody else's taints and annotations stay."""
    about = seen.about
    kept = [taint for taint in about["taints"] if taint["key"] != KEY]
    taints = {"op": "add", "path": "/spec/taints", "value": kept} if kept else {"op": "remove", "path": "/spec/taints"}
    return [_unchanged(seen), *([{"op": "remove", "path": "/spec/unschedulable"}] if about["unschedulable"] else []),
            *([taints] if about["tainted"] else []),
            *([{"op": "remove", "path": f"/metadata/annotations/{_escaped(KEY)}"}] if about["reason"] is not None else [])]


def _unchanged(seen: Standing) -> dict[str, Any]:
    return {"op": "test", "path": "/metadata/resourceVersion", "value": seen.about["version"]}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
