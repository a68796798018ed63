"""The CUDA side of the loads where there is no GPU: every call it makes, answered by a stand-in for torch.cuda on the processors.

That the calls are right for real hardware, only real hardware can say.
"""

import contextlib
import json
import os
import time
from types import SimpleNamespace

import pytest
import torch

from fleetcheck.node.loads import cuda_device, device, gemm, hbm, hostlink, memtest, overlap, peerlink, sdc, sdc_cases
from fleetcheck.node.loads.main import complete
from fleetcheck.node.loads.task import Task, read

FREE = 32 << 20
SMALL = {"gemm": {"side": 32}, "overlap": {"side": 32, "buffer_bytes": 1 << 16}, "hbm": {"buffer_bytes": 1 << 16}, "memtest": {"fraction": 0.01},
         "hostlink": {"buffer_bytes": 1 << 16}, "peerlink": {"buffer_bytes": 1 << 16}, "sdc": {}}
MODULES = {"gemm": gemm, "hbm": hbm, "memtest": memtest, "hostlink": hostlink, "peerlink": peerlink, "sdc": sdc, "overlap": overlap}


class Stream:
    def __init__(self, place):
        self.place = place
        self.waited = []

    def wait_event(self, event):
        assert event.at, "the event was recorded before a stream waits for it"
        self.waited.append(event)


class Event:
    def __init__(self, enable_timing=False):
        self.timing = enable_timing
        self.at = 0.0
        self.place = None
        self.waited = False

    def record(self, stream):
        self.at, self.place = time.monotonic(), stream.place

    def synchronize(self):
        assert self.at
        self.waited = True

    def elapsed_time(self, later):
        assert self.timing and later.timing and later.waited, "read only after both are through"
        assert self.place == later.place, "both on one device"
        return (later.at - self.at) * 1000


class Cuda:
    """torch.cuda of a machine with ``count`` accelerators. broken: place of one on which every synchronisation fails."""

    Event, Stream = Event, Stream

    def __init__(self, count=2, capability=(9, 0), broken=None):
        self.count, self.capability, self.broken = count, capability, broken
        self.emptied = 0

    def is_available(self): return self.count > 0
    def device_count(self): return self.count
    def set_device(self, place): assert 0 <= place < self.count
    def current_stream(self, place): return Stream(place)
    def stream(self, stream): return contextlib.nullcontext()
    def can_device_access_peer(self, one, other): return one != other
    def mem_get_info(self, place): return FREE, 2 * FREE
    def empty_cache(self): self.emptied += 1
    def _sleep(self, cycles): assert cycles > 0

    def synchronize(self, place):
        if place == self.broken:
            raise RuntimeError("CUDA error: uncorrectable ECC error encountered")

    def get_device_properties(self, place):
        major, minor = self.capability
        return SimpleNamespace(name="NVIDIA H100 80GB HBM3", uuid=f"uuid-{place}", major=major, minor=minor, L2_cache_size=1 << 10)


class Torch:
    """torch, but that what should lie on an accelerator lies in memory."""

    def __init__(self, cuda):
        self.cuda = cuda

    def __getattr__(self, name):
        return getattr(torch, name)

    def device(self, *_): return torch.device("cpu")
    def empty(self, *sizes, pin_memory=False, **more): return torch.empty(*sizes, **more)

    def mm(self, a, b, out_dtype):
        return torch.matmul(a.to(out_dtype), b.to(out_dtype))


