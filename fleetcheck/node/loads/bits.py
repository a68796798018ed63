"""Runs on the node: results compared and summed bit by bit, as they lie in memory: equal numbers in other bits are different."""

import ctypes
import hashlib
import struct
from typing import Any, Dict, List, Tuple

INTEGERS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}
NAMED = 8


def raw(torch: Any, tensor: Any) -> Any:
    """The tensor's memory as a flat tensor of integers of its element size."""
    return tensor.contiguous().view(getattr(torch, INTEGERS[tensor.element_size()])).reshape(-1)


def differences(torch: Any, expected: Any, got: Any, pattern: str, where: str = "") -> Tuple[int, List[Dict[str, Any]]]:
    """How many elements differ in any bit, and the first of them: {where, expected, got, pattern}; both on one device.

    ``where``: what the element numbers are counted in.
    """
    ours, theirs = raw(torch, expected), raw(torch, got)
    wrong = ours != theirs
    count = int(torch.count_nonzero(wrong))
    if not count:
        return 0, []
    size = ours.element_size()
    places = first_places(torch, wrong, NAMED)
    return count, [
        {"where": ("%s element %d" % (where, place)).strip(), "expected": hexadecimal(int(ours[place]), size),
         "got": hexadecimal(int(theirs[place]), size), "pattern": pattern} for place in places]


def word_differences(torch: Any, expected: Any, got: Any, offset: int, pattern: str) -> Tuple[int, List[Dict[str, Any]]]:
    """The same for int64 words of a tested memory, by address: the byte in it; ``offset``: the number of the first word."""
    wrong = expected != got
    count = int(torch.count_nonzero(wrong))
    return count, [
        {"address": 8 * (offset + place), "expected": hexadecimal(int(expected[place]), 8), "got": hexadecimal(int(got[place]), 8),
         "pattern": pattern} for place in (first_places(torch, wrong, NAMED) if count else [])]


def first_places(torch: Any, wrong: Any, most: int) -> List[int]:
    """Positions of the first few set elements of a flat tensor of bools."""
    return [int(place) for place in torch.nonzero(wrong).reshape(-1)[:most].tolist()]


def hexadecimal(value: int, size: int) -> str:
    """An integer of so many bytes, signed or not, as the bits it is.

    >>> hexadecimal(-1, 2)
    '0xffff'
    """
    return "0x%0*x" % (2 * size, value & ((1 << (8 * size)) - 1))


def checksum(tensor: Any) -> str:
    """A hash over the tensor's raw bytes, fetched to the host."""
    here = tensor.detach().contiguous().cpu()
    digest = hashlib.blake2b(digest_size=16)
    digest.update(("%s %s" % (here.dtype, list(here.shape))).encode())
    digest.update(ctypes.string_at(here.data_ptr(), here.numel() * here.element_size()))
    return digest.hexdigest()


def float_sum(torch: Any, tensor: Any) -> str:
    """The sum of all elements in one fp32 accumulator of the device, as its bits: what rounding to a narrow type hides shows here.

    Its own bits, since an infinity or a NaN is a result as good as any.
    """
    total = float(tensor.detach().to(torch.float32).sum(dtype=torch.float32))
    return "0x%08x" % struct.unpack("<I", struct.pack("<f", total))[0]
