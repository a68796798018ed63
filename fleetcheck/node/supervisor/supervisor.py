"""Runs on the node: one load from its first sample to its last result: schedule, telemetry, windows, events, state."""

import datetime
import os
import selectors
import time
from typing import Any, Callable, Dict, List, Mapping

from fleetcheck.node import process
from fleetcheck.node.host import Host
from fleetcheck.node.supervisor import alive, request, results, snapshots, state
from fleetcheck.node.supervisor.files import Lines, read_json, write_json
from fleetcheck.node.supervisor.schedule import Schedule, Turn
from fleetcheck.node.supervisor.turn import Course
from fleetcheck.node.supervisor.watch import Watch

SAMPLES_BYTES = 128 << 20
IDENTITY_SECONDS = 40.0
AFTER_SHARE = 0.2


class Supervisor:
    """Everything of one load that lives while it runs."""

    def __init__(self, host: Host, folder: str, asked: Mapping[str, Any]) -> None:
        self.host, self.folder, self.request = host, folder, asked
        self.began = time.monotonic()
        self.deadline = self.began + asked["seconds"]
        self.grace = min(asked["grace_seconds"], asked["seconds"] * 0.2)
        self.scratch = host.path(asked["scratch"]) if asked["scratch"] else ""
        self.stopped = False
        self.current = ""
        self.results: Dict[str, Dict[str, Any]] = {}
        self.snapshots: Dict[str, Any] = {}
        self.sessions: List[alive.Record] = []
        self.asking = 0
        self.selector = selectors.DefaultSelector()
        self.files = {name: Lines(os.path.join(folder, name)) for name in (state.WINDOWS, state.EVENTS)}
        self.files[state.SAMPLES] = Lines(os.path.join(folder, state.SAMPLES), SAMPLES_BYTES)

    def stop(self, number: int, frame: object) -> None:
        """End the load soon (SIGTERM)."""
        self.stopped = True

    def run(self) -> None:
        """The whole load."""
        self.watch = Watch(self)
        self.say()
        self.snapshot("before", min(snapshots.SECONDS, self.left() / 4))
        self.work(Schedule(self.request["schedule"], self.request["repeat"]))
        self.watch.turn("")
        self.snapshot("after", min(snapshots.SECONDS, self.left()))
        self.watch.end()
        self.finish("")

    def work(self, schedule: Schedule) -> None:
        """Every load in its turn, until the schedule or the time is over."""
        self.cut = False
        after = min(snapshots.SECONDS / 3, self.request["seconds"] * AFTER_SHARE) if self.request["snapshot"] else 0.0
        device = self.device()
        while not self.stopped:
            turn = schedule.next(self.left() - after)
            if turn is None:
                break
            self.one(turn, device)
            self.cut = self.cut or turn.cut and not schedule.repeat
        self.cut = self.cut or not schedule.complete()

    def one(self, turn: Turn, device: str) -> None:
        """One load's turn, and its result on disk."""
        self.current = turn.load
        self.watch.turn(turn.load)
        self.say()
        if request.has_devices(turn.load):
            course = Course(self, turn, device, self.devices(device))
        else:
            course = Course(self, turn, "cpu", [{"index": 0, "uuid": ""}])
        result = course.run()
        self.results[turn.load] = results.of_passes(self.results.get(turn.load, {}), result)
        write_json(os.path.join(self.folder, state.RESULTS), self.results)
        self.current = ""
        self.say()

    def device(self) -> str:
        """cuda or cpu: as asked, or by whether NVML knows a GPU; first it is awaited that NVML says which there are."""
        until = time.monotonic() + min(IDENTITY_SECONDS, self.left() / 4)
        while not self.watch.told and time.monotonic() < until and not self.stopped:
            self.attend(0.1)
        if self.request["device"] != "auto":
            return str(self.request["device"])
        return "cuda" if self.watch.identities else "cpu"

    def devices(self, device: str) -> List[Dict[str, Any]]:
        """The accelerators to load: those that NVML names, or as many as are expected where it names none."""
        named = [each for _, each in sorted(self.watch.identities.items(), key=lambda item: int(item[0]))]
        known = [{"index": each["index"], "uuid": each["uuid"] if isinstance(each["uuid"], str) else ""} for each in named]
        count = self.request["devices"]
        if device == "cuda" and known:
            return known + [{"index": index, "uuid": ""} for index in range(len(known), count)]
        uuids = {each["index"]: each["uuid"] for each in known}
        return [{"index": index, "uuid": uuids.get(index, "")} for index in range(count or len(known) or 1)]

    def attend(self, seconds: float) -> None:
        """Serve every stream for up to ``seconds``, never beyond the deadline."""
        for key, _ in self.selector.select(max(min(seconds, self.left()), 0)):
            if key.fd in self.selector.get_map() and not key.data():
                self.unhear(key.fd)
        self.watch.tick()

    def left(self) -> float:
        """Seconds to the deadline."""
        return float(max(self.deadline - time.monotonic(), 0))

    def hear(self, descriptor: int, heard: Callable[[], bool]) -> None:
        """Call ``heard`` whenever there is something to read, until it returns False."""
        self.selector.register(descriptor, selectors.EVENT_READ, heard)

    def unhear(self, descriptor: int) -> None:
        """Stop that."""
        if descriptor in self.selector.get_map():
            self.selector.unregister(descriptor)

    def measured(self, device: Any, metric: Any, value: Any) -> None:
        """A load's word on its own speed."""
        self.watch.window.measured(device, metric, value)

    def event(self, kind: str, text: str, gpu: Any = None, uuid: Any = "", at: Any = None) -> None:
        """One event; ``at``: its moment by the monotonic clock, now unless given."""
        moment = time.monotonic() if at is None else at
        ago = datetime.timedelta(seconds=time.monotonic() - moment)
        when = (datetime.datetime.now(datetime.timezone.utc) - ago).isoformat(timespec="milliseconds")
        self.files[state.EVENTS].add({
            "t": round(moment - self.began, 1), "time": when, "kind": kind, "gpu": gpu,
            "uuid": uuid if isinstance(uuid, str) else "", "load": self.current, "text": text[:2000]})

    def snapshot(self, when: str, seconds: float) -> None:
        """Ask the collectors of the snapshot, while telemetry goes on."""
        if not self.request["snapshot"] or self.stopped or seconds < 1:
            return
        path, until = os.path.join(self.folder, "snapshot.draft"), time.monotonic() + seconds
        names = self.request["snapshot"]
        self.asking = snapshots.start(self.host, names, self.request["snapshot_settings"], seconds, path)
        while process.look(self.asking) and not self.dead(self.asking) and time.monotonic() < until + 2 and not self.stopped:
            self.attend(0.1)
        process.kill(self.asking)
        alive.collect(self.asking)
        self.asking = 0
        self.snapshots[when] = read_json(path)
        if when == "after":
            snapshots.brief(self.snapshots.get("before", {}), self.snapshots["after"])
        write_json(os.path.join(self.folder, state.SNAPSHOTS), self.snapshots)

    def dead(self, pid: int) -> bool:
        """Whether a child has ended, not yet collected."""
        return process.state_of(pid) in "ZX?"

    def owns(self, pid: int) -> bool:
        """Whether a child is one that is looked after, not something a load left behind."""
        return pid == self.asking or self.watch.telemetry.owns(pid)

    def remember_session(self, record: alive.Record) -> None:
        """Write a session down before it does anything, for whoever must end it should this process be killed."""
        self.sessions = [each for each in self.sessions if alive.members(each)] + [record]
        write_json(os.path.join(self.folder, state.SESSIONS), {"sessions": self.sessions})

    def remember_group(self, group: str) -> None:
        """The same for a memory cgroup."""
        write_json(os.path.join(self.folder, state.GROUPS), {"cgroups": [group] if group else []})

    def say(self, ended_why: str = "") -> None:
        """Where this load stands, for whoever polls."""
        write_json(os.path.join(self.folder, state.STATE), {"current": self.current, "ended_why": ended_why})

    def finish(self, problem: str) -> None:
        """Say why it is over: done, deadline, stopped, or the problem."""
        for file in self.files.values():
            file.flush()
        lost = sum(file.lost for file in self.files.values())
        if lost:
            self.event("telemetry", "%d lines were lost: the disk of %s took no more" % (lost, self.folder))
        self.say(problem or (state.STOPPED if self.stopped else "deadline" if self.cut else "done"))

    def close(self) -> None:
        """Leave no process behind."""
        alive.end_orphans(lambda pid: False)
