"""A node that answers: over each transport, on real parts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from fakessh import keygen, public

from fleetcheck.transport.hostkeys import KnownHosts
from fleetcheck.transport.ssh import connection_to
from fleetcheck.transport.sshconfig import Target


@pytest.mark.parametrize("transport", ["auto", "ssh", "openssh"])
def test_a_node_behind_a_real_sshd_answers(ask, node, sshd, transport):
    evidence = ask(node(sshd, transport=transport), who="me")
    assert evidence.failure is None
    assert {"hello": "me"} == evidence.answers["hello"].data
    assert os.uname().nodename == evidence.answers["runtime"].data["hostname"]


def test_this_machine_answers_without_ssh(ask, node):
    evidence = ask(node(name="localhost", address="localhost", transport="local", labels={}))
    assert evidence.failure is None
    assert {"hello": "you"} == evidence.answers["hello"].data


def test_64_nodes_answer_at_once(exchange, node, sshd, request_of):
    addresses = [f"127.0.{1 + number // 16}.{1 + number % 16}" for number in range(64)]
    known = sshd.known(*addresses, file="known_64")
    nodes = [node(sshd, name=f"n{number}", address=address, ssh={"known_hosts": known}) for number, address in enumerate(addresses)]
    with ThreadPoolExecutor(64) as pool:
        found = list(pool.map(lambda each: exchange.ask(each, request_of(seconds=30)), nodes))
    assert [] == [evidence.failure for evidence in found if evidence.failure]


def test_connections_are_made_in_many_threads_without_disturbing_each_other():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(16) as pool:
            made = list(pool.map(lambda number: connection_to(Target(f"n{number}", 22, "ops")).host, range(400)))
    finally:
        sys.setswitchinterval(interval)
    assert [f"n{number}" for number in range(400)] == made


def test_a_hashed_known_hosts_line_is_understood(ask, node, sshd):
    known = sshd.known("127.0.0.1", file="known_hashed")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)
    assert b"|1|" in known.read_bytes()
    assert ask(node(sshd, ssh={"known_hosts": known})).failure is None


def test_the_key_type_that_is_known_is_asked_for(ask, node, sshd, tmp_path):
    """A server with two host keys, of which only the one that nobody prefers is stored."""
    from fakessh import Sshd

    keygen(tmp_path / "rsa", "rsa")
    server = Sshd(tmp_path, extra=f"HostKey {tmp_path}/rsa\n")
    try:
        known = server.known("127.0.0.1", key=tmp_path / "rsa")
        for transport in ("ssh", "openssh"):
            assert ask(node(server, transport=transport, ssh={"known_hosts": known})).failure is None
    finally:
        server.stop()


def test_ssh_config_names_port_user_key_and_known_hosts(ask, node, sshd, tmp_path):
    config = tmp_path / "config"
    config.write_text(f"Host rack-*\n  HostName 127.0.0.1\n  Port {sshd.port}\n  IdentityFile {sshd.identity}\n"
                      f"  IdentitiesOnly yes\n  UserKnownHostsFile {sshd.folder}/known_hosts\n")
    evidence = ask(node(address="rack-7", ssh={"config_file": config}))
    assert evidence.failure is None


def test_a_jump_host_is_used_once_for_many_nodes(exchange, node, sshd, request_of):
    addresses = [f"127.0.9.{number}" for number in range(1, 9)]
    known = sshd.known("127.0.0.1", *addresses, file="known_jump")
    nodes = [node(sshd, address=address, ssh={"known_hosts": known, "jump": f"127.0.0.1:{sshd.port}"}) for address in addresses]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda each: exchange.ask(each, request_of(seconds=10)), nodes))
    assert [] == [evidence.failure for evidence in found if evidence.failure]


def test_openssh_jumps_with_the_nodes_key_and_known_hosts(ask, node, sshd):
    known = sshd.known("127.0.0.1", "127.0.9.20", file="known_jump2")
    settings = {"known_hosts": known, "jump": f"127.0.0.1:{sshd.port}"}
    assert ask(node(sshd, address="127.0.9.20", transport="openssh", ssh=settings)).failure is None


def test_a_node_vouched_for_by_an_authority_is_asked_by_openssh(ask, node, sshd, tmp_path):
    """paramiko verifies no host certificates."""
    from fakessh import Sshd

    authority = keygen(tmp_path / "authority")
    keygen(tmp_path / "host")
    subprocess.run(["ssh-keygen", "-q", "-s", authority, "-h", "-I", "n1", "-n", "127.0.0.1", tmp_path / "host.pub"], check=True)
    server = Sshd(tmp_path, extra=f"HostCertificate {tmp_path}/host-cert.pub\n")
    try:
        (tmp_path / "known").write_text(f"@cert-authority * {public(authority)}\n")
        evidence = ask(node(server, ssh={"known_hosts": tmp_path / "known"}))
        assert evidence.failure is None
    finally:
        server.stop()


@pytest.mark.parametrize("shell", [shell for shell in ("bash", "dash", "tcsh", "fish", "zsh") if shutil.which(shell)])
def test_every_login_shell_understands_the_line(sshd, shell):
    from nodecode import answer, payload_with, replied, request

    found = answer(payload_with("COLLECTORS = ()"), request(), shell=shutil.which(shell))
    assert {} == replied(found.stdout)["answers"]


def test_noise_around_the_reply_does_no_harm(ask, node, sshd, tmp_path):
    noisy = keygen(tmp_path / "noisy")
    sshd.authorize(noisy, 'command="echo welcome; echo \\"<<fleetcheck 00 17>>\\"; echo hm >&2; eval $SSH_ORIGINAL_COMMAND; echo bye"')
    assert ask(node(sshd, ssh={"identity_file": noisy})).failure is None


def test_an_index_of_12500_lines_is_read_once(tmp_path, sshd):
    file = tmp_path / "known"
    file.write_text("".join(f"10.0.{n // 250}.{n % 250},n{n} {public(sshd.host_key)}\n" for n in range(12_500)))
    known = KnownHosts()
    assert 12_500 == known.keys([file], "n12499", 22)[0].line
    assert known._index(file) is known._index(file)
