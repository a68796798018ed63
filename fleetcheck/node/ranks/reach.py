"""Runs on the node: the master's port by plain TCP: whether the name resolves, who refuses, what never answers."""

import errno
import socket
import time

TRY_SECONDS = 3.0
PAUSE_SECONDS = 0.2
NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)


class Unreached(Exception):
    """The master's port was not reached in time. kind: name, refused, no-route, connect-timeout."""

    def __init__(self, kind, why):
        super().__init__(why)
        self.kind = kind


def reach(host, port, seconds, pulse=lambda: None):
    """The local address that a connection to the master's port had. Raises Unreached, with what the last try met."""
    until = time.monotonic() + seconds
    while True:
        try:
            return attempt(host, port, max(0.1, min(TRY_SECONDS, until - time.monotonic())))
        except Unreached as last:
            if time.monotonic() >= until:
                raise Unreached(last.kind, "%s, for %g s" % (last, seconds)) from None
        pulse()
        time.sleep(min(PAUSE_SECONDS, max(0.0, until - time.monotonic())))


def attempt(host, port, seconds):
    """One try."""
    address = resolved(host, port)
    try:
        with socket.create_connection((address, port), seconds) as connection:
            return connection.getsockname()[0]
    except socket.timeout:
        raise Unreached("connect-timeout", "no answer from the master, %s port %d" % (host, port)) from None
    except OSError as error:
        kind = "refused" if error.errno == errno.ECONNREFUSED else "no-route" if error.errno in NO_ROUTE else "connect-timeout"
        raise Unreached(kind, "the master, %s port %d: %s" % (host, port, error.strerror or error)) from None


def resolved(host, port):
    """The master's address by this node's own resolver."""
    try:
        return str(socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise Unreached("name", "the master's name %s does not resolve here (%s)" % (host, said)) from None


def free(port):
    """Whether the port can be bound here."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("", port))
            return True
        except OSError:
            return False
