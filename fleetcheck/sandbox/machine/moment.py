"""When a simulated node booted, and how it writes times down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from fleetcheck.sandbox.machine.identity import Identity

DAY = 86_400


@dataclass(frozen=True)
class Moment:
    """now and booted in seconds since 1970. A healthy node has been up for one to four weeks."""

    now: int
    booted: int

    @property
    def uptime(self) -> int:
        """Seconds since boot."""
        return self.now - self.booted

    def since_boot(self, seconds: float) -> datetime:
        """The time so long after boot."""
        return datetime.fromtimestamp(self.booted + seconds, UTC)

    def ago(self, seconds: float) -> datetime:
        """The time so long before now."""
        return datetime.fromtimestamp(self.now - seconds, UTC)


def moment(identity: Identity, now: float) -> Moment:
    """The node's boot, one to four weeks before now."""
    return Moment(int(now), int(now) - identity.pick(7 * DAY, 28 * DAY, "uptime"))
