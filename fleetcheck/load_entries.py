"""The keys of an inventory file about what nodes are put under: loads, ranks of several nodes, and the power for them."""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from fleetcheck.entry_words import Argument, Entry, Word
from fleetcheck.yamlfile import values

LoadName = Literal["gemm", "hbm", "memtest", "hostlink", "peerlink", "sdc", "overlap", "cpu", "dram", "disk", "dcgm"]
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}\Z")
_OURS = frozenset({"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"})
Seconds = Annotated[float, Field(ge=1, le=3600)]


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
    prefix: Annotated[tuple[Argument, ...], BeforeValidator(_words)] | None = None
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

    folder: Argument | None = None
    launcher: Annotated[tuple[Argument, ...], BeforeValidator(_words)] | None = None


class InterconnectEntry(Entry):
    """How ranks of several nodes talk. interface: of sockets (NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME); hcas: NCCL_IB_HCA; plugin:
    NCCL_NET_PLUGIN; environment: any other variable, which goes before those; ports: where rendezvous may listen; device: cuda (NCCL) or
    cpu (gloo); per_node: ranks of a node; most_bytes: the largest message; rendezvous_seconds: until all ranks must have met;
    stall_seconds: for how long one may show nothing; seconds: of a trial's benchmarks; nccl_tests: the programs for a cross-check.
    """

    interface: Word | None = None
    hcas: tuple[Word, ...] | None = None
    plugin: Word | None = None
    environment: dict[Annotated[str, AfterValidator(_variable)], Argument] | None = None
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
