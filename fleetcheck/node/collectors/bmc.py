"""Runs on the node: what its management controller tells, by ipmitool. Only commands that read; nothing is cleared or set.

In-band through the kernel's driver, or over the network where the inventory's ``bmc`` names address, user and the file on the
node that holds the password: the password itself is on no command line and in no answer.
"""

import re
from typing import Any, Dict, List

from fleetcheck.node.collectors.counted import excerpt, real
from fleetcheck.node.collectors.sel import event_log
from fleetcheck.node.collectors.values import output, uptime
from fleetcheck.node.host import Host

READS = (
    ("ipmitool sel elist", "root"),
    ("ipmitool sel time get", "root"),
    ("ipmitool sdr elist", "root"),
    ("ipmitool chassis status", "root"),
    ("ipmitool dcmi power reading", "root"),
    ("/proc/uptime", "any user"),
)

STATUSES = frozenset(("ok", "ns", "us", "nc", "cr", "nr", "lnc", "lcr", "lnr", "unc", "ucr", "unr"))
"""How ipmitool shortens a sensor's state: ns is no reading, cr and nr are critical and non-recoverable."""
COLUMNS, STATUS, ENTITY, READING = 5, 2, 3, 4
SEL_SECONDS, SDR_SECONDS, SHORT_SECONDS = 30, 50, 10

Said = Dict[str, Any]


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{sensors, unreadable, event_log, chassis, power, uptime_seconds}."""
    program = ipmitool(settings.get("bmc"))
    log, now = asked(host, program, "sel elist", SEL_SECONDS), asked(host, program, "sel time get", SHORT_SECONDS)
    return dict(
        sensors(asked(host, program, "sdr elist", SDR_SECONDS)),
        event_log=event_log(log, now),
        chassis=chassis(asked(host, program, "chassis status", SHORT_SECONDS)),
        power=power(asked(host, program, "dcmi power reading", SHORT_SECONDS)),
        uptime_seconds=uptime(host),
    )


def ipmitool(over_network: Any) -> List[str]:
    """The program with how it reaches the controller."""
    if not over_network:
        return ["ipmitool"]
    lacking = [key for key in ("address", "user", "password_file") if key not in over_network]
    if lacking:
        raise ValueError("bmc of the inventory lacks %s" % " and ".join(lacking))
    where = ["-I", "lanplus", "-H", str(over_network["address"]), "-U", str(over_network["user"])]
    return ["ipmitool"] + where + ["-f", str(over_network["password_file"])]


def asked(host: Host, program: List[str], words: str, seconds: float) -> Said:
    """What one command printed; absent when it failed. Address and user are left out of its complaint."""
    said: Said = output(host, program + words.split(), seconds)
    if "absent" in said:
        return said
    if said["status"] != 0:
        why = excerpt(said)
        for secret in program[4:7:2]:
            why = why.replace(secret, "…")
        return {"absent": "ipmitool %s ended with %d: %s" % (words, said["status"], why)}
    return said


def sensors(said: Said) -> Dict[str, Any]:
    """{sensors: [{name, status, entity, text, value, unit}], unreadable: lines that are none}."""
    if "absent" in said:
        return {"sensors": said, "unreadable": []}
    lines = [line for line in said["stdout"].split("\n") if line.strip()]
    rows = [sensor(line) for line in lines]
    if not any(rows):
        return {"sensors": {"absent": "ipmitool sdr elist printed no sensor: %.60r" % said["stdout"]}, "unreadable": []}
    broken = [line[:80] for line, row in zip(lines, rows) if not row]
    return {"sensors": [row for row in rows if row], "unreadable": broken}


def sensor(line: str) -> Dict[str, Any]:
    """One line; empty when it is no sensor's: too few columns, or none that is a state where states stand."""
    words = [word.strip() for word in line.split("|")]
    if len(words) != COLUMNS or not words[0] or words[STATUS] not in STATUSES:
        return {}
    reading = words[READING]
    number = re.match(r"(-?[\d.]+) ([A-Za-z% ]+)$", reading)
    return {
        "name": words[0],
        "status": words[STATUS],
        "entity": words[ENTITY],
        "text": reading,
        "value": real(number.group(1), words[0]) if number else {"absent": "%s reads %.40r" % (words[0], reading)},
        "unit": number.group(2) if number else "",
    }


def chassis(said: Said) -> Dict[str, Any]:
    """{name: text} of ``chassis status``."""
    if "absent" in said:
        return said
    rows = re.findall(r"^([A-Z][\w /-]+?) *: *(.*)$", said["stdout"], re.MULTILINE)
    return {name: value.strip() for name, value in rows} or {"absent": "ipmitool chassis status: %.60r" % said["stdout"]}


def power(said: Said) -> Dict[str, Any]:
    """{state, watts} of DCMI; a controller that does not measure says 0 or that it is not activated."""
    if "absent" in said:
        return {"watts": said}
    watts = re.search(r"Instantaneous power reading:\s+(-?\d+) Watts", said["stdout"])
    state = re.search(r"Power reading state is:\s+(\w+)", said["stdout"])
    if not watts or not state or state.group(1) != "activated" or int(watts.group(1)) <= 0:
        return {"watts": {"absent": "DCMI measures no power: %.80s" % " ".join(said["stdout"].split())}}
    return {"watts": int(watts.group(1))}
