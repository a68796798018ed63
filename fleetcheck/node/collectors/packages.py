"""Runs on the node: the package repositories it installs from."""

import re
from typing import Any, Dict, Set

from fleetcheck.node.collectors.values import output
from fleetcheck.node.host import Host, ProgramMissing

READS = (
    ("dnf repolist", "any user"),
    ("/etc/apt/sources.list", "any user"),
    ("/etc/apt/sources.list.d", "any user"),
)

ONE_LINE = re.compile(r"^\s*deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?(\S+)", re.MULTILINE)
STANZA = re.compile(r"^URIs:\s*(.+)$", re.MULTILINE)
DISABLED = re.compile(r"^Enabled:\s*no\b", re.MULTILINE | re.IGNORECASE)


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{repositories}: names by dnf where it is installed, else addresses of apt's sources."""
    try:
        host.which("dnf")
    except ProgramMissing:
        return {"repositories": apt(host)}
    return {"repositories": dnf(host)}


def dnf(host: Host) -> Any:
    """The first word of each row below ``repo id``."""
    said = output(host, ["dnf", "repolist", "--enabled", "-C"], 15)
    if "absent" in said or said["status"] != 0:
        return {"absent": said.get("absent") or "dnf repolist: %s" % said["stderr"].strip()}
    head, _, rows = said["stdout"].partition("repo id")
    if not rows:
        return {"absent": "dnf repolist: no table: %.80r" % head}
    return sorted(line.split()[0] for line in rows.split("\n")[1:] if line.strip())


def apt(host: Host) -> Any:
    """Addresses in either format of sources.list(5)."""
    paths = [path for path in ["/etc/apt/sources.list"] if host.exists(path)]
    paths += host.glob("/etc/apt/sources.list.d/*.list") + host.glob("/etc/apt/sources.list.d/*.sources")
    if not paths:
        return {"absent": "neither dnf nor apt's sources on this node"}
    found: Set[str] = set()
    for path in paths:
        said = host.read_or_absent(path)
        if isinstance(said, dict):
            return said
        found.update(addresses(said) if path.endswith(".sources") else ONE_LINE.findall(said))
    return sorted(found)


def addresses(said: str) -> Any:
    """URIs of the stanzas that are enabled."""
    stanzas = [stanza for stanza in re.split(r"\n\s*\n", said) if not DISABLED.search(stanza)]
    return [address for stanza in stanzas for line in STANZA.findall(stanza) for address in line.split()]
