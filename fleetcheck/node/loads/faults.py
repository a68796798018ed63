"""Runs on the node: faults of stand-ins for accelerators, which only a simulated fleet sets. No real device reads them."""

import json
import math
from typing import Any, Dict, List, Mapping, NamedTuple

from fleetcheck.node.loads.task import Malformed

VARIABLE = "FLEETCHECK_LOAD_FAULTS"
KEYS = ("load", "device", "slow", "flip", "stuck", "die", "corrupt")


class Faults(NamedTuple):
    """What is wrong with one stand-in under one load. slow: how many times longer it takes; flip: the operation, from 1, whose result
    has a wrong bit (0: none); stuck: byte of its tested memory with a bit that stays 1 (-1: none); die: seconds after which its process
    ends (0: never); corrupt: what is copied to it arrives damaged."""

    slow: float = 1.0
    flip: int = 0
    stuck: int = -1
    die: float = 0.0
    corrupt: bool = False


def of_device(environment: Mapping[str, str], load: str, device: int) -> Faults:
    """The faults set for a device under a load; an entry without "load" or "device" means all. Malformed for no list of faults."""
    found = {}  # type: Dict[str, Any]
    for entry in entries(environment.get(VARIABLE) or "[]"):
        if entry.get("load", load) == load and entry.get("device", device) == device:
            found.update((key, value) for key, value in entry.items() if key not in ("load", "device"))
    return Faults(**found)


def entries(text: str) -> List[Dict[str, Any]]:
    """The faults in the variable's text."""
    try:
        told = json.loads(text)
    except ValueError as error:
        raise Malformed("%s is no JSON: %s" % (VARIABLE, error)) from error
    if not isinstance(told, list) or not all(isinstance(entry, dict) for entry in told):
        raise Malformed("%s is %.80r; expected a list of objects" % (VARIABLE, told))
    for entry in told:
        check(entry)
    return told


def check(entry: Mapping[str, Any]) -> None:
    """Malformed for a fault that no stand-in knows."""
    for key, value in entry.items():
        if key not in KEYS:
            raise Malformed("%s: unknown key %.40r; expected some of %s" % (VARIABLE, key, ", ".join(KEYS)))
        if key in LEAST and not is_number(value, *LEAST[key]):
            raise Malformed("%s: %s is %.40r; expected a%s number from %g" % (
                VARIABLE, key, value, " whole" if LEAST[key][1] else "", LEAST[key][0]))
    if not isinstance(entry.get("corrupt", False), bool):
        raise Malformed("%s: corrupt is %.40r; expected true or false" % (VARIABLE, entry["corrupt"]))


LEAST = {"device": (0, True), "slow": (1, False), "flip": (0, True), "stuck": (-1, True), "die": (0, False)}


def is_number(value: Any, least: float, whole: bool) -> bool:
    """Whether a value is a finite number of at least ``least``."""
    kinds = (int,) if whole else (int, float)
    return isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value) and value >= least
