"""Runs on the node: what is seen during a load, put in order: samples to windows, growth and kernel lines to events."""

import os
import resource
import time
from typing import Any, Dict, List

from fleetcheck.node.supervisor import counters, state
from fleetcheck.node.supervisor.kernel_lines import KernelLines, Line, gpu_of
from fleetcheck.node.supervisor.telemetry import Telemetry
from fleetcheck.node.supervisor.window import Window

KERNEL_SECONDS = 1.0
BAD = ("GPU_IS_LOST", "RESET_REQUIRED", "UNKNOWN", "INSUFFICIENT_POWER", "IRQ_ISSUE", "CORRUPTED_INFOROM")

SHORTEST_EMPTY = 0.5
"""Seconds; a shorter window with nothing in it is not told."""


class Watch:
    """Telemetry, kernel log, counters and the open window of one load."""

    def __init__(self, supervisor: Any) -> None:
        self.supervisor = supervisor
        request = supervisor.request
        self.seconds = request["window_seconds"]
        self.interval = request["sample_seconds"]
        self.identities: Dict[str, Dict[str, Any]] = {}
        self.addresses: Dict[str, str] = {}
        self.told = False
        self.absent = ""
        self.node: List[Dict[str, Any]] = []
        self.broken: Dict[str, str] = {}
        self.cost, self.sampler_cost = [self.spent(), 0.0], [0.0, 0.0]
        self.counters = counters.Counters()
        self.window = Window(0.0, "")
        self.kernel = KernelLines(supervisor.host)
        self.kernel_due = 0.0
        self.telemetry = Telemetry(supervisor.host, (self.interval, self.seconds), request["stall_seconds"], self.heard, self.trouble)
        self.listen()
        if self.kernel.absent:
            supervisor.event("telemetry", "the kernel log cannot be followed: %s" % self.kernel.absent)

    def now(self) -> float:
        """Seconds since the start of the load."""
        return float(time.monotonic() - self.supervisor.began)

    def spent(self) -> float:
        """Processor seconds of the supervisor itself."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    def listen(self) -> None:
        """Hear the telemetry process that runs now."""
        telemetry = self.telemetry
        if telemetry.pid:
            self.supervisor.hear(telemetry.pipe, self.telemetry_speaks)

    def telemetry_speaks(self) -> bool:
        """Something to read; one that ended is replaced."""
        if self.telemetry.listen():
            return True
        self.supervisor.unhear(self.telemetry.pipe)
        self.telemetry.end()
        self.telemetry.begin()
        self.listen()
        return True

    def tick(self) -> None:
        """What is due by the clock: kernel lines, a hung telemetry process, the end of a window."""
        now = time.monotonic()
        if now >= self.kernel_due:
            self.kernel_due = now + KERNEL_SECONDS
            self.kernel_events(self.kernel.new())
        if self.telemetry.is_hung():
            self.supervisor.unhear(self.telemetry.pipe)
            self.telemetry.replace()
            self.listen()
        if self.now() - self.window.began >= self.seconds:
            self.close_window(self.window.load)

    def heard(self, message: Dict[str, Any]) -> None:
        """A line of the telemetry process."""
        if "identity" in message:
            return self.known(message)
        self.supervisor.files[state.SAMPLES].add(dict(message, at=round(message["at"] - self.supervisor.began, 2)))
        self.absent = message.get("absent", "")
        self.window.add(message, self.interval)
        self.counters.take(message, self.addresses)
        self.lost_gpus(message["gpus"])
        if "node" in message:
            self.node.append(message["node"])
            self.sampler_cost[1] = message.get("cpu_seconds", 0.0)
        return None

    def known(self, message: Dict[str, Any]) -> None:
        """Who is there; a GPU known by an earlier process stays known."""
        self.told, self.absent = True, message.get("absent", "")
        for each in message["identity"]:
            old = self.identities.get(str(each["index"]), {})
            self.identities[str(each["index"])] = {
                name: old.get(name) if isinstance(value, dict) and name in old else value for name, value in each.items()}
        at = {each["address"]: index for index, each in self.identities.items() if isinstance(each["address"], str)}
        ports = {each["port"]: at[each["address"]] for each in message["functions"] if each["address"] in at and each["port"]}
        self.addresses = dict(ports, **at)

    def lost_gpus(self, gpus: Dict[str, Any]) -> None:
        """A GPU that stops answering is an event, once."""
        for index, sample in gpus.items():
            found = sample.get("temperature")
            code = found["absent"] if isinstance(found, dict) else ""
            if code in BAD and self.broken.get(index) != code:
                self.event("telemetry", "GPU %s answers %s" % (index, code), int(index))
            self.broken[index] = code

    def trouble(self, text: str, gpu: Any) -> None:
        """The telemetry process hung or failed."""
        self.event("telemetry", text, gpu)

    def kernel_events(self, lines: List[Line]) -> None:
        """Kernel lines as events."""
        for line in lines:
            self.event(line.kind, line.text, gpu_of(line.address, self.addresses))

    def event(self, kind: str, text: str, gpu: Any = None, at: Any = None) -> None:
        """An event with the GPU's UUID."""
        uuid = self.identities.get(str(gpu), {}).get("uuid", "") if gpu is not None else ""
        self.supervisor.event(kind, text, gpu, uuid, at)

    def turn(self, load: str) -> None:
        """Another load begins: a window never mixes two."""
        self.close_window(load)

    def close_window(self, load: str) -> None:
        """End the window, tell what grew in it, and begin the next."""
        grown, events = self.counters.flush()
        window, now = self.window, self.now()
        self.window = Window(now, load)
        self.kernel_events(self.kernel.calm())
        for growth in events:
            gpu = int(growth.gpu) if growth.gpu else None
            self.event(growth.kind, counters.in_words(growth), gpu, growth.at)
        if now - window.began >= min(self.interval, SHORTEST_EMPTY) or window.samples or window.metrics:
            told = window.told(now, self.identities, grown)
            told.update(cpu=self.node_window(), cost=self.cost_window(), absent=self.telemetry_absent(window))
            self.supervisor.files[state.WINDOWS].add(told)
        for file in self.supervisor.files.values():
            file.flush()

    def telemetry_absent(self, window: Window) -> str:
        """Why there is no telemetry of GPUs, or ""."""
        if not self.telemetry.pid:
            return "telemetry failed too often"
        return self.absent or ("" if window.samples else "no sample in this window")

    def node_window(self) -> Dict[str, Any]:
        """The processors in this window: busy share of the time between the first and the last reading, load, memory."""
        if not self.node:
            return {"absent": "not read in this window"}
        first, last = self.node[0], self.node[-1]
        self.node = self.node[-1:]
        whole = last.get("all", 0) - first.get("all", 0)
        busy: Any = round((last["busy"] - first["busy"]) / whole, 3) if whole > 0 else {"absent": "no time passed"}
        return {"busy": busy, "load": last.get("load"), "available_bytes": last.get("available_bytes"),
                "cores": os.cpu_count()}

    def cost_window(self) -> Dict[str, float]:
        """Processor seconds that watching itself has taken in this window."""
        own, sampler = self.spent(), self.sampler_cost
        told = {"supervisor_cpu_seconds": round(own - self.cost[0], 4),
                "sampler_cpu_seconds": round(max(sampler[1] - sampler[0], 0), 4)}
        self.cost[0], sampler[0] = own, sampler[1]
        return told

    def end(self) -> None:
        """The last window and the end of the telemetry process."""
        self.kernel_events(self.kernel.new())
        self.close_window("")
        if self.telemetry.pid:
            self.supervisor.unhear(self.telemetry.pipe)
        self.telemetry.end()
