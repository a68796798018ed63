"""A node with a Slurm job on it: the step's process under /proc, and what squeue says. Pure."""

from __future__ import annotations

from typing import Any

PID = 48213


def processes(job: str) -> dict[str, Any]:
    """``slurmstepd: [JOB.batch]`` as /proc shows it; nothing without a job."""
    if not job:
        return {}
    return {f"/proc/{PID}/{name}": text for name, text in {
        "comm": "slurmstepd\n",
        "cmdline": f"slurmstepd: [{job}.batch]\0",
        "cgroup": f"0::/system.slice/slurmstepd.scope/job_{job}/step_batch/slurm\n",
        "stat": f"{PID} (slurmstepd) S 1 {PID} {PID} 0 -1 4194560 2410 0 12 0 310 122 0 0 20 0 5 0 8640000 184221696 "
                "4120 18446744073709551615 1 1 0 0 0 0 0 4096 1260 0 0 0 17 3 0 0 0 0 0\n",
        "status": f"Name:\tslurmstepd\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t{PID}\nPid:\t{PID}\nPPid:\t1\n"
                  "TracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t128\nVmRSS:\t   16480 kB\nThreads:\t5\n",
    }.items()}


def squeue(job: str, hostname: str) -> dict[str, Any]:
    """What Slurm says of a node with one running job, or of an idle one when there is no job."""
    header = _row("JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)")
    row = _row(job, "batch", "train", "alice", "R", "2:13:07", "1", hostname) if job else ""
    bare = f"{job}\n" if job else ""
    answers: dict[str, Any] = {"squeue": {"stdout": header + row}}
    for quiet in ("-h", "--noheader"):
        answers[f"squeue {quiet}"] = {"stdout": row}
        for form in ("%i", "%A"):
            answers |= {f"squeue {quiet} {words}": {"stdout": bare} for words in (f"-o {form}", f"--format={form}")}
    return answers


def _row(job: str, partition: str, name: str, user: str, state: str, time: str, nodes: str, where: str) -> str:
    return f"{job:>18} {partition:<9} {name:>8} {user:>8} {state:>2} {time:>10} {nodes:>6} {where}\n"
