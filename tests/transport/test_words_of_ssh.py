"""What the ssh program and the server's login modules say of a node that does not let us in, and whose matter it is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fleetcheck.transport.logins import Keys, Login, refused, said_before
from fleetcheck.transport.openssh import failure
from fleetcheck.transport.sshconfig import Target

N1 = Target("n1", 22, "ops")
CLOSED = "\r\nConnection closed by 192.0.2.1 port 22\r\n"
NO_JOB = "Access denied by pam_slurm_adopt: you have no active jobs on this node"
STARTING = '"The system is booting up. Unprivileged users are not permitted to log in yet. See pam_nologin(8)."'


@pytest.mark.parametrize(("said", "kind", "advice"), [
    (NO_JOB + CLOSED, "authentication", "an account that its PAM configuration lets in"),
    (STARTING + CLOSED, "disconnected", "ask again in some minutes"),
    ("your account has expired; please contact your system administrator." + CLOSED, "authentication", "have the account renewed"),
    ("Received disconnect from 192.0.2.1 port 22:2: Too many authentication failures\nDisconnected from 192.0.2.1 port 22", "authentication", "name the key"),
    ("Warning: Permanently added 'n1' (ED25519) to the list of known hosts.\r\nops@n1: Permission denied (publickey).\r\n", "authentication", "authorized_keys"),
    ('Load key "/k": invalid format\nops@n1: Permission denied (publickey).', "authentication", "authorized_keys"),
    ("Certificate invalid: expired\nHost key verification failed.", "host-key-unknown", "signed anew"),
    ("Unable to negotiate with 192.0.2.1 port 22: no matching host key type found. Their offer: ssh-rsa", "disconnected", "no algorithm in common"),
    ("ssh_exchange_identification: Connection closed by remote host", "no-banner", "MaxStartups"),
    ("kex_exchange_identification: read: Connection reset by peer" + CLOSED, "no-banner", "MaxStartups"),
    ("ssh: connect to host n1 port 22: Host is down", "no-route", "powered on"),
    ("ssh: connect to host n1 port 22: Operation timed out", "connect-timeout", "powered on"),
    ("/c: line 4: Bad configuration option: foo\n/c: terminating, 1 bad configuration options", "controller", "{config_file: none}"),
    ("Bad owner or permissions on /home/u/.ssh/config", "controller", "owner and mode"),
    ("Connection reset by 192.0.2.1 port 22", "disconnected", "try: ssh ops@n1"),
    ("", "disconnected", "try: ssh ops@n1"),
])
def test_words_of_ssh_become_the_kind_of_failure_they_are(said, kind, advice):
    found = failure(said, N1)

    assert kind == found.kind
    assert advice in str(found)


@pytest.mark.parametrize(("said", "passing"), [(STARTING + CLOSED, True), ("ssh_exchange_identification: gone", True), (NO_JOB + CLOSED, False)])
def test_only_what_passes_by_is_tried_again(said, passing):
    assert passing == failure(said, N1).passing


def heard(banner):
    return SimpleNamespace(auth_handler=SimpleNamespace(banner=banner))


@pytest.mark.parametrize(("transport", "expected"), [
    (None, ""), (SimpleNamespace(auth_handler=None), ""), (heard(None), ""), (heard(b"Authorised users only.\r\n"), "; it says 'Authorised users only.'"),
])
def test_a_notice_of_the_server_is_passed_on(transport, expected):
    assert expected == said_before(transport)


@pytest.mark.parametrize(("banner", "advice"), [(NO_JOB, "an account that its PAM configuration lets in"), (STARTING, "ask again in some minutes")])
def test_why_the_server_lets_nobody_in_stands_beside_the_failure(banner, advice):
    found = refused(Login(N1, Keys()), OSError("refused"), said_before(heard(banner.encode())))

    assert "authentication" == found.kind and advice in str(found)
