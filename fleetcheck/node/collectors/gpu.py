"""Runs on the node: everything NVML tells of its GPUs, and what the driver leaves in /proc, /sys and /dev.

Counters are read twice, event reasons and power three times, over one second: a total says nothing, its growth does,
and a single sample at a clock change says nothing either.
"""

import re
import time
from typing import Any, Dict, List, NamedTuple

import pynvml as n

from fleetcheck.node.collectors import nvml_gpu, nvml_link, nvml_memory
from fleetcheck.node.collectors.nvml_call import Nvml, absent, is_absent
from fleetcheck.node.collectors.nvml_process import processes
from fleetcheck.node.collectors.watched import Note, watched
from fleetcheck.node.host import Host

READS = (
    ("libnvidia-ml.so.1", "any user"),
    ("/dev/nvidia*", "any user"),
    ("/sys/module/nvidia/version", "any user"),
    ("/proc/driver/nvidia/gpus", "any user"),
    ("/proc/uptime", "any user"),
)

Leaves = Dict[str, Any]

SAMPLES = 3
APART_SECONDS = 0.5
STALL_SECONDS = 10.0  # no single call of a working driver takes this long, once initialised


class Device(NamedTuple):
    """One GPU as the loops below hold it."""

    number: int  # NVML's index; a tuple's own index() keeps the name
    nvml: Nvml
    handle: Any
    code: str


def collect(host: Host, settings: Dict[str, Any]) -> Leaves:
    """Shape: driver (init code, versions, what /proc, /sys and /dev say), gpus (one mapping each, by index)."""
    stall = float(settings.get("nvml_stall_seconds", STALL_SECONDS))
    outcome = watched(lambda note: from_nvml(host, note), stall)
    answer = outcome.result or without_nvml(outcome.hung_at or outcome.error)
    answer["driver"].update(from_host(host), hung_call=outcome.hung_at)
    return answer


def without_nvml(reason: str) -> Leaves:
    """The answer when NVML's process told nothing."""
    names = ("init_code", "version", "nvml_version", "cuda_version", "device_count")
    return {"driver": {name: absent("NVML did not answer: %s" % reason) for name in names}, "gpus": []}


def from_host(host: Host) -> Leaves:
    """The driver as the kernel shows it, and signs that this is no bare host."""
    nodes = [path for path in host.glob("/dev/nvidia[0-9]*") if re.match(r"/dev/nvidia\d+$", path)]
    module = host.read_or_absent("/sys/module/nvidia/version")
    uptime = host.read_or_absent("/proc/uptime")
    return {
        "module_version": module if is_absent(module) else str(module).strip(),
        "device_nodes": len(nodes),
        "addresses": [path.rpartition("/")[2].lower() for path in host.glob("/proc/driver/nvidia/gpus/*")],
        "in_container": any(host.exists(path) for path in ("/.dockerenv", "/run/.containerenv")),
        "uptime_seconds": uptime if is_absent(uptime) else seconds_of(str(uptime)),
    }


def seconds_of(uptime: str) -> Any:
    """The first number of /proc/uptime."""
    try:
        return float(uptime.split()[0])
    except (IndexError, ValueError):
        return absent("/proc/uptime holds %r" % uptime[:40])


def from_nvml(host: Host, note: Note) -> Leaves:
    """The whole conversation with NVML, in a process of its own."""
    nvml = Nvml("NVML", note)
    driver: Leaves = {"init_code": nvml.code(n.nvmlInit)}
    driver.update(
        version=nvml.ask(n.nvmlSystemGetDriverVersion),
        nvml_version=nvml.ask(n.nvmlSystemGetNVMLVersion),
        cuda_version=cuda_version(nvml.ask(n.nvmlSystemGetCudaDriverVersion_v2)),
        device_count=nvml.ask(n.nvmlDeviceGetCount),
    )
    count = 0 if is_absent(driver["device_count"]) else min(driver["device_count"], 64)
    return {"driver": driver, "gpus": gpus([opened(index, note) for index in range(count)], host)}


