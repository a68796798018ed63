"""Whether this kernel and user can run nodes in namespaces: one is started. As a program it prints why not, and nothing when it can."""

import functools
import tempfile
from pathlib import Path

from fleetcheck import inventory, sandbox

TRIAL = """fleet: trial
nodes:
  n[1-2]: {profile: h100-sxm5-8}
sandbox:
  kind: namespaces
  link: {rate_mbits_per_second: 100, loss_percent: 1, delay_milliseconds: 1, blocked_ports: 29500-29599}
"""


@functools.cache
def refusal() -> str:
    """Why nodes with links of every kind do not come up; empty when they do."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trial.yaml"
        path.write_text(TRIAL)
        try:
            sandbox.start(inventory.load(path)).stop()
        except sandbox.SandboxError as error:
            return str(error).removeprefix(f"{path}:6: ")
    return ""


if __name__ == "__main__":
    print(refusal())
