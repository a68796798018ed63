"""The checks as an installed package: built offline, put into a folder of its own, started with --pyargs."""

import subprocess
import sys
import sysconfig

import pytest
from fleetrun import ROOT, Outcome, clean_environment


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the wheel's content, away from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder, ROOT], check=True)
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", folder / "site", *folder.glob("*.whl")], check=True)
    return folder / "site"


def pyargs(installed, name, run, cwd):
    """A process whose fleetcheck is the installed one; everything else comes from this environment."""
    path = f"{installed}:{sysconfig.get_path('purelib')}"
    argv = [sys.executable, "-S", "-m", "pytest", "--pyargs", name, "--replay", run, "--nodes", "sim-01"]
    done = subprocess.run(argv, cwd=cwd, env=clean_environment(PYTHONPATH=path), capture_output=True, text=True, check=False)
    return Outcome(done.returncode, done.stdout + done.stderr, cwd / "reports")


def test_installed_checks_run_by_their_package_name(installed, healthy_run, tmp_path):
    done = pyargs(installed, "fleetcheck.checks", healthy_run, tmp_path)
    assert done.status == 0 and done.verdicts["complete"] is True, done.output
    assert done.verdicts["nodes"]["sim-01"]["certified"] is True


def test_a_package_below_the_checks_is_partial(installed, healthy_run, tmp_path):
    done = pyargs(installed, "fleetcheck.checks.node.test_gpu", healthy_run, tmp_path)
    assert done.verdicts["complete"] is False, done.output
