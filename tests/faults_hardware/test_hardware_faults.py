"""Faults of drives, controllers, cables and memory modules, each on a node of its own of one simulated fleet, from SSH to result."""

from __future__ import annotations

import types

import checking
import pytest
import yaml
from fleetrun import CHECKS, run_pytest
from hardwareparts import CHASSIS, commands, dimms, disk, mdstat, mlxlink, sel, sensors, smart

from fleetcheck.inventory import Node
from fleetcheck.profiles import load_profile

HOUR, DAY, YEAR = 3600, 86400, 31_536_000
HEALTHY = 16
FILES = ("test_drives.py", "test_management_controller.py", "test_cables.py", "test_memory_modules.py")
ETHTOOL = ("\tIdentifier : 0x11 (QSFP28)\n\tModule temperature : 81.10 degrees C / 177.98 degrees F\n\tModule temperature high alarm : {}\n"
           "\tLaser rx power low alarm (Channel 2) : Off\n\tModule temperature high warning : {}\n"
           "\tModule temperature high alarm threshold : 75.00 degrees C\n")
NVME3 = "/sys/class/nvme/nvme3"
PROFILE = """extends: h100-sxm5-8
choices:
  hca_firmware: {allowed: ["28.43.2566"], source: test, date: 2026-11-30}
  interface_firmware: {allowed: ["4.60 0x8001f8a6 1.3682.0", "4.60"], source: test, date: 2026-11-30}
"""

