"""One probe of one node: builds the task, sends it, takes the reply, and says what went wrong in one sentence."""

from __future__ import annotations

import datetime
import json
import secrets
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fleetcheck import frame, identity, payload, shell
from fleetcheck.frame import FrameError, Intake
from fleetcheck.nodes import Node
from fleetcheck.quoting import escaped, last_line, quoted
from fleetcheck.records import Answer, Evidence, Failure
from fleetcheck.transport import Task, Transport, TransportError
from fleetcheck.transport.attempt import Attempt, Limits, Watchdog

if TYPE_CHECKING:
    from fleetcheck.transport.sshconfig import Resolver

TRIES = 3
BACK_OFF_SECONDS = 0.5


@dataclass(frozen=True)
class Request:
    """What one probe asks of a node. seconds: what its collectors may take together; login and way back come on top."""

    run: str
    stage: str
    probe: str
    collectors: tuple[str, ...]
    seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)


class Exchange:
    """Everything shared by the asks of a run. Thread-safe; made on the main thread, since it imports the ssh libraries."""

    def __init__(self, archive: bytes | None = None, limits: Limits | None = None) -> None:
        self.archive = payload.payload() if archive is None else archive
        self.limits = limits or Limits()
        self.watchdog = Watchdog()
        self._closed = threading.Event()
        self._resolver, self._transports = _transports()

    def ask(self, node: Node, request: Request) -> Evidence:
        """The evidence of one probe; whatever is wrong with the node is in its failure, nothing is raised."""
        started, clock = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"), time.monotonic()
        answers: Mapping[str, Answer] = {}
        failure, tries = None, 0
        while True:
            tries += 1
            try:
                answers = self._tried(node, request)
            except TransportError as error:
                if error.passing and tries < TRIES and not self._closed.wait(BACK_OFF_SECONDS * tries + secrets.randbelow(500) / 1000):
                    continue
                failure = Failure(error.kind, escaped(f"{node.name}: {error}"))
            return Evidence(request.run, request.stage, request.probe, node.name, started, round(time.monotonic() - clock, 3),
                            tries, failure, answers)

    def close(self) -> None:
        """End every ask in flight, and each later one at once, with failure "disconnected"."""
        self._closed.set()
        self.watchdog.close()
        for transport in self._transports.values():
            transport.close()

    def _tried(self, node: Node, request: Request) -> Mapping[str, Answer]:
        """The answers; raises TransportError for everything else."""
        attempt = Attempt(Intake(secrets.token_hex(8)), self.limits, request.seconds)
        nonce = attempt.intake.nonce
        try:
            transport = self._transport(node)
            with self.watchdog.watching(attempt):
                status = _run(transport, node, self._task(node, request, nonce), attempt, request)
                found = _answers(attempt, status, node)
            identity.confirm(node, found)
            return found
        except TransportError:
            raise
        except Exception as error:  # noqa: BLE001 - a mistake of ours must not end the run of a thousand nodes
            raise TransportError("controller", f"asking it failed on this side: {type(error).__name__}: {error}; "
                                               "please report this") from error

    def _transport(self, node: Node) -> Transport:
        name = node.transport
        if name == "auto":
            name = "openssh" if self._resolver.target(node.address, node.ssh).needs_openssh else "ssh"
        return self._transports[name]

    def _task(self, node: Node, request: Request, nonce: str) -> Task:
        question = {"nonce": nonce, "run": request.run, "probe": request.probe, "node": node.name,
                    "collectors": request.collectors, "seconds": request.seconds, "settings": dict(request.settings)}
        first = payload.bootstrap()
        stdin = first + payload.block(self.archive) + payload.block(json.dumps(question).encode())
        return Task(shell.command(len(first), node.become), stdin)


