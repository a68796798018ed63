"""A sandbox is private, leaves neither process nor file, and several live side by side."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fleetcheck import inventory, sandbox

PARENT = """
import sys
from pathlib import Path
from fleetcheck import inventory, sandbox
running = sandbox.start(inventory.load(Path(sys.argv[1])))
print(running.server.process.pid, running.directory, flush=True)
sys.stdin.read()
"""


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def end_of(pid, directory):
    """Wait until both are gone; one that stays fails the test by its timeout."""
    while alive(pid) or directory.exists():
        continue
    return True


def test_its_directory_is_private(started):
    fleet = started()
    assert 0o700 == stat.S_IMODE(fleet.sandbox.directory.stat().st_mode)
    assert 0o600 == stat.S_IMODE(fleet.nodes["n1"].ssh.identity_file.stat().st_mode)


def test_stop_leaves_no_process_and_no_file(started):
    fleet = started()
    command = "python3 -c 'import os, signal; os.setsid(); signal.pause()' </dev/null >/dev/null 2>&1 & echo $!"
    left_behind = int(fleet.ssh("n1", command).stdout)
    session = subprocess.Popen(
        fleet.argv("n2", "python3 -c 'import signal; print(1, flush=True); signal.pause()'"), stdout=subprocess.PIPE
    )
    session.stdout.readline()
    fleet.sandbox.stop()
    assert not alive(fleet.sandbox.server.process.pid)
    assert not alive(left_behind)
    assert not fleet.sandbox.directory.exists()
    assert 0 != session.wait()


def test_stop_may_come_twice(started):
    fleet = started()
    fleet.sandbox.stop()
    fleet.sandbox.stop()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_the_parent_is_killed(described, number):
    path = described("n1: {busy: 5}").path
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    pid, directory = parent.stdout.readline().split()
    parent.send_signal(number)
    parent.wait()
    assert end_of(int(pid), Path(directory))


def test_two_sandboxes_live_side_by_side(started):
    one, other = started("n1: {files: {/etc/who: one}}"), started("n1: {files: {/etc/who: other}}")
    assert ["one", "other"] == [fleet.ask("n1", 'tell(read("/etc/who"))') for fleet in (one, other)]
    one.sandbox.stop()
    assert "other" == other.ask("n1", 'tell(read("/etc/who"))')


def test_a_refused_description_leaves_nothing(described, monkeypatch, tmp_path):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(sandbox.SandboxError):
        sandbox.start(described("n1: {kmsg: ['{gpu9.pci} is not there']}"))
    assert [] == list(place.iterdir())


def test_every_node_is_reached_by_its_own_address_and_none_by_the_users_configuration(started):
    fleet = started()
    nodes = fleet.nodes.values()
    assert 4 == len({(node.address, node.ssh.port) for node in nodes})
    assert all(node.address.startswith("127.0.") for node in nodes)
    assert all(node.ssh.config_file.is_relative_to(fleet.sandbox.directory) for node in nodes)


def test_the_shipped_rack_has_its_four_faults(monkeypatch):
    shipped = Path(inventory.__file__).parents[1] / "inventories" / "sandbox.yaml"
    rack = inventory.load(shipped)
    assert [f"sim-{number:02d}" for number in range(1, 9)] == [node.name for node in rack.nodes]
    assert {"sim-03", "sim-05", "sim-06", "sim-07"} == set(rack.sandbox["nodes"])
