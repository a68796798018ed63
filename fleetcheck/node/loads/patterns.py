"""Runs on the node: test data made from positions by whole-number arithmetic, so that every device makes the same bits."""

from typing import Any

MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)  # the odd number next to 2**64 divided by the golden ratio, as int64
SECOND = 0x2545F4914F6CDD1D
WORD_BYTES = 8


def signed(value: int) -> int:
    """A 64-bit pattern as int64 holds it.

    >>> signed(0xFFFFFFFFFFFFFFFF)
    -1
    """
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def addresses(torch: Any, out: Any, offset: int) -> None:
    """Fill int64 words with their own positions: word n holds offset + n."""
    torch.arange(offset, offset + out.numel(), out=out)


def random_words(torch: Any, out: Any, offset: int, seed: int) -> None:
    """Fill int64 words with bits that look random and depend on position and seed alone."""
    addresses(torch, out, offset)
    out.mul_(MULTIPLIER).add_(signed((seed + 1) * SECOND))
    for bits, factor in ((29, SECOND), (32, MULTIPLIER), (31, 1)):
        out.bitwise_xor_((out >> bits).bitwise_and_((1 << (64 - bits)) - 1))  # int64 shifts its sign in: masked away
        out.mul_(factor)


def words(torch: Any, count: int, seed: int, at: Any) -> Any:
    """``count`` random int64 words on a device."""
    out = torch.empty(count, dtype=torch.int64, device=at)
    random_words(torch, out, 0, seed)
    return out


def bell(torch: Any, shape: Any, seed: int, at: Any) -> Any:
    """fp32 values of a bell curve with a deviation of about 1 (1.15): sums of four 16-bit numbers, exact on every device."""
    count = 1
    for side in shape:
        count *= side
    bits = words(torch, count, seed, at)
    total = (bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) + ((bits >> 32) & 0xFFFF) + ((bits >> 48) & 0xFFFF)
    return ((total - 2 * 0xFFFF).to(torch.float32) * 2.0 ** -15).reshape(shape)