FAULTS = {  # check → what is injected, words of the message, severity, action
    "test_nvme_drives_are_all_there": ({"files": {NVME3: None}}, "9", "degraded", "reboot"),
    "test_nvme_drives_are_live": ({"files": {f"{NVME3}/state": "dead\n"}}, "nvme3: the controller is dead", "degraded", "reboot"),
    "test_nvme_links_are_full_width": ({"files": {f"{NVME3}/device/current_link_width": "2\n"}}, "nvme3: width 2 (limit 4 lanes)", "degraded", "reboot"),
    "test_nvme_drives_give_no_critical_warning": (
        smart(critical_warning=4, status=8, passed=False), "nvme3: critical warning 0x04: reliability is degraded", "degraded", "replace"),
    "test_nvme_drives_have_spare_blocks": (smart(available_spare=4), "nvme3: 4 % of the spare blocks are left", "degraded", "replace"),
    "test_nvme_drives_are_not_worn_out": (smart(percentage_used=93), "nvme3: health.percentage_used 93 (limit ≤ 80 %)", "warn", "replace"),
    "test_nvme_drives_lost_no_data": (smart(media_errors=12), "nvme3: health.media_errors 12", "warn", "replace"),
    "test_nvme_drives_are_cool": (smart(temperature=79), "nvme3: health.temperature_celsius 79 (limit ≤ 70 °C)", "warn", "observe"),
    "test_disks_pass_their_own_assessment": (disk(passed=False, status=8), "sda: health.passed False", "degraded", "replace"),
    "test_disks_read_all_their_sectors": (disk(pending=16), "sda: health.unreadable_sectors 16", "warn", "replace"),
    "test_arrays_have_all_members": (mdstat("U_"), "array md0: [U_]: a member is gone", "degraded", "replace"),
    "test_event_log_has_no_hardware_errors": (
        sel((2 * HOUR, "Critical Interrupt #0x18 | Bus Fatal Error | Asserted")), "Bus Fatal Error", "degraded", "isolate"),
    "test_event_log_has_no_failed_supplies": (
        sel((2 * HOUR, "Power Supply PS2 Status | Power Supply AC lost | Asserted")), "Power Supply AC lost", "degraded", "replace"),
    "test_event_log_has_no_standing_alarms": (
        sel((HOUR, "Fan FAN3 | Lower Critical going low  | Asserted | Reading 0 < Threshold 500 RPM")), "Fan FAN3", "degraded", "replace"),
    "test_event_log_has_no_correctable_errors": (
        sel((HOUR, "Memory DIMM_A3 | Correctable ECC logging limit reached | Asserted")), "DIMM_A3", "warn", "observe"),
    "test_power_supplies_are_sound": (
        sensors(PS2_Status=("Presence detected, Power Supply AC lost", "ok")), "PS2 Status: Presence detected, Power Supply AC lost", "degraded", "replace"),
    "test_power_supplies_are_all_there": (sensors(PS4_Status=("", "ok")), "5", "degraded", "replace"),
    "test_fans_turn": (sensors(FAN2=("0 RPM", "ok")), "FAN2: value 0.0 (limit ≥ 500 rpm)", "degraded", "replace"),
    "test_inlet_air_is_cool": (sensors(Inlet_Temp=("41 degrees C", "ok")), "Inlet Temp: value 41.0 (limit ≤ 35 °C)", "degraded", "observe"),
    "test_sensors_are_within_their_limits": (sensors(CPU1_Temp=("104 degrees C", "ucr")), "CPU1 Temp: 104 degrees C", "degraded", "isolate"),
    "test_chassis_reports_no_fault": (
        commands(**{"ipmitool chassis status": "".join(f"{name:<20} : {value}\n" for name, value in {**CHASSIS, "Drive Fault": "true"}.items())}),
        "the chassis reports Drive Fault", "degraded", "isolate"),
    "test_node_draws_plausible_power": (
        commands(**{"ipmitool dcmi power reading": "    Instantaneous power reading:   12800 Watts\n    Power reading state is:   activated\n"}),
        "12800", "warn", "observe"),
    "test_port_firmware_sees_no_trouble": (
        mlxlink(Status_Opcode="15", Recommendation="Bad signal integrity"), "mlx5_3: Bad signal integrity (status 15)", "degraded", "isolate"),
    "test_error_correction_leaves_no_errors": (mlxlink(Effective_Physical_BER="3E-9"), "mlx5_3: link.effective_error_rate 3e-09", "degraded", "isolate"),
    "test_modules_are_cool": (mlxlink(**{"Temperature_[C]": "79 [-5..75]"}), "mlx5_3: temperature_celsius 79", "degraded", "observe"),
    "test_modules_receive_enough_light": (
        mlxlink(**{"Rx_Power_Current_[dBm]": "1.2,-14.2 [-10.41..6]"}), "mlx5_3: receive_dbm -14.2", "degraded", "isolate"),
    "test_fabric_links_stay_up": (mlxlink(Link_Down_Counter="900"), "mlx5_3: losses_per_day", "warn", "observe"),
    "test_adapter_slots_are_full_width": (
        {"files": {"/sys/class/infiniband/mlx5_3/device/current_link_width": "8\n"}}, "mlx5_3: width 8 (limit 16 lanes)", "degraded", "reboot"),
    "test_adapters_run_released_firmware": (
        {"files": {"/sys/class/infiniband/mlx5_3/fw_ver": "28.39.1002\n"}}, "mlx5_3: firmware 28.39.1002", "warn", "fix-config"),
    "test_interface_modules_raise_no_alarm": (
        commands(**{"ethtool -m eth0": ETHTOOL.format("On", "On")}), "eth0: the module raises: Module temperature high alarm", "degraded", "observe"),
    "test_interfaces_stay_up": ({"files": {"/sys/class/net/eth0/carrier_down_count": "700\n"}}, "eth0: losses_per_day", "warn", "observe"),
    "test_interfaces_run_released_firmware": (
        commands(**{"ethtool -i eth0": "driver: ice\nfirmware-version: 4.20\n"}), "eth0: firmware 4.20", "warn", "fix-config"),
    "test_dimms_are_all_there": (dimms(count=31), "31", "fatal", "replace"),
    "test_dimms_have_their_size": (dimms(gigabytes=32), "DIMM P1-DIMM31: bytes 34359738368", "degraded", "replace"),
    "test_dimms_run_at_their_speed": (dimms(speed=4400), "DIMM P1-DIMM31: mtransfers_per_second 4400", "warn", "fix-config"),
}
LOOKALIKES = {  # what resembles a fault and is none
    "unsafe-shutdowns": smart(unsafe_shutdowns=240, status=64),
    "sata-with-old-errors": disk(status=64),
    "virtual-disk": {**disk(), **commands(**{"smartctl -j /dev/sda": {
        "stdout": '{"smartctl": {"exit_status": 4}, "model_name": "QEMU HARDDISK", "smart_support": {"available": false}}', "exit": 4}})},
    "container-of-volumes": {"files": {"/proc/mdstat": "Personalities : [raid1]\nmd126 : active raid1 nvme1n1[1] nvme0n1[0]\n      1875374080 blocks super "
                                       "external:/md127/0 [2/2] [UU]\n\nmd127 : inactive nvme1n1[1](S) nvme0n1[0](S)\n      10402 blocks super "
                                       "external:imsm\n\nunused devices: <none>\n"}},
    "old-hardware-error": sel((YEAR, "Processor CPU1 Status | IERR | Asserted"), (YEAR - DAY, "Power Supply PS1 Status | Power Supply AC lost | Asserted")),
    "supply-came-back": sel((3 * HOUR, "Power Supply PS2 Status | Power Supply AC lost | Asserted"),
                            (2 * HOUR, "Power Supply PS2 Status | Power Supply AC lost | Deasserted")),
    "only-deasserted": sel((HOUR, "Critical Interrupt #0x18 | PCI SERR | Deasserted")),
    "controller-clock-in-2019": sel((YEAR, "Memory #0x87 | Uncorrectable ECC | Asserted"), clock_hours=-65_000),
    "array-under-check": mdstat("UU", "nvme1n1p2[1] nvme9n1[2](S)", "      [=>...]  check = 9.1% (1/2) finish=8min speed=200K/sec\n"),
    "corrected-bits": mlxlink(**{"Effective_Physical_Errors": "0"}),
    "copper-cable": mlxlink(**{"Cable_Technology": "Copper cable- unequalized", "Temperature_[C]": "N/A", "Rx_Power_Current_[dBm]": "N/A"}),
    "fan-slot-without-fan": sensors(FAN9=("No Reading", "ns")),
    "warning-without-alarm": commands(**{"ethtool -m eth0": ETHTOOL.format("Off", "On")}),
    "trained-three-times": {"files": {"/sys/class/net/eth0/carrier_down_count": "3\n"}},
}
NOTED = {"array-rebuilding": ("test_arrays_have_all_members", mdstat("U_", "nvme1n1p2[2]", "      [=>...]  recovery = 12.6% (1/2) finish=8min speed=1K/sec\n")),
         "drive-warm-for-a-while": ("test_nvme_drives_give_no_critical_warning", smart(critical_warning=2)),
         "redundancy-lost": ("test_power_supplies_are_sound", sensors(PS_Redundancy=("Redundancy Lost", "ok")))}
