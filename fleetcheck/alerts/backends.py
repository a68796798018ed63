"""Who is told: each Alertmanager, and the webhook. Runs on the controller."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from fleetcheck.alerts import outward, payload
from fleetcheck.alerts.alert import Alert
from fleetcheck.alerts.terms import AlertsEntry

Resolved = Mapping[str, tuple[Alert, str]]


class Backend(Protocol):
    """Somebody who is told."""

    @property
    def name(self) -> str:
        """As people know it; nothing secret."""
        ...

    @property
    def key(self) -> str:
        """As the ledger knows it."""
        ...

    def news(self, firing: Sequence[Alert], known: Mapping[str, Alert], resolved: Resolved) -> bool:
        """Whether there is anything to send."""
        ...

    def send(self, fleet: str, firing: Sequence[Alert], known: Mapping[str, Alert], resolved: Resolved, now: datetime.datetime) -> None:
        """Raises Undelivered."""
        ...


@dataclass(frozen=True)
class Alertmanager:
    """One Alertmanager. It forgets alerts when it restarts, so all that stand are sent each time."""

    url: str
    token: bytes = b""
    ca_file: str | None = None

    @property
    def name(self) -> str:
        """``Alertmanager http://HOST:PORT``."""
        return f"Alertmanager {_host(self.url)}"

    @property
    def key(self) -> str:
        """By its address."""
        return _key("alertmanager", self.url)

    def news(self, firing: Sequence[Alert], known: Mapping[str, Alert], resolved: Resolved) -> bool:
        """Whatever stands or has ended."""
        return bool(firing or resolved)

    def send(self, fleet: str, firing: Sequence[Alert], known: Mapping[str, Alert], resolved: Resolved, now: datetime.datetime) -> None:
        """Raises Undelivered."""
        headers = {"Authorization": f"Bearer {self.token.decode()}"} if self.token else {}
        outward.post(f"{self.url}/api/v2/alerts", payload.to_alertmanager(firing, resolved, now), headers, self.ca_file)


@dataclass(frozen=True)
class Webhook:
    """A receiver of signed requests; it is told when something is new, has other words or has ended."""

    url: str
    secret: bytes
    ca_file: str | None = None

    @property
    def name(self) -> str:
        """``webhook https://HOST``."""
        return f"webhook {_host(self.url)}"

    @property
    def key(self) -> str:
        """By its address, of which the path may be a secret."""
        return _key("webhook", self.url)

    def news(self, firing: Sequence[Alert], known: Mapping[str, Alert], resolved: Resolved) -> bool:
        """Something that it has not been told."""
        return bool(resolved) or _words(firing) != _words(known.values())

    def send(self, fleet: str, firing: Sequence[Alert], known: Mapping[str, Alert], resolved: Resolved, now: datetime.datetime) -> None:
        """Raises Undelivered."""
        body = payload.to_webhook(fleet, firing, known, resolved, now)
        outward.post(self.url, body, {payload.SIGNATURE: payload.signature(body, self.secret)}, self.ca_file)


def _words(alerts: Iterable[Alert]) -> set[tuple[str, str]]:
    return {(alert.id, alert.summary) for alert in alerts}


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _key(kind: str, url: str) -> str:
    return f"{kind} {_host(url)} {hashlib.sha256(url.encode()).hexdigest()[:12]}"


def backends(terms: AlertsEntry) -> list[Backend]:
    """All that the inventory names, their secrets read. Raises InventoryError."""
    found: list[Backend] = []
    manager, hook = terms.alertmanager, terms.webhook
    if manager:
        given = manager.token_file or manager.token_env
        token = outward.secret(manager.token_file, manager.token_env, "token of Alertmanager") if given else b""
        found += [Alertmanager(url, token, manager.ca_file) for url in manager.urls]
    if hook:
        found.append(Webhook(hook.url, outward.secret(hook.secret_file, hook.secret_env, "secret of the webhook"), hook.ca_file))
    return found
