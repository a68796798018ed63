"""Processors and memory: all there, none slow, none failing."""

import pytest

from fleetcheck.facts.applies import promised
from fleetcheck.facts.defaults import limit


@pytest.fixture
def governor(profile):
    """The frequency governor of all processors."""
    return promised(profile.cpu, "governor")


@pytest.fixture
def poisoned_bytes(memory):
    """Memory the kernel took out of use; kernels without memory failure handling count none."""
    if not memory.counts_poison:
        pytest.skip("this kernel does not count poisoned memory")
    return memory.poisoned_bytes


@pytest.fixture
def throttle_counters(cpu):
    """The thermal throttle counters; some processors keep none."""
    if "none" in (cpu.throttled.raw or {}):
        pytest.skip("this processor keeps no thermal throttle counters")
    return cpu.throttled


@pytest.mark.check(component="cpu", severity="degraded", action="replace")
def test_all_sockets_are_there(cpu, profile):
    """Every processor is seen. One socket short: reseat or replace it."""
    assert cpu.layout.sockets in profile.cpu.sockets


@pytest.mark.check(component="cpu", severity="degraded", action="reboot")
def test_all_cores_are_there(cpu, profile):
    """Every core is online. Fewer: the firmware disabled some, or someone took them offline."""
    assert cpu.layout.cores in profile.cpu.cores


@pytest.mark.check(component="cpu", severity="degraded", action="reboot")
def test_all_threads_are_online(cpu, profile):
    """Every hardware thread is online, counted one by one. Set online again or reboot; SMT is a firmware setting."""
    assert cpu.layout.threads in profile.cpu.threads


@pytest.mark.check(component="cpu", severity="degraded", action="reboot")
def test_no_thread_is_offline(cpu):
    """The kernel's list of online processors holds all that are present.

    Two or thirty-six alike: jobs bound to a missing one cannot start, and the rest is slower, but what runs is right.
    """
    offline = cpu.offline
    assert offline == 0, f"{offline} processors are offline"


@pytest.mark.check(component="cpu", severity="degraded", action="fix-config")
def test_numa_layout_is_as_configured(cpu, profile):
    """As many NUMA nodes as the profile says. A batch that differs is a firmware setting (NPS, SNC), not a fault."""
    assert cpu.numa_nodes in profile.cpu.numa_nodes


@pytest.mark.check(component="cpu", severity="warn", action="fix-config")
def test_governor_is_as_configured(cpu, governor):
    """All processors run under the profile's frequency governor."""
    assert not [name for name in cpu.governors if name not in governor]


@pytest.mark.check(component="cpu", severity="degraded", action="isolate")
def test_clock_is_not_stuck_low(cpu, profile):
    """A busy processor reaches its clock: the highest of all while the probe runs. Low: a stuck PROCHOT, a power cap, a lowered maximum."""
    assert cpu.clocks.highest in limit(profile, "cpu_megahertz")
    assert cpu.clock_share is None or cpu.clock_share in limit(profile, "cpu_clock_share")


@pytest.mark.check(component="cpu", severity="degraded", action="isolate")
def test_processors_do_not_throttle(throttle_counters, profile):
    """No thermal throttle event in a second without load; totals since boot say nothing. Check cooling."""
    bound = limit(profile, "cpu_throttles_per_second")
    assert not [kind for kind in ("core", "package") if throttle_counters.per_second(kind) not in bound]


@pytest.mark.check(component="dram", severity="fatal", action="replace")
def test_memory_is_all_there(memory, profile):
    """MemTotal is as the profile says, less what the kernel keeps. Less: a DIMM is missing or was mapped out."""
    assert memory.total_bytes in profile.memory.total_bytes


@pytest.mark.check(component="dram", severity="fatal", action="replace")
def test_memory_has_no_uncorrected_errors(memory, profile):
    """No DIMM counted an uncorrected error since boot. Replace the DIMM. Without an EDAC driver this is not measured."""
    bound = limit(profile, "dram_uncorrected")
    assert not memory.modules().offending(lambda module: module.ue_count not in bound)


@pytest.mark.check(component="dram", severity="degraded", action="replace")
def test_no_memory_page_is_poisoned(poisoned_bytes):
    """The kernel took no page out of use for errors (HardwareCorrupted). Find the DIMM by EDAC or the event log and replace it."""
    assert poisoned_bytes == 0, f"{poisoned_bytes} bytes of memory are out of use for errors"


@pytest.mark.check(component="dram", severity="warn", action="observe")
def test_memory_corrects_few_errors(memory, profile):
    """No DIMM corrects errors at a rate; the total since boot says nothing. Replace one that keeps counting."""
    bound = limit(profile, "dram_corrected_per_second")
    assert not memory.modules().offending(lambda module: module.corrected_per_second not in bound)


@pytest.mark.check(component="dram", severity="warn", action="observe")
def test_memory_is_not_fragmented(memory, profile):
    """Large free blocks are left for huge pages. Page cache fills memory on healthy nodes: drop it or reboot when idle."""
    assert memory.high_order_blocks in limit(profile, "buddy_high_order_blocks")


@pytest.mark.check(component="os", severity="warn", action="fix-config", needs="idle")
def test_huge_pages_leave_memory_for_jobs(memory, profile):
    """Huge pages hold no more of all memory than the profile allows: what is reserved is lost to all else. Lower vm.nr_hugepages."""
    assert memory.huge_pages_share in limit(profile, "huge_pages_share")


@pytest.mark.check(component="os", severity="warn", action="fix-config")
def test_swap_is_off(memory):
    """Nothing swaps to disk; compressed memory (zram) is no swap in this sense. Remove it from fstab."""
    assert not memory.swaps().offending(lambda swap: swap.on_disk)
