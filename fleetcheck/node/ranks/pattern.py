"""Runs on the node: what every rank contributes, so that every element of every result is known exactly.

Element i of rank r at iteration s is (31 (i + s) + 17 r) mod m, a small integer. m is a prime, so that a block that lands in another
place shows, and so small that the sum over all ranks is exact in the dtype; ranks beyond that contribute zeros.
"""

EXACT = {"float64": 1 << 53, "float32": 1 << 24, "bfloat16": 1 << 8, "float16": 1 << 11, "int32": 1 << 31, "int64": 1 << 53}
PRIMES = (251, 127, 61, 31, 13, 7, 5, 3)
CHUNK = 1 << 20
UNTOUCHED = -1


class Pattern:
    """Patterns over ``ranks`` ranks, on one device."""

    def __init__(self, torch, device, dtype, ranks):
        """dtype: a key of EXACT."""
        if dtype not in EXACT:
            raise ValueError("no dtype %.40r; expected one of %s" % (dtype, ", ".join(sorted(EXACT))))
        self.torch, self.at, self.dtype = torch, device.at, getattr(torch, dtype)
        self.ranks = ranks
        self.modulus = next((prime for prime in PRIMES if (prime - 1) * ranks <= EXACT[dtype]), PRIMES[-1])
        self.contributing = min(ranks, EXACT[dtype] // (self.modulus - 1))
        self.bytes = torch.empty(0, dtype=self.dtype).element_size()
        self.tiles = {}

    def table(self, rank):
        """One period of a rank's pattern, or of the sum over all ranks (None), as integers."""
        places = self.torch.arange(self.modulus, dtype=self.torch.int64)
        if rank is None:
            return sum(self.table(one) for one in range(self.contributing))
        return (31 * places + 17 * rank) % self.modulus if rank < self.contributing else 0 * places

    def tile(self, rank, length):
        """The pattern repeated over ``length`` elements and one period more; the last two are kept."""
        if rank in self.tiles and self.tiles[rank].numel() >= length + self.modulus:
            return self.tiles[rank]
        whole = self.table(rank).to(self.dtype).to(self.at).repeat(length // self.modulus + 2)
        if len(self.tiles) > 1:
            self.tiles.pop(next(iter(self.tiles)))
        self.tiles[rank] = whole
        return whole

    def pieces(self, length, rank, place):
        """(first, end, what belongs there) of a tensor whose first element has this place in the pattern."""
        tile = self.tile(rank, min(length, CHUNK))
        for first in range(0, length, CHUNK):
            end = min(length, first + CHUNK)
            start = (first + place) % self.modulus
            yield first, end, tile[start:start + end - first]

    def fill(self, tensor, rank, place):
        """Write a rank's pattern."""
        for first, end, values in self.pieces(tensor.numel(), rank, place):
            tensor[first:end] = values

    def wrong(self, tensor, rank, place):
        """How many elements are not the rank's pattern (None: not the sum of all); NaN is none."""
        counts = [(tensor[first:end] != values).sum() for first, end, values in self.pieces(tensor.numel(), rank, place)]
        return int(sum(counts)) if counts else 0
