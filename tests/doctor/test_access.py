"""Which values a user does not get, told apart from those that are not there, and what would change it."""

from __future__ import annotations

import pytest

from fleetcheck import doctor
from fleetcheck.access import accesses
from fleetcheck.nodes import Node, SshSettings
from fleetcheck.readings import Collector, Reading
from fleetcheck.records import Answer, Evidence, Failure

OPS = Node("n1", "192.0.2.1", "h100-sxm5-8", ssh=SshSettings(user="ops"))
LOG = Collector("kernel_log", "kernel_log", 45, (
    Reading("/dev/kmsg", "root or kernel.dmesg_restrict=0"), Reading("journalctl -k", "root or group systemd-journal"),
    Reading("/sys/class/net", "any user"), Reading("/sys/bus/pci/devices/*/config", "root"),
))
SUDO = ("inventory: become: sudo -n; on the node: "
        "echo 'ops ALL=(ALL) NOPASSWD: /bin/sh' | sudo tee /etc/sudoers.d/fleetcheck")
CONFIG = "/sys/bus/pci/devices/0000:1b:00.0/config"
SYSCTL = "sysctl -w kernel.dmesg_restrict=0"


def access(data, node=OPS, **answer):
    given = Answer(**{"ok": True, "data": data, **answer})
    return accesses(node, [LOG], Evidence("r", "facts", "facts-fast", node.name, "", 1.0, answers={"kernel_log": given}))[0]


@pytest.mark.parametrize("reason", [
    "NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "no such file or directory: /sys/class/net/lo/speed", "not a number: /proc/uptime",
    "no end within 5 s: dmesg", "not needed",
])
def test_what_is_not_there_is_no_lack_of_access(reason):
    assert ("full", ()) == (access({"a": {"absent": reason}}).state, access({"a": {"absent": reason}}).gaps)


@pytest.mark.parametrize(("reason", "lack", "what", "fixes"), [
    ("permission denied: /dev/kmsg", "permission", "/dev/kmsg", (SUDO, SYSCTL)),
    ("operation not permitted: /dev/kmsg", "permission", "/dev/kmsg", (SUDO, SYSCTL)),
    ("insufficient permissions: journalctl -k", "permission", "journalctl -k", (SUDO, "usermod -aG systemd-journal ops")),
    (f"permission denied: {CONFIG}", "permission", CONFIG, (SUDO,)),
    ("permission denied: /sys/class/net/eth0/speed", "permission", "/sys/class/net/eth0/speed", (SUDO,)),
    ("permission denied: /unheard/of", "permission", "/unheard/of", (SUDO,)),
    ("NO_PERMISSION", "permission", "NVML", (SUDO,)),
    ("program not found: ethtool", "program", "ethtool", ("install ethtool (for ethtool)",)),
    ("program not found: smartctl", "program", "smartctl", ("install smartmontools (for smartctl)",)),
])
def test_each_lack_has_its_fix(reason, lack, what, fixes):
    said = access({"gpus": [{"a": {"absent": reason}}, {"a": {"absent": reason}}]})
    gap, = said.gaps
    assert ("partly", "gpus[].a", lack, what) == (said.state, gap.leaf, gap.lack, gap.what)
    assert fixes == said.fixes


def test_a_reason_that_names_several_tries_is_several_gaps():
    said = access({"records": {"absent": "permission denied: /dev/kmsg; program not found: dmesg; run as root"}})
    assert ["/dev/kmsg", "dmesg"] == [gap.what for gap in said.gaps]


def test_one_of_four_clock_programs_is_enough():
    gone = {name: {"absent": f"program not found: {name}"} for name in ("chronyc", "ntpq", "pmc", "timedatectl")}
    assert "full" == access({"a": gone["chronyc"], "b": gone["ntpq"]}).state
    assert "partly" == access(gone).state


def test_a_missing_driver_library_is_named_with_its_cure():
    said = access({"driver": {"init_code": "LIBRARY_NOT_FOUND"}})
    assert ("install the driver's user-space part (libnvidia-ml.so.1)",) == said.fixes


def test_a_collector_that_failed_says_why():
    said = access({}, ok=False, error="no end within 45 s")
    assert ("failed", "no end within 45 s") == (said.state, said.error)
    assert ("see why on the node; kernel_log has 45 s there",) == said.fixes


def test_root_that_is_refused_too_is_another_matter():
    node = Node("n1", "192.0.2.1", "h100-sxm5-8", become=("sudo", "-n"))
    assert "root through 'sudo -n' is refused too" in access({"a": {"absent": "permission denied: /dev/kmsg"}}, node).fixes[0]


def test_nodes_that_show_the_same_are_one_row():
    names = ("n1", "n2", "n3")
    denied = {"system": Answer(ok=True, data={"serial": {"absent": "permission denied: /sys/class/dmi/id/product_serial"}})}
    evidence = [Evidence("r", "facts", "facts-fast", name, "", 1.0, answers=denied) for name in names[:2]]
    lost = Failure("refused", "n3: facts-fast: n3 port 22 refused the connection; is sshd running?")
    evidence.append(Evidence("r", "facts", "facts-fast", "n3", "", 1.0, failure=lost))
    login, system = doctor.rows(doctor.examined([Node(name, name, "p") for name in names], evidence))
    assert ("login", "n3", "refused", "facts-fast: <node> port 22 refused the connection", "is sshd running?") == login
    assert ("system", "n[1-2]", "partly") == system[:3]
    assert "serial (permission: /sys/class/dmi/id/product_serial)" == system[3]
