"""SSH trouble whose error texts misled people: the message names the host, what was tried, and the file to look at."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from fakessh import keygen, server

from fleetcheck import inventory
from fleetcheck.nodes import SshSettings
from fleetcheck.observed import observe
from fleetcheck.records import Planned
from fleetcheck.transport import TransportError
from fleetcheck.transport.sshconfig import Resolver
from fleetcheck.verdict_rules import rule

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh program: install openssh-client")


@pytest.fixture
def failure(ask, node, sshd):
    """How asking this node fails."""
    return lambda **settings: ask(node(sshd, name="sick", **settings)).failure


def verdict(node, failure):
    planned = Planned("run", "facts", "test_x", node.name, "x", "cpu", "fatal", "isolate", ("facts-fast",))
    return rule(observe([node], [planned], [], {node.name: failure})[node.name])


@pytest.mark.parametrize("words", [b"Security Violation<br> Please logout<br>\r\n", b"", b"\x15\x03\x01\x00\x02\x02\x46"])
def test_a_gateways_words_in_place_of_a_banner_blame_no_hardware(failure, node, words):
    """A gateway's page, a closed connection, a TLS alert: three tries at most, and no finding about the node."""
    def say(connection):
        connection.sendall(words)
        connection.close()

    with server(say) as port:
        found = failure(ssh={"port": port})
        assert "no-banner" == found.kind
        ruling = verdict(node(name="sick"), found)
    assert ("unreachable", "none") == (ruling.verdict, ruling.action)


@pytest.mark.parametrize("kind", ["rsa", "ecdsa", "ed25519"])
def test_a_refused_key_of_any_kind_is_an_authentication_failure(failure, tmp_path, kind):
    """Libraries name the last class of key that did not fit: "encountered RSA key, expected OPENSSH key"."""
    found = failure(ssh={"identity_file": keygen(tmp_path / "stranger", kind)})

    assert "authentication" == found.kind
    assert "authentication failed" in found.message and f"key {tmp_path}/stranger" in found.message
    assert "expected OPENSSH" not in found.message


@pytest.mark.parametrize("text", ["", "not a key\n", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"])
def test_a_file_that_is_no_key_is_told_beside_the_failure(failure, tmp_path, text):
    (tmp_path / "broken").write_text(text)
    found = failure(ssh={"identity_file": tmp_path / "broken"})

    assert "authentication" == found.kind
    assert f"key {tmp_path}/broken (is no private key" in found.message


def test_an_authorized_keys_file_of_somebody_else_is_an_authentication_failure(failure, tmp_path, sshd):
    """One node of many that refuses the fleet's key: look at the file on that node."""
    found = failure(ssh={"identity_file": keygen(tmp_path / "unknown-there")})

    assert "authorized_keys there" in found.message


def test_another_port_with_another_key_is_not_a_changed_host(ask, node, sshd, tmp_path):
    """Nodes behind one address: the plain name's key belongs to another machine."""
    other = keygen(tmp_path / "other")
    public = " ".join(other.with_name("other.pub").read_text().split()[:2])
    known = sshd.known("127.0.0.1", file="known_ports")
    known.write_text(f"127.0.0.1 {public}\n[127.0.0.1]:1 {public}\n{known.read_text()}")

    assert ask(node(sshd, ssh={"known_hosts": known})).failure is None


def test_a_changed_key_names_host_port_file_and_line(failure, tmp_path, sshd):
    known = sshd.known("127.0.0.1", key=keygen(tmp_path / "reinstalled"), file="known_reinstalled")
    message = failure(ssh={"known_hosts": known}).message

    assert f"port {sshd.port}" in message and "127.0.0.1" in message and f"{known}:1" in message
    assert f"ssh-keygen -R '[127.0.0.1]:{sshd.port}'" in message


CONFIGS = [
    "Host 192.0.2.1  # Bob's server\n    User root\n",
    "Match host=*\n    User ops\n",
    "Match final all\n    ServerAliveInterval 30\n",
    'Match originalhost 192.0.2.9 exec ">&2 echo no"\n    User nobody\n',
    "Include more.d/*.conf\n",
]


@pytest.mark.parametrize("config", CONFIGS)
def test_what_openssh_reads_is_read(tmp_path, config):
    """Configurations at which libraries stumble before any connection."""
    (tmp_path / "config").write_text(config + "Host *\n    User ops\n")

    assert "ops" == Resolver().target("n7", SshSettings(config_file=tmp_path / "config")).user


def test_a_match_that_does_not_hold_gives_no_jump_host(tmp_path):
    """An attribute that this ssh does not know is an error with its line; it is never applied to everybody."""
    (tmp_path / "config").write_text("Match localnetwork 198.51.100.0/24\n    ProxyJump nobody-there\n")
    settings = SshSettings(config_file=tmp_path / "config")
    try:
        jump = Resolver().target("n7", settings).jump
    except TransportError as error:
        assert "controller" == error.kind
        assert f"{tmp_path}/config line 1" in str(error) and "config_file: none" in str(error)
    else:
        assert "" == jump


def test_a_broken_configuration_judges_no_node(failure, node, tmp_path):
    (tmp_path / "config").write_text("Host *\n    Port many\n")
    found = failure(ssh={"config_file": tmp_path / "config", "port": None})
    ruling = verdict(node(name="sick"), found)

    assert ("controller", "unknown") == (found.kind, ruling.verdict)
    assert f"{tmp_path}/config line 2" in found.message


def test_a_node_can_do_without_any_configuration(ask, node, sshd, tmp_path, monkeypatch):
    """``config_file: none`` passes over a configuration that cannot be read."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ask(node(sshd, ssh={"config_file": "none"})).failure is None


def test_an_inventory_says_none_for_no_configuration(tmp_path):
    (tmp_path / "x.yaml").write_text("fleet: f\ndefaults: {profile: cpu-host}\nssh: {config_file: none}\nnodes: {n1: {}}\n")
    assert "none" == str(inventory.load(tmp_path / "x.yaml").nodes[0].ssh.config_file)


def test_a_warning_about_known_hosts_does_not_hide_the_reason(failure, sshd):
    """"Permanently added …" comes first on standard error, then that the login shell is missing."""
    key = keygen(sshd.folder / f"noshell{os.getpid()}")
    sshd.authorize(key, "command=\"printf 'Warning: Permanently added node-k (ECDSA) to the list of known hosts.\\r\\n"
                        "bash: /usr/bin/zsh: No such file or directory\\n' >&2; exit 127\"")
    found = failure(ssh={"identity_file": key})

    assert "node-code" == found.kind
    assert "exit status 127" in found.message and "No such file or directory" in found.message


def test_a_hashed_line_of_another_key_type_is_no_conflict(ask, node, sshd):
    """An rsa entry beside the ed25519 one: the kind that is stored is asked for."""
    rsa = keygen(sshd.folder / f"rsa{os.getpid()}", "rsa")
    known = sshd.known("127.0.0.1", file="known_mixed")
    public = " ".join(rsa.with_name(rsa.name + ".pub").read_text().split()[:2])
    known.write_text(f"[127.0.0.2]:{sshd.port} {public}\n{known.read_text()}")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)

    assert ask(node(sshd, ssh={"known_hosts": known})).failure is None
