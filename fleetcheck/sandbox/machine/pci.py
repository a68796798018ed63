"""/sys/bus/pci of a healthy node: GPUs, NVSwitches, NICs, drives and the bridges above them."""

from __future__ import annotations

from dataclasses import dataclass

from fleetcheck.sandbox.machine.base import Base
from fleetcheck.sandbox.machine.entries import Files, link, tree
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.servers import Place

SPEEDS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe",
          6: "64.0 GT/s PCIe"}

_CORRECTABLE = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF")
_UNCORRECTABLE = ("Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP",
                  "ECRC", "UnsupReq", "ACSViol",
                  "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked", "TLPBlockedErr", "PoisonTLPBlocked")


@dataclass(frozen=True)
class Function:
    """One PCI function. ids: vendor, device, subsystem vendor and device. generation, width: what its link can do."""

    place: Place
    title: str
    class_code: int
    ids: tuple[int, int, int, int]
    driver: str
    generation: int
    width: int
    now: int                                           # the generation the link runs at while idle
    revision: int = 0
    slot: str = ""

    @property
    def address(self) -> str:
        """As sysfs names it."""
        return self.place.address


def device_folder(place: Place) -> str:
    """Where sysfs keeps a function: below its root bus and the bridges above it."""
    first = (*place.bridges, place.address)[0]
    domain, bus, _ = first.split(":")
    return "/".join((f"/sys/devices/pci{domain}:{bus}", *place.bridges, place.address))


def functions(base: Base) -> list[Function]:
    """Every function of the machine in the order of its address, without the bridges."""
    return sorted([*gpus(base), *_switches(base), *_nics(base), *_drives(base), _ethernet(base), *_management(base)],
                  key=lambda one: one.address)


def gpus(base: Base) -> list[Function]:
    """The GPUs. At idle every third link runs at the first generation: no fault."""
    if base.gpus is None:
        return []
    chip, revision = base.gpus.chip, 0xA1
    ids = (0x10DE, chip.pci_device, 0x10DE, chip.pci_subsystem)
    return [Function(place, f"NVIDIA Corporation {chip.family}", 0x030200, ids, "nvidia", base.gpus.generation,
                     base.gpus.width,
                     idle_generation(base, index), revision, f"{index + 1}") for index,
            place in enumerate(base.gpus.places[:base.gpus.count])]


def idle_generation(base: Base, index: int) -> int:
    """The PCIe generation a GPU's link idles at; sysfs and NVML agree on it."""
    return 1 if index % 3 == 2 or base.gpus is None else base.gpus.generation


def _switches(base: Base) -> list[Function]:
    device, subsystem = base.server.switch_id
    return [Function(place, "NVIDIA Corporation NVSwitch", 0x068000, (0x10DE, device, 0x10DE, subsystem),
                     "nvidia-nvswitch", 4, 2, 4, 0xA1)
            for place in base.server.switches]


def hca_ids(base: Base) -> tuple[int, str, str]:
    """PCI device, PSID and firmware of the compute HCAs."""
    if base.server.hca == "mlx5 MT4123":
        return 0x101B, "MT_0000000223", "20.43.2566"
    return 0x1021, "MT_0000000838", "28.43.2566"


def _nics(base: Base) -> list[Function]:
    device, _, _ = hca_ids(base)
    generation = 4 if device == 0x101B else 5
    return [Function(hca.place, f"Mellanox Technologies MT{4123 if device == 0x101B else 4129}",
                     0x020700 if hca.link_layer == "InfiniBand" else 0x020000,
                     (0x15B3, device, 0x15B3, 0x0041), "mlx5_core", generation, 16, generation) for hca in base.hcas
            if hca.compute]


def _management(base: Base) -> list[Function]:
    return [Function(hca.place, "Mellanox Technologies MT2892 Family [ConnectX-6 Dx]", 0x020000,
                     (0x15B3, 0x101D, 0x15B3, 0x0040), "mlx5_core", 4, 16, 4)
            for hca in base.hcas if not hca.compute]


def drive_places(base: Base) -> list[Place]:
    """Where nvme0, nvme1, … sit: the boot drives first."""
    return [*base.server.boot_drives, *base.data_drives]


def _drives(base: Base) -> list[Function]:
    return [Function(place, "Samsung Electronics Co Ltd NVMe SSD Controller PM9A3", 0x010802,
                     (0x144D, 0xA80A, 0x144D, 0xAA8B), "nvme", 4, 4, 4)
            for place in drive_places(base)]


def _ethernet(base: Base) -> Function:
    return Function(base.server.ethernet, "Intel Corporation Ethernet Controller E810-XXV for SFP", 0x020000,
                    (0x8086, 0x159B, 0x8086, 0x0002), "ice", 4, 8, 4, 2)


