"""What loading a fleet will take, before anything starts: nodes, accelerators, power by rack beside its budget, time, energy. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fleetcheck.burnin import clock
from fleetcheck.burnin.power import Draws, energy_kwh, kilowatts
from fleetcheck.burnin.schedule import devices
from fleetcheck.burnin.terms import Terms
from fleetcheck.inventory import Inventory, fold

HEADS = ("rack", "nodes", "GPUs", "power, all loaded", "budget", "nodes at once")
Row = tuple[str, ...]


@dataclass(frozen=True)
class Forecast:
    """rows: one a rack, under HEADS; lines: the whole, in sentences."""

    rows: list[Row]
    lines: list[str]


def forecast(inventory: Inventory, terms: Terms, stagger: float) -> Forecast:
    """The forecast of settled terms. stagger: seconds between two starts."""
    gpus = {node.name: devices(node, inventory.profiles[node.profile]) if inventory.profiles[node.profile].gpu else 0
            for node in inventory.nodes if node.name in terms.loads}
    return Forecast([_row(rack, names, gpus, terms) for rack, names in _by_rack(terms.admission.draws).items()],
                    list(_lines(inventory, terms, gpus, stagger)))


def _by_rack(draws: Draws) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, rack in draws.racks.items():
        found.setdefault(rack, []).append(name)
    return dict(sorted(found.items()))


def _row(rack: str, names: list[str], gpus: Mapping[str, int], terms: Terms) -> Row:
    draws = terms.admission.draws
    most = max(len(draws.in_rack(rack, wave)) for wave in terms.waves)
    whole, budget = draws.of(names), draws.budgets.get(rack)
    over = " OVER" if budget is not None and whole > budget else ""
    return (rack or "-", str(len(names)), str(sum(gpus[name] for name in names)), kilowatts(whole) + over,
            kilowatts(budget) if budget is not None else "none given", str(most))


def _lines(inventory: Inventory, terms: Terms, gpus: Mapping[str, int], stagger: float) -> Iterator[str]:
    draws, waves, seconds = terms.admission.draws, terms.waves, terms.node_seconds
    yield f"{len(gpus)} nodes, {sum(gpus.values())} GPUs: {fold(gpus)}"
    yield f"tier {terms.asked.tier}: {', '.join(dict.fromkeys(load for loads in terms.loads.values() for load in loads))}"
    yield f"{clock.words(seconds)} a node{_shortened(terms)}"
    if len(waves) > 1:
        yield f"{len(waves)} waves of at most {max(map(len, waves))} nodes at once"
    yield f"all done in about {clock.words(len(waves) * seconds + max(map(len, waves)) * stagger)}{_until(terms)}"
    peak = max(draws.of(wave) for wave in waves)
    energy = sum(energy_kwh(draws.watts[name], seconds) for name in gpus)
    without = "" if inventory.power.node_watts is not None else ", GPUs alone: power: {node_watts: …} is not in the inventory"
    yield f"at most {kilowatts(peak)} at once, {energy:.1f} kWh{without}"


def _shortened(terms: Terms) -> str:
    asked = terms.asked.duration
    return f", not {clock.words(asked)}: all {len(terms.waves)} waves end by {terms.asked.until:%H:%M}" if (
        asked and terms.asked.until and terms.node_seconds < asked) else ""


def _until(terms: Terms) -> str:
    return f", by {terms.asked.until:%Y-%m-%d %H:%M} at the latest" if terms.asked.until else ""
