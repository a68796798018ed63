"""Runs on the node: faults of ranks on the processors, which only a simulated fleet sets. No rank on a real accelerator reads them."""

import json
import os
import signal
import time

VARIABLE = "FLEETCHECK_RANK_FAULTS"
FOREVER_SECONDS = 86400.0


class Faults:
    """What is wrong with one rank. Entries: {"rank": local rank, "op": its collective} to narrow them (left out: every one), and one of

    absent: it never reaches for the master; late: seconds it comes late; hang, die: at which iteration, from 1, of each size; exit: the
    status with which it ends at once, as a broken installation does; wrong: the iteration from which its data has a wrong element;
    slow: seconds it loses before each call; late_barrier: seconds it comes late to each round.
    """

    def __init__(self, entries, local_rank):
        self.entries = [entry for entry in entries if entry.get("rank", local_rank) == local_rank]

    def value(self, name, op=None):
        """The fault's number for a collective; 0 for none."""
        return max([float(entry.get(name) or 0) for entry in self.entries if entry.get("op", op) == op] or [0.0])

    def before_arrival(self):
        """Come late, end at once or never arrive."""
        status = self.value("exit")
        if status:
            os._exit(int(status))
        time.sleep(FOREVER_SECONDS if self.value("absent") else self.value("late"))

    def before_round(self, op):
        """Be busy with something else while the others wait."""
        time.sleep(self.value("late_barrier", op))

    def before_call(self, op, iteration):
        """What happens to this rank at an iteration, from 1, of a collective."""
        if self.value("die", op) == iteration:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.value("hang", op) == iteration:
            time.sleep(FOREVER_SECONDS)
        time.sleep(self.value("slow", op))

    def spoil(self, op, iteration, tensor):
        """Put a wrong element into what this rank contributes."""
        if 0 < self.value("wrong", op) <= iteration and tensor.numel():
            tensor[tensor.numel() // 2] += 1


def of_rank(local_rank, device):
    """The faults that the environment tells; none of a real accelerator."""
    entries = json.loads(os.environ.get(VARIABLE) or "[]") if device == "cpu" else []
    return Faults([entry for entry in entries if isinstance(entry, dict)], local_rank)
