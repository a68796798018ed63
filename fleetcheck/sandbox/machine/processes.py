"""/proc/PID of the few processes that matter, and /proc/net."""

from __future__ import annotations

from fleetcheck.sandbox.machine.entries import Files
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.software import Service, services

INIT = Service("init", 1, "/sbin/init", "systemd", "system and service manager")
KTHREAD = Service("", 2, "", "kthreadd", "")


def shared_parts(service: Service, folder: str) -> Files:
    """What a process shows that does not depend on the boot time."""
    group = "/init.scope" if service.pid == 1 else f"/system.slice/{service.unit}.service" if service.unit else "/"
    return {
        f"{folder}/comm": f"{service.comm}\n",
        f"{folder}/cmdline": service.command.replace(" ", "\0") + "\0" if service.command else "",
        f"{folder}/cgroup": f"0::{group}\n",
        f"{folder}/status": _status(service),
        f"{folder}/limits": _LIMITS,
        f"{folder}/oom_score_adj": f"{-1000 if service.comm == 'sshd' else 0}\n",
    }


def processes(node: Node) -> Files:
    """/proc/PID of init, one kernel thread and every service, all asleep since minutes after boot."""
    files: Files = {}
    for number, service in enumerate((INIT, KTHREAD, *services(node.base))):
        folder = f"/proc/{service.pid}"
        files |= shared_parts(service, folder)
        files[f"{folder}/stat"] = _stat(service, started_ticks=100 * (2 + number * 3 if service.pid > 2 else 0))
    return files


def _stat(service: Service, started_ticks: int) -> str:
    """As proc(5): state in field 3, parent in 4, start in clock ticks since boot in 22."""
    parent = 0 if service.pid <= 2 else 1
    return (f"{service.pid} ({service.comm}) S {parent} {service.pid} {service.pid} 0 -1 4194560 2410 0 12 0 310 122 0 "
            "0 20 0 "
            f"{1 if service.pid == 2 else 4} 0 {started_ticks} 184221696 4120 18446744073709551615 1 1 0 0 0 0 0 4096 "
            "1260 0 0 0 17 3 0 0 0 0 0\n")


def _status(service: Service) -> str:
    user = "\t".join([str(service.user)] * 4)
    memory = "" if service.pid == 2 else "VmPeak:\t  180216 kB\nVmSize:\t  179904 kB\nVmRSS:\t   16480 kB\n"
    return (f"Name:\t{service.comm}\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t{service.pid}\nPid:\t{service.pid}\n"
            f"PPid:\t{0 if service.pid <= 2 else 1}\n"
            f"TracerPid:\t0\nUid:\t{user}\nGid:\t{user}\nFDSize:\t128\n{memory}Threads:\t4\n"
            "voluntary_ctxt_switches:\t9120\nnonvoluntary_ctxt_switches:\t88\n")


def _limit(name: str, soft: object, hard: object, unit: str) -> str:
    return f"{name:<25} {soft!s:<20} {hard!s:<20} {unit:<10}\n"


_LIMITS = (_limit("Limit", "Soft Limit", "Hard Limit", "Units") + _limit("Max open files", 1_048_576, 1_048_576,
                                                                         "files")
           + _limit("Max processes", 8_255_000, 8_255_000, "processes")
           + _limit("Max locked memory", "unlimited", "unlimited", "bytes"))


def sockets(node: Node) -> Files:
    """/proc/net: listening sockets of the services, the route by the first interface, and what it carried."""
    rows = [_socket(number, port, service.user) for number, (port, service) in enumerate(
        (port, service) for service in services(node.base) for port in service.listens)]
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    first = node.base.interfaces[0]
    return {
        "/proc/1/net/tcp": head + "".join(rows),
        "/proc/1/net/tcp6": head,
        "/proc/1/net/udp": head
        + "    0: 0100007F:0143 00000000:0000 07 00000000:00000000 00:00000000 00000000   114        0 31041 2 "
          "0000000000000000 0\n",
        "/proc/1/net/udp6": head,
        "/proc/1/net/route": "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
                             f"{first}\t00000000\t0100140A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
                             f"{first}\t0000140A\t00000000\t0001\t0\t0\t100\t0000FFFF\t0\t0\t0\n",
        "/proc/1/net/arp": "IP address       HW type     Flags       HW address            Mask     Device\n"
                           f"10.20.0.1        0x1         0x2         00:1c:73:00:00:99     *        {first}\n",
        "/proc/1/net/fib_trie": "",
        "/proc/1/net/sockstat": f"sockets: used 412\nTCP: inuse {len(rows)} orphan 0 tw 3 alloc 40 mem 12\n"
                                "UDP: inuse 6 mem 4\n",
        "/proc/1/net/snmp": "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets "
                            "CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\n"
                            "Tcp: 1 200 120000 -1 48120 51002 210 340 12 91200114 88120044 1902 0 812 0\n",
        "/proc/net": {"link": "self/net"},
    }


def _socket(number: int, port: int, user: int) -> str:
    return (f"{number:>4}: 00000000:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 {user:>5}       "
            f" 0 {30_000 + number} 1 "
            f"0000000000000000 100 0 0 10 0\n")
