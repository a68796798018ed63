"""``make demo``: the main job on the simulated rack; exits 0 exactly when the verdicts are the injected ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

INVENTORY = "inventories/sandbox.yaml"
INJECTED = {
    **dict.fromkeys(("sim-01", "sim-02", "sim-04", "sim-08"), ("healthy", "none")),
    "sim-03": ("failed", "reboot"), "sim-05": ("degraded", "reset-gpu"), "sim-06": ("healthy", "fix-config"),
    "sim-07": ("unreachable", "none"),
}
"""What inventories/sandbox.yaml breaks: a lost GPU, a pending row remap, a driver off the baseline, a node that is off."""
CERTIFIED = {"sim-01", "sim-02", "sim-04", "sim-08"}


def surprises(verdicts: dict[str, Any]) -> list[str]:
    """Where the verdicts differ from what was injected."""
    found = []
    for name, (verdict, action) in INJECTED.items():
        node = verdicts["nodes"].get(name, {})
        told = (node.get("verdict"), node.get("action"), node.get("certified"))
        expected = (verdict, action, name in CERTIFIED)
        if told != expected:
            found.append(f"{name}: expected {expected}, the run says {told}")
    if not verdicts["complete"]:
        found.append("the run is not complete")
    return found


def main() -> int:
    """Run the checks on the simulated rack and compare."""
    command = [sys.executable, "-m", "pytest", "checks/", "--inventory", INVENTORY, "-n", "8"]
    print("$ pytest", *command[3:], flush=True)
    subprocess.run(command, check=False, timeout=600)
    verdicts = json.loads(Path("reports/latest/verdicts.json").read_text())
    found = surprises(verdicts)
    print("\n".join(found) or "demo: the verdicts are exactly the injected ones")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
