"""Who may come in, and by which door. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.asked import words
from fleetcheck.bound import Choice
from fleetcheck.facts.growth import measured, noted
from fleetcheck.facts.named import Setting, listed
from fleetcheck.facts.named import settings as settings_of
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile, SecurityProfile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Parts, Reading, View

LOCKED = ("L", "LK")
"""Normal for accounts that log in by key only."""
USABLE = ("P", "PS")
EMPTY = ("NP",)
SAME = {"without-password": ("prohibit-password",), "prohibit-password": ("without-password",)}
"""sshd -T prints the old word for what sshd_config(5) calls prohibit-password."""
FOR_OTHERS = 0o077
SSH_KEYS_GROUP = 0o640
"""RHEL keeps host keys readable for the group ssh_keys."""


class Account(View):
    """One account's password, as passwd -S tells it."""

    __slots__ = ("today",)
    status = Reading(str)
    changed = Reading(str)
    longest_days = Reading(int)
    today: str

    @property
    def trouble(self) -> Concern | None:
        """Why it cannot be used, or by anybody. A locked password is none."""
        status = self.status
        if status in EMPTY:
            return Concern("has no password")
        if status not in (*LOCKED, *USABLE):
            raise NotMeasured(f"{self.label}: passwd tells the status {status!r:.20}")
        return Concern(f"its password ran out on {self.ends}") if status in USABLE and self.ends < _date(self.today) else None

    @property
    def ends(self) -> datetime.date:
        """The last day of its password."""
        days = self.longest_days
        far = days < 0 or days >= 99999
        return datetime.date.max if far else _date(self.changed) + datetime.timedelta(days=days)


class Security(View):
    """The doors of a node."""

    __slots__ = ("profile",)
    today = Reading(str)

    def __init__(self, data: Mapping[str, Any], profile: Profile) -> None:
        super().__init__(data, "security")
        self.profile = profile

    @property
    def sshd(self) -> Parts[Setting]:
        """sshd's settings that the profile speaks of."""
        names = self._promised.sshd
        if not names:
            pytest.skip(f"profile {self.profile.name} says nothing of sshd")
        return Parts(list(settings_of(self.raw, "sshd", names, "sshd").values()), "settings of sshd", len(names))

    def differs(self, setting: Setting) -> Concern | None:
        """What a setting of sshd is instead of what the profile allows."""
        expected = self._promised.sshd[setting.part.slot if setting.part else ""]
        value = setting.value
        word = next((other for other in SAME.get(str(value), ()) if other in expected.allowed), value)
        return None if word in expected else Concern(f"is {value} (limit {expected})")

    @property
    def host_keys(self) -> Parts[Setting]:
        """Private host keys, by their modes."""
        found = self.get("host_keys", dict)
        if isinstance(found, Absent):
            return Parts([], "host keys", unreadable=[found.reason])
        keys = list(settings_of(self.raw, "host_keys", found, "host key").values())
        return Parts(keys, "host keys", unreadable=() if keys else ("no host key",))

    def strange_ports(self) -> list[int]:
        """Ports that listen on more than loopback and that the profile does not name."""
        named = self._choice("ports")
        return noted("security.strange_ports", [port for port in listed(self, "ports", int) if str(port) not in named.allowed])

    def strange_users(self) -> list[str]:
        """Users logged in whom the profile does not name."""
        named = self._choice("users")
        return noted("security.strange_users", [name for name in listed(self, "users", str) if name not in named.allowed])

    @property
    def accounts(self) -> Parts[Account]:
        """The accounts asked about."""
        found = self.get("accounts", dict)
        if isinstance(found, Absent):
            return Parts([], "accounts", unreadable=[found.reason])
        listed = words(self.profile.security.accounts if self.profile.security else None)
        if not found and not listed:
            pytest.skip("no account here has a shell")
        return Parts([self._account(name, found.get(name)) for name in listed or found], "accounts")

    def _account(self, name: str, raw: object) -> Account:
        account = Account(raw, "account", Part("account", f"account {name}", name))
        account.today = self.today
        return account

    @property
    def _promised(self) -> SecurityProfile:
        if self.profile.security is None:
            pytest.skip(f"profile {self.profile.name} says nothing of security")
        return self.profile.security

    def _choice(self, name: str) -> Choice:
        found: Choice | None = getattr(self._promised, name)
        if found is None:
            pytest.skip(f"profile {self.profile.name} lists no {name}")
        return found


def readable_by_others(key: Setting) -> Concern | None:
    """Whether anybody but root may read a private host key."""
    mode = int(measured(key.value), 8)
    return Concern(f"has mode {mode:o}: others may read it") if mode & FOR_OTHERS & ~SSH_KEYS_GROUP else None


def _date(text: object) -> datetime.date:
    if isinstance(text, Absent):
        raise NotMeasured(text.reason)
    try:
        return datetime.date.fromisoformat(str(text))
    except ValueError:
        raise NotMeasured(f"{text!r:.40} is no date") from None


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Security:
    """The doors as told by the node."""
    return Security(data, profile)
