"""Alerts as Alertmanager's API v2 takes them, and as a webhook is told them. Pure."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from typing import Any

from fleetcheck.alerts.alert import Alert

HELD = datetime.timedelta(days=7)
"""How long Alertmanager keeps an alert that nobody sends again; every call sends it again, and its end is said."""
SIGNATURE = "X-Fleetcheck-Signature"


def to_alertmanager(firing: Iterable[Alert], resolved: Mapping[str, tuple[Alert, str]], now: datetime.datetime) -> bytes:
    """The body of ``POST /api/v2/alerts``. resolved: by id, an alert and why it ended."""
    ended = [_posted(alert, now, now, why) for alert, why in resolved.values()]
    return json.dumps([*(_posted(alert, now, now + HELD) for alert in firing), *ended]).encode()


def _posted(alert: Alert, now: datetime.datetime, ends: datetime.datetime, why: str = "") -> dict[str, Any]:
    said = {"summary": alert.summary, "description": alert.description, "run": alert.run, "tier": alert.tier, "resolved": why}
    return {
        "labels": {"alertname": alert.name, "severity": alert.severity, **alert.labels},
        "annotations": {key: value for key, value in said.items() if value},
        "startsAt": min(alert.since, now.isoformat()) if alert.since else now.isoformat(), "endsAt": ends.isoformat(),
    }


def to_webhook(fleet: str, firing: Iterable[Alert], known: Mapping[str, Alert], resolved: Mapping[str, tuple[Alert, str]],
               now: datetime.datetime) -> bytes:
    """The body a webhook gets: all that stands, and what has ended. known: by id, what it was told to stand before."""
    return json.dumps({
        "schema": 1, "fleet": fleet, "sent": now.isoformat(timespec="seconds"),
        "firing": [{**_told(alert), "new": alert.id not in known} for alert in firing],
        "resolved": [{**_told(alert), "reason": why} for alert, why in resolved.values()],
    }).encode()


def _told(alert: Alert) -> dict[str, Any]:
    return {"id": alert.id, "alert": alert.name, "severity": alert.severity, "labels": dict(alert.labels), "summary": alert.summary,
            "description": alert.description, "since": alert.since, "run": alert.run, "tier": alert.tier}


def signature(body: bytes, secret: bytes) -> str:
    """What goes into the header ``X-Fleetcheck-Signature``: HMAC-SHA256 of the body.

    >>> signature(b"{}", b"key")[:20]
    'sha256=a777724d943eb'
    """
    return f"sha256={hmac.new(secret, body, hashlib.sha256).hexdigest()}"
