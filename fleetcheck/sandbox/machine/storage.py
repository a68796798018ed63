"""Drives of a healthy node: /sys/class/nvme, /sys/block, and what os.statvfs tells of each mount."""

from __future__ import annotations

from dataclasses import dataclass

from fleetcheck.sandbox.machine.base import Base
from fleetcheck.sandbox.machine.entries import Files, link, tree
from fleetcheck.sandbox.machine.mounts import Mount
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.pci import numa_node
from fleetcheck.sandbox.machine.pci_function import device_folder, drive_places
from fleetcheck.sandbox.machine.placement import Place

BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Drive:
    """One NVMe drive: nvme0, nvme1, …; the boot drives first."""

    name: str
    place: Place
    model: str
    serial: str
    firmware: str
    size_bytes: int


def drives(node: Node) -> list[Drive]:
    """All drives of a node."""
    boot = len(node.base.server.boot_drives)
    return [_drive(node, number, place, number < boot) for number, place in enumerate(drive_places(node.base))]


def _drive(node: Node, number: int, place: Place, boot: bool) -> Drive:
    serial = node.identity.part_serial("nvme", number, "S64GNE")
    if boot:
        return Drive(f"nvme{number}", place, "SAMSUNG MZ1L21T9HCLS-00A07", serial, "GDC7302Q", 1_920_383_410_176)
    return Drive(f"nvme{number}", place, "SAMSUNG MZQL23T8HCLS-00A07", serial, "GDC5602Q", 3_840_755_982_336)


def own(node: Node) -> Files:
    """The drives in sysfs, and the arrays made of them."""
    files: Files = {}
    for drive in drives(node):
        files |= _files(node.base, drive)
    files |= _array("md0", "raid1", len(node.base.server.boot_drives), 1_919_708_823_552)
    data = len(node.base.data_drives)
    return files | _array("md1", "raid0", data, data * 3_840_623_509_504) if data else files


def _array(name: str, level: str, members: int, size_bytes: int) -> Files:
    folder = f"/sys/devices/virtual/block/{name}"
    return link(f"/sys/block/{name}", folder) | tree(folder, {
        "size": size_bytes // 512, "ro": 0, "removable": 0, "queue/rotational": 0, "md/array_state": "clean",
        "md/degraded": 0, "md/level": level, "md/raid_disks": members,
    })


def _files(base: Base, drive: Drive) -> Files:
    above = device_folder(drive.place)
    folder, disk = f"{above}/nvme/{drive.name}", f"{above}/nvme/{drive.name}/{drive.name}n1"
    files = tree(folder, {
        "model": f"{drive.model:<40}", "serial": f"{drive.serial:<20}", "firmware_rev": f"{drive.firmware:<8}",
        "state": "live", "address": drive.place.address, "transport": "pcie", "cntrltype": "io", "queue_count": 129,
        "numa_node": numa_node(base, drive.place),
        "subsysnqn": f"nqn.1994-11.com.samsung:nvme:PM9A3:2.5-inch:{drive.serial}",
    })
    files |= tree(disk, {
        "size": drive.size_bytes // 512, "ro": 0, "removable": 0, "queue/rotational": 0,
        "queue/logical_block_size": 512, "queue/scheduler": "[none] mq-deadline",
        "stat": "  812044 1204 61200114 90122 2204110 88120 190044120 402210 0 312044 492332 0 0 0 0 0 0",
    })
    files |= link(f"/sys/class/nvme/{drive.name}", folder) | link(f"/sys/block/{drive.name}n1", disk)
    return files | link(f"{folder}/device", above)


def statvfs(base: Base) -> dict[str, dict[str, int]]:
    """MOUNT → the names of os.statvfs, for every mount of a machine."""
    return {mount.mount: _statvfs(mount) for mount in base.mounts}


def _statvfs(mount: Mount) -> dict[str, int]:
    blocks = mount.size_bytes // BLOCK_BYTES
    free = blocks * (100 - mount.used_percent) // 100
    inodes_free = mount.inodes * (100 - mount.used_percent // 4) // 100
    return {"f_bsize": BLOCK_BYTES, "f_frsize": BLOCK_BYTES, "f_blocks": blocks, "f_bfree": free,
            "f_bavail": free - blocks // 200 if blocks else 0, "f_files": mount.inodes, "f_ffree": inodes_free,
            "f_favail": inodes_free, "f_flag": int(mount.options.startswith("ro")), "f_namemax": 255}


def mount_points(base: Base) -> Files:
    """The folders that things are mounted on, and those that programs expect."""
    usual = ("/tmp", "/var/tmp", "/var/log", "/run/lock", "/sys/fs/pstore", "/dev/shm", "/home", "/opt", "/var/crash")
    return {path: {"folder": True} for path in (*usual, *(mount.mount for mount in base.mounts))
            if path not in ("/", "/sys", "/proc", "/dev", "/run")}
