"""The SSH server of a sandbox: ``python -m fleetcheck.sandbox.server DIRECTORY``, one listener per simulated node.

It ends when its standard input ends or its parent is gone, so that a killed controller leaves neither process nor file.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from fleetcheck.sandbox import orphans
from fleetcheck.sandbox.layout import IDENTITY, KNOWN_HOSTS, PLAN, Endpoint
from fleetcheck.sandbox.session import serve

TICK_SECONDS = 0.2
BACKLOG = 256


@dataclass
class Fleet:
    """What the running server holds: processes being waited for, sockets kept bound, every node's address."""

    live: set[int] = field(default_factory=set)
    sockets: list[socket.socket] = field(default_factory=list)
    addresses: dict[str, tuple[str, int]] = field(default_factory=dict)


class Gate(asyncssh.SSHServer):
    """Lets in whoever holds the sandbox's one identity, under any user name; forwards to its own nodes only."""

    def __init__(self, identity: asyncssh.SSHKey, fleet: Fleet) -> None:
        """identity: the client's public key."""
        self._identity = identity
        self._fleet = fleet

    def public_key_auth_supported(self) -> bool:
        """Nothing but keys."""
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Whether this is the sandbox's identity."""
        return key == self._identity

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        """A node may serve as jump host to its neighbours."""
        return (dest_host, dest_port) in self._fleet.addresses.values()


def bound(number: int) -> socket.socket:
    """A socket on the loopback address of node ``number``; 127.0.0.1 for all where the others cannot be bound."""
    last: OSError | None = None
    for address in (f"127.0.{1 + number // 250}.{1 + number % 250}", "127.0.0.1"):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.bind((address, 0))
            return listener
        except OSError as error:
            listener.close()
            last = error
    assert last is not None
    raise last


async def listen(endpoint: Endpoint, listener: socket.socket, gate: Gate, live: set[int]) -> asyncssh.SSHKey:
    """Put one node on its socket; returns its public host key. Refused: bound, not listening. Silent: not accepted."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    if endpoint.unreachable == "silent":
        listener.listen(BACKLOG)
    elif not endpoint.unreachable:
        await asyncssh.listen(
            sock=listener, backlog=BACKLOG, config=[], server_factory=lambda: gate, server_host_keys=[key],
            process_factory=functools.partial(serve, endpoint=endpoint, live=live), encoding=None,
            allow_pty=False, agent_forwarding=False, x11_forwarding=False, login_timeout=60,
            compression_algs=["none"],
        )
    return key.convert_to_public()


def host_line(address: tuple[str, int], key: asyncssh.SSHKey) -> str:
    """The node's line of known_hosts."""
    return f"[{address[0]}]:{address[1]} {key.export_public_key().decode().strip()}\n"


def write_identity(directory: Path) -> asyncssh.SSHKey:
    """A new client key, private to the owner; returns its public half."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    descriptor = os.open(directory / IDENTITY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, for its mode
        file.write(key.export_private_key("openssh"))
    return key.convert_to_public()


async def open_all(directory: Path, endpoints: Sequence[Endpoint]) -> Fleet:
    """Listen for every node; leaves identity and known_hosts in the directory."""
    fleet = Fleet()
    gate = Gate(write_identity(directory), fleet)
    lines = []
    for number, endpoint in enumerate(endpoints):
        listener = bound(number)
        fleet.sockets.append(listener)
        fleet.addresses[endpoint.name] = address = listener.getsockname()
        lines.append(host_line(address, await listen(endpoint, listener, gate, fleet.live)))
    (directory / KNOWN_HOSTS).write_text("".join(lines))
    return fleet


async def orphaned(parent: int, live: set[int]) -> None:
    """Return once the parent is gone; meanwhile collect what ended among the processes that nodes left behind.

    Standard input says the same earlier, unless some other process inherited its far end. Only a child found dead twice
    is collected: one that asyncio is about to wait for is left to it.
    """
    dead: set[int] = set()
    while os.getppid() == parent:
        await asyncio.sleep(TICK_SECONDS)
        zombies = {pid for pid, state in orphans.children().items() if state == "Z"} - live
        orphans.reap(zombies & dead)
        dead = zombies


async def input_ended(loop: asyncio.AbstractEventLoop) -> None:
    """Return at the end of standard input."""
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(1024):
        continue


async def run(directory: Path, parent: int) -> None:
    """Open the nodes, say so in one line of JSON on standard output, and stay until told to end."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, told.set)
    endpoints = [Endpoint(**entry) for entry in json.loads((directory / PLAN).read_text())]
    fleet = await open_all(directory, endpoints)
    print(json.dumps({"ready": fleet.addresses}), flush=True)
    ends = [asyncio.ensure_future(end) for end in (told.wait(), input_ended(loop), orphaned(parent, fleet.live))]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)


def main(directory: Path, parent: int) -> None:
    """Serve until the end; then nothing is left of the sandbox."""
    orphans.adopt()
    try:
        asyncio.run(run(directory, parent))
    finally:
        orphans.end_all()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), os.getppid())
