"""Runs on the node: the node's torch environment, by importing it once under a deadline."""

import json
import time
from typing import Any, Dict

from fleetcheck.node.collectors.torch_versions import SOURCE
from fleetcheck.node.host import Host, ProgramTimeout, absent

READS = (("torch_python of the inventory, import torch", "any user"),)

SECONDS = 110.0
MARK = "fleetcheck-versions "
FIELDS = ("torch", "cuda", "nccl", "nccl_required", "nccl_installed", "plugin")


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{python, imports, said, import_seconds, torch, cuda, nccl, nccl_required, nccl_installed, plugin}."""
    python = settings.get("torch_python")
    if not python:
        return gap("", {"absent": "the inventory names no torch_python for this node"}, "no torch_python")
    began = time.monotonic()
    try:
        done = host.run([python, "-c", SOURCE], SECONDS)
    except ProgramTimeout:
        return dict(gap(python, False, "import torch did not end within %g s" % SECONDS), import_seconds=SECONDS)
    except OSError as error:
        return gap(python, absent(error), absent(error)["absent"])
    line = next((line for line in done.stdout.split("\n") if line.startswith(MARK)), "")
    if not line:
        return gap(python, False if done.status else {"absent": "no versions in %.80r" % done.stdout}, last_line(done.stderr))
    return told(python, line[len(MARK):], time.monotonic() - began)


def last_line(stderr: str) -> str:
    """What a traceback ends with."""
    lines = stderr.strip().split("\n")
    return lines[-1][:300] or "it said nothing"


def told(python: str, line: str, seconds: float) -> Dict[str, Any]:
    """The versions of a line; each absent when it is no text."""
    try:
        said = json.loads(line)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return gap(python, {"absent": "not versions: %.80r" % line}, "not versions")
    versions = {name: said[name] if isinstance(said.get(name), str) else {"absent": "torch told no %s: %.80r" % (name, said.get(name))}
                for name in FIELDS}
    return dict(versions, python=python, imports=True, said="", import_seconds=seconds)


def gap(python: str, imports: Any, said: str) -> Dict[str, Any]:
    """Nothing was imported."""
    nothing = {"absent": "torch was not imported: %s" % said}
    return dict({name: nothing for name in FIELDS}, python=python, imports=imports, said=said, import_seconds=nothing)
