"""Runs on the node: what ``mlxlink -m -c`` tells of one port, in JSON (MFT 4.22 and later) or in sections of text.

mstlink, of the mstflint that distributions ship, is the same program under another name.
"""

import json
import re
from typing import Any, Dict, Optional

from fleetcheck.node.collectors.counted import excerpt, real, whole

OPERATIONAL, TROUBLE, MODULE = "Operational Info", "Troubleshooting Info", "Module Info"
COUNTERS = "Physical Counters"
"""How the title of the counters begins: they are "Physical Counters and BER Info" in every release of MFT and mstflint."""
_RANGED = re.compile(r"^([-\d.,\s]+?)\s*\[\s*(-?[\d.]+)\s*\.\.\s*(-?[\d.]+)\s*\]$")
READINGS = {
    "temperature_celsius": "Temperature [C]",
    "receive_dbm": "Rx Power Current [dBm]",
    "transmit_dbm": "Tx Power Current [dBm]",
}


def port(said: Dict[str, Any]) -> Dict[str, Any]:
    """{link: {…}, module: {…}}; both absent when mlxlink brought nothing."""
    found = sections(said)
    if "absent" in found:
        return {"link": found, "module": found}
    return {"link": link(found), "module": module(found.get(MODULE))}


def sections(said: Dict[str, Any]) -> Dict[str, Any]:
    """{section: {name: text}}. It ends with 1 when one section could not be had; those that it printed stand."""
    if "absent" in said:
        return said
    found = by_title(parsed(said["stdout"])) or of_text(said["stdout"])
    if OPERATIONAL in found and said["status"] in (0, 1):
        return found
    if said["status"] != 0:
        return {"absent": "mlxlink ended with %d: %s" % (said["status"], excerpt(said))}
    return {"absent": "mlxlink told no %s: %s" % (OPERATIONAL, excerpt(said))}


def parsed(text: str) -> Any:
    """The JSON document, with a warning before it or not; None for text."""
    try:
        return json.JSONDecoder().raw_decode(text[text.index("{"):])[0]
    except ValueError:
        return None


def by_title(document: Any) -> Dict[str, Any]:
    """The object that holds the sections, wherever a version of mlxlink keeps it."""
    if not isinstance(document, dict):
        return {}
    if OPERATIONAL in document:
        return {title: rows for title, rows in document.items() if isinstance(rows, dict)}
    deeper = [by_title(each) for each in document.values()]
    return next((each for each in deeper if each), {})


def of_text(text: str) -> Dict[str, Dict[str, str]]:
    """Sections of text: a title underlined with dashes, then ``name : value``; colours are left out."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    parts = re.split(r"^(\S[^\n:]*)\n-{3,}\s*$", plain, flags=re.MULTILINE)
    return {
        title.strip(): dict(re.findall(r"^([^:\n]+?)\s*: (.*?)\s*$", rows, re.MULTILINE))
        for title, rows in zip(parts[1::2], parts[2::2])
    }


def link(found: Dict[str, Any]) -> Dict[str, Any]:
    """State, what the firmware makes of it, and the errors that are left after error correction."""
    operational, trouble = (found.get(name) or {} for name in (OPERATIONAL, TROUBLE))
    counters: Dict[str, Any] = next((rows for title, rows in found.items() if title.startswith(COUNTERS)), {})
    return {
        "state": word(operational, "State"),
        "fec": word(operational, "FEC"),
        "status_opcode": whole(trouble.get("Status Opcode"), "Status Opcode", 0, 65535),
        "recommendation": word(trouble, "Recommendation"),
        "effective_errors": whole(counters.get("Effective Physical Errors"), "Effective Physical Errors"),
        "effective_error_rate": share(counters.get("Effective Physical BER"), "Effective Physical BER"),
        "link_downs": whole(counters.get("Link Down Counter", counters.get("Link Down")), "Link Down Counter"),
    }


def share(value: Any, what: str) -> Any:
    """A rate of errors per bit."""
    found = real(value, what)
    return found if isinstance(found, dict) or 0 <= found <= 1 else {"absent": "%s is %.40r" % (what, value)}


def module(rows: Any) -> Dict[str, Any]:
    """Who made it, of what kind it is, and each reading with the range that the module itself gives."""
    if not isinstance(rows, dict):
        return {"absent": "mlxlink told no %s" % MODULE}
    about = {"technology": "Cable Technology", "kind": "Cable Type", "part": "Vendor Part Number", "serial": "Vendor Serial Number"}
    found: Dict[str, Any] = {name: word(rows, key) for name, key in about.items()}
    return dict(found, **{name: reading(rows.get(key), key) for name, key in READINGS.items()})


def word(rows: Dict[str, Any], name: str) -> Any:
    """A text; absent when it is missing."""
    value = rows.get(name)
    return value if isinstance(value, str) else {"absent": "%s is missing" % name}


def reading(value: Any, what: str) -> Dict[str, Any]:
    """{values, low, high} of ``47 [-5..75]`` or ``1.2,1.0,1.4,0.9``; N/A stays the reason.

    A module that does not measure is printed as ``0 [0..0]``, one without limits of its own as ``45 [0..0]``.
    """
    if isinstance(value, dict) and isinstance(value.get("values"), list):
        value = ",".join(str(each) for each in value["values"]) + limits_of(value)
    if not isinstance(value, str) or value.strip() in ("", "N/A"):
        return {"absent": "%s: %s" % (what, "N/A" if isinstance(value, str) else "missing")}
    ranged = _RANGED.match(value.strip())
    values = [real(each, what) for each in (ranged.group(1) if ranged else value).split(",")]
    broken = [each for each in values if isinstance(each, dict)]
    if broken:
        return {"absent": "%s is %.40r" % (what, value)}
    if ranged and float(ranged.group(2)) == float(ranged.group(3)) == 0:
        if not any(values):
            return {"absent": "%s: the module does not measure it: %.40r" % (what, value)}
        ranged = None
    open_end = {"absent": "the module gives no range"}
    return {"values": values, "low": end(ranged, 2) or open_end, "high": end(ranged, 3) or open_end}


def end(ranged: Any, group: int) -> Optional[Dict[str, float]]:
    """One end of a module's own range, boxed because 0 is one."""
    return {"at": float(ranged.group(group))} if ranged else None


def limits_of(value: Dict[str, Any]) -> str:
    """The range of a reading in JSON, written as text has it."""
    low, high = value.get("low"), value.get("high")
    return " [%s..%s]" % (low, high) if low is not None and high is not None else ""
