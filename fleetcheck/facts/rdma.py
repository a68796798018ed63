"""The RDMA ports a profile names: the compute fabric; other ports (management, unused) are no part of it. Runs on the controller."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.facts.growth import Growth, measured
from fleetcheck.facts.training import settled
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Parts, Reading, View

RECEIVE = ("port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors")
FAR_END = ("port_rcv_remote_physical_errors",)
"""Packets the other end of the link already marked as bad: the peer or the switch is at fault."""
RETRIES = ("local_ack_timeout_err", "rnr_nak_retry_err", "packet_seq_err", "req_cqe_error")
PORT = "1"
CEILINGS = {
    "symbol_error": 65535, "port_rcv_errors": 65535, "port_rcv_remote_physical_errors": 65535, "link_error_recovery": 255,
    "local_link_integrity_errors": 15, "excessive_buffer_overrun_errors": 15,
}
"""Where the counters of PortCounters stop for good (InfiniBand Architecture Specification, 16.1.3.5)."""
NO_DEVICES = "no RDMA device at all"
NO_LID = ("0x0", "0", "0xffff", "0x0000")


class Hca(View):
    """Port 1 of one device."""

    __slots__ = ("boot", "device", "growth")
    state = Reading(str)
    physical_state = Reading(str)
    rate_gbits_per_second = Reading(float)
    link_layer = Reading(str)
    lid = Reading(str)

    def __init__(self, raw: object, device: object, name: str, data: Mapping[str, Any]) -> None:
        part = Part("nic", name, name)
        super().__init__(raw, "hca", part)
        self.device = View(device, "hca.device", part)
        self.boot = View(data, "rdma", part)
        self.growth = Growth(data.get("counters"), "hca", part)

    @property
    def firmware(self) -> str:
        """As the device tells it."""
        said = measured(self.device.get("fw_ver", str))
        if not re.match(r"\d+\.\d+", said):
            raise NotMeasured(f"{self.label}: not a firmware version: {said!r:.60}")
        return str(said)

    def small_packets(self, bound: Bound) -> bool:
        """Whether its network interface has another MTU than the bound; a device without an interface carries no IP."""
        told = self.device.get("mtu_bytes", int)
        return not (isinstance(told, Absent) and told.reason.endswith(": no interface")) and told not in bound

    @property
    def down(self) -> Concern | None:
        """Why the port carries nothing; INIT is a port without a subnet manager, which is the fabric's matter."""
        state, physical = self.state, ""
        if state == "ACTIVE" and self.physical_state in ("LinkUp", "Link Up"):
            return self._without_lid()
        if state == NO_DEVICES:  # all of them at once is a driver that is not loaded, not eight broken cards
            return Concern(f"{NO_DEVICES}: load the driver", "degraded", "fix-config")
        if state != "not present":
            physical = f", {self.physical_state}"
            settled(self.boot, f"port {self.label}")
        if state in ("INIT", "ARMED"):
            return Concern(f"state {state}{physical}: no subnet manager has set it up", "degraded", "observe")
        return Concern(f"state {state}{physical}")

    def _without_lid(self) -> Concern | None:
        """An InfiniBand port that no subnet manager gave an address, though it is up; RoCE has none."""
        if self.link_layer != "InfiniBand" or self.lid not in NO_LID:
            return None
        return Concern(f"ACTIVE with LID {self.lid}: no subnet manager has given it an address", "degraded", "observe")

    def errors_per_second(self, *names: str, kind: str = "counters") -> float:
        """Growth of several counters together; NotMeasured when one stands at its ceiling, where no growth shows."""
        port = f"{self.label}/{PORT}"
        for name in names:
            if self.growth.total("second", port, kind, name) == CEILINGS.get(name):
                raise NotMeasured(f"{self.label}: {name} stands at its ceiling, {CEILINGS[name]}: reset it (perfquery -R)")
        return sum(self.growth.per_second(port, kind, name) for name in names)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Parts[Hca]:
    """One part per device of the profile; skips where it names none."""
    if profile.hcas is None:
        pytest.skip(f"profile {profile.name} names no RDMA devices")
    return Parts([_hca(data, name) for name in profile.hcas.names], "HCA ports", len(profile.hcas.names))


def _hca(data: Mapping[str, Any], name: str) -> Hca:
    devices = data.get("devices")
    if not isinstance(devices, Mapping) or "absent" in devices:
        return Hca(_no_folder(devices), devices, name, data)
    if name not in devices:
        return Hca({"state": "not present"}, {"absent": "no such device"}, name, data)
    device = devices[name]
    ports = device.get("ports") if isinstance(device, Mapping) else None
    return Hca(ports.get(PORT) if isinstance(ports, Mapping) else ports, device, name, data)


def _no_folder(devices: Any) -> Any:
    """No RDMA device at all: that is an answer, when it is the folder that does not exist."""
    said = str(devices.get("absent")) if isinstance(devices, Mapping) else ""
    return {"state": NO_DEVICES} if said.startswith("no such file or directory") else devices
