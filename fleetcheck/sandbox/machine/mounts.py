"""What is mounted on a healthy node: the profile's filesystems, and those that every such node has."""

from __future__ import annotations

from dataclasses import dataclass

from fleetcheck.profile import FilesystemProfile, Profile
from fleetcheck.sandbox.machine.placement import Place
from fleetcheck.sandbox.machine.servers import Server

Source = tuple[str, str, int, int]
"""What is mounted, its options, its size in bytes and its inodes."""


@dataclass(frozen=True)
class Mount:
    """One mounted filesystem of a healthy node."""

    mount: str
    source: str
    kind: str
    options: str
    size_bytes: int
    inodes: int
    used_percent: int
    profile: bool = True                               # False: a mount every Linux has, such as /sys


def data_drives(server: Server) -> tuple[Place, ...]:
    """The NVMe drives near the GPUs; the boot drives are apart."""
    return tuple(group.nvme for group in server.groups)


def mounts(profile: Profile, server: Server) -> tuple[Mount, ...]:
    """Everything mounted; a profile that names no root gets one."""
    own = [_mount(filesystem, server) for filesystem in profile.filesystems]
    if not any(mount.mount == "/" for mount in own):
        own.insert(0, Mount("/", "/dev/md0", "ext4", "rw,relatime", 1_888_000_000_000, 117_000_000, 9, False))
    return (*sorted(own, key=lambda mount: mount.mount), *_system_mounts(profile))


def _mount(filesystem: FilesystemProfile, server: Server) -> Mount:
    """A mount of the profile: root on the mirrored boot drives, other local paths on the data drives."""
    kind = filesystem.types[0] if filesystem.types else ("ext4" if filesystem.mount in ("/", "/boot") else "xfs")
    options = ("rw" if filesystem.writable else "ro") + ",relatime"
    free = max(filesystem.free_percent.low or 0, filesystem.inodes_free_percent.low or 0
               if filesystem.inodes_free_percent else 0)
    source, options, size, inodes = _SOURCES.get(kind, _local)(filesystem.mount, options, server)
    return Mount(filesystem.mount, source, kind, options, size, inodes, min(31, int((100 - free) / 2)))


def _local(mount: str, options: str, server: Server) -> Source:
    if mount == "/":
        return "/dev/md0", options, 1_888_000_000_000, 117_000_000
    if mount in ("/boot", "/var", "/home", "/tmp") or not server.groups:
        return f"/dev/mapper/vg0-{mount.strip('/').replace('/', '-')}", options, 1_888_000_000_000, 117_000_000
    return "/dev/md1", options, len(data_drives(server)) * 3_840_000_000_000, 1_500_000_000


def _nfs(mount: str, options: str, server: Server) -> Source:
    detail = "vers=4.2,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,nconnect=8,timeo=600,retrans=2,sec=sys"
    return f"10.20.255.10:/export{mount}", f"{options},{detail},addr=10.20.255.10", 420 * 10**12, 4 * 10**9


def _lustre(mount: str, options: str, server: Server) -> Source:
    return f"10.30.255.1@o2ib:10.30.255.2@o2ib:{mount}", f"{options},flock,lazystatfs", 2400 * 10**12, 9 * 10**9


def _memory(mount: str, options: str, server: Server) -> Source:
    size = server.dimms * (server.dimm_gibibytes << 30) // 2
    return "tmpfs", options.replace("relatime", "nosuid,nodev"), size, size // 8192


_SOURCES = {"nfs": _nfs, "nfs4": _nfs, "lustre": _lustre, "tmpfs": _memory}


def _system_mounts(profile: Profile) -> tuple[Mount, ...]:
    """The mounts every such node has besides; those the profile names are left to it."""
    named = {filesystem.mount for filesystem in profile.filesystems}
    usual = [
        ("/sys", "sysfs", "sysfs", "rw,nosuid,nodev,noexec,relatime"),
        ("/proc", "proc", "proc", "rw,nosuid,nodev,noexec,relatime"),
        ("/dev", "udev", "devtmpfs", "rw,nosuid,relatime,mode=755,inode64"),
        ("/run", "tmpfs", "tmpfs", "rw,nosuid,nodev,noexec,relatime,mode=755,inode64"),
        ("/dev/shm", "tmpfs", "tmpfs", "rw,nosuid,nodev,inode64"),
        ("/sys/fs/cgroup", "cgroup2", "cgroup2", "rw,nosuid,nodev,noexec,relatime,nsdelegate"),
        ("/sys/fs/pstore", "pstore", "pstore", "rw,nosuid,nodev,noexec,relatime"),
    ]
    sizes = {"tmpfs": 64 << 30, "devtmpfs": 64 << 30}
    return tuple(Mount(mount, source, kind, options, sizes.get(kind, 0), sizes.get(kind, 0) // 65536, 1, False)
                 for mount, source, kind, options in usual if mount not in named)
