"""Backend ``webhook``: a site's own service is asked how nodes stand and told what to do, in signed requests. Runs on the controller.

The contract is in docs/isolation.md. A request is a POST whose body is signed by HMAC-SHA256 in ``X-Fleetcheck-Signature``; ``sent`` and
``id`` in the body let the service refuse one that is old or repeated.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import secrets
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from fleetcheck.alerts import outward
from fleetcheck.alerts.outward import Undelivered
from fleetcheck.alerts.payload import SIGNATURE, signature
from fleetcheck.alerts.terms import Webhook as WebhookEntry
from fleetcheck.isolation.standing import BackendError, Standing
from fleetcheck.quoting import quoted
from fleetcheck.run import RunError

SECONDS = 30.0
MOST_BYTES = 8 << 20
SHORTEST_SECRET = 16
Send = Callable[[bytes, Mapping[str, str]], bytes]
"""Posts a body; the answer. Raises Undelivered."""


class Webhook:
    """One service. The secret is in no message and no file of ours."""

    name = "webhook"

    def __init__(self, host: str, secret: bytes, send: Send) -> None:
        self._host, self._secret, self._send = host, secret, send

    def read(self, nodes: Collection[str]) -> Mapping[str, Standing]:
        """One request."""
        told = self._asked({"act": "read", "nodes": sorted(nodes)}).get("nodes")
        if not isinstance(told, dict):
            raise BackendError(f"{self._host}: its answer to act read has no nodes: {{…}}")
        return {node: _standing(node, told[node]) for node in nodes if node in told}

    def isolate(self, node: str, reason: str, seen: Standing) -> None:
        """One request."""
        self._asked({"act": "isolate", "node": node, "reason": reason})

    def release(self, node: str, seen: Standing) -> None:
        """One request, with the reason that stands there, so that the service can refuse when it is another one by now."""
        self._asked({"act": "release", "node": node, "reason": seen.reason})

    def shown(self, kind: str, node: str, reason: str) -> str:
        """The request; the path of an address may be a secret."""
        return f"POST {self._host}: {json.dumps({'act': kind, 'node': node, 'reason': reason})}"

    def _asked(self, what: Mapping[str, Any]) -> dict[str, Any]:
        body = json.dumps({"schema": 1, **what, "sent": _now(), "id": secrets.token_hex(8)}).encode()
        try:
            return _parsed(self._send(body, {SIGNATURE: signature(body, self._secret)}))
        except Undelivered as error:
            raise BackendError(f"act {what['act']}: {error}") from None


def connect(entry: WebhookEntry) -> Webhook:
    """The service an inventory names. Raises RunError or InventoryError on a secret or an address that cannot be used."""
    parts = urlsplit(entry.url)
    host = f"{parts.scheme}://{parts.netloc}"
    if parts.scheme != "https" and not _loopback(parts.hostname or ""):
        raise RunError(f"isolation.webhook: {host} is not encrypted, and its answers decide about nodes; expected https://")
    secret = outward.secret(entry.secret_file, entry.secret_env, "secret of isolation.webhook")
    if len(secret) < SHORTEST_SECRET:
        raise RunError(f"isolation.webhook: its secret has {len(secret)} bytes; expected at least {SHORTEST_SECRET}, such as of: "
                       "openssl rand -hex 32")

    def send(body: bytes, headers: Mapping[str, str]) -> bytes:
        return outward.post(entry.url, body, headers, entry.ca_file, SECONDS, MOST_BYTES)

    return Webhook(host, secret, send)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _parsed(answer: bytes) -> dict[str, Any]:
    """The answer's object; empty when it is none."""
    try:
        found = json.loads(answer)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


class Told(BaseModel):
    """What the service says of one node. out: somebody holds it; down: it gets no work though nobody does."""

    model_config = ConfigDict(frozen=True, strict=True)

    out: bool
    down: bool = False
    reason: str = ""
    by: str = ""


def _standing(node: str, told: Any) -> Standing:
    try:
        found = Told.model_validate(told)
    except ValidationError:
        shown = quoted(json.dumps(told), 80)
        return Standing("not understood", trouble=f'the service says of {node}: {shown}; expected {{"out": true or false, …}}')
    state = "out of service" if found.out else "down" if found.down else "in service"
    return Standing(state, found.out, found.reason if found.out else "", found.by, found.down)
