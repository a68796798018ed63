"""What each server around those chips is: board, processors, DIMMs, and where its devices sit on PCI."""

from __future__ import annotations

from dataclasses import dataclass

from fleetcheck.sandbox.machine import chips
from fleetcheck.sandbox.machine.chips import Chip, Processor


@dataclass(frozen=True)
class Place:
    """Where a device sits: its PCI address, the bridges above it from the root port down, and its socket."""

    address: str
    bridges: tuple[str, ...]
    socket: int


@dataclass(frozen=True)
class Group:
    """Devices behind one PCI switch: a GPU (or none) with the NIC and the NVMe drive nearest to it."""

    gpu: Place | None = None
    nic: Place | None = None
    nvme: Place | None = None


@dataclass(frozen=True)
class Server:
    """One kind of server."""

    chip: Chip | None
    vendor: str
    product: str
    board: str
    bios_version: str
    bios_date: str
    processor: Processor
    dimms: int
    dimm_gibibytes: int
    dimm_kind: str
    dimm_mtps: int
    groups: tuple[Group, ...]
    boot_drives: tuple[Place, ...]
    management: Place                                  # the mlx5 device that no compute traffic uses
    ethernet: Place
    bmc: str
    switches: tuple[Place, ...] = ()                   # NVSwitches that show on PCI
    switch_id: tuple[int, int] = (0x22A3, 0x1796)
    supplies: int = 6


def _switched(root: int, socket: int, gpu: int = 6, nic: int = 3, nvme: int = 4) -> Group:
    """A PCI switch below root port 01.0 of a root bus: one upstream, three downstream ports; devices at bus offsets."""
    above = (f"0000:{root:02x}:01.0", f"0000:{root + 1:02x}:00.0")

    def place(port: int, bus: int) -> Place:
        return Place(f"0000:{root + bus:02x}:00.0", (*above, f"0000:{root + 2:02x}:{port:02x}.0"), socket)

    return Group(gpu=place(2, gpu), nic=place(0, nic), nvme=place(1, nvme))


def _direct(address: str, port: str, socket: int = 0) -> Place:
    """A device straight below a root port."""
    return Place(address, (port,), socket)


def _boot_drives(domain: str = "0000") -> tuple[Place, ...]:
    return _direct(f"{domain}:01:00.0", f"{domain}:00:01.0"), _direct(f"{domain}:02:00.0", f"{domain}:00:01.1")


_HGX = tuple(_switched(root, socket) for socket, roots in enumerate(((0x15, 0x3D, 0x4C, 0x5B), (0x97, 0xBD, 0xCB,
                                                                                                0xD9)))
             for root in roots)
_HGX_SWITCHES = tuple(_direct(f"0000:{bus:02x}:00.0", f"0000:00:0{bus - 2:x}.0") for bus in (5, 6, 7, 8))

_A100_GROUPS = tuple(
    _switched(root, socket, gpu)
    for root, socket, gpu in ((0x01, 0, 6), (0x09, 0, 6), (0x41, 0, 6), (0x48, 0, 6), (0x81, 1, 6), (0x8A, 1, 6),
                              (0xB1, 1, 6), (0xB8, 1, 5))
)


def _tray_group(gpu: str, nic: str, nvme: str, socket: int) -> Group:
    return Group(gpu=_direct(f"{gpu}:01:00.0", f"{gpu}:00:00.0", socket),
                 nic=_direct(f"{nic}:03:00.0", f"{nic}:00:00.0", socket),
                 nvme=_direct(f"{nvme}:01:00.0", f"{nvme}:00:00.0", socket))


_TRAY = (_tray_group("0008", "0000", "0001", 0), _tray_group("0009", "0002", "0003", 0),
         _tray_group("0018", "0010", "0011", 1), _tray_group("0019", "0012", "0013", 1))

_MANAGEMENT = _direct("0000:29:00.0", "0000:26:01.0")
_ETHERNET = _direct("0000:0a:00.0", "0000:00:1c.0")

HGX_H100 = Server(
    chips.H100, "Supermicro", "SYS-821GE-TNHR", "X13DEG-OAD", "2.3a", "06/27/2025", chips.XEON_8480C, 32, 64, "DDR5",
    4800,
    _HGX, _boot_drives(), _MANAGEMENT, _ETHERNET, "AST2600", switches=_HGX_SWITCHES,
)
HGX_H200 = Server(
    chips.H200, "Dell Inc.", "PowerEdge XE9680", "0Y6GMX", "2.5.4", "04/08/2025", chips.XEON_8480C, 32, 64, "DDR5",
    4800,
    _HGX, _boot_drives(), _MANAGEMENT, _ETHERNET, "iDRAC9", switches=_HGX_SWITCHES,
)
HGX_A100 = Server(
    chips.A100, "NVIDIA", "DGXA100 920-23687-2530-000", "DGXA100", "1.25", "11/24/2023", chips.EPYC_7742, 16, 64,
    "DDR4", 3200,
    _A100_GROUPS, (_direct("0000:22:00.0", "0000:20:03.1"), _direct("0000:23:00.0", "0000:20:03.2")),
    _direct("0000:61:00.0", "0000:60:03.1"), _direct("0000:e2:00.0", "0000:e0:05.1", 1), "AST2500",
    switches=tuple(_direct(f"0000:{bus:02x}:00.0", f"0000:c0:0{bus - 0xC3}.0", 1) for bus in range(0xC4, 0xCA)),
    switch_id=(0x1AF1, 0x13B8),
)
HGX_B200 = Server(
    chips.B200, "Supermicro", "SYS-A21GE-NBRT", "X13DEG-OAD", "2.6", "08/12/2025", chips.XEON_8570, 32, 64, "DDR5",
    5600,
    _HGX, _boot_drives(), _MANAGEMENT, _ETHERNET, "AST2600",
)
GB200_TRAY = Server(
    chips.GB200, "NVIDIA", "GB200 NVL", "P4059", "02.04.12", "09/30/2025", chips.GRACE, 16, 60, "LPDDR5", 8532,
    _TRAY, (_direct("0004:01:00.0", "0004:00:00.0"),), _direct("0006:01:00.0", "0006:00:00.0"),
    _direct("0005:01:00.0", "0005:00:00.0"),
    "AST2600", supplies=0,
)
CPU_HOST = Server(
    None, "Supermicro", "AS-2125HS-TNR", "H13DSH", "1.9", "03/14/2025", chips.EPYC_9354, 24, 32, "DDR5", 4800,
    (), (_direct("0000:01:00.0", "0000:00:01.1"), _direct("0000:02:00.0", "0000:00:01.2")),
    _direct("0000:41:00.0", "0000:40:01.1"), _direct("0000:c1:00.0", "0000:c0:01.1", 1), "AST2600", supplies=2,
)
GPU_SERVERS = (GB200_TRAY, HGX_B200, HGX_H200, HGX_H100, HGX_A100)
