"""Tables of files, file systems and commands for the C programs of a sandbox (native/table.h). Controller side."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetcheck.sandbox.errors import SandboxError, unknown
from fleetcheck.sandbox.growing import Growing, growing, pieces

STATVFS = (
    "f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree", "f_favail", "f_flag", "f_namemax",
)
AT_OPEN = {errno.EACCES, errno.EPERM, errno.ENOENT}
"""Error numbers with which open() itself fails; with any other the file opens and read() fails."""
CONTENT, FAILS_AT_OPEN, FAILS_AT_READ, HANGS = range(4)


@dataclass(frozen=True)
class FileEntry:
    """A file, by its real path on disk, that ordinary ones cannot imitate: content that grows, an error, a hang."""

    path: str | Path
    content: Any = None
    errno: str | int | None = None
    hang: bool = False


@dataclass(frozen=True)
class StatvfsEntry:
    """What statvfs() tells from this real path on, unless a longer entry fits: values by os.statvfs names."""

    path: str | Path
    values: Mapping[str, Any] = field(default_factory=dict)
    errno: str | int | None = None
    hang: bool = False


@dataclass(frozen=True)
class CommandEntry:
    """A command's answer to calls whose arguments contain all words. stdout, stderr: text, bytes or growing."""

    words: Sequence[str] = ()
    stdout: Any = ""
    stderr: Any = ""
    exit: int = 0
    hang: bool = False


def preload_table(entries: Iterable[FileEntry | StatvfsEntry], epoch: float) -> bytes:
    """The table that FLEETCHECK_SIM_TABLE names. epoch: time.time() from which growing values count."""
    listed = list(entries)
    files = [_file(e, path) for e in listed if isinstance(e, FileEntry) for path in _names(e.path)]
    mounts = [_mount(e) for e in listed if isinstance(e, StatvfsEntry)]
    return b"".join((double(epoch), number(len(files)), *files, number(len(mounts)), *mounts))


def command_table(entries: Iterable[CommandEntry], epoch: float) -> bytes:
    """What bin/.commands/NAME.table holds for the command installed as bin/NAME."""
    answers = [_answer(entry) for entry in entries]
    return b"".join((double(epoch), number(len(answers)), *answers))


def number(value: int) -> bytes:
    """A whole number, negative ones as their 64 bits."""
    return b"%d " % (value & 0xFFFF_FFFF_FFFF_FFFF)


def double(value: float) -> bytes:
    """A floating number as its 64 bits, so that no locale reads it otherwise."""
    return number(int.from_bytes(struct.pack("<d", value), "little"))


def text(value: str | bytes) -> bytes:
    """Any bytes, with their length in front."""
    raw = value if isinstance(value, bytes) else os.fsencode(value)
    return b"%d:%s " % (len(raw), raw)


def value(of: int | Growing) -> bytes:
    """A number that stands still or grows."""
    return number(1) + double(of.start) + double(of.per_second) if isinstance(of, Growing) else number(0) + number(of)


def error_number(of: str | int) -> int:
    """An errno by name or number.

    >>> error_number("EACCES")
    13
    """
    names = errno.errorcode.values()
    if isinstance(of, int) and of in errno.errorcode:
        return of
    if of not in names:
        raise unknown("errno", of, names)
    return int(getattr(errno, str(of)))


def _template(content: Any) -> bytes:
    parts = pieces(content)
    return number(len(parts)) + b"".join(
        number(1) + value(part) if isinstance(part, Growing) else number(0) + text(part) for part in parts
    )


def _names(path: str | Path) -> list[Path]:
    """The path as a program may come to it: its folder's links resolved, and its own target where it is a link."""
    given = Path(path)
    named = given.parent.resolve() / given.name
    return sorted({named, named.resolve()}) if named.is_symlink() else [named]


def _file(entry: FileEntry, path: Path) -> bytes:
    head = text(str(path))
    if entry.hang:
        return head + number(HANGS)
    if entry.errno is None:
        return head + number(CONTENT) + _template(entry.content)
    code = error_number(entry.errno)
    return head + number(FAILS_AT_OPEN if code in AT_OPEN else FAILS_AT_READ) + number(code)


def _mount(entry: StatvfsEntry) -> bytes:
    code = 0 if entry.errno is None else error_number(entry.errno)
    values = b"".join(number(_statvfs_index(name)) + value(_whole(name, of)) for name, of in entry.values.items())
    failure = number(entry.hang) + number(code)
    return text(str(Path(entry.path).resolve())) + failure + number(len(entry.values)) + values


def _statvfs_index(name: str) -> int:
    if name not in STATVFS:
        raise unknown("statvfs value", name, STATVFS)
    return STATVFS.index(name)


def _whole(name: str, of: Any) -> int | Growing:
    whole = growing(of) or of
    if not isinstance(whole, int | Growing):
        raise SandboxError(f"{name} must be a whole number or {{start, per_second}}, not {of!r}")
    return whole


def _answer(entry: CommandEntry) -> bytes:
    if not 0 <= entry.exit <= 255:
        raise SandboxError(f"exit must be from 0 to 255, not {entry.exit!r}")
    words = b"".join(text(word) for word in entry.words)
    outputs = _template(entry.stdout) + _template(entry.stderr)
    return number(len(entry.words)) + words + outputs + number(entry.exit) + number(entry.hang)
