"""Which accelerators' figures count: those that were free before the loads, and real ones unless the inventory says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.facts.load_device import Device
from fleetcheck.facts.load_link import Link, of_kind
from fleetcheck.facts.load_result import Result, stands_in
from fleetcheck.inventory import Node
from fleetcheck.view import Parts

FREE_BYTES = 1 << 30
FREE_PERCENT = 5
"""What a GPU that nobody uses may hold, and may be busy, before the loads begin."""


def accelerators(result: Result, node: Node) -> Parts[Device]:
    """The devices of a load whose figures tell of the hardware.

    One that somebody used before the loads began is a gap, no slow accelerator. Raises NotMeasured when processors stood in for the
    accelerators and the inventory does not ask for that.
    """
    on_hardware(result, node)
    devices, used = result.devices, dict[str, str]()
    for device in devices.present:
        by = user(device, result.before)
        if by:
            used[device.label] = f"{device.label} was in use before the loads: {by}"
    free = [device for device in devices.present if device.label not in used]
    gaps = [*devices.gaps(), *used.values()]
    return Parts(free, devices.what, None if gaps else devices.expected, gaps)


def on_hardware(result: Result, node: Node) -> None:
    """Raises NotMeasured when processors stood in for the accelerators unasked: a torch without CUDA, a container without GPUs."""
    if result.devices.present and result.stood_in and not stands_in(node):
        raise NotMeasured(f"{result.where} ran on processors, not on the accelerators: look at torch_python, its CUDA and the container")


def real(result: Result, node: Node) -> Parts[Device]:
    """The same for floors of the hardware; skips the check where processors stand in for it."""
    if stands_in(node):
        pytest.skip("the inventory lets processors stand in for the accelerators: floors are for these")
    return accelerators(result, node)


def host_links(result: Result, node: Node) -> Parts[Link]:
    """Both directions between the host and every accelerator."""
    on_hardware(result, node)
    there, back = (of_kind(result.links, kind, result.devices, pairs=False) for kind in ("h2d", "d2h"))
    return Parts([*there.present, *back.present], "links to the host", unreadable=[*there.unreadable, *back.unreadable])


def pairs(result: Result, node: Node) -> Parts[Link]:
    """Both directions of every pair of accelerators; skips the check where there is only one."""
    devices = accelerators(result, node)
    if result.promised == 1:
        pytest.skip("one accelerator has no peers")
    return of_kind(result.links, "p2p", result.devices if not devices.gaps() else devices, pairs=True)


def user(device: Device, before: Mapping[str, Any]) -> str:
    """Who used an accelerator before the loads, from the snapshot; empty when nobody did, or nothing is known."""
    boards = before.get("gpus")
    for board in boards if isinstance(boards, list) else []:
        if isinstance(board, Mapping) and _uuid(board) == device.uuid:
            return _user(board)
    return ""


def _uuid(board: Mapping[str, Any]) -> Any:
    identity = board.get("identity")
    return identity.get("uuid") if isinstance(identity, Mapping) else None


def _user(board: Mapping[str, Any]) -> str:
    processes, modes = board.get("processes"), board.get("modes")
    for each in processes if isinstance(processes, list) else []:
        held = each.get("memory_bytes") if isinstance(each, Mapping) else None
        if isinstance(held, int) and (held >= FREE_BYTES or each.get("job")):
            return f"{each.get('name')!s:.60} (pid {each.get('pid')}{', job ' + str(each['job']) if each.get('job') else ''})"
    utilised = modes.get("gpu_utilisation_percent") if isinstance(modes, Mapping) else None
    return f"{utilised} % utilised" if isinstance(utilised, int) and utilised > FREE_PERCENT else ""
