"""A real sshd for the whole session, and asks of one node with short deadlines."""

from __future__ import annotations

import socket

import pytest
from fakessh import NO_SSHD, SSHD, Sshd
from nodecode import payload_with

from fleetcheck.exchange import Exchange, Request
from fleetcheck.nodes import Node, SshSettings
from fleetcheck.transport.attempt import Limits

LIMITS = Limits(connect_seconds=1.0, login_seconds=30.0, grace_seconds=5.0)
COLLECTORS = """
def hello(host, settings):
    return {"hello": settings.get("who", "you")}
COLLECTORS = (("hello", hello, 5),)
"""


@pytest.fixture(scope="session")
def sshd(tmp_path_factory):
    if SSHD is None:
        pytest.skip(NO_SSHD)
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    server.known("127.0.0.1")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def archive():
    return payload_with(COLLECTORS)


@pytest.fixture
def exchange(archive):
    exchange = Exchange(limits=LIMITS, archive=archive)
    yield exchange
    exchange.close()


def a_node(sshd=None, name="n1", address="127.0.0.1", **more):
    """A node behind the test's sshd; ``ssh`` settings given replace single ones."""
    settings = {"port": sshd.port, "identity_file": sshd.identity, "known_hosts": sshd.folder / "known_hosts"} if sshd else {}
    settings.update(more.pop("ssh", {}))
    more.setdefault("labels", {"hostname": socket.gethostname()})
    return Node(name, address, "cpu", ssh=SshSettings(**settings), **more)


def a_request(*collectors, seconds=20.0, **settings):
    return Request("run", "facts", "facts-fast", collectors or ("hello",), seconds, settings)


@pytest.fixture
def ask(exchange):
    """Ask one node; the evidence."""
    return lambda node, *collectors, **more: exchange.ask(node, a_request(*collectors, **more))


@pytest.fixture
def ask_briefly(archive):
    """Ask one node that is going to hang."""
    exchange = Exchange(limits=Limits(connect_seconds=1.0, login_seconds=2.0, grace_seconds=0.2), archive=archive)
    yield lambda node, *collectors, **more: exchange.ask(node, a_request(*collectors, **more))
    exchange.close()


@pytest.fixture
def node():
    return a_node


@pytest.fixture
def request_of():
    return a_request
