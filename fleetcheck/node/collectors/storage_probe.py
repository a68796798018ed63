"""Runs on the node: one small private file, written to the declared scratch path, read back and removed.

The only collector that writes. What hangs is found, named and left behind; the file is removed whatever happened.
"""

import os
import time
from typing import Any, Callable, Dict

from fleetcheck.node.collectors.watched import watched
from fleetcheck.node.host import Host, absent

READS = (("scratch path of the inventory, a file of 4 KiB", "any user"),)

STALL_SECONDS = 10.0
CONTENT = b"fleetcheck\n" * 372


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{scratch, error, hung_at, seconds: {create, write, fsync, stat, read, unlink}, total_seconds}."""
    scratch = settings.get("scratch")
    if not scratch:
        return told("", {"absent": "the inventory declares no scratch path for this node"}, "", {})
    place = "%s/.fleetcheck-%d-%s" % (host.path(scratch), os.getpid(), os.urandom(6).hex())
    outcome = watched(lambda note: probe(place, host.path(scratch), note), STALL_SECONDS)
    if outcome.hung_at:
        watched(lambda note: remove(place), 2.0)
        return told(scratch, "", outcome.hung_at, {})
    if outcome.error:
        return told(scratch, {"absent": outcome.error}, "", {})
    return told(scratch, outcome.result["error"].replace(host.path(scratch), scratch), "", outcome.result["seconds"])


def told(scratch: str, error: Any, hung_at: str, seconds: Dict[str, float]) -> Dict[str, Any]:
    """What leaves the node."""
    nothing = {"absent": hung_at and "hung at " + hung_at or "not every step was done"}
    whole = error == "" and not hung_at
    return {"scratch": scratch, "error": error, "hung_at": hung_at, "seconds": seconds,
            "total_seconds": sum(seconds.values()) if whole else nothing}


def probe(place: str, folder: str, note: Callable[[str], None]) -> Dict[str, Any]:
    """Every step with its seconds, until one fails."""
    seconds: Dict[str, float] = {}
    held: Dict[str, int] = {}
    error = ""
    try:
        for name, step in steps(place, folder, held):
            note(name)
            began = time.monotonic()
            step()
            seconds[name] = time.monotonic() - began
    except OSError as problem:
        error = "%s: %s" % (name, absent(problem)["absent"])
    finally:
        if "file" in held:
            os.close(held["file"])
        remove(place)
    return {"seconds": seconds, "error": error}


def steps(place: str, folder: str, held: Dict[str, int]) -> Any:
    """(name, call) in order; nobody else may read the file, and none that is there is overwritten."""
    def create() -> None:
        held["file"] = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def read() -> None:
        if os.pread(held["file"], len(CONTENT) + 1, 0) != CONTENT:
            raise OSError(5, "what was read is not what was written", place)

    return (
        ("statvfs", lambda: os.statvfs(folder)),
        ("create", create),
        ("write", lambda: os.write(held["file"], CONTENT)),
        ("fsync", lambda: os.fsync(held["file"])),
        ("stat", lambda: os.stat(place)),
        ("read", read),
        ("unlink", lambda: os.unlink(place)),
    )


def remove(place: str) -> None:
    """Take the file away, if it is there."""
    try:
        os.unlink(place)
    except OSError:
        pass
