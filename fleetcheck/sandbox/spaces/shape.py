"""The commands that make a link what its description wants: ip, tc, nft and iptables, as words. Pure.

The kernel's own network emulator is missing from many small kernels. A token bucket, random drops and a queue to a program of ours
(delay.py) are not; of the two ways to that queue, iptables has the one that small kernels have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fleetcheck.sandbox.spaces.link import Link

Commands = list[list[str]]
BRIDGE = "leaf"
INTERFACE = "eth0"
QUEUE = 0
BURST_SECONDS, LEAST_BURST_BYTES = 0.002, 16_000
TABLE = "fleetcheck"


def address(number: int) -> str:
    """Of the node with this number, from 1.

    >>> address(1), address(300)
    ('10.77.0.1', '10.77.1.50')
    """
    return f"10.77.{number // 250}.{number % 250}"


def rate(interface: str, link: Link) -> Commands:
    """A token bucket on what leaves an interface, with a burst of 2 ms."""
    if link.rate_mbits_per_second is None:
        return []
    bits = link.rate_mbits_per_second * 1e6
    burst = max(LEAST_BURST_BYTES, math.ceil(bits / 8 * BURST_SECONDS))
    return [["tc", "qdisc", "replace", "dev", interface, "root", "tbf", "rate", f"{bits:.0f}bit", "burst", f"{burst}b", "latency", "50ms"]]


def cable(port: str, pid: int, link: Link) -> Commands:
    """On the switch: one end of the cable in its port, the other in the namespace of a process."""
    return [
        ["ip", "link", "add", port, "type", "veth", "peer", "name", INTERFACE, "netns", str(pid)],
        ["ip", "link", "set", port, "master", BRIDGE],
        ["ip", "link", "set", port, "down" if link.down else "up"],
        *rate(port, link),
    ]


def switch() -> Commands:
    """A bridge that lets every node hear the link-layer discovery frames of the switch itself."""
    return [["ip", "link", "set", "lo", "up"], ["ip", "link", "add", BRIDGE, "type", "bridge"], ["ip", "link", "set", BRIDGE, "up"]]


def node(number: int, link: Link) -> Commands:
    """On the node: addresses, the rate of what it sends, and what it drops, delays or blocks of what it receives."""
    return [
        ["ip", "link", "set", "lo", "up"],
        ["ip", "addr", "add", f"{address(number)}/16", "dev", INTERFACE],
        ["ip", "link", "set", INTERFACE, "up"],
        *rate(INTERFACE, link),
        *([["nft", "; ".join(rules)]] if (rules := dropped(link)) else []),
        *([["iptables", "-I", "INPUT", "-i", INTERFACE, "-j", "NFQUEUE", "--queue-num", str(QUEUE), "--queue-bypass"]]
          if link.delay_milliseconds else []),
    ]


def dropped(link: Link) -> Sequence[str]:
    """Rules of nftables on what arrives; loss before anything else of the node sees a packet."""
    rules = []
    if link.loss_percent:
        rules += [f"add table netdev {TABLE}",
                  f"add chain netdev {TABLE} arriving {{ type filter hook ingress device {INTERFACE} priority 0; }}",
                  f"add rule netdev {TABLE} arriving meta protocol ip numgen random mod 100000 < {link.loss_percent * 1000:.0f} drop"]
    if link.blocked_ports:
        rules += [f"add table inet {TABLE}", f"add chain inet {TABLE} in {{ type filter hook input priority -10; }}",
                  f"add rule inet {TABLE} in iifname {INTERFACE} tcp dport {link.blocked_ports} drop"]
    return rules
