"""What each GPU generation shows that no profile states: ids, clocks, thresholds, idle figures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """One GPU product. Temperatures in °C, clocks in MHz, power in W; NVML constants as in nvml.h."""

    family: str                                        # what the product name contains
    pci_device: int
    pci_subsystem: int
    compute: tuple[int, int]
    architecture: int
    part_number: str
    inforom: str
    inforom_oem: str
    inforom_ecc: str
    vbios: str
    memory_bytes: int
    reserved_bytes: int
    bar1_bytes: int
    clocks: tuple[int, int, int, int]                  # highest graphics, SM, memory, video
    idle_clocks: tuple[int, int, int, int]
    default_graphics_clock: int
    idle_celsius: int
    idle_watts: int
    least_watts: int
    watts: int
    shutdown_celsius: int
    slowdown_celsius: int
    memory_max_celsius: int
    gpu_max_celsius: int
    pcie_generation: int
    nvlink_version: int
    links: int
    link_mbytes_per_second: int
    slowdown_tlimit: int | None = None                 # None: reports absolute temperatures only
    shutdown_tlimit: int = -8
    bit_error_rate: int | None = None                  # fields 220 and 222, packed; None: not supported
    nvlink_domain: bool = False                        # an NVL72 rack: cluster UUID and clique
    coherent: bool = False                             # GPU memory is a NUMA node of the CPU


A100 = Chip(
    family="A100", pci_device=0x20B2, pci_subsystem=0x1463, compute=(8, 0), architecture=7,
    part_number="692-2G506-0212-002", inforom="G506.0212.00.02", inforom_oem="2.0", inforom_ecc="6.16",
    vbios="92.00.9E.00.01", memory_bytes=81920 << 20, reserved_bytes=602 << 20, bar1_bytes=131072 << 20,
    clocks=(1410, 1410, 1593, 1290), idle_clocks=(210, 210, 1593, 585), default_graphics_clock=1275, idle_celsius=31,
    idle_watts=62, least_watts=100, watts=400, shutdown_celsius=92, slowdown_celsius=89, memory_max_celsius=95,
    gpu_max_celsius=85, pcie_generation=4, nvlink_version=3, links=12, link_mbytes_per_second=25_781,
)
H100 = Chip(
    family="H100", pci_device=0x2330, pci_subsystem=0x16C1, compute=(9, 0), architecture=9,
    part_number="692-2G520-0200-000", inforom="G520.0200.00.05", inforom_oem="2.1", inforom_ecc="7.16",
    vbios="96.00.89.00.01", memory_bytes=81559 << 20, reserved_bytes=551 << 20, bar1_bytes=131072 << 20,
    clocks=(1980, 1980, 2619, 1545), idle_clocks=(345, 345, 2619, 765), default_graphics_clock=1980, idle_celsius=30,
    idle_watts=70, least_watts=200, watts=700, shutdown_celsius=95, slowdown_celsius=89, memory_max_celsius=95,
    gpu_max_celsius=87, pcie_generation=5, nvlink_version=4, links=18, link_mbytes_per_second=26_562,
    slowdown_tlimit=-2, bit_error_rate=15 << 8 | 255,
)
H200 = Chip(
    family="H200", pci_device=0x2335, pci_subsystem=0x18BE, compute=(9, 0), architecture=9,
    part_number="692-2G520-0280-000", inforom="G520.0280.00.02", inforom_oem="2.1", inforom_ecc="7.16",
    vbios="96.00.BC.00.01", memory_bytes=143771 << 20, reserved_bytes=622 << 20, bar1_bytes=262144 << 20,
    clocks=(1980, 1980, 3201, 1545), idle_clocks=(345, 345, 3201, 765), default_graphics_clock=1980, idle_celsius=29,
    idle_watts=76, least_watts=200, watts=700, shutdown_celsius=95, slowdown_celsius=89, memory_max_celsius=95,
    gpu_max_celsius=87, pcie_generation=5, nvlink_version=4, links=18, link_mbytes_per_second=26_562,
    slowdown_tlimit=-2, bit_error_rate=15 << 8 | 255,
)
B200 = Chip(
    family="B200", pci_device=0x2901, pci_subsystem=0x1999, compute=(10, 0), architecture=10,
    part_number="692-2G525-0220-000", inforom="G525.0220.00.03", inforom_oem="2.1", inforom_ecc="7.16",
    vbios="97.00.9A.00.0F", memory_bytes=183359 << 20, reserved_bytes=633 << 20, bar1_bytes=262144 << 20,
    clocks=(1965, 1965, 3996, 1695), idle_clocks=(120, 120, 3996, 600), default_graphics_clock=1965, idle_celsius=30,
    idle_watts=112, least_watts=200, watts=1000, shutdown_celsius=95, slowdown_celsius=90, memory_max_celsius=95,
    gpu_max_celsius=87, pcie_generation=5, nvlink_version=5, links=18, link_mbytes_per_second=53_125,
    slowdown_tlimit=-3, bit_error_rate=15 << 8 | 238,
)
GB200 = Chip(
    family="GB200", pci_device=0x2941, pci_subsystem=0x20D5, compute=(10, 0), architecture=10,
    part_number="699-2G548-0201-800", inforom="G548.0201.00.06", inforom_oem="2.1", inforom_ecc="7.16",
    vbios="97.00.B9.00.76", memory_bytes=189471 << 20, reserved_bytes=648 << 20, bar1_bytes=262144 << 20,
    clocks=(2062, 2062, 3996, 1695), idle_clocks=(120, 120, 3996, 600), default_graphics_clock=2062, idle_celsius=32,
    idle_watts=118, least_watts=200, watts=1200, shutdown_celsius=95, slowdown_celsius=89, memory_max_celsius=95,
    gpu_max_celsius=87, pcie_generation=5, nvlink_version=5, links=18, link_mbytes_per_second=53_125,
    slowdown_tlimit=-2, bit_error_rate=15 << 8 | 238, nvlink_domain=True, coherent=True,
)
