"""Doors of the node: sshd, host keys, listening ports, users, passwords."""

import pytest

from fleetcheck.facts.security import readable_by_others


@pytest.mark.check(component="security", severity="warn", action="fix-config")
def test_sshd_is_set_as_promised(security):
    """sshd's settings in force are those the profile allows. Change sshd_config or its drop-ins and reload sshd."""
    assert not security.sshd.offending(security.differs)


@pytest.mark.check(component="security", severity="warn", action="fix-config")
def test_host_keys_are_private(security):
    """Only root reads the node's private host keys. Make new ones if they were open: whoever read them can pose as the node."""
    assert not security.host_keys.offending(readable_by_others)


@pytest.mark.check(component="security", severity="warn", action="observe")
def test_only_known_ports_listen(security):
    """Beyond loopback only ports of the profile listen. Find the process with ss -tlnp."""
    strange = security.strange_ports()
    assert not strange, f"listening: {', '.join(map(str, strange))}"


@pytest.mark.check(component="security", severity="warn", action="observe")
def test_only_known_users_are_logged_in(security):
    """Nobody is logged in whom the profile does not name. Ask them; their processes disturb jobs."""
    strange = security.strange_users()
    assert not strange, f"logged in: {', '.join(strange)}"


@pytest.mark.check(component="security", severity="warn", action="fix-config")
def test_passwords_have_not_run_out(security):
    """No account's password has run out or is empty; a locked one is normal where keys are used. Set it with chage."""
    assert not security.accounts.offending(lambda account: account.trouble)