@pytest.fixture
def ran(monkeypatch):
    """ran(load, cuda, devices) → the RESULT of half a second; of ten where a busy machine measured nothing in that."""
    monkeypatch.setattr(cuda_device, "FLUSH_BYTES", 1 << 10)
    monkeypatch.setattr(memtest, "SPARE_BYTES", 1 << 20)
    monkeypatch.setattr(cuda_device.CudaDevice, "batch_seconds", 0.001)
    for module in (hbm, overlap):
        for name in ("BATCH_SECONDS", "PHASE_SECONDS"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, {"cuda": 0.001})
    monkeypatch.setitem(sdc_cases.SHAPES, "cuda", ((32, 32, 32), (16, 48, 32), (33, 17, 5)))
    monkeypatch.setitem(sdc_cases.ATTENTION, "cuda", (2, 8, 4))
    monkeypatch.setitem(sdc_cases.LAYERS, "cuda", (4, 8, 8, 2))
    monkeypatch.setattr(cuda_device, "choose", lambda task, environment: None)
    torch.set_num_threads(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)

    def run(load, cuda, devices=(0, 1), **more):
        monkeypatch.setattr(device, "imported", lambda: Torch(cuda))
        result = once(load, devices, **more)
        short = any(each["error"].startswith("nothing was measured") for each in result["devices"])
        return once(load, devices, **{**more, "seconds": 10}) if short else result

    def once(load, devices, **more):
        asked = {"load": load, "seconds": 0.5, "device": "cuda", "devices": list(devices), "settings": SMALL[load], **more}
        task = Task(read(json.dumps(asked).encode()), nowhere, time.monotonic())
        return complete(task, MODULES[load].run(task))

    yield run
    torch.set_deterministic_debug_mode("default")
    os.close(nowhere)


@pytest.mark.parametrize("load", sorted(MODULES))
def test_every_load_runs_through_its_cuda_calls(ran, load):
    cuda = Cuda()
    result = ran(load, cuda)
    assert [("", 0), ("", 0)] == [(entry["error"], entry["mismatch_count"]) for entry in result["devices"]]
    assert ["GPU-uuid-0", "GPU-uuid-1"] == [entry["uuid"] for entry in result["devices"]]
    assert (True, "2 of 2") == (result["ok"], result["coverage"])


def test_every_dtype_is_measured_where_the_device_has_it(ran):
    (entry,) = ran("gemm", Cuda(1, (9, 0)), [0])["devices"]
    assert {f"tflops_{dtype}" for dtype in ("bf16", "fp16", "tf32", "fp32", "fp8")} == set(entry["metrics"])
    assert {} == entry["unsupported"]


def test_an_a100_has_no_fp8(ran):
    (entry,) = ran("gemm", Cuda(1, (8, 0)), [0])["devices"]
    assert {"fp8": "fp8 needs compute capability 8.9, NVIDIA H100 80GB HBM3 has 8.0"} == entry["unsupported"]
    assert "" == entry["error"]


def test_accumulators_are_results_of_their_own(ran):
    (entry, _) = ran("sdc", Cuda(), seconds=8)["devices"]
    assert {"accumulators-bf16-32x32x32-normal-seed1", "matmul-fp8-32x32x32-tiny-seed1"} <= set(entry["checksums"])


@pytest.mark.parametrize("load", ["gemm", "hbm", "memtest", "hostlink", "sdc", "peerlink"])
def test_a_broken_accelerator_is_the_only_one_with_an_error(ran, load):
    result = ran(load, Cuda(3, broken=1), (0, 1, 2))
    assert ["", True, ""] == [entry["error"] and "ECC error" in entry["error"] for entry in result["devices"]]
    assert (False, "2 of 3") == (result["ok"], result["coverage"])


def test_an_accelerator_that_is_another_than_asked_for_is_left_alone(ran):
    result = ran("hbm", Cuda(), uuids=["GPU-uuid-0", "GPU-elsewhere"])
    assert ["", "cannot be opened: RuntimeError: this process sees GPU-uuid-1, not GPU-elsewhere"] == [
        entry["error"] for entry in result["devices"]]


def test_an_accelerator_that_torch_does_not_see_is_said(ran):
    result = ran("hbm", Cuda(1))
    assert ["", "cannot be opened: RuntimeError: torch sees 1 of 2 devices"] == [entry["error"] for entry in result["devices"]]


def test_memory_is_handed_back_at_the_end(ran):
    cuda = Cuda(1)
    ran("memtest", cuda, [0])
    assert cuda.emptied
