"""Runs on the node: starts a load that goes on without the controller; the same id again only says how it stands."""

from typing import Any, Dict

from fleetcheck.node.host import Host

READS = (
    ("/var/tmp/fleetcheck-UID, a private folder, made and removed", "any user"),
    ("systemd-run", "root"),
    ("/proc/sys/kernel/random/boot_id", "any user"),
)


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{state: started, running, ended, rebooted, gone or refused, id, boot_id, pid, folder, how, ends_in, holder}."""
    from fleetcheck.node.supervisor.start import start  # only archives for loads hold it

    return start(host, settings["load"])
