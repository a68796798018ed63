"""/sys/class/net of a healthy node."""

from __future__ import annotations

from fleetcheck.sandbox.machine.entries import Files, growing, link, tree
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.pci_function import device_folder
from fleetcheck.sandbox.machine.placement import Place

NET = "/sys/class/net"
ERRORS = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "rx_crc_errors", "rx_fifo_errors", "rx_frame_errors",
           "rx_length_errors",
           "rx_missed_errors", "rx_over_errors", "rx_nohandler", "tx_aborted_errors", "tx_carrier_errors",
           "tx_fifo_errors", "tx_heartbeat_errors",
           "tx_window_errors", "collisions", "multicast", "rx_compressed", "tx_compressed")
FIRST_PORT = 0x40
"""The MAC numbers below it are the HCA ports'."""


def own(node: Node) -> Files:
    """The loopback and the interfaces of the profile."""
    base = node.base
    files = _loopback()
    for number, name in enumerate(base.interfaces):
        place = Place(f"{base.server.ethernet.address[:-1]}{number % 8}", base.server.ethernet.bridges,
                      base.server.ethernet.socket)
        files |= interface(node, name, FIRST_PORT + number, base.interface_mbits_per_second, base.interface_mtu, place,
                           "ice")
    return files | _route_files(node)


def _loopback() -> Files:
    folder = "/sys/devices/virtual/net/lo"
    values = {"operstate": "unknown", "carrier": 1, "mtu": 65536, "address": "00:00:00:00:00:00", "flags": "0x9",
              "type": 772, "ifindex": 1,
              "carrier_changes": 0, "carrier_up_count": 0, "carrier_down_count": 0}
    return tree(folder, values) | tree(f"{folder}/statistics", dict.fromkeys((*ERRORS, "rx_bytes", "tx_bytes",
                                                                              "rx_packets", "tx_packets"),
                                                                             0)) | link(f"{NET}/lo", folder)


def interface(
    node: Node, name: str, port: int, mbits_per_second: int, mtu: int, place: Place, driver: str, up: bool = True,
    infiniband: bool = False,
) -> Files:
    """One interface: up since boot (two carrier changes: down at reset, up), or down with its speed unknown."""
    folder = f"/sys/devices/virtual/net/{name}" if name.startswith("bond") else f"{device_folder(place)}/net/{name}"
    address = node.identity.mac(port)
    if infiniband:
        address = f"00:00:10:29:fe:80:00:00:00:00:00:00:{':'.join(_pairs(node.identity.guid(port)))}"
    files = tree(folder, {
        "operstate": "up" if up else "down", "carrier": int(up), "mtu": mtu, "address": address,
        "type": 32 if infiniband else 1, "flags": "0x1003",
        "carrier_changes": 2 if up else 1, "carrier_up_count": int(up), "carrier_down_count": 1, "ifindex": port + 2,
        "tx_queue_len": 1000,
        "speed": mbits_per_second if up else -1, "duplex": "full" if up else "unknown", "dormant": 0, "link_mode": 0,
    })
    start = node.identity.pick(10**8, 10**11, "bytes", name) if up else 0
    rate = {"rx_bytes": 4100, "tx_bytes": 2300, "rx_packets": 21, "tx_packets": 17}
    traffic = {key: growing("{n}\n", start // (1 if "bytes" in key else 900), per_second) if up else 0 for key,
               per_second in rate.items()}
    files |= tree(f"{folder}/statistics", {**dict.fromkeys(ERRORS, 0), **traffic}) | link(f"{NET}/{name}", folder)
    return files if name.startswith("bond") else files | link(f"{folder}/device", device_folder(place))


def _pairs(guid: str) -> list[str]:
    digits = guid.replace(":", "")
    return [digits[i:i + 2] for i in range(0, 16, 2)]


def _route_files(node: Node) -> Files:
    """/proc/net/dev over the interfaces of the profile."""
    rows = "".join(f"{name:>6}: 91200114   88120    0    0    0     0          0         0 45120044   61200    0    0  "
                   "  0     0       0          0\n"
                   for name in ("lo", *node.base.interfaces))
    return {"/proc/1/net/dev": "Inter-|   Receive                                                |  Transmit\n"
                               " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets "
                               "errs drop fifo colls carrier compressed\n" + rows}
