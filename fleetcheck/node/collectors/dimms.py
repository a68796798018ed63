"""Runs on the node: the memory modules as the firmware lists them (DMTF DSP0134, type 17), by dmidecode."""

import re
from typing import Any, Dict, List

from fleetcheck.node.collectors.counted import excerpt
from fleetcheck.node.collectors.values import output
from fleetcheck.node.host import Host

READS = (("dmidecode -t 17", "root"),)

UNITS = {"kB": 10, "KB": 10, "MB": 20, "GB": 30, "TB": 40}


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{slots: [{locator, bytes, …}]}: every slot, empty ones with 0 bytes."""
    return {"slots": slots(output(host, ["dmidecode", "-t", "17"], 20))}


def slots(said: Dict[str, Any]) -> Any:
    """All slots; absent when dmidecode was refused or listed none."""
    if "absent" in said:
        return said
    if said["status"] != 0:
        return {"absent": "dmidecode ended with %d: %s" % (said["status"], excerpt(said))}
    tables: List[str] = re.split(r"^Handle 0x[0-9A-Fa-f]+, DMI type 17,[^\n]*\n", said["stdout"], flags=re.MULTILINE)[1:]
    return [slot(table) for table in tables] or {"absent": "dmidecode listed no memory device: %s" % excerpt(said)}


def slot(table: str) -> Dict[str, Any]:
    """One slot and the module in it."""
    rows = dict(re.findall(r"^\t([\w ]+): (.*?) *$", table, re.MULTILINE))
    return {
        "locator": rows.get("Locator", {"absent": "Locator is missing"}),
        "bank": rows.get("Bank Locator", {"absent": "Bank Locator is missing"}),
        "bytes": size(rows.get("Size")),
        "mtransfers_per_second": speed(rows, "Configured Memory Speed", "Configured Clock Speed"),
        "rated_mtransfers_per_second": speed(rows, "Speed"),
        "kind": rows.get("Type", {"absent": "Type is missing"}),
        "part": rows.get("Part Number", {"absent": "Part Number is missing"}),
        "serial": rows.get("Serial Number", {"absent": "Serial Number is missing"}),
    }


def size(text: Any) -> Any:
    """Bytes of ``64 GB``; 0 for an empty slot."""
    if text == "No Module Installed":
        return 0
    found = re.match(r"(\d{1,7}) ([kKMGT]B)$", text or "")
    return int(found.group(1)) << UNITS[found.group(2)] if found else {"absent": "Size is %.40r" % (text,)}


def speed(rows: Dict[str, str], *names: str) -> Any:
    """Million transfers a second, under whichever name this version of dmidecode has."""
    text = next((rows[name] for name in names if name in rows), None)
    found = re.match(r"(\d{1,6}) (?:MT/s|MHz)$", text or "")
    return int(found.group(1)) if found else {"absent": "%s is %.40r" % (names[0], text)}
