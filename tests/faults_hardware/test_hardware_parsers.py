"""What programs print on odd days: cut short, in another language, with N/A, ERR!, negative or impossible numbers, other columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.facts.drives import UNREPORTED, Health
from fleetcheck.facts.drives import build as build_drives
from fleetcheck.facts.management import Management
from fleetcheck.node import program
from fleetcheck.node.collectors import bmc, counted, dimms, drives, mdstat, mlxlink, modules, sel
from fleetcheck.profiles import load_profile

ODD = ["N/A", "ERR!", "[Unknown Error]", "", None, -1, "-1", 1 << 64, "18446744073709551615", 2.5, True, [], "zwölf", "1.234.567"]


def said(stdout="", status=0, stderr=""):
    return {"stdout": stdout, "status": status, "stderr": stderr}


def is_absent(value):
    return isinstance(value, dict) and set(value) == {"absent"} and bool(value["absent"])


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_a_count_that_is_none_is_absent(value):
    assert is_absent(counted.whole(value, "media_errors"))


@pytest.mark.parametrize(("value", "expected"), [(0, 0), ("12", 12), ("812,604,911", 812604911), ({"value": 3}, 3), (3.0, 3)])
def test_counts_are_read_in_every_notation_in_use(value, expected):
    assert expected == counted.whole(value, "media_errors")


@pytest.mark.parametrize("stdout", ["", "{", "[]", "null", "3", '{"smartctl": ', "smartctl 7.4: Permission denied", "\ufffd\ufffd"])
@pytest.mark.parametrize("status", [0, 1, 2, -9])
def test_a_smart_answer_that_is_no_document_is_absent(stdout, status):
    assert is_absent(drives.smartctl(said(stdout, status), "/dev/nvme0"))


def test_smartctl_that_could_not_open_the_drive_says_why():
    document = {"smartctl": {"messages": [{"string": "/dev/nvme0: Permission denied", "severity": "error"}]}}
    answer = drives.smartctl(said(json.dumps(document), 2), "/dev/nvme0")
    assert "smartctl /dev/nvme0 ended with 2: /dev/nvme0: Permission denied" == answer["absent"]


@pytest.mark.parametrize("status", [0, 4, 8, 16, 32, 64, 128, 248])
def test_a_smart_status_about_the_drive_is_an_answer(status):
    assert "absent" not in drives.smartctl(said('{"smart_status": {"passed": false}}', status), "/dev/nvme0")


@pytest.mark.parametrize(("name", "value"), [
    (name, value) for name in ("critical_warning", "percentage_used", "available_spare", "available_spare_threshold", "media_errors", "temperature")
    for value in ODD if name != "temperature" or value not in (-1, "-1")])
def test_an_odd_smart_value_costs_only_itself(name, value):
    log = {"critical_warning": 0, "temperature": 35, "available_spare": 100, "available_spare_threshold": 10, "percentage_used": 2, "media_errors": 0}
    found = drives.nvme_log({**log, name: value}, {"smart_status": {"passed": True}})
    absent = {key for key, each in found.items() if is_absent(each)} - {"unsafe_shutdowns", "power_on_hours"}
    ours = {"available_spare": "available_spare_percent", "available_spare_threshold": "spare_threshold_percent", "temperature": "temperature_celsius"}
    assert {ours.get(name, name)} == absent


@pytest.mark.parametrize("log", [None, [], "N/A", 3])
def test_no_health_log_is_not_a_healthy_drive(log):
    health = Health(drives.nvme_log(log, {}), "health")
    with pytest.raises(NotMeasured):
        assert not health.warnings


def test_nvme_cli_tells_kelvin_and_other_names():
    found = drives.kernel_log({"critical_warning": {"value": 0}, "temperature": 308, "avail_spare": 100, "spare_thresh": 10, "percent_used": 3,
                               "media_errors": 0})
    assert (35, 100, 10, 3, True) == tuple(found[name] for name in (
        "temperature_celsius", "available_spare_percent", "spare_threshold_percent", "percentage_used", "passed"))


def test_nvme_cli_on_json_c_writes_its_wide_counters_with_a_point():
    found = drives.kernel_log({"critical_warning": 0, "temperature": 308, "avail_spare": 100, "spare_thresh": 10, "percent_used": 3,
                               "media_errors": 2.0, "power_on_hours": 6726.0, "unsafe_shutdowns": 0.0})
    assert (2, 6726, 0) == (found["media_errors"], found["power_on_hours"], found["unsafe_shutdowns"])


@pytest.mark.parametrize("transport", ["tcp", "rdma", "fc", "loop", "pcie"])
def test_a_drive_on_the_network_is_none_of_the_nodes(transport):
    data = {"nvme": {"nvme0": {"transport": transport, "state": "live"}}, "disks": {}}
    found = build_drives(data, load_profile("cpu-host", Path("fleet.yaml")), None)
    assert (transport == "pcie") == (1 == found.nvme_count)


@pytest.mark.parametrize(("said", "percent"), [
    ({"endurance_used": {"current_percent": 3}}, 3), ({"scsi_percentage_used_endurance_indicator": 20}, 20), ({}, None)])
def test_wear_has_one_name_by_kind_and_version(said, percent):
    assert percent == drives.worn(said)


def test_a_virtual_disk_without_smart_does_not_assess_itself():
    virtual = {"model_name": "QEMU HARDDISK", "smart_support": {"available": False}}
    assert UNREPORTED in drives.unassessed(virtual)["absent"]
    assert UNREPORTED not in drives.unassessed({"smart_support": {"available": True, "enabled": False}})["absent"]


@pytest.mark.parametrize("text", [
    "", "md0 : active raid1 a[0] b[1]", "Personalities : [raid1]\nmd0 : active raid1 nvme0n1p2[0]",
    "Personnalités : [raid1]\nunused devices: <none>\n", "garbage\x00"])
def test_an_mdstat_cut_short_is_absent(text):
    assert is_absent(mdstat.arrays(text))


@pytest.mark.parametrize(("array", "leaf"), [
    ("md0 : aktiv raid1 a[0] b[1]\n      9 blocks [2/2] [UU]\n", "activity"),
    ("md0 : active raid1 a b\n      9 blocks [2/2] [UU]\n", "activity"),
    ("md0 : active raid1 a[0] b[1]\n      9 blocks [2/2] [U_]\n", "shape"),
    ("md0 : active raid1 a[0] b[1]\n      9 blocks [3/2] [UU]\n", "shape"),
    ("md0 : active raid1 a[0] b[1]\n      9 blo\n", "shape")])
def test_an_array_that_cannot_be_read_has_no_shape(array, leaf):
    found = mdstat.arrays(f"Personalities : [raid1]\n{array}unused devices: <none>\n")
    assert is_absent(found[0][leaf])


VROC = ("Personalities : [raid1]\nmd126 : active raid1 nvme1n1[1] nvme0n1[0]\n      1875374080 blocks super external:{by}md127/0 [2/2] [UU]\n\n"
        "md127 : inactive nvme1n1[1](S) nvme0n1[0](S)\n      10402 blocks super external:imsm\n\nunused devices: <none>\n")


@pytest.mark.parametrize("by", ["/", "-"])
def test_a_container_of_volumes_is_no_array(by):
    assert [("md126", "active", "UU")] == [(each["name"], each["activity"], each["shape"]) for each in mdstat.arrays(VROC.format(by=by))]


def test_a_container_without_its_volume_is_told_as_inactive():
    text = "Personalities : [raid1]\n" + VROC[VROC.index("md127 :"):]
    assert [("md127", "inactive")] == [(each["name"], each["activity"]) for each in mdstat.arrays(text)]


def test_arrays_of_every_kind_are_read():
    text = ("Personalities : [raid0] [raid1]\nmd1 : active raid0 nvme3n1[1] nvme2n1[0]\n      9 blocks super 1.2 512k chunks\n\n"
            "md127 : inactive sda1[0](S)\n      9 blocks\n\nmd0 : active (auto-read-only) raid1 sdb1[1](F) sda1[0](W)\n      9 blocks [2/1] [U_]\n\nunused devices: <none>\n")
    assert [("md1", "active", "raid0", []), ("md127", "inactive", "", []), ("md0", "active", "raid1", ["sdb1"])] == [
        (each["name"], each["activity"], each["level"], each["failed"]) for each in mdstat.arrays(text)]


@pytest.mark.parametrize("line", [
    "FAN1 | 30h | ok", "FAN1 | ok | 5400 RPM", "30h | FAN1 | 7.1 | ok | 5400 RPM", "FAN1 | 30h | in Ordnung | 7.1 | 5400 RPM", "FAN1  | 4", " | | | | ",
    "Get SDR 0012 command failed", "FAN1 | 30h | ok | 7.1"])
def test_a_line_that_is_no_sensors_is_a_gap(line):
    assert {} == bmc.sensor(line)
    whole = bmc.sensors(said(f"FAN2 | 31h | ok | 7.2 | 5400 RPM\n{line}\n"))
    assert 1 == len(whole["sensors"]) and 1 == len(whole["unreadable"])


BAYS = ("Fan1A            | 30h | ok  |  7.1 | 9240 RPM\nStatus           | 60h | ok  |  3.1 | Presence detected\n"
        "Status           | 62h | ok  | 10.1 | Presence detected\nStatus           | 63h | ok  | 10.2 | Presence detected{second}\n"
        "Current 1        | 6Ah | ok  | 10.1 | 0.40 Amps\nPS Redundancy    | 74h | ok  |  7.1 | Fully Redundant\n")


def board(text):
    return Management({"chassis": {}, **bmc.sensors(said(text))})


def test_supplies_are_known_by_their_entity_where_sensors_are_called_status():
    sound, failed = board(BAYS.format(second="")), board(BAYS.format(second=", Power Supply AC lost"))
    assert (2, []) == (sound.supply_count, sound.supplies.offending(lambda sensor: sensor.supply_trouble))
    assert ["PS2 Status"] == [each.part.label for each in failed.supplies.offending(lambda sensor: sensor.supply_trouble)]


@pytest.mark.parametrize("line", ["Power Supplies   | 42h | ok  | 19.1 | Redundancy Lost", "Power Redundancy | 02h | ok | 21.1 | Redundancy Degraded",
                                  "PS_RDNDNT_MODE   | ADh | ok  | 20.0 | Non-Redundant: Sufficient from Redundant"])
def test_redundancy_is_told_under_several_names(line):
    assert 1 == len(board(line + "\n").supplies.offending(lambda sensor: sensor.supply_trouble))


def test_an_empty_bay_is_no_supply():
    assert 1 == board("PSU1_STATUS      | 26h | ok  | 10.1 | Presence detected\nPSU1_PWRGD       | 28h | ok  | 10.1 | State Asserted\n"
                      "PSU2_STATUS      | 2Ch | ok  | 10.2 | \nPSU2_PWRGD       | 2Eh | ns  | 10.2 | No Reading\n").supply_count


@pytest.mark.parametrize("reading", ["No Reading", "N/A", "ERR!", "", "Disabled", "5400", "1.2.3 RPM", "-- RPM", "0x80"])
def test_a_reading_that_is_no_number_has_no_value(reading):
    assert is_absent(bmc.sensor(f"FAN1 | 30h | ok | 7.1 | {reading}")["value"])


@pytest.mark.parametrize("answer", [said(""), said("Could not open device"), {"absent": "program not found: ipmitool"}])
def test_no_sensors_is_not_measured(answer):
    assert is_absent(bmc.sensors(answer)["sensors"])


@pytest.mark.parametrize("stdout", [
    "", "DCMI request failed", "Instantaneous power reading: N/A Watts\nPower reading state is: activated\n",
    "Instantaneous power reading:   0 Watts\nPower reading state is: activated\n", "Instantaneous power reading:   -12 Watts\nPower reading state is: activated\n",
    "Instantaneous power reading:   900 Watts\nPower reading state is: deactivated\n", "Instantaneous power reading:   900 Watts\n"])
def test_power_that_was_not_measured_is_absent(stdout):
    assert is_absent(bmc.power(said(stdout))["watts"])


@pytest.mark.parametrize("line", [
    "   1 | 04/12/2026 | 10:22:33 | Memory", "Memory | Uncorrectable ECC | Asserted", "   1 | 04/12/2026 | 10:22:33 | Memory | Uncorrectable ECC | Bestätigt",
    "Error: Unable to establish IPMI v2 session", "   1 | 04/12/2026 | 10:22:33 UTC | Memory #0x87 | Uncorr"])
def test_a_line_that_is_no_entry_is_a_gap(line):
    log = sel.event_log(said(f"   1 | 04/12/2026 | 10:22:33 | Memory #1 | Correctable ECC | Asserted\n{line}\n"), said("04/13/2026 10:00:00"))
    assert (1, 1) == (len(log["entries"]), len(log["unreadable"]))


def test_a_panic_that_the_kernel_wrote_is_an_entry():
    log = sel.event_log(said("   1 | Linux kernel panic: Fatal machi\n   2 | 04/12/2026 | 10:22:33 | Memory #1 | Correctable ECC | Asserted\n"),
                        said("04/13/2026 10:00:00"))
    assert ([], ["Linux kernel panic", "Memory #1"]) == (log["unreadable"], [each["sensor"] for each in log["entries"]])


@pytest.mark.parametrize(("text", "seconds"), [
    ("04/12/26 | 10:22:33 AM UTC", 1775989353), ("04/12/2026 10:22:33 PM", 1775989353 + 12 * 3600),
    ("04/12/2026 10:22:33", 1775989353), ("04/12/26 10:22:33 UTC", 1775989353), ("04/12/2026 | 10:22:33 CEST", 1775989353)])
def test_both_ways_to_write_a_date_are_read(text, seconds):
    assert seconds == sel.moment(text)


@pytest.mark.parametrize("text", ["", "Pre-Init  |0000000031", "2026-04-12T10:22:33", "31/12/2026 10:22:33", "04/12/2026 10:22", "Unspecified"])
def test_a_time_in_other_words_is_absent(text):
    assert is_absent(sel.moment(text))


def test_an_empty_log_is_an_answer_and_silence_is_none():
    assert [] == sel.event_log(said("SEL has no entries\n"), said(""))["entries"]
    assert is_absent(sel.event_log(said(""), said(""))["entries"])


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(("title", "name"), [("Physical Counters and BER Info", "Link Down Counter"), ("Physical Counters", "Link Down")])
def test_the_counters_of_mlxlink_are_found_under_every_title(title, name, form):
    rows = {"Time Since Last Clear [Min]": "14381.4", "Effective Physical Errors": "3", "Effective Physical BER": "2E-13",
            "Raw Physical BER Per Lane": "1E-9,2E-9", "Raw Physical BER": "2E-9", name: "7"}
    sections = {"Operational Info": {"State": "Active", "FEC": "Standard RS-FEC - RS(528,514)"}, title: rows}
    text = "".join(f"\n{each}\n{'-' * len(each)}\n" + "".join(f"{key:<35}: {value}\n" for key, value in values.items()) for each, values in sections.items())
    link = mlxlink.port(said(text if form == "text" else json.dumps({"result": {"output": sections}})))["link"]

    assert (3, 2e-13, 7) == (link["effective_errors"], link["effective_error_rate"], link["link_downs"])


@pytest.mark.parametrize("stdout", ["", "-E- Device is busy", "{", '{"result": {"output": {}}}', '{"status": {"code": 1}}', "Operational Info\n", "[]"])
def test_an_mlxlink_answer_without_the_port_is_absent(stdout):
    found = mlxlink.port(said(stdout))
    assert is_absent(found["link"]) and is_absent(found["module"])


@pytest.mark.parametrize("value", [None, "N/A", "", "ERR!", "47 [..]", "47 [-5..", "hot [-5..75]", "1.2,,1.0", ["47"], 47])
def test_a_module_reading_that_is_no_number_is_absent(value):
    assert is_absent(mlxlink.reading(value, "Temperature [C]"))


@pytest.mark.parametrize("value", ["N/A", "", "ERR!", "-1", "2", "1E", None, [], "1,5E-9"])
def test_an_error_rate_that_is_none_is_absent(value):
    assert is_absent(mlxlink.share(value, "Effective Physical BER"))


@pytest.mark.parametrize("stdout", ["", "driver: ice\n", "firmware-version: N/A\n", "firmware-version: \n"])
def test_no_firmware_is_absent(stdout):
    assert is_absent(modules.firmware(said(stdout)))


@pytest.mark.parametrize("stdout", ["", "\tModule temperature : N/A\n", "\tModule temperature high alarm : An\n", "\tModule temperature : 47,10 degrees C\n"])
def test_a_module_without_flags_tells_no_alarms(stdout):
    found = modules.eeprom(said(stdout))
    assert is_absent(found["alarms"]) and is_absent(found["temperature_celsius"])


@pytest.mark.parametrize("stdout", ["", "# dmidecode 3.5\n", "/dev/mem: Permission denied\n", "Memory Device\n\tSize: 64 GB\n"])
def test_no_memory_device_is_not_measured(stdout):
    assert is_absent(dimms.slots(said(stdout)))


@pytest.mark.parametrize("text", [None, "", "Unknown", "64 GiB", "-64 GB", "64", "64 Go", "18446744073709551616 GB", "Kein Modul"])
def test_a_size_that_is_none_is_absent(text):
    assert is_absent(dimms.size(text))


def test_a_part_that_breaks_its_reader_costs_no_other():
    def ask(name):
        return {"fine": 1} if name == "a" else {}["gone"]

    found = counted.at_once(["a", "b"], ask, 5)
    assert {"fine": 1} == found["a"] and is_absent(found["b"])


class Recorder:
    """A host on which every program answers the same, and which remembers what it was asked."""

    def __init__(self, status=1, stderr=""):
        self.asked, self.status, self.stderr = [], status, stderr

    def run(self, argv, seconds):
        self.asked.append(argv)
        return program.Completed(self.status, "", self.stderr)

    def read(self, path):
        return "900.0 1.0\n"


NETWORK = {"address": "n1-bmc", "user": "reader", "password_file": "/etc/fleetcheck/bmc"}


def test_the_controller_is_only_ever_read():
    host = Recorder()
    bmc.collect(host, {"bmc": {}})
    assert {"sel elist", "sel time get", "sdr elist", "chassis status", "dcmi power reading"} == {" ".join(argv[1:]) for argv in host.asked}


def test_a_password_is_on_no_command_line_and_names_are_in_no_answer():
    host = Recorder(stderr="Error: Unable to establish session with n1-bmc as reader")
    answer = bmc.collect(host, {"bmc": NETWORK})
    assert all(argv[:9] == ["ipmitool", "-I", "lanplus", "-H", "n1-bmc", "-U", "reader", "-f", "/etc/fleetcheck/bmc"] for argv in host.asked)
    assert "Unable to establish session" in answer["chassis"]["absent"]
    assert "n1-bmc" not in json.dumps(answer) and "reader" not in json.dumps(answer)


def test_half_an_address_of_a_controller_is_refused_in_words():
    with pytest.raises(ValueError, match="bmc of the inventory lacks user and password_file"):
        bmc.collect(Recorder(), {"bmc": {"address": "n1-bmc"}})
