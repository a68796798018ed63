"""Runs on the node: how one rank finds the others: the master's store, who has arrived, torch's process group."""

import datetime
import json
import os
import time
from typing import Any

from fleetcheck.node.ranks import addresses, reach

POLL_SECONDS = 0.1
NAMED = 256
"""Missing ranks are named up to so many."""
LEAVE_SECONDS = 5.0


class Refused(Exception):
    """This rank cannot go on. kind: as told to the controller."""

    def __init__(self, kind, why):
        super().__init__(why)
        self.kind = kind


class Meeting:
    """The ranks of a trial around the store that rank 0 keeps."""

    def __init__(self, dist, asked, voice):
        self.dist, self.voice = dist, voice
        self.host, self.port = asked["master_addr"], asked["master_port"]
        self.rank, self.world = asked["rank"], asked["nnodes"] * asked["per_node"]
        self.seconds, self.stall = asked["rendezvous_seconds"], asked["stall_seconds"]
        self.interface = asked["environment"].get("GLOO_SOCKET_IFNAME", "")
        self.store: Any = None

    def open(self):
        """Rank 0 opens the port, the others reach for it. Raises Refused, reach.Unreached."""
        until = time.monotonic() + self.seconds
        master = self.rank == 0
        self.voice.at("opening port %d" % self.port if master else "reaching for the master")
        if master and not reach.free(self.port):
            raise Refused("port-taken", "port %d is taken on this node" % self.port)
        local = None if master else reach.reach(self.host, self.port, self.seconds, self.voice.pulse)
        wait = datetime.timedelta(seconds=max(1.0, until - time.monotonic()))
        self.store = self.dist.TCPStore(self.host, self.port, self.world, master, wait, wait_for_workers=False)
        return local or reach.reach(self.host, self.port, self.seconds)

    def gather(self):
        """Until all have arrived; raises Refused, which on rank 0 names those who have not."""
        self.store.set("arrived/%d" % self.rank, "1")
        self.store.add("arrived", 1)
        self.voice.tell({"arrived": True, "at": "waiting for the other ranks"})
        until = time.monotonic() + self.seconds
        if self.rank == 0:
            self.await_all(until)
        missing = json.loads(self.word("go", until + POLL_SECONDS + LEAVE_SECONDS))
        if missing:
            raise Refused("missing", "within %g s %s" % (self.seconds, in_words(missing)))

    def await_all(self, until):
        """Rank 0 counts, and tells everybody who is missing."""
        while self.store.add("arrived", 0) < self.world and time.monotonic() < until:
            self.voice.pulse()
            time.sleep(POLL_SECONDS)
        short = self.store.add("arrived", 0) < self.world
        missing = [one for one in range(self.world) if not self.store.check(["arrived/%d" % one])] if short else []
        if missing:
            self.voice.tell({"missing": missing[:NAMED]})
        self.store.set("go", json.dumps(missing))

    def word(self, key, until):
        """What rank 0 says under a key; raises Refused when it says nothing."""
        while not self.store.check([key]):
            if time.monotonic() > until:
                raise Refused("missing", "the master said nothing more within %g s" % self.seconds)
            self.voice.pulse()
            time.sleep(POLL_SECONDS)
        return self.store.get(key).decode()

    def connect(self, backend, local):
        """torch's process group over everybody. local: the address by which the master was reached, whose interface gloo takes."""
        found = self.interface or addresses.holder(local, addresses.by_interface())
        if found and backend == "gloo":
            os.environ["GLOO_SOCKET_IFNAME"] = found
        self.voice.at("connecting the ranks")
        self.dist.init_process_group(backend, store=self.dist.PrefixStore("group", self.store), rank=self.rank, world_size=self.world,
                                     timeout=datetime.timedelta(seconds=self.stall))

    def leave(self):
        """Rank 0 keeps the store until the others have done with it."""
        self.store.add("left", 1)
        until = time.monotonic() + LEAVE_SECONDS
        while self.rank == 0 and self.store.add("left", 0) < self.world and time.monotonic() < until:
            time.sleep(POLL_SECONDS / 4)


def in_words(missing):
    """``ranks 2, 3 did not arrive``."""
    return "%s %s did not arrive" % ("rank" if len(missing) == 1 else "ranks", ", ".join(str(one) for one in missing[:32]))
