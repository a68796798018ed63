"""What OpenSSH would do to reach a node: ``ssh -G`` resolves Host, Match, Include and ProxyJump; this reads its answer."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fleetcheck.nodes import Node, SshSettings
from fleetcheck.quoting import quoted
from fleetcheck.transport import TransportError

SECONDS = 10.0
TRIES, PAUSE_SECONDS = 3, 0.5
DEFAULT_KEYS = ("id_rsa", "id_ecdsa", "id_ed25519")

Options = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Target:
    """Where and as whom to log in, and what may vouch for either side. needs_openssh: why paramiko cannot, or ""."""

    host: str
    port: int
    user: str
    identities: tuple[Path, ...] = ()
    identities_only: bool = False
    agent: str = ""
    known_hosts: tuple[Path, ...] = ()
    alias: str = ""
    jump: str = ""
    proxied: bool = False
    needs_openssh: str = ""

    @property
    def direct(self) -> bool:
        """Whether its own port is reached from here."""
        return not self.jump and not self.proxied

    def __str__(self) -> str:
        return f"{self.user}@{self.host} port {self.port}" + (f" through {self.jump}" if self.jump else "")


def arguments(settings: SshSettings) -> list[str]:
    """The inventory's settings as OpenSSH takes them on its command line; the jump host is the caller's part."""
    words: list[str] = []
    if settings.config_file:
        words += ["-F", str(settings.config_file)]
    if settings.port:
        words += ["-p", str(settings.port)]
    if settings.user:
        words += ["-l", settings.user]
    if settings.identity_file:
        words += ["-i", str(settings.identity_file), "-oIdentitiesOnly=yes"]
    if settings.known_hosts:
        words += [f'-oUserKnownHostsFile="{settings.known_hosts}"', "-oGlobalKnownHostsFile=none"]
    return words + [f"-o{name}={value}" for name, value in settings.options.items()]


def parsed(text: str) -> dict[str, list[str]]:
    """The answer of ``ssh -G``: option → values in order.

    >>> parsed("user ops\\nidentityfile ~/a\\nidentityfile ~/b\\n")["identityfile"]
    ['~/a', '~/b']
    """
    options: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        options.setdefault(name.lower(), []).append(value)
    return options


class Resolver:
    """Resolves nodes, each once. Thread-safe."""

    def __init__(self) -> None:
        self._ssh = shutil.which("ssh")
        self._lock = threading.Lock()
        self._targets: dict[tuple[str, str, str], Target] = {}

    def target(self, address: str, settings: SshSettings) -> Target:
        """Where ``ssh address`` with these settings would go. Raises TransportError when ssh refuses the configuration."""
        key = (address, repr(settings), "")
        with self._lock:
            if key in self._targets:
                return self._targets[key]
        found = self._asked(address, settings) if self._ssh else plain(address, settings)
        with self._lock:
            return self._targets.setdefault(key, found)

    def _asked(self, address: str, settings: SshSettings) -> Target:
        asked = _run([str(self._ssh), "-G", *arguments(settings), "--", address])
        if asked.returncode:
            said = quoted("; ".join(asked.stderr.decode(errors="replace").split("\n")).strip("; \r"), 400)
            raise TransportError("controller", f"ssh refused its configuration: {said}; try: ssh -G {address}, or do "
                                               "without it: ssh: {config_file: none} in the inventory")
        return target(parsed(asked.stdout.decode(errors="replace")), settings)


def _run(argv: Sequence[str], tries: int = TRIES) -> subprocess.CompletedProcess[bytes]:
    """What a command says; a machine short of processes, memory or time for a moment is asked again. Raises TransportError."""
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        if tries > 1:
            time.sleep(PAUSE_SECONDS)
            return _run(argv, tries - 1)
        raise TransportError("controller", f"ssh -G, which reads your ssh configuration, failed: {error}") from None


def plain(address: str, settings: SshSettings) -> Target:
    """The target where no OpenSSH client is installed: the inventory's own settings and OpenSSH's defaults."""
    home = Path.home() / ".ssh"
    keys = (settings.identity_file,) if settings.identity_file else tuple(home / name for name in DEFAULT_KEYS)
    known = (settings.known_hosts,) if settings.known_hosts else (home / "known_hosts", Path("/etc/ssh/ssh_known_hosts"))
    return Target(address, settings.port or 22, settings.user or getpass.getuser(), tuple(k for k in keys if k.is_file()),
                  bool(settings.identity_file), os.environ.get("SSH_AUTH_SOCK", ""), known, jump=settings.jump or "")


def target(options: Options, settings: SshSettings) -> Target:
    """The target that these options describe."""
    first = {name: values[0] for name, values in options.items()}
    found = Target(first["hostname"], int(first["port"]), first["user"], alias=_set(first.get("hostkeyalias")))
    expand = _Expansion(found)
    return replace(
        found,
        identities=tuple(path for path in map(expand, options.get("identityfile", ())) if path.is_file()),
        identities_only=first.get("identitiesonly") == "yes",
        agent=_agent(first.get("identityagent", "SSH_AUTH_SOCK"), expand),
        known_hosts=_known_hosts(first, settings, expand),
        jump=settings.jump or _set(first.get("proxyjump")),
        proxied=bool(_set(first.get("proxycommand"))),
        needs_openssh=needs_openssh(options, expand),
    )


def _set(value: str | None) -> str:
    """An option's value, "" where OpenSSH says none."""
    return "" if value is None or value == "none" else value


