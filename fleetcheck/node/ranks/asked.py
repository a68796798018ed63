"""Runs on the node: what a trial asks of it, held to its shape before anything starts. Pure."""

import math

from fleetcheck.node.ranks.ops import OPS
from fleetcheck.node.ranks.pattern import EXACT

DEVICES = ("auto", "cuda", "cpu")
MOST_RANKS = 64
MOST_ITERATIONS = 100000
OWN = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK")


def checked(trial):
    """The trial with its defaults; ValueError naming the key that is wrong."""
    if not isinstance(trial, dict):
        raise ValueError("the trial is a %s; expected an object" % type(trial).__name__)
    nnodes = number(trial, "nnodes", 1, 1 << 16)
    return {
        "id": str(trial.get("id", "")), "master_addr": word(trial, "master_addr"), "master_port": number(trial, "master_port", 1, 65535),
        "nnodes": nnodes, "node_rank": number(trial, "node_rank", 0, nnodes - 1), "per_node": number(trial, "per_node", 1, MOST_RANKS),
        "start_seconds": seconds(trial, "start_seconds", 120.0), "rendezvous_seconds": seconds(trial, "rendezvous_seconds", 60.0),
        "seconds": seconds(trial, "seconds", 120.0), "stall_seconds": seconds(trial, "stall_seconds", 30.0),
        "environment": environment(trial.get("environment") or {}), "device": device(trial),
        "torch_python": str(trial.get("torch_python") or ""),
        "prefix": [str(each) for each in trial.get("prefix") or ()], "bench": [bench(each) for each in trial.get("bench") or ()],
    }


def word(trial, key):
    """A text that is not empty."""
    value = trial.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError("%s is %.80r; expected a name or an address" % (key, value))
    return value


def number(trial, key, low, high, otherwise=None):
    """An integer from low to high."""
    value = trial.get(key, otherwise)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError("%s is %.80r; expected a number from %d to %d" % (key, value, low, high))
    return value


def seconds(trial, key, otherwise):
    """A positive number of seconds."""
    value = trial.get(key, otherwise)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise ValueError("%s is %.80r; expected a positive number of seconds" % (key, value))
    return float(value)


def environment(told):
    """Names and values; those that the launcher sets itself are not to be given."""
    if not isinstance(told, dict) or not all(isinstance(name, str) and name and "=" not in name for name in told):
        raise ValueError("environment is %.80r; expected names and values" % (told,))
    if set(told) & set(OWN):
        raise ValueError("environment sets %s, which belongs to the trial" % ", ".join(sorted(set(told) & set(OWN))))
    return {name: str(value) for name, value in told.items()}


def device(trial):
    """Where the ranks work."""
    value = trial.get("device", "auto")
    if value not in DEVICES:
        raise ValueError("device is %.40r; expected one of %s" % (value, ", ".join(DEVICES)))
    return value


def bench(told):
    """One benchmark."""
    known = list(OPS) + ["send_recv", "overlap"]
    if not isinstance(told, dict) or told.get("op") not in known:
        raise ValueError("a benchmark is {op, bytes, iterations, …}, op one of %s; not %.120r" % (", ".join(known), told))
    sizes = told.get("bytes") or [0]
    if not all(isinstance(size, int) and 0 <= size <= 1 << 40 for size in sizes):
        raise ValueError("bytes of %s are %.80r; expected a list of sizes" % (told["op"], sizes))
    if told.get("dtype", "float32") not in EXACT:
        raise ValueError("dtype of %s is %.40r; expected one of %s" % (told["op"], told["dtype"], ", ".join(sorted(EXACT))))
    return {"op": told["op"], "bytes": list(sizes), "iterations": number(told, "iterations", 1, MOST_ITERATIONS, 20),
            "warmup": number(told, "warmup", 0, MOST_ITERATIONS, 5), "dtype": told.get("dtype", "float32"),
            "rail": str(told.get("rail") or "")}
