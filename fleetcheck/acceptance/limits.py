"""What a run was judged by, in one number: a hash over the profiles, the site's policy and the hours asked for. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from fleetcheck.inventory import Inventory, Node
from fleetcheck.policy import CheckPolicy, PlacedWaiver
from fleetcheck.profile import Profile

HOURS = "acceptance_hours"
"""The limit's name in a profile, and the key under ``load:`` of a node."""


def required_hours(node: Node, profile: Profile) -> tuple[float | None, str]:
    """Hours under load that a certificate takes, and who asks for them: the inventory, else the profile."""
    own = (node.load or {}).get(HOURS)
    if own is not None:
        return float(own), "inventory"
    bound = profile.limits.get(HOURS)
    return (bound.low, f"profile {profile.name}: {bound.source} ({bound.date})") if bound else (None, "")


def fingerprint(inventory: Inventory, nodes: Iterable[Node]) -> str:
    """``sha256:…`` of all that decides between a pass and a failure for these nodes, but for the checks themselves. Files, lines, the day
    and the order in which it is written do not count."""
    chosen = list(nodes)
    content = {
        "profiles": {name: inventory.profiles[name].model_dump(mode="json") for name in sorted({node.profile for node in chosen})},
        "policy": {check: _word(said) for check, said in inventory.policy.items()},
        "hours": {node.name: node.load[HOURS] for node in chosen if node.load and node.load.get(HOURS) is not None},
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _word(said: CheckPolicy) -> Mapping[str, Any]:
    waivers = [{"until": each.until.isoformat(), "reason": each.reason,
                "nodes": sorted(each.names) if isinstance(each, PlacedWaiver) else []} for each in said.waivers]
    return {"severity": said.severity, "action": said.action, "reason": said.reason, "waivers": sorted(waivers, key=str)}
