"""Links that train after a boot: until they had time to, a link that is not up yet is not measured. Runs on the controller."""

from __future__ import annotations

from fleetcheck.absent import NotMeasured
from fleetcheck.view import View

GRACE_SECONDS = 600.0
"""A planned reboot once drained 214 of 288 healthy nodes whose links were still training."""


def settled(boot: View, what: str) -> None:
    """Raise NotMeasured while the node is younger than the grace; boot is a view that tells ``uptime_seconds``."""
    uptime = boot.get("uptime_seconds", float)
    if uptime < GRACE_SECONDS:
        raise NotMeasured(
            f"{what} may still be training: the node is up for {uptime:.0f} s only, ask again in {GRACE_SECONDS - uptime:.0f} s"
        )
