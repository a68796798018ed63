"""How a login is tried: the keys of the configuration, then the agent's, each remembered with what the server said."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
from paramiko.auth_strategy import AuthFailure, AuthStrategy, InMemoryPrivateKey

from fleetcheck.quoting import quoted
from fleetcheck.transport import TransportError
from fleetcheck.transport.sshconfig import Target

LOG = "fleetcheck.paramiko"


NO_JOB = "it lets in only who has a job there: use an account that its PAM configuration lets in without one"
BOOTING = "it is still starting, or going down: ask again in some minutes"


class Keys:
    """Private keys, each file read once for the whole fleet. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: dict[Path, paramiko.PKey | str] = {}

    def load(self, path: Path) -> paramiko.PKey | str:
        """The key, or why it cannot be used."""
        with self._lock:
            if path not in self._loaded:
                self._loaded[path] = _loaded(path)
            return self._loaded[path]


def _loaded(path: Path) -> paramiko.PKey | str:
    try:
        return paramiko.PKey.from_path(path)
    except paramiko.PasswordRequiredException:
        return "has a passphrase: add it to an agent (ssh-add)"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    except Exception as error:  # noqa: BLE001 - cryptography raises TypeError, ValueError and its own
        needs_passphrase = "passphrase" in str(error).lower() or "password" in str(error).lower()
        return "has a passphrase: add it to an agent (ssh-add)" if needs_passphrase else "is no private key that paramiko reads"


class Login(AuthStrategy):
    """The logins to try for one target. ``tried`` tells, in order, what was offered."""

    def __init__(self, target: Target, keys: Keys) -> None:
        super().__init__(ssh_config=paramiko.SSHConfig())
        self.log = logging.getLogger(LOG)
        self.target = target
        self.keys = keys
        self.tried: list[str] = []
        self._agent: paramiko.Agent | None = None

    def get_sources(self) -> Iterator[InMemoryPrivateKey]:
        """Keys in the order OpenSSH offers them to a server that names its identity files."""
        for path in self.target.identities:
            key = self.keys.load(path)
            self.tried.append(f"key {path}" if isinstance(key, paramiko.PKey) else f"key {path} ({key})")
            if isinstance(key, paramiko.PKey):
                yield InMemoryPrivateKey(self.target.user, key)
        for key in self._agent_keys():
            self.tried.append(f"agent key {key.get_name()} {key.comment or ''}".rstrip())
            yield InMemoryPrivateKey(self.target.user, key)

    def close(self) -> None:
        """Let go of the agent."""
        agent, self._agent = self._agent, None
        if agent is not None:
            agent.close()

    def _agent_keys(self) -> list[Any]:
        if not self.target.agent or not Path(self.target.agent).exists():
            return []
        self._agent = _agent()
        keys = list(self._agent.get_keys()) if self._agent else []
        return [key for key in keys if not self.target.identities_only or key.get_base64() in self._public()]

    def _public(self) -> set[str]:
        """The public halves of the configured keys: IdentitiesOnly holds the agent to these."""
        found = set()
        for path in self.target.identities:
            with contextlib.suppress(OSError, IndexError):
                found.add(path.with_name(path.name + ".pub").read_text().split()[1])
        return found


def _agent() -> paramiko.Agent | None:
    try:
        return paramiko.Agent()
    except Exception:  # noqa: BLE001 - an agent that does not answer offers no key
        return None


def said_before(transport: paramiko.Transport | None) -> str:
    """What the server said during the login (its PAM modules explain a refusal there), with what to do about it."""
    banner = getattr(transport.auth_handler, "banner", None) if transport is not None else None
    if not banner:
        return ""
    known = {b"no active jobs": NO_JOB, b"not permitted to log in yet": BOOTING}
    advice = next((f", {advice}" for sign, advice in known.items() if sign in banner), "")
    return f"; it says {quoted(banner.strip())}{advice}"


def refused(login: Login, failure: Exception, said: str = "") -> TransportError:
    """What was tried, what the server takes, and what to do."""
    results = [item.result for item in failure.result] if isinstance(failure, AuthFailure) else [failure]
    accepted = sorted({method for result in results for method in getattr(result, "allowed_types", ())})
    takes = f"; the server takes {', '.join(accepted)}" if accepted else ""
    tried = "; ".join(login.tried) or "nothing: no key file of the configuration exists and no agent holds one"
    return TransportError("authentication", f"authentication failed: {login.target.user} may not log in; tried {tried}"
                                            f"{takes}{said}. Add the public key to ~{login.target.user}/.ssh/authorized_keys there, "
                                            "or correct ssh.user and ssh.identity_file in the inventory")
