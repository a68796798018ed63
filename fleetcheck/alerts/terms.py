"""The ``alerts:`` section of an inventory: who is told, where metrics go, how few healthy nodes and how long without a run is too much."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fleetcheck.nodes import Node

STALE_HOURS = 26.0
_FLOOR = re.compile(r"(\d{1,6})\s*(%?)\Z")
_ENVIRONMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}\Z")


def _path(text: str) -> str:
    if not text.startswith(("/", "~/")) or not text.isprintable():
        raise ValueError(f"{text!r:.80} is not absolute; expected a path such as /etc/fleetcheck/webhook.key")
    return text


def _variable(text: str) -> str:
    if not _ENVIRONMENT.match(text):
        raise ValueError(f"{text!r:.60} is no name of an environment variable; expected one such as FLEETCHECK_WEBHOOK_KEY")
    return text


def _url(text: str) -> str:
    """An address without anything secret in it: an inventory is copied into every run."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or not text.isprintable() or " " in text:
        raise ValueError(f"{text!r:.80} is no address; expected one such as https://alertmanager.example:9093")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(f"the address of {host} carries a login, a query or a fragment; expected scheme, host, port and path: "
                         "secrets belong into token_file: or secret_file:")
    return text.rstrip("/")


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _floor(text: str) -> str:
    found = _FLOOR.match(text)
    if not found or (found[2] and int(found[1]) > 100):
        raise ValueError(f"{text!r:.40} is no floor; expected a number of nodes such as 28, or a share of them such as 90%")
    return text


Url = Annotated[str, AfterValidator(_url)]
LocalPath = Annotated[str, AfterValidator(_path)]
Variable = Annotated[str, AfterValidator(_variable)]


class _Terms(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Alertmanager(_Terms):
    """Where alerts go. urls: each is told, as the members of one Alertmanager cluster want it; token: sent as a bearer, from a file or the
    environment; ca_file: whose certificates count, left out: the system's."""

    urls: Annotated[tuple[Url, ...], BeforeValidator(_listed), Field(min_length=1)]
    token_file: LocalPath | None = None
    token_env: Variable | None = None
    ca_file: LocalPath | None = None

    @model_validator(mode="after")
    def _one_token(self) -> Alertmanager:
        if self.token_file and self.token_env:
            raise ValueError("both token_file and token_env are given; expected one of them")
        return self


class Webhook(_Terms):
    """Whom to tell by a signed request. The secret comes from a file or the environment, never from the inventory."""

    url: Url
    secret_file: LocalPath | None = None
    secret_env: Variable | None = None
    ca_file: LocalPath | None = None

    @model_validator(mode="after")
    def _one_secret(self) -> Webhook:
        if bool(self.secret_file) == bool(self.secret_env):
            raise ValueError("a webhook is signed; expected one of secret_file: and secret_env:")
        return self


class AlertsEntry(_Terms):
    """The section. capacity_floor: healthy nodes there must be, as a number or a share of those that are to serve."""

    metrics_dir: LocalPath | None = None
    alertmanager: Alertmanager | None = None
    webhook: Webhook | None = None
    capacity_floor: Annotated[str, AfterValidator(_floor)] | None = None
    stale_hours: Annotated[float, Field(gt=0, le=1000)] = STALE_HOURS


def floor_nodes(terms: AlertsEntry, nodes: Iterable[Node]) -> int | None:
    """How many nodes must be healthy; a share is of the inventory's nodes without spares and decommissioned ones, rounded up.

    None where the inventory names no floor.
    """
    if terms.capacity_floor is None:
        return None
    found: Any = _FLOOR.match(terms.capacity_floor)
    meant = sum(node.state not in ("spare", "decommissioned") for node in nodes)
    return math.ceil(int(found[1]) * meant / 100) if found[2] else int(found[1])
