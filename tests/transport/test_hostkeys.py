"""What known_hosts files say of a server's key, as ssh(1) reads them."""

from __future__ import annotations

import subprocess

import pytest
from fakessh import keygen, public

from fleetcheck.transport.hostkeys import KnownHosts, judge

NEW, OLD = "AAAAC3NzaC1lZDI1NTE5AAAAINEW", "AAAAC3NzaC1lZDI1NTE5AAAAIOLD"


def judged(folder, text, host="n7.lan", port=22, key_type="ssh-ed25519", key=NEW):
    (folder / "known").write_text(text)
    return judge(KnownHosts().keys([folder / "known"], host, port), key_type, key)


@pytest.mark.parametrize(("line", "verdict"), [
    (f"n7.lan ssh-ed25519 {NEW}", "known"),
    (f"N7.LAN ssh-ed25519 {NEW} comment here", "known"),
    (f"n1,n7.lan,n8 ssh-ed25519 {NEW}", "known"),
    (f"*.lan ssh-ed25519 {NEW}", "known"),
    (f"n?.lan ssh-ed25519 {NEW}", "known"),
    (f"*.lan,!n7.lan ssh-ed25519 {NEW}", "unknown"),
    (f"n8.lan ssh-ed25519 {NEW}", "unknown"),
    (f"[n7.lan]:2222 ssh-ed25519 {NEW}", "unknown"),
    (f"# n7.lan ssh-ed25519 {NEW}", "unknown"),
    (f"@cert-authority *.lan ssh-ed25519 {NEW}", "unknown"),
    (f"@strange n7.lan ssh-ed25519 {NEW}", "unknown"),
    ("n7.lan ssh-ed25519", "unknown"),
    ("|1|!!!|??? ssh-ed25519 x", "unknown"),
    ("\x00\xff", "unknown"),
    ("", "unknown"),
    (f"n7.lan ssh-ed25519 {OLD}", "changed"),
    (f"n7.lan ssh-ed25519 {OLD}\nn7.lan ssh-ed25519 {NEW}", "known"),
    (f"n7.lan ssh-rsa {OLD}", "changed"),
    (f"n7.lan ssh-ed25519 {NEW}\n@revoked * ssh-ed25519 {NEW}", "revoked"),
    (f"@revoked * ssh-ed25519 {OLD}\nn7.lan ssh-ed25519 {NEW}", "known"),
])
def test_a_line(tmp_path, line, verdict):
    assert verdict == judged(tmp_path, line).verdict


def test_the_stored_line_is_named(tmp_path):
    assert f"{tmp_path}/known:3" == str(judged(tmp_path, f"# a\n\nn7.lan ssh-ed25519 {OLD}\n").stored)


@pytest.mark.parametrize(("line", "verdict"), [
    (f"[n7.lan]:2222 ssh-ed25519 {NEW}", "known"),
    (f"n7.lan ssh-ed25519 {NEW}", "known"),
    (f"[n7.lan]:2222 ssh-ed25519 {OLD}\nn7.lan ssh-ed25519 {NEW}", "changed"),
])
def test_another_port_falls_back_on_the_plain_name(tmp_path, line, verdict):
    assert verdict == judged(tmp_path, line, port=2222).verdict


def test_lines_hashed_by_ssh_keygen_are_found(tmp_path):
    key = keygen(tmp_path / "key")
    known = tmp_path / "known"
    known.write_text(f"n7.lan {public(key)}\n[n8.lan]:2222 {public(key)}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)
    hosts = KnownHosts()
    assert [1] == [found.line for found in hosts.keys([known], "n7.lan", 22)]
    assert [2] == [found.line for found in hosts.keys([known], "n8.lan", 2222)]
    assert [] == hosts.keys([known], "n9.lan", 22)


def test_a_file_that_changed_is_read_again(tmp_path):
    known = tmp_path / "known"
    hosts = KnownHosts()
    assert [] == hosts.keys([known], "n7", 22)
    known.write_text(f"n7 ssh-ed25519 {NEW}\n")
    assert 1 == len(hosts.keys([known], "n7", 22))


@pytest.mark.parametrize(("line", "vouched"), [
    (f"@cert-authority *.lan ssh-ed25519 {NEW}", True),
    (f"@cert-authority *.wan ssh-ed25519 {NEW}", False),
    (f"*.lan ssh-ed25519 {NEW}", False),
])
def test_an_authority_is_noticed(tmp_path, line, vouched):
    (tmp_path / "known").write_text(line)
    assert vouched == KnownHosts().vouched([tmp_path / "known"], "n7.lan", 2222)
