"""Views of the driver, and of what NVML's calls say about each GPU's life. Runs on the controller."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fleetcheck.absent import Absent
from fleetcheck.facts.section import Section
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Reading

BOOT_GRACE_SECONDS = 600.0
"""Links and fabric train for minutes after a boot: a planned reboot once drained 214 of 288 healthy nodes."""
UNTOLD = ("NO_PERMISSION", "NO_DATA", "NOT_READY")


class Driver(Section):
    """The driver and its library, as NVML, /proc, /sys and /dev show them."""

    init_code = Reading(str)
    version = Reading(str)
    cuda_version = Reading(str)
    device_count = Reading(int)
    module_version = Reading(str)
    device_nodes = Reading(int)
    in_container = Reading(bool)
    uptime_seconds = Reading(float)
    hung_call = Reading(str)

    @property
    def is_loaded(self) -> Any:
        """False when NVML says that no driver is loaded; Absent when it could not tell."""
        return self._unless("DRIVER_NOT_LOADED", ("LIBRARY_NOT_FOUND",))

    @property
    def library_is_found(self) -> Any:
        """False when there is no libnvidia-ml.so.1."""
        return self._unless("LIBRARY_NOT_FOUND", ())

    @property
    def library_matches(self) -> Any:
        """False when the library's version is not the loaded kernel module's."""
        matches = self._unless("LIB_RM_VERSION_MISMATCH", ("LIBRARY_NOT_FOUND", "DRIVER_NOT_LOADED"))
        if isinstance(matches, Absent) or not matches or self.has_no_file("module_version"):
            return matches
        return self.module_version == self.version

    def drifted(self, jobs: Any, released: Collection[str]) -> Concern | bool:
        """Whether library and module differ. Jobs that run go on, and are not disturbed for it: while there are any it is noted.

        NVML starts on a module of its own version only. Where it did, and the module is a released one, nothing waits for a
        reboot: which version NVML tells is the matter of the check of versions.
        """
        if self.library_matches or (self.init_code == "SUCCESS" and self.module_version in released):
            return False
        going_on = not isinstance(jobs, Absent) and bool(jobs)
        return Concern(f"{self.mismatch}; {', '.join(jobs)} goes on", "warn", "observe") if going_on else Concern(self.mismatch)

    def is_of(self, version: str) -> bool:
        """Whether a program's version is the driver's: as NVML tells it, or else of the kernel module that is loaded."""
        return bool(self.version == version) or (not self.has_no_file("module_version") and bool(self.module_version == version))

    @property
    def mismatch(self) -> str:
        """The two versions that differ, as far as they were told."""
        if self.init_code == "LIB_RM_VERSION_MISMATCH":
            return f"NVML returned LIB_RM_VERSION_MISMATCH: its library is not of the kernel module's version, {self.module_version!s}"
        return f"the kernel module is {self.module_version!s}, NVML tells driver {self.version!s}"

    @property
    def answers(self) -> Any:
        """False when NVML fails to start for a reason that is neither the driver's nor the library's absence."""
        code = self.init_code
        if code in UNTOLD or (code == "UNKNOWN" and self.in_container):
            return Absent(f"NVML returned {code} at its start: ask as root, on the host")
        return code in ("SUCCESS", "LIBRARY_NOT_FOUND", "DRIVER_NOT_LOADED", "LIB_RM_VERSION_MISMATCH")

    @property
    def still_booting(self) -> Any:
        """Whether links may still be training."""
        uptime = self.uptime_seconds
        return uptime if isinstance(uptime, Absent) else self.derived("still_booting", uptime < BOOT_GRACE_SECONDS)

    def _unless(self, code: str, untold: tuple[str, ...]) -> Any:
        """False on the code, True on SUCCESS or another known failure, Absent where that failure hides the answer."""
        found = self.init_code
        if isinstance(found, Absent):
            return found
        if found in UNTOLD or found in untold or found == "UNKNOWN":
            return Absent(f"NVML returned {found} at its start")
        return found != code


def driver(answer: Mapping[str, Any], profile: Profile, node: Node) -> Driver:
    """The driver of one node."""
    return Driver(answer.get("driver"), "driver", Part("driver", "driver"))


def branch_of(answer: Mapping[str, Any]) -> int | None:
    """The branch in a driver's version, 570 of ``570.133.20``; None when it is not known."""
    version = (answer.get("driver") or {}).get("version")
    head = version.partition(".")[0] if isinstance(version, str) else ""
    return int(head) if head.isdigit() else None
