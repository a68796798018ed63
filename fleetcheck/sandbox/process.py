"""The sandbox server as the controller sees it: started, ready, stopped; nothing of it stays behind."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fleetcheck.sandbox.errors import SandboxError

READY_SECONDS = 70.0
STOP_SECONDS = 10.0
LOG = "server.log"
SIMULATED, NAMESPACES = "fleetcheck.sandbox.server", "fleetcheck.sandbox.spaces.server"
"""Which server answers for the nodes."""


@dataclass(frozen=True)
class Server:
    """A running server process and the addresses of its nodes."""

    directory: Path
    process: subprocess.Popen[bytes]
    addresses: dict[str, tuple[str, int]]

    def stop(self) -> None:
        """End the process (it ends its own children) and remove the directory; safe to call twice."""
        end(self.process)
        shutil.rmtree(self.directory, ignore_errors=True)


def launch(directory: Path, module: str = SIMULATED) -> Server:
    """Start the server on a realised directory and wait until every node listens; raises SandboxError with its log."""
    process = _spawn(directory, module)
    try:
        addresses = _ready(process, directory)
    except BaseException:
        end(process)
        raise
    return Server(directory, process, addresses)


def _spawn(directory: Path, module: str) -> subprocess.Popen[bytes]:
    package_parent = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [package_parent, os.environ.get("PYTHONPATH", "")]))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    with (directory / LOG).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", module, str(directory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            start_new_session=True, cwd=directory, env={**environment, "PYTHONPATH": path},
        )


def _ready(process: subprocess.Popen[bytes], directory: Path) -> dict[str, tuple[str, int]]:
    """Name → address from the readiness line, which says instead why there is none."""
    assert process.stdout
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(READY_SECONDS) else b""
    if not line:
        log = (directory / LOG).read_text(errors="replace").strip().splitlines() or ["it said nothing"]
        raise SandboxError(f"the sandbox server did not start within {READY_SECONDS:g} s: {log[-1]}")
    told = json.loads(line)
    if "failed" in told:
        raise SandboxError(f"the sandbox server did not start: {told['failed']}")
    return {name: (address, port) for name, (address, port) in told["ready"].items()}


def end(process: subprocess.Popen[bytes]) -> None:
    """Close the server's standard input, which ends it; kill it when that is not enough."""
    for stream in (process.stdin, process.stdout):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
