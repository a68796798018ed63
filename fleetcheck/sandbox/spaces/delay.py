"""Packets held back for a fixed time: a queue of nftables, read and answered over netlink (inside a node of the sandbox).

Message formats: linux/netfilter/nfnetlink.h and nfnetlink_queue.h. All packets wait equally long, so their order stays and one
verdict releases every packet up to a number.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections import deque

NETLINK_NETFILTER = 12
SUBSYSTEM = 3 << 8
PACKET, CONFIG, VERDICT_UP_TO = SUBSYSTEM, SUBSYSTEM | 2, SUBSYSTEM | 3
COMMAND, PARAMETERS, LONGEST, MASK, FLAGS = 1, 2, 3, 4, 5
HEADER, VERDICT = 1, 2
BIND, ONLY_HEADERS, WHOLE_SEGMENTS, ACCEPT = 1, 1, 4, 1
REQUEST = 1
MOST_WAITING = 20_000
BUFFER_BYTES = 8 << 20
SO_RCVBUFFORCE = 33


def attribute(kind: int, value: bytes) -> bytes:
    """One attribute, padded to four bytes."""
    return struct.pack("=HH", len(value) + 4, kind) + value + bytes(-len(value) % 4)


def message(kind: int, queue: int, attributes: bytes) -> bytes:
    """One request about a queue."""
    body = struct.pack("=BBH", 0, 0, socket.htons(queue)) + attributes
    return struct.pack("=IHHII", len(body) + 16, kind, REQUEST, 0, 0) + body


def packet_numbers(block: bytes) -> list[int]:
    """The numbers of the packets that a block of messages announces."""
    found, at = [], 0
    while at + 20 <= len(block):
        length, kind = struct.unpack_from("=IH", block, at)
        if length < 20:
            break
        if kind == PACKET:
            found.append(_number(block[at + 20:at + length]))
        at += length + -length % 4
    return found


def _number(attributes: bytes) -> int:
    """The packet's number in its header; attributes in any order."""
    at = 0
    while at + 4 <= len(attributes):
        length, kind = struct.unpack_from("=HH", attributes, at)
        if kind & 0x3FFF == HEADER:
            return int(struct.unpack_from("!I", attributes, at + 4)[0])
        at += max(4, length + -length % 4)
    raise ValueError("a packet without a header")


def opened(queue: int) -> socket.socket:
    """The queue, bound to this process."""
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    link.bind((0, 0))
    link.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    link.send(message(CONFIG, queue, attribute(COMMAND, struct.pack("!BBH", BIND, 0, 0))))
    link.send(message(CONFIG, queue, b"".join((
        attribute(PARAMETERS, struct.pack("!IB", 0, ONLY_HEADERS)), attribute(LONGEST, struct.pack("!I", MOST_WAITING)),
        attribute(MASK, struct.pack("!I", WHOLE_SEGMENTS)), attribute(FLAGS, struct.pack("!I", WHOLE_SEGMENTS))))))
    return link


def hold(link: socket.socket, queue: int, seconds: float) -> None:
    """Let every packet go this long after it came; never returns."""
    waiting: deque[tuple[float, int]] = deque()
    while True:
        patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([link], [], [], patience)[0]:
            due = time.monotonic() + seconds
            waiting.extend((due, number) for number in packet_numbers(link.recv(1 << 16)))
        now, last = time.monotonic(), None
        while waiting and waiting[0][0] <= now:
            last = waiting.popleft()[1]
        if last is not None:
            link.send(message(VERDICT_UP_TO, queue, attribute(VERDICT, struct.pack("!II", ACCEPT, last))))
