"""Runs on the node: a load ended and everything of it removed: unit, sessions, memory cgroups, folder, lock."""

import os
import signal
import time
from typing import Any, Dict, List

from fleetcheck.node import process
from fleetcheck.node.host import Host
from fleetcheck.node.supervisor import alive, cgroup, detach, place, state
from fleetcheck.node.supervisor.files import read_json

OWN_END_SECONDS = 12.0


def end(host: Host, name: Any) -> Dict[str, Any]:
    """End a load: {state: cleaned, or unclean with what is left}. One that is not there is clean already."""
    folder = place.folder(host, name)
    if not os.path.isdir(place.base(host)):
        return {"state": "cleaned", "left": []}
    with place.Mutex(host):
        left = end_processes(host, folder, OWN_END_SECONDS)
        if not left:
            place.drop_lock(host, str(name))
            place.remove_folder(folder)
            left += ["the folder %s could not be removed" % folder] if os.path.lexists(folder) else []
        place.remove_base(host)
    return {"state": "unclean" if left else "cleaned", "left": left}


def end_processes(host: Host, folder: str, patience: float = 0.0) -> List[str]:
    """End the supervisor, gently for as long as ``patience``, and all that it started; what no signal reached, in words."""
    supervisor = read_json(os.path.join(folder, state.SUPERVISOR))
    if patience and supervisor and alive.is_alive(supervisor, folder):
        alive.send(supervisor["pid"], signal.SIGTERM)
        alive.wait_gone(supervisor, patience)
    left = unit_left(host, folder)
    sessions = read_json(os.path.join(folder, state.SESSIONS)).get("sessions", [])
    if supervisor and (alive.is_alive(supervisor, folder) or alive.members(supervisor)):
        sessions = [supervisor] + sessions
    stuck = [one for each in sessions for one in alive.end_session(each)] + end_marked(folder)
    cgroup.remove(read_json(os.path.join(folder, state.GROUPS)).get("cgroups", []))
    return left + [in_words(one) for one in stuck]


def end_marked(folder: str) -> List[process.Process]:
    """Kill what a load started and nobody looks after any more; what no signal ended within a second."""
    until = time.monotonic() + 1.0
    left = alive.marked(folder)
    while left and time.monotonic() < until:
        for one in left:
            process.kill(one.pid)
        time.sleep(0.02)
        left = alive.marked(folder)
    return left


def unit_left(host: Host, folder: str) -> List[str]:
    """Stop the unit, if the load runs in one; what systemd said when it could not."""
    unit = read_json(os.path.join(folder, state.STARTED)).get("unit")
    problem = detach.end_unit(host, unit) if unit else ""
    return [problem] if problem else []


def in_words(one: process.Process) -> str:
    """A process that stays."""
    return "pid %d (%s) in state %s, %d s old: no signal ends it" % (one.pid, one.name, one.state, process.age(one))
