"""What NVML tells of one GPU's identity, modes, thermal state, power, clocks and PCIe link (node side)."""

from typing import Any, Dict

import pynvml as n

from fleetcheck.node.collectors.nvml_call import Nvml, absent, is_absent

Leaves = Dict[str, Any]


def bus_address(bus_id: Any) -> Any:
    """NVML's bus id as sysfs writes addresses: lower case, eight digits of domain kept only where they are needed.

    >>> bus_address("00000000:3B:00.0"), bus_address("00010018:01:00.0")
    ('0000:3b:00.0', '00010018:01:00.0')
    """
    if is_absent(bus_id):
        return bus_id
    domain, _, rest = str(bus_id).lower().partition(":")
    return "%s:%s" % (domain[-4:] if domain.startswith("0000") and len(domain) == 8 else domain, rest)


def identity(nvml: Nvml, handle: Any) -> Leaves:
    """Names, serials and firmware versions."""
    ask = nvml.ask
    pci = nvml.struct({"bus_id": "busId", "pci_device_id": "pciDeviceId"}, n.nvmlDeviceGetPciInfo_v3, handle)
    leaves = {
        "name": ask(n.nvmlDeviceGetName, handle),
        "uuid": ask(n.nvmlDeviceGetUUID, handle),
        "serial": ask(n.nvmlDeviceGetSerial, handle),
        "multi_gpu_board": ask(n.nvmlDeviceGetMultiGpuBoard, handle),
        "part_number": ask(n.nvmlDeviceGetBoardPartNumber, handle),
        "minor": ask(n.nvmlDeviceGetMinorNumber, handle),
        "bus_id": pci["bus_id"],
        "address": bus_address(pci["bus_id"]),
        "pci_device_id": pci["pci_device_id"],
        "vbios": ask(n.nvmlDeviceGetVbiosVersion, handle),
        "inforom_image": ask(n.nvmlDeviceGetInforomImageVersion, handle),
        "inforom_code": nvml.code(n.nvmlDeviceValidateInforom, handle),
        "gsp_firmware": ask(n.nvmlDeviceGetGspFirmwareVersion, handle),
    }
    leaves.update(nvml.spread(["gsp_enabled", "gsp_default"], n.nvmlDeviceGetGspFirmwareMode, handle))
    return leaves


def modes(nvml: Nvml, handle: Any) -> Leaves:
    """Modes as NVML's numbers, and how busy the GPU is."""
    ask = nvml.ask
    leaves = {
        "persistence": ask(n.nvmlDeviceGetPersistenceMode, handle),
        "compute": ask(n.nvmlDeviceGetComputeMode, handle),
        "pstate": ask(n.nvmlDeviceGetPerformanceState, handle),
    }
    leaves.update(nvml.spread(["mig_current", "mig_pending"], n.nvmlDeviceGetMigMode, handle))
    leaves.update(nvml.struct({"gpu_utilisation_percent": "gpu", "memory_utilisation_percent": "memory"},
                              n.nvmlDeviceGetUtilizationRates, handle))
    leaves.update(nvml.fields(handle, {"recovery_action": n.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION}))
    return leaves


def memory(nvml: Nvml, handle: Any) -> Leaves:
    """Frame buffer and BAR1 in bytes. Only version 2 tells the driver's reserve from what is used."""
    second = {"total_bytes": "total", "free_bytes": "free", "used_bytes": "used", "reserved_bytes": "reserved"}
    leaves = nvml.struct(second, n.nvmlDeviceGetMemoryInfo, handle, n.nvmlMemory_v2)
    if leaves["total_bytes"] == absent("FUNCTION_NOT_FOUND"):
        first = {"total_bytes": "total", "free_bytes": "free", "used_with_reserve_bytes": "used"}
        leaves.update(nvml.struct(first, n.nvmlDeviceGetMemoryInfo, handle))
    leaves.update(nvml.struct({"bar1_total_bytes": "bar1Total", "bar1_used_bytes": "bar1Used"},
                              n.nvmlDeviceGetBAR1MemoryInfo, handle))
    return leaves


