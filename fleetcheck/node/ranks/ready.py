"""Runs on the node: whether it can take part in a trial: its torch, its accelerators, its addresses, a free port, its partners' names."""

import json
import re
import socket
import sys
import time
from typing import Any, Dict

from fleetcheck.node import program
from fleetcheck.node.collectors.reachability import is_address
from fleetcheck.node.ranks import addresses, reach

SECONDS = 90.0
MARK = "fleetcheck-ranks "
MOST_FREE = 64
MOST_NAMES, NAMES_SECONDS = 256, 20.0
SOURCE = r'''
import json, sys
import torch, torch.distributed as dist
def text(call):
    try:
        return call()
    except Exception as error:
        return {"absent": "%s: %s" % (type(error).__name__, error)}
def nccl():
    found = torch.cuda.nccl.version()
    return "%d.%d.%d" % (found // 10000, found // 100 % 100, found % 100) if isinstance(found, int) else ".".join(map(str, found))
cuda = torch.cuda.is_available()
print("fleetcheck-ranks " + json.dumps({
    "python": "%d.%d" % sys.version_info[:2], "torch": torch.__version__, "cuda": torch.version.cuda or torch.version.hip or "",
    "nccl": text(nccl) if dist.is_available() and dist.is_nccl_available() else "",
    "backends": [name for name in ("nccl", "gloo") if dist.is_available() and getattr(dist, "is_%s_available" % name)()],
    "accelerators": [torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count())] if cuda else []}))
'''
TEXTS = ("python", "torch", "cuda", "nccl")


def ready(host, trial):
    """{software: {python, torch, cuda, nccl} or absent, backends, said, accelerators, addresses, free_ports, partners}."""
    low, high = span(trial.get("ports", "29500-29599"))
    software, backends, accelerators, said = torch_of(trial.get("torch_python") or "", list(trial.get("prefix") or ()))
    return {
        "software": software, "backends": backends, "accelerators": accelerators, "said": said, "addresses": addresses.by_interface(),
        "free_ports": [port for port in range(low, high + 1) if reach.free(port)][:MOST_FREE],
        "partners": looked_up(dict(trial.get("partners") or {})),
    }


def looked_up(partners):
    """{name: addresses or absent} of partners that are known by name, as many as there is time for."""
    until = time.monotonic() + NAMES_SECONDS
    found: Dict[str, Any] = {}
    for name, address in sorted(partners.items()):
        if len(found) < MOST_NAMES and time.monotonic() < until and not is_address(address):
            found[name] = resolved(address)
    return found


def span(text):
    """The first and last port of ``29500-29599``."""
    found = re.match(r"(\d{1,5})-(\d{1,5})$", text)
    if not found or not 0 < int(found.group(1)) <= int(found.group(2)) < 65536:
        raise ValueError("ports is %.40r; expected a range such as 29500-29599" % text)
    return int(found.group(1)), int(found.group(2))


def torch_of(python, prefix):
    """(versions, backends, names of accelerators, what went wrong) of the node's torch; absent leaves where it has none."""
    argv = prefix + [python or ("python3" if prefix else sys.executable), "-B", "-c", SOURCE]
    try:
        done = program.run(argv, argv[0], SECONDS, None, 1 << 20, None)
    except OSError as error:
        return gap("%s: %s" % (argv[0], error.strerror or error))
    line = next((line for line in done.stdout.split("\n") if line.startswith(MARK)), "")
    if not line:
        return gap("%s: %s" % (argv[0], (done.stderr.strip().split("\n")[-1] or "it said nothing")[:300]))
    said = json.loads(line[len(MARK):])
    return {name: said[name] for name in TEXTS}, said["backends"], said["accelerators"], ""


def gap(why):
    """No torch."""
    leaf = {"absent": "torch was not imported: %s" % why}
    return leaf, leaf, leaf, why


def resolved(address):
    """The addresses of a partner's name by this node's own resolver, or absent."""
    try:
        found = socket.getaddrinfo(address, None, 0, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return {"absent": "%s does not resolve: %s" % (address, getattr(error, "strerror", None) or error)}
    return sorted({each[4][0] for each in found})
