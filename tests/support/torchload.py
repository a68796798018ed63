"""Loads on stand-ins for accelerators, each run for real in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass

LOAD = (sys.executable, "-m", "fleetcheck.node.loads.main")
PATIENCE_SECONDS = 120


@dataclass(frozen=True)
class Ran:
    """What a load's process left: its exit status, the lines it wrote before the result, the result (None: there was none)."""

    status: int
    lines: list[dict]
    result: dict | None
    stderr: str

    def device(self, index: int) -> dict:
        return next(entry for entry in self.result["devices"] if entry["index"] == index)

    def metrics(self, name: str) -> list[float]:
        return [entry["metrics"][name] for entry in self.result["devices"]]

    @property
    def wrong(self) -> list[int]:
        """Indices of the devices with mismatches."""
        return [entry["index"] for entry in self.result["devices"] if entry["mismatch_count"]]


def request(load: str, seconds: float = 1.0, devices: int = 3, **more: object) -> dict:
    return {"load": load, "seconds": seconds, "device": "cpu", "devices": list(range(devices)), **more}


def run_text(text: str, *faults: dict, environment: dict[str, str] | None = None, argv: tuple[str, ...] = LOAD) -> Ran:
    """A load's process given this text."""
    env = {**os.environ, "FLEETCHECK_LOAD_FAULTS": json.dumps(faults), **(environment or {})}
    done = subprocess.run(argv, input=text, env=env, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    result = lines.pop()["result"] if lines and "result" in lines[-1] else None
    return Ran(done.returncode, lines, result, done.stderr)


def run_load(load: str, *faults: dict, seconds: float = 1.0, devices: int = 3, **more: object) -> Ran:
    """A load on so many stand-ins with these faults."""
    return run_text(json.dumps(request(load, seconds, devices, **more)), *faults)
