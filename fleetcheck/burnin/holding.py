"""Whether the nodes under load are still ours: one question to Slurm for all claims of a run, asked again after a while.

Runs on the controller, from several threads. Slurm that does not answer takes no claim away: it is asked again later.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fleetcheck.burnin.claims import ClaimError, Run, reservation
from fleetcheck.quoting import escaped

HELD = ("RUNNING", "CONFIGURING", "SIGNALING", "RESIZING")
"""States in which a job's nodes are its own (squeue, JOB STATE CODES)."""
Held = Mapping[str, str]
"""What Slurm says of each claim, by the words it is kept under: ``job 123``, ``reservation NAME``."""


def jobs_of_run_argv(run_id: str) -> list[str]:
    """The jobs that hold nodes for a run, those that have ended too."""
    return ["squeue", "--noheader", f"--name=fleetcheck-{run_id}", "--states=all", "--format=%i %T %r"]


RESERVATIONS_ARGV = ["scontrol", "show", "reservation", "--oneliner"]


def jobs(told: str) -> Held:
    """State and reason of each job.

    >>> jobs("12 RUNNING None\\n13 PREEMPTED None\\n")
    {'job 12': 'RUNNING', 'job 13': 'PREEMPTED'}
    """
    rows = [line.split(None, 2) for line in told.splitlines()]
    return {f"job {row[0]}": row[1] + (f" ({row[2]})" if row[2:] not in ([], ["None"]) else "") for row in rows if len(row) > 1}


def reservations(told: str) -> Held:
    """The nodes of each reservation.

    >>> reservations("ReservationName=fleetcheck_r1_n1 StartTime=x Nodes=n1 NodeCnt=1 State=ACTIVE\\n")
    {'reservation fleetcheck_r1_n1': 'n1'}
    """
    return {f"reservation {found[1]}": found[2] for line in told.splitlines()
            if (found := re.match(r"ReservationName=(\S+) .*?\bNodes=(\S+)", line))}


@dataclass
class Holding:
    """``lost`` says why a claim is one no more. now: seconds of a clock; every: for how long an answer holds."""

    run: Run
    now: Callable[[], float]
    every: float
    _told: dict[str, tuple[float, Held | None]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lost(self, held: str, node: str, run_id: str) -> str:
        """Why the node is no longer ours, in words; empty while it is, or while Slurm does not say."""
        kind, _, name = held.partition(" ")
        if kind not in ("job", "reservation"):
            return ""
        told = self._asked(kind, run_id)
        if told is None:
            return ""
        return _job_lost(name, told.get(held)) if kind == "job" else _reservation_lost(node, run_id, told.get(held))

    def _asked(self, kind: str, run_id: str) -> Held | None:
        """Slurm's word on all claims of a kind; None where it gives none."""
        with self._lock:
            moment, told = self._told.get(kind, (float("-inf"), None))
            if self.now() - moment >= self.every:
                told = self._ask(kind, run_id)
                self._told[kind] = self.now(), told
            return told

    def _ask(self, kind: str, run_id: str) -> Held | None:
        try:
            said = self.run(jobs_of_run_argv(run_id) if kind == "job" else RESERVATIONS_ARGV)
        except ClaimError:
            return None
        if said.status:
            return None
        return jobs(said.stdout) if kind == "job" else reservations(said.stdout)


def _job_lost(name: str, state: str | None) -> str:
    if state is None:
        return f"Slurm knows its job {name} no more: it was cancelled"
    return "" if state.split(" ")[0] in HELD else escaped(f"Slurm job {name} is {state:.80}")


def _reservation_lost(node: str, run_id: str, nodes: str | None) -> str:
    name = reservation(node, run_id)
    if nodes is None:
        return f"its reservation {name} is gone"
    return "" if nodes == node else escaped(f"its reservation {name} is of {nodes:.80} now")
