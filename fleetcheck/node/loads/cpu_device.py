"""Runs on the node: a stand-in for an accelerator: one thread of the processors, with the faults that a simulated fleet gives it.

It keeps a pace far below what processors can do and waits out the rest of each operation, so that its rates repeat on a machine that is
busy otherwise. They say nothing about the processors. What an operation computes, copies or stores is real.
"""

import os
import signal
import threading
import time
from typing import Any, Callable, List, Sequence, Tuple

from fleetcheck.node.loads import bits, faults
from fleetcheck.node.loads.task import Task

FREE_BYTES = 2 << 20
PACES = {"bytes": 1e9, "bf16": 4e9, "fp16": 0.05e9, "fp32": 4e9}
"""Bytes and floating-point operations in a second."""
LONGEST_REST_SECONDS = 2.0
UNSUPPORTED = {"tf32": "the stand-in has no tensor cores", "fp8": "the stand-in has no fp8 units"}

Work = Callable[[], Any]


def prepare(torch: Any) -> None:
    """One thread a stand-in."""
    torch.set_num_threads(1)


def opened(torch: Any, task: Task, place: int) -> "CpuDevice":
    """The stand-in for the device at a place of the request."""
    index = task.devices[place]
    return CpuDevice(torch, index, faults.of_device(os.environ, task.load, index),
                     int(task.number("bytes", FREE_BYTES, 1 << 16, 1 << 40)))


class CpuDevice:
    """A stand-in. free: the bytes it says are free; operations are counted from 1."""

    kind = "cpu"
    batch_seconds = 0.0

    def __init__(self, torch: Any, index: int, wrong: faults.Faults, free: int) -> None:
        self.torch = torch
        self.index = index
        self.uuid = "CPU-%d" % index
        self.name = "stand-in on the processors"
        self.at = torch.device("cpu")
        self.wrong = wrong
        self.free = free
        self.operations = 0
        if wrong.die:
            clock = threading.Timer(wrong.die, os.kill, (os.getpid(), signal.SIGKILL))
            clock.daemon = True
            clock.start()

    def use(self) -> None:
        """Nothing to choose: tensors lie in the memory of all."""

    def unsupported(self, dtype: str) -> str:
        """Why it cannot compute in a dtype; "" when it can."""
        return UNSUPPORTED.get(dtype, "")

    def free_bytes(self) -> int:
        """Bytes a load may take."""
        return self.free

    def total_bytes(self) -> int:
        """Bytes in all."""
        return self.free

    def compute(self, work: Work) -> Any:
        """The result of some work, with a wrong bit at the operation that is to have one."""
        result = work()
        self.operations += 1
        if self.operations == self.wrong.flip:
            flat = bits.raw(self.torch, result.detach())
            flat[flat.numel() // 2] ^= 2
        return result

    def pace(self, amount: float, unit: str = "bytes") -> float:
        """Seconds that an operation of so many bytes, or operations in a dtype, shall take."""
        return amount / PACES[unit]

    def timed(self, work: Work, count: int = 1, pace: float = 0.0, other: Any = None) -> float:
        """Seconds that ``count`` times the work took at this pace; the slower of two devices decides about work between them.

        Counted is the CPU time of the thread, unless the pace is slower.
        """
        began, started = time.monotonic(), time.thread_time()
        for _ in range(count):
            work()
        slow = max(self.wrong.slow, other.wrong.slow if other else 1.0)
        took = max(time.thread_time() - started, count * pace, 1e-9) * slow
        time.sleep(max(0.0, took - (time.monotonic() - began)))
        return took

    def rest(self, seconds: float) -> None:
        """Leave the processors to others for about so many seconds."""
        time.sleep(min(LONGEST_REST_SECONDS, seconds))

    def together(self, works: Sequence[Tuple[Work, int, float]]) -> List[float]:
        """Seconds of each work, all begun at once."""
        took = [0.0] * len(works)
        errors = []  # type: List[BaseException]
        gate = threading.Barrier(len(works))

        def one(place: int) -> None:
            try:
                gate.wait(60)
                took[place] = self.timed(*works[place])
            except Exception as error:  # noqa: BLE001 - carried to the thread that asked
                errors.append(error)

        threads = [threading.Thread(target=one, args=(place,), daemon=True) for place in range(len(works))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return took

    def copy(self, target: Any, source: Any, damaged: Any = None) -> None:
        """Copy to memory of this device, or of ``damaged`` when that is where it leads."""
        target.copy_(source)
        if self.wrong.corrupt or (damaged is not None and damaged.wrong.corrupt):
            flat = bits.raw(self.torch, target)
            flat[flat.numel() // 3] ^= 16

    def written(self, tensor: Any, offset: int) -> None:
        """A pattern was stored at this offset of the tested memory: a stuck bit stays as it is."""
        place = self.wrong.stuck - offset
        if self.wrong.stuck >= 0 and 0 <= place < tensor.numel() * tensor.element_size():
            tensor.view(self.torch.uint8).reshape(-1)[place] |= 4

    def pinned(self, count: int) -> Any:
        """Host memory for copies."""
        return self.torch.empty(count, dtype=self.torch.uint8)

    def local_numa(self) -> int:
        """The NUMA node it is attached to; -1: unknown."""
        return -1

    def reaches(self, other: Any) -> bool:
        """Whether it copies to another device without the host in between."""
        return True

    def flush(self) -> None:
        """Caches are left as they are: the stand-in's rates are compared with each other only."""

    def sync(self) -> None:
        """Everything is done when a call returns."""

    def release(self) -> None:
        """Nothing is kept."""
