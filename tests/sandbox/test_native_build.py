"""Compiling the native programs on first use."""

import subprocess
import sys

import pytest

from fleetcheck.sandbox import native
from fleetcheck.sandbox.errors import SandboxError

BUILD = "from fleetcheck.sandbox import native; print(native.nvml(), native.preload(), native.command())"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "fleetcheck"


def test_processes_that_compile_at_once_end_with_one_whole_copy(cache):
    builds = [subprocess.Popen([sys.executable, "-c", BUILD], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    answers = [build.communicate(timeout=120)[0] for build in builds]
    assert [0] * 4 == [build.returncode for build in builds]
    assert 1 == len(set(answers))
    assert sorted(answers[0].split()) == sorted(map(str, cache.iterdir()))


def test_each_set_of_absent_symbols_is_a_library_of_its_own(cache):
    name = "nvmlDeviceGetName"
    names = [native.nvml(absent) for absent in ((), [name], [name, name])]
    assert (2, True) == (len(set(names)), names[1] == names[2])


def test_sources_compile_without_a_warning():
    from fleetcheck.sandbox.native_build import FLAGS
    from fleetcheck.sandbox.nvml_source import source
    from fleetcheck.sandbox.nvml_surface import SOURCES

    for text in (source(), (SOURCES / "preload.c").read_text(), (SOURCES / "simcmd.c").read_text()):
        argv = ["gcc", *FLAGS, "-fsyntax-only", "-Wno-unused-function", "-I", str(SOURCES), "-x", "c", "-"]
        assert "" == subprocess.run(argv, input=text, capture_output=True, text=True, check=False).stderr


def test_a_machine_without_gcc_is_told_what_to_install(cache, monkeypatch):
    monkeypatch.setenv("PATH", str(cache))
    with pytest.raises(SandboxError, match=r"gcc is not on PATH.*apt install gcc"):
        native.nvml()


def test_a_cache_that_others_may_write_is_refused(cache):
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(SandboxError, match="writable by nobody else"):
        native.command()


def test_an_absent_symbol_that_does_not_exist_is_refused():
    with pytest.raises(SandboxError, match=r"nvmlDeviceGetNames.*nvmlDeviceGetName"):
        native.nvml(["nvmlDeviceGetNames"])
