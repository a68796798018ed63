"""A launcher that runs no ranks: trials are those of the simulated fabric of tests/localisation."""

import dataclasses
import random
import threading

from simulated_fabric import Culprit, Fabric

from fleetcheck.collective.campaign.ran import Ran

__all__ = ["Culprit", "Fabric", "StandIn"]


class StandIn:
    """lost: nodes that cannot be asked; only_wide: members of which at least so many are needed for a culprit to show."""

    def __init__(self, topology, culprits=(), seed=1, lost=(), wide=(), rails=4):
        self.fabric = Fabric(topology, tuple(culprits), random.Random(seed), rails)
        self.lost = set(lost)
        self.wide = [set(each) for each in wide]
        self.asked = []
        self.closed = False
        self._lock = threading.Lock()

    def run(self, planned, number, name):
        with self._lock:
            self.asked.append((number, planned))
            lost = {node: f"{node}: login refused" for node in planned.members if node in self.lost}
            if lost:
                return Ran(None, "; ".join(lost.values()), lost)
            trial = dataclasses.replace(self.fabric.run(planned, number), id=name)
        if any(each <= set(planned.members) for each in self.wide):
            trial = dataclasses.replace(trial, outcome="timeout", values=())
        return Ran(trial, told={node: {"transport": "NET/IB"} for node in planned.members})

    def close(self):
        self.closed = True
