"""Views of the NVSwitch fabric and of the peers as one GPU sees them. Runs on the controller."""

from __future__ import annotations

from collections.abc import Sequence

from fleetcheck.absent import NotMeasured
from fleetcheck.facts.driver import Driver
from fleetcheck.facts.section import UNSUPPORTED, Section
from fleetcheck.recording import Concern
from fleetcheck.view import Reading

IN_PROGRESS, COMPLETED = 2, 3
"""NVML_GPU_FABRIC_STATE_*; 1 is not started."""
HEALTH_FLAGS = {"degraded bandwidth": 0, "route recovery": 2, "route unhealthy": 4, "access timeout recovery": 6}
"""Two-bit fields of the fabric health mask and their shift: 0 not supported, 1 true, 2 false (nvml.h)."""
CONFIGURATION_SHIFT = 8
CONFIGURATIONS = {2: "wrong system GUID", 3: "wrong chassis serial", 4: "no partition", 5: "too few NVLinks",
                  6: "incompatible GPU firmware", 7: "invalid location", 8: "invalid GPU state"}
SUMMARIES = {2: "unhealthy", 3: "limited capacity"}
"""NVML_GPU_FABRIC_HEALTH_SUMMARY_*; 0 not supported, 1 healthy."""


def unset(uuid: str) -> bool:
    """Whether a cluster UUID is all zeros: right on a board that is a domain by itself, not where NVLinks reach other nodes."""
    return not uuid.strip("0-")


class Fabric(Section):
    """The NVSwitch fabric as this GPU sees it; status, an NVML return code, counts once state is completed."""

    state = Reading(int)
    status = Reading(int)
    clique = Reading(int)
    uuid = Reading(str)
    health_mask = Reading(int)
    health_summary = Reading(int)

    def unready(self, driver: Driver) -> Concern | bool:
        """What keeps this GPU out of the fabric."""
        state = self.state
        if state == COMPLETED:
            status = self.status
            return status != 0 and Concern(f"fabric registration ended with NVML code {status}", action="reset-gpu")
        if state == IN_PROGRESS and driver.still_booting:
            raise NotMeasured(f"{self.label}: the fabric is still training after boot; ask again")
        return Concern(f"fabric state {state} (1 not started, 2 in progress), not completed: see nvidia-fabricmanager")

    def ill(self) -> Concern | bool:
        """Which fields of the health mask say true, or name a wrong configuration; else what its summary says, where the driver has one."""
        mask = self.health_mask
        wrong = [name for name, shift in HEALTH_FLAGS.items() if mask >> shift & 3 == 1]
        configuration = mask >> CONFIGURATION_SHIFT & 15
        if configuration > 1:
            wrong.append(CONFIGURATIONS.get(configuration, f"configuration {configuration}"))
        summary = 0 if self.code("health_summary") in UNSUPPORTED else self.health_summary
        if summary > 1 and not wrong:
            return Concern(f"fabric health summary {summary}: {SUMMARIES.get(summary, 'unknown')} (health mask {mask:#x})")
        return bool(wrong) and Concern(f"fabric health mask {mask:#x}: {', '.join(wrong)}")


class Peers(Section):
    """Peer read status towards every other GPU by its index; 0 works."""

    def broken(self, others: Sequence[int]) -> list[str]:
        """The GPUs this one cannot read from, each with its status."""
        statuses = {other: self.get(str(other), int) for other in others}
        return [f"GPU {other} (status {status})" for other, status in statuses.items() if status != 0]
