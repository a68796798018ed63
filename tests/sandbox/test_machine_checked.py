"""Every base machine, reached over SSH, passes every check that applies to it, and leaves none unmeasured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fleetcheck.profiles import shipped_profiles

ROOT = Path(__file__).parents[2]
PROFILES = sorted(path.stem for path in shipped_profiles().glob("*.yaml"))


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """The verdict of one healthy node per shipped profile, all of one run."""
    folder = tmp_path_factory.mktemp("machines")
    nodes = "".join(f"  {name}: {{profile: {name}}}\n" for name in PROFILES)
    (folder / "fleet.yaml").write_text(f"fleet: machines\nnodes:\n{nodes}sandbox:\n  nodes: {{}}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", str(ROOT / "checks"), "--inventory", str(folder / "fleet.yaml"), "-n", "8",
         "--reports", str(folder / "reports"), "--tier", "quick", "-p", "no:cacheprovider"],
        cwd=ROOT, capture_output=True, text=True, timeout=300)
    found = folder / "reports" / "latest" / "verdicts.json"
    assert found.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(found.read_text())["nodes"]


@pytest.mark.parametrize("name", PROFILES)
def test_a_healthy_node_of_the_profile_is_certified(verdicts, name):
    told = verdicts[name]
    assert ("healthy", []) == (told["verdict"], told["findings"])
    assert told["coverage"]["planned"] == told["coverage"]["measured"] > 0
    assert told["certified"]
