"""Nodes under load that answer from recordings: an exchange of the real one's shape, and a controller over it whose clock runs fast."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from fleetcheck.burnin.begin import requests
from fleetcheck.burnin.book import NAME, Book
from fleetcheck.burnin.controller import Loads
from fleetcheck.burnin.ends import Patience
from fleetcheck.burnin.record import recalled
from fleetcheck.burnin.terms import Asked, settle
from fleetcheck.burnin.timer import Timer
from fleetcheck.gather import read_at
from fleetcheck.inventory import load
from fleetcheck.journal import Journal
from fleetcheck.records import Answer, Evidence, Failure

PACE = 1000.0
"""Seconds of a load that pass in one."""
RESULT = {"ok": True, "error": "", "seconds": 5.0, "coverage": "1 of 1", "devices": [], "links": [], "software": {}}


def window(number, gpus=8):
    """One window of ten seconds, as long as a real one."""
    three = [61.25, 63.5, 66.75]
    gpu = {"uuid": "GPU-6a7b8c9d-0123-4567-89ab-cdef01234567", "temperature": three, "margin": three, "power": three, "sm_clock": three,
           "mem_clock": three, "utilisation": three, "throttled_seconds": {"sw_power_cap": 1.5}, "pcie": [5, 16],
           "memory_temperature": three, "ecc": {"corrected": 0, "uncorrected": 0, "corrected_rows": 0, "uncorrected_rows": 0, "remap_pending": 0},
           "nvlink_errors": 0, "aer": {f"{kind} of 0000:{bus}:00.0": 0 for kind in ("correctable", "nonfatal", "fatal") for bus in ("17", "1b")}}
    return {"t": number * 10.0, "seconds": 10, "load": "gemm", "gpus": {str(each): gpu for each in range(gpus)}, "cpu": {"load": 3.5}}


@dataclass
class FakeLoad:
    """What one node holds."""

    began: float
    seconds: float
    boot: str
    window_seconds: float
    schedule: list
    cleaned: bool = False


@dataclass
class Fleet:
    """``ask`` as an Exchange. Trouble is injected by node name.

    silent: nodes whose polls fail; starts: states to answer load_start with; hold: a lock inside an ask; dies: windows at which the
    supervisor is gone; rebooted: nodes that rebooted; busy: jobs.
    """

    clock: object = time.monotonic
    silent: dict = field(default_factory=dict)
    starts: dict = field(default_factory=dict)
    rebooted: set = field(default_factory=set)
    gone: set = field(default_factory=set)
    busy: dict = field(default_factory=dict)
    events: dict = field(default_factory=dict)
    early: set = field(default_factory=set)
    cap: int = 400
    gpus: int = 1
    loads: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)
    most: int = 0
    lock: object = field(default_factory=threading.Lock)

    def ask(self, node, request):
        collector = request.collectors[0]
        with self.lock:
            self.asked.append((self.clock(), node.name, collector, request.settings.get("load", {})))
            told = getattr(self, f"_{collector}")(node.name, request.settings.get("load", {}))
        if isinstance(told, Failure):
            return Evidence(request.run, request.stage, request.probe, node.name, "", 0.1, failure=told)
        return Evidence(request.run, request.stage, request.probe, node.name, "", 0.1, answers={collector: told if isinstance(told, Answer) else Answer(True, data=told)})

    def close(self):
        pass

    def _system(self, name, _):
        return {"hostname": name, "busy": self.busy.get(name, [])}

    def _load_start(self, name, asked):
        if self.starts.get(name):
            return self.starts[name].pop(0)
        if name not in self.loads:
            self.loads[name] = FakeLoad(self.clock(), asked["seconds"], f"boot-{name}", asked["window_seconds"], asked["schedule"])
            state = "started"
        else:
            state = "running"
        self.most = max(self.most, sum(not self._over(each) for each in self.loads))
        return {"state": state, "id": asked["id"], "boot_id": f"boot-{name}", "pid": 7, "folder": "/x", "how": "session", "ends_in": self.loads[name].seconds}

    def _over(self, name):
        held = self.loads[name]
        return self.clock() - held.began >= held.seconds or name in self.rebooted | self.gone | self.early

    def _load_poll(self, name, asked):
        if name in self.silent:
            failure = self.silent[name]() if callable(self.silent[name]) else self.silent[name]
            if failure:
                return failure
        held = self.loads.get(name)
        if held is None:
            return {"state": "none", "boot_id": f"boot-{name}"}
        passed = min(self.clock() - held.began, held.seconds)
        count, first = int(passed / held.window_seconds), asked["after"]["windows"]
        windows = [window(number, self.gpus) for number in range(first, min(count, first + self.cap))]
        more = first + len(windows) < count
        over = self._over(name) and not more
        state = "rebooted" if name in self.rebooted else "gone" if name in self.gone else "ended" if over else "running"
        done = [each["load"] for each in held.schedule] if state == "ended" else [each["load"] for each in held.schedule][:-1]
        return {"state": state, "boot_id": "boot-new" if name in self.rebooted else held.boot, "started_boot_id": held.boot,
                "current": "" if over else held.schedule[-1]["load"], "ends_in": held.seconds - passed, "ended_why": "done" if over else "",
                "windows": windows, "events": self.events.get(name, [])[asked["after"]["events"]:],
                "results": {load: RESULT for load in done}, "snapshots": {"before": {}, "after": {}} if state == "ended" else {}, "more": more}

    def _load_end(self, name, _):
        self.loads.pop(name, None)
        return {"state": "cleaned", "left": []}

    def count(self, collector):
        """{node: how often it was asked this}."""
        return Counter(name for _, name, what, _ in self.asked if what == collector)


def inventory_of(folder, nodes="n[1-3]", more="", power=""):
    path = folder / "x.yaml"
    path.write_text(f"fleet: f\ndefaults: {{profile: cpu-host, claim: none{more}}}\nnodes: {{'{nodes}': {{rack: 1}}}}\n{power}")
    return load(path)


FAST = Patience(stagger=0.5, claim=20, claim_look=2, again=20, grace=120, closing=10)


@contextmanager
def controlled(folder, fleet, inventory, *, tier="burnin", duration=600.0, needed=("gemm", "cpu"), max_loaded=None, patience=FAST, pace=PACE,
               until=None, run="r1", run_claims=None, connections=4, every=None):
    """A controller over a fake fleet; its clock, and the fleet's, run ``pace`` times as fast."""
    timer = Timer(pace=pace)
    fleet.clock = timer.now
    terms = settle(Asked(tier, duration, until, max_loaded), inventory, {node.name: needed for node in inventory.nodes}, datetime.now().astimezone(),
                   which=lambda name: name)
    journal, pool = Journal(folder / "evidence.jsonl"), ThreadPoolExecutor(connections)
    before = recalled(folder / NAME)
    more = {"claims_run": run_claims} if run_claims else {}
    loads = Loads(terms, inventory, fleet, Book(folder / NAME), journal, timer, patience, pool=pool, connections=connections, **more)
    futures = loads.start(requests(run, inventory, terms), before)
    if every:
        loads.every = every
    try:
        yield loads, futures
    finally:
        loads.close()
        pool.shutdown(wait=True)
        journal.close()


def evidence(folder, future, timeout=30):
    """What was recorded of a node's load."""
    return read_at(folder / "evidence.jsonl", future.result(timeout))
