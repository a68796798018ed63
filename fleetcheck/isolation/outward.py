"""One POST to a site's service: its deadline, its certificate, no redirects, and the secret that signs it. Runs on the controller."""

from __future__ import annotations

import functools
import http.client
import ipaddress
import os
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from fleetcheck.alerts.terms import Webhook as WebhookEntry
from fleetcheck.isolation.standing import BackendError
from fleetcheck.isolation.webhook import Webhook
from fleetcheck.quoting import quoted
from fleetcheck.run import RunError

SECONDS = 30.0
MOST_BYTES = 8 << 20
SHORTEST_SECRET = 16


def connect(entry: WebhookEntry) -> Webhook:
    """The service an inventory names. Raises RunError on a secret or a certificate that cannot be used."""
    parts = urlsplit(entry.url)
    if parts.scheme != "https" and not _loopback(parts.hostname or ""):
        raise RunError(f"isolation.webhook: {parts.scheme}://{parts.netloc} is not encrypted, and its answers decide about nodes; "
                       "expected https://")
    trusted = _trusted(entry.ca_file) if parts.scheme == "https" else None
    return Webhook(entry.url, _secret(entry), functools.partial(post, trusted=trusted))


def post(url: str, body: bytes, headers: Mapping[str, str], trusted: ssl.SSLContext | None = None) -> tuple[int, bytes]:
    """Status and answer. Raises BackendError when there is none within the deadline, or too much of one."""
    parts = urlsplit(url)
    where, port = parts.hostname or "", parts.port
    connection = (http.client.HTTPSConnection(where, port, timeout=SECONDS, context=trusted) if trusted
                  else http.client.HTTPConnection(where, port, timeout=SECONDS))
    try:
        with _deadline(connection):
            connection.request("POST", parts.path or "/", body, {"Content-Type": "application/json", "User-Agent": "fleetcheck", **headers})
            answer = connection.getresponse()
            status, said = answer.status, answer.read(MOST_BYTES + 1)
    except (OSError, http.client.HTTPException, AttributeError) as error:
        why = quoted(str(getattr(error, "strerror", None) or error) or type(error).__name__)
        raise BackendError(f"{parts.scheme}://{parts.netloc} did not answer a POST within {SECONDS:g} s: {why}") from None
    finally:
        connection.close()
    if len(said) > MOST_BYTES:
        raise BackendError(f"{parts.scheme}://{parts.netloc} answered more than {MOST_BYTES >> 20} MiB")
    return status, said


@contextmanager
def _deadline(connection: http.client.HTTPConnection) -> Iterator[None]:
    """Shut the connection when the time is up: an answer that trickles never times out by itself."""
    watchdog = threading.Timer(SECONDS, _shut, [connection])
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


def _shut(connection: http.client.HTTPConnection) -> None:
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _trusted(ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file and str(Path(ca_file).expanduser()))
    except (OSError, ssl.SSLError) as error:
        raise RunError(f"isolation.webhook: ca_file {ca_file}: {error.strerror or error}; expected certificates in PEM form") from None


def _secret(entry: WebhookEntry) -> bytes:
    """From its file or the environment; no message quotes it."""
    told = _of_file(Path(entry.secret_file).expanduser()) if entry.secret_file else os.environ.get(entry.secret_env or "", "").encode()
    found = told.strip()
    if len(found) < SHORTEST_SECRET:
        place = entry.secret_file or f"${entry.secret_env}"
        raise RunError(f"isolation.webhook: the secret in {place} has {len(found)} bytes; expected at least {SHORTEST_SECRET}, such as of: "
                       "openssl rand -hex 32")
    return found


def _of_file(path: Path) -> bytes:
    try:
        if path.stat().st_mode & 0o007:
            raise RunError(f"isolation.webhook: {path} can be read by every user of this machine; chmod 600 {path}")
        return path.read_bytes()
    except OSError as error:
        raise RunError(f"isolation.webhook: cannot read the secret in {path}: {error.strerror}") from None
