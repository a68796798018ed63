"""Runs on the node: a program of nccl-tests, as the inventory says where it lies and what starts it; its output leaves as it is."""

import os
from typing import Any, Dict

from fleetcheck.node.host import Host, absent

READS = (("nccl-tests of the inventory", "any user"),)

OUTPUT_BYTES = 2 << 20


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{status, stdout, stderr} of the program, or absent."""
    asked = settings["nccl_tests"]
    os.environ.update({str(name): str(value) for name, value in asked["environment"].items()})  # of this collector's own process
    try:
        done = host.run(asked["argv"], float(asked["seconds"]), limit=OUTPUT_BYTES)
    except OSError as error:
        return {"status": absent(error), "stdout": "", "stderr": ""}
    return {"status": done.status, "stdout": done.stdout, "stderr": done.stderr[-4096:]}
