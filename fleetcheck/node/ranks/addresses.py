"""Runs on the node: which interface holds which address, as the kernel tells it."""

import fcntl
import socket
import struct

SIOCGIFADDR = 0x8915  # include/uapi/linux/sockios.h
NAME_BYTES = 16
INET6 = "/proc/net/if_inet6"


def by_interface():
    """{interface: [addresses]}, IPv4 first, then IPv6 but for link-local ones; interfaces without any are there too."""
    found = {name: ipv4(name) for _, name in socket.if_nameindex()}
    for name, address in ipv6():
        found.setdefault(name, []).append(address)
    return found


def ipv4(name):
    """The first IPv4 address of an interface, or none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            told = fcntl.ioctl(one.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:NAME_BYTES - 1]))
        except OSError:
            return []
    return [socket.inet_ntoa(told[20:24])]


def ipv6():
    """(interface, address) of the kernel's table, without link-local addresses."""
    try:
        with open(INET6) as table:
            rows = [line.split() for line in table]
    except OSError:
        return []
    whole = [(row[5], socket.inet_ntop(socket.AF_INET6, bytes.fromhex(row[0]))) for row in rows if len(row) == 6]
    return [(name, address) for name, address in whole if not address.startswith("fe80")]


def holder(address, found):
    """The interface that holds an address; all of 127.0.0.0/8 is the loopback's; "" when none does.

    >>> holder("127.0.1.3", {"lo": ["127.0.0.1"]})
    'lo'
    """
    if address.startswith("127."):
        address = "127.0.0.1"
    return next((name for name in sorted(found) if address in found[name]), "")
