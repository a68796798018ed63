"""Runs on the node: one load's turn: its processes started, attended to, ended, and their results joined."""

import os
import signal
import time
from typing import Any, Dict, List, Mapping, Sequence

from fleetcheck.node.supervisor import alive, cgroup, loadprocess, request, results
from fleetcheck.node.supervisor.schedule import Turn, groups

SPARE_BYTES = 256 << 20


class Course:
    """What a turn needs of the supervisor: folder, request, seconds of grace, and ``attend`` to all streams for a while."""

    def __init__(self, supervisor: Any, turn: Turn, device: str, devices: Sequence[Mapping[str, Any]]) -> None:
        """device: cuda or cpu; devices: {index, uuid} of those to load."""
        self.supervisor = supervisor
        self.turn = turn
        self.device = device
        self.devices = devices
        self.group = ""
        self.processes: List[loadprocess.LoadProcess] = []
        self.parts: List[Dict[str, Any]] = []

    def run(self) -> Dict[str, Any]:
        """The RESULT of this turn, whatever happens to its processes."""
        began = time.monotonic()
        try:
            self.start()
            self.attend(began + self.turn.ends_in - self.supervisor.grace)
        finally:
            self.end_all()
        return results.of_processes(self.parts, len(self.devices))

    def start(self) -> None:
        """Start every process; one that cannot be started is an error of its devices."""
        self.group = self.memory_group()
        indices = [device["index"] for device in self.devices]
        for group in groups(request.scope(self.turn.load), self.device, indices):
            devices = [device for device in self.devices if device["index"] in group]
            try:
                self.start_one(devices)
            except OSError as error:
                self.lost("cannot be started: %s: %s" % (error.strerror, error.filename), devices)

    def start_one(self, devices: Sequence[Mapping[str, Any]]) -> None:
        """One process over these devices."""
        supervisor, turn = self.supervisor, self.turn
        asked = {
            "load": turn.load, "seconds": turn.seconds, "ends_in": turn.ends_in, "device": self.device,
            "devices": [device["index"] for device in devices], "uuids": [device.get("uuid", "") for device in devices],
            "settings": turn.settings, "scratch": supervisor.scratch, "seed": supervisor.request["seed"],
        }
        visible = ",".join(str(device.get("uuid") or device["index"]) for device in devices)
        environment = {"CUDA_VISIBLE_DEVICES": visible} if self.device == "cuda" else {}
        environment[alive.MARK] = supervisor.folder
        argv = loadprocess.command(supervisor.folder, request.needs_torch(turn.load), supervisor.request)
        started = loadprocess.LoadProcess(argv, asked, devices, environment, self.group, supervisor.measured)
        self.processes.append(started)
        self.supervisor.remember_session(started.record)
        for pipe in started.pipes:
            self.supervisor.hear(pipe, lambda pipe=pipe: started.listen(pipe))

    def attend(self, until: float) -> None:
        """Until all have ended; those that have not by then are asked to, and get the seconds of grace."""
        while self.collected() and time.monotonic() < until and not self.supervisor.stopped:
            self.supervisor.attend(min(until - time.monotonic(), 0.2))
        why = "the load was stopped" if self.supervisor.stopped else "no end %g s after its start" % self.turn.ends_in
        for running in self.processes:
            running.ask_to_end(why, bool(self.supervisor.stopped) or self.turn.hurried)
        grace = time.monotonic() + self.supervisor.grace
        while self.collected() and time.monotonic() < grace:
            self.supervisor.attend(0.1)

    def collected(self) -> List[loadprocess.LoadProcess]:
        """Take the results of processes that ended; those that still run."""
        for ended in [each for each in self.processes if each.has_ended()]:
            self.take(ended)
        return self.processes

    def take(self, ended: loadprocess.LoadProcess) -> None:
        """One process's result; one that brought none is an event of its devices."""
        self.processes.remove(ended)
        for pipe in ended.pipes:
            self.supervisor.unhear(pipe)
        result = ended.end()
        self.parts.append(result)
        if ended.result is None or result["error"].startswith(loadprocess.OWN_LIMIT):
            kind = "cut" if ended.cut else "process"
            self.supervisor.event(kind, "%s: %s" % (self.turn.load, result["error"]), *self.named(ended.devices))

    def named(self, devices: Sequence[Mapping[str, Any]]) -> Any:
        """The GPU and UUID of an event about these devices: none when there are several."""
        one = devices[0] if len(devices) == 1 and request.has_devices(self.turn.load) else {"index": None, "uuid": ""}
        return one["index"], one.get("uuid", "")

    def lost(self, error: str, devices: Sequence[Mapping[str, Any]]) -> None:
        """No process at all."""
        self.parts.append(results.without_result(error, 0, devices))
        self.supervisor.event("process", "%s: %s" % (self.turn.load, error), *self.named(devices))

    def end_all(self) -> None:
        """Kill what still runs, with all that it started."""
        for running in list(self.processes):
            running.ask_to_end("the load ended", True)
            alive.signal_session(running.record, signal.SIGKILL)
            self.take(running)
        alive.end_orphans(self.supervisor.owns)
        cgroup.remove([self.group] if self.group else [])
        self.supervisor.remember_group("")

    def memory_group(self) -> str:
        """A memory cgroup for a load that names its limit; "" for others, and where none can be made."""
        limit = getattr(request.module(self.turn.load), "memory_limit", None)
        if limit is None:
            return ""
        name = "fleetcheck-%s-%d" % (self.supervisor.request["id"], os.getpid())
        group = cgroup.make(name, limit(self.turn.settings) + SPARE_BYTES)
        self.supervisor.remember_group(group)
        return group