DENIED = {"stderr": "Could not open device at /dev/ipmi0: Permission denied\n", "exit": 1}
BLIND = {  # evidence removed: nothing of it may pass
    "no-programs": {"commands": {"ipmitool": None, "smartctl": None, "nvme": None, "mlxlink": None, "dmidecode": None, "ethtool": None},
                    "files": {"/proc/mdstat": {"errno": "EACCES"}, "/sys/class/nvme": {"errno": "EACCES"},
                              "/sys/block": {"errno": "EACCES"}, "/sys/class/infiniband": {"errno": "EACCES"}}},
    "no-words": commands(**{"ipmitool": DENIED, "smartctl": {"stdout": "{\"smartctl\": ", "exit": 0}, "nvme": "Usage: nvme\n", "mlxlink": "-E- busy\n",
                            "dmidecode": {"stderr": "/dev/mem: Permission denied\n", "exit": 1}, "ethtool": {"exit": 1, "stderr": "Operation not permitted\n"}})
    | {"files": {"/proc/mdstat": "Personalities : [raid1]\nmd0 : act", "/sys/block/sda/size": "99\n", "/sys/block/sda/removable": "0\n"}},
}
FROM_FILES = {"test_nvme_drives_are_all_there", "test_nvme_drives_are_live", "test_nvme_links_are_full_width", "test_adapter_slots_are_full_width",
              "test_adapters_run_released_firmware", "test_interfaces_stay_up"}
"""Read from sysfs, so that missing programs do not blind them."""


