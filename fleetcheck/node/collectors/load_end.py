"""Runs on the node: ends a load and removes all that it left: processes, memory cgroups, folder, lock."""

from typing import Any, Dict

from fleetcheck.node.host import Host

READS = (
    ("/var/tmp/fleetcheck-UID, a private folder, made and removed", "any user"),
    ("systemctl stop", "root"),
)


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{state: cleaned, or unclean with what is left, in words}."""
    from fleetcheck.node.supervisor.ending import end  # only archives for loads hold it

    return end(host, settings["load"].get("id"))
