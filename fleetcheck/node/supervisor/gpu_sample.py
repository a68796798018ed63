"""Runs on the node: one GPU's momentary values and error counters, in as few NVML calls as tell them.

Names of a sample: temperature, margin and memory_temperature in Celsius, power in watts, clocks in MHz, utilisation in
percent, reasons as NVML's bits, counters as totals. What was not answered is an absent leaf.
"""

from typing import Any, Callable, Dict, List, Set, Tuple

import pynvml as n

from fleetcheck.node.collectors import nvml_gpu, nvml_link, nvml_memory
from fleetcheck.node.collectors.nvml_call import Nvml, is_absent

Leaves = Dict[str, Any]

HUNG = "HUNG"
NVLINK_TOTALS = {
    "replay": n.NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL,
    "recovery": n.NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL,
    "crc_flit": n.NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL,
    "crc_data": n.NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL,
}


class Careful(Nvml):
    """Calls about one GPU, but for those that hung before: they cost their own value only."""

    def __init__(self, label: str, note: Callable[[str], None], hung: Set[str]) -> None:
        Nvml.__init__(self, label, note)
        self.hung = hung

    def attempt(self, function: Callable[..., Any], *args: Any) -> Tuple[str, Any]:
        """As Nvml.attempt; a call that hung is not made again, nor any of a GPU with two such calls."""
        if self.label in self.hung or "%s: %s" % (self.label, function.__name__) in self.hung:
            return HUNG, None
        return Nvml.attempt(self, function, *args)


class Card:
    """One GPU under watch."""

    def __init__(self, index: int, note: Callable[[str], None], hung: Set[str]) -> None:
        self.index = index
        self.nvml = Careful("GPU %d" % index, note, hung)
        self.code, self.handle = self.nvml.attempt(n.nvmlDeviceGetHandleByIndex, index)
        self.unsupported: Set[str] = set()

    def identity(self) -> Leaves:
        """{index, uuid, address, name}."""
        if self.handle is None:
            lost = {"absent": self.code}
            return {"index": self.index, "uuid": lost, "address": lost, "name": lost}
        ask, handle = self.nvml.ask, self.handle
        bus = self.nvml.struct({"bus_id": "busId"}, n.nvmlDeviceGetPciInfo_v3, handle)["bus_id"]
        return {"index": self.index, "uuid": ask(n.nvmlDeviceGetUUID, handle), "name": ask(n.nvmlDeviceGetName, handle),
                "address": nvml_gpu.bus_address(bus)}

    def sample(self) -> Leaves:
        """Momentary values and totals that one call tells."""
        if self.handle is None:
            return {"temperature": {"absent": self.code}}
        nvml, handle = self.nvml, self.handle
        found = {
            "temperature": nvml.ask(n.nvmlDeviceGetTemperature, handle, n.NVML_TEMPERATURE_GPU),
            "margin": self.once_supported("margin", n.nvmlDeviceGetMarginTemperature),
            "power": nvml_gpu.watts(nvml.ask(n.nvmlDeviceGetPowerUsage, handle)),
            "sm_clock": nvml.ask(n.nvmlDeviceGetClockInfo, handle, n.NVML_CLOCK_SM),
            "mem_clock": nvml.ask(n.nvmlDeviceGetClockInfo, handle, n.NVML_CLOCK_MEM),
            "reasons": nvml_gpu.event_reasons(nvml, handle),
            "pcie_generation": nvml.ask(n.nvmlDeviceGetCurrPcieLinkGeneration, handle),
            "pcie_width": nvml.ask(n.nvmlDeviceGetCurrPcieLinkWidth, handle),
        }
        found.update(nvml.struct({"utilisation": "gpu"}, n.nvmlDeviceGetUtilizationRates, handle))
        found["ecc"] = self.ecc()
        found.update(self.by_field())
        return found

    def ecc(self) -> Leaves:
        """Errors since the driver was loaded."""
        total = n.nvmlDeviceGetTotalEccErrors
        return {"corrected": self.nvml.ask(total, self.handle, nvml_memory.CORRECTED, nvml_memory.VOLATILE),
                "uncorrected": self.nvml.ask(total, self.handle, nvml_memory.UNCORRECTED, nvml_memory.VOLATILE)}

    def by_field(self) -> Leaves:
        """Memory temperature and NVLink totals over all links, by one call; fields that are not supported are asked once."""
        wanted = {name: field for name, field in NVLINK_TOTALS.items() if name not in self.unsupported}
        wanted["memory_temperature"] = n.NVML_FI_DEV_MEMORY_TEMP
        fields = self.nvml.fields(self.handle, wanted)
        memory = fields.pop("memory_temperature")
        self.unsupported.update(name for name, value in fields.items() if is_absent(value))
        return {"memory_temperature": memory,
                "nvlink": {name: value for name, value in fields.items() if not is_absent(value)}}

    def once_supported(self, name: str, function: Callable[..., Any]) -> Any:
        """A value that older drivers do not have, asked until one says so."""
        if name in self.unsupported:
            return {"absent": "FUNCTION_NOT_FOUND"}
        value = self.nvml.ask(function, self.handle)
        if value == {"absent": "FUNCTION_NOT_FOUND"}:
            self.unsupported.add(name)
        return value

    def counters(self) -> Leaves:
        """Totals that take many calls: NVLink errors of each link, PCIe replays, remapped rows."""
        if self.handle is None:
            return {}
        nvml, handle = self.nvml, self.handle
        rows = nvml.spread(["corrected_rows", "uncorrected_rows", "remap_pending"], n.nvmlDeviceGetRemappedRows, handle)
        return {"nvlink_links": nvml_link.errors(nvml, handle), "rows": rows,
                "pcie_replays": nvml.ask(n.nvmlDeviceGetPcieReplayCounter, handle)}


def cards(note: Callable[[str], None], hung: Set[str]) -> Tuple[List[Card], str]:
    """The GPUs of this node, or none and why."""
    nvml = Careful("NVML", note, hung)
    code = nvml.code(n.nvmlInit)
    count = nvml.ask(n.nvmlDeviceGetCount) if code == "SUCCESS" else {"absent": code}
    if isinstance(count, dict):
        return [], str(count["absent"])
    return [Card(index, note, hung) for index in range(min(int(count), 64))], ""
