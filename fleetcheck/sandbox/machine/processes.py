"""/proc/PID of the few processes that matter, and /proc/net."""

from __future__ import annotations

from fleetcheck.sandbox.machine.entries import Files
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.software import Service, services

INIT = Service("init", 1, "/sbin/init", "systemd", "system and service manager")
KTHREAD = Service("", 2, "", "kthreadd", "")
PF_KTHREAD = 0x208040
USER_FLAGS = 0x400100


def _same_at_any_time(service: Service, folder: str) -> Files:
    """What a process shows that does not depend on the boot time."""
    group = "/init.scope" if service.pid == 1 else f"/system.slice/{service.unit}.service" if service.unit else "/"
    return {
        f"{folder}/comm": f"{service.comm}\n", f"{folder}/cgroup": f"0::{group}\n", f"{folder}/status": _status(service),
        f"{folder}/cmdline": service.command.replace(" ", "\0") + "\0" if service.command else "",
        f"{folder}/limits": _LIMITS, f"{folder}/oom_score_adj": f"{-1000 if service.comm == 'sshd' else 0}\n",
    }


def processes(node: Node) -> Files:
    """/proc/PID of init, one kernel thread and every service, all asleep since minutes after boot."""
    files: Files = {}
    for number, service in enumerate((INIT, KTHREAD, *services(node.base))):
        folder = f"/proc/{service.pid}"
        files |= _same_at_any_time(service, folder)
        files[f"{folder}/stat"] = _stat(service, started_ticks=100 * (2 + number * 3 if service.pid > 2 else 0))
    return files


def _stat(service: Service, started_ticks: int) -> str:
    """As proc(5): state in field 3, parent in 4, flags in 9, start in clock ticks since boot in 22."""
    parent, pid = 0 if service.pid <= 2 else 1, service.pid
    flags, threads = (PF_KTHREAD, 1) if pid == KTHREAD.pid else (USER_FLAGS, 4)
    return (f"{pid} ({service.comm}) S {parent} {pid} {pid} 0 -1 {flags} 2410 0 12 0 310 122 0 0 20 0 {threads} 0 "
            f"{started_ticks} 184221696 4120 18446744073709551615 1 1 0 0 0 0 0 4096 1260 0 0 0 17 3 0 0 0 0 0\n")


def _status(service: Service) -> str:
    user = "\t".join([str(service.user)] * 4)
    memory = "" if service.pid == KTHREAD.pid else "VmPeak:\t  180216 kB\nVmSize:\t  179904 kB\nVmRSS:\t   16480 kB\n"
    return (f"Name:\t{service.comm}\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t{service.pid}\nPid:\t{service.pid}\n"
            f"PPid:\t{0 if service.pid <= 2 else 1}\nTracerPid:\t0\nUid:\t{user}\nGid:\t{user}\nFDSize:\t128\n{memory}"
            "Threads:\t4\nvoluntary_ctxt_switches:\t9120\nnonvoluntary_ctxt_switches:\t88\n")


def _limit(name: str, soft: object, hard: object, unit: str) -> str:
    return f"{name:<25} {soft!s:<20} {hard!s:<20} {unit:<10}\n"


_LIMITS = "".join((
    _limit("Limit", "Soft Limit", "Hard Limit", "Units"), _limit("Max open files", 1_048_576, 1_048_576, "files"),
    _limit("Max processes", 8_255_000, 8_255_000, "processes"),
    _limit("Max locked memory", "unlimited", "unlimited", "bytes"),
))
_HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
_CHRONY = ("    0: 0100007F:0143 00000000:0000 07 00000000:00000000 00:00000000 00000000   114        0 31041 2 "
           "0000000000000000 0\n")
_RESOLVER = ("  40: 3500007F:0035 00000000:0000 0A 00000000:00000000 00:00000000 00000000   101        0 30040 1 "
             "0000000000000000 100 0 0 10 0\n")
"""systemd-resolved's stub at 127.0.0.53."""
_TCP = ("Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs "
        "RetransSegs InErrs OutRsts InCsumErrors\n"
        "Tcp: 1 200 120000 -1 48120 51002 210 340 12 91200114 88120044 1902 0 812 0\n")


def sockets(node: Node) -> Files:
    """/proc/net: listening sockets of the services, and the route by the first interface."""
    listening = [(port, service.user) for service in services(node.base) for port in service.listens]
    first = node.base.interfaces[0].name
    return {
        "/proc/1/net/tcp": _HEAD + "".join(_socket(number, *one) for number, one in enumerate(listening)) + _RESOLVER,
        "/proc/1/net/tcp6": _HEAD, "/proc/1/net/udp": _HEAD + _CHRONY, "/proc/1/net/udp6": _HEAD,
        "/proc/1/net/route": "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
                             f"{first}\t00000000\t0100140A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
                             f"{first}\t0000140A\t00000000\t0001\t0\t0\t100\t0000FFFF\t0\t0\t0\n",
        "/proc/1/net/arp": "IP address       HW type     Flags       HW address            Mask     Device\n"
                           f"10.20.0.1        0x1         0x2         00:1c:73:00:00:99     *        {first}\n",
        "/proc/1/net/sockstat": f"sockets: used 412\nTCP: inuse {len(listening)} orphan 0 tw 3 alloc 40 mem 12\n",
        "/proc/1/net/snmp": _TCP, "/proc/net": {"link": "self/net"},
    }


def _socket(number: int, port: int, user: int) -> str:
    return (f"{number:>4}: 00000000:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 {user:>5}        0 "
            f"{30_000 + number} 1 0000000000000000 100 0 0 10 0\n")
