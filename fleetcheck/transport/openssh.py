"""Transport ``openssh``: the ``ssh`` program, for what paramiko cannot do; its words become the same kinds of failure."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import threading

from fleetcheck.nodes import Node
from fleetcheck.quoting import last_line, quoted
from fleetcheck.transport import Task, TransportError, logins, programs, reach
from fleetcheck.transport.attempt import Attempt
from fleetcheck.transport.sshconfig import Resolver, Target, arguments, jump_settings

AT_ONCE_PER_JUMP = 8
SSH_FAILED = 255

STARTING = "not permitted to log in yet"
"""pam_nologin, while the machine comes up."""
WORDS = (
    ("Certificate invalid", "host-key-unknown", "the certificate of the host key is out of date or for other names: have it signed anew"),
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", "host-key-changed", "find out why, then remove the stored line that ssh names"),
    ("REVOKED HOST KEY", "host-key-changed", "give the node a new host key"),
    ("host key is known for", "host-key-unknown", "compare the key with the console, then add it: ssh-keyscan -p {port} {host} >> {known}"),
    ("Host key verification failed", "host-key-unknown", "compare the key with the console, then add it to {known}"),
    ("no active jobs on this node", "authentication", logins.NO_JOB),
    (STARTING, "disconnected", logins.BOOTING),
    ("your account has expired", "authentication", "have the account renewed, or use another as ssh.user"),
    ("Permission denied", "authentication", "add the public key to ~{user}/.ssh/authorized_keys there, or correct ssh.user "
                                            "and ssh.identity_file in the inventory"),
    ("Too many authentication failures", "authentication", "name the key in ssh.identity_file"),
    ("Could not resolve hostname", "name-resolution", "check the name in the inventory and the DNS"),
    ("Connection refused", "refused", "is sshd running, is this the right port?"),
    ("No route to host", "no-route", "is it powered on and cabled?"),
    ("Host is down", "no-route", "is it powered on and cabled?"),
    ("Network is unreachable", "no-route", "is it powered on and cabled?"),
    ("Connection timed out", "connect-timeout", "is it powered on, does a firewall drop packets?"),
    ("Operation timed out", "connect-timeout", "is it powered on, does a firewall drop packets?"),
    ("Unable to negotiate", "disconnected", "no algorithm in common: renew its host key or sshd, or allow the old one in ~/.ssh/config"),
    ("bad configuration options", "controller", "correct your ssh configuration, or do without it: ssh: {{config_file: none}} in the "
                                                "inventory"),
    ("Bad owner or permissions", "controller", "correct the owner and mode of that file"),
    ("banner exchange", "no-banner", "look at sshd on its console"),
    ("_exchange_identification", "no-banner", "too many logins at once (MaxStartups), or sshd cannot start sessions"),
)

OF_THE_JUMP = ("open failed:", "connect to host", "Could not resolve hostname", "stdio forwarding failed")
"""Said by the ssh that goes to the jump host: the one to the node connects to nothing itself."""


class OpenSsh:
    """One ``ssh`` process per attempt."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._lock = threading.Lock()
        self._slots: dict[str, threading.Semaphore] = {}

    def run(self, node: Node, task: Task, attempt: Attempt) -> int | None:
        """As Transport.run."""
        if shutil.which("ssh") is None:
            raise TransportError("controller", "no ssh program on this machine; install openssh-client")
        target = self.resolver.target(node.address, node.ssh)
        if target.direct:
            reach.await_banner(reach.connected(target.host, target.port, attempt), attempt)
        with self._slot(target.jump):
            return self._run(node, target, task, attempt)

    def close(self) -> None:
        """Nothing outlives an attempt."""

    def _run(self, node: Node, target: Target, task: Task, attempt: Attempt) -> int | None:
        status = programs.converse(argv(node, task.command, attempt.limits.login_seconds), task.stdin, attempt,
                                   {**os.environ, "LC_ALL": "C"})
        if status == SSH_FAILED and not attempt.over:
            raise failure(attempt.intake.stderr.decode(errors="backslashreplace"), target)
        return status

    def _slot(self, jump: str) -> threading.Semaphore:
        with self._lock:
            return self._slots.setdefault(jump, threading.Semaphore(AT_ONCE_PER_JUMP if jump else 1 << 16))


def argv(node: Node, command: str, login_seconds: float) -> list[str]:
    """The ssh command line of one attempt; nothing in it asks a question."""
    options = ["-oBatchMode=yes", "-oStrictHostKeyChecking=yes", f"-oConnectTimeout={max(1, round(login_seconds))}",
               "-oLogLevel=ERROR", "-oForwardAgent=no", "-oForwardX11=no", "-oClearAllForwardings=yes", "-oUpdateHostKeys=no",
               "-oRequestTTY=no", "-oPermitLocalCommand=no"]
    return ["ssh", "-T", *options, *_jump(node), *arguments(node.ssh), "--", node.address, command]


def _jump(node: Node) -> list[str]:
    """The inventory's jump hosts, each reached with the node's own key and known hosts, which ``-J`` would not take along."""
    if not node.ssh.jump:
        return []
    before, _, hop = node.ssh.jump.rpartition(",")
    address, settings = jump_settings(node, hop)
    earlier = ["-J", before] if before else []
    words = ["ssh", "-oBatchMode=yes", "-oStrictHostKeyChecking=yes", *earlier, *arguments(settings), "-W", "[%h]:%p", "--", address]
    return [f"-oProxyCommand={' '.join(shlex.quote(word) for word in words)}"]


def failure(said: str, target: Target) -> TransportError:
    """What ssh's last words mean.

    >>> failure("ops@n1: Permission denied (publickey).", Target("n1", 22, "ops")).kind
    'authentication'
    """
    if target.jump and any(words in said for words in OF_THE_JUMP):
        return _jump_failure(said, target)
    for words, kind, advice in WORDS:
        if words in said:
            known = target.known_hosts[0] if target.known_hosts else "~/.ssh/known_hosts"
            where = re.search(r"Offending .* key in (\S+)", said)
            evidence = quoted(where[0] if where else next(line for line in said.splitlines() if words in line))
            advice = advice.format(port=target.port, host=target.host, user=target.user, known=known)
            return TransportError(kind, f"ssh says {evidence}; {advice}", passing=kind == "no-banner" or words == STARTING)
    return TransportError("disconnected", f"ssh ended with {quoted(last_line(said))}; try: ssh {target.user}@{target.host}")


def _jump_failure(said: str, target: Target) -> TransportError:
    """The ssh that was to reach the jump host, or the node from there, failed; its words come first."""
    first = quoted(said.partition("\n")[0])
    if "open failed: connect failed" in said:
        return TransportError("no-route", f"no connection to {target.host} port {target.port} from the jump host: {first}; "
                                          f"try: ssh {target.jump} nc -vz {target.host} {target.port}")
    return TransportError("jump", f"jump host {target.jump}: {first}; try: ssh {target.jump} true")
