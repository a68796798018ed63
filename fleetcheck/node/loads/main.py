"""Runs on the node: one load in a process of its own: request on standard input, JSON lines and at last the result on standard output."""

import importlib
import os
import platform
import signal
import sys
import time
import traceback
from typing import Any, Dict, Mapping

from fleetcheck.node.loads.task import Malformed, Task, read, write_line

REQUEST_BYTES = 4 << 20
DONE, BROKE_OFF, REFUSED = 0, 1, 2


def main() -> None:
    """Run the load and end the process: 0 with a result, 1 when the load itself broke off, 2 for a request that cannot be run.

    The process ends at once, whatever threads still hang in a device.
    """
    began = time.monotonic()
    output = own_output()
    try:
        task = Task(read(sys.stdin.buffer.read(REQUEST_BYTES)), output, began)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, task.stop)
        result, status = result_of(task), DONE
    except Malformed as error:
        result, status = broken(str(error), began), REFUSED
    except Exception as error:  # noqa: BLE001 - whatever breaks a load is told in its result
        traceback.print_exc()
        result, status = broken(in_words(error), began), BROKE_OFF
    finish(output, result, status)


def own_output() -> int:
    """A private copy of standard output; what libraries print goes to standard error."""
    copy = os.dup(1)
    os.dup2(2, 1)
    return copy


def result_of(task: Task) -> Dict[str, Any]:
    """The RESULT of a load."""
    try:
        module = importlib.import_module("fleetcheck.node.loads." + task.load)
    except ImportError as error:
        raise Malformed("this version of the node code has no load %r: %s" % (task.load, error)) from error
    return complete(task, module.run(task))


def complete(task: Task, told: Mapping[str, Any]) -> Dict[str, Any]:
    """A RESULT with what every load has in common filled in: ok, seconds, coverage, software."""
    devices = [dict(entry) for entry in told.get("devices", [])]
    good = sum(1 for entry in devices if not entry.get("error"))
    error = str(told.get("error") or "")
    result = {"links": [], "coverage": "%d of %d" % (good, max(len(devices), len(task.devices))), "software": {}}  # type: Dict[str, Any]
    result.update(told, devices=devices, error=error, ok=not error and good == len(devices) > 0,
                  seconds=round(time.monotonic() - task.started, 3))
    result["software"] = dict({"python": platform.python_version()}, **result["software"])
    return result


def broken(error: str, began: float) -> Dict[str, Any]:
    """What stands for the result of a load that did not run."""
    return {"ok": False, "error": error, "seconds": round(time.monotonic() - began, 3), "devices": [], "links": [], "coverage": "0 of 0",
            "software": {"python": platform.python_version()}}


def in_words(error: BaseException) -> str:
    """An exception in one line."""
    lines = str(error).strip().splitlines()
    return "%s: %.400s" % (type(error).__name__, lines[0] if lines else "no message")


def finish(output: int, result: Mapping[str, Any], status: int) -> None:
    """Write the result and end, without waiting for a device that hangs."""
    told = write_line(output, {"result": result})
    sys.stderr.flush()
    os._exit(status if told else BROKE_OFF)


if __name__ == "__main__":
    main()
