"""Runs on the node: the machine as collectors see it; files, mounts and programs, each under a limit or a deadline.

Everything is looked up below ``root`` ("/" on a real node), so that a simulated node answers from its own tree.
"""

import errno
import glob
import os
import select
from types import TracebackType
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Type, Union

from fleetcheck.node import program
from fleetcheck.node.process import kill, reap

PROGRAM_DIRECTORIES = ("/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/bin", "/bin")
READ_LIMIT = 1 << 20

Paths = List[str]  # Host.list hides the builtin

Completed = program.Completed
ProgramMissing = program.ProgramMissing
ProgramTimeout = program.ProgramTimeout
OutputTooLong = program.OutputTooLong


class StatVfs(NamedTuple):
    """os.statvfs, by the same names."""

    f_bsize: int
    f_frsize: int
    f_blocks: int
    f_bfree: int
    f_bavail: int
    f_files: int
    f_ffree: int
    f_favail: int
    f_flag: int
    f_namemax: int


class HostTimeout(OSError):
    """A read of the machine did not end within its deadline (a hung mount)."""


def reason(error: OSError) -> str:
    """An OSError as the reason of an absent leaf: ``permission denied: /dev/kmsg``."""
    text = (error.strerror or str(error) or type(error).__name__).lower()
    return "%s: %s" % (text, error.filename) if error.filename else text


def absent(error: OSError) -> Dict[str, str]:
    """The leaf that stands for a value which could not be read."""
    return {"absent": reason(error)}


def current_root() -> str:
    """The root this process answers from: $FLEETCHECK_ROOT, else "/"."""
    return os.environ.get("FLEETCHECK_ROOT") or "/"


class Host:
    """One machine, below its root."""

    def __init__(self, root: str = "/") -> None:
        self.root = root.rstrip("/")

    def path(self, p: str) -> str:
        """Where p (absolute, as on the node) lies in the file system of this process."""
        return self.root + p if self.root else p

    def read(self, p: str, limit: int = READ_LIMIT) -> str:
        """The text of a file, undecodable bytes as U+FFFD; OSError when unreadable, EFBIG beyond ``limit`` bytes."""
        raw = self._bytes(p, limit)
        if len(raw) > limit:
            raise OSError(errno.EFBIG, "longer than %d bytes" % limit, p)
        return raw.decode("utf-8", "replace")

    def read_or_absent(self, p: str, limit: int = READ_LIMIT) -> Union[str, Dict[str, str]]:
        """The text of a file, or ``{"absent": reason}``."""
        try:
            return self.read(p, limit)
        except OSError as error:
            return absent(error)

    def list(self, p: str) -> Paths:
        """The names in a folder, sorted; OSError when unreadable."""
        with _Named(p):
            return sorted(os.listdir(self.path(p)))

    def glob(self, pattern: str) -> Paths:
        """The paths matching a pattern, sorted, as they are called on the node."""
        found = glob.glob(glob.escape(self.root) + pattern)
        return sorted(path[len(self.root):] for path in found)

    def link(self, p: str) -> str:
        """Where a symbolic link points, as written in it; OSError when p is none."""
        with _Named(p):
            return os.readlink(self.path(p))

    def exists(self, p: str) -> bool:
        """Whether p is there (a broken link is not)."""
        return os.path.exists(self.path(p))

    def statvfs(self, p: str, seconds: float) -> StatVfs:
        """os.statvfs(p) as a StatVfs; HostTimeout when the mount does not answer within ``seconds``.

        Asked by a child process: a dead NFS server blocks the caller beyond the reach of any signal.
        """
        with _Named(p):
            return _in_child(lambda: os.statvfs(self.path(p)), p, seconds)

    def which(self, name: str) -> str:
        """The path of a program in this process's file system; ProgramMissing when there is none.

        Simulated nodes look below their root only, so that none runs a program of the machine that simulates it.
        """
        if "/" in name:
            candidates = [self.path(name)]
        else:
            candidates = [os.path.join(folder, name) for folder in self._folders()]
        for candidate in candidates:
            if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
                return candidate
        raise ProgramMissing(errno.ENOENT, "program not found", name)

    def run(self, argv: Sequence[object], seconds: float, stdin: program.Text = None,
            limit: int = program.OUTPUT_LIMIT) -> Completed:
        """Run a program to its end: Completed(status, stdout, stderr), texts; status is negative for a signal.

        In the C locale, without a shell, in its own process group, which is killed at the deadline. ProgramMissing,
        ProgramTimeout and OutputTooLong (more than ``limit`` bytes on a stream) are OSErrors.
        """
        path = None if self.root else os.pathsep.join(self._folders())
        name, words = str(argv[0]), [str(word) for word in argv[1:]]
        return program.run([self.which(name)] + words, name, seconds, stdin, limit, path)

    def _folders(self) -> "Paths":
        own = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder.startswith(self.root + "/")]
        return own + [self.path(folder) for folder in PROGRAM_DIRECTORIES]

    def _bytes(self, p: str, limit: int) -> bytes:
        with _Named(p):
            descriptor = os.open(self.path(p), os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
            try:
                return _up_to(descriptor, limit + 1)
            finally:
                os.close(descriptor)


class _Named:
    """Gives an OSError the path as the node calls it, without the root of a simulation."""

    def __init__(self, p: str) -> None:
        self.p = p

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if isinstance(error, OSError) and not isinstance(error, HostTimeout):
            raise type(error)(error.errno, error.strerror, self.p) from None


def _up_to(descriptor: int, size: int) -> bytes:
    chunks = []
    while size > 0:
        chunk = os.read(descriptor, min(size, 1 << 16))
        if not chunk:
            break
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def _in_child(call: Callable[[], Sequence[int]], p: str, seconds: float) -> StatVfs:
    """The numbers a call returns, asked in a child that may hang."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        _tell(call, writable)
    os.close(writable)
    try:
        return _heard(readable, p, seconds)
    finally:
        os.close(readable)
        kill(pid)
        reap(pid, 0.2)  # one stuck in D state is left to the kernel


def _tell(call: Callable[[], Sequence[int]], writable: int) -> None:
    try:
        # A child stuck in the kernel must not hold the pipes of its parent open.
        os.closerange(3, writable)
        os.closerange(writable + 1, 256)
        text = " ".join("%d" % number for number in list(call())[:10])
    except OSError as error:
        text = "errno %d" % (error.errno or errno.EIO)
    except BaseException:  # noqa: BLE001 - nothing may unwind into the parent's frames
        text = "errno %d" % errno.EIO
    os.write(writable, (text + "\n").encode())
    os._exit(0)


def _heard(readable: int, p: str, seconds: float) -> StatVfs:
    if not select.select([readable], [], [], max(seconds, 0))[0]:
        raise HostTimeout(errno.ETIMEDOUT, "no answer within %g s" % seconds, p)
    words = os.read(readable, 4096).decode().split()
    if len(words) == 2:
        raise OSError(int(words[1]), os.strerror(int(words[1])), p)
    if len(words) != 10:
        raise OSError(errno.EIO, "no answer", p)
    return StatVfs(*(int(word) for word in words))
