"""What the loads of a healthy node left, as evidence: eight H100 for two rounds of every load; and changes to it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

import checking

from fleetcheck.records import Answer, Evidence, as_line

GPUS = 8
WINDOWS_A_LOAD = 4
SOFTWARE = {"torch": "2.7.0", "cuda": "12.8", "cudnn": "9.7", "python": "3.11.9"}
RATES = {
    "gemm": {"tflops_bf16": 720.0, "tflops_fp8": 1300.0, "tflops_fp32": 50.0}, "hbm": {"copy_gb_s": 2600.0},
    "memtest": {"tested_bytes": 76e9, "tested_fraction": 0.94}, "hostlink": {"h2d_gb_s": 54.0, "d2h_gb_s": 52.0}, "peerlink": {},
    "sdc": {}, "overlap": {"overlap_fraction": 0.93},
    "cpu": {"rounds_s": 3500.0, "processor_share": 0.98}, "dram": {"dram_gb_s": 320.0}, "disk": {"disk_write_mb_s": 2900.0, "disk_read_mb_s": 5100.0},
}
DRIFTING = ("tflops_bf16", "tflops_fp8", "tflops_fp32", "copy_gb_s", "rounds_s", "processor_share")
CASES = ("gemm-bf16-4096", "gemm-fp32-1000", "attention-bf16", "step-fp32")
DIAGNOSTIC = {"DCGM Diagnostic": {"test_categories": [
    {"category": "Deployment", "tests": [{"name": "software", "results": [{"entity_group": "GPU", "entity_id": gpu, "status": "Pass"} for gpu in range(GPUS)]}]},
    {"category": "Hardware", "tests": [{"name": name, "results": [{"entity_group": "GPU", "entity_id": gpu, "status": "Pass"} for gpu in range(GPUS)]}
                                       for name in ("memory", "diagnostic")]},
]}}
KMSG = [{"facility": 0, "seconds": 0.0, "text": "Linux version 6.8.0"}, {"facility": 0, "seconds": 9.0, "text": "nvidia: loaded"}]

Answers = dict[str, Any]
"""Answers of the probe ``load``, data alone, by name."""


def recorded() -> Answers:
    """The recorded answers of a healthy node: collectors gpu and pci."""
    return checking.recorded_answers("h100_gpu_answer.json")


def uuids() -> list[str]:
    return [gpu["identity"]["uuid"] for gpu in recorded()["gpu"]["gpus"]]


def healthy() -> Answers:
    """All that the loads of a healthy node left."""
    loads = {load: result(load) for load in RATES}
    return {
        **loads, "dcgm": {**result("dcgm", []), "diagnostic": copy.deepcopy(DIAGNOSTIC)},
        "telemetry": {"windows": windows([*loads, "dcgm"]), "events": [], "boot_id": "b1"},
        "snapshots": {when: snapshot() for when in ("before", "after")},
        "load": {"id": "r", "state": "ended", "ended_why": "done", "boot_id": "b1", "started_boot_id": "b1", "how": "session"},
    }


LIMIT = "it came to its own memory limit, which tells nothing of the node: worker 1: its process ended without a word (signal 9)"


def out_of_its_limit(told: Answers) -> None:
    """The dram load ran out of its own cgroup."""
    told["dram"].update(ok=False, error=LIMIT, coverage="0 of 1")
    told["dram"]["devices"][0].update(error=LIMIT, cut=True, metrics={}, tenths={})
    told["telemetry"]["events"].append(event("cut", f"dram: {LIMIT}"))


def without_memory(told: Answers) -> None:
    """Another process holds the memory of one GPU."""
    error = "preparing bf16: OutOfMemoryError: CUDA out of memory. Tried to allocate 128.00 MiB. GPU 3 has a total capacity of 79.11 GiB of which 21.06 MiB is free."
    told["gemm"].update(ok=False, error="", coverage="7 of 8")
    told["gemm"]["devices"][3].update(error=error, metrics={}, tenths={})


def snapshot() -> Answers:
    """One snapshot, as collectors answer."""
    told = {**recorded(), "kernel_log": {"records": copy.deepcopy(KMSG)}}
    return {name: {"ok": True, "seconds": 1.0, "error": "", "data": data, "metrics": {}, "coverage": ""} for name, data in told.items()}


def result(load: str, devices: list[Any] | None = None) -> Answers:
    """The RESULT of one load."""
    on_host = load in ("cpu", "dram", "disk")
    made = [device(load, 0, "", load)] if on_host else [device(load, gpu, uuid, f"NVIDIA H100 {gpu}") for gpu, uuid in enumerate(uuids())]
    return {"ok": True, "error": "", "seconds": 10.0 * WINDOWS_A_LOAD, "software": dict(SOFTWARE), "coverage": "1 of 1" if on_host else f"{GPUS} of {GPUS}",
            "devices": made if devices is None else devices, "links": links(load)}


def device(load: str, index: int, uuid: str, name: str) -> Answers:
    """One device of a RESULT; rates differ by a per mille from one to the next."""
    metrics = {metric: value * (1 - index / 1000) if metric != "tested_fraction" else value for metric, value in RATES.get(load, {}).items()}
    tenths = {metric: [value * (1.01 - tenth / 500) for tenth in range(10)] for metric, value in metrics.items() if metric in DRIFTING}
    sums = {case: f"{number:08x}5eed" for number, case in enumerate(CASES)} if load == "sdc" else {}
    return {"index": index, "uuid": uuid, "name": name.split(" 0")[0] if load in ("cpu", "dram", "disk") else "NVIDIA H100 80GB HBM3", "error": "",
            "metrics": metrics, "tenths": tenths, "mismatches": [], "mismatch_count": 0, "checksums": sums}


def links(load: str) -> list[Answers]:
    """Links of a load that tells of them."""
    if load == "hostlink":
        both = [("h2d", 54.0), ("d2h", 52.0)]
        return [{"from": f"node {side}" if kind == "h2d" else gpu, "to": gpu if kind == "h2d" else f"node {side}", "kind": kind, "gb_s": rate,
                 "mismatch_count": 0, "local": side == gpu // 4} for gpu in range(GPUS) for side in (0, 1) for kind, rate in both]
    if load != "peerlink":
        return []
    return [{"from": one, "to": other, "kind": "p2p", "gb_s": 370.0 - one, "mismatch_count": 0}
            for one in range(GPUS) for other in range(GPUS) if one != other]


def windows(loads: list[str]) -> list[Answers]:
    """Ten seconds each; one of idle between two loads."""
    found, at = [], 0.0
    for load in loads:
        for number in range(WINDOWS_A_LOAD + 1):
            current = load if number < WINDOWS_A_LOAD else ""
            found.append({"t": at, "seconds": 10.0, "load": current, "samples": 10, "metrics": {}, "cpu": {},
                          "gpus": {str(gpu): told(uuid, current) for gpu, uuid in enumerate(uuids())}})
            at += 10.0
    return found


def told(uuid: str, load: str) -> Answers:
    """One GPU in one window, as the node sums it up."""
    busy = load in ("gemm", "hbm", "memtest", "sdc", "overlap")
    return {
        "uuid": uuid, "temperature": [60, 64.0, 67] if busy else [32, 33.0, 35], "margin": [20, 23.0, 27] if busy else [52, 54.0, 55],
        "memory_temperature": [70, 72.0, 75], "power": [640.0, 688.0, 702.0] if load == "gemm" else [400.0, 450.0, 500.0] if busy else [69.0, 70.0, 80.0],
        "sm_clock": [1380, 1425.0, 1500] if busy else [345, 345.0, 345], "mem_clock": [2619, 2619.0, 2619],
        "utilisation": [97, 99.5, 100] if busy else [0, 0.0, 0], "throttled_seconds": {"sw_power_cap": 9.0} if busy else {"gpu_idle": 10.0},
        "pcie": [5, 16] if busy else [1, 16], "ecc": {"corrected": 0, "uncorrected": 0, "corrected_rows": 0, "uncorrected_rows": 0},
        "nvlink_errors": 0, "pcie_replays": 0,
    }


def event(kind: str, text: str, gpu: int | None = 3, t: float = 725.0, load: str = "gemm") -> Answers:
    return {"t": t, "time": "2026-11-30T03:14:07Z", "kind": kind, "gpu": gpu, "uuid": "", "load": load, "text": text}


def changed(answers: Answers, changes: Mapping[str, Any] | Callable[[Answers], Any]) -> Answers:
    """A copy with changes: by path (``gemm.devices.3.error``; value ... removes; ``windows[gemm].3.power`` means that GPU in every
    window of that load, ``windows.3.power`` in all), or by a function that changes it in place."""
    if callable(changes):
        copied = copy.deepcopy(answers)
        changes(copied)
        return copied
    for path, value in changes.items():
        answers = _in_windows(answers, path, value) if path.startswith("windows") else checking.changed(answers, path, value)
    return answers


def _in_windows(answers: Answers, path: str, value: Any) -> Answers:
    copied = copy.deepcopy(answers)
    where, gpu, *rest = path.split(".")
    load = where.partition("[")[2].rstrip("]")
    for window in copied["telemetry"]["windows"]:
        if not load or window["load"] == load:
            holder = window["gpus"][gpu]
            for key in rest[:-1]:
                holder = holder[key]
            if value is ...:
                del holder[rest[-1]]
            else:
                holder[rest[-1]] = copy.deepcopy(value)
    return copied


def as_answers(told: Mapping[str, Any]) -> dict[str, Answer]:
    """As the evidence of the probe holds them."""
    return {name: Answer(ok=True, data=data) for name, data in told.items()}


def line(node: str, told: Mapping[str, Any]) -> str:
    """A line of evidence.jsonl."""
    return json.dumps(as_line(Evidence("r", "load", "load", node, "", 700.0, answers=as_answers(told))), separators=(",", ":"))


def gpu(load: str, leaf: str, number: int = 3) -> str:
    return f"{load}.devices.{number}.{leaf}"


def sums(number: int, value: str = "00000bad") -> dict[str, Any]:
    return {f"sdc.devices.{number}.checksums.{CASES[0]}": value}
