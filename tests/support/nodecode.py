"""Payloads with collectors of a test's own, and the node code run without any transport."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from fleetcheck.payload import block, bootstrap, payload
from fleetcheck.shell import command

COMMAND = command(len(bootstrap()))
COLLECTORS = "fleetcheck/node/collectors/__init__.py"


def pythons() -> list[str]:
    """Every python3 of this machine that may stand on a node: this one, the system's, and those of pyenv."""
    others = Path.home().glob(".pyenv/versions/3.*/bin/python3")
    found = [sys.executable, "/usr/bin/python3", *sorted(map(str, others))]
    return [python for python in found if Path(python).exists()]


def payload_with(collectors: str) -> bytes:
    """The real node code, with this source as its collectors package."""
    archive = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(payload())) as real, zipfile.ZipFile(archive, "w") as ours:
        for name in real.namelist():
            if not name.startswith("fleetcheck/node/collectors/"):
                ours.writestr(name, real.read(name))
        ours.writestr(COLLECTORS, collectors)
    return archive.getvalue()


def request(*names: str, seconds: float = 10, **more: object) -> bytes:
    return json.dumps({"nonce": "n0", "seconds": seconds, "collectors": names, "settings": {}, **more}).encode()


def standard_input(archive: bytes, question: bytes) -> bytes:
    return bootstrap() + block(archive) + block(question)


def path_with(folder: Path, **programs: str) -> dict[str, str]:
    """An environment whose PATH holds only these programs (name → file to link to) and the shell's own tools."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in {"env": "/usr/bin/env", **programs}.items():
        (folder / name).symlink_to(target)
    return {"PATH": str(folder), "HOME": str(folder)}


def answer(archive: bytes, question: bytes, python: str = sys.executable, folder: Path | None = None,
           shell: str = "/bin/sh", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The node code run by a login shell on this machine, with this python3."""
    base = path_with(folder, python3=python) if folder else dict(os.environ)
    with tempfile.TemporaryFile() as stderr:
        node = subprocess.Popen([shell, "-c", command(len(bootstrap()))], env={**base, **environment}, stderr=stderr,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with contextlib.suppress(BrokenPipeError):
            node.stdin.write(standard_input(archive, question))
            node.stdin.flush()
        stdout = node.stdout.read()
        node.wait()
        with contextlib.suppress(BrokenPipeError):
            node.stdin.close()
        node.stdout.close()
        stderr.seek(0)
        return subprocess.CompletedProcess(node.args, node.returncode, stdout, stderr.read())


def replied(output: bytes) -> dict:
    """The reply in a frame of nonce n0."""
    head = output.index(b"<<fleetcheck n0 ")
    line, _, rest = output[head:].partition(b"\n")
    body = rest[:int(line.split()[2].rstrip(b">"))]
    return json.loads(body)
