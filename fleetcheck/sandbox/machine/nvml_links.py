"""What NVML answers of NVLinks and their fabric on a healthy node."""

from __future__ import annotations

from fleetcheck.sandbox.machine.base import Base, Gpus
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.nvml_rule import field, no_field, rule
from fleetcheck.sandbox.nvml_rules import NvmlRule

SWITCH = 2
COMPLETED = 3
EVERY_FIELD_FALSE = 2 | 2 << 2 | 2 << 4 | 2 << 6 | 1 << 8
"""The health mask of a healthy GPU: each two-bit field says FALSE, the configuration field NONE. It is not zero."""
HEALTHY = 1
CLIQUE = 32_766
PER_LINK = ("nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkVersion", "nvmlDeviceGetNvLinkCapability",
            "nvmlDeviceGetNvLinkErrorCounter", "nvmlDeviceGetNvLinkRemotePciInfo_v2",
            "nvmlDeviceGetNvLinkRemoteDeviceType")
SPEED_OF_ALL = 90
PER_LINK_FIELDS = SPEED, STATE, EFFECTIVE_ERRORS, SYMBOL_ERRORS = 164, 165, 220, 222


def shared(base: Base, gpus: Gpus) -> list[NvmlRule]:
    """Links beyond the last one are not supported; every other is up, at full speed, without an error."""
    beyond = [*(rule(call, ret="NOT_SUPPORTED") for call in PER_LINK), *map(no_field, (SPEED_OF_ALL, *PER_LINK_FIELDS))]
    speed = [field(SPEED_OF_ALL, gpus.link_mbytes_per_second)] if gpus.links else []
    return [*beyond, *speed, *(one for link in range(gpus.links) for one in _link(base, gpus, link)), *_fabric(gpus)]


def _link(base: Base, gpus: Gpus, link: int) -> list[NvmlRule]:
    answers = {
        "nvmlDeviceGetNvLinkState": 1, "nvmlDeviceGetNvLinkVersion": gpus.chip.nvlink_version,
        "nvmlDeviceGetNvLinkCapability": 1, "nvmlDeviceGetNvLinkErrorCounter": 0,
        "nvmlDeviceGetNvLinkRemoteDeviceType": SWITCH, "nvmlDeviceGetNvLinkRemotePciInfo_v2": _switch(base, link),
    }
    fields = {SPEED: gpus.link_mbytes_per_second, STATE: 1}
    if gpus.chip.bit_error_rate is not None:
        fields |= {EFFECTIVE_ERRORS: gpus.chip.bit_error_rate, SYMBOL_ERRORS: gpus.chip.bit_error_rate}
    return [*(rule(call, value, link=link) for call, value in answers.items()),
            *(field(number, value, scope=link) for number, value in fields.items())]


def _switch(base: Base, link: int) -> dict[str, int | str]:
    """The NVSwitch at the far end; zeros where switches are no PCI devices of this host."""
    switches, device = base.server.switches, base.server.switch_id[0]
    if not switches:
        return {"busId": "00000000:00:00.0", "busIdLegacy": "0000:00:00.0", "domain": 0, "bus": 0, "device": 0,
                "pciDeviceId": 0}
    address = switches[link % len(switches)].address
    return {"busId": f"0000{address}".upper(), "busIdLegacy": address.upper(), "domain": 0,
            "bus": int(address[5:7], 16), "device": 0, "pciDeviceId": device << 16 | 0x10DE}


def _fabric(gpus: Gpus) -> list[NvmlRule]:
    """Registered and completed from Hopper on, where the profile expects a fabric; before, NVML knows none."""
    calls = ("nvmlDeviceGetGpuFabricInfo", "nvmlDeviceGetGpuFabricInfoV")
    if not gpus.fabric or gpus.chip.architecture < 9:
        return [rule(call, ret="NOT_SUPPORTED") for call in calls]
    info = {"state": COMPLETED, "status": 0, "cliqueId": 0}
    return [rule(calls[0], info), rule(calls[1], {**info, "healthMask": EVERY_FIELD_FALSE, "healthSummary": HEALTHY})]


def own(node: Node, gpus: Gpus) -> list[NvmlRule]:
    """The cluster and clique of an NVL72 rack."""
    if not gpus.chip.nvlink_domain or not gpus.fabric:
        return []
    info = {"clusterUuid": node.identity.fabric_uuid, "cliqueId": CLIQUE}
    return [rule("nvmlDeviceGetGpuFabricInfo", info), rule("nvmlDeviceGetGpuFabricInfoV", info)]
