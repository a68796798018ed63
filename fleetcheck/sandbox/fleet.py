"""From an inventory with a ``sandbox:`` section to running nodes, and back to nothing."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from fleetcheck.inventory import Inventory, Node
from fleetcheck.sandbox import loads, ranks
from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.sandbox.layout import IDENTITY, KNOWN_HOSTS, PLAN, SSH_CONFIG, Endpoint
from fleetcheck.sandbox.plan import Planned, plan
from fleetcheck.sandbox.process import NAMESPACES, SIMULATED, Server, launch
from fleetcheck.sandbox.realise import realise
from fleetcheck.sandbox.simulated import simulated
from fleetcheck.sandbox.spaces.kernel import refusal
from fleetcheck.sandbox.store import Store

ROOM_BYTES = 1 << 30
"""What /dev/shm shall have free at least."""
USER = "fleetcheck"
"""Any name will do to log in; this one is used where the inventory has none."""


@dataclass(frozen=True)
class Sandbox:
    """A running simulated fleet. inventory: the one it was started from, with every node's address, port and keys."""

    inventory: Inventory
    directory: Path
    server: Server

    def stop(self) -> None:
        """End every process and remove every file of the sandbox; safe to call twice."""
        self.server.stop()

    def __enter__(self) -> Sandbox:
        """As it is: it already runs."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, whatever happened."""
        self.stop()


def start(inventory: Inventory) -> Sandbox:
    """Simulate every node of the inventory; raises SandboxError with file and line, or naming what is missing."""
    planned = plan(inventory)
    spaces = any(one.link is not None for one in planned)
    if spaces and (why := refusal()):
        raise SandboxError(f"{inventory.where('sandbox', 'kind')}: no namespaces: {why}")
    directory = Path(tempfile.mkdtemp(prefix="fleetcheck-sandbox-", dir=_memory()))
    try:
        endpoints = realise_all(planned, directory)
        (directory / PLAN).write_text(json.dumps([dataclasses.asdict(endpoint) for endpoint in endpoints]))
        server = launch(directory, NAMESPACES if spaces else SIMULATED)
        (directory / SSH_CONFIG).write_text(ssh_config(server, "root" if spaces else USER))
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    nodes = tuple(in_namespaces(reachable(node, server)) if spaces else reachable(node, server) for node in inventory.nodes)
    return Sandbox(dataclasses.replace(inventory, nodes=nodes), directory, server)


def _memory() -> str | None:
    """/dev/shm, unless programs cannot be run from it or $TMPDIR asks for another place: small files cost little."""
    try:
        status = os.statvfs("/dev/shm")
    except OSError:
        return None
    roomy = status.f_bavail * status.f_frsize > ROOM_BYTES and os.access("/dev/shm", os.W_OK)
    return "/dev/shm" if roomy and not status.f_flag & os.ST_NOEXEC and not os.environ.get("TMPDIR") else None


def realise_all(planned: Sequence[Planned], directory: Path) -> list[Endpoint]:
    """Every node on disk; one that nobody can reach needs nothing there."""
    now, store = time.time(), Store(directory)
    endpoints = []
    for one in planned:
        folder = directory / "nodes" / one.node.name
        if one.unreachable:
            endpoints.append(Endpoint(one.node.name, str(directory), {}, one.unreachable, _link(one)))
            continue
        try:
            layout = realise(simulated(one, now), folder, now, store)
        except SandboxError as problem:
            raise SandboxError(f"{one.where}: {one.node.name}: {problem}") from problem
        except (OSError, ValueError, OverflowError) as problem:  # a path or a time that no machine can have; a full disk
            raise SandboxError(f"{one.where}: {one.node.name}: {_refused(problem, folder)}") from problem
        environment = {**layout.environment(), **loads.environment(one.overrides.loads), **ranks.environment(one.overrides.ranks)}
        endpoints.append(Endpoint(one.node.name, str(layout.home), environment, link=_link(one)))
    return endpoints


def _link(one: Planned) -> dict[str, Any]:
    """A node's link as JSON takes it; empty without namespaces."""
    return one.link.model_dump(exclude_unset=True) if one.link else {}


def _refused(problem: Exception, folder: Path) -> str:
    """Why a node cannot be laid out, files by the names they have on it."""
    if isinstance(problem, OSError) and problem.strerror:
        place = str(problem.filename or "").removeprefix(str(folder)).removeprefix("/root")
        return f"cannot be simulated: {problem.strerror}: {place:.120}"
    return f"cannot be simulated: {problem}"


def reachable(node: Node, server: Server) -> Node:
    """The node with the address, port and keys under which its simulation answers; a neighbour may be its jump host."""
    address, port = server.addresses[node.name]
    settings = dataclasses.replace(
        node.ssh, user=node.ssh.user or USER, port=port, config_file=server.directory / SSH_CONFIG,
        identity_file=server.directory / IDENTITY, known_hosts=server.directory / KNOWN_HOSTS,
        jump=node.ssh.jump if node.ssh.jump in server.addresses else None,
    )
    transport = "auto" if node.transport == "local" else node.transport
    return dataclasses.replace(node, address=address, ssh=settings, transport=transport)


def in_namespaces(node: Node) -> Node:
    """The same for OpenSSH: it knows no user but root, and no way from one node to its neighbour's place of login."""
    return dataclasses.replace(node, ssh=dataclasses.replace(node.ssh, user="root", jump=None))


def ssh_config(server: Server, user: str) -> str:
    """For ``ssh -F``: every node by its name; nothing of the user's own configuration applies."""
    hosts = "".join(
        f"Host {name}\n    HostName {address}\n    Port {port}\n" for name, (address, port) in server.addresses.items()
    )
    return (
        f"{hosts}Host *\n    User {user}\n    IdentityFile {server.directory / IDENTITY}\n"
        f"    IdentitiesOnly yes\n    UserKnownHostsFile {server.directory / KNOWN_HOSTS}\n"
        "    StrictHostKeyChecking yes\n"
    )
