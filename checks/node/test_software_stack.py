"""What jobs run on: torch, CUDA runtime, NCCL and its plugin in the node's torch environment; login variables; package sources."""

import pytest

from fleetcheck.facts.defaults import limit


@pytest.mark.check(component="software-baseline", severity="degraded", action="fix-config")
def test_torch_can_be_imported(torch_environment):
    """import torch ends well in the node's torch environment. Reinstall the environment."""
    assert torch_environment.imports, f"{torch_environment.python}: {torch_environment.said}"


@pytest.mark.check(component="software-baseline", severity="warn", action="observe")
def test_torch_is_imported_quickly(torch_environment, profile):
    """A cold import of torch takes no longer than the file system it lies on explains. Look at that file system."""
    assert torch_environment.import_seconds in limit(profile, "torch_import_seconds")


@pytest.mark.check(component="software-baseline", severity="warn", action="fix-config")
def test_torch_is_released(torch_environment):
    """torch is of a version the profile allows. Install the released environment."""
    assert torch_environment.torch in torch_environment.released("torch")


@pytest.mark.check(component="software-baseline", severity="warn", action="fix-config")
def test_cuda_runtime_is_released(torch_environment):
    """torch was built for a CUDA runtime the profile allows. Install the released environment."""
    assert torch_environment.cuda in torch_environment.released("cuda")


@pytest.mark.check(component="software-baseline", severity="warn", action="fix-config")
def test_nccl_is_released(torch_environment):
    """NCCL, as torch loads it, is of a version the profile allows: ranks of different ones do not work together."""
    assert torch_environment.nccl in torch_environment.released("nccl")


@pytest.mark.check(component="software-baseline", severity="warn", action="fix-config")
def test_nccl_is_the_one_torch_asks_for(torch_environment):
    """The NCCL installed and loaded is the one torch's package asks for. Look for another libnccl.so in LD_LIBRARY_PATH."""
    mismatch = torch_environment.nccl_mismatch
    assert not mismatch, mismatch


@pytest.mark.check(component="software-baseline", severity="warn", action="fix-config")
def test_nccl_plugin_is_released(torch_environment):
    """NCCL's network plugin is the one the profile allows; without it NCCL falls back to sockets on such a fabric."""
    assert torch_environment.plugin in torch_environment.released("plugin")


@pytest.mark.check(component="software-baseline", severity="warn", action="fix-config")
def test_login_environment_slows_no_collectives(login_environment):
    """No login file switches NCCL's fast paths off for everybody, as one does while a job is debugged. Remove it."""
    crippling = login_environment.crippling
    assert not crippling, f"set for every login: {'; '.join(crippling)}"


@pytest.mark.check(component="software-baseline", severity="warn", action="fix-config")
def test_package_repositories_are_the_sites(repositories):
    """Packages come from the repositories of the profile, no more and no fewer. Reinstall their definition."""
    differences = repositories.differences
    assert not differences, f"package repositories: {', '.join(differences)}"
