"""/sys/bus/pci and the device files of a healthy node."""

from __future__ import annotations

from fleetcheck.sandbox.machine.base import Base
from fleetcheck.sandbox.machine.entries import Files, link, tree
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.pci_config import config
from fleetcheck.sandbox.machine.pci_function import Function, bridges, device_folder, functions, gpus
from fleetcheck.sandbox.machine.placement import Place

SPEEDS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe",
          6: "64.0 GT/s PCIe"}
_CORRECTABLE = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF")
_UNCORRECTABLE = (
    "Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC", "UnsupReq",
    "ACSViol", "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked", "TLPBlockedErr", "PoisonTLPBlocked",
)


def shared(base: Base) -> Files:
    """The devices as every node of the profile has them; nothing here names a serial number."""
    files: Files = {}
    for function in (*bridges(base), *functions(base)):
        files |= _function(base, function)
    for index, function in enumerate(gpus(base), 1):
        files[f"/sys/bus/pci/slots/{index}/address"] = f"{function.address.rpartition('.')[0]}\n"
    return files


def _function(base: Base, function: Function) -> Files:
    folder, driver = device_folder(function.place), f"/sys/bus/pci/drivers/{function.driver}"
    near = {"numa_node": numa_node(base, function.place), "local_cpulist": _local_cpus(base, function.place)}
    files = tree(folder, {**_identity(function), **_link(function), **_errors(), **near, "enable": 1})
    files[f"{folder}/config"] = config(function)
    files |= link(f"/sys/bus/pci/devices/{function.address}", folder) | link(f"{driver}/{function.address}", folder)
    return files | link(f"{folder}/driver", driver) | link(f"{folder}/subsystem", "/sys/bus/pci")


def _identity(function: Function) -> dict[str, object]:
    names = ("vendor", "device", "subsystem_vendor", "subsystem_device")
    vendor, device, sub_vendor, sub_device = function.ids
    event = (f"DRIVER={function.driver}\nPCI_CLASS={function.class_code:X}\nPCI_ID={vendor:04X}:{device:04X}\n"
             f"PCI_SUBSYS_ID={sub_vendor:04X}:{sub_device:04X}\nPCI_SLOT_NAME={function.address}")
    return {"class": f"0x{function.class_code:06x}", "revision": f"0x{function.revision:02x}", "uevent": event,
            **{name: f"0x{number:04x}" for name, number in zip(names, function.ids, strict=True)}}


def _link(function: Function) -> dict[str, object]:
    return {"current_link_width": function.width, "max_link_width": function.width,
            "current_link_speed": SPEEDS[function.now], "max_link_speed": SPEEDS[function.generation]}


def _errors() -> dict[str, object]:
    """The counters of advanced error reporting: every error once, then the total."""
    def told(names: tuple[str, ...], total: str) -> str:
        return "\n".join(f"{name} 0" for name in (*names, total))

    return {"aer_dev_correctable": told(_CORRECTABLE, "TOTAL_ERR_COR"),
            "aer_dev_nonfatal": told(_UNCORRECTABLE, "TOTAL_ERR_NONFATAL"),
            "aer_dev_fatal": told(_UNCORRECTABLE, "TOTAL_ERR_FATAL")}


def numa_node(base: Base, place: Place) -> int:
    """The NUMA node a device is nearest to."""
    return min(place.socket * max(base.cpus.processor_nodes // base.cpus.sockets, 1), base.cpus.processor_nodes - 1)


def _local_cpus(base: Base, place: Place) -> str:
    per_node = base.cpus.cores // base.cpus.processor_nodes
    first = numa_node(base, place) * per_node
    starts = [first + thread * base.cpus.cores for thread in range(base.cpus.smt)]
    return ",".join(f"{start}-{start + per_node - 1}" for start in starts)


def own(node: Node) -> Files:
    """The driver's device files."""
    gpus_here = node.base.gpus
    if gpus_here is None:
        return {}
    names = [f"nvidia{slot.minor}" for slot in node.slots]
    names += ["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"]
    names += [f"nvidia-nvswitch{number}" for number in range(len(node.base.server.switches))]
    names += ["nvidia-caps-imex-channels/channel0"] if gpus_here.chip.nvlink_domain else []
    return {f"/dev/{name}": "" for name in names}
