"""Runs on the node: the collectives: what goes in, how each is called, what must come out. Sizes as nccl-tests counts them.

A collective has: units(ranks): of how many equal parts its size consists; inputs, outputs: how many of them go in and come out;
prepare, call and wrong, each for one slot of buffers at one turn.
"""

from fleetcheck.node.ranks.pattern import UNTOUCHED


class Group:
    """Ranks that take part: their numbers in the whole, this one's place among them, torch's own group (None: all)."""

    def __init__(self, dist, members, rank, handle=None):
        self.dist = dist
        self.members = members
        self.place = members.index(rank)
        self.handle = handle

    @property
    def size(self):
        """How many take part."""
        return len(self.members)


class Slot:
    """The buffers of one call. sent: what this rank contributes, got: what it receives (the same for collectives in place)."""

    def __init__(self, sent, got):
        self.sent = sent
        self.got = got


class AllReduce:
    """size: the whole buffer, of each rank."""

    in_place = True
    units = inputs = outputs = staticmethod(lambda ranks: 1)
    prepare = staticmethod(lambda pattern, group, slot, turn: pattern.fill(slot.got, group.place, turn))

    @staticmethod
    def call(group, slot, turn):
        """Sum over all ranks."""
        group.dist.all_reduce(slot.got, group=group.handle)

    @staticmethod
    def wrong(pattern, group, slot, turn):
        """{whose data is wrong, "" for the sum of all: elements}."""
        return {"": pattern.wrong(slot.got, None, turn)}


class Broadcast(AllReduce):
    """size: the buffer. The root is another rank at each turn."""

    @staticmethod
    def prepare(pattern, group, slot, turn):
        """Only the root has the data."""
        if group.place == turn % group.size:
            pattern.fill(slot.got, group.place, turn)
        else:
            slot.got.fill_(UNTOUCHED)

    @staticmethod
    def call(group, slot, turn):
        """From the turn's root to all."""
        group.dist.broadcast(slot.got, group.members[turn % group.size], group=group.handle)

    @staticmethod
    def wrong(pattern, group, slot, turn):
        """By root."""
        root = turn % group.size
        return {root: pattern.wrong(slot.got, root, turn)}


def _apart(pattern, group, slot, turn):
    """What is sent, and a place for what comes that holds no right answer."""
    pattern.fill(slot.sent, group.place, turn)
    slot.got.fill_(UNTOUCHED)


class AllGather:
    """size: what each rank has in the end."""

    in_place = False
    prepare = staticmethod(_apart)
    units = staticmethod(lambda ranks: ranks)
    inputs = staticmethod(lambda ranks: 1)
    outputs = staticmethod(lambda ranks: ranks)

    @staticmethod
    def call(group, slot, turn):
        """Everybody's part to all."""
        _named(group.dist, "all_gather_into_tensor", "_all_gather_base")(slot.got, slot.sent, group=group.handle)

    @staticmethod
    def wrong(pattern, group, slot, turn):
        """By sender."""
        part = slot.got.numel() // group.size
        return {one: pattern.wrong(slot.got[one * part:(one + 1) * part], one, turn) for one in range(group.size)}


class ReduceScatter:
    """size: what each rank has in the beginning."""

    in_place = False
    prepare = staticmethod(_apart)
    units = staticmethod(lambda ranks: ranks)
    inputs = staticmethod(lambda ranks: ranks)
    outputs = staticmethod(lambda ranks: 1)

    @staticmethod
    def call(group, slot, turn):
        """Of the sum, each rank its part."""
        _named(group.dist, "reduce_scatter_tensor", "_reduce_scatter_base")(slot.got, slot.sent, group=group.handle)

    @staticmethod
    def wrong(pattern, group, slot, turn):
        """Of the sum of all."""
        return {"": pattern.wrong(slot.got, None, turn + group.place * slot.got.numel())}


class AllToAll:
    """size: what each rank has before and after."""

    in_place = False
    prepare = staticmethod(_apart)
    units = inputs = outputs = staticmethod(lambda ranks: ranks)

    @staticmethod
    def call(group, slot, turn):
        """Of each rank one part to each."""
        group.dist.all_to_all_single(slot.got, slot.sent, group=group.handle)

    @staticmethod
    def wrong(pattern, group, slot, turn):
        """By sender."""
        part = slot.got.numel() // group.size
        return {one: pattern.wrong(slot.got[one * part:(one + 1) * part], one, turn + group.place * part) for one in range(group.size)}


class Barrier(AllReduce):
    """No data: one element that all add."""


def _named(dist, name, older):
    """A function of torch.distributed that older versions call otherwise."""
    return getattr(dist, name, None) or getattr(dist, older)


OPS = {"all_reduce": AllReduce, "all_gather": AllGather, "reduce_scatter": ReduceScatter, "all_to_all": AllToAll,
       "broadcast": Broadcast, "barrier": Barrier}
