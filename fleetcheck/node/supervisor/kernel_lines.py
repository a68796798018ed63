"""Runs on the node: kernel lines that come while a load runs, read as they come, tied to the GPU they name."""

import os
import re
import stat
import time
from typing import Any, Dict, List, Mapping, NamedTuple

from fleetcheck.node.collectors import kernel_log
from fleetcheck.node.collectors.records import Record, parse
from fleetcheck.node.host import Host, reason

FALLBACK_SECONDS = 30.0
MOST_OF_A_KIND = 20
KINDS = (
    (re.compile(r"\bS?Xid\b"), "xid"),
    (re.compile(r"AER|PCIe Bus Error"), "aer"),
    (re.compile(r"EDAC|Hardware Error|Machine [Cc]heck|\bmce\b|Memory failure"), "ecc"),
    (re.compile(r"oom|[Oo]ut of memory"), "oom"),
)
ADDRESS = re.compile(r"\b([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.([0-7]))?\b")


class Line(NamedTuple):
    """A line of interest: its kind and the PCI address in it ("" for none)."""

    kind: str
    address: str
    text: str


class KernelLines:
    """The kernel log from now on. ``absent``: why it cannot be read, or ""."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.absent = ""
        self.last, self.seconds, self.due = -1, -1.0, 0.0
        self.descriptor = -1
        self.partial = b""
        self.counts: Dict[str, int] = {}
        try:
            self.open()
            self.fresh()
        except OSError as error:
            self.refused = reason(error)
            self.descriptor = -1
            self.by_program()

    def open(self) -> None:
        """Open the device, or what stands in its place."""
        self.descriptor = kernel_log.opened(self.host)
        self.regular = stat.S_ISREG(os.fstat(self.descriptor).st_mode)

    def new(self) -> List[Line]:
        """The lines of interest since the last call; floods of one kind are thinned."""
        try:
            records = self.fresh() if self.descriptor >= 0 else self.by_program()
        except OSError as error:
            self.absent = reason(error)
            return []
        return self.thinned([record for record in records if kernel_log.INTEREST.search(record.text)])

    def fresh(self) -> List[Record]:
        """Records of the device behind the last one seen; a regular file (a simulated node's) is read as a whole."""
        if self.regular:
            os.close(self.descriptor)
            self.open()
            self.partial = b""
        text, _ = kernel_log.drained(self.descriptor)
        head, newline, self.partial = (self.partial + text).rpartition(b"\n")
        records, _ = parse((head + newline).decode("utf-8", "replace"))
        found = [record for record in records if record.sequence is not None and record.sequence > self.last]
        self.last = max([record.sequence or 0 for record in found], default=self.last)
        return found

    def by_program(self) -> List[Record]:
        """The same by dmesg or the journal, every half a minute, where the device is closed to this user."""
        if time.monotonic() < self.due:
            return []
        self.due = time.monotonic() + FALLBACK_SECONDS
        for read in (kernel_log.by_dmesg, kernel_log.by_journal):
            try:
                records = read(self.host).records
            except OSError as error:
                self.absent = "%s; %s" % (self.refused, reason(error))
                continue
            if records:
                self.absent = ""
                return self.later(records)
        self.absent = self.absent or "%s; no kernel line is shown to this user" % self.refused
        return []

    def later(self, records: List[Record]) -> List[Record]:
        """Records behind the last second seen; none of those that were there at the start."""
        timed = [record for record in records if isinstance(record.seconds, float)]
        first, known = self.seconds < 0, self.seconds
        self.seconds = max([record.seconds for record in timed], default=known)
        return [] if first else [record for record in timed if record.seconds > known]

    def thinned(self, records: List[Record]) -> List[Line]:
        """Lines of one shape only so often until ``calm`` is called."""
        found = []
        for record in records:
            shape = shape_of(record.text)
            self.counts[shape] = self.counts.get(shape, 0) + 1
            if self.counts[shape] <= MOST_OF_A_KIND:
                found.append(line(record.text))
        return found

    def calm(self) -> List[Line]:
        """At the end of a window: what was left out, in words; each kind may be told again."""
        left = {shape: count - MOST_OF_A_KIND for shape, count in self.counts.items() if count > MOST_OF_A_KIND}
        self.counts = {}
        return [line(shape)._replace(text="%d more kernel lines like: %s" % (count, shape)) for shape, count in left.items()]


def shape_of(text: str) -> str:
    """What lines of one kind share: their text without numbers; an Xid keeps its GPU and code.

    >>> shape_of("EDAC MC0: 3 CE memory read error")
    'EDAC MC#: # CE memory read error'
    """
    shape = kernel_log.shape(text)
    return shape if "Xid" in shape else re.sub(r"\d+", "#", shape)


def line(text: str) -> Line:
    """A kernel line with what it is about.

    >>> line("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.").address
    '0000:3b:00'
    """
    kind = next((kind for pattern, kind in KINDS if pattern.search(text)), "kernel")
    found = ADDRESS.search(text)
    address = found.group(0).lower() if found else ""
    return Line(kind, address, text[:kernel_log.TEXT])


def gpu_of(address: str, gpus: Mapping[str, str]) -> Any:
    """The GPU at a PCI address with or without its function, by gpus (address → index); None for none.

    >>> gpu_of("0000:3b:00", {"0000:3b:00.0": "3"})
    3
    """
    if not address:
        return None
    head, _, rest = address.partition(":")
    names = [name for name in gpus if name.partition(":")[2].startswith(rest.partition(".")[0] + ".")]
    same = [name for name in names if int(name.partition(":")[0], 16) == int(head, 16)]
    return int(gpus[same[0]]) if same else None
