"""Runs on the node: one program, run to its end or to its deadline."""

import errno
import os
import selectors
import signal
import time
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, Dict, List, NamedTuple, Optional, Union

from fleetcheck.node.process import die_with_parent, state_of

OUTPUT_LIMIT = 1 << 20
LEFTOVERS_SECONDS = 0.2

Stream = IO[bytes]
Text = Union[str, bytes, None]


class Completed(NamedTuple):
    """How a program ended: exit status (negative: killed by that signal) and what it wrote."""

    status: int
    stdout: str
    stderr: str


class ProgramMissing(OSError):
    """No such program on this node."""


class ProgramTimeout(OSError):
    """The program was still running at its deadline and was killed."""


class OutputTooLong(OSError):
    """The program wrote more than its limit and was killed."""


def run(argv: List[str], name: str, seconds: float, stdin: Text, limit: int, path: Optional[str]) -> Completed:
    """Run argv to its end; ``path`` replaces PATH unless None. Errors name the program as ``name``."""
    process = Popen(
        argv, stdin=PIPE if stdin is not None else DEVNULL, stdout=PIPE,
        stderr=PIPE, env=_environment(path), preexec_fn=_apart, close_fds=True)
    try:
        stdout, stderr = _talk(process, _bytes(stdin), time.monotonic() + seconds, limit, name, seconds)
        _wait(process, LEFTOVERS_SECONDS)
    finally:
        status = _end(process, name)
    return Completed(status, _text(stdout), _text(stderr))


def _text(written: bytes) -> str:
    """What a program wrote, its lines ended as everywhere, also where it took us for a terminal."""
    return written.decode("utf-8", "replace").replace("\r\n", "\n")


def _apart() -> None:
    """A group of its own, so that the deadline ends its children too; and an end with the collector that asked."""
    os.setpgrp()
    die_with_parent()


def _environment(path: Optional[str]) -> Dict[str, str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LC_")}
    environment.update(LC_ALL="C", LANG="C")
    environment.pop("LANGUAGE", None)
    if path is not None:
        environment["PATH"] = path
    return environment


def _bytes(stdin: Text) -> bytes:
    return stdin.encode("utf-8", "surrogateescape") if isinstance(stdin, str) else stdin or b""


def _talk(process: "Popen[bytes]", stdin: bytes, deadline: float, limit: int, name: str, seconds: float) -> List[bytes]:
    """Feed and drain all streams until the program has ended and said everything."""
    assert process.stdout and process.stderr
    outputs = {process.stdout: bytearray(), process.stderr: bytearray()}  # type: Dict[Stream, bytearray]
    with selectors.DefaultSelector() as selector:
        for stream in outputs:
            selector.register(stream, selectors.EVENT_READ, stream)
        if process.stdin:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE, process.stdin)
        while selector.get_map():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise ProgramTimeout(errno.ETIMEDOUT, "no end within %g s" % seconds, name)
            ended = _has_ended(process)  # asked first: what it wrote until then is ready, and nothing more will come
            ready = selector.select(min(remaining, 0.1))
            for key, _ in ready:
                stdin = _step(selector, key.data, outputs, stdin)
            if any(len(output) > limit for output in outputs.values()):
                raise OutputTooLong(errno.EFBIG, "wrote more than %d bytes" % limit, name)
            if not ready and ended:
                break  # a background child of it still holds the pipes
    _await_end(process, deadline, name, seconds)
    return [bytes(outputs[process.stdout]), bytes(outputs[process.stderr])]


def _step(selector: selectors.BaseSelector, stream: Stream, outputs: Dict[Stream, bytearray], stdin: bytes) -> bytes:
    """One read or write; returns what is left to write."""
    if stream in outputs:
        chunk = os.read(stream.fileno(), 1 << 16)
        outputs[stream] += chunk
        if not chunk:
            selector.unregister(stream)
        return stdin
    try:
        stdin = stdin[os.write(stream.fileno(), stdin[:1 << 16]):] if stdin else stdin
    except BrokenPipeError:
        stdin = b""
    if not stdin:
        selector.unregister(stream)
        stream.close()
    return stdin


def _has_ended(process: "Popen[bytes]") -> bool:
    """Whether the program is dead, without reaping it: its group keeps its number until _end."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _await_end(process: "Popen[bytes]", deadline: float, name: str, seconds: float) -> None:
    while not _has_ended(process):
        if time.monotonic() >= deadline:
            raise ProgramTimeout(errno.ETIMEDOUT, "no end within %g s" % seconds, name)
        time.sleep(0.005)


def _wait(process: "Popen[bytes]", seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not _has_ended(process) and time.monotonic() < deadline:
        time.sleep(0.005)
    return _has_ended(process)


def _end(process: "Popen[bytes]", name: str) -> int:
    """Kill the whole group, reap the program, return its status; one stuck in D state is named and left alone."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream and not stream.closed:
            _close(stream)
    if not _wait(process, LEFTOVERS_SECONDS):
        process.returncode = -signal.SIGKILL  # keeps Popen from waiting for it
        raise ProgramTimeout(errno.ETIMEDOUT, "stuck in %s state, pid %d" % (state_of(process.pid), process.pid), name)
    return process.wait()


def _close(stream: Stream) -> None:
    try:
        stream.close()
    except OSError:
        pass
