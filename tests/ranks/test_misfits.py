"""Nodes that cannot take part, ports that are taken, controllers that go away: a clear word each, nothing hangs, nothing is left."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fleetrun import attentive
from rack import TERMS, Rack, ranks_left

import fleetcheck
from fleetcheck.collective.bench import Bench
from fleetcheck.collective.launcher import Ports
from fleetcheck.collective.members import Ready

BENCHES = [Bench("all_reduce", (8,), iterations=3, warmup=1)]
ENDLESS = [Bench("all_reduce", (1 << 20,), iterations=100000)]
BRIEF = replace(TERMS, rendezvous_seconds=8)


@pytest.fixture(scope="module")
def rack(tmp_path_factory):
    settings = {"bare": "{torch_python: /usr/bin/true}", "gone": "{torch_python: /opt/none/bin/python}",
                "odd": "{interconnect: {device: cpu, interface: nosuch0}}"}
    found = Rack(tmp_path_factory.mktemp("rack"), {"n1": "", "n2": "", "bare": "", "gone": "", "odd": ""}, settings)
    yield found
    found.stop()


def test_nodes_that_cannot_take_part_say_why_and_what_to_do(rack):
    assert ["n1", "n2"] == sorted(rack.ready)
    said = {name: failure.message for name, failure in rack.refused.items()}
    assert "bare: it cannot take part in trials: /usr/bin/true: it said nothing; give the Python that has torch: torch_python" == said["bare"]
    assert "gone: it cannot take part in trials: /opt/none/bin/python: No such file or directory; give the Python that has torch: " \
        "torch_python" == said["gone"]
    assert said["odd"].startswith("odd: it has no interface nosuch0 (it has ") and "correct the interface in the inventory" in said["odd"]


def test_a_member_without_torch_is_no_outcome_of_the_interconnect(rack):
    ready = {**rack.ready, "gone": Ready("gone", rack.nodes["gone"].address, 1, (), {})}
    run = rack.trial("n1", "gone", benches=BENCHES, terms=BRIEF, ready=ready).run
    assert run.trial is None and ["gone"] == list(run.refused)
    assert "gone: it cannot take part: /opt/none/bin/python: No such file or directory; look at torch_python of the inventory" == \
        run.refused["gone"].message


def test_a_name_that_does_not_resolve_is_no_outcome_of_the_interconnect(rack):
    ready = {**rack.ready, "n1": replace(rack.ready["n1"], address="nowhere.invalid")}
    run = rack.trial("n1", "n2", benches=BENCHES, terms=BRIEF, ready=ready).run
    assert run.trial is None and {"n1", "n2"} == set(run.refused)
    assert "n2: it cannot take part: the master's name nowhere.invalid does not resolve here" in run.refused["n2"].message
    assert "look at DNS or /etc/hosts of this node" in run.refused["n2"].message


def test_a_port_taken_meanwhile_is_left_for_another(rack):
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        port = other.getsockname()[1]
        ports = Ports(f"{port}-{port + 40}")
        ready = {name: replace(each, free_ports=tuple(range(port, port + 41))) for name, each in rack.ready.items()}
        launch = rack.trial("n1", "n2", benches=BENCHES, terms=BRIEF, ready=ready, ports=ports)
    assert "ok" == launch.run.trial.outcome and port < launch.port <= port + 40
    assert ("n1", "n2") == launch.run.trial.members


def test_no_free_port_is_said(rack):
    ready = {name: replace(each, free_ports=()) for name, each in rack.ready.items()}
    run = rack.trial("n1", "n2", benches=BENCHES, ready=ready).run
    assert run.trial is None and "no free port in 29500-29599 on any member; give another range: ports" in run.refused["n1"].message


SCRIPT = """
    import sys
    from fleetcheck.collective.bench import Bench
    from fleetcheck.collective.launcher import Ports, Terms, run_trial
    from fleetcheck.collective.members import Ready, ports_of
    from fleetcheck.collective.rounds import Planned
    from fleetcheck.exchange import Exchange
    from fleetcheck.nodes import Node
    terms = Terms("r1", seconds=600)
    nodes = {name: Node(name, "127.0.0.1", "p", transport="local", torch_python=sys.executable, interconnect={"device": "cpu"})
             for name in ("n1", "n2")}
    ready = {name: Ready(name, "127.0.0.1", 1, tuple(ports_of("29700-29799")), {}) for name in nodes}
    exchange = Exchange()
    try:
        launch = run_trial(exchange, Planned("pair", ("n1", "n2")), nodes, [Bench("all_reduce", (1 << 20,), iterations=100000)], terms,
                           id_="t1", round_=1, ready=ready, ports=Ports("29700-29799"))
    except KeyboardInterrupt:
        exchange.close()
        sys.exit(130)
"""


def started(folder):
    """A controller in a process of its own, once both ranks are at work."""
    environment = {**os.environ, "FC_MARK": str(folder), "PYTHONPATH": str(Path(fleetcheck.__file__).parents[1])}
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(SCRIPT)], cwd=folder, env=environment, preexec_fn=attentive)
    while len(ranks_left(folder)) < 2:
        assert process.poll() is None
        time.sleep(0.1)
    return process


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)], ids=["ctrl-c", "kill-9"])
def test_ranks_end_with_their_controller(tmp_path, number, status):
    process = started(tmp_path)
    time.sleep(2)
    process.send_signal(number)
    assert status == process.wait(30)
    until = time.monotonic() + 20
    while ranks_left(tmp_path) and time.monotonic() < until:
        time.sleep(0.1)
    assert [] == ranks_left(tmp_path)


def test_a_run_that_is_ended_blames_nobody(rack):
    closing = threading.Timer(6.0, rack.exchange.close)
    closing.start()
    run = rack.trial("n1", "n2", benches=ENDLESS).run
    assert run.trial is None and all("given up because the run was ended" in failure.message for failure in run.refused.values())
    until = time.monotonic() + 20
    while ranks_left(rack.sandbox.directory) and time.monotonic() < until:
        time.sleep(0.1)
    assert [] == ranks_left(rack.sandbox.directory)
