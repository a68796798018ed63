"""What NVML answers on a healthy node, for all its GPUs alike and for each of them; links are in nvml_links."""

from __future__ import annotations

from fleetcheck.sandbox.machine import nvml_links
from fleetcheck.sandbox.machine.base import Base, Gpus
from fleetcheck.sandbox.machine.node import GpuSlot, Node
from fleetcheck.sandbox.machine.nvml_limits import clocks, power, thermal
from fleetcheck.sandbox.machine.nvml_rule import field, rule
from fleetcheck.sandbox.machine.pci_function import idle_generation
from fleetcheck.sandbox.nvml_rules import NvmlRule

VENDOR = 0x10DE
BRAND_NVIDIA = 14
EVERY_EVENT = 0x1F
MEMORY_CELSIUS, PCIE_REPLAYS, RECOVERY_ACTION = 82, 94, 230
REMAPPED_ROWS = range(142, 146)
BANKS = {7: 640, 9: 2560, 10: 3072}
"""Memory banks with spare rows, by architecture."""
UNSUPPORTED = (
    "nvmlDeviceGetNumFans", "nvmlDeviceGetFanSpeed_v2", "nvmlDeviceGetRetiredPages", "nvmlDeviceGetRetiredPages_v2",
    "nvmlDeviceGetRetiredPagesPendingStatus",
)
"""Boards cooled by the chassis have no fan; parts since Ampere remap rows and retire no page."""
SINCE = {
    "nvmlDeviceGetCurrentClocksEventReasons": 535, "nvmlDeviceGetSupportedClocksEventReasons": 535,
    "nvmlDeviceGetNumaNodeId": 545, "nvmlDeviceGetGpuFabricInfo": 525, "nvmlDeviceGetGpuFabricInfoV": 550,
    "nvmlDeviceGetSramEccErrorStatus": 550, "nvmlDeviceGetMarginTemperature": 570, "nvmlDeviceGetTemperatureV": 570,
    "nvmlDeviceGetRepairStatus": 575, "nvmlDeviceGetUnrepairableMemoryFlag_v1": 590,
}
"""The driver branch that first exports a call: before it, FUNCTION_NOT_FOUND."""


def shared(base: Base) -> list[NvmlRule]:
    """What every GPU of every node of the profile answers alike; own rules come after and win."""
    gpus = base.gpus
    if gpus is None:
        return [rule("nvmlInitWithFlags", ret="DRIVER_NOT_LOADED")]
    rules = [*_system(base), *_identity(base, gpus), *_modes(gpus), *thermal(gpus), *power(gpus), *clocks(gpus),
             *_memory_health(gpus), *_topology(gpus), *nvml_links.shared(base, gpus), *_processes()]
    return [*rules, *(rule(call, ret="NOT_SUPPORTED") for call in UNSUPPORTED), *too_new(base.versions.branch)]


def too_new(branch: int) -> list[NvmlRule]:
    """The calls that a driver of this branch does not have."""
    return [rule(call, ret="FUNCTION_NOT_FOUND") for call, since in SINCE.items() if branch < since]


def _system(base: Base) -> list[NvmlRule]:
    driver, cuda = base.versions.driver, base.versions.cuda
    return [
        rule("nvmlSystemGetDriverVersion", driver), rule("nvmlSystemGetNVMLVersion", f"{cuda // 1000}.{driver}"),
        rule("nvmlSystemGetCudaDriverVersion_v2", cuda), rule("nvmlSystemGetProcessName", ret="NOT_FOUND"),
    ]


def _identity(base: Base, gpus: Gpus) -> list[NvmlRule]:
    chip = gpus.chip
    return [
        rule("nvmlDeviceGetName", gpus.name), rule("nvmlDeviceGetBrand", BRAND_NVIDIA),
        rule("nvmlDeviceGetArchitecture", chip.architecture),
        rule("nvmlDeviceGetBoardPartNumber", chip.part_number), rule("nvmlDeviceGetVbiosVersion", base.versions.vbios),
        rule("nvmlDeviceGetCudaComputeCapability", {"major": chip.compute[0], "minor": chip.compute[1]}),
        rule("nvmlDeviceGetInforomImageVersion", chip.inforom),
        rule("nvmlDeviceGetInforomVersion", ret="NOT_SUPPORTED"),
        rule("nvmlDeviceGetInforomVersion", chip.inforom_oem, object=0),
        rule("nvmlDeviceGetInforomVersion", chip.inforom_ecc, object=1),
        rule("nvmlDeviceValidateInforom"), rule("nvmlDeviceGetGspFirmwareVersion", base.versions.gsp),
        rule("nvmlDeviceGetGspFirmwareMode", {"isEnabled": 1, "defaultMode": 1}),
        rule("nvmlDeviceGetNumaNodeId", ret="NOT_SUPPORTED"),
    ]


