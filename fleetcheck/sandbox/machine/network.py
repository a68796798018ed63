"""/sys/class/net of a healthy node."""

from __future__ import annotations

from dataclasses import dataclass

from fleetcheck.sandbox.machine.entries import Files, growing, link, tree
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.pci_function import device_folder
from fleetcheck.sandbox.machine.placement import Place

NET = "/sys/class/net"
ERRORS = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "rx_crc_errors", "rx_fifo_errors", "rx_frame_errors",
          "rx_length_errors", "rx_missed_errors", "rx_over_errors", "rx_nohandler", "tx_aborted_errors",
          "tx_carrier_errors", "tx_fifo_errors", "tx_heartbeat_errors", "tx_window_errors", "collisions", "multicast",
          "rx_compressed", "tx_compressed")
TRAFFIC = {"rx_bytes": 4100, "tx_bytes": 2300, "rx_packets": 21, "tx_packets": 17}
"""What grows on an idle interface, by how much a second."""
FIRST_PORT = 0x40
"""The MAC numbers below it are the HCA ports'."""


def own(node: Node) -> Files:
    """The loopback and the interfaces of the profile."""
    files = _loopback()
    for number, one in enumerate(node.base.interfaces):
        mac = node.identity.mac(FIRST_PORT + number)
        files |= interface(node, Port(one.name, one.place, one.mbits_per_second, one.mtu_bytes, mac, FIRST_PORT + number))
    return files | _traffic_table(node)


def _loopback() -> Files:
    folder = "/sys/devices/virtual/net/lo"
    values = {"operstate": "unknown", "carrier": 1, "mtu": 65536, "address": "00:00:00:00:00:00", "flags": "0x9",
              "type": 772, "ifindex": 1, "carrier_changes": 0, "carrier_up_count": 0, "carrier_down_count": 0}
    counters = dict.fromkeys((*ERRORS, *TRAFFIC), 0)
    return tree(folder, values) | tree(f"{folder}/statistics", counters) | link(f"{NET}/lo", folder)


@dataclass(frozen=True)
class Port:
    """One interface as sysfs shows it; number makes its index."""

    name: str
    place: Place | None
    mbits_per_second: int
    mtu_bytes: int
    address: str
    number: int
    up: bool = True
    infiniband: bool = False


def interface(node: Node, port: Port) -> Files:
    """One interface: up since boot (two carrier changes: down at reset, up), or down with its speed unknown."""
    name, up = port.name, port.up
    folder = f"{device_folder(port.place)}/net/{name}" if port.place else f"/sys/devices/virtual/net/{name}"
    files = tree(folder, {
        "operstate": "up" if up else "down", "carrier": int(up), "mtu": port.mtu_bytes, "address": port.address,
        "type": 32 if port.infiniband else 1, "flags": "0x1003", "carrier_changes": 2 if up else 1,
        "carrier_up_count": int(up), "carrier_down_count": 1, "ifindex": port.number + 2, "tx_queue_len": 1000,
        "speed": port.mbits_per_second if up else -1, "duplex": "full" if up else "unknown", "dormant": 0,
        "link_mode": 0,
    })
    files |= tree(f"{folder}/statistics", {**dict.fromkeys(ERRORS, 0), **_traffic(node, port)})
    files |= link(f"{NET}/{name}", folder)
    return files | link(f"{folder}/device", device_folder(port.place)) if port.place else files


def _traffic(node: Node, port: Port) -> dict[str, object]:
    """Bytes and packets, some more each second on an interface that is up."""
    if not port.up:
        return dict.fromkeys(TRAFFIC, 0)
    start = node.identity.pick(10**8, 10**11, "bytes", port.name)
    return {name: growing("{n}\n", start // (1 if "bytes" in name else 900), rate) for name, rate in TRAFFIC.items()}


def _traffic_table(node: Node) -> Files:
    """/proc/net/dev over the interfaces of the profile."""
    head = ("Inter-|   Receive                                                |  Transmit\n"
            " face |bytes    packets errs drop fifo frame compressed multicast|"
            "bytes    packets errs drop fifo colls carrier compressed\n")
    row = ": 91200114   88120    0    0    0     0          0         0 45120044   61200    0    0    0     0       0          0\n"
    return {"/proc/1/net/dev": head + "".join(f"{name:>6}{row}" for name in ("lo", *(one.name for one in node.base.interfaces)))}
