"""Runs on the node: what is mounted, what fstab wants mounted, and the room on each mount that the profile names.

A mount that does not answer costs its own deadline and nobody else's: all are asked at the same time.
"""

import re
import threading
from typing import Any, Dict, List

from fleetcheck.node.host import Host, HostTimeout, absent

READS = (
    ("/proc/mounts", "any user"),
    ("/etc/fstab", "any user"),
    ("statvfs of every mount named, of network mounts and of disks in fstab", "any user"),
)

DEADLINE_SECONDS = 5.0
NOWHERE = ("none", "swap", "ignore")
REMOTE = frozenset((
    "nfs", "nfs4", "lustre", "ceph", "beegfs", "beegfs_nodev", "gpfs", "cifs", "smb3", "wekafs", "panfs", "pvfs2", "fuse.glusterfs",
    "fuse.juicefs", "fuse.ceph",
))
LOCAL = frozenset(("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "jfs"))
OCTAL = re.compile(r"\\([0-7]{3})")


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{mounts, fstab, room: {mount: statvfs numbers}}."""
    mounts, fstab = entries(host, "/proc/mounts"), entries(host, "/etc/fstab")
    named = list(settings.get("mounts", ()))
    return {
        "mounts": mounts, "fstab": fstab, "room": rooms(host, sorted(set(named + remote(mounts) + disks(mounts, fstab)))),
        "remote": remote(mounts), "disks": disks(mounts, fstab),
    }


def remote(mounts: Any) -> List[str]:
    """Everything served over a network: that is where handles go stale."""
    return [row["mount"] for row in mounts if row["type"] in REMOTE] if isinstance(mounts, list) else []


def disks(mounts: Any, fstab: Any) -> List[str]:
    """The mounted drives that fstab names: they should stay writable and not fill up."""
    if not isinstance(mounts, list) or not isinstance(fstab, list):
        return []
    wanted = {row["mount"] for row in fstab if "ro" not in row["options"] and not row["mount"].startswith("/boot")}
    return [row["mount"] for row in mounts if row["type"] in LOCAL and row["mount"] in wanted]


def entries(host: Host, path: str) -> Any:
    """[{source, mount, type, options}] of a file in fstab's format; absent when a line is none of it."""
    said = host.read_or_absent(path, 8 << 20)
    if isinstance(said, dict):
        return said
    rows = [line.split() for line in said.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    rows = [row + ["defaults"] if len(row) == 3 else row for row in rows]
    broken = [row for row in rows if len(row) < 4 or not (row[1].startswith("/") or row[1] in NOWHERE)]
    if broken:
        return {"absent": "not a line of %s: %.80r" % (path, " ".join(broken[0]))}
    return [{"source": unescaped(row[0]), "mount": unescaped(row[1]), "type": row[2], "options": row[3].split(",")} for row in rows]


def unescaped(word: str) -> str:
    """Spaces and tabs are written in octal."""
    return OCTAL.sub(lambda found: chr(int(found.group(1), 8)), word)


def rooms(host: Host, mounts: List[str]) -> Dict[str, Any]:
    """{mount: numbers} of all, each asked in a thread of its own."""
    answers: Dict[str, Any] = {}
    threads = [threading.Thread(target=ask, args=(host, mount, answers), daemon=True) for mount in mounts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_SECONDS + 2)
    return {
        mount: answers.get(mount, {"absent": "no answer within %g s: %s" % (DEADLINE_SECONDS + 2, mount)})
        for mount in mounts
    }


def ask(host: Host, mount: str, answers: Dict[str, Any]) -> None:
    """statvfs in base units; a mount that hangs or answers with an error is itself the finding, so both are told apart."""
    try:
        said = host.statvfs(mount, DEADLINE_SECONDS)
    except HostTimeout:
        answers[mount] = {"hung_seconds": DEADLINE_SECONDS}
    except OSError as error:
        answers[mount] = {"error": absent(error)["absent"], "errno": error.errno}
    else:
        answers[mount] = {
            "total_bytes": said.f_blocks * said.f_frsize,
            "free_bytes": said.f_bfree * said.f_frsize,
            "available_bytes": said.f_bavail * said.f_frsize,
            "inodes": said.f_files,
            "inodes_available": said.f_favail,
            "flags": said.f_flag,
        }
