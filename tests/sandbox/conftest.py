"""Simulated fleets for the tests of the sandbox, reached as anybody reaches them: by ssh."""

import json
import shutil
import subprocess
import textwrap
from pathlib import Path

import paramiko
import pynvml
import pytest

from fleetcheck import inventory, sandbox

SITE = Path(pynvml.__file__).parent
PRELUDE = f"""
import json, os, subprocess, sys
sys.path.insert(0, {str(SITE)!r})
import pynvml as nvml
ROOT = os.environ["FLEETCHECK_ROOT"]

def read(path):
    with open(ROOT + path) as file:
        return file.read()

def failure(call, *arguments):
    try:
        return call(*arguments)
    except nvml.NVMLError as problem:
        return type(problem).__name__
    except OSError as problem:
        return type(problem).__name__ + " " + os.strerror(problem.errno)

def tell(*values):
    print(json.dumps(values))
"""


class Fleet:
    """A running sandbox and the ways to ask its nodes."""

    def __init__(self, running):
        self.sandbox = running
        self.nodes = {node.name: node for node in running.inventory.nodes}

    def ssh(self, name, command, stdin=b"", timeout=60):
        """Run a command on a node by the OpenSSH client, or by paramiko where there is none."""
        if shutil.which("ssh"):
            return subprocess.run(self.argv(name, command), input=stdin, capture_output=True, timeout=timeout)
        return self._paramiko(name, command, stdin, timeout)

    def argv(self, name, *command):
        return [
            "ssh",
            "-F",
            str(self.sandbox.directory / "ssh_config"),
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=2",
            name,
            *command,
        ]

    def _paramiko(self, name, command, stdin, timeout):
        with self.client(name) as client:
            channel = client.get_transport().open_session(timeout=timeout)
            channel.settimeout(timeout)
            channel.exec_command(command)
            channel.sendall(stdin)
            channel.shutdown_write()
            out, err = channel.makefile("rb").read(), channel.makefile_stderr("rb").read()
            return subprocess.CompletedProcess(command, channel.recv_exit_status(), out, err)

    def client(self, name):
        node = self.nodes[name]
        client = paramiko.SSHClient()
        client.load_host_keys(str(node.ssh.known_hosts))
        client.connect(
            node.address,
            node.ssh.port,
            node.ssh.user,
            key_filename=str(node.ssh.identity_file),
            allow_agent=False,
            look_for_keys=False,
            timeout=5,
        )
        return client

    def ask(self, name, code):
        """What Python code on the node tells; it has pynvml as nvml, ROOT, read, failure and tell."""
        done = self.ssh(name, "exec python3 -", (PRELUDE + textwrap.dedent(code)).encode())
        assert done.returncode == 0, done.stderr.decode()
        answer = json.loads(done.stdout)
        return answer[0] if len(answer) == 1 else answer


def fleet_of(path, nodes, described="", profile="h100-sxm5-8"):
    """An inventory of these nodes with this under ``sandbox: nodes:``, loaded from its file."""
    text = f"fleet: test\ndefaults: {{profile: {profile}}}\nnodes:\n  {nodes}: {{}}\nsandbox:\n  nodes:\n"
    text += textwrap.indent(textwrap.dedent(described), "    ") if described else "    {}\n"
    path.write_text(text)
    return inventory.load(path)


@pytest.fixture(scope="module")
def fleet(request, tmp_path_factory):
    """The module's NODES, described by its DESCRIBED."""
    path = tmp_path_factory.mktemp("inventory") / "fleet.yaml"
    with sandbox.start(fleet_of(path, request.module.NODES, request.module.DESCRIBED)) as running:
        yield Fleet(running)


@pytest.fixture
def described(tmp_path):
    """Turns what stands under ``sandbox: nodes:`` into an inventory of n1 to n4."""
    return lambda text, nodes="n[1-4]", profile="h100-sxm5-8": fleet_of(tmp_path / "fleet.yaml", nodes, text, profile)


@pytest.fixture
def started(described):
    """Starts sandboxes that are stopped with the test."""
    running = []

    def start(text="", nodes="n[1-4]"):
        running.append(sandbox.start(described(text, nodes)))
        return Fleet(running[-1])

    yield start
    for one in running:
        one.stop()
