"""Runs on the node: its part of one trial: starts its ranks, waits for their ends, tells all of them, leaves none."""

import os
import time

from fleetcheck.node.ranks import asked as request
from fleetcheck.node.ranks import crew
from fleetcheck.node.ranks.around import Around

ALARM_LATE_SECONDS = 20.0
MARGIN_SECONDS = 5.0


def run(host, trial):
    """{arrived, why, failed, seconds, boot_id, ranks: […], before, after, kernel}."""
    asked = request.checked(trial)
    began, around = time.monotonic(), Around(host)
    whole = asked["start_seconds"] + asked["rendezvous_seconds"] + asked["seconds"]
    try:
        ranks = crew.start(asked, lambda local: one(asked, local, whole))
    except OSError as error:
        why = "%s: %s" % (asked["torch_python"] or "python3", error.strerror or error)
        return dict(around.told(), arrived=False, failed="no-torch", why=why, ranks=[], seconds=time.monotonic() - began)
    try:
        crew.attend(ranks, began + whole, lambda rank: patience(asked, rank))
    finally:
        for rank in ranks:
            rank.close()
    told = [rank.report() for rank in ranks]
    first = next((each for each in told if each["failed"]), {"failed": "", "why": ""})
    return dict(around.told(), arrived=all(each["arrived"] for each in told), failed=first["failed"], why=first["why"], ranks=told,
                seconds=round(time.monotonic() - began, 3), boot_id=host.read_or_absent("/proc/sys/kernel/random/boot_id").strip()
                if host.exists("/proc/sys/kernel/random/boot_id") else {"absent": "no boot id"})


def one(asked, local, whole):
    """A rank's request and environment."""
    rank = asked["node_rank"] * asked["per_node"] + local
    told = {name: asked[name] for name in ("id", "master_addr", "master_port", "nnodes", "per_node", "rendezvous_seconds", "stall_seconds",
                                           "environment", "device", "bench", "seconds")}
    environment = dict(os.environ, NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,NET", TORCH_NCCL_ASYNC_ERROR_HANDLING="1",
                       TORCH_NCCL_DUMP_ON_TIMEOUT="0")  # it would write files
    environment.update(asked["environment"])
    environment.update({"MASTER_ADDR": asked["master_addr"], "MASTER_PORT": str(asked["master_port"]), "RANK": str(rank),
                        "LOCAL_RANK": str(local), "WORLD_SIZE": str(asked["nnodes"] * asked["per_node"]),
                        "LOCAL_WORLD_SIZE": str(asked["per_node"]), "NODE_RANK": str(asked["node_rank"])})
    return dict(told, rank=rank, local_rank=local, alarm_seconds=whole + ALARM_LATE_SECONDS), environment


def patience(asked, rank):
    """For how long a rank may show nothing: importing torch takes a cold file system a minute."""
    if rank.at in ("starting", "importing torch"):
        return asked["start_seconds"]
    return (asked["stall_seconds"] if rank.told["arrived"] else asked["rendezvous_seconds"]) + MARGIN_SECONDS
