"""Runs on the node: sshd's settings, keys that others may read, ports that listen, who is logged in, passwords that ran out."""

import re
import time
from typing import Any, Dict, List

from fleetcheck.node.collectors.values import output, table, text
from fleetcheck.node.host import Host

READS = (
    ("sshd -T", "root"),
    ("/proc/net/tcp", "any user"),
    ("/proc/net/tcp6", "any user"),
    ("stat -c", "any user"),
    ("/etc/ssh/ssh_host_*_key", "any user"),
    ("who", "any user"),
    ("passwd -S", "root"),
    ("/etc/passwd", "any user"),
)

SECONDS = 5.0
LISTEN = "0A"
LOOPBACK = re.compile(r"(?:0000000000000000FFFF0000)?[0-9A-F]{6}7F|00000000000000000000000001000000")
"""All of 127.0.0.0/8, whose last octet comes first here: a resolver's stub is at 127.0.0.53; and ::1."""
SESSION = re.compile(r"(\S+)\s+\S+\s+(?:\d{4}-\d\d-\d\d|[A-Z][a-z]{2}\s+\d{1,2})\s+\d\d:\d\d\b")
SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "tcsh", "fish", "csh")
ACCOUNTS = 20


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{sshd, host_keys, ports, users, accounts, today}."""
    return {
        "sshd": sshd(host),
        "host_keys": host_keys(host),
        "ports": ports(host),
        "users": users(host),
        "accounts": accounts(host, list(settings.get("accounts", ()))),
        "today": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def sshd(host: Host) -> Any:
    """{keyword: value} in force; only root may ask, because sshd reads its keys first."""
    said = output(host, ["sshd", "-T"], SECONDS)
    if "absent" in said or said["status"] != 0:
        return {"absent": said.get("absent") or "sshd -T: %s" % said["stderr"].strip()}
    rows = [line.split(None, 1) for line in said["stdout"].split("\n") if line.strip()]
    if not rows or any(not re.match(r"[a-z]\w+$", row[0]) for row in rows):
        return {"absent": "sshd -T: not settings: %.80r" % said["stdout"]}
    return {row[0]: row[1].strip() if len(row) > 1 else "" for row in rows}


def host_keys(host: Host) -> Any:
    """{private host key: its mode in octal}."""
    keys = host.glob("/etc/ssh/ssh_host_*_key")
    if not keys:
        return {"absent": "no private host key in /etc/ssh"}
    said = output(host, ["stat", "-c", "%a %n"] + keys, SECONDS)
    if "absent" in said:
        return said
    rows = {path: mode for mode, path in re.findall(r"^([0-7]{3,4}) (/\S+)$", said["stdout"], re.MULTILINE)}
    return {key: rows.get(key, {"absent": "stat: no mode of %s: %s" % (key, said["stderr"].strip())}) for key in keys}


def ports(host: Host) -> Any:
    """TCP ports that listen on more than loopback."""
    found = set()
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        said = text(host, path)
        if isinstance(said, dict):
            if path.endswith("6"):
                continue  # IPv6 may be off
            return said
        rows = table(said)
        if not rows or rows[0][1:2] != ["local_address"]:
            return {"absent": "not a table of sockets: %s" % path}
        found.update(listening(rows[1:]))
    return sorted(found)


def listening(rows: List[List[str]]) -> List[int]:
    """Ports in state LISTEN, by rows of /proc/net/tcp."""
    open_rows = [row[1].split(":") for row in rows if len(row) > 3 and row[3] == LISTEN]
    return [int(port, 16) for address, port in open_rows if not LOOPBACK.fullmatch(address)]


def users(host: Host) -> Any:
    """Names of the users logged in."""
    said = output(host, ["who"], SECONDS)
    if "absent" in said or said["status"] != 0:
        return {"absent": said.get("absent") or "who: %s" % said["stderr"].strip()}
    lines = [line for line in said["stdout"].split("\n") if line.strip()]
    found = [SESSION.match(line) for line in lines]
    return sorted({row.group(1) for row in found if row}) if all(found) else {"absent": "who: not sessions: %.80r" % said["stdout"]}


def accounts(host: Host, named: List[str]) -> Any:
    """{account: its line of passwd -S} of those the profile names, else of everybody with a shell."""
    names = named or with_shells(host)
    return names if isinstance(names, dict) else {name: account(host, name) for name in names[:ACCOUNTS]}


def with_shells(host: Host) -> Any:
    """Accounts of people and services that can log in, by /etc/passwd."""
    said = text(host, "/etc/passwd")
    rows = said if isinstance(said, dict) else [line.split(":") for line in said.split("\n")]
    if isinstance(rows, dict):
        return rows
    whole = [row for row in rows if len(row) == 7 and row[2].isdigit()]
    if not whole:
        return {"absent": "no account in /etc/passwd: %.60r" % said}
    return [row[0] for row in whole if int(row[2]) >= 1000 and row[6].rpartition("/")[2] in SHELLS]


def account(host: Host, name: str) -> Dict[str, Any]:
    """passwd(1) -S: {status, changed, longest_days}; only root may ask about others."""
    said = output(host, ["passwd", "-S", name], SECONDS)
    words = [] if "absent" in said or said["status"] != 0 else said["stdout"].split()
    if len(words) < 5 or words[0] != name:
        gap = {"absent": said.get("absent") or "passwd -S %s: %.120s" % (name, said["stderr"].strip() or said["stdout"].strip())}
        return {"status": gap, "changed": gap, "longest_days": gap}
    return {"status": words[1], "changed": day(words[2]), "longest_days": days(words[4])}


def day(word: str) -> Any:
    """A date in either spelling of passwd as YYYY-MM-DD."""
    for spelling in ("%Y-%m-%d", "%m/%d/%Y"):
        try:
            return time.strftime("%Y-%m-%d", time.strptime(word, spelling))
        except ValueError:
            continue
    return {"absent": "not a date: %.40r" % word}


def days(word: str) -> Any:
    """A number of days; -1 is no limit."""
    return int(word) if re.match(r"-?\d{1,6}$", word) else {"absent": "not a number of days: %.40r" % word}
