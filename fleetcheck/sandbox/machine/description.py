"""The base machine of a profile in words, for whoever writes overrides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetcheck.profile import Profile
from fleetcheck.sandbox.machine.base import Base, Hca, base
from fleetcheck.sandbox.machine.commands import commands
from fleetcheck.sandbox.machine.identity import Identity
from fleetcheck.sandbox.machine.moment import moment
from fleetcheck.sandbox.machine.node import Node, node
from fleetcheck.sandbox.machine.nvml import too_new
from fleetcheck.sandbox.machine.pci_function import NVSWITCH, functions
from fleetcheck.sandbox.machine.processors import EDAC
from fleetcheck.sandbox.machine.rdma import netdev
from fleetcheck.sandbox.machine.software import modules, services
from fleetcheck.sandbox.machine.storage import drives


def describe(profile: Profile) -> str:
    """Markdown: PCI addresses, device names, versions, mounts and programs of a healthy node, as overrides name them."""
    common = base(profile)
    identity = Identity("node", 1)
    one = node(common, identity, moment(identity, 0))
    lines = [f"### {profile.name}", "", *_machine(common), "", *_devices(one), "", *_software(one)]
    return "\n".join(lines) + "\n"


def _machine(common: Base) -> Iterator[str]:
    cpus, server, versions = common.cpus, common.server, common.versions
    yield (f"{server.vendor} {server.product}, BIOS {server.bios_version}; {cpus.sockets} × "
           f"{cpus.processor.model_name}, {cpus.cores} cores, "
           f"{cpus.threads} threads (cpu0 to cpu{cpus.threads - 1}), {cpus.numa_nodes} NUMA nodes; "
           f"{common.memory_bytes:,} bytes of memory, "
           f"{server.dimms} DIMMs below `{EDAC}/mc0` to `mc{server.dimms // 2 - 1}` (`dimm0`, `dimm1` in each).")
    yield f"Kernel `{versions.kernel}`, image `{versions.image}`."
    if common.gpus is None:
        yield ("No GPU: the NVML library is installed and `nvmlInitWithFlags` returns DRIVER_NOT_LOADED; there is no "
               "`/proc/driver/nvidia`, `/dev/nvidia0`, nvidia-smi or `/sys/module/nvidia`.")
        return
    gpus = common.gpus
    yield (f"{gpus.count} × {gpus.name}, {gpus.memory_bytes:,} bytes each; driver `{versions.driver}`, CUDA "
           f"{versions.cuda}, VBIOS `{versions.vbios}`; "
           f"NVLinks 0 to {gpus.links - 1} up at {gpus.link_mbytes_per_second} MB/s, power limit {gpus.watts} W.")
    missing = [f"`{rule.call}`" for rule in too_new(versions.branch)]
    yield f"Calls this driver does not have yet: {', '.join(missing) or 'none'}."


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    names = list(head)
    yield f"| {' | '.join(names)} |"
    yield "|" + "---|" * len(names)
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"


def _devices(one: Node) -> Iterator[str]:
    common = one.base
    switches = [function.address for function in functions(common) if function.class_code == NVSWITCH]
    yield from _table(("device", "PCI address", "also known as", "state"), [
        *((f"GPU {slot.index}", slot.bus_id, f"`/dev/nvidia{slot.minor}`", f"NVML `{slot.nvml_bus_id}`")
          for slot in one.slots),
        *((f"NVSwitch {number}", address, f"`/dev/nvidia-nvswitch{number}`", "") for number, address in enumerate(switches)),
        *((f"`{hca.name}`", hca.place.address, f"`{netdev(hca)}`", _state(hca)) for hca in common.hcas),
        *((f"`{link.name}`", link.place.address if link.place else "", "",
           f"{link.mbits_per_second} Mbit/s, MTU {link.mtu_bytes}") for link in common.interfaces),
        *((f"`{drive.name}`", drive.place.address, f"`/dev/{drive.name}n1`", drive.model) for drive in drives(one)),
    ])


def _state(hca: Hca) -> str:
    if not hca.compute:
        return "management, DOWN and Disabled by design"
    return f"{hca.link_layer}, {hca.gbits_per_second} Gb/s"


def _software(one: Node) -> Iterator[str]:
    common = one.base
    mounts = [f"`{mount.mount}` ({mount.kind} on `{mount.source}`)" for mount in common.mounts if mount.profile
              or mount.kind in ("ext4", "xfs")]
    programs = sorted({name.partition(" ")[0] for name in commands(one)} | {"dmesg", "journalctl", "squeue"})
    yield f"Mounts: {', '.join(mounts)}."
    yield f"Services, active: {', '.join(f'`{service.unit}`' for service in services(common))}."
    yield f"Modules: {', '.join(f'`{name}`' for name, _, _ in modules(common))}."
    yield f"Programs: {', '.join(f'`{name}`' for name in programs)}."
