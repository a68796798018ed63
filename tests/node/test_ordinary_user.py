"""The node code as an ordinary user, to whom the kernel log is closed: what cannot be read is absent, and says why."""

import contextlib
import os
import shutil
import socket
from pathlib import Path

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.exchange import Exchange, Request
from fleetcheck.facts.kernel_log import build
from fleetcheck.nodes import Node
from fleetcheck.profiles import load_profile

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all")
NODE = Node("here", "localhost", "cpu-host", transport="local", become=NOBODY, labels={"hostname": socket.gethostname()})
COLLECTORS = ("system", "kernel_log", "cpu", "memory", "filesystems", "security")
REQUEST = Request("run", "facts", "facts-fast", COLLECTORS, 60.0, {"mounts": ["/"]})
ROOT_ONLY = "to become an ordinary user takes root and setpriv (util-linux): run the tests as root"


@pytest.fixture(scope="module")
def told():
    """What an ordinary user of this machine is told by every host collector."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip(ROOT_ONLY)
    exchange = Exchange()
    evidence = exchange.ask(NODE, REQUEST)
    exchange.close()
    assert evidence.failure is None
    return evidence.answers


def test_the_node_code_runs_without_privilege(told):
    assert 65534 == told["runtime"].data["uid"]
    assert {"system", "cpu", "memory", "filesystems"} <= {name for name, answer in told.items() if answer.ok}


def test_a_serial_number_for_root_only_is_absent_with_its_reason(told):
    serial = told["system"].data["serial"]
    assert serial == str(serial) or "absent" in serial


def test_a_closed_kernel_log_is_not_measured_and_names_the_cure(told):
    """On a machine whose kernel log is open to everybody, it is read."""
    closed = Path("/proc/sys/kernel/dmesg_restrict").read_text().strip() != "0"
    profile = load_profile("cpu-host", Path("local.yaml"))
    with pytest.raises(NotMeasured) if closed else contextlib.nullcontext() as refused:
        build(told["kernel_log"].data, profile, NODE).faults("gpu").offending(bool)
    assert not closed or "become: sudo -n" in str(refused.value)
