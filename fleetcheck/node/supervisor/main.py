"""Runs on the node: the supervisor's start and end: the lock, its own deadline, the signal that stops it."""

import os
import signal
import sys
import traceback

from fleetcheck.node import process
from fleetcheck.node.host import Host, current_root
from fleetcheck.node.supervisor import alive, place, state
from fleetcheck.node.supervisor.files import read_json, write_json
from fleetcheck.node.supervisor.supervisor import Supervisor

NAME = "fc-supervisor"
LATE_SECONDS = 60


def main(folder: str) -> None:
    """Run the load of a folder to its end; 1 when another load holds the node."""
    host, request = Host(current_root()), read_json(os.path.join(folder, state.REQUEST))
    process.set_name(NAME)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(request["seconds"]) + LATE_SECONDS)  # the end, should everything else hang
    alive.adopt_orphans()
    supervisor = Supervisor(host, folder, request)
    signal.signal(signal.SIGTERM, supervisor.stop)
    if not present(host, folder, request, supervisor.deadline):
        sys.exit("another load holds this node: %s" % place.holder(host).get("id"))
    try:
        supervisor.run()
    except Exception:
        supervisor.finish("the supervisor failed: %s" % traceback.format_exc().strip().splitlines()[-1])
        raise
    finally:
        supervisor.close()
        place.drop_lock(host, request["id"])


def present(host: Host, folder: str, request: dict, deadline: float) -> bool:  # type: ignore[type-arg]
    """Take the lock and tell who this is; False when somebody else holds the node."""
    told = dict(alive.record(os.getpid()), id=request["id"], run=request["run"], folder=folder, deadline=deadline,
                boot_id=request["boot_id"], since=request["since"])
    draft = os.path.join(folder, "supervisor.draft")
    write_json(draft, told)
    if not place.take_lock(host, told, draft):
        return False
    os.rename(draft, os.path.join(folder, state.SUPERVISOR))
    return True
