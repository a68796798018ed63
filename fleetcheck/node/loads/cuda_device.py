"""Runs on the node: one CUDA accelerator: timed with events on its own streams, addressed by its UUID."""

import threading
from typing import Any, Callable, List, MutableMapping, Sequence, Tuple

from fleetcheck.node.loads.task import Task

NEEDS = {"bf16": (8, 0), "tf32": (8, 0), "fp16": (7, 0), "fp8": (8, 9)}
"""Compute capability from which cuBLAS computes in a dtype: CUDA C++ Programming Guide, "Compute Capabilities"; fp8: cuBLASLt."""
FLUSH_BYTES = 256 << 20
KEPT_FREE_BYTES = 512 << 20
"""Left for workspaces of libraries when memory is filled."""

TF32 = threading.Lock()
"""torch's switch for tf32 holds for the whole process: held while a product of fp32 matrices is launched."""

Work = Callable[[], Any]


def choose(task: Task, environment: MutableMapping[str, str]) -> None:
    """Before torch is imported: the process sees the task's devices and no others, in their order."""
    environment.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    named = [uuid or str(index) for uuid, index in zip(task.uuids or [""] * len(task.devices), task.devices)]
    environment.setdefault("CUDA_VISIBLE_DEVICES", ",".join(named))


def prepare(torch: Any) -> None:
    """What holds for all accelerators of this process."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False


def opened(torch: Any, task: Task, place: int) -> "CudaDevice":
    """The accelerator at a place of the request; RuntimeError when torch sees fewer, or another one there."""
    if not torch.cuda.is_available():
        raise RuntimeError("torch %s sees no CUDA device (built for CUDA %s)" % (torch.__version__, torch.version.cuda or "none"))
    if place >= torch.cuda.device_count():
        raise RuntimeError("torch sees %d of %d devices" % (torch.cuda.device_count(), len(task.devices)))
    wanted = task.uuids[place] if task.uuids else ""
    device = CudaDevice(torch, place, task.devices[place], wanted)
    if wanted.startswith("GPU-") and device.uuid != wanted:
        raise RuntimeError("this process sees %s, not %s" % (device.uuid, wanted))
    return device


class CudaDevice:
    """An accelerator. place: its number in this process; index: its number on the node."""

    kind = "cuda"
    batch_seconds = 0.05

    def __init__(self, torch: Any, place: int, index: int, uuid: str) -> None:
        self.torch = torch
        self.place = place
        self.index = index
        self.at = torch.device("cuda", place)
        self.use()
        self.properties = torch.cuda.get_device_properties(place)
        told = getattr(self.properties, "uuid", None)  # torch 2.4 and newer
        self.uuid = "GPU-%s" % told if told and not uuid.startswith("MIG-") else uuid
        self.name = str(self.properties.name)
        self._flushed = None  # type: Any
        self._streams = []  # type: List[Any]

    def use(self) -> None:
        """Make it the calling thread's device."""
        self.torch.cuda.set_device(self.place)

    def unsupported(self, dtype: str) -> str:
        """Why it cannot compute in a dtype; "" when it can."""
        needs = NEEDS.get(dtype, (0, 0))
        has = (self.properties.major, self.properties.minor)
        if has < needs:
            return "%s needs compute capability %d.%d, %s has %d.%d" % ((dtype,) + needs + (self.name,) + has)
        if dtype == "fp8" and not (hasattr(self.torch, "_scaled_mm") and hasattr(self.torch, "float8_e4m3fn")):
            return "torch %s has no fp8 matmul" % self.torch.__version__
        return ""

    def free_bytes(self) -> int:
        """Bytes the driver says are free."""
        return int(self.torch.cuda.mem_get_info(self.place)[0])

    def total_bytes(self) -> int:
        """Bytes the accelerator has."""
        return int(self.torch.cuda.mem_get_info(self.place)[1])

    def compute(self, work: Work) -> Any:
        """The result of some work."""
        return work()

    def pace(self, amount: float, unit: str = "bytes") -> float:
        """None: it goes as fast as it can."""
        return 0.0

    def rest(self, seconds: float) -> None:
        """None."""

    def timed(self, work: Work, count: int = 1, pace: float = 0.0, other: Any = None) -> float:
        """Seconds between two events around ``count`` times the work, on the current stream. ``other``: the far end of a copy."""
        torch = self.torch
        if other is not None:
            other.sync()
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        stream = torch.cuda.current_stream(self.place)
        first.record(stream)
        for _ in range(count):
            work()
        last.record(stream)
        last.synchronize()
        return max(float(first.elapsed_time(last)) / 1000.0, 1e-9)

    def together(self, works: Sequence[Tuple[Work, int, float]]) -> List[float]:
        """Seconds of each work on a stream of its own, all begun at once: they wait for one event."""
        torch = self.torch
        while len(self._streams) < len(works):
            self._streams.append(torch.cuda.Stream(self.place))
        self.sync()
        begin = torch.cuda.Event()
        marks = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in works]
        torch.cuda._sleep(2000000)  # about 1 ms, in which all streams are filled
        begin.record(torch.cuda.current_stream(self.place))
        for (work, count, _), stream, (first, last) in zip(works, self._streams, marks):
            stream.wait_event(begin)
            with torch.cuda.stream(stream):
                first.record(stream)
                for _ in range(count):
                    work()
                last.record(stream)
        for _, last in marks:
            last.synchronize()
        return [max(float(first.elapsed_time(last)) / 1000.0, 1e-9) for first, last in marks]

    def copy(self, target: Any, source: Any, damaged: Any = None) -> None:
        """Copy on the current stream."""
        target.copy_(source, non_blocking=True)

    def written(self, tensor: Any, offset: int) -> None:
        """Nothing to add: real memory keeps or loses what was stored."""

    def pinned(self, count: int) -> Any:
        """Page-locked host memory, on the NUMA node of the calling thread's processor."""
        return self.torch.empty(count, dtype=self.torch.uint8, pin_memory=True)

    def local_numa(self) -> int:
        """The NUMA node it is attached to; -1: the kernel does not say."""
        numbers = self.properties  # torch 2.8 and newer tell the address
        try:
            address = "%04x:%02x:%02x.0" % (numbers.pci_domain_id, numbers.pci_bus_id, numbers.pci_device_id)
            with open("/sys/bus/pci/devices/%s/numa_node" % address) as file:
                return int(file.read())
        except (AttributeError, OSError, ValueError):
            return -1

    def reaches(self, other: "CudaDevice") -> bool:
        """Whether it copies to another device without the host in between."""
        return bool(self.torch.cuda.can_device_access_peer(self.place, other.place))

    def flush(self) -> None:
        """Fill the L2 cache with something else; enqueued, not waited for."""
        if self._flushed is None:
            size = max(FLUSH_BYTES, 4 * int(getattr(self.properties, "L2_cache_size", 0) or 0))
            self._flushed = self.torch.empty(size, dtype=self.torch.uint8, device=self.at)
        self._flushed.zero_()

    def fits_cache(self, count: int) -> bool:
        """Whether so many bytes may stay in the L2 cache from one operation to the next."""
        return count < 2 * int(getattr(self.properties, "L2_cache_size", 0) or (64 << 20))

    def sync(self) -> None:
        """Wait for everything on it; errors of earlier work are raised here."""
        self.torch.cuda.synchronize(self.place)

    def release(self) -> None:
        """Hand memory back to the driver."""
        self._flushed = None
        self.torch.cuda.empty_cache()