def bridges(base: Base) -> list[Function]:
    """The root ports and switch ports above the functions; ports of a switch run as fast as what is below them can."""
    found: dict[str, Function] = {}
    for function in functions(base):
        for depth, address in enumerate(function.place.bridges):
            place = Place(address, function.place.bridges[:depth], function.place.socket)
            ids = (0x8086, 0x352A, 0x8086, 0) if depth == 0 else (0x1000, 0xC030, 0x1000, 0x100B)
            found.setdefault(address, Function(place, "Root Port" if depth == 0 else "PCI switch port", 0x060400, ids,
                                               "pcieport",
                                               function.generation, function.width, function.generation,
                                               0x30 if depth == 0 else 0xB0))
    return sorted(found.values(), key=lambda one: one.address)


def shared(base: Base) -> Files:
    """The devices as every node of the profile has them; nothing here names a serial number."""
    files: Files = {}
    for function in (*bridges(base), *functions(base)):
        files |= _function(base, function)
    return files | _slots(base)


def _function(base: Base, function: Function) -> Files:
    folder = device_folder(function.place)
    vendor, device, sub_vendor, sub_device = function.ids
    files = tree(folder, {
        "class": f"0x{function.class_code:06x}", "vendor": f"0x{vendor:04x}", "device": f"0x{device:04x}",
        "subsystem_vendor": f"0x{sub_vendor:04x}",
        "subsystem_device": f"0x{sub_device:04x}", "revision": f"0x{function.revision:02x}",
        "numa_node": numa_node(base, function.place), "enable": 1,
        "current_link_width": function.width, "max_link_width": function.width,
        "current_link_speed": SPEEDS[function.now],
        "max_link_speed": SPEEDS[function.generation], "power_state": "D0", "irq": 16,
        "local_cpulist": _local_cpus(base, function.place),
        "aer_dev_correctable": aer(_CORRECTABLE, "TOTAL_ERR_COR"), "aer_dev_nonfatal": aer(_UNCORRECTABLE,
                                                                                           "TOTAL_ERR_NONFATAL"),
        "aer_dev_fatal": aer(_UNCORRECTABLE, "TOTAL_ERR_FATAL"), "uevent": _uevent(function),
    })
    files |= link(f"/sys/bus/pci/devices/{function.address}", folder)
    files |= link(f"/sys/bus/pci/drivers/{function.driver}/{function.address}", folder)
    return files | link(f"{folder}/driver", f"/sys/bus/pci/drivers/{function.driver}") | link(f"{folder}/subsystem",
                                                                                              "/sys/bus/pci")


def aer(names: tuple[str, ...], total: str) -> str:
    """A counter file of advanced error reporting: every error once, then the total."""
    return "\n".join(f"{name} 0" for name in (*names, total))


def numa_node(base: Base, place: Place) -> int:
    """The NUMA node a device is nearest to."""
    return min(place.socket * max(base.cpus.processor_nodes // base.cpus.sockets, 1), base.cpus.processor_nodes - 1)


def _local_cpus(base: Base, place: Place) -> str:
    per_node = base.cpus.cores // base.cpus.processor_nodes
    first = numa_node(base, place) * per_node
    return ",".join(f"{first + thread * base.cpus.cores}-{first + per_node - 1 + thread * base.cpus.cores}"
                    for thread in range(base.cpus.smt))


def _uevent(function: Function) -> str:
    vendor, device, sub_vendor, sub_device = function.ids
    return (f"DRIVER={function.driver}\nPCI_CLASS={function.class_code:X}\nPCI_ID={vendor:04X}:{device:04X}\n"
            f"PCI_SUBSYS_ID={sub_vendor:04X}:{sub_device:04X}\nPCI_SLOT_NAME={function.address}")


def _slots(base: Base) -> Files:
    return {f"/sys/bus/pci/slots/{function.slot}/address": f"{function.address.rpartition('.')[0]}\n"
            for function in gpus(base) if function.slot}


def own(node: Node) -> Files:
    """A GPU's minor number as the driver shows it, and device files."""
    base = node.base
    if base.gpus is None:
        return {}
    files: Files = {f"/dev/nvidia{slot.minor}": "" for slot in node.slots}
    return files | {f"/dev/{name}": "" for name in ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools",
                                                    "nvidia-modeset")} | _capabilities(base)


def _capabilities(base: Base) -> Files:
    if base.gpus and base.gpus.chip.nvlink_domain:
        return {f"/dev/nvidia-caps-imex-channels/channel{number}": "" for number in range(1)}
    return {f"/dev/nvidia-nvswitch{number}": "" for number in range(len(base.server.switches))}
