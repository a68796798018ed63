"""Runs on the node: what one load process is asked to do, its clock, and the lines it writes meanwhile."""

import json
import math
import os
import threading
import time
from typing import Any, Dict, List, Mapping, Optional

from fleetcheck.node.encode import encode
from fleetcheck.node.loads import LOADS

DEVICES = ("auto", "cuda", "cpu")
KINDS = {dict: "an object", str: "text", int: "an integer", list: "a list"}
MOST_DEVICES = 256
LONGEST_SECONDS = 14 * 86400
START_SECONDS = 60.0
LAST_SECONDS = 2.0
"""Kept back for the result, when the process will be killed at a known time."""


class Malformed(ValueError):
    """A request that cannot be run, in one line for the operator."""


class Task:
    """One load: which, on what, for how long. Times are of the monotonic clock."""

    def __init__(self, request: Mapping[str, Any], output: int, began: float) -> None:
        """``request``: checked by read(); output: the descriptor for JSON lines; began: when the process started."""
        self.load: str = request["load"]
        self.seconds: float = request["seconds"]
        self.device: str = request["device"]
        self.devices: List[int] = request["devices"]
        self.uuids: List[str] = request["uuids"]
        self.settings: Dict[str, Any] = request["settings"]
        self.scratch: str = request["scratch"]
        self.seed: int = request["seed"]
        self.began = began
        self.latest = began + request["ends_in"] - min(LAST_SECONDS, request["ends_in"] / 4)
        self.started = began
        self.until = self.latest
        self.stopped = False
        self._output = output
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Start the load's own time; until here it only prepared. The last of several devices decides."""
        if self.stopped:
            return
        self.started = time.monotonic()
        self.until = min(self.started + self.seconds, self.latest)

    def left(self) -> float:
        """Seconds until the load must end; 0 once it was told to stop."""
        return 0.0 if self.stopped else max(0.0, self.until - time.monotonic())

    def over(self) -> bool:
        """Whether the load must end now."""
        return self.left() <= 0

    def stop(self, *_: Any) -> None:
        """End early, as a signal handler too."""
        self.stopped = True
        self.until = min(self.until, time.monotonic())

    def emit(self, device: Optional[int], metric: str, value: float) -> None:
        """One line of progress."""
        self.write({"t": round(time.monotonic() - self.started, 3), "device": device, "metric": metric, "value": value})

    def write(self, value: Mapping[str, Any]) -> None:
        """One JSON line, whole; whoever reads may be gone."""
        with self._lock:
            write_line(self._output, value)

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """A number of the settings; Malformed when it is none, or outside low … high."""
        value = self.settings.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise Malformed("settings.%s of %s is %.40r; expected a number from %g to %g" % (name, self.load, value, low, high))
        return float(value)

    def words(self, name: str, known: List[str]) -> List[str]:
        """Some of the known words, as the settings choose; Malformed for any other."""
        value = self.settings.get(name, known)
        if not isinstance(value, list) or not value or [word for word in value if word not in known]:
            raise Malformed("settings.%s of %s is %.80r; expected some of %s" % (name, self.load, value, ", ".join(known)))
        return list(dict.fromkeys(value))


def write_line(output: int, value: Mapping[str, Any]) -> bool:
    """One JSON line, written whole; False when nobody reads any more."""
    view = memoryview(encode(value) + b"\n")
    try:
        while view:
            view = view[os.write(output, view):]
    except OSError:
        return False
    return True


def read(text: bytes) -> Dict[str, Any]:
    """A request with its defaults filled in; Malformed, naming the key that is wrong."""
    try:
        asked = json.loads(text.decode("utf-8"))
    except ValueError as error:
        raise Malformed("the request is no JSON: %s (%d bytes)" % (error, len(text))) from error
    if not isinstance(asked, dict):
        raise Malformed("the request is a %s; expected an object" % type(asked).__name__)
    seconds = _seconds(asked, "seconds", None)
    request = {
        "load": _word(asked, "load", LOADS, None), "seconds": seconds, "device": _word(asked, "device", DEVICES, "auto"),
        "ends_in": _seconds(asked, "ends_in", seconds + START_SECONDS), "devices": _indices(asked.get("devices", [0])),
        "settings": _typed(asked, "settings", dict, {}), "scratch": _typed(asked, "scratch", str, ""),
        "seed": _typed(asked, "seed", int, 1), "uuids": _typed(asked, "uuids", list, []),
    }
    uuids = request["uuids"]
    if uuids and (len(uuids) != len(request["devices"]) or not all(isinstance(each, str) for each in uuids)):
        raise Malformed("uuids is %.80r; expected one text for each of %d devices" % (uuids, len(request["devices"])))
    return request


def _word(asked: Mapping[str, Any], key: str, known: Any, default: Optional[str]) -> str:
    value = asked.get(key, default)
    if value not in known:
        raise Malformed("%s is %.40r; expected one of %s" % (key, value, ", ".join(known)))
    return str(value)


def _seconds(asked: Mapping[str, Any], key: str, default: Optional[float]) -> float:
    value = asked.get(key, default)
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not usable or not 0 < value <= LONGEST_SECONDS:
        raise Malformed("%s is %.40r; expected seconds, up to %d" % (key, value, LONGEST_SECONDS))
    return float(value)


def _indices(value: Any) -> List[int]:
    usable = isinstance(value, list) and 0 < len(value) <= MOST_DEVICES
    if not usable or not all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in value):
        raise Malformed("devices is %.80r; expected a list of 1 to %d indices" % (value, MOST_DEVICES))
    if len(set(value)) != len(value):
        raise Malformed("devices is %.80r; an index is there twice" % (value,))
    return list(value)


def _typed(asked: Mapping[str, Any], key: str, kind: Any, default: Any) -> Any:
    value = asked.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Malformed("%s is %.80r; expected %s" % (key, value, KINDS[kind]))
    return value
