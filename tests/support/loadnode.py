"""A node asked for loads as the controller asks it, with loads of a test's own: real processes over transport ``local``."""

from __future__ import annotations

import io
import json
import os
import sys
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fleetcheck.exchange import Exchange, Request
from fleetcheck.nodes import Node
from fleetcheck.payload import payload

PATH = f"{Path(getattr(sys, '_base_executable', sys.executable)).resolve().parent}:{os.environ['PATH']}"
"""This interpreter first: a shim that looks for one costs each ask a second."""
MAIN = '''"""Runs a fake load by the protocol of the real one."""
import importlib, json, sys, time


def main():
    request = json.loads(sys.stdin.readline())
    began = time.monotonic()

    def tell(device, metric, value):
        print(json.dumps({"t": time.monotonic() - began, "device": device, "metric": metric, "value": value}), flush=True)

    result = importlib.import_module("fleetcheck.node.loads." + request["load"]).run(request, tell)
    print(json.dumps({"result": result}), flush=True)
'''
FAKE = '''"""A load that does what its settings say."""
import os, signal, subprocess, sys, time
TORCH = False
SCOPE = "device"


def run(request, tell):
    settings = request["settings"]
    print("noise of a library", flush=True)
    if settings.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if settings.get("litter"):
        subprocess.Popen([sys.executable, "-c", "import os, signal, time; os.setsid(); signal.signal(15, 1); time.sleep(3671)"])
    until = time.monotonic() + (request["seconds"] if not settings.get("hang") else 3600)
    while time.monotonic() < until:
        for device in request["devices"]:
            tell(device, "tflops_bf16", 100.0 + device)
        if settings.get("die_on") in request["devices"]:
            sys.stderr.write("CUDA error: an illegal memory access was encountered\\n"); sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.05)
    devices = [{"index": index, "uuid": "", "name": "fake", "error": "", "metrics": {"tflops_bf16": 100.0 + index},
                "tenths": {}, "mismatches": [], "mismatch_count": 0, "checksums": {"case": settings.get("sum", "aa")}}
               for index in request["devices"]]
    return {"ok": True, "error": "", "seconds": request["seconds"], "software": {"python": sys.version.split()[0]},
            "coverage": "%d of %d" % (len(devices), len(devices)), "devices": devices, "links": [], "request": request}
'''


def archive_with(loads: Mapping[str, str] | None = None) -> bytes:
    """The real node code, its loads with these and with "fake", which obeys its settings."""
    ours = {"main": MAIN, "fake": FAKE, **(loads or {})}
    archive = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(payload())) as real, zipfile.ZipFile(archive, "w") as made:
        for name in real.namelist():
            if name.rpartition("/")[0] != "fleetcheck/node/loads" or Path(name).stem not in ours:
                made.writestr(name, real.read(name))
        for name, source in ours.items():
            made.writestr(f"fleetcheck/node/loads/{name}.py", source)
    return archive.getvalue()


class LoadNode:
    """The three asks about loads on one node."""

    def __init__(self, node: Node, base: Path, archive: bytes | None = None) -> None:
        self.node, self.base = node, base
        self.exchange = Exchange(archive=archive_with() if archive is None else archive)
        self.ids: set[str] = set()
        self.boxes: list[dict[str, Any]] = []

    def ask(self, collector: str, **settings: Any) -> dict[str, Any]:
        """The data of one ask; fails with what the node said instead."""
        answer = self.answer(collector, **settings)
        assert answer.ok, answer.error
        return dict(answer.data)

    def answer(self, collector: str, **settings: Any) -> Any:
        evidence = self.exchange.ask(self.node, Request("run", "load", "load", (collector,), 60, {"load": settings}))
        assert evidence.failure is None, evidence.failure
        return evidence.answers[collector]

    def start(self, *entries: Mapping[str, Any], name: str = "load-1", seconds: float = 30, **more: Any) -> dict[str, Any]:
        self.ids.add(name)
        asked = {"id": name, "run": "20261130-080000", "node": self.node.name, "seconds": seconds, "schedule": list(entries),
                 "device": "cpu", "devices": 2, "sample_seconds": 0.1, "window_seconds": 0.5, "grace_seconds": 1.0, **more}
        return self.ask("load_start", **asked)

    def poll(self, name: str = "load-1", **after: Any) -> dict[str, Any]:
        return self.ask("load_poll", id=name, after=after)

    def end(self, name: str = "load-1") -> dict[str, Any]:
        self.ids.discard(name)
        return self.ask("load_end", id=name)

    def until(self, wanted: Callable[[dict[str, Any]], bool], name: str = "load-1", seconds: float = 60) -> dict[str, Any]:
        """The first poll that is as wanted."""
        last = time.monotonic() + seconds
        while not wanted(found := self.poll(name)):
            assert time.monotonic() < last, json.dumps(found)[:3000]
            time.sleep(0.1)
        return found

    def ended(self, name: str = "load-1") -> dict[str, Any]:
        return self.until(lambda found: found["state"] not in ("running", "none"), name)

    def file(self, name: str, load: str = "load-1") -> Any:
        """A file of the load's folder, as JSON."""
        return json.loads((self.base / load / name).read_text())

    def close(self) -> None:
        """Leave nothing, whatever the test did."""
        for name in list(self.ids):
            self.end(name)
        self.exchange.close()


def base_below(root: Path) -> Path:
    return root / f"var/tmp/fleetcheck-{os.geteuid()}"


def processes_with(text: str) -> list[str]:
    """The command lines of living processes that hold a text."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in words:
            found.append(f"{folder.name} {words}")
    return found
