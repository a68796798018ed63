"""Transport ``ssh``: fabric holds the connection; the task runs on a raw channel, fed and drained at full speed."""

from __future__ import annotations

import contextlib
import functools
import logging
import select
from typing import Any

import fabric
import paramiko

from fleetcheck.nodes import Node
from fleetcheck.quoting import quoted
from fleetcheck.transport import Task, TransportError, hostkeys, reach
from fleetcheck.transport.attempt import Attempt
from fleetcheck.transport.gateways import Gateways
from fleetcheck.transport.hostkeys import KnownHosts
from fleetcheck.transport.logins import LOG, Keys, Login, refused, said_before
from fleetcheck.transport.sshconfig import Resolver, Target

CHUNK_BYTES = 1 << 16
STATUS_SECONDS = 2.0
RSA = ("rsa-sha2-512", "rsa-sha2-256")


class Ssh:
    """Shared by all nodes: keys and known hosts read once, one connection per jump host."""

    def __init__(self, resolver: Resolver, known: KnownHosts) -> None:
        self.resolver = resolver
        self.known = known
        self.keys = Keys()
        self.gateways = Gateways(self)
        logging.getLogger(LOG).setLevel(logging.CRITICAL + 1)  # its threads would speak into the tests' captured output

    def run(self, node: Node, task: Task, attempt: Attempt) -> int | None:
        """As Transport.run."""
        channel = _again(attempt) or self._anew(node, attempt)
        status = converse(channel, task, attempt)
        if attempt.lane is not None and attempt.intake.done:
            channel.close()
            attempt.lane.keep(channel.get_transport(), attempt.parted_with())
        return status

    def close(self) -> None:
        """Close the connections to jump hosts."""
        self.gateways.close()

    def _sock(self, node: Node, target: Target, attempt: Attempt) -> Any:
        if target.jump:
            return self.gateways.through(node, target, attempt)
        connection = reach.connected(target.host, target.port, attempt)
        reach.await_banner(connection, attempt)
        return connection

    def _anew(self, node: Node, attempt: Attempt) -> paramiko.Channel:
        target = self.resolver.target(node.address, node.ssh)
        transport = self.login(self._sock(node, target, attempt), target, attempt)
        try:
            return _session(transport, attempt)
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise TransportError("disconnected", f"logged in, but no session was opened ({error}); "
                                                 "look at the server's log (MaxSessions, limits, full disk)") from None

    def login(self, sock: Any, target: Target, attempt: Attempt) -> paramiko.Transport:
        """A logged-in connection over an open socket. Raises TransportError."""
        connection = connection_to(target)
        attempt.closing(connection.client.close)
        stored = self.known.keys(target.known_hosts, target.alias or target.host, target.port)
        connection.client.set_missing_host_key_policy(Verified(target, stored))
        connection.client.set_log_channel(LOG)
        login = Login(target, self.keys)
        seconds = attempt.login_remaining()
        connection.connect_kwargs = {
            "sock": sock, "timeout": seconds, "banner_timeout": seconds, "auth_timeout": seconds, "auth_strategy": login,
            "transport_factory": functools.partial(_transport, seconds=seconds, types=hostkeys.types(stored))}
        try:
            connection.open()
        except TransportError:
            raise
        except Exception as error:  # noqa: BLE001 - every way a login fails, judged by what the transport had reached
            raise _failure(error, connection.client.get_transport(), login, attempt) from None
        finally:
            login.close()
        return _authenticated(connection.client.get_transport(), login)


def _again(attempt: Attempt) -> paramiko.Channel | None:
    """A session over the connection that the node's last probe left; None where there is none, or it takes no further one."""
    transport, closes = attempt.lane.take() if attempt.lane else (None, ())
    for close in closes:
        attempt.closing(close)
    if transport is None:
        return None
    try:
        return _session(transport, attempt)
    except (paramiko.SSHException, EOFError, OSError):
        transport.close()
        return None


def _session(transport: paramiko.Transport, attempt: Attempt) -> paramiko.Channel:
    channel = transport.open_session(timeout=attempt.login_remaining())
    attempt.closing(channel.close)
    return channel


def connection_to(target: Target) -> fabric.Connection:
    """A connection not yet open. With a configuration of its own: making one empties and fills it, under every other thread's eyes."""
    config = fabric.Config(lazy=True)  # reads no file of the user's
    return fabric.Connection(target.host, user=target.user, port=target.port, config=config, gateway=False, forward_agent=False)


def _transport(sock: Any, seconds: float, types: list[str], **options: Any) -> paramiko.Transport:
    """A transport that asks the server first for the kinds of host key that can be verified."""
    transport = paramiko.Transport(sock, **options)
    transport.handshake_timeout = seconds
    offered = transport.get_security_options()
    wanted = [name for kind in types for name in (RSA if kind == "ssh-rsa" else (kind,)) if name in offered.key_types]
    offered.key_types = [*wanted, *(name for name in offered.key_types if name not in wanted)]
    return transport


