"""What collectors must know of a profile to ask for it: names, ports and addresses, never a limit. Pure."""

from __future__ import annotations

from typing import Any

from fleetcheck.bound import Choice
from fleetcheck.profile import ExporterProfile, Profile

USUAL_EXPORTERS = (
    ExporterProfile(name="node_exporter", port=9100),
    ExporterProfile(name="dcgm-exporter", port=9400, gpus=True),
)
"""Asked where a profile says nothing of monitoring and the node has a unit of that name."""


def asked(profile: Profile) -> dict[str, Any]:
    """The settings of collectors that a profile decides."""
    services, kernel, security, reach = profile.services, profile.kernel, profile.security, profile.reach
    return {
        "fabric": [word for word, runs in (("manager", services.fabric_manager), ("imex", services.imex)) if runs] if services else [],
        "units": words(services.active if services else None),
        "sysctls": sorted(kernel.sysctls) if kernel else [],
        "exporters": [{"name": each.name, "port": each.port, "path": each.path} for each in exporters(profile)],
        "accounts": words(security.accounts if security else None),
        "names": words(reach.names if reach else None),
        "endpoints": [each.model_dump() for each in reach.endpoints] if reach else [],
    }


def exporters(profile: Profile) -> tuple[ExporterProfile, ...]:
    """The exporters the profile lists, else the usual ones."""
    return profile.monitoring.exporters if profile.monitoring else USUAL_EXPORTERS


def words(choice: Choice | None) -> list[str]:
    """What a profile lists; nothing where it is silent."""
    return list(choice.allowed) if choice else []
