"""Runs on the node: the kernel's log since boot, what it said in the boot before, and firmware crash dumps.

Lines leave raw; only those with a word of interest do, and floods of one kind are thinned. Every line seen is counted.
"""

import errno
import os
import re
import time
from typing import Any, Dict, List, NamedTuple, Tuple

from fleetcheck.node.collectors import journal
from fleetcheck.node.collectors.records import Record, parse, raw_dmesg
from fleetcheck.node.host import Host, absent, reason

READS = (
    ("/dev/kmsg", "root or kernel.dmesg_restrict=0"),
    ("dmesg -r", "root or kernel.dmesg_restrict=0"),
    ("/sys/fs/pstore", "root"),
    ("/proc/stat", "any user"),
)

READ_SECONDS = 10.0
READ_BYTES = 64 << 20
CHUNK = 1 << 16
KEPT_BYTES = 2 << 20
EACH_END = 50
TEXT = 1000
PREVIOUS_LINES = 5000
FIX = "run as root (become: sudo -n) or put this user into the groups adm and systemd-journal"
INTEREST = re.compile(
    r"NVRM|S?Xid|nvidia|nv_|invalid context|mlx[45]|Hardware Error|Machine [Cc]heck|\bmce\b|EDAC|APEI|BERT|Memory failure|AER|DPC:|EDR:"
    r"|DMAR: |AMD-Vi: |arm-smmu|swiotlb|power state|giving up|retraining|\bNMI|SError|external abort|clocksource|HARDWARE PROTECTION"
    r"|PCIe|pcieport|pciehp|nvme|\bmd: |md/raid|multipath|Sense Key|\bata\d|offline|megaraid|smartpqi|hpsa|aacraid|mpt[23]sas"
    r"|EXT4|JBD2|journal|XFS|BTRFS|SQUASHFS|Pool '|I/O [Ee]rror|(?:medium|target|nexus|allocation) error|[Rr]ead-only|readonly"
    r"|nfs|NFS|lockd|Lustre|LNet|ceph|CIFS|oom|[Oo]ut of memory|allocation failure|file-max|fork rejected|table (?:full|overflow)"
    r"|blocked .*for more than|lockup|LOCKUP|rcu|CSD lock|\bCPU\d+(?::| failed)|throttled|temperature|BUG|[Pp]anic|Oops|Internal error"
    r"|Unable to handle|protection fault|segfault|[Ii]nsufficient power|[Tt]imed? ?out|tx_timeout|Unit Hang|cqe|Malicious Driver"
    r"|[Ff]irmware|\bFW |lost tx|reset|LINK_DOWN|new DOWN|[Ll]ink (?:is )?[Dd]own|link status|active interface|[Ll]ost carrier"
    r"|fallen off|installed in this system|smpboot|probe (?:of|with driver) |csum failure|unregister_netdevice|\[#\d+\]|LNet: "
)


