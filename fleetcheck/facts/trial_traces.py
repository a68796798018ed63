"""What trials left on a node beside their figures: the network they took, error counters, kernel events. Runs on the controller."""

from __future__ import annotations

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.collective.way import fallback
from fleetcheck.facts.kernel_event import Record
from fleetcheck.facts.kernel_events import events_of
from fleetcheck.facts.load_limits import limit
from fleetcheck.facts.trial_nodes import Tried
from fleetcheck.groups import blamed
from fleetcheck.profile import Profile
from fleetcheck.recording import Offender, Part

PHYSICAL = frozenset({
    "rx_crc_errors", "rx_frame_errors", "rx_symbol_errors", "symbol_error", "port_rcv_errors", "link_downed", "link_error_recovery",
    "local_link_integrity_errors", "excessive_buffer_overrun_errors", "rx_icrc_encapsulated", "tx_carrier_errors",
})
"""Counters that no congestion makes grow: of cables, modules and ports."""
PROTOCOL = "tcp"
"""Counted like a device, and none."""
SERIOUS = ("degraded", "fatal")


def sockets(tried: Tried, profile: Profile) -> list[Offender]:
    """Whether the library fell back to sockets; skips the check where none of its networks is expected."""
    if profile.hcas is None:
        pytest.skip(f"profile {profile.name} has no HCAs: collectives go over sockets there")
    if tried.kind.simulated_devices:
        pytest.skip("processors stand in for the accelerators: their library knows no RDMA")
    why = fallback(tried.way(), f"{len(profile.hcas.names)} HCAs")
    return blamed([Offender(None, f"{tried.node.name}: {why}")] if why else [])


def errors(tried: Tried) -> list[Offender]:
    """Ports whose counters of physical errors grew beyond the limit while trials ran.

    Raises NotMeasured where those of an HCA that the profile promises were not read, or of no link at all.
    """
    most = limit(tried.kind.profile, "trial_link_errors")
    found: dict[str, list[str]] = {}
    grown, counted = tried.grown(), {name.partition("/")[0] for name in tried.counted()} - {PROTOCOL}
    hcas = tried.kind.profile.hcas
    unread = [name for name in (hcas.names if hcas else ()) if name not in counted]
    if unread or not counted:
        raise NotMeasured(f"{tried.node.name}: error counters of {', '.join(unread) or 'its links'} were not read around its trials")
    for name, count in grown.items():
        port, _, counter = name.partition(" ")
        if counter in PHYSICAL and tried.derived(f"{port}.{counter}_grown", count) not in most:
            found.setdefault(port, []).append(f"{count} {counter}")
    return blamed([Offender(Part("nic", port), f"{port}: {', '.join(counts)} during {len(tried.trials)} trials (limit {most})")
                   for port, counts in found.items()])


def events(tried: Tried) -> list[Offender]:
    """Kernel events of hardware that came while trials ran, each with its trial; what nobody need mind is left out."""
    lines = tried.kernel_lines()
    found = []
    for trial in dict.fromkeys(name for name, _ in lines):
        records = [Record(0.0, text) for name, text in lines if name == trial]
        found += [Offender(Part(event.kind or "os", event.slot or event.code),
                           f"{tried.node.name}: {event.code} in trial {trial}: {event.text}",
                           event.severity, event.action, event.code) for event in events_of(records) if event.severity in SERIOUS]
    tried.derived("kernel_lines", len(lines))
    return blamed(found)

