"""The kinds of text an inventory file may hold where it names something: hosts, users, paths, options, words of a command. Pure."""

from __future__ import annotations

import ipaddress
import re
import shlex
from pathlib import Path, PurePath, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9_.])?\Z")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+\\-]{0,127}\Z")
_JUMP = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9_.@:%\[\]/+\\-]{0,255}\Z")
_SHELL = "it runs a shell: put it into ~/.ssh/config if it must be"
_REFUSED = {
    "proxycommand": _SHELL, "localcommand": _SHELL, "permitlocalcommand": _SHELL, "remotecommand": _SHELL,
    "knownhostscommand": _SHELL, "match": _SHELL, "include": "give config_file: instead",
    "stricthostkeychecking": "host keys are always verified",
}
_RIGHTS = {"sudo": ("-n", "--non-interactive"), "doas": ("-n",)}


def _word(text: str) -> str:
    if not text or text != text.strip() or text.startswith("-") or not text.isprintable():
        raise ValueError(f"{text!r:.60} is not allowed; expected printable characters, the first no dash or blank")
    return text


def _argument(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError(f"{text!r:.60} is not allowed; expected printable characters")
    return text


def _user(text: str) -> str:
    if not _USER.match(text):
        raise ValueError(f"{text!r:.60} is not allowed; expected a user name such as ops")
    return text


def _jump(text: str) -> str:
    if not all(_JUMP.match(hop) for hop in text.split(",")):
        raise ValueError(f"{text!r:.60} is not allowed; expected [USER@]HOST[:PORT], several joined by commas")
    return text


def _local_path(text: str) -> str:
    try:
        Path(text).expanduser()
    except RuntimeError:
        raise ValueError(f"{text!r:.60}: there is no such user; expected a path or ~/path") from None
    return text


def _option(name: str) -> str:
    if name.lower() in _REFUSED:
        raise ValueError(f"{name} is not taken from an inventory; {_REFUSED[name.lower()]}")
    if not name.isalnum() or not name.isascii():
        raise ValueError(f"{name!r:.60} is no option of ssh_config; expected a name such as ServerAliveInterval")
    return name


def _text(text: str) -> str:
    if not all(char.isprintable() or char in "\n\t" for char in text):
        raise ValueError("control characters are not allowed; expected text")
    return text


def _absolute(text: str) -> str:
    if not PurePosixPath(text).is_absolute() or ".." in PurePosixPath(text).parts:
        raise ValueError(f"{text!r:.60} is not absolute; expected a path on the node such as /scratch")
    return text


def _become(value: object) -> object:
    """``sudo -n`` as its words; a program that could ask for a password is refused."""
    try:
        words = shlex.split(value) if isinstance(value, str) else value or ()
    except ValueError as error:
        raise ValueError(f"{value!r:.60}: {str(error).lower()}; expected words such as: sudo -n") from None
    if isinstance(words, (list, tuple)) and words and all(isinstance(word, str) for word in words):
        quiet = _RIGHTS.get(PurePath(words[0]).name, ())
        if quiet and not set(quiet) & set(words):
            raise ValueError(f"{' '.join(words)!r:.60} may ask for a password; expected {words[0]} {quiet[0]}")
    return words


def check_address(address: str) -> str:
    """The address itself when a host name or an IP address, else ValueError."""
    bare = address.partition("%")[0]
    if ":" in bare:
        _check_ipv6(address, bare)
    elif not _HOST.match(address):
        raise ValueError(f"address {address!r:.80} is not allowed; expected a host name or an IP address")
    elif re.fullmatch(r"[0-9.]+", address) and not _is_ip(address):
        raise ValueError(f"address {address!r:.80} is no IPv4 address; expected four numbers of 0 to 255")
    return address


def _check_ipv6(address: str, bare: str) -> None:
    host, _, port = address.rpartition(":")
    if port.isdigit() and not _is_ip(bare) and (_HOST.match(host) or host.startswith("[")):
        apart = f"address: {host.strip('[]')} and ssh: {{port: {port}}}"
        raise ValueError(f"address {address!r:.80} carries a port; expected {apart}")
    if not _is_ip(bare) or not address.isascii() or not re.fullmatch(r"[0-9A-Za-z.:%_-]+", address):
        raise ValueError(f"address {address!r:.80} is no IPv6 address; expected one such as 2001:db8::10, no brackets")


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


Word = Annotated[str, AfterValidator(_word)]
Argument = Annotated[str, AfterValidator(_argument)]
Text = Annotated[str, AfterValidator(_text)]
RemotePath = Annotated[str, AfterValidator(_word), AfterValidator(_absolute)]
Become = Annotated[tuple[Argument, ...], BeforeValidator(_become)]
LocalPath = Annotated[str, AfterValidator(_word), AfterValidator(_local_path)]
User = Annotated[str, AfterValidator(_user)]
Jump = Annotated[str, AfterValidator(_jump)]
Option = Annotated[str, AfterValidator(_option)]
Labels = dict[Word, Word]


class Entry(BaseModel):
    """A mapping of the file; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def given(self) -> dict[str, Any]:
        """The keys that the file gives, with their values."""
        return self.model_dump(exclude_unset=True)
