"""Runs on the node: where loads keep their files: one private folder a user, below it one a load and the lock."""

import fcntl
import os
import re
import shutil
import stat
import time
from types import TracebackType
from typing import Any, Dict, List, Optional, Type

from fleetcheck.node.host import Host
from fleetcheck.node.supervisor import alive
from fleetcheck.node.supervisor.files import read_json

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
LOCK = "lock"
MUTEX_SECONDS = 15.0
KEPT_DAYS = 14


class Refused(Exception):
    """A folder or an id that is not to be trusted."""


def base(host: Host) -> str:
    """The folder of all loads of this user, below the node's root."""
    return host.path("/var/tmp/fleetcheck-%d" % os.geteuid())


def folder(host: Host, name: Any) -> str:
    """The folder of one load. Raises Refused for an id that is no plain name."""
    if not isinstance(name, str) or not ID.match(name):
        raise Refused("the id of a load is letters, digits, dots, dashes and underscores, not %.80r" % (name,))
    return os.path.join(base(host), name)


def private(path: str) -> str:
    """A folder of this user alone, made if missing. Raises Refused for a link, another's folder or one open to others."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise Refused("%s is no folder; remove it" % path)
    if found.st_uid != os.geteuid():
        raise Refused("%s belongs to user %d; this user is %d" % (path, found.st_uid, os.geteuid()))
    if found.st_mode & 0o077:
        raise Refused("%s is open to other users (mode %o); expected 700" % (path, found.st_mode & 0o777))
    return path


class Mutex:
    """Held while a load is started or ended, so that two controllers cannot do so at once."""

    def __init__(self, host: Host) -> None:
        self.path = base(host)
        self.descriptor = -1

    def __enter__(self) -> "Mutex":
        until = time.monotonic() + MUTEX_SECONDS
        while not self._taken():
            if time.monotonic() > until:
                raise Refused("another start or end of a load holds %s since %g s" % (self.path, MUTEX_SECONDS))
            time.sleep(0.05)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        os.close(self.descriptor)

    def _taken(self) -> bool:
        """Whether the folder that is there now is locked; one removed meanwhile does not count."""
        self.descriptor = os.open(private(self.path), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.lstat(self.path), os.fstat(self.descriptor)):
                return True
        except OSError:
            pass
        os.close(self.descriptor)
        return False


def holder(host: Host) -> Dict[str, Any]:
    """Who holds this node: {id, run, pid, started, since, folder}; {} when nobody does, or a dead one."""
    told = read_json(os.path.join(base(host), LOCK))
    return told if told and alive.is_alive(told, str(told.get("folder", "?"))) else {}


def take_lock(host: Host, told: Dict[str, Any], draft: str) -> bool:
    """Put ``told``, written to ``draft``, in place of a lock that nobody alive holds; False when somebody does."""
    lock = os.path.join(base(host), LOCK)
    for _ in range(3):
        try:
            os.link(draft, lock)
            return True
        except FileExistsError:
            if holder(host):
                return bool(read_json(lock).get("pid") == told["pid"])
            remove(lock)
    return False


def drop_lock(host: Host, name: str) -> None:
    """Remove the lock of one load, and nobody else's."""
    lock = os.path.join(base(host), LOCK)
    if read_json(lock).get("id") == name:
        remove(lock)


def remove(path: str) -> None:
    """Remove a file that may be gone."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def remove_folder(path: str) -> None:
    """Remove a load's folder with all in it, following no link."""
    if os.path.islink(path):
        os.unlink(path)
    else:
        shutil.rmtree(path, ignore_errors=True)


def remove_base(host: Host) -> None:
    """Remove the folder of all loads when none is left in it."""
    try:
        os.rmdir(base(host))
    except OSError:
        pass


def forgotten(host: Host) -> List[str]:
    """Folders of loads that ended so long ago that nobody will ask for them."""
    old, found = time.time() - KEPT_DAYS * 86400, []
    for entry in os.listdir(base(host)):
        path = os.path.join(base(host), entry)
        if os.path.isdir(path) and not os.path.islink(path) and os.lstat(path).st_mtime < old:
            found.append(path)
    return found
