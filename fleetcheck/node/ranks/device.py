"""Runs on the node: where one rank's tensors lie: an accelerator or the processors, behind one small interface.

Both have: kind, backend, at (for tensors), name; mark() → a moment in the stream of work; seconds(mark, mark); sync(); free_bytes().
"""

import time


class NoDevice(Exception):
    """The accelerator that a rank should have is not there."""


def opened(torch, kind, local_rank):
    """The device of a local rank. kind: auto, cuda or cpu. Raises NoDevice."""
    if kind == "auto":
        kind = "cuda" if torch.cuda.is_available() else "cpu"
    if kind == "cpu":
        return Processors(torch)
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if local_rank >= count:
        raise NoDevice("torch sees %d accelerators here; rank %d of this node has none" % (count, local_rank))
    return Accelerator(torch, local_rank)


class Processors:
    """One thread, memory of the host, gloo."""

    kind = "cpu"
    backend = "gloo"

    def __init__(self, torch):
        torch.set_num_threads(1)
        self.at = torch.device("cpu")
        self.name = "processors"

    def mark(self):
        """This moment: every call has ended when it returns."""
        return time.perf_counter()

    def seconds(self, first, second):
        """Between two marks."""
        return second - first

    def sync(self):
        """Nothing runs on."""

    def free_bytes(self):
        """What the kernel says is available."""
        with open("/proc/meminfo") as lines:
            told = dict(line.split(":", 1) for line in lines)
        return int(told["MemAvailable"].split()[0]) * 1024


class Accelerator:
    """One GPU, NCCL (or RCCL, under torch's same names)."""

    kind = "cuda"
    backend = "nccl"

    def __init__(self, torch, local_rank):
        self.torch = torch
        torch.cuda.set_device(local_rank)
        self.at = torch.device("cuda", local_rank)
        self.name = torch.cuda.get_device_name(local_rank)

    def mark(self):
        """A moment in the current stream, which waits for the collective's own."""
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, first, second):
        """Between two marks; both must have passed."""
        return first.elapsed_time(second) / 1000.0

    def sync(self):
        """Until all work is done."""
        self.torch.cuda.synchronize()

    def free_bytes(self):
        """Of the accelerator's memory."""
        return self.torch.cuda.mem_get_info()[0]
