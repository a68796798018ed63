"""One command on a simulated node: process group, three streams, exit status (inside the sandbox server)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process

import asyncssh

from fleetcheck.sandbox.layout import Endpoint

CHUNK_BYTES = 1 << 16


async def serve(session: asyncssh.SSHServerProcess[bytes], endpoint: Endpoint, live: set[int]) -> None:
    """Run what the client asked for and report how it ended; ``live`` holds the process ids being waited for."""
    arguments = ["-c", session.command] if session.command else ["-i"]
    child = await asyncio.create_subprocess_exec(
        "/bin/sh", *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True,
        cwd=endpoint.home, env=dict(endpoint.environment),
    )
    live.add(child.pid)
    tasks = [asyncio.create_task(_kill_when_gone(session, child)), asyncio.create_task(_feed(session, child))]
    try:
        await _collect(session, child)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        live.discard(child.pid)


async def _collect(session: asyncssh.SSHServerProcess[bytes], child: Process) -> None:
    """Both outputs to their ends, then the exit status: the order in which sshd reports."""
    assert child.stdout and child.stderr
    await asyncio.gather(_copy(child.stdout, session.stdout), _copy(child.stderr, session.stderr))
    code = await child.wait()
    if code < 0:
        session.exit_with_signal(signal.Signals(-code).name.removeprefix("SIG"))
    else:
        session.exit(code)


async def _copy(source: asyncio.StreamReader, target: asyncssh.SSHWriter[bytes]) -> None:
    """Everything the child writes; once the client is gone the rest is read and dropped, so the child never blocks."""
    gone = False
    while chunk := await source.read(CHUNK_BYTES):
        if gone:
            continue
        try:
            target.write(chunk)
            await target.drain()
        except (OSError, asyncssh.Error):
            gone = True


async def _feed(session: asyncssh.SSHServerProcess[bytes], child: Process) -> None:
    """What the client sends, and its end of file; a child that closed its input lets the rest be dropped."""
    assert child.stdin
    while chunk := await _next(session, child):
        with contextlib.suppress(OSError):
            child.stdin.write(chunk)
            await child.stdin.drain()
    child.stdin.close()


async def _next(session: asyncssh.SSHServerProcess[bytes], child: Process) -> bytes:
    """The next bytes from the client, b'' at their end. A signal it asks for goes to the child's process group."""
    while True:
        try:
            return await session.stdin.read(CHUNK_BYTES)
        except asyncssh.SignalReceived as request:
            kill_group(child.pid, getattr(signal, f"SIG{request.signal}", signal.SIGTERM))
        except (asyncssh.BreakReceived, asyncssh.TerminalSizeChanged):
            continue
        except (OSError, asyncssh.Error):
            return b""


async def _kill_when_gone(session: asyncssh.SSHServerProcess[bytes], child: Process) -> None:
    await session.channel.wait_closed()
    kill_group(child.pid, signal.SIGKILL)


def kill_group(group: int, number: int) -> None:
    """Signal a process group that may already be empty."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
