"""Runs on the node: send and receive from node to node, each direction by itself, so that a slow NIC shows with its side.

Every local rank sends to its counterpart on the other node at once. Of more than two nodes, neighbours in a ring, disjoint ones at once.
Up to SMALL_BYTES the message goes there and back and half of that is its time.
"""

from fleetcheck.node.ranks.bench import MEMORY_PART, Calls, no_time
from fleetcheck.node.ranks.pattern import UNTOUCHED

SMALL_BYTES = 32 << 10


class OneWay:
    """From one rank to another. peer: the other one; sends: whether this one sends; idle: neither."""

    in_place = True
    inputs = outputs = staticmethod(lambda ranks: 1)

    def __init__(self, sender, receiver, rank, back):
        self.sender, self.receiver, self.rank, self.back = sender, receiver, rank, back

    def prepare(self, pattern, group, slot, turn):
        """Only the sender has the data."""
        if self.rank == self.sender:
            pattern.fill(slot.got, self.sender, turn)
        else:
            slot.got.fill_(UNTOUCHED)

    def call(self, group, slot, turn):
        """There, and back if asked."""
        if self.rank == self.sender:
            group.dist.send(slot.got, self.receiver)
            if self.back:
                group.dist.recv(slot.got, self.receiver)
        elif self.rank == self.receiver:
            group.dist.recv(slot.got, self.sender)
            if self.back:
                group.dist.send(slot.got, self.sender)

    def wrong(self, pattern, group, slot, turn):
        """By sender; the receiver looks, and the sender at what came back."""
        looks = self.rank == self.receiver or (self.back and self.rank == self.sender)
        return {self.sender: pattern.wrong(slot.got, self.sender, turn)} if looks else {}


def directions(nodes):
    """Rounds of disjoint (from, to) by node number, so that none sends or receives twice at once.

    >>> directions(2)
    [[(0, 1)], [(1, 0)]]
    >>> directions(3)
    [[(0, 1)], [(1, 2)], [(2, 0)], [(1, 0)], [(2, 1)], [(0, 2)]]
    """
    ring = [(one, (one + 1) % nodes) for one in range(nodes)] if nodes > 2 else [(0, 1)]
    even = [edge for edge in ring if edge[0] % 2 == 0 and edge[1] == edge[0] + 1]
    odd = [edge for edge in ring if edge[0] % 2 and (edge[1] == edge[0] + 1 or nodes % 2 == 0)]
    rest = [edge for edge in ring if edge not in even + odd]
    there = [edges for edges in (even, odd, rest) if edges]
    return there + [[(to, sender) for sender, to in edges] for edges in there]


def measure(job, asked, size, pattern, group, per_node):
    """Entries of the directions that this rank has part in: {op, bytes, from, to, seconds, …}; all meet before each call."""
    job.voice.at("send_recv of %d bytes" % size)
    parts = max(1, size // pattern.bytes)
    if parts * pattern.bytes > MEMORY_PART * job.capacity:
        return [{"op": "send_recv", "bytes": size, "skipped": "the rank with the least memory has %d free" % job.capacity}]
    found = []
    for edges in directions(group.size // per_node):
        mine = next((edge for edge in edges if group.place // per_node in edge), None)
        calls = measured(job, asked, parts, pattern, group, per_node, mine)
        if mine and not calls.seconds:
            found.append({"op": "send_recv", "bytes": size, "from": mine[0], "to": mine[1], "skipped": no_time(job, "send_recv", size)})
        elif mine:
            half = 2.0 if calls.op.back else 1.0
            found.append({"op": "send_recv", "bytes": size, "moved_bytes": parts * pattern.bytes, "from": mine[0], "to": mine[1],
                          "rail": str(group.place % per_node), "seconds": [each / half for each in calls.seconds],
                          "entered": calls.entered, "wrong": sum(calls.wrong.values()), "wrong_from": calls.wrong})
    return found


def measured(job, asked, parts, pattern, group, per_node, edge):
    """The calls of one direction; a rank without part in it only meets the others."""
    local = group.place % per_node
    sender, receiver = (node * per_node + local for node in edge) if edge else (-1, -1)
    op = OneWay(sender, receiver, group.place, parts * pattern.bytes <= SMALL_BYTES)
    calls = Calls(job, op, "send_recv", pattern, group)
    calls.size = parts * pattern.bytes
    slots = calls.slots(parts if edge else 1, 1)
    for turn in range(asked["warmup"] + asked["iterations"]):
        calls.round(slots, counted=turn >= asked["warmup"])
    return calls
