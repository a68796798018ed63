"""What OpenSSH is told of one node: its configuration and the script that every session runs. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

SSHD = "/usr/sbin/sshd"
HOST_KEY, CONFIGURATION, SESSION, LOG = "host_key", "sshd_config", "session", "sshd.log"
"""Files of a node's folder."""


def configuration(folder: Path, identity: Path) -> str:
    """Keys only, root only; every session is our script, so that the login shell of this machine's root does not matter."""
    return "".join(f"{line}\n" for line in (
        f"HostKey {folder / HOST_KEY}", f"AuthorizedKeysFile {identity}", f"ForceCommand exec /bin/sh {folder / SESSION}",
        "AllowUsers root", "PermitRootLogin prohibit-password", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
        "UsePAM no", "UseDNS no", "StrictModes no", "PrintMotd no", "PrintLastLog no", "PidFile none", "LogLevel ERROR", "MaxSessions 64",
    ))


def session(home: str, environment: Mapping[str, str]) -> str:
    """A script for /bin/sh: the asked command, in the node's environment and no other.

    >>> session("/n", {"HOME": "/n", "A": "x y"}).split("/bin/sh")[0]
    "cd /n\\nexec env -i HOME=/n 'A=x y' "
    """
    words = " ".join(shlex.quote(f"{name}={value}") for name, value in environment.items())
    return f'cd {shlex.quote(home)}\nexec env -i {words} /bin/sh -c "${{SSH_ORIGINAL_COMMAND:-exec /bin/sh -i}}"\n'
