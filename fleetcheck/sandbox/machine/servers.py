"""What each server around the chips is: board, processors, DIMMs, and where its devices sit on PCI."""

from __future__ import annotations

from dataclasses import dataclass

from fleetcheck.sandbox.machine import chips, processor
from fleetcheck.sandbox.machine.chips import Chip
from fleetcheck.sandbox.machine.placement import Group, Place, direct, switched, tray
from fleetcheck.sandbox.machine.processor import Processor


@dataclass(frozen=True, kw_only=True)
class Server:
    """One kind of server. management: the HCA that no compute traffic uses; compute: one where there is no GPU to be
    near to; switches: NVSwitches that show on PCI."""

    chip: Chip | None = None
    vendor: str
    product: str
    board: str
    bios_version: str
    bios_date: str
    bmc: str = "AST2600"
    processor: Processor
    dimms: int
    dimm_gibibytes: int
    dimm_kind: str
    dimm_mtps: int
    groups: tuple[Group, ...] = ()
    boot_drives: tuple[Place, ...]
    ethernet: Place
    management: Place
    compute: Place | None = None
    switches: tuple[Place, ...] = ()
    switch_id: tuple[int, int] = (0x22A3, 0x1796)
    supplies: int = 6


_BOOT_DRIVES = (direct("0000:01:00.0", "0000:00:01.0"), direct("0000:02:00.0", "0000:00:01.1"))
_ETHERNET, _MANAGEMENT = direct("0000:0a:00.0", "0000:00:1c.0"), direct("0000:29:00.0", "0000:26:01.0")
_HGX = (*(switched(root, 0) for root in (0x15, 0x3D, 0x4C, 0x5B)), *(switched(root, 1) for root in (0x97, 0xBD, 0xCB, 0xD9)))
_NVSWITCHES = tuple(direct(f"0000:{bus:02x}:00.0", f"0000:00:{bus - 2:02x}.0") for bus in (5, 6, 7, 8))

HGX_H100 = Server(
    chip=chips.H100, vendor="Supermicro", product="SYS-821GE-TNHR", board="X13DEG-OAD", bios_version="2.3a",
    bios_date="06/27/2025", processor=processor.XEON_8480C, dimms=32, dimm_gibibytes=64, dimm_kind="DDR5",
    dimm_mtps=4800, groups=_HGX, boot_drives=_BOOT_DRIVES, ethernet=_ETHERNET, management=_MANAGEMENT,
    switches=_NVSWITCHES,
)
HGX_H200 = Server(
    chip=chips.H200, vendor="Dell Inc.", product="PowerEdge XE9680", board="0Y6GMX", bios_version="2.5.4",
    bios_date="04/08/2025", bmc="iDRAC9", processor=processor.XEON_8480C, dimms=32, dimm_gibibytes=64, dimm_kind="DDR5",
    dimm_mtps=4800, groups=_HGX, boot_drives=_BOOT_DRIVES, ethernet=_ETHERNET, management=_MANAGEMENT,
    switches=_NVSWITCHES,
)
HGX_A100 = Server(
    chip=chips.A100, vendor="NVIDIA", product="DGXA100 920-23687-2530-000", board="DGXA100", bios_version="1.25",
    bios_date="11/24/2023", bmc="AST2500", processor=processor.EPYC_7742, dimms=16, dimm_gibibytes=64, dimm_kind="DDR4",
    dimm_mtps=3200,
    groups=(*(switched(root, 0) for root in (0x01, 0x09, 0x41, 0x48)), switched(0x81, 1), switched(0x8A, 1),
            switched(0xB1, 1), switched(0xB8, 1, gpu=5)),
    boot_drives=(direct("0000:22:00.0", "0000:20:03.1"), direct("0000:23:00.0", "0000:20:03.2")),
    ethernet=direct("0000:e2:00.0", "0000:e0:05.1", 1), management=direct("0000:61:00.0", "0000:60:03.1"),
    switches=tuple(direct(f"0000:{bus:02x}:00.0", f"0000:c0:{bus - 0xC3:02x}.0", 1) for bus in range(0xC4, 0xCA)),
    switch_id=(0x1AF1, 0x13B8),
)
HGX_B200 = Server(
    chip=chips.B200, vendor="Supermicro", product="SYS-A21GE-NBRT", board="X13DEG-OAD", bios_version="2.6",
    bios_date="08/12/2025", processor=processor.XEON_8570, dimms=32, dimm_gibibytes=64, dimm_kind="DDR5",
    dimm_mtps=5600, groups=_HGX, boot_drives=_BOOT_DRIVES, ethernet=_ETHERNET, management=_MANAGEMENT,
)
GB200_TRAY = Server(
    chip=chips.GB200, vendor="NVIDIA", product="GB200 NVL", board="P4059", bios_version="02.04.12",
    bios_date="09/30/2025", processor=processor.GRACE, dimms=16, dimm_gibibytes=60, dimm_kind="LPDDR5", dimm_mtps=8532,
    groups=(tray("0008", "0000", "0001", 0), tray("0009", "0002", "0003", 0), tray("0018", "0010", "0011", 1),
            tray("0019", "0012", "0013", 1)),
    boot_drives=(direct("0004:01:00.0", "0004:00:00.0"),), ethernet=direct("0005:01:00.0", "0005:00:00.0"),
    management=direct("0006:01:00.0", "0006:00:00.0"), supplies=0,
)
CPU_HOST = Server(
    vendor="Supermicro", product="AS-2125HS-TNR", board="H13DSH", bios_version="1.9", bios_date="03/14/2025",
    processor=processor.EPYC_9354, dimms=24, dimm_gibibytes=32, dimm_kind="DDR5", dimm_mtps=4800,
    boot_drives=(direct("0000:01:00.0", "0000:00:01.1"), direct("0000:02:00.0", "0000:00:01.2")),
    ethernet=direct("0000:c1:00.0", "0000:c0:01.1", 1), management=direct("0000:41:00.0", "0000:40:01.1"),
    compute=direct("0000:a1:00.0", "0000:a0:01.1"), supplies=2,
)
GPU_SERVERS = (GB200_TRAY, HGX_B200, HGX_H200, HGX_H100, HGX_A100)
"""GB200 before B200, whose name it contains."""
