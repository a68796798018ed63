"""One POST to a service of the site: its deadline, its certificate, no redirects, no secret in any message. Runs on the controller."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from fleetcheck.inventory import InventoryError
from fleetcheck.text import clean

SECONDS = 15.0
READ_BYTES = 2000


class Undelivered(Exception):
    """A service did not take what it was sent; the text says which, what was tried and why."""


def post(url: str, body: bytes, headers: Mapping[str, str], ca_file: str | None = None, seconds: float = SECONDS,
         read_bytes: int = READ_BYTES) -> bytes:
    """The answer, as far as it is read. Raises Undelivered on anything but a 2xx answer within the deadline, InventoryError on a
    certificate file that cannot be read."""
    parts = urlsplit(url)
    where = f"{parts.scheme}://{parts.netloc}"
    connection = _connection(url, ca_file, seconds)
    try:
        with _deadline(connection, seconds):
            connection.request("POST", parts.path or "/", body, {"Content-Type": "application/json", "User-Agent": "fleetcheck", **headers})
            answer = connection.getresponse()
            said, status = answer.read(read_bytes), answer.status
    except (OSError, http.client.HTTPException, AttributeError) as error:
        raise Undelivered(f"{where}: no answer to POST within {seconds:g} s: {_why(error)}") from error
    finally:
        connection.close()
    if not 200 <= status < 300:
        raise Undelivered(f"{where}: POST was answered {status}: {' '.join(clean(said.decode('utf-8', 'replace'), 200).split())}")
    return said


def _connection(url: str, ca_file: str | None, seconds: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    if parts.scheme == "http":
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
    try:
        trusted = ssl.create_default_context(cafile=ca_file and str(Path(ca_file).expanduser()))
    except (OSError, ssl.SSLError) as error:
        raise InventoryError(f"ca_file {ca_file}: {error.strerror or error}; expected certificates in PEM form") from None
    return http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=seconds, context=trusted)


@contextmanager
def _deadline(connection: http.client.HTTPConnection, seconds: float) -> Iterator[None]:
    """Close the connection when the time is up, for one that trickles never times out by itself. What came until then is no answer."""
    over = threading.Event()
    watchdog = threading.Timer(seconds, _shut, [connection, over])
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
    if over.is_set():
        raise TimeoutError("the answer was not whole by then")


def _shut(connection: http.client.HTTPConnection, over: threading.Event) -> None:
    over.set()
    if connection.sock is not None:
        try:
            connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            connection.sock.close()


def _why(error: Exception) -> str:
    return clean(str(getattr(error, "strerror", None) or error) or type(error).__name__, 200)


def secret(file: str | None, variable: str | None, what: str) -> bytes:
    """A secret from its file or the environment. Raises InventoryError that never quotes it."""
    found = _of_file(file, what) if file else os.environ.get(variable or "", "").encode()
    if not found.strip():
        raise InventoryError(f"{what}: {file or f'${variable}'} is empty; expected the secret there")
    return found.strip()


def _of_file(file: str, what: str) -> bytes:
    path = Path(file).expanduser()
    try:
        if path.stat().st_mode & 0o007:
            raise InventoryError(f"{what}: {path} can be read by every user of this machine; chmod 600 {path}")
        return path.read_bytes()
    except OSError as error:
        raise InventoryError(f"{what}: cannot read {path}: {error.strerror}; expected the secret there") from None
