"""Nodes that share an NVLink domain, as their inventory label says: one cluster, one partition."""

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.facts.gpu_fabric import COMPLETED


def membership(gpus):
    """Cluster UUID and clique of a node's GPUs; a GPU that has not joined the fabric is a finding of its own."""
    if any(gpu.fabric.state != COMPLETED for gpu in gpus):
        raise NotMeasured("not all GPUs have joined the fabric")
    return ", ".join(sorted({f"{gpu.fabric.uuid} clique {gpu.fabric.clique}" for gpu in gpus}))


@pytest.mark.check(component="fabric", severity="degraded", action="fix-config", per="nvlink_domain")
def test_nodes_of_a_domain_share_one_cluster(group, gpus_by_node):
    """All nodes of an NVLink domain tell one cluster UUID and one clique. Look at the tray's cabling and the switches' partitions."""
    assert not gpus_by_node.odd("NVLink cluster", membership)
