"""Runs on the node: what Slurm says of it, as scontrol and sinfo tell it."""

import json
import re
from typing import Any, Dict, Tuple

from fleetcheck.node.collectors.values import output, text
from fleetcheck.node.host import Host

READS = (
    ("scontrol show node", "any user"),
    ("sinfo -N", "any user"),
    ("/proc/sys/kernel/hostname", "any user"),
)

SECONDS = 15.0


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{scontrol: {state, reason, gres}, sinfo: {state, reason}}: words as Slurm writes them."""
    name = str(text(host, "/proc/sys/kernel/hostname")).partition(".")[0]
    return {"scontrol": shown(host, name), "sinfo": listed(host, name)}


def shown(host: Host, name: str) -> Dict[str, Any]:
    """``scontrol show node``; state ``NOT_FOUND`` for a node Slurm does not know."""
    said = output(host, ["scontrol", "show", "node", name], SECONDS)
    if "absent" in said:
        return gap(said["absent"])
    if re.search(r"[Nn]ode %s not found" % re.escape(name), said["stdout"] + said["stderr"]):
        return {"state": "NOT_FOUND", "reason": "", "gres": {"absent": "Slurm does not know the node"}}
    if said["status"] != 0:
        return gap("scontrol show node: %s" % (said["stderr"].strip() or "exit status %d" % said["status"]))
    return of_json(said["stdout"]) if said["stdout"].lstrip().startswith("{") else of_text(said["stdout"])


def of_text(said: str) -> Dict[str, Any]:
    """Fields of ``scontrol show node``: the reason runs to the end of its line."""
    state = re.search(r"(?:^|\s)State=(\S+)", said)
    reason = re.search(r"^\s*Reason=(.*)$", said, re.MULTILINE)
    gres = re.search(r"(?:^|\s)Gres=(\S+)", said)
    return {
        "state": state.group(1) if state else {"absent": "scontrol show node: no State in %.120r" % said},
        "reason": reason.group(1).strip()[:300] if reason else "",
        "gres": gres.group(1) if gres else {"absent": "scontrol show node: no Gres"},
    }


def of_json(said: str) -> Dict[str, Any]:
    """The same of ``--json``: the flags are apart from the state in some versions."""
    try:
        node = json.loads(said)["nodes"][0]
        states = words(node["state"]) + words(node.get("state_flags") or [])
        by = node.get("reason_set_by_user") or ""
        reason = str(node.get("reason") or "")[:300] + (" [%s@]" % by if by else "")
        return {"state": "+".join(states).upper(), "reason": reason, "gres": str(node.get("gres", "(null)"))}
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        return gap("scontrol show node: not as expected: %s %s" % (type(error).__name__, error))


def words(value: Any) -> Any:
    """A word or a list of words as a list."""
    return [value] if isinstance(value, str) else [str(each) for each in value]


def listed(host: Host, name: str) -> Dict[str, Any]:
    """The node's line of ``sinfo``: its state may end in a sign, ``*`` for one that does not respond."""
    said = output(host, ["sinfo", "-N", "-h", "-n", name, "-o", "%N %T %E"], SECONDS)
    if "absent" in said or said["status"] != 0:
        return gap(said.get("absent") or "sinfo: %s" % said["stderr"].strip())
    row = line(said["stdout"], name)
    return {"state": row[0], "reason": row[1]} if row[0] else gap("sinfo: no line of %s in %.120r" % (name, said["stdout"]))


def line(said: str, name: str) -> Tuple[str, str]:
    """State and reason of a node."""
    found = re.search(r"^\s*%s\s+(\S+)[ \t]*(.*)$" % re.escape(name), said, re.MULTILINE)
    return (found.group(1), found.group(2).strip()[:300]) if found else ("", "")


def gap(reason: str) -> Dict[str, Any]:
    """Nothing was told."""
    return {"state": {"absent": reason}, "reason": {"absent": reason}, "gres": {"absent": reason}}
