"""Runs on the node: where a load stands, from what its folder says and whether its supervisor lives."""

import os
import time
from typing import Any, Dict

from fleetcheck.node.host import Host
from fleetcheck.node.runtime import _line
from fleetcheck.node.supervisor import alive
from fleetcheck.node.supervisor.files import read_json

BOOT_ID = "/proc/sys/kernel/random/boot_id"
REQUEST, STARTED, SUPERVISOR, STATE = "request.json", "started.json", "supervisor.json", "state.json"
SESSIONS, GROUPS, RESULTS, SNAPSHOTS = "sessions.json", "cgroups.json", "results.json", "snapshots.json"
STOPPED = "stopped"
WINDOWS, EVENTS, SAMPLES, LOG = "windows.jsonl", "events.jsonl", "samples.jsonl", "supervisor.log"


def told(host: Host, folder: str) -> Dict[str, Any]:
    """{state: running, ended, rebooted, gone or none, id, boot ids, pid, folder, how, ends_in, current, ended_why}."""
    supervisor, now = read_json(os.path.join(folder, SUPERVISOR)), read_json(os.path.join(folder, STATE))
    started = read_json(os.path.join(folder, STARTED))
    boot_id = _line(host, BOOT_ID)
    found = where(folder, supervisor, now, boot_id)
    return {
        "state": found, "id": os.path.basename(folder), "boot_id": boot_id,
        "started_boot_id": supervisor.get("boot_id", ""), "pid": supervisor.get("pid", 0), "folder": folder,
        "how": started.get("how", ""), "note": started.get("note", ""), "since": supervisor.get("since", ""),
        "current": now.get("current", "") if found == "running" else "",
        "ends_in": round(max(supervisor["deadline"] - time.monotonic(), 0), 1) if found == "running" else 0,
        "ended_why": lost(folder, found) or now.get("ended_why", ""),
    }


def where(folder: str, supervisor: Dict[str, Any], now: Dict[str, Any], boot_id: Any) -> str:
    """The state's name."""
    if not supervisor:
        return "none"
    rebooted = supervisor.get("boot_id") != boot_id
    if now.get("ended_why") and not (rebooted and now["ended_why"] == STOPPED):  # an orderly reboot stops a load first
        return "ended"
    if rebooted:
        return "rebooted"
    return "running" if alive.is_alive(supervisor, folder) else "gone"


def lost(folder: str, found: str) -> str:
    """Why a load ended that could not say so itself."""
    if found == "gone":
        return "the supervisor is gone without a word of its end (killed?): %s" % last_words(folder)
    return "the node has booted since" if found == "rebooted" else ""


def last_words(folder: str) -> str:
    """The end of what the supervisor wrote to its log."""
    try:
        with open(os.path.join(folder, LOG), "rb") as log:
            log.seek(max(os.fstat(log.fileno()).st_size - 2000, 0))
            said = log.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        said = []
    return said[-1][:300] if said else "its log is empty"