def nodes():
    """Node → what is injected into it."""
    found = {f"fault-{number:02d}": injected for number, (injected, *_) in enumerate(FAULTS.values())}
    found |= {f"alike-{name}": injected for name, injected in LOOKALIKES.items()} | {f"noted-{name}": injected for name, (_, injected) in NOTED.items()}
    return found | {f"blind-{name}": injected for name, injected in BLIND.items()}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """{node: {check: result}} of the one run."""
    folder = tmp_path_factory.mktemp("hardware")
    (folder / "profiles").mkdir()
    (folder / "profiles" / "hardware.yaml").write_text(PROFILE)
    injected = nodes()
    named = [*injected, *(f"well-{number:02d}" for number in range(HEALTHY))]
    (folder / "fleet.yaml").write_text(yaml.safe_dump({
        "fleet": "hardware", "defaults": {"profile": "hardware"}, "nodes": {name: {} for name in named}, "sandbox": {"nodes": injected}}))
    ended = run_pytest(*(CHECKS / "node" / name for name in FILES), "--inventory", "fleet.yaml", "-n", "4", "-p", "no:cacheprovider", cwd=folder, timeout=600)
    assert 1 == ended.status, ended.output
    found = {name: {} for name in named}
    for line in ended.lines("results"):
        found[line["node"]][line["check"]] = line
    found["verdicts"] = ended.verdicts
    found["inventory"] = folder / "fleet.yaml"
    found["evidence"] = {line["node"]: line["answers"] for line in ended.lines("evidence") if line["probe"] == "facts-slow"}
    return found


def outcomes(results, node, *wanted):
    return {check for check, result in results[node].items() if result["outcome"] in wanted}


@pytest.mark.parametrize("number", range(len(FAULTS)), ids=list(FAULTS))
def test_each_fault_fails_exactly_its_check_in_an_operators_words(results, number):
    check, (_, words, severity, action) = list(FAULTS.items())[number]
    node = f"fault-{number:02d}"
    assert {check} == outcomes(results, node, "failed"), {name: each["message"] for name, each in results[node].items() if each["outcome"] == "failed"}
    result = results[node][check]
    assert words in result["message"]
    assert (severity, action) == (result["severity"], result["action"])


@pytest.mark.parametrize("name", LOOKALIKES)
def test_look_alikes_are_silent(results, name):
    assert set() == outcomes(results, f"alike-{name}", "failed", "error"), [each["message"] for each in results[f"alike-{name}"].values() if each["message"]]


@pytest.mark.parametrize("name", NOTED)
def test_what_passes_by_is_only_noted(results, name):
    check, _ = NOTED[name]
    assert {check} == outcomes(results, f"noted-{name}", "failed", "error")
    assert ("warn", "observe") == (results[f"noted-{name}"][check]["severity"], results[f"noted-{name}"][check]["action"])


def test_healthy_nodes_raise_nothing(results):
    assert set() == {check for number in range(HEALTHY) for check in outcomes(results, f"well-{number:02d}", "failed", "error")}


def test_without_any_program_nothing_is_known_and_nothing_passes(results):
    assert {"test_interfaces_stay_up"} == outcomes(results, "blind-no-programs", "passed")
    assert set() == outcomes(results, "blind-no-programs", "failed")


def test_words_that_are_no_answer_are_not_measured(results):
    assert FROM_FILES == outcomes(results, "blind-no-words", "passed")
    assert set() == outcomes(results, "blind-no-words", "failed")


def test_no_fault_is_held_back_as_a_common_cause(results):
    verdicts = {name: each["verdict"] for name, each in results["verdicts"]["nodes"].items()}
    wanted = {f"fault-{number:02d}": {"fatal": "failed", "degraded": "degraded", "warn": "healthy"}[severity]
              for number, (_, _, severity, _) in enumerate(FAULTS.values())}
    assert wanted == {name: verdicts[name] for name in wanted}


