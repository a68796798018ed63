"""Nodes nobody can log in to: the right kind, quickly, in words that say what to do."""

from __future__ import annotations

import pytest
from fakessh import black_hole, free_port, keygen, server


@pytest.fixture
def failure(ask, ask_briefly, node, sshd):
    """How asking this node fails."""
    def failure(transport="ssh", brief=False, **settings):
        found = (ask_briefly if brief else ask)(node(sshd, name="sick", transport=transport, **settings))
        assert found.failure is not None and {} == found.answers
        assert found.failure.message.startswith("sick: facts-fast over ")
        assert found.failure.message.isprintable()
        return found

    return failure


TRANSPORTS = pytest.mark.parametrize("transport", ["ssh", "openssh"])


@TRANSPORTS
def test_a_refused_port(failure, transport):
    found = failure(transport, ssh={"port": free_port()})
    assert "refused" == found.failure.kind
    assert "is sshd running" in found.failure.message
    assert 1 == found.attempts


@TRANSPORTS
def test_a_black_hole_costs_one_short_probe(failure, transport):
    with black_hole() as port:
        found = failure(transport, ssh={"port": port})
    assert "connect-timeout" == found.failure.kind
    assert "did not answer within 1 s" in found.failure.message


@TRANSPORTS
def test_a_port_that_never_speaks(failure, transport):
    with server(lambda connection: None) as port:
        found = failure(transport, brief=True, ssh={"port": port})
    assert "no-banner" == found.failure.kind
    assert "look at its console" in found.failure.message


def test_a_banner_and_nothing_else(failure):
    with server(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")) as port:
        found = failure(brief=True, ssh={"port": port})
    assert "no-banner" == found.failure.kind
    assert "SSH-2.0-OpenSSH_9.2" in found.failure.message


def test_a_banner_and_nothing_else_to_openssh_too(failure):
    with server(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")) as port:
        found = failure("openssh", brief=True, ssh={"port": port})
    assert "no-banner" == found.failure.kind
    assert "no login within" in found.failure.message


@TRANSPORTS
def test_a_busy_server_is_asked_three_times(failure, transport):
    def busy(connection):
        connection.sendall(b"Exceeded MaxStartups\r\n")
        connection.close()

    with server(busy) as port:
        found = failure(transport, ssh={"port": port})
    assert ("no-banner", 3) == (found.failure.kind, found.attempts)
    assert "MaxStartups" in found.failure.message


def test_another_service_on_the_port(failure):
    with server(lambda connection: connection.sendall(b"220 mail.example ESMTP\x1b[2J\r\n")) as port:
        found = failure(ssh={"port": port})
    assert "no-banner" == found.failure.kind
    assert "not an SSH server" in found.failure.message


@TRANSPORTS
def test_a_key_the_server_does_not_take(failure, tmp_path, transport):
    found = failure(transport, ssh={"identity_file": keygen(tmp_path / "stranger")})
    assert "authentication" == found.failure.kind
    assert "authorized_keys" in found.failure.message


def test_what_was_tried_is_told(failure, tmp_path):
    message = failure(ssh={"identity_file": keygen(tmp_path / "stranger")}).failure.message
    assert f"tried key {tmp_path}/stranger. Add the public key" in message


def test_a_key_with_a_passphrase_is_called_that(failure, tmp_path):
    key = keygen(tmp_path / "locked")
    import subprocess
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", key], check=True, capture_output=True)
    message = failure(ssh={"identity_file": key}).failure.message
    assert "has a passphrase: add it to an agent" in message


@TRANSPORTS
def test_an_unknown_host_key_is_not_accepted(failure, tmp_path, sshd, transport):
    (tmp_path / "empty").touch()
    found = failure(transport, ssh={"known_hosts": tmp_path / "empty"})
    assert "host-key-unknown" == found.failure.kind
    assert f"ssh-keyscan -p {sshd.port} 127.0.0.1 >> {tmp_path}/empty" in found.failure.message
    assert "" == (tmp_path / "empty").read_text()


@TRANSPORTS
def test_a_changed_host_key_names_the_stored_line(failure, tmp_path, sshd, transport):
    known = sshd.known("127.0.0.1", key=keygen(tmp_path / "old"), file="known_changed")
    found = failure(transport, ssh={"known_hosts": known})
    assert "host-key-changed" == found.failure.kind
    assert f"{known}:1" in found.failure.message


@TRANSPORTS
def test_a_revoked_host_key_is_refused(failure, sshd, transport):
    known = sshd.known("127.0.0.1", file="known_revoked")
    known.write_text(known.read_text() + f"@revoked * {' '.join(known.read_text().split()[1:])}\n")
    assert "host-key-changed" == failure(transport, ssh={"known_hosts": known}).failure.kind


@TRANSPORTS
def test_a_name_without_address(failure, transport):
    found = failure(transport, address="no-such-host.invalid")
    assert "name-resolution" == found.failure.kind
    assert "check the name in the inventory" in found.failure.message


@TRANSPORTS
def test_a_jump_host_that_is_down(failure, transport):
    found = failure(transport, ssh={"jump": f"127.0.0.1:{free_port()}"})
    assert "jump" == found.failure.kind


@TRANSPORTS
def test_a_node_down_behind_its_jump_host(failure, sshd, transport):
    found = failure(transport, ssh={"port": free_port(), "jump": f"127.0.0.1:{sshd.port}"})
    assert "no-route" == found.failure.kind
    assert "jump host" in found.failure.message


def test_an_ssh_configuration_with_an_error_is_quoted(failure, tmp_path):
    (tmp_path / "config").write_text("Hots *\n")
    assert "hots" in failure(ssh={"config_file": tmp_path / "config"}).failure.message
