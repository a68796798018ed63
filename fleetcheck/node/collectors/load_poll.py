"""Runs on the node: where a load stands and what it has told since it was last asked."""

from typing import Any, Dict

from fleetcheck.node.host import Host

READS = (
    ("/var/tmp/fleetcheck-UID, a private folder, made and removed", "any user"),
    ("/proc/sys/kernel/random/boot_id", "any user"),
)


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{state, boot_id, started_boot_id, current, ends_in, ended_why, windows, events, results, snapshots, next, more}."""
    from fleetcheck.node.supervisor.poll import poll  # only archives for loads hold it

    return poll(host, settings["load"])
