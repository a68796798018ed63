"""Files written once and hard-linked wherever they are equal: a simulated fleet is mostly the same few contents."""

from __future__ import annotations

import errno
import os
from pathlib import Path


class Store:
    """Writes files, links and folders of many nodes below one directory. Nobody may write to the files afterwards."""

    def __init__(self, directory: Path) -> None:
        """Everything goes below this directory, which exists."""
        self._written: dict[tuple[str, str], str] = {}
        self._folders: set[str] = {str(directory)}

    def file(self, path: str, text: str) -> None:
        """A plain file with this text."""
        self._place("file", text, path)

    def link(self, path: str, target: str) -> None:
        """A symbolic link with this target."""
        self._place("link", target, path)

    def folder(self, path: str) -> None:
        """A folder and those above it; nothing if it is there."""
        if path in self._folders:
            return
        self.folder(path.rpartition("/")[0])
        try:
            os.mkdir(path)  # noqa: PTH102 - plain calls here: a Path for each of a million files would take longer than they do
        except FileExistsError:
            if not Path(path).is_dir():
                raise
        self._folders.add(path)

    def _place(self, kind: str, content: str, path: str) -> None:
        self.folder(path.rpartition("/")[0])
        first = self._written.get((kind, content))
        if first is None or not _linked(first, path):
            _write(kind, content, path)
            self._written[(kind, content)] = path


def _linked(first: str, path: str) -> bool:
    """Whether a further hard link could be made; file systems allow a few ten thousand of one file."""
    try:
        os.link(first, path, follow_symlinks=False)
    except OSError as problem:
        if problem.errno not in (errno.EMLINK, errno.EPERM, errno.EOPNOTSUPP):
            raise
        return False
    return True


def _write(kind: str, content: str, path: str) -> None:
    if kind == "link":
        os.symlink(content, path)  # noqa: PTH211
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
        file.write(content.encode("utf-8", "surrogateescape"))
