"""Runs on the node: the accelerators of a load, real ones or stand-ins on the processors, behind one small interface.

CudaDevice and CpuDevice both have: kind, index, uuid, name, torch, at (where tensors lie); use() in each thread that works with it;
compute(f) → its result; timed(f, count, pace) → seconds; together([(f, count, pace), …]) → seconds of each, all at once;
copy(target, source); written(tensor, offset) after a test pattern was stored; unsupported(dtype) → reason; and what else both show.
"""

import os
import sys
from typing import Any, Dict, List, Optional, Tuple

from fleetcheck.node.loads import cpu_device, cuda_device
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Malformed, Task

Opened = Tuple[Report, Optional[Any]]


def open_all(task: Task) -> Tuple[Any, List[Opened]]:
    """torch, and every device of the task with its report; a device that cannot be opened is None, its report says why."""
    if task.device != "cpu":
        cuda_device.choose(task, os.environ)
    torch = imported()
    kind = task.device if task.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    module = cuda_device if kind == "cuda" else cpu_device
    module.prepare(torch)
    return torch, [opened(torch, module, task, place) for place in range(len(task.devices))]


def imported() -> Any:
    """torch, of the Python that runs this."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS documentation, "Results Reproducibility"
    try:
        import torch
    except ImportError as error:
        raise Malformed("torch cannot be imported by %s: %s; name a Python that has it: torch_python" % (sys.executable, error)) from error
    return torch


def opened(torch: Any, module: Any, task: Task, place: int) -> Opened:
    """One device with its report."""
    report = Report(task, task.devices[place], task.uuids[place] if task.uuids else "")
    try:
        device = module.opened(torch, task, place)
    except Malformed:
        raise
    except Exception as error:  # noqa: BLE001 - a device that cannot be opened costs itself, not the others
        report.fail("cannot be opened: %s" % in_words(error))
        return report, None
    report.uuid, report.name = device.uuid, device.name
    return report, device


def in_words(error: BaseException) -> str:
    """An error in one line; torch appends pages of advice."""
    lines = str(error).strip().splitlines()
    return "%s: %.300s" % (type(error).__name__, lines[0] if lines else "no message")


def software(torch: Any) -> Dict[str, str]:
    """Versions that decide the bits of a result."""
    cudnn = torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None
    return {"torch": str(torch.__version__), "cuda": str(torch.version.cuda or torch.version.hip or ""), "cudnn": str(cudnn or "")}
