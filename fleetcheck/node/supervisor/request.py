"""Runs on the node: what a load is asked to do, held to its shape before anything starts. Pure but for the list of loads."""

import importlib
import math
from typing import Any, Dict, List, Mapping

DEVICES = ("auto", "cuda", "cpu")


def checked(asked: Mapping[str, Any]) -> Dict[str, Any]:
    """The request with its defaults filled in; ValueError naming the key that is wrong."""
    request = {
        "id": asked.get("id"), "run": str(asked.get("run", "")), "node": str(asked.get("node", "")),
        "seconds": seconds(asked, "seconds"), "schedule": schedule(asked.get("schedule")),
        "repeat": bool(asked.get("repeat")), "torch_python": str(asked.get("torch_python") or ""),
        "prefix": words(asked.get("prefix")), "device": asked.get("device", "auto"),
        "devices": int(asked.get("devices") or 0), "scratch": str(asked.get("scratch") or ""),
        "sample_seconds": seconds(asked, "sample_seconds", 1.0), "window_seconds": seconds(asked, "window_seconds", 10.0),
        "grace_seconds": seconds(asked, "grace_seconds", 3.0), "stall_seconds": seconds(asked, "stall_seconds", 10.0),
        "snapshot": words(asked.get("snapshot")), "snapshot_settings": dict(asked.get("snapshot_settings") or {}),
        "seed": int(asked.get("seed", 1)),
    }
    if request["device"] not in DEVICES:
        raise ValueError("device is %.40r; expected one of %s" % (request["device"], ", ".join(DEVICES)))
    return request


def seconds(asked: Mapping[str, Any], key: str, otherwise: float = 0.0) -> float:
    """A positive number of seconds."""
    value = asked.get(key, otherwise)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise ValueError("%s is %.40r; expected a positive number of seconds" % (key, value))
    return float(value)


def words(value: Any) -> List[str]:
    """A list of words; none for nothing."""
    if isinstance(value, str) or not all(isinstance(word, str) for word in value or ()):
        raise ValueError("expected a list of words, not %.80r" % (value,))
    return list(value or ())


def schedule(value: Any) -> List[Dict[str, Any]]:
    """The loads in their order, each with seconds and settings."""
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError("schedule is empty: nothing to run")
    return [entry(each) for each in value]


def entry(value: Any) -> Dict[str, Any]:
    """One load of the schedule."""
    if not isinstance(value, dict) or not isinstance(value.get("load"), str):
        raise ValueError("an entry of the schedule is {load, seconds, settings}, not %.80r" % (value,))
    module(value["load"])
    return {"load": value["load"], "seconds": seconds(value, "seconds"), "settings": dict(value.get("settings") or {})}


def module(name: str) -> Any:
    """The module of a load; ValueError for one that this version of the node code does not have."""
    if not name.isidentifier():
        raise ValueError("no load is called %.80r" % name)
    try:
        return importlib.import_module("fleetcheck.node.loads." + name)
    except ImportError as error:
        raise ValueError("this version of the node code has no load %r: %s" % (name, error)) from error


def needs_torch(name: str) -> bool:
    """Whether a load runs in the node's torch; one without says TORCH = False."""
    return bool(getattr(module(name), "TORCH", True))


def has_devices(name: str) -> bool:
    """Whether a load runs on accelerators; else it is about the machine itself."""
    return needs_torch(name) or scope(name) == "device"


def scope(name: str) -> str:
    """"device" for one process an accelerator, "node" for one over all."""
    return str(getattr(module(name), "SCOPE", "node"))
