"""The exchange as a whole: how it ends, what it logs, what it leaves to others."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fakessh import Sshd, black_hole, keygen, server

from fleetcheck.exchange import Exchange
from fleetcheck.transport.attempt import Limits

PATIENT = Limits(connect_seconds=60, login_seconds=60, grace_seconds=60)


@pytest.fixture
def patient(archive):
    exchange = Exchange(limits=PATIENT, archive=archive)
    yield exchange
    exchange.close()


def test_closing_ends_every_ask_at_once(patient, node, sshd, request_of, tmp_path):
    """In TCP connect, before the banner, in key exchange, in a collector; over each transport."""
    hang = keygen(tmp_path / "hang")
    sshd.authorize(hang, 'command="exec cat >/dev/null"')
    told = threading.Semaphore(0)

    def banner(connection):
        connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        told.release()

    with black_hole() as hole, server(lambda connection: told.release()) as mute, server(banner) as half:
        nodes = [node(sshd, transport=transport, ssh=settings) for transport in ("ssh", "openssh")
                 for settings in ({"port": hole}, {"port": mute}, {"port": half}, {"identity_file": hang})]
        with ThreadPoolExecutor(len(nodes)) as pool:
            asked = [pool.submit(patient.ask, each, request_of(seconds=60)) for each in nodes]
            for _ in range(4):
                told.acquire()
            patient.close()
            failures = [ask.result(20).failure for ask in asked]
    assert {"disconnected"} == {failure.kind for failure in failures}
    assert all("the run was ended" in failure.message for failure in failures)


def test_an_ask_after_closing_is_answered_at_once(patient, node, sshd, request_of):
    patient.close()
    assert "disconnected" == patient.ask(node(sshd), request_of()).failure.kind


def test_no_thread_outlives_the_exchange(archive, node, sshd, request_of):
    before = set(threading.enumerate())
    exchange = Exchange(archive=archive)
    assert exchange.ask(node(sshd), request_of(seconds=20)).failure is None
    exchange.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set() == set(threading.enumerate()) - before


def test_each_ask_is_a_line_of_the_log(archive, node, sshd, request_of, tmp_path, capfd, caplog):
    exchange = Exchange(log=tmp_path / "gather.log", limits=Limits(connect_seconds=1), archive=archive)
    exchange.ask(node(sshd), request_of(seconds=20))
    with black_hole() as port:
        exchange.ask(node(sshd, name="n2", ssh={"port": port}), request_of())
    exchange.close()
    first, second = (tmp_path / "gather.log").read_text().splitlines()
    assert " facts facts-fast n1 in " in first
    assert " facts facts-fast n2 in " in second and "did not answer" in second
    assert ("", "") == capfd.readouterr()
    assert [] == caplog.records


def test_a_fleet_behind_maxstartups_is_gathered(archive, node, request_of, tmp_path):
    """A real sshd that drops logins at random once three are waiting."""
    from fakessh import NO_SSHD, SSHD

    if SSHD is None:
        pytest.skip(NO_SSHD)
    busy = Sshd(tmp_path, extra="")
    busy.stop()
    config = next(tmp_path.glob("sshd_config_*"))
    config.write_text(config.read_text().replace("MaxStartups 1000", "MaxStartups 3:60:6"))
    busy.start(config)
    busy.known("127.0.0.1")
    exchange = Exchange(archive=archive)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: exchange.ask(node(busy), request_of(seconds=20)), range(8)))
        kinds = {evidence.failure.kind for evidence in found if evidence.failure}
        assert kinds <= {"no-banner"}
        assert sum(evidence.failure is None for evidence in found) >= 5
    finally:
        exchange.close()
        busy.stop()


def test_a_key_in_an_agent_logs_in(archive, node, sshd, request_of, tmp_path, monkeypatch):
    """Only the public half lies beside the configuration."""
    key = keygen(tmp_path / "held")
    sshd.authorize(key)
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", tmp_path / "agent"], stdout=subprocess.PIPE)
    try:
        agent.stdout.readline()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
        subprocess.run(["ssh-add", "-q", key], check=True, capture_output=True)
        (tmp_path / "config").write_text("IdentityFile /nope\n")
        exchange = Exchange(archive=archive)
        for transport in ("ssh", "openssh"):
            settings = {"identity_file": None, "config_file": tmp_path / "config"}
            assert exchange.ask(node(sshd, transport=transport, ssh=settings), request_of(seconds=20)).failure is None
        exchange.close()
    finally:
        agent.terminate()
        agent.wait()
        agent.stdout.close()


def test_warnings_of_libraries_are_no_failures(sshd, tmp_path):
    """Under -W error, where cryptography's deprecations would be exceptions."""
    script = f"""
import socket
from fleetcheck.exchange import Exchange, Request
from fleetcheck.nodes import Node, SshSettings
from pathlib import Path
ssh = SshSettings(port={sshd.port}, identity_file=Path({str(sshd.identity)!r}), known_hosts=Path({str(sshd.folder / "known_hosts")!r}))
exchange = Exchange()
for transport in ("ssh", "openssh", "local"):
    node = Node("n1", "127.0.0.1", "cpu", ssh=ssh, transport=transport, labels={{"hostname": socket.gethostname()}})
    print(exchange.ask(node, Request("r", "facts", "facts-fast", (), 20)).failure)
exchange.close()
"""
    done = subprocess.run([sys.executable, "-W", "error", "-X", "dev", "-c", script], capture_output=True, text=True, check=False)
    assert ("None\n" * 3, "") == (done.stdout, done.stderr)


def test_no_file_of_fabric_is_read(archive, node, sshd, request_of, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".fabric.yml").write_text("{broken")
    exchange = Exchange(archive=archive)
    assert exchange.ask(node(sshd), request_of(seconds=20)).failure is None
    exchange.close()
