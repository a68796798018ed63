"""Runs a task through a program of this machine, ``ssh`` or a shell: fed and drained until the reply is complete."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Container, Mapping, Sequence

from fleetcheck.frame import Intake
from fleetcheck.transport import TransportError
from fleetcheck.transport.attempt import Attempt

CHUNK_BYTES = 1 << 16
SLICE_SECONDS = 0.25
ENDING_SECONDS = 1.0


def converse(argv: Sequence[str], stdin: bytes, attempt: Attempt, environment: Mapping[str, str]) -> int | None:
    """The exit status; None once the reply is complete and the program was let go.

    Raises TransportError, also when it has said nothing at all by the end of the time for a login.
    """
    try:
        program = subprocess.Popen(argv, env=dict(environment), start_new_session=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    except OSError as error:
        raise TransportError("controller", f"{argv[0]} did not start on this machine: {error}") from None
    attempt.closing(lambda: _kill(program))
    try:
        _talk(program, stdin, attempt)
        return None if attempt.intake.done else _status(program, attempt)
    finally:
        _end(program)


def _talk(program: subprocess.Popen[bytes], stdin: bytes, attempt: Attempt) -> None:
    """Until the reply is complete, both outputs have ended, or the attempt is over."""
    assert program.stdin and program.stdout and program.stderr
    takes = {program.stdout: attempt.intake.out, program.stderr: attempt.intake.err}
    os.set_blocking(program.stdin.fileno(), False)
    with selectors.DefaultSelector() as selector:
        for stream in takes:
            selector.register(stream, selectors.EVENT_READ)
        selector.register(program.stdin, selectors.EVENT_WRITE)
        while _reading(selector, attempt.intake, takes) and attempt.remaining():
            _expect_a_word(attempt)
            for key, _ in selector.select(min(SLICE_SECONDS, attempt.remaining())):
                if key.fileobj is program.stdin:
                    stdin = _fed(selector, program.stdin, stdin)
                    continue
                chunk = os.read(key.fd, CHUNK_BYTES)
                takes[key.fileobj](chunk)  # type: ignore[index]
                if not chunk:
                    selector.unregister(key.fileobj)


def _expect_a_word(attempt: Attempt) -> None:
    if not attempt.intake.stdout and time.monotonic() > attempt.started + attempt.limits.login_seconds:
        raise TransportError("no-banner", f"connected, but no login within {attempt.limits.login_seconds:g} s; "
                                          "the host hangs or is overloaded: look at its console")


def _reading(selector: selectors.BaseSelector, intake: Intake, takes: Container[object]) -> bool:
    return not intake.done and any(key.fileobj in takes for key in selector.get_map().values())


def _fed(selector: selectors.BaseSelector, stream: object, stdin: bytes) -> bytes:
    """What is left to write. Once all is written the stream stays open: its end would tell the node that nobody waits."""
    with contextlib.suppress(BlockingIOError):
        try:
            stdin = stdin[os.write(stream.fileno(), stdin):]  # type: ignore[attr-defined]
        except BrokenPipeError:
            stdin = b""
    if not stdin:
        selector.unregister(stream)  # type: ignore[arg-type]
    return stdin


def _status(program: subprocess.Popen[bytes], attempt: Attempt) -> int | None:
    try:
        return program.wait(min(ENDING_SECONDS, attempt.remaining()))
    except subprocess.TimeoutExpired:
        return None


def _end(program: subprocess.Popen[bytes]) -> None:
    """Close its streams, which ends the node code, then whatever is left of it."""
    for stream in (program.stdin, program.stdout, program.stderr):
        with contextlib.suppress(OSError):
            stream.close()  # type: ignore[union-attr]
    with contextlib.suppress(subprocess.TimeoutExpired):
        program.wait(ENDING_SECONDS)
    _kill(program)
    program.wait()


def _kill(program: subprocess.Popen[bytes]) -> None:
    if program.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, signal.SIGKILL)
