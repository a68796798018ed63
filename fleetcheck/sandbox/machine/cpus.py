"""The processors of a machine: how many, and which thread runs on which core, socket and NUMA node."""

from __future__ import annotations

from dataclasses import dataclass

from fleetcheck.profile import Profile
from fleetcheck.sandbox.machine.entries import settle
from fleetcheck.sandbox.machine.processor import Processor
from fleetcheck.sandbox.machine.servers import Server


@dataclass(frozen=True)
class Cpus:
    """Processor counts, settled: thread n of a core is cpu ``core + n * cores``."""

    processor: Processor
    sockets: int
    cores: int
    threads: int
    numa_nodes: int
    governor: str

    @property
    def smt(self) -> int:
        """Threads per core."""
        return self.threads // self.cores

    def core_of(self, cpu: int) -> int:
        """The core, counted over the node, that a thread runs on."""
        return cpu % self.cores

    def socket_of(self, cpu: int) -> int:
        """The socket of a thread."""
        return self.core_of(cpu) * self.sockets // self.cores

    def node_of(self, cpu: int) -> int:
        """The NUMA node of a thread; nodes beyond the processors' hold GPU memory and no thread."""
        return self.core_of(cpu) * self.processor_nodes // self.cores

    @property
    def processor_nodes(self) -> int:
        """NUMA nodes that have threads."""
        if self.processor.isa == "aarch64":
            return min(self.sockets, self.numa_nodes)
        return self.numa_nodes

    def siblings(self, cpu: int) -> list[int]:
        """The threads of the same core."""
        return [self.core_of(cpu) + thread * self.cores for thread in range(self.smt)]


def cpus(profile: Profile, server: Server) -> Cpus:
    """The processors as the profile expects them; where it leaves room, as the server usually has them."""
    cpu, processor = profile.cpu, server.processor
    sockets = settle(cpu.sockets, 2)
    cores = settle(cpu.cores, sockets * processor.cores)
    threads = settle(cpu.threads, cores * (2 if processor.isa == "x86_64" else 1))
    gpu_nodes = len(server.groups) if server.chip and server.chip.coherent else 0
    return Cpus(
        processor=processor, sockets=sockets, cores=cores, threads=threads,
        numa_nodes=settle(cpu.numa_nodes, sockets + gpu_nodes),
        governor=cpu.governor.allowed[0] if cpu.governor else "performance",
    )
