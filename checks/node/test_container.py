"""Containers: runtimes that answer within seconds, GPUs in reach of them, none held back by Kubernetes."""

import pytest


@pytest.fixture
def docker(containers, services, gpu_profile):
    """Containers on nodes with GPUs where docker is one of the runtimes."""
    if "docker" not in [runtime.part.slot for runtime in containers.runtimes(services)]:
        pytest.skip("docker is no runtime of this node")
    return containers


@pytest.fixture
def allotment(containers, gpu_profile):
    """The GPUs as Kubernetes counts them."""
    return containers.allotment


@pytest.mark.check(component="container", severity="degraded", action="fix-config")
def test_container_runtimes_answer(containers, services):
    """Every runtime of the node is up and answers. Restart its service; one that hangs needs a reboot when idle."""
    assert not containers.runtimes(services).offending(lambda runtime: runtime.trouble)


@pytest.mark.check(component="container", severity="degraded", action="fix-config")
def test_containers_can_have_gpus(docker):
    """docker has the nvidia runtime, or the GPUs are described by CDI. Run nvidia-ctk runtime configure, restart docker."""
    why = docker.without_gpus
    assert not why, why


@pytest.mark.check(component="container", severity="warn", action="fix-config")
def test_kubernetes_may_allot_all_gpus(allotment):
    """As many GPUs are allocatable as the node has; after one event the device plugin withholds one for ever. Restart it."""
    withheld = allotment.withheld
    assert withheld == 0, f"{allotment.allocatable} of {allotment.capacity} GPUs are allocatable"
