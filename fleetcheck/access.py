"""What a user may and may not read on a node, from the node's own answers, and what would change it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetcheck.nodes import Node
from fleetcheck.readings import Collector
from fleetcheck.records import Answer, Evidence

REASONS = ("absent", "error", "init_code")
"""Keys under which an answer says why it has no value."""

PACKAGES: Mapping[str, str] = {
    "chronyc": "chrony", "ntpq": "ntp", "pmc": "linuxptp", "dmesg": "util-linux", "journalctl": "systemd", "timedatectl": "systemd",
    "ethtool": "ethtool", "mstlink": "mstflint",
    "smartctl": "smartmontools", "nvme": "nvme-cli", "ipmitool": "ipmitool", "lspci": "pciutils", "mlxlink": "mft",
    "ibstat": "infiniband-diags", "systemctl": "systemd", "sshd": "openssh-server", "dmidecode": "dmidecode",
    "nvidia-smi": "nvidia-utils", "curl": "curl", "getent": "libc-bin", "passwd": "passwd", "sinfo": "slurm-client",
    "scontrol": "slurm-client", "docker": "docker-ce-cli", "ctr": "containerd", "nvidia-ctk": "nvidia-container-toolkit",
    "ip": "iproute2", "ss": "iproute2", "lldpcli": "lldpd", "mdadm": "mdadm",
}
EITHER = (frozenset({"chronyc", "timedatectl", "ntpq", "pmc"}),)
"""Programs of which one is enough."""
OPTIONAL = frozenset({"ras-mc-ctl", "mcelog"})
"""Daemons a node may do without: the kernel log tells the same errors, and their check does not apply there."""

_DENIED = re.compile(
    r"permission denied|not permitted|insufficient permissions?|NO_PERMISSION|must be (?:super-?user|root)", re.IGNORECASE)
_NO_PROGRAM = re.compile(r"program not found: (\S+)")
_NO_LIBRARY = re.compile(r"LIBRARY_NOT_FOUND")


@dataclass(frozen=True)
class Gap:
    """A value that this user does not get. lack: permission, program or library; what: the path, program or library."""

    leaf: str
    lack: str
    what: str


@dataclass(frozen=True)
class Access:
    """How much of a collector one node lets this user read. state: full, partly or failed; error: why it failed."""

    collector: str
    state: str
    gaps: tuple[Gap, ...] = ()
    error: str = ""
    fixes: tuple[str, ...] = ()


def accesses(node: Node, collectors: Iterable[Collector], evidence: Evidence) -> list[Access]:
    """How much of each collector that one probe asked could be read."""
    return [_access(node, each, evidence.answers.get(each.name)) for each in collectors]


def _access(node: Node, collector: Collector, answer: Answer | None) -> Access:
    if answer is None or not answer.ok:
        error = answer.error if answer else "gave no answer"
        found = tuple(_gaps([("", error)]))
        fixes = _fixes(node, collector, found) or (_by_hand(collector),)
        return Access(collector.name, "failed", found, error, fixes)
    gaps = tuple(dict.fromkeys(_needed(list(_gaps(_reasons(answer.data))))))
    return Access(collector.name, "partly" if gaps else "full", gaps, "", _fixes(node, collector, gaps))


def _by_hand(collector: Collector) -> str:
    return f"see why on the node; {collector.name} has {collector.seconds:g} s there"


def _reasons(value: Any, leaf: str = "") -> Iterator[tuple[str, str]]:
    """Every (leaf, reason) of an answer; elements of a list are one leaf."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in REASONS and isinstance(inner, str):
                yield (leaf or key), inner
            else:
                yield from _reasons(inner, f"{leaf}.{key}" if leaf else str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _reasons(inner, f"{leaf}[]")


def _gaps(reasons: Iterable[tuple[str, str]]) -> Iterator[Gap]:
    """Those reasons that a user's rights or a package would change; a reason may name several tries."""
    for leaf, reason in reasons:
        for said in reason.split("; "):
            if found := _NO_PROGRAM.search(said):
                yield Gap(leaf, "program", found[1])
            elif _NO_LIBRARY.search(said):
                yield Gap(leaf, "library", "libnvidia-ml.so.1")
            elif _DENIED.search(said):
                yield Gap(leaf, "permission", _what(said))


def _what(said: str) -> str:
    """What was refused: the path or program after the last colon.

    >>> _what("permission denied: /dev/kmsg"), _what("NO_PERMISSION")
    ('/dev/kmsg', 'NVML')
    """
    return said.rpartition(": ")[2] if ": " in said else "NVML" if said.isupper() else said


def _needed(gaps: Sequence[Gap]) -> list[Gap]:
    """Without programs in whose place another one answered."""
    lacking = {gap.what for gap in gaps if gap.lack == "program"}
    spare = OPTIONAL | {program for group in EITHER if group - lacking for program in group}
    return [gap for gap in gaps if gap.lack != "program" or gap.what not in spare]


def _fixes(node: Node, collector: Collector, gaps: Sequence[Gap]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fix for gap in gaps for fix in _fix(node, collector, gap)))


def _fix(node: Node, collector: Collector, gap: Gap) -> list[str]:
    """What to do about one gap; several sentences are alternatives."""
    if gap.lack == "program":
        return [f"install {PACKAGES.get(gap.what, gap.what)} (for {gap.what})"]
    if gap.lack == "library":
        return [f"install the driver's user-space part ({gap.what})"]
    reading = next((each for each in collector.reads if each.concerns(gap.what)), None)
    ways = reading.privilege.split(" or ") if reading else ["root"]
    return [_way(way, node) for way in ways if way != "any user"] or [_way("root", node)]


def _way(way: str, node: Node) -> str:
    """One alternative of a privilege as what to type.

    >>> _way("group systemd-journal", Node("n", "n", "p")), _way("kernel.dmesg_restrict=0", Node("n", "n", "p"))
    ('usermod -aG systemd-journal USER', 'sysctl -w kernel.dmesg_restrict=0')
    """
    user = node.ssh.user or "USER"
    if way.startswith("group "):
        return f"usermod -aG {way.removeprefix('group ')} {user}"
    if "=" in way:
        return f"sysctl -w {way}"
    if node.become:
        through = " ".join(node.become)
        return f"root through {through!r} is refused too: is the node a container, or does a security module forbid it?"
    return ("inventory: become: sudo -n; on the node: "
            f"echo '{user} ALL=(ALL) NOPASSWD: /bin/sh' | sudo tee /etc/sudoers.d/fleetcheck")
