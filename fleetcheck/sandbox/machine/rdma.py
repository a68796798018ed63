"""/sys/class/infiniband of a healthy node: compute ports up, the management port down by design."""

from __future__ import annotations

from fleetcheck.sandbox.machine.base import Hca
from fleetcheck.sandbox.machine.entries import Files, growing, link, tree
from fleetcheck.sandbox.machine.network import Port, interface
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.pci_function import CONNECTX_6, CONNECTX_6_DX, CONNECTX_7, device_folder, hca_device

_SPEED_NAMES = {50: "2X EDR", 100: "4X EDR", 200: "4X HDR", 400: "4X NDR", 800: "4X XDR"}

_ERRORS = ("symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors",
           "port_rcv_switch_relay_errors", "port_xmit_discards", "port_xmit_constraint_errors",
           "port_rcv_constraint_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors",
           "VL15_dropped")
_HARDWARE_ERRORS = ("local_ack_timeout_err", "rnr_nak_retry_err", "packet_seq_err", "out_of_buffer", "out_of_sequence",
                    "req_cqe_error", "req_cqe_flush_error", "req_remote_access_errors", "req_remote_invalid_request",
                    "resp_cqe_error", "resp_cqe_flush_error", "resp_local_length_error", "resp_remote_access_errors",
                    "duplicate_request", "implied_nak_seq_err", "roce_adp_retrans", "roce_adp_retrans_to",
                    "roce_slow_restart", "roce_slow_restart_cnps", "roce_slow_restart_trans", "rx_icrc_encapsulated",
                    "rx_write_requests", "rx_read_requests", "rx_atomic_requests", "np_cnp_sent",
                    "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored")
_TRAFFIC = ("port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets", "unicast_xmit_packets",
            "unicast_rcv_packets", "multicast_xmit_packets", "multicast_rcv_packets", "port_xmit_wait")


def rate(hca: Hca) -> str:
    """As sysfs tells a port's rate; a port that is down has the slowest."""
    if not hca.compute:
        return "40 Gb/sec (4X QDR)"
    return f"{hca.gbits_per_second} Gb/sec ({_SPEED_NAMES.get(hca.gbits_per_second, '4X NDR')})"


def lid(node: Node, port: int) -> int:
    """The port's local identifier, unique in a fleet of some thousand nodes; 0 on Ethernet."""
    if node.base.hcas[port].link_layer != "InfiniBand":
        return 0
    return 1 + (node.identity.number * len(node.base.hcas) + port) % 48_000


def firmware(hca: Hca) -> tuple[str, str, str]:
    """HCA type, PSID and firmware version."""
    return {
        CONNECTX_6: ("MT4123", "MT_0000000223", "20.43.2566"), CONNECTX_7: ("MT4129", "MT_0000000838", "28.43.2566"),
        CONNECTX_6_DX: ("MT4125", "MT_0000000359", "22.43.2566"),
    }[hca_device(hca)]


def netdev(hca: Hca) -> str:
    """The network interface of a port, named by its PCI place."""
    domain, bus, _ = hca.place.address.split(":")
    port = "" if hca.place.address.endswith(".0") else "f1"
    place = f"p{int(bus, 16)}s0{port}" if domain == "0000" else f"P{int(domain, 16)}p{int(bus, 16)}s0{port}"
    return f"ib{place}" if hca.link_layer == "InfiniBand" else f"en{place}np0"


def own(node: Node) -> Files:
    """Every mlx5 device with its port and network interface."""
    files: Files = {}
    for port, hca in enumerate(node.base.hcas):
        files |= _device(node, port, hca) | _interface(node, port, hca)
    return files


def _device(node: Node, port: int, hca: Hca) -> Files:
    kind, board, version = firmware(hca)
    above = device_folder(hca.place)
    folder = f"{above}/infiniband/{hca.name}"
    guid = node.identity.guid(port + 1)
    files = tree(folder, {"fw_ver": version, "board_id": board, "hca_type": kind, "hw_rev": "0", "node_type": "1: CA",
                          "node_guid": guid, "sys_image_guid": guid, "node_desc": f"{node.name} {hca.name}"})
    files |= link(f"/sys/class/infiniband/{hca.name}", folder) | link(f"{folder}/device", above)
    return files | _port(node, port, hca, f"{folder}/ports/1")


def _port(node: Node, port: int, hca: Hca, folder: str) -> Files:
    state, physical = ("4: ACTIVE", "5: LinkUp") if hca.compute else ("1: DOWN", "3: Disabled")
    infiniband = hca.link_layer == "InfiniBand"
    guid = node.identity.guid(port + 1)
    files = tree(folder, {
        "state": state, "phys_state": physical, "rate": rate(hca), "link_layer": hca.link_layer,
        "lid": f"0x{lid(node, port):x}", "sm_lid": "0x1" if infiniband else "0x0", "sm_sl": 0, "lid_mask_count": 0,
        "cap_mask": "0xa751e848" if infiniband else "0x00010000", "gids/0": f"fe80:0000:0000:0000:{guid}",
        "gids/1": "0000:0000:0000:0000:0000:0000:0000:0000", "pkeys/0": "0xffff", "gid_attrs/ndevs/0": netdev(hca),
        "gid_attrs/types/0": "IB/RoCE v1" if infiniband else "RoCE v2",
    })
    # A port that trained twice after the boot has lost its link once: a total that means nothing.
    counters = dict.fromkeys(_ERRORS, 0) | {"link_downed": int(infiniband and hca.compute and port % 4 == 1)}
    files |= tree(f"{folder}/counters", {**counters, **_traffic(node, port, hca)})
    return files | tree(f"{folder}/hw_counters", {**dict.fromkeys(_HARDWARE_ERRORS, 0), "lifespan": 10})


def _traffic(node: Node, port: int, hca: Hca) -> dict[str, object]:
    """What the port carried; some more each second on a port that is up."""
    if not hca.compute:
        return dict.fromkeys(_TRAFFIC, 0)
    start = node.identity.pick(10**9, 10**11, "traffic", port)
    return {name: growing("{n}\n", start // place, 40) for place, name in enumerate(_TRAFFIC, 1)}


def _interface(node: Node, port: int, hca: Hca) -> Files:
    infiniband = hca.link_layer == "InfiniBand"
    address = node.identity.mac(port + 1)
    if infiniband:
        digits = node.identity.guid(port + 1).replace(":", "")
        address = "00:00:10:29:fe:80:00:00:00:00:00:00:" + ":".join(digits[i:i + 2] for i in range(0, 16, 2))
    mtu = 4092 if infiniband else 9000
    return interface(node, Port(netdev(hca), hca.place, hca.gbits_per_second * 1000, mtu, address, port + 1, hca.compute, infiniband))
