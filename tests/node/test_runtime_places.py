"""Where the node code lies while it runs: in memory, else in a nameless file; and which python3 runs it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from nodecode import answer, payload_with, pythons, replied, request

ARCHIVE = payload_with("import os\ndef where(host, settings): return {'archive': os.readlink(__file__.partition('/fleetcheck')[0])}\n"
                       "COLLECTORS = (('where', where, 5),)")
OLD = [python for python in pythons() if "/3.6" in python or "/3.7" in python]
TMPFS = "a full file system needs root and mount(8): run the tests as root in a namespace of their own (unshare -m)"


def where(python, folder, **environment):
    done = answer(ARCHIVE, request("where"), python, folder / "bin", **environment)
    assert b"" == done.stderr
    return replied(done.stdout)["answers"]["where"]["data"]["archive"]


def listing(folder):
    return sorted(path.name for path in folder.rglob("*") if path.name.startswith(".fleetcheck"))


@pytest.mark.parametrize("python", [python for python in pythons() if python not in OLD])
def test_the_archive_lies_in_memory(python, tmp_path):
    assert where(python, tmp_path).startswith("/memfd:fleetcheck")


@pytest.mark.parametrize("python", OLD)
def test_older_pythons_keep_it_in_a_nameless_file(python, tmp_path):
    (tmp_path / "runtime").mkdir()
    place = where(python, tmp_path, XDG_RUNTIME_DIR=str(tmp_path / "runtime"))
    assert place.startswith(f"{tmp_path}/runtime/.fleetcheck-") and place.endswith("(deleted)")
    assert [] == listing(tmp_path)


@pytest.mark.parametrize("python", OLD)
def test_an_unwritable_place_is_passed_over(python, tmp_path):
    place = where(python, tmp_path, XDG_RUNTIME_DIR="/proc")
    assert place.startswith(("/dev/shm/", "/tmp/"))


@pytest.fixture
def full(tmp_path):
    """A file system of 16 kB."""
    folder = tmp_path / "full"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(TMPFS)
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("python", pythons())
def test_a_full_file_system_is_passed_over(python, tmp_path, full):
    assert str(full) not in where(python, tmp_path, XDG_RUNTIME_DIR=str(full), TMPDIR=str(full))
    assert [] == listing(full)


def test_no_place_at_all_is_said(tmp_path):
    from fleetcheck.payload import BOOTSTRAP

    source = BOOTSTRAP.read_text().replace('("/dev/shm", "/tmp", "/var/tmp")', '("/proc",)').replace('"memfd_create"', '"none"')
    script = f"import os, sys; exec(compile({source.split('if __name__')[0]!r}, 'b', 'exec')); held(b'x')"
    done = subprocess.run([pythons()[0], "-c", script], capture_output=True, text=True, check=False,
                          env={"XDG_RUNTIME_DIR": "/nowhere"})
    assert 93 == done.returncode
    assert "no place for 1 bytes of node code (/nowhere: No such file or directory; /proc:" in done.stderr


def test_python3_is_found_beside_the_path(tmp_path):
    """A simulated node's /usr/bin, while PATH holds nothing."""
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/python3").symlink_to(pythons()[0])
    done = answer(ARCHIVE, request("where"), FLEETCHECK_ROOT=str(tmp_path), PATH=str(tmp_path))
    assert replied(done.stdout)["answers"]["where"]["ok"]


def test_a_python3_that_does_not_start_is_passed_over(tmp_path):
    """Such as one whose libraries lie on a disk that fails."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").write_text("#!/bin/sh\necho 'error while loading shared libraries' >&2\nexit 127\n")
    (tmp_path / "bin/python3").chmod(0o755)
    (tmp_path / "bin/python3.11").symlink_to(pythons()[0])
    done = answer(ARCHIVE, request("where"), FLEETCHECK_ROOT=str(tmp_path), PATH=str(tmp_path / "bin"))
    assert replied(done.stdout)["answers"]["where"]["ok"]


@pytest.mark.parametrize("python", [str(path) for path in Path.home().glob(".pyenv/versions/2.*/bin/python2")])
def test_a_real_python_2_is_told_from_none(python, tmp_path):
    for name in ("python", "python2"):
        (tmp_path / name).symlink_to(python)
    done = answer(ARCHIVE, request("where"), FLEETCHECK_ROOT=str(tmp_path), PATH=str(tmp_path))
    assert 92 == done.returncode
    assert done.stderr.startswith(b"Python 2.")


def test_no_python_at_all(tmp_path):
    assert 91 == answer(ARCHIVE, request("where"), FLEETCHECK_ROOT=str(tmp_path), PATH=str(tmp_path)).returncode


def test_input_that_ends_early_starts_nothing(tmp_path):
    done = answer(ARCHIVE[:100], b"", folder=tmp_path / "bin")
    assert done.returncode != 0
    assert b"<<fleetcheck" not in done.stdout


def test_the_environment_is_no_way_in(tmp_path):
    """PYTHONPATH, PYTHONSTARTUP and user site-packages of the account are not looked at."""
    (tmp_path / "json.py").write_text("raise SystemExit('foreign json')")
    done = answer(ARCHIVE, request("where"), PYTHONPATH=str(tmp_path), PYTHONWARNINGS="error", PYTHONINSPECT="1")
    assert replied(done.stdout)["answers"]["where"]["ok"]


def test_nothing_is_left_in_temporary_folders(tmp_path):
    for python in pythons():
        where(python, tmp_path / Path(python).parent.parent.name)
    left = [path for folder in ("/tmp", "/dev/shm", "/var/tmp") for path in Path(folder).glob(".fleetcheck*")]
    assert [] == left
