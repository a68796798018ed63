"""Having a node to oneself before it is loaded: nothing, an exclusive Slurm job, or a Slurm reservation. Runs on the controller.

Each is taken without disturbing a job: what runs on the node is asked first, and Slurm itself refuses a node that is taken.
Account and partition of the job come from Slurm's own SBATCH_ACCOUNT and SBATCH_PARTITION.
"""

from __future__ import annotations

import getpass
import math
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fleetcheck.facts.scheduler import BY
from fleetcheck.isolation import mark
from fleetcheck.quoting import quoted

PROGRAM_SECONDS = 30.0
OVERTIME_SECONDS = 600
"""A claim outlives its load by this, for starting, fetching and cleaning up."""
UNDECIDED = ("PENDING", "CONFIGURING", "REQUEUED", "")

Run = Callable[[Sequence[str]], "Said"]


class ClaimError(Exception):
    """A claim's program failed; the text says which and what it said."""


class Busy(Exception):
    """The node is somebody else's; the text is the reason, such as ``job 123``."""


@dataclass(frozen=True)
class Said:
    """How a program ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def words(self) -> str:
        """Its last words."""
        return quoted((self.stderr.strip() or self.stdout.strip() or f"exit status {self.status}").splitlines()[-1], 200)


def run(argv: Sequence[str]) -> Said:
    """One of Slurm's programs, under a deadline. Raises ClaimError when it does not answer."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
                              timeout=PROGRAM_SECONDS, env={**os.environ, "LC_ALL": "C"})
    except subprocess.TimeoutExpired:
        raise ClaimError(f"{argv[0]} did not answer within {PROGRAM_SECONDS:g} s") from None
    except OSError as error:
        raise ClaimError(f"{argv[0]}: {error.strerror}") from None
    return Said(done.returncode, done.stdout, done.stderr)


def minutes(seconds: float) -> str:
    """A claim's length as Slurm takes it: whole minutes.

    >>> minutes(3600)
    '70'
    """
    return str(math.ceil((seconds + OVERTIME_SECONDS) / 60))


def job_argv(node: str, run_id: str, seconds: float) -> list[str]:
    """An exclusive job that holds the node and does nothing."""
    return ["sbatch", "--parsable", "--exclusive", "--nodes=1", f"--nodelist={node}", f"--time={minutes(seconds)}",
            f"--job-name=fleetcheck-{run_id}", "--output=/dev/null", "--error=/dev/null", "--no-requeue", "--chdir=/",
            f"--wrap=sleep {math.ceil(seconds + OVERTIME_SECONDS)}"]


def reservation(node: str, run_id: str) -> str:
    """The name of a reservation."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"fleetcheck_{run_id}_{node}")


def reservation_argv(node: str, run_id: str, seconds: float, user: str) -> list[str]:
    """A reservation of the node from now on; Slurm refuses it while a job runs there."""
    return ["scontrol", "create", "reservation", f"ReservationName={reservation(node, run_id)}", "StartTime=now",
            f"Duration={minutes(seconds)}", f"Nodes={node}", f"Users={user}"]


def jobs_argv(node: str) -> list[str]:
    """The jobs that have the node now."""
    return ["squeue", "--noheader", f"--nodelist={node}", "--states=RUNNING,COMPLETING,SUSPENDED,CONFIGURING,STOPPED", "--format=%i %j"]


def state_argv(job: str) -> list[str]:
    """A job's state and why it waits."""
    return ["squeue", "--noheader", f"--jobs={job}", "--states=all", "--format=%T %r"]


def node_argv(node: str) -> list[str]:
    """How Slurm says the node stands."""
    return ["scontrol", "show", "node", node]


def others(listed: str, run_id: str) -> list[str]:
    """The jobs of a squeue that are not this run's own claim.

    >>> others("123 train\\n124 fleetcheck-r1\\n", "r1")
    ['123']
    """
    rows = [line.split(None, 1) for line in listed.splitlines() if line.strip()]
    return [row[0] for row in rows if row[1:] != [f"fleetcheck-{run_id}"]]


def busy(jobs: Sequence[str]) -> str:
    """Whose node it is, in words.

    >>> busy(["slurm 123", "124"])
    'job 123, 124'
    """
    return f"job {', '.join(job.removeprefix('slurm ') for job in jobs[:5])}"


def take(claim: str, node: str, run_id: str, seconds: float, ask: Run = run) -> str:
    """Ask for a node; what to release it by, empty for ``none``. Raises Busy or ClaimError."""
    if claim == "none":
        return ""
    _refuse_busy(node, run_id, ask)
    by_job = claim == "slurm-job" and not _isolated(node, ask)
    return _take_job(node, run_id, seconds, ask) if by_job else _take_reservation(node, run_id, seconds, ask)


def _isolated(node: str, ask: Run) -> bool:
    """Whether the node is drained by ``fleetcheck isolate``: it takes no job, and its retest is to load it all the same."""
    reasons = re.findall(r"^\s*Reason=(.*)$", ask(node_argv(node)).stdout, re.MULTILINE)
    return len(reasons) == 1 and mark.read(BY.sub("", reasons[0])) is not None


def _refuse_busy(node: str, run_id: str, ask: Run) -> None:
    said = ask(jobs_argv(node))
    if said.status:
        raise ClaimError(f"squeue: {said.words}; is {node} its name in Slurm?")
    jobs = others(said.stdout, run_id)
    if jobs:
        raise Busy(busy(jobs))


def _take_job(node: str, run_id: str, seconds: float, ask: Run) -> str:
    said = ask(job_argv(node, run_id, seconds))
    job = said.stdout.strip().partition(";")[0]
    if said.status or not re.fullmatch(r"[0-9]+", job):
        raise ClaimError(f"sbatch: {said.words}; try it by hand: {' '.join(job_argv(node, run_id, seconds)[:5])}")
    return f"job {job}"


def _take_reservation(node: str, run_id: str, seconds: float, ask: Run) -> str:
    said = ask(reservation_argv(node, run_id, seconds, getpass.getuser()))
    if said.status:
        _refuse_busy(node, run_id, ask)
        raise ClaimError(f"scontrol create reservation: {said.words}; only operators of Slurm may; claim: slurm-job needs no such right")
    return f"reservation {reservation(node, run_id)}"


def granted(held: str, ask: Run = run) -> bool:
    """Whether the node is ours now; False: not yet. Raises ClaimError when it never will be."""
    kind, _, name = held.partition(" ")
    if kind != "job":
        return True
    said = ask(state_argv(name))
    state, _, reason = said.stdout.strip().partition(" ")
    if state == "RUNNING":
        return True
    if said.status or state not in UNDECIDED:
        raise ClaimError(f"Slurm job {name} is {state or said.words}{f' ({reason})' if reason else ''} before its load began")
    return False


def denied(node: str, held: str, run_id: str, ask: Run = run) -> Busy:
    """Why a claim did not come true in time."""
    said, state = ask(jobs_argv(node)), ask(state_argv(held.partition(" ")[2]))
    jobs = others(said.stdout, run_id) if not said.status else []
    return Busy(busy(jobs) if jobs else f"Slurm job waits for it ({state.stdout.strip() or state.words})")


def release(held: str, ask: Run = run) -> None:
    """Give a node back. Raises ClaimError."""
    kind, _, name = held.partition(" ")
    argv = {"job": ["scancel", name], "reservation": ["scontrol", "delete", f"ReservationName={name}"]}.get(kind)
    if argv and (said := ask(argv)).status:
        raise ClaimError(f"{' '.join(argv)}: {said.words}")
