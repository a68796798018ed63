"""What the user's ssh configuration means for a node."""

from __future__ import annotations

import shutil

import pytest
from fakessh import keygen

from fleetcheck.nodes import Node, SshSettings
from fleetcheck.transport import TransportError, sshconfig
from fleetcheck.transport.sshconfig import Resolver, jump_settings, plain

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh program: install openssh-client")


@pytest.fixture
def target(tmp_path, monkeypatch):
    monkeypatch.delenv("KRB5CCNAME", raising=False)

    def target(config="", address="n7", **settings):
        (tmp_path / "config").write_text(config)
        return Resolver().target(address, SshSettings(config_file=tmp_path / "config", **settings))

    return target


def test_the_inventory_wins_over_the_configuration(target, tmp_path):
    keygen(tmp_path / "key")
    found = target("Host *\n User other\n Port 1\n IdentityFile /nope\n", user="ops", port=2222, identity_file=tmp_path / "key")
    assert ("ops", 2222, True) == (found.user, found.port, found.identities_only)
    assert tmp_path / "key" == found.identities[0]


def test_host_match_include_and_jump_are_read(target, tmp_path):
    (tmp_path / "more").write_text("Match host n7.cluster\n  User ops\n  ProxyJump bastion:2222\n")
    found = target(f"Host n7\n  HostName %h.cluster\nInclude {tmp_path}/more\nHost *\n  HostKeyAlias seven\n")
    assert ("n7.cluster", "ops", "bastion:2222", "seven") == (found.host, found.user, found.jump, found.alias)
    assert not found.direct


def test_known_hosts_paths_are_expanded(target, tmp_path):
    found = target(f"UserKnownHostsFile {tmp_path}/%h.keys ~/x\nGlobalKnownHostsFile none\n", address="n7")
    assert str(tmp_path / "n7.keys") == str(found.known_hosts[0])
    assert "~" not in str(found.known_hosts[1])


def test_known_hosts_of_the_inventory_are_the_only_ones(target, tmp_path):
    assert (tmp_path / "known hosts",) == target(known_hosts=tmp_path / "known hosts").known_hosts


@pytest.mark.parametrize(("config", "reason"), [
    ("", ""),
    ("GSSAPIAuthentication yes\n", ""),
    ("ProxyCommand nc %h %p\n", "a ProxyCommand"),
    ("CertificateFile /k-cert.pub\n", "a user certificate"),
    ("ControlPath /nope\n", ""),
    ("ControlPath /tmp\n", "a shared connection"),
    ("PKCS11Provider /p.so\n", "a PKCS#11 provider"),
])
def test_what_paramiko_cannot_do_goes_to_openssh(target, config, reason):
    assert reason == target(config).needs_openssh


def test_a_fido_key_goes_to_openssh(target, tmp_path):
    (tmp_path / "key").write_text("private")
    (tmp_path / "key.pub").write_text("sk-ssh-ed25519@openssh.com AAAA\n")
    assert "a FIDO key" == target(identity_file=tmp_path / "key").needs_openssh


def test_a_kerberos_ticket_goes_to_openssh(target, monkeypatch):
    monkeypatch.setenv("KRB5CCNAME", "FILE:/tmp/ticket")
    assert "Kerberos" == target("GSSAPIAuthentication yes\n").needs_openssh


def test_a_broken_configuration_names_its_line(target):
    with pytest.raises(TransportError, match="line 1: Bad configuration option: hots"):
        target("Hots *\n")


def test_a_program_that_cannot_be_started_for_a_moment_is_started_again(tmp_path, monkeypatch):
    """Held open for writing it is busy; once let go it runs."""
    program, pauses = tmp_path / "ssh", []
    program.write_text("#!/bin/sh\nexec /usr/bin/ssh \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "config").write_text("User ops\n")
    with program.open("a") as held:
        monkeypatch.setattr(sshconfig.time, "sleep", lambda seconds: (pauses.append(seconds), held.close()))
        assert "ops" == Resolver().target("n7", SshSettings(config_file=tmp_path / "config")).user
    assert 1 == pauses.count(sshconfig.PAUSE_SECONDS)


def test_one_that_never_starts_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(sshconfig, "PAUSE_SECONDS", 0.0)
    resolver = Resolver()
    resolver._ssh = str(tmp_path / "none")
    with pytest.raises(TransportError, match=r"ssh -G, which reads your ssh configuration, failed: .*No such file") as said:
        resolver.target("n7", SshSettings())
    assert "controller" == said.value.kind


def test_a_node_is_resolved_once(target, tmp_path):
    resolver = Resolver()
    settings = SshSettings(config_file=tmp_path / "config")
    (tmp_path / "config").write_text("User ops\n")
    assert "ops" == resolver.target("n7", settings).user
    (tmp_path / "config").unlink()
    assert "ops" == resolver.target("n7", settings).user


def test_an_option_beginning_with_a_dash_is_an_address(target):
    with pytest.raises(TransportError):
        target(address="-oProxyCommand=touch x")


def test_without_an_ssh_program_the_inventory_is_all_there_is(tmp_path):
    keygen(tmp_path / "key")
    found = plain("n7", SshSettings(user="ops", identity_file=tmp_path / "key", known_hosts=tmp_path / "known"))
    assert ("n7", 22, "ops", (tmp_path / "key",), (tmp_path / "known",)) == (
        found.host, found.port, found.user, found.identities, found.known_hosts)


@pytest.mark.parametrize(("hop", "address", "user", "port"), [
    ("bastion", "bastion", None, None),
    ("ops@bastion:2222", "bastion", "ops", 2222),
    ("[fe80::1]:22", "fe80::1", None, 22),
    ("fe80::1", "fe80::1", None, None),
    ("ssh://ops@bastion:22", "bastion", "ops", 22),
])
def test_a_jump_host_as_openssh_writes_it(hop, address, user, port):
    found, settings = jump_settings(Node("n7", "n7", "cpu"), hop)
    assert (address, user, port) == (found, settings.user, settings.port)