def thermal(nvml: Nvml, handle: Any) -> Leaves:
    """Degrees Celsius; the margin and T.Limit offsets count degrees below the maximum operating temperature."""
    ask, threshold = nvml.ask, n.nvmlDeviceGetTemperatureThreshold
    leaves = {
        "temperature_celsius": ask(n.nvmlDeviceGetTemperature, handle, n.NVML_TEMPERATURE_GPU),
        "shutdown_celsius": ask(threshold, handle, n.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN),
        "slowdown_celsius": ask(threshold, handle, n.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN),
        "memory_maximum_celsius": ask(threshold, handle, n.NVML_TEMPERATURE_THRESHOLD_MEM_MAX),
        "operating_maximum_celsius": ask(threshold, handle, n.NVML_TEMPERATURE_THRESHOLD_GPU_MAX),
        "margin_celsius": ask(n.nvmlDeviceGetMarginTemperature, handle),
        "fans_percent": fans(nvml, handle),
    }
    leaves.update(nvml.fields(handle, {
        "memory_celsius": n.NVML_FI_DEV_MEMORY_TEMP,
        "shutdown_tlimit_celsius": n.NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT,
        "slowdown_tlimit_celsius": n.NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT,
        "memory_tlimit_celsius": n.NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT,
        "operating_tlimit_celsius": n.NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT,
    }))
    return leaves


def fans(nvml: Nvml, handle: Any) -> Any:
    """Speed of each fan; boards cooled by the chassis have none."""
    count = nvml.ask(n.nvmlDeviceGetNumFans, handle)
    if is_absent(count):
        return count
    return [nvml.ask(n.nvmlDeviceGetFanSpeed_v2, handle, fan) for fan in range(min(count, 16))]


def power(nvml: Nvml, handle: Any) -> Leaves:
    """Limits in watts (NVML counts milliwatts); joules since the driver was loaded or the GPU reset."""
    limits = {
        "enforced_limit_watts": n.nvmlDeviceGetEnforcedPowerLimit,
        "management_limit_watts": n.nvmlDeviceGetPowerManagementLimit,
        "default_limit_watts": n.nvmlDeviceGetPowerManagementDefaultLimit,
    }
    leaves = {name: watts(nvml.ask(function, handle)) for name, function in limits.items()}
    leaves["energy_joules"] = watts(nvml.ask(n.nvmlDeviceGetTotalEnergyConsumption, handle))
    return leaves


def watts(milliwatts: Any) -> Any:
    """Milliwatts as watts, millijoules as joules; a reason stays a reason."""
    return milliwatts if is_absent(milliwatts) else milliwatts / 1000.0


def clocks(nvml: Nvml, handle: Any) -> Leaves:
    """Megahertz: now, at most, and as applications asked for."""
    leaves = {}
    for name, clock in (("graphics", n.NVML_CLOCK_GRAPHICS), ("sm", n.NVML_CLOCK_SM), ("memory", n.NVML_CLOCK_MEM)):
        leaves[name + "_mhz"] = nvml.ask(n.nvmlDeviceGetClockInfo, handle, clock)
        leaves[name + "_maximum_mhz"] = nvml.ask(n.nvmlDeviceGetMaxClockInfo, handle, clock)
        leaves[name + "_application_mhz"] = nvml.ask(n.nvmlDeviceGetApplicationsClock, handle, clock)
    return leaves


def pcie(nvml: Nvml, handle: Any) -> Leaves:
    """Width in lanes, generation as a number: now, what the slot allows, what the GPU itself could."""
    calls = {
        "width": n.nvmlDeviceGetCurrPcieLinkWidth,
        "width_maximum": n.nvmlDeviceGetMaxPcieLinkWidth,
        "generation": n.nvmlDeviceGetCurrPcieLinkGeneration,
        "generation_maximum": n.nvmlDeviceGetMaxPcieLinkGeneration,
        "generation_of_gpu": n.nvmlDeviceGetGpuMaxPcieLinkGeneration,
    }
    return {name: nvml.ask(function, handle) for name, function in calls.items()}


def peers(nvml: Nvml, handle: Any, others: Dict[int, Any]) -> Leaves:
    """Peer read status towards every other GPU, by its index (0: works)."""
    # pynvml's NVML_P2P_CAPS_INDEX_READ is the tuple (0,): a stray comma in the binding.
    return {str(index): nvml.ask(n.nvmlDeviceGetP2PStatus, handle, other, 0) for index, other in others.items()}


def event_reasons(nvml: Nvml, handle: Any) -> Any:
    """Why clocks are held down, as bits; drivers before 535 know it by its older name only."""
    reasons = nvml.ask(n.nvmlDeviceGetCurrentClocksEventReasons, handle)
    if reasons == absent("FUNCTION_NOT_FOUND"):
        return nvml.ask(n.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
    return reasons

