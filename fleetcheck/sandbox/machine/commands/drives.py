"""smartctl, nvme, df, mount, findmnt and lsblk, over the same drives and mounts as /sys and /proc."""

from __future__ import annotations

import json
from typing import Any

from fleetcheck.sandbox.machine.commands.answers import Answers, fails, says, spelled
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.storage import Drive, drives, statvfs

KELVIN = 273


def commands(node: Node) -> Answers:
    """Healthy drives, little worn."""
    found = drives(node)
    listed = json.dumps({"Devices": [_listed(drive) for drive in found]}, indent=2) + "\n"
    answers = spelled(("nvme list -o json", "nvme list --output-format=json"), says(listed))
    answers["nvme list"] = says("".join(f"/dev/{drive.name}n1          {drive.serial:<20} {drive.model:<40} "
                                        f"{drive.firmware}\n" for drive in found))
    answers |= {"smartctl": fails("", 1, "smartctl 7.4: expected a device\n"),
                "smartctl --scan -j": says(json.dumps({"devices": [
        {"name": f"/dev/{drive.name}", "type": "nvme", "protocol": "NVMe"} for drive in found]}) + "\n")}
    for drive in found:
        answers |= _smart(node, drive)
    return answers | _mounts(node) | {"lsblk": says(_lsblk(found)), "lsblk -J": says(_lsblk_json(found))}


def _listed(drive: Drive) -> dict[str, Any]:
    return {"NameSpace": 1, "DevicePath": f"/dev/{drive.name}n1", "Firmware": drive.firmware,
            "ModelNumber": drive.model, "SerialNumber": drive.serial, "UsedBytes": drive.size_bytes // 3,
            "MaximumLBA": drive.size_bytes // 512, "PhysicalSize": drive.size_bytes, "SectorSize": 512}


def log(node: Node, drive: Drive) -> dict[str, int]:
    """The SMART log of a drive, temperature in °C."""
    pick = node.identity.pick
    hours = node.moment.uptime // 3600 + pick(3_000, 9_000, "hours", drive.name)
    return {
        "critical_warning": 0, "temperature": pick(31, 42, "drive-temperature", drive.name), "available_spare": 100,
        "available_spare_threshold": 10, "percentage_used": pick(0, 4, "wear", drive.name),
        "data_units_read": hours * 8_100, "data_units_written": hours * 5_600, "host_reads": hours * 310_000,
        "host_writes": hours * 220_000, "controller_busy_time": hours * 3,
        "power_cycles": pick(12, 40, "cycles", drive.name), "power_on_hours": hours,
        "unsafe_shutdowns": pick(2, 11, "unsafe", drive.name), "media_errors": 0, "num_err_log_entries": 0,
        "warning_temp_time": 0, "critical_comp_time": 0,
    }


def _smart(node: Node, drive: Drive) -> Answers:
    told = log(node, drive)
    document = json.dumps({
        "json_format_version": [1, 0], "smartctl": {"version": [7, 4], "exit_status": 0},
        "device": {"name": f"/dev/{drive.name}", "type": "nvme", "protocol": "NVMe"}, "model_name": drive.model,
        "serial_number": drive.serial, "firmware_version": drive.firmware, "user_capacity": {"bytes": drive.size_bytes},
        "smart_status": {"passed": True, "nvme": {"value": 0}}, "nvme_smart_health_information_log": told,
        "temperature": {"current": told["temperature"]}, "power_on_time": {"hours": told["power_on_hours"]},
        "power_cycle_count": told["power_cycles"],
    }, indent=2) + "\n"
    short = {"critical_warning": told["critical_warning"], "temperature": told["temperature"] + KELVIN,
             "avail_spare": told["available_spare"], "spare_thresh": told["available_spare_threshold"],
             "percent_used": told["percentage_used"], **{key: told[key] for key in list(told)[5:]},
             "temperature_sensor_1": told["temperature"] + KELVIN}
    kernel = json.dumps(short, indent=2) + "\n"
    answers: Answers = {}
    for device in (f"/dev/{drive.name}", f"/dev/{drive.name}n1"):
        health = "=== START OF SMART DATA SECTION ===\nSMART overall-health self-assessment test result: PASSED\n"
        answers |= {f"smartctl -j {device}": says(document), f"smartctl --json {device}": says(document),
                    f"smartctl {device}": says(health)}
        answers |= spelled((f"nvme smart-log {device} -o json", f"nvme smart-log {device} --output-format=json"),
                           says(kernel))
    return answers


def _mounts(node: Node) -> Answers:
    base = node.base
    sizes = statvfs(base)
    head = "Filesystem     1B-blocks  Used Available Use% Mounted on\n"
    lines, table = [], []
    for mount in base.mounts:
        size = sizes[mount.mount]
        total, free = size["f_blocks"] * size["f_frsize"], size["f_bavail"] * size["f_frsize"]
        lines.append(f"{mount.source} {total} {total - free} {free} {mount.used_percent}% {mount.mount}\n")
        table.append(f"{mount.source} on {mount.mount} type {mount.kind} ({mount.options})\n")
    found = [{"target": mount.mount, "source": mount.source, "fstype": mount.kind, "options": mount.options}
             for mount in base.mounts]
    plain = "TARGET SOURCE FSTYPE OPTIONS\n" + "".join(f"{one['target']} {one['source']} {one['fstype']} "
                                                       f"{one['options']}\n" for one in found)
    return {"df": says(head + "".join(lines)), "mount": says("".join(table)), "findmnt": says(plain),
            "findmnt -J": says(json.dumps({"filesystems": found}, indent=3) + "\n")}


def _lsblk(found: list[Drive]) -> str:
    return "NAME    MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\n" + "".join(f"{drive.name}n1 259:{number} 0 "
                                                                     f"{drive.size_bytes} 0 disk\n" for number,
                                                                     drive in enumerate(found))


def _lsblk_json(found: list[Drive]) -> str:
    return json.dumps({"blockdevices": [{"name": f"{drive.name}n1", "size": drive.size_bytes, "type": "disk",
                                         "ro": False, "model": drive.model, "serial": drive.serial}
                                        for drive in found]}, indent=3) + "\n"
