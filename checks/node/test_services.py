"""Services the node lives by: fabric manager, IMEX, the scheduler's daemon, monitoring; and units that failed."""

import pytest

from fleetcheck.facts.defaults import limit
from fleetcheck.facts.gpu_fabric import unset


@pytest.fixture
def fabric_manager(services, profile):
    """The fabric manager's unit, on nodes whose NVSwitches it has to set up itself."""
    gpu = profile.gpu   # before Hopper NVML knows no fabric, so that the profile's word on the service alone decides
    switched = gpu is not None and (gpu.fabric or gpu.architecture == "ampere")
    if profile.services is None or not profile.services.fabric_manager or not switched:
        pytest.skip(f"profile {profile.name} needs no fabric manager on the node")
    return services.unit("nvidia-fabricmanager")


@pytest.fixture
def imex_unit(services, profile):
    """IMEX's unit, on nodes whose NVLinks reach other nodes."""
    if profile.services is None or not profile.services.imex:
        pytest.skip(f"profile {profile.name} needs no IMEX")
    return services.unit("nvidia-imex")


@pytest.fixture
def memory_locking_services(services, profile):
    """Services that start jobs, where jobs use RDMA."""
    if profile.hcas is None:
        pytest.skip(f"profile {profile.name} has no RDMA adapters")
    return services.starting_jobs


@pytest.fixture
def imex_state(imex_unit, fabric):
    """What IMEX says of itself while it runs."""
    if imex_unit.down:
        pytest.skip("nvidia-imex is not active, which is a finding of its own")
    return fabric.imex


@pytest.mark.check(component="fabric", severity="fatal", action="fix-config")
def test_fabric_manager_runs(fabric_manager):
    """nvidia-fabricmanager is active: without it no NVLink works (CUDA error 802). Start it and read its log."""
    down = fabric_manager.down
    assert not down, f"nvidia-fabricmanager {down.text}"


@pytest.mark.check(component="fabric", severity="fatal", action="fix-config")
def test_fabric_manager_matches_the_driver(fabric_manager, fabric, driver):
    """Fabric manager is of the driver's version, packages' suffixes aside. Install the version of the driver."""
    version = fabric.manager_version
    assert driver.is_of(version), f"fabric manager is {version}, the driver {driver.version}"


@pytest.mark.check(component="fabric", severity="fatal", action="reboot")
def test_fabric_manager_knows_the_topology(fabric_manager, fabric):
    """Fabric manager found as many NVSwitches as a known system has. Reboot; if one stays away, replace the board."""
    errors = fabric.topology_errors
    assert len(errors) == 0, f"fabricmanager.log: {errors[-1]}"


@pytest.mark.check(component="fabric", severity="degraded", action="fix-config")
def test_imex_runs(imex_unit):
    """nvidia-imex is active: without it memory cannot be shared between nodes of an NVLink domain. Start it."""
    down = imex_unit.down
    assert not down, f"nvidia-imex {down.text}"


@pytest.mark.check(component="fabric", severity="degraded", action="fix-config")
def test_imex_is_ready(imex_state):
    """IMEX says READY. Compare its nodes_config.cfg with that of the domain's other nodes, and its port between them."""
    assert imex_state == "READY", f"nvidia-imex-ctl says {imex_state}"


@pytest.mark.check(component="fabric", severity="degraded", action="fix-config")
def test_gpus_are_of_one_nvlink_domain(imex_unit, gpus):
    """All GPUs of the node tell one cluster UUID and one clique, and one that is set. Look at the partitions of the NVLink switches."""
    domains = {(gpu.fabric.uuid, gpu.fabric.clique) for gpu in gpus}
    assert not any(unset(uuid) for uuid, _ in domains), "the cluster UUID is all zeros: the GPUs joined no NVLink domain"
    assert len(domains) == 1, f"cluster and clique differ: {', '.join(f'{uuid} {clique}' for uuid, clique in sorted(domains))}"


@pytest.mark.check(component="os", severity="degraded", action="restart-service")
def test_services_run(services):
    """What the profile names, and the usual services that are enabled here, are active. Restart them, read the journal."""
    assert not services.expected.offending(lambda unit: unit.down)


@pytest.mark.check(component="os", severity="warn", action="restart-service")
def test_no_unit_has_failed(services):
    """systemd lists no failed unit beyond those the profile ignores. Read its journal, restart it, or ignore it by name."""
    failed = services.failed
    assert len(failed) == 0, f"failed: {', '.join(failed)}"


@pytest.mark.check(component="os", severity="degraded", action="fix-config")
def test_jobs_may_lock_memory(memory_locking_services, profile):
    """Services that start jobs may lock memory for RDMA. Set LimitMEMLOCK=infinity in a drop-in of the unit."""
    bytes_ = limit(profile, "memlock_bytes")
    assert not memory_locking_services.offending(lambda unit: unit.may("memlock_bytes") not in bytes_)


@pytest.mark.check(component="os", severity="warn", action="fix-config")
def test_jobs_may_open_files(services, profile):
    """Services that start jobs may open many files. Set LimitNOFILE in a drop-in of the unit."""
    files = limit(profile, "open_files")
    assert not services.starting_jobs.offending(lambda unit: unit.may("open_files") not in files)
