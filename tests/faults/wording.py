"""Words that differ from injection to injection: parts, processes, and the ways in which drivers of many years write a line."""

from __future__ import annotations

import random
import time

PROCESSES = ("python", "python3", "pt_main_thread", "ray::WorkerDict", "nccl:allreduce", "train.py", "VLLM::Worker_TP", "cuda-gdb", "[vllm] engine (0)")
KERNEL_PRIORITIES = ("", "<3>", "<4>")
NODE = "%NODE%"
"""Stands for the node's own name until it has one."""
UNKNOWN_OWNER = "pid='<unknown>', name=<unknown>, "


def words(rng: random.Random, gpus: int) -> dict[str, object]:
    """What every entry may use: parts of the node and names, drawn anew."""
    gpu, peer = rng.sample(range(gpus), 2) if gpus > 1 else (0, 0)
    bus, device = rng.randrange(1, 0xF0), rng.randrange(0, 4)
    return {
        "gpu": gpu, "peer": peer, "link": rng.randrange(12), "hca": rng.randrange(4), "cpu": rng.randrange(2, 60),
        "pid": rng.randrange(1200, 4_000_000), "process": rng.choice(PROCESSES), "nvme": rng.randrange(2), "mc": rng.randrange(8),
        "dimm": rng.randrange(2), "server": rng.choice(("10.0.0.27", "fs-a", "nfs04.storage.example", "2001:db8::27")),
        "pci": f"0000:{bus:02x}:{device:02x}.0", "few": rng.randrange(1, 9), "many": rng.randrange(2000, 90000), "job": rng.randrange(1000, 999999),
        "node": NODE, "user": rng.choice(("alice", "bob", "svc-train")),
    }


def xid_line(rng: random.Random, gpu: int, code: int, text: str = "", caused_by: int = 0, owner: str = "", at: float | None = None) -> str:
    """An Xid line as some driver writes it: with or without owner, with PCI: or in the old form, with a priority or without.

    owner: ``job`` for a process of a user, ``unknown`` for none known, ``none`` for a line without the field.
    """
    owner = owner or rng.choice(("job", "job", "unknown", "none"))
    where = rng.choice((f"PCI:{{gpu{gpu}.pci}}", f"PCI:{{gpu{gpu}.pci}}", f"PCI:{{gpu{gpu}.pci}}", f"{{gpu{gpu}.pci}}"))
    who = {"job": f"pid={rng.randrange(900, 4_000_000)}, name={rng.choice(PROCESSES)}, ", "unknown": UNKNOWN_OWNER, "none": ""}[owner]
    cause = f" caused by previous Xid {caused_by}" if caused_by else ""
    time = f"[{at:12.6f}] " if at is not None else ""
    return f"{rng.choice(KERNEL_PRIORITIES)}{time}NVRM: Xid ({where}): {code}, {who}{text}{cause}".rstrip(", ")


def one_socket(threads: int) -> dict[str, object]:
    """A machine whose threads are all on socket 0."""
    return {"files": {f"/sys/devices/system/cpu/cpu{thread}/topology/physical_package_id": "0\n" for thread in range(threads)}}


def exporter_page(gpus: int, xid: int) -> dict[str, object]:
    """A page of dcgm-exporter on which one GPU's gauge shows an Xid."""
    rows = [f'DCGM_FI_DEV_XID_ERRORS{{gpu="{gpu}",UUID="GPU-{gpu}"}} {xid if gpu == 1 else 0}\n' for gpu in range(gpus)]
    return {"commands": {"curl http://localhost:9400/metrics": {"stdout": "".join(rows)}}}


def late_page(seconds: int) -> dict[str, object]:
    """A page of node_exporter taken some seconds ago."""
    text = "node_time_seconds {now}\nnode_load1 0.42\n"
    return {"commands": {"curl http://localhost:9100/metrics": {"stdout": {"text": text, "now": {"start": int(time.time()) - seconds, "per_second": 1}}}}}
