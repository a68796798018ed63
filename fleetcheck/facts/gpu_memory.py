"""Views of one GPU's memory: size, ECC counters, remapped rows, retired pages. Runs on the controller."""

from __future__ import annotations

from typing import Any

from fleetcheck.absent import Absent
from fleetcheck.facts.section import ENABLED, Section
from fleetcheck.view import Reading


class Memory(Section):
    """Frame buffer in bytes; ``used_bytes`` is without the driver's own reserve."""

    total_bytes = Reading(int)
    used_bytes = Reading(int)


class Ecc(Section):
    """Error totals; volatile since the driver was loaded, aggregate over the board's life."""

    volatile_corrected = Reading(int)
    aggregate_uncorrected = Reading(int)
    sram_aggregate_uncorrected = Reading(int)
    sram_threshold_exceeded = Reading(int)

    @property
    def volatile_uncorrected(self) -> Any:
        """Uncorrected errors since the driver was loaded: the total, or the counter of one kind of memory where that says more."""
        found = [self.highest("volatile_uncorrected", f"{kind}_volatile_uncorrected") for kind in ("dram", "sram")]
        told = [count for count in found if not isinstance(count, Absent)]
        return max(told) if len(told) == 2 or any(told) else next(count for count in found if isinstance(count, Absent))

    @property
    def mode(self) -> Any:
        """``enabled`` or ``disabled``, now."""
        return self.word("mode_current", ENABLED)

    @property
    def pending_mode(self) -> Any:
        """``enabled`` or ``disabled``, after the next reset."""
        return self.word("mode_pending", ENABLED)


class Remap(Section):
    """Row remapping and the repairs that wait for a reset; 0 or 1, or counts."""

    banks_none = Reading(int)
    channel_repair_pending = Reading(int)
    tpc_repair_pending = Reading(int)
    unrepairable = Reading(int)

    @property
    def uncorrectable(self) -> Any:
        """Rows remapped for uncorrectable errors."""
        return self.highest("uncorrectable", "uncorrectable_field")

    @property
    def pending(self) -> Any:
        """1 while a row waits for a reset to be remapped."""
        return self.highest("pending", "pending_field")

    @property
    def failure(self) -> Any:
        """1 once a row found no spare."""
        return self.highest("failure", "failure_field")


class Retired(Section):
    """Pages taken out of use, by cause, on parts before Ampere."""

    single_bit_pages = Reading(int)
    double_bit_pages = Reading(int)
    pending = Reading(int)

    @property
    def pages(self) -> Any:
        """All retired pages."""
        singles, doubles = self.single_bit_pages, self.double_bit_pages
        for count in (singles, doubles):
            if isinstance(count, Absent):
                return count
        return self.derived("pages", singles + doubles)