class Window(NamedTuple):
    """Records read from one source, and how many were lost on the way."""

    records: List[Record]
    unreadable: int
    overwritten: int


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{source, seen, records, first_sequence, first_seconds, …, journal, previous_boot, pstore, boot_time_seconds}."""
    answer = ring(host)
    answer.update(
        journal=this_boot(host, answer),
        previous_boot=previous_boot(host),
        pstore=crash_dumps(host),
        boot_time_seconds=boot_time(host),
    )
    return answer


def ring(host: Host) -> Dict[str, Any]:
    """The ring buffer, by whichever way is permitted."""
    refused = []
    for source, read in (("/dev/kmsg", device), ("dmesg", by_dmesg), ("journalctl", by_journal)):
        try:
            told = read(host)
        except OSError as error:
            refused.append(reason(error))
            continue
        if told.records or told.unreadable:
            return dict(window(told), source=source)
        refused.append("%s shows no kernel line to this user" % source)  # journalctl refuses without a word
    return {"records": {"absent": "%s; %s" % ("; ".join(refused), FIX)}}


def device(host: Host) -> Window:
    """All of /dev/kmsg: one record a read on the device, any amount on a regular file."""
    descriptor = opened(host)
    try:
        text, overwritten = drained(descriptor)
    finally:
        os.close(descriptor)
    records, unreadable = parse(text.decode("utf-8", "replace"))
    return Window(records, unreadable, overwritten)


def drained(descriptor: int) -> Tuple[bytes, int]:
    """Everything there is to read now, and how often records were lost on the way."""
    chunks: List[bytes] = []
    size, lost, until = 0, 0, time.monotonic() + READ_SECONDS
    while size < READ_BYTES and time.monotonic() < until:
        try:
            chunks.append(os.read(descriptor, CHUNK))
        except OSError as error:
            if error.errno == errno.EAGAIN:  # the end, on the device
                return b"".join(chunks), lost
            if error.errno != errno.EPIPE:
                raise type(error)(error.errno, error.strerror, "/dev/kmsg") from None
            lost += 1  # the record to be read next was overwritten meanwhile
            continue
        if not chunks[-1]:
            return b"".join(chunks), lost
        size += len(chunks[-1])
    return b"".join(chunks), lost + 1  # more than could be read: the end is missing


def opened(host: Host) -> int:
    """A descriptor that never waits for the next record; errors name the device as the node calls it."""
    try:
        return os.open(host.path("/dev/kmsg"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, "/dev/kmsg") from None


def by_dmesg(host: Host) -> Window:
    """What dmesg may read where this user may not (older kernels, file capabilities)."""
    done = host.run(["dmesg", "-r"], 10, limit=32 << 20)
    if done.status != 0:
        raise OSError(errno.EPERM, done.stderr.strip() or "exit status %d" % done.status, "dmesg")
    records, unreadable = raw_dmesg(done.stdout)
    return Window(records, unreadable, 0)


def by_journal(host: Host) -> Window:
    """The journal's copy of this boot's kernel log."""
    records, unreadable = journal.read(host, ["-b"], 20)
    return Window(records, unreadable, 0)


def window(read: Window) -> Dict[str, Any]:
    """What is kept of a window, and the counts that tell what is not."""
    interesting = [record for record in read.records if INTEREST.search(record.text)]
    kept, cut = fitting(thinned(interesting))
    first = read.records[0] if read.records else Record(0, None, {"absent": "no record"}, "")
    return {
        "seen": len(read.records),
        "unreadable": read.unreadable,
        "overwritten": read.overwritten,
        "cut": cut,
        "repeats_left_out": len(interesting) - len(kept) - cut,
        "first_sequence": {"absent": "no sequence numbers in this source"}
        if first.sequence is None
        else first.sequence,
        "first_seconds": first.seconds,
        "records": [
            {
                "sequence": record.sequence,
                "seconds": record.seconds,
                "priority": record.level & 7,
                "facility": record.level >> 3,
                "text": record.text[:TEXT],
            }
            for record in kept
        ],
    }


def shape(text: str) -> str:
    """What floods share: the text without its long numbers, an Xid with its GPU and code."""
    found = re.search(r"S?Xid(?: \([^)]*\))?: \d+", text)
    return found.group(0) if found else re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{3,}\b", "#", text[:120])


def thinned(records: List[Record]) -> List[Record]:
    """Of each shape the first and the last records; a flood of one fault must not crowd out another."""
    places: Dict[str, List[int]] = {}
    for place, record in enumerate(records):
        places.setdefault(shape(record.text), []).append(place)
    kept = {place for group in places.values() for place in group[:EACH_END] + group[-EACH_END:]}
    return [record for place, record in enumerate(records) if place in kept]


def fitting(records: List[Record]) -> Tuple[List[Record], int]:
    """The latest records that fit into the answer, and how many had to go."""
    left = KEPT_BYTES
    for place in range(len(records) - 1, -1, -1):
        left -= len(records[place].text[:TEXT]) + 100
        if left < 0:
            return records[place + 1 :], place + 1
    return records, 0


def this_boot(host: Host, answer: Dict[str, Any]) -> Dict[str, Any]:
    """The journal of this boot, asked only when the ring buffer no longer reaches back to it."""
    first = answer.get("first_seconds")
    if (
        answer.get("source") == "journalctl"
        or answer.get("first_sequence") == 0
        or not isinstance(first, float)
        or first < 5
    ):
        return {"absent": "not needed"}
    try:
        return window(by_journal(host))
    except OSError as error:
        return absent(error)


def previous_boot(host: Host) -> Dict[str, Any]:
    """The latest kernel lines of the boot before; absent where the journal does not outlive a boot."""
    try:
        records, unreadable = journal.read(host, ["-b", "-1", "-n", str(PREVIOUS_LINES)], 20)
    except OSError as error:
        return absent(error)
    return window(Window(records, unreadable, 0))


def crash_dumps(host: Host) -> Any:
    """Names and times of what firmware or RAM kept over a crash."""
    try:
        names = host.list("/sys/fs/pstore")
        return [
            {"name": name, "modified_seconds": os.stat(host.path("/sys/fs/pstore/" + name)).st_mtime} for name in names
        ]
    except OSError as error:
        return absent(error)


def boot_time(host: Host) -> Any:
    """btime of /proc/stat, seconds since 1970."""
    try:
        found = re.search(r"^btime (\d+)$", host.read("/proc/stat", 8 << 20), re.MULTILINE)
    except OSError as error:
        return absent(error)
    return int(found.group(1)) if found else {"absent": "no btime in /proc/stat"}
