"""The way that data took, from NCCL's own log: which network, which adapters, direct from GPU memory or not. On the controller; pure.

With NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET each channel between nodes says ``via NET/NAME/ADAPTER``, with ``/GDRDMA`` where the
adapter reads GPU memory itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_CHANNEL = re.compile(r"\[(?:send|receive)\] via NET/([\w. -]+?)/(\d+)(?:\(\d+\))?(/GDRDMA)?")
_USING = re.compile(r"Using network (\S.*?)\s*$")
_ADAPTERS = re.compile(r"NET/(?:IB|Socket) : Using ((?:\[\d+\]\S+ ?)+)")
_ADAPTER = re.compile(r"\[(\d+)\]([^\s:/]+)")
_VERSION = re.compile(r"NCCL version (\d[\w.]*)")
_NVLS = re.compile(r"NVLS (?:comm|multicast support is (?:not )?available)")
SOCKET = "Socket"


@dataclass(frozen=True, slots=True)
class Way:
    """networks: NCCL's names of them, empty where no line tells; adapters: those that channels use, by the names of their devices where
    these are told; direct: whether every channel between nodes reads GPU memory itself, None without channels; nvls: whether every
    accelerator that tells has NVLink SHARP, None where none does.
    """

    networks: frozenset[str] = frozenset()
    adapters: frozenset[str] = frozenset()
    direct: bool | None = None
    nvls: bool | None = None
    version: str = ""

    @property
    def sockets(self) -> bool:
        """Whether data went over plain sockets."""
        return SOCKET in self.networks


def way(lines: Iterable[str]) -> Way:
    """What the lines of one or several ranks tell.

    >>> way(["n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"])
    Way(networks=frozenset({'IB'}), adapters=frozenset({'0'}), direct=True, nvls=None, version='')
    """
    text = "\n".join(lines)
    channels = _CHANNEL.findall(text)
    named = {number: name for listed in _ADAPTERS.findall(text) for number, name in _ADAPTER.findall(listed)}
    networks = {network for network, _, _ in channels} or {found[1] for line in text.splitlines() if (found := _USING.search(line))}
    nvls = [found[0] for found in _NVLS.finditer(text)]
    version = _VERSION.search(text)
    return Way(frozenset(networks), frozenset(named.get(number, number) for _, number, _ in channels),
               all(direct for _, _, direct in channels) if channels else None,
               all("not" not in each for each in nvls) if nvls else None, version[1] if version else "")


def fallback(found: Way, expected: str = "RDMA") -> str:
    """Why the way is not the one that the hardware is there for; "" when it is, or when nothing is told of it."""
    if found.sockets:
        return f"NCCL fell back to sockets where {expected} is expected; read its lines about NET: plugin, NCCL_IB_HCA, GID, memlock"
    return ""
