"""The keys an inventory file may have, before ranges, groups and defaults are resolved into nodes."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fleetcheck.alerts.terms import AlertsEntry
from fleetcheck.bound import Date
from fleetcheck.entry_words import Argument, Become, Entry, Jump, Labels, LocalPath, Option, RemotePath, Text, User, Word
from fleetcheck.isolation.terms import IsolationEntry
from fleetcheck.load_entries import InterconnectEntry, LoadEntry, PowerEntry
from fleetcheck.policy import Repeats, SitePolicy

STATES = ("in-service", "spare", "maintenance", "rma", "decommissioned")
PLACES = ("rack", "slot", "leaf", "rail", "nvlink_domain", "power_feed")
State = Literal["in-service", "spare", "maintenance", "rma", "decommissioned"]
Claim = Literal["none", "slurm-job", "slurm-reservation"]
TransportName = Literal["auto", "ssh", "openssh", "local"]


class SshEntry(Entry):
    """How to log in; what is left out or null is what ~/.ssh/config says."""

    user: User | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    identity_file: LocalPath | None = None
    known_hosts: LocalPath | None = None
    jump: Jump | None = None
    config_file: LocalPath | None = None
    options: dict[Option, Argument] = {}


class BmcEntry(Entry):
    """How the node reaches its management controller over the network; {name} in the address stands for the node's name."""

    address: Word | None = None
    user: User | None = None
    password_file: RemotePath | None = None


class NodeEntry(Entry):
    """What is said about a node, a range of nodes, a group, or all of them."""

    address: Word | None = None
    profile: Word | None = None
    rack: Word | None = None
    slot: Word | None = None
    leaf: Word | None = None
    rail: Word | None = None
    nvlink_domain: Word | None = None
    power_feed: Word | None = None
    labels: Labels = {}
    ssh: SshEntry = SshEntry()
    state: State = "in-service"
    until: Date | None = None
    note: Text = ""
    transport: TransportName = "auto"
    become: Become = ()
    torch_python: Word | None = None
    scratch: RemotePath | None = None
    serials: dict[Word, Word] = {}
    cables: dict[Word, Word | None] = {}
    bmc: BmcEntry | None = None
    claim: Claim | None = None
    load: LoadEntry | None = None
    interconnect: InterconnectEntry | None = None


class GroupEntry(NodeEntry):
    """A group: its nodes as a range or an expression, and what is said about all of them."""

    nodes: str


def _group(value: object) -> object:
    """A group may be written as its range alone, or as a list of ranges."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = ",".join(value)
    return {"nodes": value} if isinstance(value, str) else value


def _given(value: object) -> object:
    return {} if value is None else value


class PolicyEntry(BaseModel):
    """The site's word: how earlier runs weigh, and any other key is a check with what is said of it."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Annotated[SitePolicy, BeforeValidator(_given)]] = Field(init=False)

    history: Annotated[Repeats, BeforeValidator(_given)] = Repeats()

    @property
    def checks(self) -> dict[str, SitePolicy]:
        """By check, what is said of it."""
        return self.__pydantic_extra__ or {}


class InventoryFile(Entry):
    """The whole file."""

    fleet: Word
    ssh: Annotated[SshEntry, BeforeValidator(_given)] = SshEntry()
    defaults: Annotated[NodeEntry, BeforeValidator(_given)] = NodeEntry()
    nodes: dict[str, Annotated[NodeEntry, BeforeValidator(_given)]]
    groups: Annotated[dict[str, Annotated[GroupEntry, BeforeValidator(_group)]], BeforeValidator(_given)] = {}
    policy: Annotated[PolicyEntry, BeforeValidator(_given)] = PolicyEntry()
    power: Annotated[PowerEntry, BeforeValidator(_given)] = PowerEntry()
    isolation: Annotated[IsolationEntry, BeforeValidator(_given)] = IsolationEntry()
    alerts: Annotated[AlertsEntry, BeforeValidator(_given)] = AlertsEntry()
    sandbox: dict[str, Any] | None = None
    notes: Any = None


def passed(until: datetime.date | None, today: datetime.date) -> bool:
    """Whether the day a state was to end has gone by."""
    return until is not None and until < today
