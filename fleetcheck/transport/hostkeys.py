"""Known host keys: an index of known_hosts files that answers whether a server's key is the stored one.

paramiko's own reader takes 23 s for 12,500 lines and stops at ``@cert-authority``; this one reads them once. Formats:
sshd(8), SSH_KNOWN_HOSTS FILE FORMAT.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hmac
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SSH_PORT = 22


@dataclass(frozen=True, slots=True)
class HostKey:
    """One line: marker is "", "revoked" or "cert-authority"; key as in the file (base64)."""

    file: Path
    line: int
    marker: str
    type: str
    key: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass
class _Index:
    exact: dict[str, list[HostKey]] = field(default_factory=dict)
    patterns: list[tuple[str, HostKey]] = field(default_factory=list)
    hashed: list[tuple[bytes, bytes, HostKey]] = field(default_factory=list)
    authorities: list[str] = field(default_factory=list)


def parsed(line: str, file: Path, number: int) -> tuple[str, HostKey] | None:
    """The hosts field and key of a line; None for comments and lines that are none.

    >>> parsed("@revoked *.lan ssh-ed25519 AAAA x", Path("known_hosts"), 3)[1].marker
    'revoked'
    """
    words = line.split()
    marker = words.pop(0)[1:] if words and words[0].startswith("@") else ""
    if len(words) < 3 or words[0].startswith("#") or marker not in ("", "revoked", "cert-authority"):
        return None
    return words[0], HostKey(file, number, marker, words[1], words[2])


def read(file: Path) -> _Index:
    """The index of one file; an absent or unreadable file knows nobody."""
    index = _Index()
    try:
        lines = file.read_bytes().decode("utf-8", "replace").splitlines()
    except OSError:
        return index
    for number, line in enumerate(lines, 1):
        entry = parsed(line, file, number)
        if entry is not None:
            _add(index, *entry)
    return index


def _add(index: _Index, hosts: str, key: HostKey) -> None:
    if key.marker == "cert-authority":
        index.authorities.append(hosts.lower())
    elif hosts.startswith("|1|"):
        _add_hashed(index, hosts, key)
    elif any(character in hosts for character in "*?!"):
        index.patterns.append((hosts.lower(), key))
    else:
        for host in hosts.lower().split(","):
            index.exact.setdefault(host, []).append(key)


def _add_hashed(index: _Index, hosts: str, key: HostKey) -> None:
    try:
        salt, digest = (base64.b64decode(word) for word in hosts[3:].split("|"))
    except (ValueError, binascii.Error):
        return
    index.hashed.append((salt, digest, key))


def matches(patterns: str, name: str) -> bool:
    """Whether a hosts field with wildcards covers a name; a ``!`` pattern excludes.

    >>> matches("*.lan,!n7.lan", "n6.lan"), matches("*.lan,!n7.lan", "n7.lan")
    (True, False)
    """
    words = [word.replace("[", "[[]") for word in patterns.split(",")]
    if any(word.startswith("!") and fnmatch.fnmatchcase(name, word[1:]) for word in words):
        return False
    return any(fnmatch.fnmatchcase(name, word) for word in words)


def name_of(host: str, port: int) -> str:
    """How known_hosts calls a host: ``host``, or ``[host]:port``."""
    return host.lower() if port == SSH_PORT else f"[{host.lower()}]:{port}"


@dataclass(frozen=True)
class Judged:
    """What the stored keys say of a server's key. verdict: known, unknown, changed or revoked; stored: the line behind it."""

    verdict: str
    stored: HostKey | None = None


class KnownHosts:
    """Keys of several files, each read once for as long as it does not change. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[Path, tuple[tuple[int, int], _Index]] = {}

    def keys(self, files: Sequence[Path], host: str, port: int) -> list[HostKey]:
        """Every key stored for a host, revoked ones too; on another port plain lines count as well, as in OpenSSH."""
        indexes = [self._index(file) for file in files]
        found = list(_found(indexes, name_of(host, port)))
        if any(not key.marker for key in found) or port == SSH_PORT:
            return found
        return found + list(_found(indexes, name_of(host, SSH_PORT)))

    def vouched(self, files: Sequence[Path], host: str, port: int) -> bool:
        """Whether a certificate authority vouches for a host, which only OpenSSH can verify."""
        names = {name_of(host, port), name_of(host, SSH_PORT)}
        authorities = [hosts for file in files for hosts in self._index(file).authorities]
        return any(matches(hosts, name) for hosts in authorities for name in names)

    def _index(self, file: Path) -> _Index:
        with self._lock:
            stamp = _stamp(file)
            if file not in self._files or self._files[file][0] != stamp:
                self._files[file] = stamp, read(file)
            return self._files[file][1]


def _stamp(file: Path) -> tuple[int, int]:
    try:
        stat = file.stat()
    except OSError:
        return 0, -1
    return stat.st_mtime_ns, stat.st_size


def _found(indexes: Iterable[_Index], name: str) -> Iterator[HostKey]:
    for index in indexes:
        yield from index.exact.get(name, ())
        yield from (key for patterns, key in index.patterns if matches(patterns, name))
        yield from (key for salt, digest, key in index.hashed if hmac.digest(salt, name.encode(), "sha1") == digest)


def judge(stored: Sequence[HostKey], key_type: str, key: str) -> Judged:
    """What the stored lines say of the key (base64) that a server showed."""
    same = [line for line in stored if line.key == key]
    for verdict, marker in (("revoked", "revoked"), ("known", "")):
        for line in same:
            if line.marker == marker:
                return Judged(verdict, line)
    plain = [line for line in stored if not line.marker]
    of_type = [line for line in plain if line.type == key_type]
    return Judged("changed", (of_type or plain)[0]) if plain else Judged("unknown")


def types(stored: Sequence[HostKey]) -> list[str]:
    """The key types to ask the server for first: those that can be verified."""
    return list(dict.fromkeys(line.type for line in stored if not line.marker))