def _modes(gpus: Gpus) -> list[NvmlRule]:
    total, reserved, bar1 = gpus.memory_bytes, gpus.chip.reserved_bytes, gpus.chip.bar1_bytes
    free = total - reserved
    return [
        rule("nvmlDeviceGetPersistenceMode", int(gpus.persistence)),
        rule("nvmlDeviceGetComputeMode", gpus.compute_mode), rule("nvmlDeviceGetPerformanceState", 0),
        rule("nvmlDeviceGetMigMode", {"currentMode": int(gpus.mig), "pendingMode": int(gpus.mig)}),
        rule("nvmlDeviceGetUtilizationRates", {"gpu": 0, "memory": 0}),
        rule("nvmlDeviceGetMemoryInfo", {"total": total, "free": free, "used": reserved}),
        rule("nvmlDeviceGetMemoryInfo_v2", {"total": total, "reserved": reserved, "free": free, "used": 0}),
        rule("nvmlDeviceGetBAR1MemoryInfo", {"bar1Total": bar1, "bar1Free": bar1 - (1 << 20), "bar1Used": 1 << 20}),
        field(RECOVERY_ACTION, 0),
    ]


def _memory_health(gpus: Gpus) -> list[NvmlRule]:
    banks = BANKS.get(gpus.chip.architecture, 2560)
    return [
        rule("nvmlDeviceGetEccMode", {"current": int(gpus.ecc), "pending": int(gpus.ecc)}),
        rule("nvmlDeviceGetTotalEccErrors", 0), rule("nvmlDeviceGetMemoryErrorCounter", 0),
        rule("nvmlDeviceGetSramEccErrorStatus", {"bThresholdExceeded": 0}),
        rule("nvmlDeviceGetRemappedRows", {"corrRows": 0, "uncRows": 0, "isPending": 0, "failureOccurred": 0}),
        rule("nvmlDeviceGetRowRemapperHistogram", {"max": banks, "high": 0, "partial": 0, "low": 0, "none": 0}),
        rule("nvmlDeviceGetRepairStatus", {"bChannelRepairPending": 0, "bTpcRepairPending": 0}),
        rule("nvmlDeviceGetUnrepairableMemoryFlag_v1", {"bUnrepairableMemory": 0}),
        *(field(number, 0) for number in REMAPPED_ROWS),
    ]


def _topology(gpus: Gpus) -> list[NvmlRule]:
    calls = {"nvmlDeviceGetMaxPcieLinkGeneration": gpus.generation,
             "nvmlDeviceGetGpuMaxPcieLinkGeneration": gpus.generation,
             "nvmlDeviceGetCurrPcieLinkGeneration": gpus.generation, "nvmlDeviceGetCurrPcieLinkWidth": gpus.width,
             "nvmlDeviceGetMaxPcieLinkWidth": gpus.width, "nvmlDeviceGetPcieReplayCounter": 0,
             "nvmlDeviceGetMultiGpuBoard": 0, "nvmlDeviceGetPcieThroughput": 450, "nvmlDeviceGetP2PStatus": 0}
    return [*(rule(call, value) for call, value in calls.items()), field(PCIE_REPLAYS, 0), *_ancestors(gpus)]


def _ancestors(gpus: Gpus) -> list[NvmlRule]:
    """How near GPUs are: the same socket, else across it."""
    call, sockets = "nvmlDeviceGetTopologyCommonAncestor", [place.socket for place in gpus.places]
    near = [(one, other) for one in range(gpus.count) for other in range(gpus.count)
            if one != other and sockets[one] == sockets[other]]
    return [rule(call, 50), *(rule(call, 40, one, device2=other) for one, other in near),
            *(rule(call, 0, one, device2=one) for one in range(gpus.count))]


