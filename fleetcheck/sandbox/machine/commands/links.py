"""ibstat, ethtool, mlxlink and ip, over the same ports as /sys/class."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fleetcheck.sandbox.machine.base import Hca
from fleetcheck.sandbox.machine.commands.answers import Answers, fails, rows, says, spelled
from fleetcheck.sandbox.machine.entries import growing
from fleetcheck.sandbox.machine.network import ERRORS
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.rdma import firmware, lid, netdev, rate


@dataclass(frozen=True)
class _Interface:
    """One network interface, whether the profile's own or an HCA's."""

    name: str
    address: str
    driver: str
    firmware: str
    up: bool
    mbits_per_second: int
    mtu_bytes: int


def commands(node: Node) -> Answers:
    """Compute ports up and clean, the management port down."""
    answers = _rdma(node) if node.base.hcas else {}
    for one in _interfaces(node):
        answers |= _ethtool(one)
    return answers | _ip(node)


def _interfaces(node: Node) -> list[_Interface]:
    own = [_Interface(one.name, one.place.address if one.place else "", "ice", "4.60 0x8001f8a6 1.3682.0", True,
                      one.mbits_per_second, one.mtu_bytes) for one in node.base.interfaces]
    return own + [_Interface(netdev(hca), hca.place.address, "mlx5_core", "{2} ({1})".format(*firmware(hca)), hca.compute,
                             hca.gbits_per_second * 1000, 4092 if hca.link_layer == "InfiniBand" else 9000)
                  for hca in node.base.hcas]


def _rdma(node: Node) -> Answers:
    hcas = list(enumerate(node.base.hcas))
    adapters = {hca.name: _adapter(node, port, hca) for port, hca in hcas}
    status = {hca.name: _status(node, port, hca) for port, hca in hcas}
    mapped = "".join(f"{hca.name} port 1 ==> {netdev(hca)} ({'Up' if hca.compute else 'Down'})\n" for _, hca in hcas)
    answers: Answers = {
        "ibstat": says("".join(adapters.values())), "ibstat -l": says("".join(f"{name}\n" for name in adapters)),
        "ibstatus": says("\n".join(status.values())),
        "ibdev2netdev": says(mapped),
        "ibv_devices": says("    device                 node GUID\n    ------              ----------------\n"
                            + "".join(
            f"    {hca.name:<16}    {node.identity.guid(port + 1).replace(':', '')}\n" for port, hca in hcas)),
        "mlxlink": fails("-E- Device name is missing\n"), "ofed_info -s": says("MLNX_OFED_LINUX-24.10-1.1.4.0:\n"),
    }
    for port, hca in hcas:
        answers |= {f"ibstat {hca.name}": says(adapters[hca.name]), f"ibstatus {hca.name}": says(status[hca.name]),
                    **_mlxlink(node, port, hca)}
    return answers


def _state(hca: Hca) -> tuple[str, str]:
    return ("Active", "LinkUp") if hca.compute else ("Down", "Disabled")


def _adapter(node: Node, port: int, hca: Hca) -> str:
    kind, _, version = firmware(hca)
    guid = "0x" + node.identity.guid(port + 1).replace(":", "")
    state, physical = _state(hca)
    infiniband = hca.link_layer == "InfiniBand"
    return (f"CA '{hca.name}'\n\tCA type: {kind}\n\tNumber of ports: 1\n\tFirmware version: {version}\n"
            f"\tHardware version: 0\n\tNode GUID: {guid}\n"
            f"\tSystem image GUID: {guid}\n\tPort 1:\n\t\tState: {state}\n\t\tPhysical state: {physical}\n"
            f"\t\tRate: {rate(hca).partition(' ')[0]}\n"
            f"\t\tBase lid: {lid(node, port)}\n\t\tLMC: 0\n\t\tSM lid: {int(infiniband)}\n"
            f"\t\tCapability mask: 0x{'a751e848' if infiniband else '00010000'}\n"
            f"\t\tPort GUID: {guid}\n\t\tLink layer: {hca.link_layer}\n")


def _status(node: Node, port: int, hca: Hca) -> str:
    state, physical = ("4: ACTIVE", "5: LinkUp") if hca.compute else ("1: DOWN", "3: Disabled")
    infiniband = hca.link_layer == "InfiniBand"
    return (f"Infiniband device '{hca.name}' port 1 status:\n\tdefault gid:\t "
            f"fe80:0000:0000:0000:{node.identity.guid(port + 1)}\n\tbase lid:\t 0x{lid(node, port):x}\n"
            f"\tsm lid:\t\t 0x{int(infiniband)}\n\tstate:\t\t {state}\n\tphys state:\t {physical}\n"
            f"\trate:\t\t {rate(hca)}\n\tlink_layer:\t {hca.link_layer}\n")


def _sections(node: Node, port: int, hca: Hca) -> dict[str, dict[str, object]]:
    version: dict[str, object] = {"Firmware Version": firmware(hca)[2], "amBER Version": "3.6", "MFT Version": "mft 4.30.1-8"}
    return {"Operational Info": _operational(hca), "Troubleshooting Info": _troubleshooting(hca), "Tool Information": version,
            "Physical Counters and BER Info": _physical(node, hca.compute), "Module Info": _module(node, port, hca.compute)}


def _mlxlink(node: Node, port: int, hca: Hca) -> Answers:
    """One port by mlxlink: in sections of text, and as the document of ``--json``, where every value is text or, of lanes, a list of it."""
    sections = _sections(node, port, hca)
    text = "".join(f"\n{title}\n{'-' * len(title)}\n{rows(values, width=35)}" for title, values in sections.items())
    output = {title: {name: _json(name, str(value)) for name, value in values.items()} for title, values in sections.items()}
    document = {"result": {"output": output}, "status": {"code": 0, "message": "success"}}
    return {f"mlxlink {hca.name}": says(text), f"mlxlink --json {hca.name}": says(json.dumps(document, indent=1) + "\n")}


def _json(name: str, value: str) -> object:
    return {"values": value.split(",")} if name.endswith("Per Lane") else value


def _operational(hca: Hca) -> dict[str, object]:
    if not hca.compute:
        return {"State": "Disable", "Physical state": "Disabled", "Speed": "N/A", "Width": "N/A", "FEC": "N/A"}
    speed = rate(hca).partition("(4X ")[2].rstrip(")")
    return {"State": "Active", "Physical state": "LinkUp", "Width": "4x", "Loopback Mode": "No Loopback",
            "Speed": f"IB-{speed}" if hca.link_layer == "InfiniBand" else speed, "Auto Negotiation": "ON",
            "FEC": "Interleaved_Standard_RS_FEC_PLR - (544,514)"}


def _troubleshooting(hca: Hca) -> dict[str, object]:
    if hca.compute:
        return {"Status Opcode": 0, "Group Opcode": "N/A", "Recommendation": "No issue was observed"}
    return {"Status Opcode": 1, "Group Opcode": "PHY FW", "Recommendation": "The port is closed by command"}


def _physical(node: Node, up: bool) -> dict[str, object]:
    """Raw errors are what error correction is for; none is left after it. A port that is down has the same rows, without values."""
    told: dict[str, object] = {
        "Time Since Last Clear [Min]": f"{node.moment.uptime / 60:.1f}", "Effective Physical Errors": 0,
        "Effective Physical BER": "15E-255", "Raw Physical Errors Per Lane": "812,604,911,733",
        "Raw Physical BER": "4E-10", "Symbol Errors": 0, "Symbol BER": "15E-255", "Link Down Counter": 0,
        "Link Error Recovery Counter": 0}
    return told if up else dict.fromkeys(told, "N/A")


def _module(node: Node, port: int, plugged: bool) -> dict[str, object]:
    told: dict[str, object] = {
        "Identifier": "OSFP", "Compliance": "800GBASE-DR8", "Cable Technology": "850 nm VCSEL",
        "Cable Type": "Optical Module (separated)", "Vendor Name": "NVIDIA", "Vendor Part Number": "MMS4X00-NS400",
        "Vendor Serial Number": node.identity.part_serial("cable", port, "MT"), "Temperature [C]": "47 [-5..75]",
        "Rx Power Current [dBm]": "1.2,1.0,1.4,0.9 [-10.41..6]", "Tx Power Current [dBm]": "1.8,1.7,1.9,1.6 [-7..6]",
    }
    return told if plugged else dict.fromkeys(told, "N/A")


def _ethtool(one: _Interface) -> Answers:
    speed, duplex = (f"{one.mbits_per_second}Mb/s", "Full") if one.up else ("Unknown!", "Unknown! (255)")
    settings = (f"Settings for {one.name}:\n\tSupported ports: [ FIBRE ]\n\tSpeed: {speed}\n\tDuplex: {duplex}\n"
                f"\tAuto-negotiation: on\n\tPort: FIBRE\n\tLink detected: {'yes' if one.up else 'no'}\n")
    driver = rows({"driver": one.driver, "version": "6.8.0", "firmware-version": one.firmware, "bus-info": one.address})
    return {
        f"ethtool {one.name}": says(settings), f"ethtool -i {one.name}": says(driver),
        f"ethtool -S {one.name}": says(_statistics(one.driver, one.up)),
        f"ethtool -m {one.name}": says(_MODULE) if one.up else fails("netlink error: Invalid argument\n"),
    }


_MODULE = (
    "\tIdentifier                                : 0x18 (QSFP-DD Double Density 8X Pluggable Transceiver)\n"
    "\tVendor name                               : NVIDIA\n"
    "\tModule temperature                        : 47.10 degrees C / 116.78 degrees F\n"
    "\tModule temperature high alarm             : Off\n"
    "\tLaser rx power high alarm   (Channel 1)   : Off\n"
    "\tLaser rx power low alarm    (Channel 1)   : Off\n"
    "\tLaser rx power low warning  (Channel 1)   : Off\n"
    "\tModule temperature high alarm threshold   : 80.00 degrees C / 176.00 degrees F\n"
)
_PHYSICAL = ("rx_crc_errors_phy", "rx_symbol_err_phy", "rx_discards_phy", "tx_discards_phy", "link_down_events_phy",
             "rx_pcs_symbol_err_phy", "rx_err_lane_0_phy")
_OF_ICE = ("rx_errors.nic", "rx_dropped.nic", "rx_crc_errors.nic", "illegal_bytes.nic", "mac_local_faults.nic", "mac_remote_faults.nic")


def _statistics(driver: str, up: bool) -> dict[str, Any] | str:
    """Error counters at rest by the driver's names; corrected bits rise on a PAM4 link, which is what FEC is for."""
    if driver == "ice":
        return "NIC statistics:\n" + "".join(f"     {name}: 0\n" for name in (*ERRORS, *_OF_ICE))
    text = "NIC statistics:\n" + "".join(f"     {name}: 0\n" for name in (*ERRORS, "rx_out_of_buffer", *_PHYSICAL))
    if not up:
        return text
    return growing(text + "     rx_corrected_bits_phy: {n}\n", 17_750_739, 310)


def _ip(node: Node) -> Answers:
    first, address = node.base.interfaces[0].name, node.identity.address
    route = (f"default via 10.20.0.1 dev {first} proto static metric 100\n"
             f"10.20.0.0/16 dev {first} proto kernel scope link src {address}\n")
    links = "".join(
        f"{number}: {one.name}: <BROADCAST,MULTICAST{',UP,LOWER_UP' if one.up else ''}> mtu {one.mtu_bytes} "
        f"state {'UP' if one.up else 'DOWN'} mode DEFAULT\n" for number, one in enumerate(_interfaces(node), 2))
    shown = f"2: {first}    inet {address}/16 brd 10.20.255.255 scope global {first}\n"
    return {
        **spelled(("ip route", "ip r"), says(route)), **spelled(("ip addr", "ip address", "ip a"), says(shown)),
        "ip link": says("1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 state UNKNOWN mode DEFAULT\n" + links), "ip": says(""),
    }
