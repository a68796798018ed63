"""The kernel log of a healthy node since boot: loading, links, mounts, and nothing that went wrong."""

from __future__ import annotations

from fleetcheck.sandbox.machine.base import Hca, Interface
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.placement import Place
from fleetcheck.sandbox.machine.rdma import firmware, netdev
from fleetcheck.sandbox.machine.storage import drives

Line = tuple[float, str]
"""Seconds since boot, and the text."""


def lines(node: Node) -> list[str]:
    """Lines with their seconds since boot, in order."""
    parts = [_boot(node), _devices(node), _gpus(node), _filesystems(node)]
    timed = [line for part in parts for line in part]
    return [f"[{seconds:12.6f}] {text}" for seconds, text in sorted(timed, key=lambda one: one[0])]


def _boot(node: Node) -> list[Line]:
    base = node.base
    texts = [
        f"Linux version {base.versions.kernel} (buildd@builder-06) #79-Ubuntu SMP PREEMPT_DYNAMIC",
        f"DMI: {base.server.vendor} {base.server.product}/{base.server.board}, BIOS {base.server.bios_version} "
        f"{base.server.bios_date}",
        f"Memory: {base.memory_bytes // 1024}K available",
        f"smp: Brought up {base.cpus.processor_nodes} nodes, {base.cpus.threads} CPUs",
        "iommu: Default domain type: Passthrough (set via kernel command line)",
    ]
    isa = "x86-64" if base.cpu_isa == "x86_64" else "arm64"
    return [
        *((number * 0.4, text) for number, text in enumerate(texts)),
        (11.204111, f"systemd[1]: Detected architecture {isa}."),
        (11.310224, f"systemd[1]: Hostname set to <{node.name}>."),
        (12.871003, "systemd[1]: Started systemd-journald.service - Journal Service."),
    ]


def _devices(node: Node) -> list[Line]:
    timed = [(3.9 + number / 100, f"nvme {drive.name}: pci function {drive.place.address}")
             for number, drive in enumerate(drives(node))]
    timed += [line for number, hca in enumerate(node.base.hcas) for line in _hca(number / 10, hca)]
    return timed + [(18.220114, _link_up(one, one.place)) for one in node.base.interfaces if one.place]


def _link_up(one: Interface, place: Place) -> str:
    return (f"ice {place.address} {one.name}: NIC Link is up {one.mbits_per_second // 1000} Gbps Full Duplex, "
            "Requested FEC: RS-FEC, Negotiated FEC: RS-FEC, Autoneg Advertised: Off, Autoneg Negotiated: False, "
            "Flow Control: None")


def _hca(later: float, hca: Hca) -> list[Line]:
    found = (5.1 + later, f"mlx5_core {hca.place.address}: firmware version: {firmware(hca)[2]}")
    if not hca.compute:
        return [found]
    up = (f"IPv6: ADDRCONF(NETDEV_CHANGE): {netdev(hca)}: link becomes ready" if hca.link_layer == "InfiniBand"
          else f"mlx5_core {hca.place.address} {netdev(hca)}: Link up")
    return [found, (21.1 + later, up)]


def _gpus(node: Node) -> list[Line]:
    if node.base.gpus is None:
        return []
    release = f"{node.base.cpu_isa}  {node.base.versions.driver}  Release Build"
    return [
        *((13.4 + slot.index / 50, f"nvidia {slot.bus_id}: enabling device (0140 -> 0142)") for slot in node.slots),
        (13.912204, f"NVRM: loading NVIDIA UNIX Open Kernel Module for {release}  (dvs-builder@U22-I3-B03-1)"),
        (14.201993, f"nvidia-modeset: Loading NVIDIA UNIX Open Kernel Mode Setting Driver for {release}"),
        (14.612201, "nvidia-uvm: Loaded the UVM driver, major device number 509."),
    ]


def _filesystems(node: Node) -> list[Line]:
    texts = {"ext4": "EXT4-fs ({0}): mounted filesystem with ordered data mode. Quota mode: none.",
             "xfs": "XFS ({0}): Ending clean mount"}
    disks = [mount for mount in node.base.mounts if mount.kind in texts]
    return [(9.812004 + number, texts[mount.kind].format(mount.source.rpartition("/")[2]))
            for number, mount in enumerate(disks)]