def _processes() -> list[NvmlRule]:
    return [rule("nvmlDeviceGetComputeRunningProcesses_v3", []), rule("nvmlDeviceGetGraphicsRunningProcesses_v3", []),
            rule("nvmlDeviceGetSupportedEventTypes", EVERY_EVENT)]


def own(node: Node) -> list[NvmlRule]:
    """What each GPU of this node answers on its own."""
    gpus = node.base.gpus
    if gpus is None:
        return []
    return [*(one for slot in node.slots for one in _slot(node, gpus, slot)), *nvml_links.own(node, gpus)]


def _slot(node: Node, gpus: Gpus, slot: GpuSlot) -> list[NvmlRule]:
    chip, index = gpus.chip, slot.index
    domain, bus, device = slot.function
    texts = {"nvmlDeviceGetUUID": slot.uuid, "nvmlDeviceGetSerial": slot.serial, "nvmlDeviceGetMinorNumber": slot.minor,
             "nvmlDeviceGetCurrPcieLinkGeneration": idle_generation(node.base, index)}
    ids = {"domain": domain, "bus": bus, "device": device, "pciDeviceId": chip.pci_device << 16 | VENDOR,
           "pciSubSystemId": chip.pci_subsystem << 16 | VENDOR, "busId": slot.nvml_bus_id,
           "busIdLegacy": slot.bus_id.upper()}
    rules = [*(rule(call, value, index) for call, value in texts.items()), rule("nvmlDeviceGetPciInfo_v3", ids, index),
             *_idle(node, gpus, slot)]
    if chip.coherent and node.base.versions.branch >= SINCE["nvmlDeviceGetNumaNodeId"]:
        rules.append(rule("nvmlDeviceGetNumaNodeId", node.base.cpus.processor_nodes + index, index))
    return rules


def temperature_celsius(node: Node, gpus: Gpus, index: int) -> int:
    """A GPU's idle temperature: nearer the fans is cooler, and no two are quite alike."""
    return gpus.chip.idle_celsius + index // 4 + node.identity.pick(0, 4, "temperature", index)


def idle_milliwatts(node: Node, gpus: Gpus, index: int) -> int:
    """A GPU's idle power."""
    return gpus.chip.idle_watts * 1000 + node.identity.pick(-4000, 4000, "power", index)


def corrected_errors(node: Node, index: int) -> int:
    """Corrected ECC errors since the driver was loaded: none on most GPUs, a few on some, and none more comes."""
    return max(node.identity.pick(0, 9, "corrected", index) - 6, 0)


def _idle(node: Node, gpus: Gpus, slot: GpuSlot) -> list[NvmlRule]:
    index, branch = slot.index, node.base.versions.branch
    celsius, milliwatts = temperature_celsius(node, gpus, index), idle_milliwatts(node, gpus, index)
    energy = {"start": node.moment.uptime * milliwatts, "per_second": milliwatts}
    rules = [
        rule("nvmlDeviceGetTemperature", celsius, index, sensorType=0),
        rule("nvmlDeviceGetTemperatureV", {"temperature": celsius}, index), field(MEMORY_CELSIUS, celsius + 6, index),
        rule("nvmlDeviceGetPowerUsage", milliwatts, index), rule("nvmlDeviceGetTotalEnergyConsumption", energy, index),
        *_corrected(node, index),
    ]
    if gpus.chip.slowdown_tlimit is not None:
        margin = gpus.chip.gpu_max_celsius - celsius
        rules.append(rule("nvmlDeviceGetMarginTemperature", {"marginTemperature": margin}, index))
    return [one for one in rules if branch >= SINCE.get(one.call, 0)]


def _corrected(node: Node, index: int) -> list[NvmlRule]:
    """Corrected errors, all of them in DRAM; three times as many over the board's life."""
    errors = corrected_errors(node, index)
    return [
        one for counter, count in enumerate((errors, errors * 3)) for one in (
            rule("nvmlDeviceGetTotalEccErrors", count, index, errorType=0, counterType=counter),
            rule("nvmlDeviceGetMemoryErrorCounter", count, index, errorType=0, counterType=counter, locationType=2),
        )
    ]
