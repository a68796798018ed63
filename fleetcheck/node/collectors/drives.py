"""Runs on the node: NVMe and SATA drives with their SMART health, and the software arrays made of them."""

import operator
import re
from typing import Any, Callable, Dict, List

from fleetcheck.node.collectors.counted import at_once, document, excerpt, whole, within
from fleetcheck.node.collectors.mdstat import arrays
from fleetcheck.node.collectors.values import names, number, output, text
from fleetcheck.node.host import Host

READS = (
    ("/sys/class/nvme", "any user"),
    ("/sys/block", "any user"),
    ("/proc/mdstat", "any user"),
    ("smartctl -j -a", "root"),
    ("nvme smart-log", "root"),
)

NVME = "/sys/class/nvme"
BLOCK = "/sys/block"
PROGRAM_SECONDS = 12
EACH_SECONDS = 40
KELVIN = 273
NOT_ASKED = 0b011
"""smartctl's exit status: bit 0 a wrong command line, bit 1 the device did not open. Nothing was read."""
SMART_LOG = {
    "critical_warning": ("critical_warning", 255),
    "percentage_used": ("percentage_used", 255),
    "available_spare_percent": ("available_spare", 100),
    "spare_threshold_percent": ("available_spare_threshold", 100),
    "media_errors": ("media_errors", None),
    "unsafe_shutdowns": ("unsafe_shutdowns", None),
    "power_on_hours": ("power_on_hours", None),
}
"""Ours → smartctl's name and the highest value it can have (NVM Express Base Specification, SMART / Health Information)."""
KERNEL_NAMES = {"percentage_used": "percent_used", "available_spare_percent": "avail_spare", "spare_threshold_percent": "spare_thresh"}
"""Where nvme-cli calls it otherwise."""
WORSE: Dict[str, Callable[[int, int], int]] = {
    "critical_warning": operator.or_,
    "percentage_used": max,
    "media_errors": max,
    "available_spare_percent": min,
}
"""Of two readings of a value, the one that is worse."""
UNREADABLE = {197: "pending sectors", 198: "offline uncorrectable", 187: "reported uncorrectable"}


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{nvme: {nvme0: …}, disks: {sda: …}, arrays: [...]}; a list that could not be read is absent."""
    controllers, blocks = names(host, NVME), names(host, BLOCK)
    if isinstance(controllers, dict) and "no such file" in controllers["absent"] and isinstance(blocks, list):
        controllers = []  # the kernel knows no NVMe device at all: that is an answer
    plain = blocks if isinstance(blocks, dict) else [name for name in blocks if spins(host, name)]
    return {
        "nvme": controllers if isinstance(controllers, dict)
        else at_once([name for name in controllers if re.match(r"nvme\d+$", name)], lambda name: nvme(host, name), EACH_SECONDS),
        "disks": plain if isinstance(plain, dict) else at_once(plain, lambda name: disk(host, name), EACH_SECONDS),
        "arrays": arrays(host.read_or_absent("/proc/mdstat")),
    }


def spins(host: Host, name: str) -> bool:
    """Whether it is a SATA or SAS drive that stays in the machine; virtual media of a BMC are removable or empty."""
    folder = "%s/%s" % (BLOCK, name)
    return bool(re.match(r"sd[a-z]+$", name)) and number(host, folder + "/removable") != 1 and number(host, folder + "/size") != 0


def nvme(host: Host, name: str) -> Dict[str, Any]:
    """One controller: who it is, its PCIe link, its health."""
    folder = "%s/%s" % (NVME, name)
    return {
        "model": text(host, folder + "/model"),
        "serial": text(host, folder + "/serial"),
        "firmware": text(host, folder + "/firmware_rev"),
        "state": text(host, folder + "/state"),
        "transport": text(host, folder + "/transport"),
        "pci": text(host, folder + "/address"),
        "width": number(host, folder + "/device/current_link_width"),
        "health": nvme_health(host, "/dev/" + name),
    }


def nvme_health(host: Host, device: str) -> Any:
    """By smartctl and by nvme-cli. Both read the same log; where they differ the worse word counts, and where one brought nothing
    the other's."""
    first = smartctl(output(host, ["smartctl", "-j", "-a", device], PROGRAM_SECONDS), device)
    second = document(output(host, ["nvme", "smart-log", device, "-o", "json"], PROGRAM_SECONDS), "nvme smart-log " + device)
    logs = [
        first if "absent" in first else nvme_log(first.get("nvme_smart_health_information_log"), first),
        second if "absent" in second else kernel_log(second),
    ]
    told = [log for log in logs if "absent" not in log]
    return worse(told[0], told[-1]) if told else logs[0]


