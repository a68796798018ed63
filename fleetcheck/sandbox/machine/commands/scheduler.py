"""sinfo and scontrol of an idle, healthy Slurm node; squeue follows the node's job."""

from __future__ import annotations

from fleetcheck.sandbox.machine.commands.answers import Answers, says, spelled
from fleetcheck.sandbox.machine.node import Node


def commands(node: Node) -> Answers:
    """The node is registered, idle and not drained."""
    cpus, name = node.base.cpus, node.name
    long = f"NODELIST STATE REASON\n{name} idle none\n"
    layout = f"SocketsPerBoard={cpus.sockets} CoresPerSocket={cpus.cores // cpus.sockets} ThreadsPerCore={cpus.smt}"
    megabytes = node.base.memory_bytes >> 20
    registered = f"NodeName={name} CPUs={cpus.threads} Boards=1 {layout} RealMemory={megabytes}\n"
    return {
        "sinfo": says(long), **spelled(("sinfo -h", "sinfo --noheader"), says(f"{name} idle none\n")),
        "scontrol show node": says(_shown(node)), "scontrol ping": says("Slurmctld(primary) at head-01 is UP\n"),
        "scontrol": says(""), "sacctmgr": says(""), "slurmd -V": says("slurm 24.05.4\n"), "slurmd -C": says(registered),
    }


def _shown(node: Node) -> str:
    cpus, name, megabytes = node.base.cpus, node.name, node.base.memory_bytes >> 20
    booted = f"{node.moment.since_boot(0):%Y-%m-%dT%H:%M:%S}"
    gpus = f"gpu:{len(node.slots)}" if node.slots else "(null)"
    tres = f",gres/gpu={len(node.slots)}" if node.slots else ""
    lines = [
        f"NodeName={name} Arch={node.base.cpu_isa} CoresPerSocket={cpus.cores // cpus.sockets} ",
        f"   CPUAlloc=0 CPUEfctv={cpus.threads} CPUTot={cpus.threads} CPULoad=0.42", "   AvailableFeatures=(null)",
        "   ActiveFeatures=(null)", f"   Gres={gpus}", f"   NodeAddr={name} NodeHostName={name} Version=24.05.4",
        f"   OS=Linux {node.base.versions.kernel}",
        f"   RealMemory={megabytes} AllocMem=0 FreeMem={megabytes * 17 // 20} Sockets={cpus.sockets} Boards=1",
        f"   State=IDLE ThreadsPerCore={cpus.smt} TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A", "   Partitions=batch ",
        f"   BootTime={booted} SlurmdStartTime={booted}",
        f"   LastBusyTime={node.moment.ago(5400):%Y-%m-%dT%H:%M:%S} ResumeAfterTime=None",
        f"   CfgTRES=cpu={cpus.threads},mem={megabytes}M,billing={cpus.threads}{tres}", "   AllocTRES=",
    ]
    return "\n".join(lines) + "\n\n"
