"""What an exchange brought: the node's answers, or in one sentence why there are none. Pure."""

from __future__ import annotations

from fleetcheck import frame, shell
from fleetcheck.frame import FrameError, Intake
from fleetcheck.nodes import Node
from fleetcheck.quoting import last_line, quoted
from fleetcheck.records import GIVEN_UP, Answer
from fleetcheck.transport import TransportError
from fleetcheck.transport.attempt import Attempt

FEW_BYTES = 1000
"""More output than this, and something else than a refusal was said."""


def answers(intake: Intake, status: int | None, node: Node) -> dict[str, Answer]:
    """The answers of a finished exchange by collector. Raises TransportError saying why there are none."""
    try:
        if intake.announced or intake.done:
            return frame.answers(intake.body())
    except FrameError as error:
        said = f" (standard error ends with {quoted(last_line(intake.stderr))})" if intake.stderr else ""
        raise TransportError(error.kind, f"its reply is not usable: {error}{said}; ask again, and if it stays so, look for "
                                         "what cuts or changes its output: login scripts, memory, the network") from None
    raise silence(intake, status, node)


def silence(intake: Intake, status: int | None, node: Node) -> TransportError:
    """Why the node sent no reply at all, from its exit status and last words."""
    said = quoted(last_line(intake.stderr) or last_line(intake.stdout.replace(shell.STARTED, b"")))
    if shell.STARTED not in intake.stdout:
        return _not_started(intake, status, said, node)
    if status == shell.NO_PYTHON:
        return TransportError("no-python", "no python3 on the node (looked on PATH, in /usr/bin, /usr/libexec, /usr/local/bin "
                                           "and /opt); install python3, 3.6 or later")
    if status == shell.OLD_PYTHON:
        return TransportError("no-python", f"no python3 (3.6 or later) on the node, only {said}; install python3")
    if status is None:
        return TransportError("disconnected", f"the connection ended before the reply (last words {said}); did the node reboot, "
                                              "was the session killed (out of memory, logind)? look at its journal")
    return TransportError("node-code", f"the node code ended with exit status {status}, saying {said}; look there: "
                                       "python3 -V; df /dev/shm /tmp")


def _not_started(intake: Intake, status: int | None, said: str, node: Node) -> TransportError:
    """The shell line never began: privilege was refused, or the login shell does something else."""
    if len(intake.stdout) > FEW_BYTES:
        return TransportError("garbled", f"{len(intake.stdout):,} bytes without a reply, ending {said}; "
                                         "what does the login shell of this account run?")
    if status is None:
        return TransportError("disconnected", f"the session ended before anything ran there (last words {said}); "
                                              "look at the server's log")
    if node.become:
        user = node.ssh.user or "USER"
        return TransportError("become-refused", f"{' '.join(node.become)!r} was refused, saying {said}; allow it without a "
                                                f"password: write '{user} ALL=(ALL) NOPASSWD: /bin/sh' to /etc/sudoers.d/fleetcheck")
    return TransportError("node-code", f"logged in, but the login shell ended with exit status {status} instead of running "
                                       f"/bin/sh, saying {said}; give the account a shell and no forced command")


def ended(attempt: Attempt) -> TransportError:
    """The watchdog or close() ended the attempt."""
    if attempt.over == "closed":
        return TransportError("disconnected", f"{GIVEN_UP}; gather it with --resume")
    return TransportError("deadline", f"no complete reply within {attempt.seconds:g} s ({attempt.intake.progress()}); log in and "
                                      "look for load, for processes in D state (ps -eo pid,stat,comm), for exhausted memory")
