"""Runs on the node: a load taken on: lock, private folder, node code, supervisor detached and seen alive."""

import datetime
import os
import shutil
import time
from typing import Any, Dict, Mapping

import fleetcheck.node
from fleetcheck.node.host import Host
from fleetcheck.node.runtime import _line
from fleetcheck.node.supervisor import alive, detach, ending, place, state
from fleetcheck.node.supervisor.files import read_json, write_json
from fleetcheck.node.supervisor.request import checked

CODE = ("import sys; sys.path.insert(0, sys.argv[1] + '/node.zip'); from fleetcheck.node.supervisor.main import main; "
        "main(sys.argv[1])")
READY_SECONDS = 20.0
SURVIVAL_SECONDS = 0.3


def start(host: Host, asked: Mapping[str, Any]) -> Dict[str, Any]:
    """Start a load, or say that it runs already (the same id) or who else holds this node."""
    request = checked(asked)
    folder = place.folder(host, request["id"])
    with place.Mutex(host):
        if os.path.exists(os.path.join(folder, state.SUPERVISOR)):
            return state.told(host, folder)
        holder = place.holder(host)
        if holder:
            return {"state": "refused", "id": request["id"], "boot_id": _line(host, state.BOOT_ID), "pid": 0,
                    "folder": folder, "how": "", "ends_in": 0,
                    "holder": {key: holder.get(key, "") for key in ("id", "run", "pid", "since")}}
        make_room(host, folder)
        return begin(host, folder, request)


def make_room(host: Host, folder: str) -> None:
    """Take over from a dead supervisor, ending what it left; forget a start that came to nothing, and old loads."""
    lock = os.path.join(place.base(host), place.LOCK)
    left = read_json(lock).get("folder")
    if isinstance(left, str) and os.path.dirname(left) == place.base(host):
        ending.end_processes(host, left)
    place.remove(lock)
    for each in [folder] + place.forgotten(host):
        place.remove_folder(each)


def begin(host: Host, folder: str, request: Dict[str, Any]) -> Dict[str, Any]:
    """Make the folder and start the supervisor in it; nothing stays behind when that fails."""
    place.private(folder)
    try:
        put_code(os.path.join(folder, "node.zip"))
        request["boot_id"] = _line(host, state.BOOT_ID)
        request["since"] = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        write_json(os.path.join(folder, state.REQUEST), request)
        log = os.path.join(folder, state.LOG)
        started = detach.start(host, request["id"], detach.python(CODE, folder), request["seconds"], log)
        write_json(os.path.join(folder, state.STARTED), started)
        await_supervisor(folder)
    except BaseException:
        ending.end_processes(host, folder)
        place.drop_lock(host, request["id"])
        place.remove_folder(folder)
        raise
    return dict(state.told(host, folder), state="started")


def put_code(path: str) -> None:
    """The node code that runs now, where the supervisor finds it: a copy of the archive, or a link to the folder."""
    origin = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(fleetcheck.node.__file__))))
    if os.path.isdir(origin):
        os.symlink(origin, path)
        return
    with open(origin, "rb") as archive, open(path, "xb") as copy:
        shutil.copyfileobj(archive, copy)


def await_supervisor(folder: str) -> None:
    """Wait until the supervisor says that it is there, and see that it outlives its parent."""
    until = time.monotonic() + READY_SECONDS
    while not read_json(os.path.join(folder, state.SUPERVISOR)):
        if time.monotonic() > until:
            raise RuntimeError("the supervisor did not start within %g s: %s" % (READY_SECONDS, state.last_words(folder)))
        time.sleep(0.02)
    time.sleep(SURVIVAL_SECONDS)
    told = read_json(os.path.join(folder, state.SUPERVISOR))
    ended = read_json(os.path.join(folder, state.STATE)).get("ended_why")
    if not ended and not alive.is_alive(told, folder):
        raise RuntimeError("the supervisor did not outlive the process that started it: %s" % state.last_words(folder))
