"""systemctl, ps, ss and other programs that tell what runs on the node."""

from __future__ import annotations

from fleetcheck.sandbox.machine.commands.answers import Answers, fails, rows, says, spelled
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.software import Service, services

ABSENT_UNIT = "LoadState=not-found\nActiveState=inactive\nSubState=dead\nUnitFileState=\nResult=success\nNRestarts=0\n"


def commands(node: Node) -> Answers:
    """Every service is active since boot, none has failed."""
    answers = {
        "systemctl is-active": fails("", 3, "inactive\n"), "systemctl is-enabled": fails("", 1, "disabled\n"),
        "systemctl is-failed": fails("", 1, "inactive\n"),
        "systemctl show": says(ABSENT_UNIT), "systemctl status": fails("Unit could not be found.\n", 4),
        "systemctl is-system-running": says("running\n"), "systemctl": says(""), "ss": says(_sockets(node)),
        "ps": says(_processes(node)),
        **spelled(("systemctl --failed", "systemctl --state=failed"),
                  says("  UNIT LOAD ACTIVE SUB DESCRIPTION\n\n0 loaded units listed.\n")),
        **spelled(("systemctl --failed --no-legend", "systemctl --no-legend --state=failed",
                   "systemctl --failed --plain --no-legend"), says("")),
    }
    for number, service in enumerate(services(node.base)):
        for unit in _spellings(service):
            answers |= _unit(node, service, unit, number)
    return answers


def _spellings(service: Service) -> list[str]:
    names = [service.unit] + (["sshd"] if service.unit == "ssh" else []) + (["chrony"] if service.unit == "chronyd"
                                                                            else [])
    return [spelling for name in names for spelling in (name, f"{name}.service")]


def _unit(node: Node, service: Service, unit: str, number: int) -> Answers:
    since = node.moment.since_boot(14 + number).strftime("%a %Y-%m-%d %H:%M:%S UTC")
    shown = rows({"Id": f"{service.unit}.service", "Description": service.description, "LoadState": "loaded",
                  "ActiveState": "active", "SubState": "running", "UnitFileState": "enabled", "Result": "success",
                  "NRestarts": 0, "MainPID": service.pid, "ExecMainStatus": 0, "ActiveEnterTimestamp": since,
                  "LimitMEMLOCK": "infinity", "LimitNOFILE": 1_048_576}, "=")
    status = (f"● {service.unit}.service - {service.description}\n     Loaded: loaded "
              f"(/usr/lib/systemd/system/{service.unit}.service; enabled; preset: enabled)\n"
              f"     Active: active (running) since {since}; {node.moment.uptime // 86_400} days ago\n"
              f"   Main PID: {service.pid} ({service.comm})\n")
    return {f"systemctl is-active {unit}": says("active\n"), f"systemctl is-enabled {unit}": says("enabled\n"),
            f"systemctl is-failed {unit}": fails("", 1, "active\n"), f"systemctl show {unit}": says(shown),
            f"systemctl status {unit}": says(status)}


def _sockets(node: Node) -> str:
    lines = [f"LISTEN 0      4096         0.0.0.0:{port:<10} 0.0.0.0:*    "
             f"users:((\"{service.comm}\",pid={service.pid},fd=3))\n"
             for service in services(node.base) for port in service.listens]
    resolver = "LISTEN 0      4096   127.0.0.53%lo:53         0.0.0.0:*    users:((\"systemd-resolve\",pid=911,fd=14))\n"
    return "State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process\n" + "".join(lines) + resolver


def _processes(node: Node) -> str:
    lines = [f"{service.pid:>7} ?        00:00:12 {service.comm}\n" for service in services(node.base)]
    return "    PID TTY          TIME CMD\n      1 ?        00:00:41 systemd\n" + "".join(lines)
