"""The keys an inventory file may have, before ranges, groups and defaults are resolved into nodes."""

from __future__ import annotations

import datetime
import ipaddress
import re
import shlex
from pathlib import Path, PurePath, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fleetcheck.alerts.terms import AlertsEntry
from fleetcheck.bound import Date
from fleetcheck.isolation.terms import IsolationEntry
from fleetcheck.policy import Repeats, SitePolicy
from fleetcheck.yamlfile import values

STATES = ("in-service", "spare", "maintenance", "rma", "decommissioned")
PLACES = ("rack", "slot", "leaf", "rail", "nvlink_domain", "power_feed")
State = Literal["in-service", "spare", "maintenance", "rma", "decommissioned"]
Claim = Literal["none", "slurm-job", "slurm-reservation"]
LoadName = Literal["gemm", "hbm", "memtest", "hostlink", "peerlink", "sdc", "overlap", "cpu", "dram", "disk", "dcgm"]
TransportName = Literal["auto", "ssh", "openssh", "local"]
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9_.])?\Z")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+\\-]{0,127}\Z")
_JUMP = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9_.@:%\[\]/+\\-]{0,255}\Z")
_SHELL = "it runs a shell: put it into ~/.ssh/config if it must be"
_REFUSED = {
    "proxycommand": _SHELL, "localcommand": _SHELL, "permitlocalcommand": _SHELL, "remotecommand": _SHELL,
    "knownhostscommand": _SHELL, "match": _SHELL, "include": "give config_file: instead",
    "stricthostkeychecking": "host keys are always verified",
}
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}\Z")
_OURS = frozenset({"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"})
_RIGHTS = {"sudo": ("-n", "--non-interactive"), "doas": ("-n",)}


def _word(text: str) -> str:
    if not text or text != text.strip() or text.startswith("-") or not text.isprintable():
        raise ValueError(f"{text!r:.60} is not allowed; expected printable characters, the first no dash or blank")
    return text


