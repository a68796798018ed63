"""From the command line's settings to a fleet that is ready to run; nothing is contacted and nothing written. Runs on the controller."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fleetcheck import inventory as inventories
from fleetcheck import shards
from fleetcheck.fleet import Fleet
from fleetcheck.inventory import Inventory
from fleetcheck.report import textfile
from fleetcheck.run import Run, RunError, find
from fleetcheck.settings import Settings


def open_fleet(settings: Settings) -> Fleet:
    """Load inventory and earlier run. Raises InventoryError or RunError."""
    earlier = _earlier(settings)
    settings = settings.after(earlier.facts if earlier else {})
    loaded, origin = _inventory(settings, earlier)
    if not settings.replay:
        settings = replace(settings, metrics_dir=_metrics_directory(settings, loaded))
    selected = inventories.select(loaded, settings.nodes, settings.group)
    if settings.shard:
        selected = shards.nodes_of(shards.Shard.read(settings.shard), selected)
    return Fleet(settings, loaded, selected, origin, earlier, shards=shards.all_of(settings, loaded) if settings.merge else ())


def _earlier(settings: Settings) -> Run | None:
    """The run that is replayed or resumed."""
    if not settings.earlier:
        return None
    found = find(settings.reports, settings.earlier)
    if settings.resume and found.facts.get("replay_of"):
        raise RunError(f"{found.id} is a replay and asks no node; resume the run it replays: {found.facts['replay_of']}")
    if settings.resume and found.facts.get("shards"):
        raise RunError(f"{found.id} joins the runs of shards; join them again: --merge {len(found.facts['shards'])}")
    return found


def _inventory(settings: Settings, earlier: Run | None) -> tuple[Inventory, Path]:
    """The inventory that was given, or the one kept with the earlier run; and where it came from."""
    if settings.inventory or earlier is None:
        loaded = inventories.load(Path(settings.inventory))
        return loaded, loaded.path
    kept = earlier.inventory()
    return kept, Path(earlier.facts.get("inventory_path", kept.path))


def _metrics_directory(settings: Settings, loaded: Inventory) -> str:
    """Where node_exporter looks, as the command line or else the inventory says, if it is there and can be written."""
    directory = settings.metrics_dir or loaded.alerts.metrics_dir
    said = "--metrics-dir" if settings.metrics_dir else f"{loaded.where('alerts', 'metrics_dir')}: metrics_dir"
    return str(textfile.checked(directory, said)) if directory else ""
