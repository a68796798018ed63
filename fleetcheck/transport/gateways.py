"""Connections to jump hosts: one per jump host, opened before the nodes behind it are asked, shared by all of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import paramiko

from fleetcheck.frame import Intake
from fleetcheck.nodes import Node
from fleetcheck.transport import TransportError, reach
from fleetcheck.transport.attempt import Attempt, Limits
from fleetcheck.transport.sshconfig import Target, jump_settings

if TYPE_CHECKING:
    from fleetcheck.transport.ssh import Ssh

AT_ONCE = 32
CONNECT_FAILED = 2


class Gateway:
    """The connection to one chain of jump hosts, or why there is none."""

    def __init__(self, hops: str) -> None:
        self.hops = hops
        self.lock = threading.Lock()
        self.slots = threading.Semaphore(AT_ONCE)
        self.attempt: Attempt | None = None
        self.transport: paramiko.Transport | None = None
        self.error: TransportError | None = None

    @property
    def usable(self) -> bool:
        """Whether a channel may be asked of it."""
        return self.transport is not None and self.transport.is_active()


class Gateways:
    """Every jump host in use. Thread-safe."""

    def __init__(self, ssh: Ssh) -> None:
        self._ssh = ssh
        self._lock = threading.Lock()
        self._gateways: dict[tuple[str, str], Gateway] = {}

    def through(self, node: Node, target: Target, attempt: Attempt) -> Any:
        """A channel to the target through its jump hosts. Raises TransportError: jump, or what the jump host found."""
        gateway = self._gateway(node, target.jump, attempt)
        with gateway.slots:
            return self._channel(gateway, (target.host, target.port), attempt)

    def close(self) -> None:
        """Close them all."""
        with self._lock:
            gateways = list(self._gateways.values())
        for gateway in gateways:
            if gateway.attempt is not None:
                gateway.attempt.end("closed")

    def _gateway(self, node: Node, hops: str, attempt: Attempt) -> Gateway:
        key = hops, repr(jump_settings(node, hops.rpartition(",")[2]))
        with self._lock:
            gateway = self._gateways.setdefault(key, Gateway(hops))
        with gateway.lock:
            if not gateway.usable and (gateway.error is None or gateway.error.passing):
                self._open(gateway, node, attempt.limits)
            if gateway.error is not None:
                raise gateway.error
        return gateway

    def _open(self, gateway: Gateway, node: Node, limits: Limits) -> None:
        """Log in to the last hop, through those before it. A failure is kept: every node behind it gets the same answer."""
        before, _, hop = gateway.hops.rpartition(",")
        address, settings = jump_settings(node, hop)
        gateway.attempt, gateway.error = Attempt(Intake("-"), limits, 0), None
        try:
            target = self._ssh.resolver.target(address, settings)
            sock = self._sock(node, before, target, gateway.attempt)
            gateway.transport = self._ssh.login(sock, target, gateway.attempt)
        except TransportError as error:
            gateway.error = TransportError("jump", f"jump host {hop}: {error}", error.passing)
            gateway.attempt.end("finished")

    def _sock(self, node: Node, before: str, target: Target, attempt: Attempt) -> Any:
        if before:
            earlier = self._gateway(node, before, attempt)
            return self._channel(earlier, (target.host, target.port), attempt)
        connection = reach.connected(target.host, target.port, attempt)
        reach.await_banner(connection, attempt)
        return connection

    def _channel(self, gateway: Gateway, address: tuple[str, int], attempt: Attempt) -> Any:
        assert gateway.transport is not None
        seconds = min(attempt.login_remaining(), attempt.limits.connect_seconds)
        try:
            channel = gateway.transport.open_channel("direct-tcpip", address, ("", 0), timeout=seconds)
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise _refusal(error, gateway.hops, address) from None
        attempt.closing(channel.close)
        return channel


def _refusal(error: Exception, hops: str, address: tuple[str, int]) -> TransportError:
    """What it means that a jump host opened no way to a node (RFC 4254, 5.1)."""
    where = f"{address[0]} port {address[1]} from jump host {hops}"
    remedy = f"try: ssh {hops} nc -vz {address[0]} {address[1]}"
    if isinstance(error, paramiko.ChannelException) and error.code == CONNECT_FAILED:
        return TransportError("no-route", f"no connection to {where}: powered off, no route, or nothing listens; {remedy}")
    if "Timeout" in str(error):
        return TransportError("connect-timeout", f"no connection to {where} in time; {remedy}")
    return TransportError("jump", f"{where}: {error}; does its sshd allow forwarding (AllowTcpForwarding, PermitOpen)?")