def _argument(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError(f"{text!r:.60} is not allowed; expected printable characters")
    return text


def _user(text: str) -> str:
    if not _USER.match(text):
        raise ValueError(f"{text!r:.60} is not allowed; expected a user name such as ops")
    return text


def _jump(text: str) -> str:
    if not all(_JUMP.match(hop) for hop in text.split(",")):
        raise ValueError(f"{text!r:.60} is not allowed; expected [USER@]HOST[:PORT], several joined by commas")
    return text


def _local_path(text: str) -> str:
    try:
        Path(text).expanduser()
    except RuntimeError:
        raise ValueError(f"{text!r:.60}: there is no such user; expected a path or ~/path") from None
    return text


def _option(name: str) -> str:
    if name.lower() in _REFUSED:
        raise ValueError(f"{name} is not taken from an inventory; {_REFUSED[name.lower()]}")
    if not name.isalnum() or not name.isascii():
        raise ValueError(f"{name!r:.60} is no option of ssh_config; expected a name such as ServerAliveInterval")
    return name


def _text(text: str) -> str:
    if not all(char.isprintable() or char in "\n\t" for char in text):
        raise ValueError("control characters are not allowed; expected text")
    return text


def _absolute(text: str) -> str:
    if not PurePosixPath(text).is_absolute() or ".." in PurePosixPath(text).parts:
        raise ValueError(f"{text!r:.60} is not absolute; expected a path on the node such as /scratch")
    return text


def _become(value: object) -> object:
    """``sudo -n`` as its words; a program that could ask for a password is refused."""
    try:
        words = shlex.split(value) if isinstance(value, str) else value or ()
    except ValueError as error:
        raise ValueError(f"{value!r:.60}: {str(error).lower()}; expected words such as: sudo -n") from None
    if isinstance(words, (list, tuple)) and words and all(isinstance(word, str) for word in words):
        quiet = _RIGHTS.get(PurePath(words[0]).name, ())
        if quiet and not set(quiet) & set(words):
            raise ValueError(f"{' '.join(words)!r:.60} may ask for a password; expected {words[0]} {quiet[0]}")
    return words


def check_address(address: str) -> str:
    """The address itself when a host name or an IP address, else ValueError."""
    bare = address.partition("%")[0]
    if ":" in bare:
        _check_ipv6(address, bare)
    elif not _HOST.match(address):
        raise ValueError(f"address {address!r:.80} is not allowed; expected a host name or an IP address")
    elif re.fullmatch(r"[0-9.]+", address) and not _is_ip(address):
        raise ValueError(f"address {address!r:.80} is no IPv4 address; expected four numbers of 0 to 255")
    return address


def _check_ipv6(address: str, bare: str) -> None:
    host, _, port = address.rpartition(":")
    if port.isdigit() and not _is_ip(bare) and (_HOST.match(host) or host.startswith("[")):
        apart = f"address: {host.strip('[]')} and ssh: {{port: {port}}}"
        raise ValueError(f"address {address!r:.80} carries a port; expected {apart}")
    if not _is_ip(bare) or not address.isascii() or not re.fullmatch(r"[0-9A-Za-z.:%_-]+", address):
        raise ValueError(f"address {address!r:.80} is no IPv6 address; expected one such as 2001:db8::10, no brackets")


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


Word = Annotated[str, AfterValidator(_word)]
Text = Annotated[str, AfterValidator(_text)]
RemotePath = Annotated[str, AfterValidator(_word), AfterValidator(_absolute)]
Become = Annotated[tuple[Annotated[str, AfterValidator(_argument)], ...], BeforeValidator(_become)]
LocalPath = Annotated[str, AfterValidator(_word), AfterValidator(_local_path)]
User = Annotated[str, AfterValidator(_user)]
Jump = Annotated[str, AfterValidator(_jump)]
Option = Annotated[str, AfterValidator(_option)]
Labels = dict[Word, Word]
Seconds = Annotated[float, Field(ge=1, le=3600)]


class Entry(BaseModel):
    """A mapping of the file; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def given(self) -> dict[str, Any]:
        """The keys that the file gives, with their values."""
        return self.model_dump(exclude_unset=True)


class SshEntry(Entry):
    """How to log in; what is left out or null is what ~/.ssh/config says."""

    user: User | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    identity_file: LocalPath | None = None
    known_hosts: LocalPath | None = None
    jump: Jump | None = None
    config_file: LocalPath | None = None
    options: dict[Option, Annotated[str, AfterValidator(_argument)]] = {}


class BmcEntry(Entry):
    """How the node reaches its management controller over the network; {name} in the address stands for the node's name."""

    address: Word | None = None
    user: User | None = None
    password_file: RemotePath | None = None


def _words(value: object) -> object:
    return shlex.split(value) if isinstance(value, str) else value


def _typed(value: object) -> object:
    """A setting of a load as a number or a truth value, where it is written as one."""
    return values(value, True) if isinstance(value, str) else value


class LoadEntry(Entry):
    """How a node is loaded. devices: how many accelerators, with cpu how many are simulated; loads: no others than these;
    prefix: words of a container's command before torch_python; settings: of single loads, as they are; acceptance_hours: under load,
    before an acceptance is certified.
    """

    device: Literal["auto", "cuda", "cpu"] | None = None
    devices: Annotated[int, Field(ge=1, le=64)] | None = None
    loads: tuple[LoadName, ...] | None = None
    prefix: Annotated[tuple[Annotated[str, AfterValidator(_argument)], ...], BeforeValidator(_words)] | None = None
    settings: dict[LoadName, dict[Word, Annotated[Any, BeforeValidator(_typed)]]] | None = None
    acceptance_hours: Annotated[float, Field(ge=0, le=100_000)] | None = None


def _variable(name: str) -> str:
    if not _VARIABLE.match(name):
        raise ValueError(f"{name!r:.60} is no variable of the environment; expected a name such as NCCL_IB_GID_INDEX")
    if name in _OURS or name.startswith(("LD_PRELOAD", "LD_AUDIT", "PYTHON")):
        why = "fleetcheck sets it" if name in _OURS else "it loads code into every rank"
        raise ValueError(f"{name} is not taken from an inventory; {why}")
    return name


def _ports(text: str) -> str:
    low, dash, high = text.partition("-")
    if not (dash and low.isdigit() and high.isdigit() and 1024 <= int(low) <= int(high) <= 65535):
        raise ValueError(f"{text!r:.40} is no range of ports; expected two of 1024 to 65535, such as 29500-29599")
    return text


class NcclTestsEntry(Entry):
    """folder: where nccl-tests was built, left out for PATH; launcher: the words that start it over several nodes."""

    folder: Annotated[str, AfterValidator(_argument)] | None = None
    launcher: Annotated[tuple[Annotated[str, AfterValidator(_argument)], ...], BeforeValidator(_words)] | None = None


class InterconnectEntry(Entry):
    """How ranks of several nodes talk. interface: of sockets (NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME); hcas: NCCL_IB_HCA; plugin:
    NCCL_NET_PLUGIN; environment: any other variable, which goes before those; ports: where rendezvous may listen; device: cuda (NCCL) or
    cpu (gloo); per_node: ranks of a node; most_bytes: the largest message; rendezvous_seconds: until all ranks must have met;
    stall_seconds: for how long one may show nothing; seconds: of a trial's benchmarks; nccl_tests: the programs for a cross-check.
    """

    interface: Word | None = None
    hcas: tuple[Word, ...] | None = None
    plugin: Word | None = None
    environment: dict[Annotated[str, AfterValidator(_variable)], Annotated[str, AfterValidator(_argument)]] | None = None
    ports: Annotated[str, AfterValidator(_ports)] | None = None
    device: Literal["auto", "cuda", "cpu"] | None = None
    per_node: Annotated[int, Field(ge=1, le=64)] | None = None
    most_bytes: Annotated[int, Field(ge=8, le=8 << 30)] | None = None
    nccl_tests: NcclTestsEntry | None = None
    rendezvous_seconds: Seconds | None = None
    stall_seconds: Seconds | None = None
    seconds: Seconds | None = None


class RackPower(Entry):
    """What the nodes of a rack that are loaded at one time may draw together."""

    watts: Annotated[float, Field(gt=0, le=1e7)]


class PowerEntry(Entry):
    """Power for loads: gpu_watts of one accelerator (left out: the profile's limit), node_watts of all else in a node; racks:
    their budgets.
    """

    gpu_watts: Annotated[float, Field(gt=0, le=1e5)] | None = None
    node_watts: Annotated[float, Field(ge=0, le=1e6)] | None = None
    racks: dict[Word, RackPower] = {}

    @model_validator(mode="after")
    def _whole(self) -> PowerEntry:
        if self.racks and self.node_watts is None:
            raise ValueError("budgets need node_watts: what a node draws beside its accelerators, such as node_watts: 2500")
        return self


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
