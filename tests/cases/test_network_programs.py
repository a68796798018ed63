"""What mlxlink, ethtool, ping, smpquery, timedatectl and NCCL really print, by their sources: names, spellings, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.facts import cables, clock
from fleetcheck.facts import network as links
from fleetcheck.node.collectors import mlxlink, modules, neighbours, network, reachability
from fleetcheck.node.host import Host
from fleetcheck.node.ranks.log import Log
from fleetcheck.sandbox import neighbours as stand_in

LINK = {
    "Operational Info": {"State": "Active", "Physical state": "LinkUp", "Speed": "IB-NDR", "Width": "4x", "FEC": "Standard_RS-FEC - (544,514)"},
    "Supported Info": {"Enabled Link Speed": {"mask": "0x00000080", "values": ["NDR"]}},
    "Troubleshooting Info": {"Status Opcode": "0", "Group Opcode": "N/A", "Recommendation": "No issue was observed"},
    "Tool Information": {"Firmware Version": "28.43.2026", "amBER Version": "3.6", "MFT Version": "mft 4.30.1-8"},
    "Module Info": {"Temperature [C]": "51 [-5..75]", "Rx Power Current [dBm]": "1.886,1.989,2.281,1.976 [-10.41..6]",
                    "Cable Technology": "1310 nm EML", "Cable Type": "Optical Module (separated)", "Vendor Serial Number": "MT1"},
    "Physical Counters and BER Info": {
        "Time Since Last Clear [Min]": "14381.4", "Symbol Errors": "0", "Symbol BER": "15E-255", "Effective Physical Errors": "2",
        "Effective Physical BER": "6E-15", "Raw Physical Errors Per Lane": {"values": ["12", "0", "3", "9"]}, "Raw Physical BER": "1E-9",
        "Link Down Counter": "1", "Link Error Recovery Counter": "0"},
}


def said(stdout="", status=0, stderr=""):
    return {"stdout": stdout, "status": status, "stderr": stderr}


def document(**sections):
    return json.dumps({"result": {"output": {**LINK, **sections}}, "status": {"code": 0, "message": "success"}}, indent=3) + "\n\n"


def cable(text, status=0):
    return cables.Cable(mlxlink.port(said(text, status)), "mlx5_0", {"uptime_seconds": 10**6})


@pytest.fixture
def node(tmp_path):
    """Writes programs of a node that print a text and end with a status."""
    (tmp_path / "usr/bin").mkdir(parents=True)

    def programs(**given):
        for name, (stdout, stderr, status) in given.items():
            path = tmp_path / "usr/bin" / name
            path.write_text(f"#!/bin/sh\necho \"$@\" >> {tmp_path}/{name}.calls\ncat <<'E'\n{stdout}\nE\ncat >&2 <<'E'\n{stderr}\nE\nexit {status}\n")
            path.chmod(0o755)
        return Host(str(tmp_path))

    return programs


def calls(host, program):
    return Path(host.path(f"/{program}.calls")).read_text().split("\n")[:-1]


@pytest.mark.parametrize("before", ["", "Warning: Failed to set one or more PCI domains\n"])
def test_mlxlinks_document_is_read_with_a_warning_before_it_or_not(before):
    found = cable(before + document())
    assert (0, 2, 1) == (found.link.status_opcode, found.link.get("effective_errors", int), found.link.link_downs)
    assert found.trouble is None and not found.module.copper and found.module.has_range("receive_dbm")


def test_one_section_that_mlxlink_could_not_have_costs_no_other():
    text = json.dumps({"result": {"output": {name: rows for name, rows in LINK.items() if name != "Module Info"}},
                       "status": {"code": 1, "message": "Showing module info raised the following exception: Bad status"}})
    found = mlxlink.port(said(text, 1))
    assert (0, 1) == (found["link"]["status_opcode"], found["link"]["link_downs"])
    assert {"absent": "mlxlink told no Module Info"} == found["module"]


def test_an_mlxlink_that_was_killed_tells_nothing():
    assert "mlxlink ended with -11" in mlxlink.port(said(document(), -11))["link"]["absent"]


def test_no_information_about_a_port_is_neither_trouble_nor_health():
    with pytest.raises(NotMeasured, match=r"no information about the port \(status 1023\)"):
        _ = cable(document(**{"Troubleshooting Info": {"Status Opcode": "1023", "Recommendation": "Info not available"}})).trouble


def test_an_unplugged_cable_is_trouble():
    rows = {"Status Opcode": "1024", "Group Opcode": "MNG FW", "Recommendation": "Cable is unplugged"}
    assert "Cable is unplugged (status 1024)" in str(cable(document(**{"Troubleshooting Info": rows})).trouble)


@pytest.mark.parametrize(("technology", "kind", "copper"), [
    ("850 nm VCSEL", "Active cable (active copper / optics)", False), ("1310 nm EML", "Optical Module (separated)", False),
    ("Copper cable, passive, unequalized", "Passive copper cable", True), ("N/A", "Passive copper cable", True),
    ("Copper cable with linear active equalizers", "Active cable (active copper / optics)", True), ("N/A", "Twisted Pair", True),
    ("N/A", "Active cable (active copper / optics)", False), ("N/A", "Unidentified", False),
])
def test_an_active_optical_cable_is_not_taken_for_copper(technology, kind, copper):
    assert copper is cable(document(**{"Module Info": {"Cable Technology": technology, "Cable Type": kind}})).module.copper


def test_a_module_without_thermometer_or_limits_is_not_held_against_0():
    rows = {"Temperature [C]": "0 [0..0]", "Rx Power Current [dBm]": "1.2,1.1 [0..0]"}
    module = cable(document(**{"Module Info": rows})).module
    assert "does not measure it" in str(module.raw["temperature_celsius"]) and not module.has_range("receive_dbm")
    with pytest.raises(NotMeasured):
        module.outside("receive_dbm")


def test_a_node_with_mstflint_alone_is_asked_by_mstlink(node):
    host = node(mstlink=(document(), "", 0))
    assert 0 == mlxlink.port(modules.asked(host, "mlx5_0", "0000:18:00.0"))["link"]["status_opcode"]
    assert ["-d mlx5_0 -m -c --json"] == calls(host, "mstlink")
    assert {"absent": "program not found: mlxlink"} == modules.asked(Host("/nonexistent"), "mlx5_0", "")


@pytest.mark.parametrize(("name", "pci", "target"), [
    ("mlx5_0", "0000:18:00.0", "mlx5_0"), ("ibp24s0", "0000:18:00.0", "0000:18:00.0"), ("mlx5_bond_0", "0000:18:00.0", "0000:18:00.0"),
    ("rocep24s0", {"absent": "no such file"}, "rocep24s0"),
])
def test_a_device_that_udev_renamed_is_asked_for_by_its_place(node, name, pci, target):
    host = node(mlxlink=(document(), "", 0))
    modules.asked(host, name, pci)
    assert [f"-d {target} -m -c --json"] == calls(host, "mlxlink")


@pytest.mark.parametrize("words", ["no stats available", "Cannot get stats strings information: Operation not supported"])
def test_a_driver_without_statistics_has_no_counters(node, words):
    assert {} == network.driver_counters(node(ethtool=("", words, 94)), "eth0")


@pytest.mark.parametrize("name", ["rx_fcs_err_frames", "rx_pcs_symbol_err", "rx_fec_uncorrectable_blocks", "port.rx_crc_errors", "rx_crc_errors.nic",
                                  "rx_crc_errors_phy", "rx_crc_errors"])
def test_uncorrected_errors_are_known_by_the_names_of_each_driver(node, name):
    text = "NIC statistics:\n     [0]: rx_ucast_packets: 81\n     %s: %d\n     rx_fec_corrected_blocks: 9\n     tx_ucast_frames: 7"
    samples = [network.driver_counters(node(ethtool=(text % (name, total), "", 0)), "eth0") for total in (4, 16)]
    data = {"driver_counters": {"first": {"eth0": samples[0]}, "second": {"eth0": samples[1]}, "elapsed_seconds": 2.0}}
    assert 6.0 == links.Link({}, "eth0", data).phy_errors_per_second()


@pytest.mark.parametrize(("stdout", "stderr", "status", "passes"), [
    ("1508 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.2 ms", "", 0, True),
    ("From 127.0.0.1 icmp_seq=1 Frag needed and DF set (mtu = 1500)", "", 1, False),
    ("From ::1 icmp_seq=1 Packet too big: mtu=1280", "", 1, False),
    ("2 packets transmitted, 0 received, +2 errors", "ping: local error: message too long, mtu=1500", 1, False),
    ("2 packets transmitted, 0 received, +2 errors", "ping: local error: Message too long, mtu=1500", 1, False),
    ("2 packets transmitted, 0 received, 100% packet loss, time 1015ms", "", 1, {"absent": "127.0.0.1 answers no ping, of whatever size: allow ICMP to it"}),
    ("", "ping: socket: Operation not permitted", 2, {"absent": "ping: ping: socket: Operation not permitted"}),
])
def test_an_endpoint_that_answers_no_ping_is_not_called_narrow(node, stdout, stderr, status, passes):
    assert passes == reachability.passes(node(ping=(stdout, stderr, status)), {"host": "127.0.0.1", "mtu_bytes": 9000})


def test_what_only_loses_large_packets_is_narrow(tmp_path):
    ping = tmp_path / "usr/bin/ping"
    ping.parent.mkdir(parents=True)
    ping.write_text('#!/bin/sh\ncase "$*" in *-s*) echo "0 received"; exit 1;; esac\necho "64 bytes from 127.0.0.1: icmp_seq=1"\n')
    ping.chmod(0o755)
    assert reachability.passes(Host(str(tmp_path)), {"host": "127.0.0.1", "mtu_bytes": 9000}) is False


def test_a_query_that_nobody_answers_complains_on_standard_output():
    answer = stand_in.queries("mlx5_0", None)["smpquery nodeinfo mlx5_0"]
    assert (255, True) == (answer["exit"], answer["stdout"].startswith("smpquery: iberror: failed: operation"))
    assert "smpquery ended with 255: ibwarn:" in neighbours.fields(said(answer["stdout"], 255, answer["stderr"]))["absent"]
    assert "node info query failed" in neighbours.fields(said(answer["stdout"], 255))["absent"]


@pytest.mark.parametrize("line", ["Node Description:..........MF0;leaf1:MQM9700/U1", "Node Description:...Quantum Mellanox Technologies and 3",
                                  "Node Description:.a name of thirty-two letters and 2"])
def test_a_node_description_is_read_whatever_dots_fill_the_line(line):
    assert line.split(":", 1)[1].lstrip(".") == neighbours.fields(said(line + "\n"))["Node Description"]


@pytest.mark.parametrize(("offset", "seconds"), [
    ("+22us", 22e-6), ("-1.250ms", -0.00125), ("-1min 2.500s", -62.5), ("+0", 0.0), ("+1w 2d", 777600.0), ("-1month 1w 3d", -3493800.0),
    ("+1y 2month", 36817200.0),
])
def test_an_offset_of_timesyncd_is_read_in_all_units_of_systemd(offset, seconds):
    assert pytest.approx(seconds) == clock.timesyncd_offset_seconds(f"    Precision: 1us (-25)\n       Offset: {offset}\n        Delay: 1.2ms\n")


@pytest.mark.parametrize("offset", ["", "n/a", "+", "0x", "+5 parsecs"])
def test_an_offset_that_is_none_is_not_measured(offset):
    with pytest.raises(NotMeasured):
        clock.timesyncd_offset_seconds(f"       Offset: {offset}\n")


def test_a_warning_of_nccl_that_comes_again_with_another_time_is_kept_once():
    log = Log()
    for second in range(10, 60):
        log.take(f"[2026-03-01 10:00:{second}] n1:70:71 [3] transport/net_ib.cc:1187 NCCL WARN Got completion from peer\n".encode())
    assert 1 == len(log.transport())
    assert log.transport()[0].startswith("[2026-03-01 10:00:10] n1:70:71 [3]")
