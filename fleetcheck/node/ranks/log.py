"""Runs on the node: what the libraries of one rank wrote: its last words, and NCCL's lines about the way it took."""

import re

TAIL_BYTES = 4096
INTEREST = re.compile(
    rb"NCCL (?:INFO|WARN).*(?:via |Using network|NET/|NVLS|Connected all|Could not|plugin|version|GDR|DMABUF)|NCCL WARN|NCCL version"
    rb"|Watchdog caught collective|remote process exited|closed by remote peer|ncclRemoteError")
MOST_LINES = 200
LINE_BYTES = 300
PLACE = re.compile(rb"^(?:\[[\d :.-]+\] )?\S+:\d+:\d+ \[\d+\] ")
"""Who says it; since NCCL 2.26 a warning has its time before that."""


class Log:
    """Standard error of one rank, as it comes."""

    def __init__(self):
        self.last = b""
        self.partial = b""
        self.lines = {}

    def take(self, chunk):
        """More of it."""
        self.last = (self.last + chunk)[-TAIL_BYTES:]
        *lines, rest = (self.partial + chunk).split(b"\n")
        self.partial = rest[-LINE_BYTES:]
        for line in lines:
            if INTEREST.search(line) and len(self.lines) < MOST_LINES:
                self.lines.setdefault(PLACE.sub(b"", line)[:LINE_BYTES], line[:LINE_BYTES])

    def tail(self):
        """Its last words."""
        return self.last.decode("utf-8", "replace").strip()

    def transport(self):
        """Lines of NCCL about networks and channels, each once."""
        return [line.decode("utf-8", "replace") for line in self.lines.values()]
