"""Process 1 of a node: makes the namespaces a machine, puts up its link, hands every connection to OpenSSH, buries the dead."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fleetcheck.sandbox.spaces import delay, kernel, login, shape
from fleetcheck.sandbox.spaces.link import Link

TICK_SECONDS = 0.2
ROUTE_SECONDS = 20.0
HEAR_SECONDS = 15.0
MOST_WORDS = 2000
PACKAGES = {"ip": "iproute2", "tc": "iproute2", "nft": "nftables", "iptables": "iptables", "lldpd": "lldpd"}


@dataclass(frozen=True)
class Machine:
    """One node. folder: its files; number: from 1; listener: bound in the namespace of the controller, where its sshd answers."""

    name: str
    number: int
    folder: Path
    link: Link
    listener: socket.socket


def run(machine: Machine, go: int, ready: int) -> None:
    """Be the node until killed. go: a byte comes once the cable is plugged in; ready: a byte is written once it serves."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        become(machine.name, machine.folder)
        os.read(go, 1)
        connect(machine)
    except OSError as error:
        os.write(ready, f"{machine.name}: {error}".encode()[:MOST_WORDS])
        raise
    os.write(ready, b".")
    serve(machine)


def become(name: str, folder: Path) -> None:
    """Its own processes, devices of the network, name and table of hosts."""
    kernel.own_mounts()
    kernel.mount("sysfs", "/sys", "sysfs")
    own_run()
    kernel.sethostname(name)
    kernel.mount(str(folder.parent / "hosts"), "/etc/hosts", flags=kernel.BIND)


def connect(machine: Machine) -> None:
    """Address, rate, and what it drops, delays or blocks. cubic: it shows loss, which bbr hides."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text("cubic")
    if machine.link.delay_milliseconds:
        forked(lambda: delay.hold(delay.opened(shape.QUEUE), shape.QUEUE, (machine.link.delay_milliseconds or 0) / 1000))
    carry_out(shape.node(machine.number, machine.link))
    if machine.link.lldp:
        discover()
        hear(machine.link)


def own_run() -> None:
    """A /run with the folders that daemons ask for."""
    kernel.mount("tmpfs", "/run", "tmpfs")
    for folder in ("sshd", "lldpd"):
        Path("/run", folder).mkdir()


def discover() -> int:
    """A link-layer discovery daemon of this machine; returns its process id."""
    carry_out([["lldpd", "-v"]])
    return forked(partial(os.execvp, "lldpd", ["lldpd", "-d"]))


def hear(link: Link) -> None:
    """Wait until the switch was heard, as a node that is asked has long done; a cut link hears nobody."""
    until = time.monotonic() + HEAR_SECONDS
    while not link.down and time.monotonic() < until:
        heard = subprocess.run(["lldpctl", "-f", "json"], capture_output=True, text=True, timeout=ROUTE_SECONDS).stdout
        if '"chassis"' in heard:
            return
        time.sleep(TICK_SECONDS)


def carry_out(commands: shape.Commands) -> None:
    """Run each; raises OSError with the words of the one that failed."""
    for words in commands:
        if not shutil.which(words[0]):
            raise OSError(f"{words[0]} is not installed: it is in the package {PACKAGES[words[0]]}")
        done = subprocess.run(words, capture_output=True, text=True, timeout=ROUTE_SECONDS)
        if done.returncode:
            raise OSError(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")


def serve(machine: Machine) -> None:
    """A sshd for each connection, as inetd would start it; never returns."""
    argv = [login.SSHD, "-i", "-e", "-f", str(machine.folder / login.CONFIGURATION)]
    log = os.open(machine.folder / login.LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    machine.listener.listen(256)
    while True:
        if select.select([machine.listener], [], [], TICK_SECONDS)[0]:
            connection, _ = machine.listener.accept()
            with connection:
                forked(partial(_sshd, argv, connection.fileno(), log))
        bury()


def _sshd(argv: list[str], connection: int, log: int) -> None:
    for stream, descriptor in ((0, connection), (1, connection), (2, log)):
        os.dup2(descriptor, stream)
    os.closerange(3, 256)
    os.execv(argv[0], argv)


def bury() -> None:
    """Collect whatever ended, adopted children too: this is process 1."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def forked(work: Callable[[], object]) -> int:
    """Run a callable in a child; returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - nothing may unwind into the parent's frames
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(1)
