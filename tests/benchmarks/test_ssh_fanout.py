"""64 and 256 endpoints of one real sshd, all checks: wall time beside OpenSSH with the same payload, CPU per added node."""

import json
import resource
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fakessh import NO_SSHD, SSHD, Sshd
from fleetrun import CHECKS, clean_environment
from measured_process import measured

from fleetcheck import inventory, plan
from fleetcheck.exchange import Exchange
from fleetcheck.transport.openssh import argv

INVENTORY = """fleet: loopback
ssh: {{port: {port}, identity_file: {identity}, known_hosts: {known}}}
defaults: {{profile: cpu-host, labels: {{hostname: {hostname}}}}}
nodes:
{nodes}
"""


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    if SSHD is None:
        pytest.skip(NO_SSHD)
    folder = tmp_path_factory.mktemp("sshd")
    server = Sshd(folder, extra=f"SetEnv HOME={folder}\n")  # what a login shell of this machine reads first is no cost of ours
    yield server
    server.stop()


def fleet(folder, sshd, count, port=None):
    """An inventory of so many names for this machine, each on a loopback address of its own."""
    addresses = [f"127.0.{1 + number // 250}.{1 + number % 250}" for number in range(count)]
    key = " ".join((sshd.folder / "host.pub").read_text().split()[:2])
    known = folder / "known_hosts"
    known.write_text("".join(f"[{address}]:{sshd.port} {key}\n" for address in addresses))
    nodes = "\n".join(f"  n{number:03d}: {{address: {address}}}" for number, address in enumerate(addresses))
    path = folder / f"fleet{count}.yaml"
    path.write_text(INVENTORY.format(port=port or sshd.port, identity=sshd.identity, known=known, hostname=socket.gethostname(), nodes=nodes))
    return path


def fleetcheck(folder, path, *more, checks=(CHECKS,)):
    command = [sys.executable, "-m", "pytest", *checks, "--inventory", path, "-n", "64", "-p", "no:cacheprovider", *more]
    return measured(command, folder, env=clean_environment())


def openssh(path, asked):
    """Wall seconds and CPU seconds of ``ssh`` with the same payloads to the same hosts, 64 at once, answers thrown away."""
    work = plan.requests("bench", inventory.load(path), asked)
    exchange = Exchange()
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with ThreadPoolExecutor(64) as pool:
        list(pool.map(lambda each: one_ssh(exchange, *each), work))
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    exchange.close()
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def one_ssh(exchange, node, request):
    task = exchange._task(node, request, "0" * 16)
    with subprocess.Popen(argv(node, task.command, 60), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as ssh:
        ssh.stdin.write(task.stdin)
        ssh.stdin.flush()
        assert ssh.wait(300) == 0


def asked_in(reports):
    """What a finished run asked of each node, read back from its evidence: {node: {probe: collectors}}."""
    lines = [json.loads(line) for line in (reports / "latest" / "evidence.jsonl").read_text().splitlines()]
    assert not [line["failure"] for line in lines if line["failure"]], lines[0]["failure"]
    found = {}
    for line in lines:
        found.setdefault(line["node"], {})[line["probe"]] = set(line["answers"]) - {"runtime"}
    return found


def test_64_endpoints_beside_openssh(tmp_path, sshd):
    path = fleet(tmp_path, sshd, 64)
    ours = [fleetcheck(tmp_path, path) for _ in range(2)]
    asked = asked_in(tmp_path / "reports")
    theirs = [openssh(path, asked) for _ in range(2)]
    best, plain = min(cost.wall_seconds for cost in ours), min(wall for wall, _ in theirs)
    print(f"\n64 endpoints, {sum(len(probes) for probes in asked.values())} probes: fleetcheck {best:.1f} s, ssh alone {plain:.1f} s: {best / plain:.2f} x")
    print(f"controller CPU: fleetcheck {ours[-1].cpu_seconds:.1f} s, ssh {theirs[-1][1]:.1f} s")


def test_cpu_of_each_added_node(tmp_path, sshd, fifteen_checks):
    for words, checks in (("all checks", (CHECKS,)), ("15 checks", fifteen_checks)):
        small, large = (fleetcheck(tmp_path, fleet(tmp_path, sshd, count), checks=checks) for count in (64, 256))
        print(f"\n{words}, 64 nodes {small.cpu_seconds:.2f} CPU s, 256 nodes {large.cpu_seconds:.2f} CPU s: "
              f"{(large.cpu_seconds - small.cpu_seconds) / 192 * 1000:.0f} ms a node; wall {small.wall_seconds:.0f} and {large.wall_seconds:.0f} s")


def test_cpu_before_the_first_connection(tmp_path, sshd):
    """A whole run of one check over 64 nodes that refuse the connection bounds it from above."""
    path = fleet(tmp_path, sshd, 64, port=1)
    check = f"{Path(CHECKS)}/node/test_os.py"
    cost = measured([sys.executable, "-m", "pytest", check, "--inventory", path, "-n", "64", "-p", "no:cacheprovider"], tmp_path, env=clean_environment())
    print(f"\n-n 64, every node refusing: {cost.cpu_seconds:.2f} CPU s in all")