NVME, PORT, FAN = "drives.nvme.nvme3", "modules.devices.mlx5_3", 5
EVIDENCE = {  # check → the leaves it lives by
    "test_nvme_drives_are_all_there": ("drives.nvme",),
    "test_nvme_drives_are_live": (f"{NVME}.state", NVME),
    "test_nvme_links_are_full_width": (f"{NVME}.width", NVME),
    "test_nvme_drives_give_no_critical_warning": (f"{NVME}.health.critical_warning", f"{NVME}.health"),
    "test_nvme_drives_have_spare_blocks": (f"{NVME}.health.available_spare_percent", f"{NVME}.health.spare_threshold_percent"),
    "test_nvme_drives_are_not_worn_out": (f"{NVME}.health.percentage_used",),
    "test_nvme_drives_lost_no_data": (f"{NVME}.health.media_errors",),
    "test_nvme_drives_are_cool": (f"{NVME}.health.temperature_celsius",),
    "test_arrays_have_all_members": ("drives.arrays", "drives.arrays.0.activity", "drives.arrays.1.shape", "drives.arrays.1.members.0", "drives.arrays.1.failed"),
    **{f"test_event_log_has_no_{what}": (
        "bmc.event_log", "bmc.event_log.entries", "bmc.event_log.entries.0.event", "bmc.event_log.entries.0.sensor", "bmc.event_log.now_seconds",
        "bmc.event_log.unreadable", "bmc.event_log.left_out", "bmc.uptime_seconds")
       for what in ("hardware_errors", "failed_supplies", "standing_alarms", "correctable_errors")},
    "test_power_supplies_are_sound": ("bmc.sensors", "bmc.unreadable", "bmc.sensors.0.name"),
    "test_power_supplies_are_all_there": ("bmc.sensors", "bmc.unreadable"),
    "test_fans_turn": ("bmc.sensors", "bmc.unreadable", f"bmc.sensors.{FAN}.value", f"bmc.sensors.{FAN}.unit", f"bmc.sensors.{FAN}"),
    "test_inlet_air_is_cool": ("bmc.sensors", "bmc.sensors.0.value", "bmc.sensors.0"),
    "test_sensors_are_within_their_limits": ("bmc.sensors", "bmc.sensors.2.status", "bmc.sensors.2"),
    "test_chassis_reports_no_fault": ("bmc.chassis", "bmc.chassis.Drive Fault"),
    "test_node_draws_plausible_power": ("bmc.power", "bmc.power.watts"),
    "test_port_firmware_sees_no_trouble": (f"{PORT}.link.status_opcode", f"{PORT}.link", PORT),
    "test_error_correction_leaves_no_errors": (f"{PORT}.link.effective_error_rate",),
    "test_modules_are_cool": (f"{PORT}.module.temperature_celsius", f"{PORT}.module.temperature_celsius.values.0", f"{PORT}.module"),
    "test_modules_receive_enough_light": (f"{PORT}.module.receive_dbm", f"{PORT}.module.receive_dbm.high", f"{PORT}.module.receive_dbm.values.1"),
    "test_fabric_links_stay_up": (f"{PORT}.link.link_downs", "modules.uptime_seconds"),
    "test_adapter_slots_are_full_width": (f"{PORT}.width", "modules.devices"),
    "test_adapters_run_released_firmware": (f"{PORT}.firmware",),
    "test_interface_modules_raise_no_alarm": ("modules.interfaces.eth0.module.alarms", "modules.interfaces.eth0"),
    "test_interfaces_stay_up": ("modules.interfaces.eth0.carrier_losses", "modules.uptime_seconds"),
    "test_interfaces_run_released_firmware": ("modules.interfaces.eth0.firmware",),
    "test_dimms_are_all_there": ("dimms.slots", "dimms.slots.7.bytes", "dimms.slots.7"),
    "test_dimms_have_their_size": ("dimms.slots.7.bytes",),
    "test_dimms_run_at_their_speed": ("dimms.slots.7.mtransfers_per_second",),
}
DISKS = {"test_disks_pass_their_own_assessment": ("drives.disks.sda.health.passed", "drives.disks"),
         "test_disks_read_all_their_sectors": ("drives.disks.sda.health.unreadable_sectors",)}


def test_no_check_passes_on_what_was_not_told(results):
    """Each leaf that a check lives by is taken away from a healthy node's answers, or refused by name: it may not pass."""
    passed, bench = [], bench_of(results)
    for node, needed in (("well-00", EVIDENCE), ("alike-sata-with-old-errors", DISKS)):
        answers = {name: answer["data"] for name, answer in results["evidence"][node].items()}
        for check, leaf in ((check, leaf) for check, leaves in needed.items() for leaf in leaves):
            assert "passed" == bench.run(check, answers).outcome
            gone = {} if leaf.rpartition(".")[2].isdigit() else {"removed": checking.changed(answers, leaf, ...)}
            gone["refused"] = checking.changed(answers, leaf, {"absent": "permission denied"})
            passed += [(check, leaf, how) for how, left in gone.items() if "error" != bench.run(check, left).outcome]
    assert [] == passed


def test_every_check_of_these_files_has_a_fault_and_an_ablation(results):
    names = set(bench_of(results).names())
    assert names == set(FAULTS) and names == set(EVIDENCE) | set(DISKS)


def bench_of(results):
    profile = load_profile("hardware", results["inventory"])
    modules = tuple(checking.module(f"checks/node/{name}") for name in FILES)
    return checking.Bench(modules, types.ModuleType("none"), Node("n", "192.0.2.1", profile.name), profile)