def _known_hosts(first: Mapping[str, str], settings: SshSettings, expand: _Expansion) -> tuple[Path, ...]:
    if settings.known_hosts:
        return (settings.known_hosts,)
    words = f"{first.get('userknownhostsfile', '')} {first.get('globalknownhostsfile', '')}".split()
    return tuple(expand(word) for word in words if word != "none")


def _agent(value: str, expand: _Expansion) -> str:
    if value == "none":
        return ""
    if value.startswith("$") or value == "SSH_AUTH_SOCK":
        return os.environ.get(value.lstrip("$"), "")
    return str(expand(value))


class _Expansion:
    """Expands ``~`` and the tokens of ssh_config(5) that ``ssh -G`` leaves as they are."""

    def __init__(self, found: Target) -> None:
        self.tokens = {"%h": found.host, "%p": str(found.port), "%r": found.user, "%n": found.host,
                       "%u": getpass.getuser(), "%d": str(Path.home()), "%i": str(os.getuid()), "%k": found.alias or found.host}

    def __call__(self, word: str) -> Path:
        text = word.strip('"')
        for token, value in self.tokens.items():
            text = text.replace(token, value)
        return Path(text.replace("%%", "%")).expanduser()


def needs_openssh(options: Options, expand: _Expansion) -> str:
    """Why this target needs OpenSSH itself: what paramiko cannot do, or ""."""
    first = {name: values[0] for name, values in options.items()}
    keys = [expand(word) for word in options.get("identityfile", ())]
    reasons = {
        "a ProxyCommand": bool(_set(first.get("proxycommand"))),
        "a PKCS#11 provider": bool(_set(first.get("pkcs11provider"))),
        "a user certificate": "certificatefile" in options,
        "a FIDO key": any(_is_fido(key) for key in keys if key.is_file()),
        "Kerberos": first.get("gssapiauthentication") == "yes" and has_ticket(),
        "a shared connection": bool(_set(first.get("controlpath"))) and expand(first["controlpath"]).exists(),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _is_fido(key: Path) -> bool:
    try:
        return key.with_name(key.name + ".pub").read_bytes().startswith(b"sk-")
    except OSError:
        return False


def has_ticket() -> bool:
    """Whether a Kerberos ticket cache is there; without one GSSAPI, on by default in Debian, logs nobody in."""
    return bool(os.environ.get("KRB5CCNAME")) or Path(f"/tmp/krb5cc_{os.getuid()}").exists()


def jump_settings(node: Node, hop: str) -> tuple[str, SshSettings]:
    """Address and settings of a jump host, ``[user@]host[:port]``: the node's key, known hosts and config file, no more.

    >>> from fleetcheck.nodes import Node
    >>> jump_settings(Node("n1", "n1", ""), "ops@[fe80::1]:2222")[0]
    'fe80::1'
    """
    user, _, place = hop.removeprefix("ssh://").rpartition("@")
    host, _, port = place.rpartition(":") if place.count(":") == 1 or "]:" in place else (place, "", "")
    return host.strip("[]"), SshSettings(user=user or None, port=int(port) if port else None,
                                         identity_file=node.ssh.identity_file, known_hosts=node.ssh.known_hosts,
                                         config_file=node.ssh.config_file)
