"""The first packet to a node: name, TCP, banner, each under its own short deadline. A dead host costs this and no more."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import threading
import time
from typing import Any

from fleetcheck.quoting import quoted
from fleetcheck.transport import TransportError
from fleetcheck.transport.attempt import Attempt, shut

SLICE_SECONDS = 0.25
NO_ROUTE = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})


def connected(host: str, port: int, attempt: Attempt) -> socket.socket:
    """An open TCP connection. Raises TransportError: name-resolution, refused, no-route or connect-timeout."""
    last = TransportError("name-resolution", f"{host!r} has no address; check the name in the inventory and the DNS")
    for family, address in resolved(host, port, attempt):
        try:
            return _connected(family, address, attempt)
        except TransportError as error:
            last = error
    raise last


def resolved(host: str, port: int, attempt: Attempt) -> list[tuple[int, Any]]:
    """Addresses of a host; asked in a thread of its own, since no resolver honours a deadline."""
    found: list[tuple[int, Any]] = []
    errors: list[OSError] = []

    def ask() -> None:
        try:
            found.extend((info[0], info[4]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            errors.append(error)

    seconds = attempt.limits.connect_seconds
    if _is_address(host):
        ask()
    else:
        asking = threading.Thread(target=ask, name=f"resolve {host}", daemon=True)
        asking.start()
        asking.join(min(seconds, attempt.remaining()))
    if found:
        return list(found)
    why = errors[0].strerror if errors else f"no answer from the resolver within {seconds:g} s"
    raise TransportError("name-resolution", f"{host!r} has no address ({why}); check the name in the inventory and the DNS")


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError):
            return bool(socket.inet_pton(family, host.partition("%")[0]))
    return False


def _connected(family: int, address: Any, attempt: Attempt) -> socket.socket:
    connection = socket.socket(family, socket.SOCK_STREAM)
    attempt.closing(shut(connection))
    connection.setblocking(False)
    code = connection.connect_ex(address)
    if code == errno.EINPROGRESS:
        until = time.monotonic() + attempt.limits.connect_seconds
        code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if _ready(
            connection, select.POLLOUT, until, attempt) else errno.ETIMEDOUT
    if code:
        connection.close()
        raise refusal(code, f"{address[0]} port {address[1]}", attempt.limits.connect_seconds)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def refusal(code: int, where: str, seconds: float) -> TransportError:
    """What an errno of connect() says about the node."""
    if code == errno.ECONNREFUSED:
        return TransportError("refused", f"{where} refused the connection; the machine is up but nothing listens: "
                                         "is sshd running, is this the right port?")
    if code in NO_ROUTE:
        return TransportError("no-route", f"no route to {where} ({os.strerror(code)}); is it powered on and cabled?")
    if code == errno.ETIMEDOUT:
        return TransportError("connect-timeout", f"{where} did not answer within {seconds:g} s; "
                                                 "is it powered on, does a firewall drop packets?")
    return TransportError("no-route", f"connecting to {where} failed: {os.strerror(code)}")


def await_banner(connection: socket.socket, attempt: Attempt) -> None:
    """Wait for the first words of the SSH server, leaving them to be read. Raises TransportError: no-banner."""
    until = time.monotonic() + attempt.login_remaining()
    if not _ready(connection, select.POLLIN, until, attempt):
        raise TransportError("no-banner", "the port accepts connections, but no SSH server spoke within "
                                          f"{attempt.limits.login_seconds:g} s; the host hangs or is overloaded: look at its console")
    try:
        words = connection.recv(256, socket.MSG_PEEK)
    except OSError as error:
        words = b""
        why = f" ({error.strerror})"
    else:
        why = ""
    if not words or words.startswith((b"Exceeded MaxStartups", b"Not allowed at this time")):
        said = f", saying {quoted(words)}" if words else why
        raise TransportError("no-banner", f"the server closed the connection before its banner{said}; too many logins at "
                                          "once (MaxStartups, PerSourcePenalties), or sshd cannot start sessions", passing=True)
    if b"SSH-" not in words and b"\n" in words and not words.startswith(b"SSH"):
        _refuse_stranger(words)
    connection.setblocking(True)


def _refuse_stranger(words: bytes) -> None:
    """RFC 4253 lets a server say lines before its version; these protocols are known never to become SSH."""
    if words.startswith((b"HTTP/", b"220 ", b"+OK", b"* OK")):
        raise TransportError("no-banner", f"not an SSH server: it says {quoted(words)}; check the port in the inventory")


def _ready(connection: socket.socket, event: int, until: float, attempt: Attempt) -> bool:
    """Whether the event came in time. In slices, so that closing the attempt ends the wait."""
    with contextlib.suppress(OSError, ValueError):
        poll = select.poll()
        poll.register(connection.fileno(), event)
        while not attempt.over and time.monotonic() < until:
            if poll.poll(1000 * min(SLICE_SECONDS, max(0.0, until - time.monotonic()))):
                return True
    return False
