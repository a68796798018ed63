"""Runs on the node: what the machine says before and after a trial: counters of its links and HCAs, kernel lines in between."""

from typing import Any

from fleetcheck.node.collectors.network import NET
from fleetcheck.node.collectors.rdma import IB, counters
from fleetcheck.node.collectors.values import as_number, names, numbers, text
from fleetcheck.node.supervisor.kernel_lines import KernelLines

MOST_LINES = 200


class Around:
    """Made before the ranks start, asked again after they ended."""

    def __init__(self, host):
        self.host = host
        self.before = totals(host)
        self.kernel = KernelLines(host)

    def told(self):
        """{before, after: {links, hcas}, kernel: lines of interest that came meanwhile, or absent}."""
        lines = self.kernel.new()
        kernel: Any = [{"kind": line.kind, "address": line.address, "text": line.text} for line in lines[:MOST_LINES]]
        if self.kernel.absent and not lines:
            kernel = {"absent": self.kernel.absent}
        return {"before": self.before, "after": totals(self.host), "kernel": kernel}


def totals(host):
    """{links: {eth0: {counter: total}}, hcas: {mlx5_0/1: {counters, hw_counters}}, protocols: {tcp: {counter: total}}}."""
    links, devices = names(host, NET), names(host, IB)
    if not isinstance(links, dict):
        links = {name: numbers(host, "%s/%s/statistics" % (NET, name)) for name in links if host.exists("%s/%s/operstate" % (NET, name))}
    if not isinstance(devices, dict):
        ports = [path[len(IB) + 1:].replace("/ports/", "/") for name in devices for path in host.glob("%s/%s/ports/[0-9]*" % (IB, name))]
        devices = {port: counters(host, port) for port in ports}
    return {"links": links, "hcas": devices, "protocols": {"tcp": tcp(host)}}


def tcp(host):
    """What TCP sent and sent again; packets that a switch lost show nowhere else."""
    said = text(host, "/proc/net/snmp")
    rows = said if isinstance(said, dict) else [line.split()[1:] for line in said.split("\n") if line.startswith("Tcp:")]
    if isinstance(rows, dict) or len(rows) != 2:
        return rows if isinstance(rows, dict) else {"absent": "no row of TCP: /proc/net/snmp"}
    told = dict(zip(*rows))
    return {name: as_number(told[key], key) for name, key in (("sent_segments", "OutSegs"), ("retransmitted_segments", "RetransSegs"))
            if key in told}
