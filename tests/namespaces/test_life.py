"""Nodes in namespaces: real OpenSSH, a link of their own, nothing of them outside, nothing left when they end."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fleetrun import CHECKS, run_pytest

PARENT = """
import sys
from pathlib import Path
from fleetcheck import inventory, sandbox
running = sandbox.start(inventory.load(Path(sys.argv[1])))
print(running.server.process.pid, running.directory, flush=True)
sys.stdin.read()
"""
FLEET = """fleet: netns
defaults: {profile: h100-sxm5-8}
nodes:
  sim-[01-04]: {}
sandbox:
  kind: namespaces
  nodes:
    sim-02: {faults: [gpu-lost]}
    sim-04: {unreachable: refused}
"""


def interfaces():
    return set(os.listdir("/sys/class/net"))  # noqa: PTH208


def serving(directory):
    """Process ids that name the sandbox's directory."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(directory).encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def test_nodes_have_names_addresses_and_processes_of_their_own(started):
    before = interfaces()
    fleet = started()
    assert "n2" == fleet.ssh("n2", 'read -r name < /proc/sys/kernel/hostname; printf %s "$name"').stdout
    assert "10.77.0.2/16" in fleet.ssh("n2", "/sbin/ip -br address show eth0").stdout
    assert "1" == fleet.ssh("n2", 'read -r pid rest < /proc/1/stat; printf %s "$pid"').stdout
    assert 3 == fleet.ssh("n1", "exit 3").returncode
    assert before == interfaces()


def test_the_checks_of_nodes_run_over_real_openssh(spaces, tmp_path):
    """The one sandbox description: the same faults are found, the same node is out of reach."""
    (tmp_path / "netns.yaml").write_text(FLEET)
    ended = run_pytest(CHECKS / "node" / "test_gpu.py", "--inventory", "netns.yaml", "-n", "4",
                       "-p", "no:cacheprovider", cwd=tmp_path, timeout=120)
    assert 1 == ended.status, ended.output
    failed = {line["node"] for line in ended.lines("results") if line["outcome"] == "failed"}
    passed = {line["node"] for line in ended.lines("results") if line["outcome"] == "passed"}
    assert {"sim-02"} == failed, ended.output
    assert {"sim-01", "sim-02", "sim-03"} == passed
    assert ["unreachable"] == [node["verdict"] for name, node in ended.verdicts["nodes"].items() if name == "sim-04"]


def test_stop_leaves_no_process_and_no_file(started):
    fleet = started()
    session = subprocess.Popen(fleet.argv("n1", "echo up; exec sleep 600 || /bin/sleep 600"), stdout=subprocess.PIPE)
    session.stdout.readline()
    fleet.sandbox.stop()
    assert not fleet.sandbox.directory.exists()
    assert [] == serving(fleet.sandbox.directory)
    session.stdout.close()
    session.wait()


@pytest.mark.parametrize("killed", ["controller", "server"])
def test_nothing_outlives_a_kill(spaces, tmp_path, killed):
    path = tmp_path / "netns.yaml"
    path.write_text(FLEET)
    with subprocess.Popen([sys.executable, "-c", PARENT, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        pid, directory = parent.stdout.readline().split()
        os.kill({"controller": parent.pid, "server": int(pid)}[killed], signal.SIGKILL)
        while [left for left in serving(directory) if left != parent.pid]:
            continue
    while killed == "controller" and Path(directory).exists():
        continue
    assert [] == serving(directory)
    shutil.rmtree(directory, ignore_errors=True)  # of a killed server its controller would have removed it
