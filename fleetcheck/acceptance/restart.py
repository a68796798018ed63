"""Why the clock of an acceptance begins anew between two moments: another part, a reset, a reboot, or nobody can say. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fleetcheck.acceptance.standing import ENERGY, Standing
from fleetcheck.text import clean

NAMED = 3


def restart(before: Standing, now: Standing) -> str:
    """The reasons in words; empty when all is the same and has run on. What was told at one moment alone is not compared, but for
    machine, boot and the energy counters: without them nobody knows."""
    reasons = [*_machine(before, now), *_boot(before, now), *_pieces(before, now)]
    if before.boot_id == now.boot_id:
        reasons += _resets(before, now)
    more = f" and {len(reasons) - NAMED} more" if len(reasons) > NAMED else ""
    return clean("; ".join(reasons[:NAMED]) + more, 400)


def _machine(before: Standing, now: Standing) -> Iterator[str]:
    if not (before.machine and now.machine):
        yield "the machine's serial number was not told, so nobody knows whether it is the same (root may read it)"
    elif before.machine != now.machine:
        yield f"another machine: serial {before.machine}, then {now.machine}"


def _boot(before: Standing, now: Standing) -> Iterator[str]:
    if not (before.boot_id and now.boot_id):
        yield "the boot id was not told, so nobody knows whether it rebooted"
    elif before.boot_id != now.boot_id:
        yield f"rebooted: boot id {before.boot_id}, then {now.boot_id}"


def _pieces(before: Standing, now: Standing) -> Iterator[str]:
    for piece, was, is_ in _different(before.serials, now.serials):
        yield f"{piece} was exchanged: serial {was}, then {is_}"
    for piece, was, is_ in _different(before.firmware, now.firmware):
        yield f"other firmware, {piece}: {was}, then {is_}"


def _different(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    yield from ((name, was, now[name]) for name, was in before.items() if name in now and now[name] != was)


def _resets(before: Standing, now: Standing) -> Iterator[str]:
    for gpu in dict.fromkeys([*before.grown, *now.grown]):
        was, is_ = before.grown.get(gpu, {}), now.grown.get(gpu, {})
        fallen = next((name for name in was if name in is_ and is_[name] < was[name]), "")
        if fallen:
            yield f"{gpu} was reset or its driver loaded anew: its {fallen} fell from {was[fallen]:.0f} to {is_[fallen]:.0f}"
        elif not (ENERGY in was and ENERGY in is_):
            yield f"{gpu} told no energy counter, so nobody knows whether it was reset"
    for slot, seconds in now.recovered.items():
        if seconds > before.recovered.get(slot, 0.0):
            yield f"gpu {slot} was recovered {seconds:.0f} s after boot (Xid 154)"