def cuda_version(number: Any) -> Any:
    """12080 as NVML counts, as ``12.8``."""
    return number if is_absent(number) else "%d.%d" % (number // 1000, number % 1000 // 10)


def opened(index: int, note: Note) -> Device:
    """A GPU's handle, or the code that kept it."""
    nvml = Nvml("GPU %d" % index, note)
    code, handle = nvml.attempt(n.nvmlDeviceGetHandleByIndex, index)
    return Device(index, nvml, handle, code)


def gpus(devices: List[Device], host: Host) -> List[Leaves]:
    """All GPUs' answers, sampled together so that the second of waiting is paid once."""
    answering = [device for device in devices if device.handle is not None]
    found: Dict[int, Leaves] = {}
    for device in devices:
        found[device.number] = {"index": device.number, "handle_code": device.code}
    rounds = [sample(answering, 0)]
    for device in answering:
        found[device.number].update(described(device, answering, host))
    began = time.monotonic()
    rounds += [sample(answering, began + step * APART_SECONDS) for step in range(1, SAMPLES)]
    for device in answering:
        found[device.number].update(series([taken[device.number] for taken in rounds]))
    for device in devices:
        found[device.number]["calls"] = calls(device.nvml)
    return [found[device.number] for device in devices]


def described(device: Device, others: List[Device], host: Host) -> Leaves:
    """What one GPU says of itself, in sections."""
    nvml, handle = device.nvml, device.handle
    peers = {other.number: other.handle for other in others if other.number != device.number}
    links = nvml_link.links(nvml, handle)
    return {
        "identity": nvml_gpu.identity(nvml, handle),
        "modes": nvml_gpu.modes(nvml, handle),
        "memory": nvml_gpu.memory(nvml, handle),
        "thermal": nvml_gpu.thermal(nvml, handle),
        "power": nvml_gpu.power(nvml, handle),
        "clocks": nvml_gpu.clocks(nvml, handle),
        "pcie": nvml_gpu.pcie(nvml, handle),
        "ecc": nvml_memory.ecc(nvml, handle),
        "remap": nvml_memory.remap(nvml, handle),
        "retired": nvml_memory.retired(nvml, handle),
        "nvlink": links,
        "fabric": nvml_link.fabric(nvml, handle),
        # A peer that is gone answers for this GPU: its codes must not count as this one's.
        "peers": nvml_gpu.peers(Nvml(nvml.label, nvml.note), handle, peers),
        "processes": processes(nvml, handle, host),
    }


def sample(devices: List[Device], due: float) -> Dict[int, Leaves]:
    """One round over all GPUs, not before its time."""
    if devices:
        time.sleep(max(0.0, due - time.monotonic()))
    return {device.number: one_sample(device) for device in devices}


def one_sample(device: Device) -> Leaves:
    """Momentary values and counters of one GPU, with the moment they were read."""
    nvml, handle = device.nvml, device.handle
    return {
        "at": time.monotonic(),
        "event_reasons": nvml_gpu.event_reasons(nvml, handle),
        "power_watts": nvml_gpu.watts(nvml.ask(n.nvmlDeviceGetPowerUsage, handle)),
        "corrected": nvml_memory.corrected(nvml, handle),
        "pcie_replays": nvml.ask(n.nvmlDeviceGetPcieReplayCounter, handle),
        "pcie_replays_field": nvml.fields(handle, {"field": n.NVML_FI_DEV_PCIE_REPLAY_COUNTER})["field"],
        "nvlink": nvml_link.errors(nvml, handle),
    }


def series(samples: List[Leaves]) -> Leaves:
    """The rounds of one GPU: momentary values as a list, counters as first and last with the seconds between."""
    first, last = samples[0], samples[-1]
    return {
        "samples": {name: [taken[name] for taken in samples] for name in ("event_reasons", "power_watts")},
        "counters": {
            "seconds": round(last["at"] - first["at"], 3),
            "corrected": [first["corrected"], last["corrected"]],
            "pcie_replays": [first["pcie_replays"], last["pcie_replays"]],
            "pcie_replays_field": [first["pcie_replays_field"], last["pcie_replays_field"]],
            "nvlink": {name: [first["nvlink"][name], last["nvlink"][name]] for name in nvml_link.COUNTERS},
        },
    }


def calls(nvml: Nvml) -> Leaves:
    """How many calls were made about one GPU, and by code which functions said that it is broken ("": none)."""
    return {"made": nvml.made, "bad": {code: " ".join(names[:8]) for code, names in nvml.bad.items()}}
