"""Runs on the node: names that resolve, ports that answer, the way out, packets that pass whole. Nothing is sent beyond a handshake."""

import re
import socket
import threading
import time
from typing import Any, Dict, List

from fleetcheck.node.collectors.values import output, table, text
from fleetcheck.node.host import Host, absent

READS = (
    ("/proc/net/route", "any user"),
    ("getent ahosts", "any user"),
    ("ping -M do", "any user"),
)

SECONDS = 5.0
HEADERS_BYTES = 28  # of IPv4 and ICMP; 48 for IPv6
UP_GATEWAY = 0x3


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{default_routes, names: {name: …}, endpoints: {name: …}}: all endpoints are asked at once."""
    endpoints: Dict[str, Any] = {}
    threads = [threading.Thread(target=ask, args=(host, each, endpoints), daemon=True) for each in settings.get("endpoints", ())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * SECONDS)
    late = {"answers": {"absent": "no end within %g s" % (3 * SECONDS)}, "said": "", "passes": {"absent": "not asked"}}
    return {
        "default_routes": default_routes(host),
        "names": {name: resolved(host, name) for name in settings.get("names", ())},
        "endpoints": {each["name"]: endpoints.get(each["name"], late) for each in settings.get("endpoints", ())},
    }


def default_routes(host: Host) -> Any:
    """Interfaces with a default route that is up, by the kernel's table."""
    said = text(host, "/proc/net/route")
    rows = said if isinstance(said, dict) else table(said)
    if isinstance(rows, dict):
        return rows
    if not rows or rows[0][:3] != ["Iface", "Destination", "Gateway"]:
        return {"absent": "not a table of routes: /proc/net/route: %.60r" % said}
    try:
        whole = [row for row in rows[1:] if row[1] == row[7] == "00000000" and int(row[3], 16) & UP_GATEWAY == UP_GATEWAY]
    except (IndexError, ValueError):
        return {"absent": "not a row of routes: /proc/net/route"}
    return sorted({row[0] for row in whole})


def resolved(host: Host, name: str) -> Dict[str, Any]:
    """{addresses, said} by the node's own resolver; getent ends with 2 for a name that nobody knows."""
    try:
        done = host.run(["getent", "ahosts", name], 3 * SECONDS)
    except OSError as error:
        return {"addresses": absent(error), "said": ""}
    if done.status not in (0, 2):
        return {"addresses": {"absent": "getent ahosts %s: %s" % (name, done.stderr.strip())}, "said": ""}
    found = sorted({row[0] for row in table(done.stdout)})
    if done.status == 0 and not (found and all(is_address(each) for each in found)):
        return {"addresses": {"absent": "getent ahosts %s: no addresses: %.80r" % (name, done.stdout)}, "said": ""}
    return {"addresses": found, "said": done.stderr.strip()[:200]}


def is_address(word: str) -> bool:
    """Whether a word is an IP address; link-local ones carry a zone."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, word.partition("%")[0])
            return True
        except OSError:
            continue
    return False


def ask(host: Host, endpoint: Dict[str, Any], answers: Dict[str, Any]) -> None:
    """A TCP handshake, and a packet of the size asked for, if any."""
    began = time.monotonic()
    try:
        with socket.create_connection((endpoint["host"], endpoint["port"]), SECONDS):
            answer: Dict[str, Any] = {"answers": True, "said": "", "seconds": time.monotonic() - began}
    except OSError as error:
        answer = {"answers": False, "said": (error.strerror or str(error))[:200], "seconds": time.monotonic() - began}
    answer["passes"] = passes(host, endpoint) if endpoint.get("mtu_bytes") else True
    answers[endpoint["name"]] = answer


def passes(host: Host, endpoint: Dict[str, Any]) -> Any:
    """Whether a packet of mtu_bytes gets there undivided."""
    headers = HEADERS_BYTES + 20 * (":" in endpoint["host"])
    argv: List[Any] = ["ping", "-c", "2", "-W", "2", "-M", "do", "-s", endpoint["mtu_bytes"] - headers, endpoint["host"]]
    said = output(host, argv, 2 * SECONDS)
    if "absent" in said:
        return said
    if "bytes from" in said["stdout"]:
        return True
    if re.search("too long|Frag needed|Packet too big", said["stderr"] + said["stdout"]):
        return False
    if said["status"] == 1:
        return lost(host, endpoint["host"])
    return {"absent": "ping: %.200s" % (said["stderr"].strip() or "exit status %d" % said["status"])}


def lost(host: Host, address: str) -> Any:
    """False where small packets are answered and only large ones are not; who answers no ping at all tells nothing of sizes."""
    said = output(host, ["ping", "-c", "2", "-W", "2", address], 2 * SECONDS)
    if "absent" in said:
        return said
    return False if "bytes from" in said["stdout"] else {"absent": "%s answers no ping, of whatever size: allow ICMP to it" % address}
