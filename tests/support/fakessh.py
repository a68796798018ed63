"""Servers that misbehave before any SSH is spoken, each on its own loopback port; and a real sshd of an ordinary user."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
NO_SSHD = "no sshd on this machine: install openssh-server to run these tests against a real server"

CONFIG = """
Port {port}
ListenAddress 0.0.0.0
HostKey {folder}/{host_key}
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
UseDNS no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 1000
LogLevel ERROR
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def keygen(path: Path, kind: str = "ed25519", *more: str) -> Path:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen on this machine: install openssh-client")
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "test", "-f", path, *more], check=True)
    return path


def public(key: Path) -> str:
    """Type and key of a public key file."""
    return " ".join(key.with_name(key.name + ".pub").read_text().split()[:2])


class Sshd:
    """A real sshd on every 127.x.y.z, with keys of its own. authorize() adds a key, with options such as command=."""

    def __init__(self, folder: Path, host_key: str = "host", extra: str = "") -> None:
        self.folder, self.port = folder, free_port()
        self.host_key = folder / host_key
        for name in ("host", "identity"):
            if not (folder / name).exists():
                keygen(folder / name)
        self.identity = folder / "identity"
        self.authorize(self.identity)
        config = folder / f"sshd_config_{self.port}"
        config.write_text(CONFIG.format(port=self.port, folder=folder, host_key=host_key) + extra)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        self.start(config)

    def start(self, config: Path) -> None:
        self.process = subprocess.Popen([str(SSHD), "-D", "-e", "-f", config], stderr=subprocess.DEVNULL)
        self._await()

    def _await(self) -> None:
        while True:
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", self.port)) as probe:
                probe.recv(100)
                return
            assert self.process.poll() is None, "sshd did not start"

    def authorize(self, key: Path, options: str = "") -> None:
        with (self.folder / "authorized_keys").open("a") as file:
            file.write(f"{options} {public(key)}\n".lstrip())

    def known(self, *hosts: str, key: Path | None = None, file: str = "known_hosts") -> Path:
        """A known_hosts file naming this server under these addresses."""
        path = self.folder / file
        lines = [f"[{host}]:{self.port} {public(key or self.host_key)}\n" for host in hosts]
        path.write_text("".join(lines))
        return path

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


@contextlib.contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A TCP server on 127.0.0.1 that does this with each connection; its port."""
    held: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            held.append(connection)
            with contextlib.suppress(OSError):
                serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in held:
                connection.close()


@contextlib.contextmanager
def black_hole() -> Iterator[int]:
    """A port that answers no connection attempt: its queue is full and nobody accepts."""
    with contextlib.ExitStack() as held:
        listener = held.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        while True:
            filler = held.enter_context(socket.socket())
            filler.settimeout(0.2)
            try:
                filler.connect(("127.0.0.1", port))
            except TimeoutError:
                break
        yield port
