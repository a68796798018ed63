"""What the programs of a healthy node print: one module a subject, over the numbers of NVML, /proc, /sys."""

from __future__ import annotations

from fleetcheck.sandbox.machine.commands import (
    containers,
    drives,
    exporters,
    gpu,
    links,
    management,
    pci,
    scheduler,
    services,
    site,
    system,
)
from fleetcheck.sandbox.machine.commands.answers import Answers
from fleetcheck.sandbox.machine.node import Node

_SUBJECTS = (system, services, gpu, pci, drives, links, management, scheduler, containers, exporters, site)


def commands(node: Node) -> Answers:
    """Program and words → ``{stdout, stderr, exit}``. Most words win; a bare name answers what no other entry does."""
    answers: Answers = {}
    for subject in _SUBJECTS:
        answers |= subject.commands(node)
    return answers
