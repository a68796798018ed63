"""Answers of programs on simulated nodes: a healthy part's words with one thing changed."""

from __future__ import annotations

import datetime
import json
from typing import Any

HEALTHY_LOG = {
    "critical_warning": 0, "temperature": 35, "available_spare": 100, "available_spare_threshold": 10, "percentage_used": 2,
    "unsafe_shutdowns": 7, "media_errors": 0, "power_on_hours": 6000,
}
SENSORS = {
    "Inlet Temp": ("23 degrees C", "ok"), "CPU1 Temp": ("42 degrees C", "ok"), "FAN1": ("5400 RPM", "ok"), "FAN2": ("5600 RPM", "ok"),
    **{f"PS{number} Status": ("Presence detected", "ok") for number in range(1, 7)},
}
CHASSIS = {"System Power": "on", "Power Overload": "false", "Main Power Fault": "false", "Power Control Fault": "false",
           "Drive Fault": "false", "Cooling/Fan Fault": "false"}


def commands(**said: Any) -> dict[str, Any]:
    return {"commands": {name: answer if isinstance(answer, dict) else {"stdout": answer} for name, answer in said.items()}}


def smart(device: str = "/dev/nvme3", status: int = 0, passed: bool = True, **changes: Any) -> dict[str, Any]:
    """smartctl -j of an NVMe drive."""
    document = {"smartctl": {"exit_status": status}, "smart_status": {"passed": passed},
                "nvme_smart_health_information_log": {**HEALTHY_LOG, **changes}}
    return commands(**{f"smartctl -j {device}": {"stdout": json.dumps(document), "exit": status}})


def disk(passed: bool = True, pending: int = 0, status: int = 0) -> dict[str, Any]:
    """A SATA drive sda with its smartctl -j."""
    document = {"smartctl": {"exit_status": status}, "model_name": "Micron 5300", "serial_number": "SATA1",
                "smart_status": {"passed": passed}, "temperature": {"current": 30},
                "ata_smart_attributes": {"table": [{"id": 5, "raw": {"value": 0}}, {"id": 197, "raw": {"value": pending}}]}}
    files = {"/sys/block/sda/size": "3750748848\n", "/sys/block/sda/removable": "0\n"}
    return {"files": files, **commands(**{"smartctl -j /dev/sda": {"stdout": json.dumps(document), "exit": status}})}


def mdstat(shape: str, member: str = "nvme1n1p2[1](F)", extra: str = "") -> dict[str, Any]:
    working = shape.count("U")
    return {"files": {"/proc/mdstat": (
        "Personalities : [raid1]\n"
        f"md0 : active raid1 nvme0n1p2[0] {member}\n      1874715648 blocks super 1.2 [{len(shape)}/{working}] [{shape}]\n{extra}"
        "\nunused devices: <none>\n")}}


def sel(*events: tuple[float, str], clock_hours: float = 0.0) -> dict[str, Any]:
    """An event log of (seconds ago, words), on a controller whose clock is some hours off."""
    now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=clock_hours)

    def line(number: int, ago: float, words: str) -> str:
        when = now - datetime.timedelta(seconds=ago)
        return f"{number:4x} | {when:%m/%d/%Y} | {when:%H:%M:%S} UTC | {words}\n"

    log = "".join(line(number, ago, words) for number, (ago, words) in enumerate(events, 1))
    return commands(**{"ipmitool sel elist": log, "ipmitool sel time get": f"{now:%m/%d/%Y %H:%M:%S} UTC\n"})


def sensors(**changes: tuple[str, str] | None) -> dict[str, Any]:
    """``sdr elist`` with sensors changed; _ stands for a space in a name."""
    every = {**SENSORS, **{name.replace("_", " "): value for name, value in changes.items()}}
    lines = [f"{name:<16} | {number:02X}h | {value[1]:<3} |  7.1 | {value[0]}\n" for number, (name, value) in enumerate(every.items(), 1) if value]
    return commands(**{"ipmitool sdr elist": "".join(lines)})


def mlxlink(port: str = "mlx5_3", **changes: str) -> dict[str, Any]:
    """mlxlink in sections of text, coloured as it does on a terminal, with values changed; _ stands for a space."""
    values = {"Status Opcode": "0", "Recommendation": "No issue was observed", "Effective Physical Errors": "0",
              "Effective Physical BER": "15E-255", "Link Down Counter": "0", "Cable Technology": "850 nm VCSEL",
              "Temperature [C]": "47 [-5..75]", "Rx Power Current [dBm]": "1.2,1.0 [-10.41..6]",
              **{name.replace("_", " "): value for name, value in changes.items()}}
    titles = {"Operational Info": {"State": "Active", "FEC": "RS"}, "Troubleshooting Info": ("Status Opcode", "Recommendation"),
              "Physical Counters and BER Info": ("Effective Physical Errors", "Effective Physical BER", "Link Down Counter"),
              "Module Info": ("Cable Technology", "Temperature [C]", "Rx Power Current [dBm]")}
    text = ""
    for title, names in titles.items():
        rows = names if isinstance(names, dict) else {name: values[name] for name in names}
        text += f"\n{title}\n{'-' * len(title)}\n" + "".join(f"{name:<34} : \x1b[32m{value}\x1b[0m\n" for name, value in rows.items())
    return commands(**{f"mlxlink --json {port}": text})


def dimms(count: int = 32, gigabytes: int = 64, speed: int = 4800) -> dict[str, Any]:
    """dmidecode with so many modules in 32 slots; the last of them of this size and speed."""
    def table(number: int) -> str:
        last = number == count - 1
        size = "No Module Installed" if number >= count else f"{gigabytes if last else 64} GB"
        return (f"Handle 0x{number + 32:04X}, DMI type 17, 92 bytes\nMemory Device\n\tSize: {size}\n\tLocator: P1-DIMM{number}\n"
                f"\tConfigured Memory Speed: {speed if last else 4800} MT/s\n\tSerial Number: S{number}\n\n")

    return commands(**{"dmidecode -t 17": "# dmidecode 3.5\n" + "".join(table(number) for number in range(32))})
