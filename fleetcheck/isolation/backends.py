"""The backends by name, made as the inventory says. Runs on the controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fleetcheck.inventory import Inventory
from fleetcheck.isolation import kubernetes, webhook
from fleetcheck.isolation.file import FileList
from fleetcheck.isolation.slurm import Slurm
from fleetcheck.isolation.standing import Backend
from fleetcheck.run import RunError

LIST = "out-of-service"
"""The list of backend ``file`` beside the runs, where the inventory names no other."""


@dataclass(frozen=True)
class Site:
    """Where things are. base: the folder of the inventory's relative paths; reports: the one of the runs."""

    inventory: Inventory
    base: Path
    reports: Path


def _file(site: Site) -> Backend:
    path = site.inventory.isolation.file.path
    return FileList(site.base / Path(path).expanduser() if path else site.reports / LIST)


def _slurm(site: Site) -> Backend:
    return Slurm(site.inventory.isolation.slurm.node)


def _kubernetes(site: Site) -> Backend:
    entry = site.inventory.isolation.kubernetes
    kubeconfig = str(site.base / Path(entry.kubeconfig).expanduser()) if entry.kubeconfig else ""
    return kubernetes.connect(kubeconfig, entry.context, entry.node)


def _webhook(site: Site) -> Backend:
    entry = site.inventory.isolation.webhook
    if entry is None:
        raise RunError(f"{site.inventory.path}: backend webhook needs a service; "
                       "write isolation: {webhook: {url: https://…, secret_file: /etc/…}}")
    return webhook.connect(entry)


BACKENDS: Mapping[str, Callable[[Site], Backend]] = {"slurm": _slurm, "kubernetes": _kubernetes, "webhook": _webhook, "file": _file}


def backend(name: str, site: Site) -> Backend:
    """The backend of that name. Raises RunError on a name or a setting that is wrong."""
    if name not in BACKENDS:
        raise RunError(f"no backend {name!r:.40}; expected one of: {', '.join(BACKENDS)}")
    return BACKENDS[name](site)
