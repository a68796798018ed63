"""Runs on the node: the ranks of one node: started with the node's torch, heard line by line, none left at the end."""

import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from typing import Any, Dict

from fleetcheck.node import bootstrap, process
from fleetcheck.node.child import archive
from fleetcheck.node.ranks.log import Log

LINE_LIMIT = 1 << 20
WORDS_SECONDS = 0.5
"""How long a stuck rank has to say where it hangs."""
OOM_SCORE = 1000  # proc_pid_oom_score_adj(5)


def code():
    """What ``python -c`` runs to become a rank: the bootstrap, with another way in."""
    loader: Any = bootstrap.__loader__
    source = loader.get_source("fleetcheck.node.bootstrap")
    return source.rpartition("if __name__")[0] + 'start("fleetcheck.node.ranks.main")\n'


def own_archive():
    """The archive that this node code came in."""
    descriptor = archive()
    if not descriptor:
        raise ValueError("ranks need node code that came as an archive")
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def block(content):
    """As bootstrap.receive() takes it."""
    return b"%010d%s" % (len(content), content)


class Rank:
    """One rank's process. at: where it said that it is; ended: how it ended, "" while it works."""

    def __init__(self, argv, environment, request, code_archive):
        self.number, self.local = request["rank"], request["local_rank"]
        self.popen = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                                      env=environment, close_fds=True, preexec_fn=apart)
        self.input = block(code_archive) + block(json.dumps(request).encode())
        self.said, self.log = b"", Log()
        self.at, self.since, self.ended = "starting", time.monotonic(), ""
        self.told: Dict[str, Any] = {"arrived": False, "failed": "", "why": "", "bench": [], "missing": [], "software": {}}
        for stream in self.streams():
            os.set_blocking(stream.fileno(), False)

    def streams(self):
        """Its three pipes, input first."""
        assert self.popen.stdin and self.popen.stdout and self.popen.stderr
        return [self.popen.stdin, self.popen.stdout, self.popen.stderr]

    def feed(self):
        """Hand over more of the request; False when it has all of it, or takes no more."""
        try:
            self.input = self.input[os.write(self.streams()[0].fileno(), self.input[:1 << 16]):]
        except BlockingIOError:
            pass
        except OSError:
            self.input = b""
        return bool(self.input)

    def listen(self, stream):
        """Take what it wrote; False at the end of that stream."""
        try:
            chunk = os.read(stream.fileno(), 1 << 16)
        except BlockingIOError:
            return True
        if stream is self.popen.stderr:
            self.log.take(chunk)
        else:
            *lines, rest = (self.said + chunk).split(b"\n")
            self.said = rest[-LINE_LIMIT:]
            for line in lines:
                self.line(line)
        return bool(chunk)

    def line(self, line):
        """One line of JSON; anything else is noise of a library."""
        try:
            found = json.loads(line.decode())
        except ValueError:
            return
        if not isinstance(found, dict):
            return
        self.since = time.monotonic()
        self.at = found.get("at", self.at)
        self.told["arrived"] = self.told["arrived"] or "arrived" in found
        if "bench" in found:
            self.told["bench"].append(found["bench"])
        for name in ("failed", "why", "missing", "software"):
            if name in found:
                self.told[name] = found[name]

    def is_over(self):
        """Whether its process is dead; it is collected at the end only."""
        return os.waitid(os.P_PID, self.popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def stop(self, why):
        """End it; a stuck one is asked first to say where it hangs."""
        if self.is_over():
            return
        self.ended, self.told["failed"], self.told["why"] = "timeout", "timeout", why
        try:
            os.kill(self.popen.pid, signal.SIGUSR1)
        except OSError:
            pass

    def close(self):
        """Kill what is left of its process group and take its last words."""
        for kill in (os.killpg, os.kill):
            try:
                kill(self.popen.pid, signal.SIGKILL)
            except OSError:
                pass
        status = process.reap(self.popen.pid, 2.0)
        self.popen.returncode = 0  # it is collected here, or held by the kernel
        for stream in self.streams()[1:]:
            while self.listen(stream) and self.readable(stream):
                pass
        for stream in self.streams():
            stream.close()
        if not self.ended:
            self.ended = process.ending(self.popen.pid, status).replace("exit status", "exit")

    @staticmethod
    def readable(stream):
        """Whether more is there now."""
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            return bool(selector.select(0))

    def report(self):
        """What is told of it: {rank, local_rank, ended, at, failed, why, arrived, missing, software, bench, output, transport}."""
        return dict(self.told, rank=self.number, local_rank=self.local, ended=self.ended, at=self.at, output=self.log.tail(),
                    transport=self.log.transport())


def apart():
    """A group of its own, an end with the collector, however that ends, no core file, first for the OOM killer."""
    os.setpgrp()
    process.die_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("%d\n" % OOM_SCORE)
    except OSError:
        pass


def attend(ranks, deadline, stall):
    """Hear all ranks to their ends; one that shows nothing for ``stall`` seconds, or is there at the deadline, is ended."""
    with selectors.DefaultSelector() as selector:
        for rank in ranks:
            selector.register(rank.popen.stdin, selectors.EVENT_WRITE, (rank, rank.popen.stdin))
            for stream in rank.streams()[1:]:
                selector.register(stream, selectors.EVENT_READ, (rank, stream))
        while [rank for rank in ranks if not rank.ended and not rank.is_over()]:
            hear(selector, 0.1)
            end_late_ones(ranks, deadline, stall)
        until = time.monotonic() + WORDS_SECONDS
        while selector.get_map() and time.monotonic() < until and hear(selector, 0.1):
            pass


def hear(selector, seconds):
    """What is ready on any pipe, once; whether anything was. Input that was handed over stays open, unwatched."""
    ready = selector.select(seconds)
    for key, _ in ready:
        rank, stream = key.data
        goes_on = rank.feed() if stream is rank.popen.stdin else rank.listen(stream)
        if not goes_on:
            selector.unregister(stream)
    return bool(ready)


def end_late_ones(ranks, deadline, stall):
    """Stop those that are late."""
    now = time.monotonic()
    for rank in ranks:
        if not rank.ended and now - rank.since > stall(rank):
            rank.stop("nothing more for %.0f s in: %s" % (now - rank.since, rank.at))
        elif not rank.ended and now > deadline:
            rank.stop("still there when its time was over, in: %s" % rank.at)


def start(asked, request_of):
    """All ranks of this node. request_of(local rank) → (request, environment)."""
    code_archive = own_archive()
    python = asked["torch_python"] or ("python3" if asked["prefix"] else sys.executable)
    argv = list(asked["prefix"]) + [python, "-B", "-c", code()]
    ranks = []
    try:
        for local in range(asked["per_node"]):
            request, environment = request_of(local)
            ranks.append(Rank(argv, environment, request, code_archive))
    except OSError:
        for rank in ranks:
            rank.close()
        raise
    return ranks
