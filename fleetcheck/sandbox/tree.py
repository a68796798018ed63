"""A node's files as one mapping, absolute path → content; overrides laid over it as the node would show them. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any

Files = dict[str, Any]
DEVICE_INDEX = re.compile(r"/sys/(class/[^/]+|bus/[^/]+/devices|block)")
"""Folders in which the kernel lists devices by links: no such link means no such device."""
MOST_LINKS = 40


class Tree:
    """Files of a node, links among them followed as the kernel would. Contents as in values.py, and {folder: true}."""

    def __init__(self, files: Mapping[str, Any]) -> None:
        """files: those of the base machine, by absolute path."""
        self.files: Files = {path: content for path, content in files.items() if content is not None}

    def resolved(self, path: str, last: bool = True) -> str:
        """The path with every link on the way followed; the last part too unless told otherwise."""
        for _ in range(MOST_LINKS):
            link = self._first_link(path, last)
            if link is None:
                return path
            target = posixpath.join(posixpath.dirname(link), self.files[link]["link"])
            path = posixpath.normpath(target + path[len(link):])
        return path

    def _first_link(self, path: str, last: bool) -> str | None:
        """The shortest part of a path that is a link; a plain file or folder has none."""
        end = path.find("/", 1)
        while end != -1:
            if self._is_link(path[:end]):
                return path[:end]
            end = path.find("/", end + 1)
        return path if last and self._is_link(path) else None

    def _is_link(self, path: str) -> bool:
        content = self.files.get(path)
        return isinstance(content, Mapping) and "link" in content

    def lay(self, overrides: Mapping[str, Any]) -> None:
        """Put overrides in place, in their order; None removes."""
        for path, content in overrides.items():
            if content is None:
                self.remove(path)
            else:
                self.put(path, content)

    def put(self, path: str, content: Any) -> None:
        """One file, written through links like a write would be; a folder in its place goes."""
        place = self.resolved(path, last=not (isinstance(content, Mapping) and "link" in content))
        self._drop(self._at_or_below(place))
        for above in _parents(place):
            if above in self.files and not self._is_link(above):
                del self.files[above]
        self.files[place] = content

    def remove(self, path: str) -> None:
        """One file, or a folder with all in it and every link into it; a device listed by link goes as a whole."""
        place = self.resolved(path, last=False)
        listed = self._is_link(place) and DEVICE_INDEX.fullmatch(posixpath.dirname(place))
        gone = self._at_or_below(self.resolved(place) if listed else place)
        if not gone and not listed:
            return
        self._drop([*gone, *self._links_into(self.resolved(place) if listed else place)])
        above = posixpath.dirname(place)
        if above != "/" and not self._at_or_below(above):
            self.files[above] = {"folder": True}

    def _at_or_below(self, path: str) -> list[str]:
        return [file for file in self.files if file == path or file.startswith(f"{path}/")]

    def _links_into(self, path: str) -> list[str]:
        links = [file for file in self.files if self._is_link(file)]
        return [link for link in links if _within(self.resolved(link), path)]

    def _drop(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.files.pop(path, None)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _parents(path: str) -> list[str]:
    """Every folder above a path, but the root.

    >>> _parents("/a/b/c")
    ['/a/b', '/a']
    """
    found = []
    while (path := posixpath.dirname(path)) != "/":
        found.append(path)
    return found