def worse(one: Dict[str, Any], other: Dict[str, Any]) -> Dict[str, Any]:
    """Two readings of one log as one; a value that only one of them told is its word."""
    found = dict(one)
    for name, value in other.items():
        mine = found.get(name)
        if isinstance(mine, dict):
            found[name] = value
        elif name in WORSE and isinstance(value, int) and isinstance(mine, int):
            found[name] = WORSE[name](mine, value)
    return found


def smartctl(said: Dict[str, Any], device: str) -> Dict[str, Any]:
    """The document of smartctl -j; absent when its exit status says that nothing was asked."""
    found = document(said, "smartctl " + device)  # type: Dict[str, Any]
    if "absent" in found:
        return found
    if said["status"] & NOT_ASKED or said["status"] < 0:
        messages = within(found, "smartctl", "messages") or []
        why = [str(each.get("string")) for each in messages if isinstance(each, dict)]
        return {"absent": "smartctl %s ended with %d: %s" % (device, said["status"], "; ".join(why)[:160] or excerpt(said))}
    return dict(found, status=said["status"])


def nvme_log(log: Any, whole_answer: Dict[str, Any]) -> Dict[str, Any]:
    """The health log as smartctl writes it, temperature in °C."""
    if not isinstance(log, dict):
        return {"absent": "smartctl told no NVMe health log"}
    found = {name: limited(log.get(key), name, high) for name, (key, high) in SMART_LOG.items()}
    passed = within(whole_answer, "smart_status", "passed")
    return dict(
        found,
        temperature_celsius=whole(log.get("temperature"), "temperature", -60, 150),
        passed=passed if isinstance(passed, bool) else {"absent": "smart_status.passed is %.40r" % (passed,)},
    )


def kernel_log(log: Dict[str, Any]) -> Dict[str, Any]:
    """The same from ``nvme smart-log -o json``: other names, temperature in kelvin, no verdict of its own."""
    found = {name: limited(log.get(KERNEL_NAMES.get(name, key)), name, high) for name, (key, high) in SMART_LOG.items()}
    kelvin = whole(log.get("temperature"), "temperature", KELVIN - 60, KELVIN + 150)
    warning = found["critical_warning"]
    return dict(
        found,
        temperature_celsius=kelvin if isinstance(kelvin, dict) else kelvin - KELVIN,
        passed=warning if isinstance(warning, dict) else warning == 0,
    )


def limited(value: Any, name: str, high: Any) -> Any:
    """A count, or a figure that cannot be above ``high``."""
    return whole(value, name) if high is None else whole(value, name, 0, high)


def disk(host: Host, name: str) -> Dict[str, Any]:
    """A SATA or SAS drive."""
    found = smartctl(output(host, ["smartctl", "-j", "-a", "/dev/" + name], PROGRAM_SECONDS), "/dev/" + name)
    if "absent" in found:
        return {"model": text(host, "%s/%s/device/model" % (BLOCK, name)), "serial": found, "health": found}
    passed = within(found, "smart_status", "passed")
    return {
        "model": str(found.get("model_name", found.get("scsi_model_name", ""))),
        "serial": str(found.get("serial_number", "")),
        "health": {
            "passed": passed if isinstance(passed, bool) else unassessed(found),
            "temperature_celsius": whole(within(found, "temperature", "current"), "temperature.current", -60, 150),
            "percentage_used": whole(worn(found), "endurance_used", 0, 255),
            "unreadable_sectors": unreadable(within(found, "ata_smart_attributes", "table")),
        },
    }


def worn(found: Dict[str, Any]) -> Any:
    """Percent of its endurance: under one name for every kind of drive since smartctl 7.5, for SAS under another before."""
    said = within(found, "endurance_used", "current_percent")
    return found.get("scsi_percentage_used_endurance_indicator") if said is None else said


def unassessed(found: Dict[str, Any]) -> Dict[str, Any]:
    """Why there is no verdict: a virtual disk says that it has no SMART, as far as smartctl 7.3 passes it on."""
    if within(found, "smart_support", "available") is False:
        return {"absent": "not reported by this drive: it has no SMART"}
    return {"absent": "smart_status.passed is %.40r" % (within(found, "smart_status", "passed"),)}


def unreadable(table: Any) -> Any:
    """Sectors the drive could not read, of the attributes it has."""
    rows: List[Any] = table if isinstance(table, list) else []
    told = [whole(within(row, "raw", "value"), "attribute %s" % row["id"]) for row in rows if within(row, "id") in UNREADABLE]
    broken = [value for value in told if isinstance(value, dict)]
    return broken[0] if broken else max(told) if told else {"absent": "not reported by this drive"}
