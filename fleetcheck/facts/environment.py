"""Variables every login gets that hold collectives back. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetcheck.absent import NotMeasured
from fleetcheck.facts.growth import measured, noted
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.view import View

CRIPPLING: Mapping[str, frozenset[str]] = {
    "NCCL_IB_DISABLE": frozenset({"1"}), "NCCL_P2P_DISABLE": frozenset({"1"}), "NCCL_SHM_DISABLE": frozenset({"1"}),
    "NCCL_NET": frozenset({"socket"}), "NCCL_P2P_LEVEL": frozenset({"loc", "0"}), "NCCL_NVLS_ENABLE": frozenset({"0"}),
    "NCCL_NET_GDR_LEVEL": frozenset({"loc", "0"}), "NCCL_DEBUG": frozenset({"trace"}), "NCCL_LAUNCH_MODE": frozenset({"group"}),
}
"""NCCL documentation, environment variables: fine while a job is debugged, a loss for everybody's jobs."""


class LoginEnvironment(View):
    """Variables of login files."""

    __slots__ = ()

    @property
    def crippling(self) -> list[str]:
        """Settings that switch a fast path off: ``NCCL_IB_DISABLE=1 in /etc/environment``."""
        rows = [_row(each) for each in measured(self.get("variables", list))]
        slow = [row for row in rows if row[1].strip().lower() in CRIPPLING.get(row[0], ())]
        return noted("environment.crippling", [f"{name}={value} in {file}" for name, value, file in slow])


def _row(each: Any) -> tuple[str, str, str]:
    match each:
        case {"name": str(name), "value": str(value), "file": str(file)}:
            return name, value, file
    raise NotMeasured(f"not a variable: {each!r:.80}")


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> LoginEnvironment:
    """The variables as told by the node."""
    return LoginEnvironment(data, "environment")
