"""One login for all that a node is asked in one visit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from nodecode import payload_with

from fleetcheck.exchange import Exchange
from fleetcheck.gather import Gathering
from fleetcheck.journal import Journal
from fleetcheck.records import Answer, Evidence, Failure
from fleetcheck.run import RunError
from fleetcheck.transport.attempt import Limits
from fleetcheck.transport.lane import Lane

COLLECTORS = """
import os
def door(host, settings):
    return {"connection": os.environ.get("SSH_CONNECTION", "")}
COLLECTORS = (("door", door, 5),)
"""


@pytest.fixture(scope="module")
def doors():
    exchange = Exchange(limits=Limits(connect_seconds=1.0, login_seconds=30.0, grace_seconds=0.2), archive=payload_with(COLLECTORS))
    yield exchange
    exchange.close()


@pytest.fixture
def through(doors, request_of):
    """The connection a probe came through."""
    def asked(node, lane=None):
        evidence = doors.ask(node, request_of("door"), lane)
        assert evidence.failure is None, evidence.failure
        return evidence.answers["door"].data["connection"]
    return asked


def test_a_lane_carries_one_probe_after_the_other_over_one_login(through, node, sshd):
    with Lane() as lane:
        first = through(node(sshd), lane)
        assert first and {first} == {through(node(sshd), lane) for _ in range(3)}
        transport, closes = lane.take()
        lane.keep(transport, closes)
        assert transport.is_active()
    assert not transport.is_active()
    assert through(node(sshd)) != through(node(sshd))


def test_so_does_one_behind_a_jump_host(through, node, sshd):
    behind = node(sshd, ssh={"jump": f"127.0.0.1:{sshd.port}"})
    with Lane() as lane:
        assert through(behind, lane) == through(behind, lane)
    assert through(behind)


def test_a_connection_that_broke_in_between_is_made_again(through, node, sshd):
    with Lane() as lane:
        first = through(node(sshd), lane)
        transport, closes = lane.take()
        transport.close()
        lane.keep(transport, closes)
        assert first != through(node(sshd), lane)


class Told:
    """An exchange that answers what a test says, and notes who was asked what."""

    def __init__(self, failures):
        self.failures, self.asked = failures, []

    def ask(self, node, request, lane=None):
        self.asked.append((node.name, request.probe))
        failure = self.failures.get((node.name, request.probe))
        return Evidence("run", "facts", request.probe, node.name, "", 0.1, 1, failure, {} if failure else {"hello": Answer(True)})

    def close(self):
        pass


@pytest.fixture
def gathered(tmp_path, node, request_of):
    def all_of(exchange, *names):
        gathering = Gathering(exchange, Journal(tmp_path / "evidence.jsonl"), 4, lambda: None)
        requests = [request_of("hello"), request_of("hello")]
        requests[1] = type(requests[1])(**{**vars(requests[1]), "probe": "facts-slow"})
        gathering.start([(node(name=name), request) for name in names for request in requests])
        found = {(name, probe): gathering.evidence(name, probe) for name in names for probe in ("facts-fast", "facts-slow")}
        gathering.close()
        return found
    return all_of


def test_a_node_that_lets_nobody_in_is_not_knocked_at_again(gathered):
    exchange = Told({("n1", "facts-fast"): Failure("refused", "n1: nobody listens"), ("n2", "facts-fast"): Failure("deadline", "n2: late")})
    found = gathered(exchange, "n1", "n2")
    assert {("n1", "facts-fast"), ("n2", "facts-fast"), ("n2", "facts-slow")} == set(exchange.asked)
    assert ("facts-slow", 0, "n1: nobody listens") == (found["n1", "facts-slow"].probe, found["n1", "facts-slow"].attempts, found["n1", "facts-slow"].failure.message)
    assert found["n2", "facts-slow"].failure is None


def test_a_full_disk_is_told_to_whoever_waits(gathered, monkeypatch):
    def full(self, evidence):
        raise RunError("no space left")
    monkeypatch.setattr(Journal, "append", full)
    with ThreadPoolExecutor(1) as pool, pytest.raises(RunError, match="no space left"):
        pool.submit(gathered, Told({}), "n1").result(20)
