"""Runs on the node, in its torch environment: one rank of a trial, from its request to its last word. Ends with whoever started it."""

import faulthandler
import json
import os
import re
import signal
import sys
import threading
import time
import traceback
import warnings

from fleetcheck.node.ranks import bench, device, faults, overlap, reach, sendrecv
from fleetcheck.node.ranks.join import Meeting, Refused
from fleetcheck.node.ranks.ops import Group
from fleetcheck.node.ranks.pattern import Pattern
from fleetcheck.node.ranks.voice import Voice

MEMORY_PART = 0.8
KINDS = (
    ("memory", re.compile(r"out of memory", re.IGNORECASE)),
    ("timeout", re.compile(r"timed? ?out|timeout", re.IGNORECASE)),
    ("peer-lost", re.compile(r"closed by (?:remote )?peer|connection reset|broken pipe|remote process exited|socket closed|"
                             r"connection was likely closed", re.IGNORECASE)),
)
"""What an exception of a collective says; the first that fits."""


def main(block):
    """One request: the trial with rank, local_rank."""
    asked = json.loads(block.decode())
    voice = Voice()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(asked["alarm_seconds"]))
    threading.Thread(target=end_with_starter, daemon=True).start()
    try:
        run(asked, voice)
    except (Refused, reach.Unreached) as error:
        voice.failed(error.kind, str(error))
    except Exception as error:  # noqa: BLE001 - whatever breaks a rank is told
        traceback.print_exc()
        voice.failed(kind_of(error), in_words(error))
    voice.tell({"end": True})
    sys.stderr.flush()
    os._exit(0)


def end_with_starter():
    """Standard input stays open for as long as anybody wants this rank."""
    sys.stdin.buffer.read(1)
    os._exit(1)


def run(asked, voice):
    """Everything a rank does."""
    reach.resolved(asked["master_addr"], asked["master_port"])
    torch = imported(asked, voice)
    try:
        own = device.opened(torch, asked["device"], asked["local_rank"])
    except device.NoDevice as error:
        raise Refused("no-device", str(error)) from None
    voice.at("going to the master")
    wrong = faults.of_rank(asked["local_rank"], own.kind)
    wrong.before_arrival()
    dist = torch.distributed
    meeting = Meeting(dist, asked, voice)
    local = meeting.open()
    meeting.gather()
    meeting.connect(own.backend, local)
    benches(asked, torch, own, voice, wrong)
    voice.at("leaving")
    meeting.leave()


def imported(asked, voice):
    """torch with collectives; raises Refused."""
    voice.at("importing torch")
    warnings.simplefilter("ignore")
    try:
        import torch
        import torch.distributed
    except Exception as error:  # noqa: BLE001 - a broken installation raises anything
        raise Refused("no-torch", "torch cannot be imported by %s: %s" % (sys.executable, in_words(error))) from None
    if not torch.distributed.is_available():
        raise Refused("no-torch", "this torch (%s) was built without torch.distributed" % torch.__version__)
    voice.tell({"software": {"torch": str(torch.__version__), "cuda": str(torch.version.cuda or torch.version.hip or "")}})
    return torch


def benches(asked, torch, own, voice, wrong):
    """Every benchmark at every size, each told as soon as it is done."""
    dist = torch.distributed
    rank, per_node, world = asked["rank"], asked["per_node"], asked["nnodes"] * asked["per_node"]
    everybody = Group(dist, list(range(world)), rank)
    job = bench.Job(torch, own, voice, wrong, least(torch, dist, own, asked), time.monotonic(), asked["seconds"],
                    asked["stall_seconds"] / 2)
    rails = groups_of_rails(dist, rank, per_node, world) if any(one["rail"] for one in asked["bench"]) else None
    for one in asked["bench"]:
        group = rails if one["rail"] and rails else everybody
        pattern = Pattern(torch, own, one["dtype"], group.size)
        for size in one["bytes"]:
            if one["op"] == "send_recv":
                entries = sendrecv.measure(job, one, size, pattern, everybody, per_node)
            elif one["op"] == "overlap":
                entries = [overlap.measure(job, one, size, pattern, group)]
            else:
                entries = [bench.measure(job, one, size, pattern, group, str(rank % per_node) if group is rails else "")]
            for entry in entries:
                voice.tell({"bench": entry})


def least(torch, dist, own, asked):
    """Bytes that every rank has for buffers: the least of all; ranks of one node share the processors' memory."""
    shared = asked["per_node"] if own.kind == "cpu" else 1
    told = torch.tensor([int(MEMORY_PART * own.free_bytes() / shared) >> 20], dtype=torch.int64, device=own.at)
    dist.all_reduce(told, op=dist.ReduceOp.MIN)
    return int(told.item()) << 20


def groups_of_rails(dist, rank, per_node, world):
    """The group of all ranks with this local rank; each rank has to make all of them."""
    members = [list(range(local, world, per_node)) for local in range(per_node)]
    handles = [dist.new_group(ranks) for ranks in members]
    return Group(dist, members[rank % per_node], rank, handles[rank % per_node])


def kind_of(error):
    """What an exception is about."""
    return next((kind for kind, words in KINDS if words.search(str(error))), "broken")


def in_words(error):
    """An exception in one line, without gloo's places in its source and its advice."""
    lines = re.sub(r"\[/\S+:\d+\] ", "", str(error)).partition(". This is typically")[0].strip().splitlines()
    return "%s: %.400s" % (type(error).__name__, lines[0] if lines else "no message")
