"""Runs on the node, first: reads the archive from standard input, puts it on sys.path leaving no file, starts it.

Sent as text and executed by ``python3 -c``; what follows it on standard input: ten digits and the archive, ten digits
and the request. The controller's messages name the exit statuses.
"""

import importlib
import os
import sys

NO_PLACE = 93
CUT_SHORT = 94
TEMPORARY = ("/dev/shm", "/tmp", "/var/tmp")


def receive(stream):
    """The next block: ten digits of length, then as many bytes."""
    head = stream.read(10)
    block = stream.read(int(head)) if len(head) == 10 and head.isdigit() else None
    if block is None or len(block) != int(head):
        sys.stderr.write("fleetcheck: standard input ended before the node code was complete\n")
        sys.exit(CUT_SHORT)
    return block


def in_memory():
    """An anonymous file that no file system holds (Linux 3.17, Python 3.8)."""
    return os.memfd_create("fleetcheck")


def in_folder(folder):
    """A nameless file of this user only."""
    path = os.path.join(folder, ".fleetcheck-%d-%s" % (os.getpid(), os.urandom(8).hex()))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    return descriptor


def filled(descriptor, archive):
    """The descriptor, holding the whole archive; OSError (closing it) when there is no room."""
    try:
        while archive:
            archive = archive[os.write(descriptor, archive):]
        return descriptor
    except OSError:
        os.close(descriptor)
        raise


def places():
    """Where the archive may lie, best first: a name and a function making an empty file there."""
    if hasattr(os, "memfd_create"):
        yield "memory", in_memory
    for folder in filter(None, (os.environ.get("XDG_RUNTIME_DIR"),) + TEMPORARY):
        yield folder, lambda folder=folder: in_folder(folder)


def held(archive):
    """A descriptor of the archive; exits with NO_PLACE when no place takes it."""
    refusals = []
    for name, make in places():
        try:
            return filled(make(), archive)
        except OSError as error:
            refusals.append("%s: %s" % (name, error.strerror))
    sys.stderr.write("fleetcheck: no place for %d bytes of node code (%s)\n" % (len(archive), "; ".join(refusals)))
    sys.exit(NO_PLACE)


def start(module="fleetcheck.node.__main__"):
    """Import the node code from the archive and run this module of it."""
    sys.path.insert(0, "/proc/self/fd/%d" % held(receive(sys.stdin.buffer)))
    importlib.import_module(module).main(receive(sys.stdin.buffer))


if __name__ == "__main__":
    start()