def _transports() -> tuple[Resolver, dict[str, Transport]]:
    """Every transport by its name in the inventory; warnings of their libraries are no business of a fleet run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fleetcheck.transport import hostkeys, local, openssh, ssh, sshconfig
    resolver, known = sshconfig.Resolver(), hostkeys.KnownHosts()
    return resolver, {"ssh": ssh.Ssh(resolver, known), "openssh": openssh.OpenSsh(resolver), "local": local.Local()}


def _run(transport: Transport, node: Node, task: Task, attempt: Attempt, request: Request) -> int | None:
    """The exit status; what was attempted stands before every message."""
    try:
        status = transport.run(node, task, attempt)
    except TransportError as error:
        if attempt.over:
            raise _ended(attempt, transport, node, request) from None
        raise TransportError(error.kind, f"{request.probe} over {transport.describe(node)}: {error}", error.passing) from None
    if not attempt.intake.done and (attempt.over or not attempt.remaining()):
        raise _ended(attempt, transport, node, request)
    return status


def _ended(attempt: Attempt, transport: Transport, node: Node, request: Request) -> TransportError:
    """The attempt was ended by the watchdog or by close()."""
    what = f"{request.probe} over {transport.describe(node)}"
    if attempt.over == "closed":
        return TransportError("disconnected", f"{what}: given up because the run was ended; ask again with --resume")
    return TransportError("deadline", f"{what}: no complete reply within {attempt.seconds:g} s ({attempt.intake.progress()}); "
                                      "log in and look for load, for processes in D state (ps -eo pid,stat,comm), for a full memory")


def _answers(attempt: Attempt, status: int | None, node: Node) -> dict[str, Answer]:
    """The answers of a finished exchange. Raises TransportError saying why there are none."""
    intake = attempt.intake
    try:
        if not intake.done and b"<<fleetcheck" not in intake.stdout:
            raise _silent(intake, status, node)
        return frame.answers(intake.body())
    except FrameError as error:
        said = f" (standard error ends with {quoted(last_line(intake.stderr))})" if intake.stderr else ""
        raise TransportError(error.kind, f"its reply is not usable: {error}{said}; run it by hand there, or ask again") from None


def _silent(intake: Intake, status: int | None, node: Node) -> TransportError:
    """Why the node code sent no reply at all, from its exit status and last words."""
    ended = "without an exit status" if status is None else f"with exit status {status}"
    said = quoted(last_line(intake.stderr) or last_line(intake.stdout.replace(shell.STARTED, b"")))
    if shell.STARTED not in intake.stdout:
        return _not_started(ended, said, status, node, intake)
    if status == shell.NO_PYTHON:
        return TransportError("no-python", "no python3 on the node: looked on PATH, in /usr/bin, /usr/libexec, /usr/local/bin and "
                                           "/opt; install python3 (3.6 or later)")
    if status == shell.OLD_PYTHON:
        return TransportError("no-python", f"no python3 (3.6 or later) on the node, only {said}; install python3")
    if status is None:
        return TransportError("disconnected", f"the connection ended before the reply ({said}); did the node reboot, was the "
                                              "session killed (out of memory, systemd-logind)? look at its journal")
    return TransportError("node-code", f"the node code ended {ended}, saying {said}; run by hand there: python3 -V; df /dev/shm /tmp")


def _not_started(ended: str, said: str, status: int | None, node: Node, intake: Intake) -> TransportError:
    """The shell line never began: privilege was refused, or the login shell does something else."""
    if node.become and status is not None and len(intake.stdout) < 1000:
        user = node.ssh.user or "USER"
        return TransportError("become-refused", f"{' '.join(node.become)!r} was refused, saying {said}; allow it without a password: "
                                                f"echo '{user} ALL=(ALL) NOPASSWD: /bin/sh' | sudo tee /etc/sudoers.d/fleetcheck")
    if len(intake.stdout) > 1000:
        return TransportError("garbled", f"{len(intake.stdout):,} bytes without a reply, ending {said}; what does the login shell run?")
    if status is None:
        return TransportError("disconnected", f"the session ended {ended} before anything ran ({said}); look at the server's log")
    return TransportError("node-code", f"logged in, but the login shell ended {ended} instead of running /bin/sh, saying {said}; "
                                       "give the account a shell, and no forced command")