def _authenticated(transport: paramiko.Transport | None, login: Login) -> paramiko.Transport:
    if transport is None or not transport.is_authenticated():
        raise TransportError("authentication", f"{login.target.user}: the server wants more than a key (a second factor); "
                                               "use an account for which a key is enough")
    return transport


def _failure(error: Exception, transport: paramiko.Transport | None, login: Login, attempt: Attempt) -> TransportError:
    """What an exception of paramiko's means, by how far the connection had come."""
    if isinstance(error, paramiko.AuthenticationException) and transport is not None and transport.is_active():
        return refused(login, error, said_before(transport))
    if isinstance(error, paramiko.ssh_exception.IncompatiblePeer):
        return TransportError("disconnected", f"no algorithm in common with the server ({error}); "
                                              "set transport: openssh for this node")
    spoken = transport.remote_version if transport is not None else ""
    if login.tried:
        return TransportError("authentication", f"the server closed the connection during the login as {login.target.user} "
                                                f"(tried {'; '.join(login.tried)}){said_before(transport)}; look at its log: too many keys "
                                                "offered, a locked account, a home that hangs")
    if spoken:
        return TransportError("no-banner", f"the server said {quoted(spoken)} and then no key exchange was finished within "
                                           f"{attempt.limits.login_seconds:g} s ({quoted(str(error))}); the host hangs or is "
                                           "overloaded: look at its console")
    reset = isinstance(error, (EOFError, ConnectionError)) or "reset" in str(error)
    return TransportError("no-banner", f"no SSH banner ({quoted(str(error))}); look at sshd on its console", passing=reset)


class Verified(paramiko.MissingHostKeyPolicy):
    """Lets in a server whose key is stored, and no other; nothing is ever added."""

    def __init__(self, target: Target, stored: list[hostkeys.HostKey]) -> None:
        self.target = target
        self.stored = stored

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Judge the key the server showed; raises TransportError unless it is stored."""
        judged = hostkeys.judge(self.stored, key.get_name(), key.get_base64())
        if judged.verdict != "known":
            raise TransportError(*refusal(judged, self.target, f"{key.get_name()} {fingerprint(key)}"))


def fingerprint(key: paramiko.PKey) -> str:
    """As ssh-keygen -l prints it."""
    return str(key.fingerprint)


def refusal(judged: hostkeys.Judged, target: Target, shown: str) -> tuple[str, str]:
    """Kind and message of a host key that is not the stored one."""
    files = target.known_hosts or ("~/.ssh/known_hosts",)
    name = hostkeys.name_of(target.alias or target.host, target.port)
    if judged.verdict == "unknown" or judged.stored is None:
        return "host-key-unknown", (f"its host key is not in {' or '.join(map(str, files))}; it shows {shown}. Compare that with the "
                                    f"node's console, then: ssh-keyscan -p {target.port} {target.host} >> {files[0]}")
    if judged.verdict == "revoked":
        return "host-key-changed", f"it shows {shown}, which {judged.stored} revokes; give the node a new host key"
    return "host-key-changed", (f"its host key is not the stored one: {judged.stored} has another, it shows {shown}. Reinstalled, "
                                "another machine at this address, or an attack: find out, then: "
                                f"ssh-keygen -R '{name}' -f {judged.stored.file}")


def converse(channel: paramiko.Channel, task: Task, attempt: Attempt) -> int | None:
    """Run the task on an open channel; both outputs are drained at every turn."""
    ready = select.poll()
    ready.register(channel.fileno(), select.POLLIN)
    try:
        channel.exec_command(task.command)
        with contextlib.suppress(OSError):  # it ended before reading everything: its output says why
            channel.sendall(task.stdin)
        while not _drained(channel, attempt) and attempt.remaining():
            ready.poll(1000 * attempt.remaining())
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise TransportError("disconnected", f"the connection broke ({quoted(str(error))})") from None
    return None if attempt.intake.done else _status(channel, attempt)


def _drained(channel: paramiko.Channel, attempt: Attempt) -> bool:
    """Take what is there; True when the reply is complete or nothing more will come."""
    intake = attempt.intake
    ended = channel.eof_received or channel.closed
    while not intake.done and channel.recv_ready():
        intake.out(channel.recv(CHUNK_BYTES))
    while channel.recv_stderr_ready():
        intake.err(channel.recv_stderr(CHUNK_BYTES))
        if intake.done:
            break
    return bool(intake.done or ended)


def _status(channel: paramiko.Channel, attempt: Attempt) -> int | None:
    """The exit status, which may come after the end of the output; None when the connection went without one."""
    channel.status_event.wait(min(STATUS_SECONDS, attempt.remaining()))
    if not channel.exit_status_ready() or channel.exit_status < 0:
        return None
    return channel.exit_status
