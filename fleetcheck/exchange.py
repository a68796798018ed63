"""One probe of one node: builds the task, sends it, takes the reply, and says what went wrong in one sentence."""

from __future__ import annotations

import datetime
import json
import logging
import secrets
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetcheck import identity, payload, replies, shell
from fleetcheck.frame import Intake
from fleetcheck.nodes import Node
from fleetcheck.quoting import escaped
from fleetcheck.records import Answer, Evidence, Failure
from fleetcheck.transport import Task, Transport, TransportError
from fleetcheck.transport.attempt import Attempt, Limits, Watchdog
from fleetcheck.transport.hostkeys import KnownHosts
from fleetcheck.transport.lane import Lane
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
    """Everything the asks of a run share. Thread-safe. Made on the main thread, since it imports the ssh libraries.

    log: a file that gets one line per ask; archive: node code other than the shipped one.
    """

    def __init__(self, log: Path | None = None, limits: Limits | None = None, archive: bytes | None = None) -> None:
        self.limits = limits or Limits()
        self.archive = archive
        payload.payload_for(())  # made once, before many threads ask for it
        self.log = _log(log)
        self.watchdog = Watchdog()
        self._closed = threading.Event()
        self._resolver, self._known = Resolver(), KnownHosts()
        self._transports = _transports(self._resolver, self._known)

    def ask(self, node: Node, request: Request, lane: Lane | None = None) -> Evidence:
        """The evidence of one probe; whatever is wrong with the node is in its failure, nothing is raised.

        lane: takes the connection over to the node's next probe, where the transport can.
        """
        started, clock = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"), time.monotonic()
        answers, failure, tries = self._asked(node, request, lane)
        seconds = round(time.monotonic() - clock, 3)
        self.log.info("%s %s %s in %.1f s: %s", request.stage, request.probe, node.name, seconds,
                      failure.message if failure else ", ".join(answers))
        return Evidence(request.run, request.stage, request.probe, node.name, started, seconds, tries, failure, answers)

    def close(self) -> None:
        """End every ask in flight, and each later one at once, with failure "disconnected"."""
        self._closed.set()
        self.watchdog.close()
        for transport in self._transports.values():
            transport.close()
        for handler in self.log.handlers:
            handler.close()

    def _asked(self, node: Node, request: Request, lane: Lane | None) -> tuple[Mapping[str, Answer], Failure | None, int]:
        """Answers, or failure, and after how many tries: a server that is merely busy is asked again."""
        for tries in range(1, TRIES + 1):
            try:
                return self._tried(node, request, lane), None, tries
            except TransportError as error:
                again = error.passing and tries < TRIES and not self._closed.wait(_back_off(tries))
                if not again:
                    return {}, Failure(error.kind, escaped(f"{node.name}: {error}")), tries
        raise AssertionError("the last try returns")

    def _tried(self, node: Node, request: Request, lane: Lane | None) -> Mapping[str, Answer]:
        """The answers; raises TransportError for everything else."""
        attempt = Attempt(Intake(secrets.token_hex(8)), self.limits, request.seconds, lane)
        way = node.transport
        try:
            transport, way = self._transport(node)
            with self.watchdog.watching(attempt):
                status = _run(transport, node, self._task(node, request, attempt.intake.nonce), attempt)
            answers = replies.answers(attempt.intake, status, node)
            identity.confirm(node, answers)
            return answers
        except TransportError as error:
            raise TransportError(error.kind, f"{request.probe} over {way}: {error}", error.passing) from None
        except Exception as error:  # a mistake of ours must not end the run of a thousand nodes
            raise TransportError("controller", f"asking it failed on this side: {type(error).__name__}: {error}; "
                                               "please report this") from error

    def _transport(self, node: Node) -> tuple[Transport, str]:
        """How the node is asked, and that in words."""
        name = node.transport
        if name == "local":
            return self._transports[name], "a shell on this machine"
        target = self._resolver.target(node.address, node.ssh)
        if name == "auto":
            vouched = self._known.vouched(target.known_hosts, target.alias or target.host, target.port)
            name = "openssh" if target.needs_openssh or vouched else "ssh"
        return self._transports[name], f"{name} to {target}"

    def _task(self, node: Node, request: Request, nonce: str) -> Task:
        question = {"nonce": nonce, "run": request.run, "probe": request.probe, "node": node.name,
                    "collectors": request.collectors, "seconds": request.seconds, "settings": dict(request.settings)}
        first = payload.bootstrap()
        archive = payload.payload_for(request.collectors) if self.archive is None else self.archive
        stdin = first + payload.block(archive) + payload.block(json.dumps(question).encode())
        return Task(shell.command(len(first), node.become), stdin)


def _run(transport: Transport, node: Node, task: Task, attempt: Attempt) -> int | None:
    """The exit status. Raises TransportError, also when the attempt was ended before its reply was complete."""
    try:
        status = transport.run(node, task, attempt)
    except Exception:
        if attempt.over:  # what it was using was closed under it
            raise replies.ended(attempt) from None
        raise
    if not attempt.intake.done and not attempt.remaining():
        raise replies.ended(attempt)
    return status


def _transports(resolver: Resolver, known: KnownHosts) -> dict[str, Transport]:
    """Every transport by its name in the inventory; warnings of their libraries are no business of a fleet run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fleetcheck.transport import local, openssh, ssh
    return {"ssh": ssh.Ssh(resolver, known), "openssh": openssh.OpenSsh(resolver), "local": local.Local()}


def _back_off(tries: int) -> float:
    """Seconds before the next try, spread so that a fleet does not knock in step."""
    return BACK_OFF_SECONDS * tries + secrets.randbelow(1000) / 1000


def _log(path: Path | None) -> logging.Logger:
    """A logger of this exchange alone: nothing said on a gathering thread reaches the tests' captured output."""
    log = logging.Logger("fleetcheck.exchange")
    handler = logging.FileHandler(path, encoding="utf-8") if path else logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    return log
