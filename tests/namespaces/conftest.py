"""Simulated nodes in namespaces of their own, where this kernel and user may have them."""

import os
import shutil
import subprocess
import textwrap

import pytest
from netspaces import refusal

from fleetcheck import inventory, sandbox


@pytest.fixture(scope="session")
def spaces():
    """Skips where a node in namespaces does not come up, or what tests do there is not installed."""
    missing = [program for program in ("iperf3", "lldpd") if not shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}: apt install {' '.join(missing)}")
    why = refusal()
    if why:
        pytest.skip(f"needs network namespaces: {why}. Run as root, where a container has CAP_SYS_ADMIN and CAP_NET_ADMIN")


class Fleet:
    """A running sandbox, asked by the OpenSSH client."""

    def __init__(self, running):
        self.sandbox = running

    def argv(self, name, *command):
        return ["ssh", "-F", self.sandbox.directory / "ssh_config", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", name, *command]

    def ssh(self, name, command, timeout=30):
        return subprocess.run(self.argv(name, command), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)


@pytest.fixture
def started(spaces, tmp_path):
    """``started("sandbox section", nodes="n[1-2]")`` → a running Fleet, stopped at the end."""
    running = []

    def start(section="", nodes="n[1-2]"):
        path = tmp_path / "netns.yaml"
        body = textwrap.indent(textwrap.dedent(section), "  ")
        path.write_text(f"fleet: t\ndefaults: {{profile: h100-sxm5-8}}\nnodes:\n  {nodes}: {{}}\nsandbox:\n  kind: namespaces\n{body}")
        running.append(sandbox.start(inventory.load(path)))
        return Fleet(running[-1])

    yield start
    for each in running:
        each.stop()
