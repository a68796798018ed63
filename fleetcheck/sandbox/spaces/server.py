"""The namespaces of a sandbox: ``python -m fleetcheck.sandbox.spaces.server DIRECTORY``.

One outer set of namespaces holds a switch and all nodes, so that nothing of them shows on this machine; its first process ends with
this one, and the kernel ends everything in it. Each node listens on a loopback address of the controller's namespace: its management
network, which no fault of its link disturbs.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import asyncssh

from fleetcheck.sandbox.layout import KNOWN_HOSTS, PLAN, Endpoint
from fleetcheck.sandbox.server import BACKLOG, bound, host_line, write_identity
from fleetcheck.sandbox.spaces import kernel, login, node, shape
from fleetcheck.sandbox.spaces.link import Link

TICK_SECONDS = 0.2
START_SECONDS = 60.0
PUBLIC = "identity.pub"


def machines(directory: Path, endpoints: Sequence[Endpoint]) -> list[node.Machine]:
    """Every node's place of login, bound; those that nobody reaches are bound and never answer."""
    found = [node.Machine(one.name, number, directory / "nodes" / one.name, Link(**one.link), bound(number - 1))
             for number, one in enumerate(endpoints, 1)]
    for one, endpoint in zip(found, endpoints, strict=True):
        if endpoint.unreachable == "silent":
            one.listener.listen(BACKLOG)
    return found


def write_files(directory: Path, endpoints: Sequence[Endpoint], found: Sequence[node.Machine]) -> None:
    """Keys, configurations, the table of hosts; for root alone."""
    identity = write_identity(directory)
    (directory / PUBLIC).write_bytes(identity.export_public_key())
    hosts = "".join(f"{shape.address(one.number)} {one.name}\n" for one in found)
    (directory / "nodes").mkdir(exist_ok=True)
    (directory / "nodes" / "hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
    known = []
    for one, endpoint in zip(found, endpoints, strict=True):
        if not endpoint.unreachable:
            known.append(host_line(one.listener.getsockname(), write_login(one, endpoint, directory)))
    (directory / KNOWN_HOSTS).write_text("".join(known))


def write_login(machine: node.Machine, endpoint: Endpoint, directory: Path) -> asyncssh.SSHKey:
    """What OpenSSH needs for one node; returns its public host key."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    with open(os.open(machine.folder / login.HOST_KEY, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:  # noqa: PTH123 - for its mode
        file.write(key.export_private_key("openssh"))
    (machine.folder / login.CONFIGURATION).write_text(login.configuration(machine.folder, directory / PUBLIC))
    (machine.folder / login.SESSION).write_text(login.session(endpoint.home, endpoint.environment))
    return key.convert_to_public()


def outer(found: Sequence[node.Machine], ready: int) -> None:
    """Process 1 of everything: the switch and its nodes; never returns."""
    kernel.die_with_parent()
    kernel.unshare(kernel.APART & ~kernel.NEW_PIDS)
    kernel.own_mounts()
    node.own_run()
    kernel.sethostname(shape.BRIDGE)
    node.carry_out(shape.switch())
    if any(machine.link.lldp for machine in found):
        node.discover()
    told, tell = os.pipe()
    for machine in found:
        plug(machine, found, tell)
    for _ in found:
        if (said := os.read(told, 1)) != b".":
            raise OSError((said + os.read(told, node.MOST_WORDS)).decode())
    os.write(ready, b".")
    while True:
        select.select([], [], [], TICK_SECONDS)
        node.bury()


def plug(machine: node.Machine, found: Sequence[node.Machine], ready: int) -> None:
    """Start one node and put its cable into its port of the switch."""
    (go, run), (apart, unshared) = os.pipe(), os.pipe()

    def begin() -> None:
        kernel.unshare(kernel.APART)
        os.write(unshared, b".")
        first = os.fork()
        if first == 0:
            for other in found:
                if other is not machine:
                    other.listener.close()
            node.run(machine, go, ready)
        os.waitpid(first, 0)

    pid = node.forked(begin)
    os.read(apart, 1)
    node.carry_out(shape.cable(machine.link.port or f"swp{machine.number}", pid, machine.link))
    os.write(run, b".")
    for descriptor in (go, run, apart, unshared):
        os.close(descriptor)


def start(found: Sequence[node.Machine]) -> int:
    """The outer namespaces with everything in them; returns their first process. Raises OSError when it does not come up in time."""
    ready, tell = os.pipe()

    def begin() -> None:
        os.close(ready)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        try:
            outer(found, tell)
        except OSError as error:
            os.write(tell, str(error).encode()[:node.MOST_WORDS])

    kernel.unshare(kernel.NEW_PIDS)
    pid = node.forked(begin)
    os.close(tell)
    said = os.read(ready, node.MOST_WORDS) if select.select([ready], [], [], START_SECONDS)[0] else b""
    if said != b".":
        end(pid)
        raise OSError(said.decode() or f"the namespaces did not come up within {START_SECONDS:g} s")
    return pid


def end(pid: int) -> None:
    """Kill the first process, and with it all others of its namespace; wait until the kernel has done so."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def wait(pid: int, parent: int) -> None:
    """Until standard input ends, the parent is gone, the namespaces end, or a signal says so."""
    def stop(number: int, frame: object) -> None:
        raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    while os.getppid() == parent and os.waitpid(pid, os.WNOHANG)[0] == 0:
        if select.select([0], [], [], TICK_SECONDS)[0] and not os.read(0, 1024):
            return


def main(directory: Path, parent: int) -> None:
    """Serve until the end; then nothing is left of the sandbox."""
    pid = 0
    try:
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        if not Path(login.SSHD).exists():
            raise OSError(f"there is no {login.SSHD}: it is in the package openssh-server")
        endpoints = [Endpoint(**entry) for entry in json.loads((directory / PLAN).read_text())]
        found = machines(directory, endpoints)
        write_files(directory, endpoints, found)
        pid = start([one for one, endpoint in zip(found, endpoints, strict=True) if not endpoint.unreachable])
        print(json.dumps({"ready": {one.name: one.listener.getsockname() for one in found}}), flush=True)
        wait(pid, parent)
    except OSError as error:
        print(json.dumps({"failed": str(error)}), flush=True)
    finally:
        if pid:
            end(pid)
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), os.getppid())
