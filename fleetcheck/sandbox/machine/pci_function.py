"""The PCI functions of a healthy machine: GPUs, NVSwitches, NICs, drives and the bridges above them."""

from __future__ import annotations

from dataclasses import dataclass

from fleetcheck.sandbox.machine.base import Base, Hca
from fleetcheck.sandbox.machine.placement import Place

NVIDIA, MELLANOX, INTEL, SAMSUNG, BROADCOM, AMD = 0x10DE, 0x15B3, 0x8086, 0x144D, 0x1000, 0x1022
ACCELERATOR, NVSWITCH, INFINIBAND, ETHERNET, NVME, BRIDGE = 0x030200, 0x068000, 0x020700, 0x020000, 0x010802, 0x060400
CONNECTX_6, CONNECTX_6_DX, CONNECTX_7 = 0x101B, 0x101D, 0x1021


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
    now: int                                           # the generation its link runs at while idle
    revision: int = 0

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
    found = [*gpus(base), *_switches(base), *map(_hca, base.hcas), *_drives(base), *_ethernet(base)]
    return sorted(found, key=lambda one: one.address)


def gpus(base: Base) -> list[Function]:
    """The GPUs, in the order of their index."""
    if base.gpus is None:
        return []
    chip, generation, width = base.gpus.chip, base.gpus.generation, base.gpus.width
    ids = (NVIDIA, chip.pci_device, NVIDIA, chip.pci_subsystem)
    return [
        Function(place, f"NVIDIA Corporation {chip.family}", ACCELERATOR, ids, "nvidia", generation, width,
                 idle_generation(base, index), 0xA1)
        for index, place in enumerate(base.gpus.places[:base.gpus.count])
    ]


def idle_generation(base: Base, index: int) -> int:
    """The generation a GPU's link idles at, in sysfs and NVML alike. Every third rests at the first one: no fault."""
    return 1 if index % 3 == 2 or base.gpus is None else base.gpus.generation


def _switches(base: Base) -> list[Function]:
    device, subsystem = base.server.switch_id
    ids = (NVIDIA, device, NVIDIA, subsystem)
    return [Function(place, "NVIDIA Corporation NVSwitch", NVSWITCH, ids, "nvidia-nvswitch", 4, 2, 4, 0xA1)
            for place in base.server.switches]


def hca_device(base_hca: Hca) -> int:
    """The PCI device of an HCA: ConnectX-6 up to 200 Gb/s, ConnectX-7 beyond, and another one for management."""
    if not base_hca.compute:
        return CONNECTX_6_DX
    return CONNECTX_6 if base_hca.gbits_per_second <= 200 else CONNECTX_7


def _hca(hca: Hca) -> Function:
    device = hca_device(hca)
    generation = 5 if device == CONNECTX_7 else 4
    names = {CONNECTX_6: "MT28908 Family [ConnectX-6]", CONNECTX_6_DX: "MT2892 Family [ConnectX-6 Dx]",
             CONNECTX_7: "MT2910 Family [ConnectX-7]"}
    code = INFINIBAND if hca.link_layer == "InfiniBand" else ETHERNET
    return Function(hca.place, f"Mellanox Technologies {names[device]}", code, (MELLANOX, device, MELLANOX, 0x0041),
                    "mlx5_core", generation, 16, generation)


def drive_places(base: Base) -> list[Place]:
    """Where nvme0, nvme1, … sit: the boot drives first."""
    return [*base.server.boot_drives, *base.data_drives]


def _drives(base: Base) -> list[Function]:
    title, ids = "Samsung Electronics Co Ltd NVMe SSD Controller PM9A3", (SAMSUNG, 0xA80A, SAMSUNG, 0xAA8B)
    return [Function(place, title, NVME, ids, "nvme", 4, 4, 4) for place in drive_places(base)]


def _ethernet(base: Base) -> list[Function]:
    title, ids = "Intel Corporation Ethernet Controller E810-XXV for SFP", (INTEL, 0x159B, INTEL, 0x0002)
    return [Function(one.place, title, ETHERNET, ids, "ice", 4, 8, 4, 2) for one in base.interfaces if one.place]


def bridges(base: Base) -> list[Function]:
    """The root ports and switch ports above the functions, as fast and wide as the first device below them."""
    found: dict[str, Function] = {}
    for function in functions(base):
        for depth, address in enumerate(function.place.bridges):
            place = Place(address, function.place.bridges[:depth], function.place.socket)
            found.setdefault(address, _bridge(base, place, function))
    return sorted(found.values(), key=lambda one: one.address)


def _bridge(base: Base, place: Place, below: Function) -> Function:
    if place.bridges:
        title, ids, revision = "PCI switch port", (BROADCOM, 0xC030, BROADCOM, 0x100B), 0xB0
    else:
        vendor, device = {"GenuineIntel": (INTEL, 0x352A), "AuthenticAMD": (AMD, 0x1483)}.get(
            base.cpus.processor.vendor, (NVIDIA, 0x22B1))
        title, ids, revision = "Root Port", (vendor, device, vendor, 0), 0
    return Function(place, title, BRIDGE, ids, "pcieport", below.generation, below.width, below.generation, revision)
