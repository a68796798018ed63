"""The collectors gpu and pci on simulated nodes: the real pynvml over the simulated library, as the node runs them."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import checking
import pytest
from nodecode import pythons

from fleetcheck import inventory
from fleetcheck.sandbox.plan import plan
from fleetcheck.sandbox.realise import realise
from fleetcheck.sandbox.simulated import simulated
from fleetcheck.sandbox.store import Store

ASK = """
import json, sys
from fleetcheck.node.collectors import gpu, pci
from fleetcheck.node.host import Host, current_root
collect = {"gpu": gpu.collect, "pci": pci.collect}[sys.argv[1]]
print(json.dumps(collect(Host(current_root()), {"nvml_stall_seconds": 1})))
"""


@pytest.fixture
def answer(tmp_path):
    """What a collector answers on one simulated node with overrides."""

    def ask(overrides=None, collector="gpu", profile="h100-sxm5-8", python=sys.executable):
        description = {"fleet": "one", "defaults": {"profile": profile}, "nodes": {"sim-01": {}},
                       "sandbox": {"nodes": {"sim-01": overrides or {}}}}
        (tmp_path / "one.yaml").write_text(json.dumps(description))
        (planned,) = plan(inventory.load(tmp_path / "one.yaml"))
        now = time.time()
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        layout = realise(simulated(planned, now), folder, now, Store(folder))
        path = os.pathsep.join([str(checking.ROOT), *(place for place in sys.path if "site-packages" in place)])
        done = subprocess.run([python, "-c", ASK, collector], capture_output=True, text=True, timeout=60, check=False,
                              env={**layout.environment(), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"})
        assert (0, "") == (done.returncode, done.stderr)
        return json.loads(done.stdout)

    return ask


def every_gpu(found, *path):
    """One leaf of every GPU."""
    values = found["gpus"]
    for step in path:
        values = [value[step] for value in values]
    return values


def test_a_healthy_node_tells_every_section_of_every_gpu(answer):
    found = answer()
    assert [f"GPU-{number}" for number in range(8)] == [f"GPU-{gpu['index']}" for gpu in found["gpus"]]
    assert ("SUCCESS", "570.133.20", "12.8", 8, 8, "") == tuple(
        found["driver"][name] for name in ("init_code", "version", "cuda_version", "device_count", "device_nodes", "hung_call"))
    assert [[1] * 18] * 8 == every_gpu(found, "nvlink", "state")
    assert [0] * 8 == every_gpu(found, "ecc", "volatile_uncorrected")
    assert all(1 <= seconds < 3 for seconds in every_gpu(found, "counters", "seconds"))
    assert {""} == {code for gpu in found["gpus"] for code in gpu["calls"]["bad"].values()}


def test_a_lost_gpu_costs_no_other_gpu_a_value(answer):
    healthy, found = answer(), answer({"nvml": [{"call": "*", "gpu": 3, "return": "GPU_IS_LOST"}]})
    lost = found["gpus"][3]
    assert ("GPU_IS_LOST", "nvmlDeviceGetHandleByIndex") == (lost["handle_code"], lost["calls"]["bad"]["GPU_IS_LOST"])
    assert every_gpu(healthy, "identity", "uuid")[:3] == [gpu["identity"]["uuid"] for gpu in found["gpus"][:3]]
    assert {""} == {code for gpu in found["gpus"] if gpu["index"] != 3 for code in gpu["calls"]["bad"].values()}


def test_a_failed_call_keeps_its_code_and_never_a_default(answer):
    found = answer({"nvml": [
        {"call": "nvmlDeviceGetPowerUsage", "gpu": 1, "return": "UNKNOWN"},
        {"call": "nvmlDeviceGetTotalEccErrors", "gpu": 2, "return": "NOT_SUPPORTED"},
        {"call": "nvmlDeviceGetFieldValues", "gpu": 4, "args": {"field": 230}, "return": "NOT_SUPPORTED"},
    ]})
    assert [{"absent": "UNKNOWN"}] * 3 == found["gpus"][1]["samples"]["power_watts"]
    assert "nvmlDeviceGetPowerUsage" == found["gpus"][1]["calls"]["bad"]["UNKNOWN"]
    assert {"absent": "NOT_SUPPORTED"} == found["gpus"][2]["ecc"]["volatile_uncorrected"]
    assert {"absent": "NOT_SUPPORTED"} == found["gpus"][4]["modes"]["recovery_action"]
    assert 0 == found["gpus"][5]["modes"]["recovery_action"]


def test_counters_that_grow_are_seen_to_grow(answer):
    found = answer({"nvml": [
        {"call": "nvmlDeviceGetTotalEccErrors", "gpu": 1, "args": {"errorType": 0}, "value": {"start": 10, "per_second": 5000}},
        {"call": "nvmlDeviceGetNvLinkErrorCounter", "gpu": 1, "args": {"link": 4, "counter": 2}, "value": {"start": 0, "per_second": 120}},
    ]})
    counters = found["gpus"][1]["counters"]
    grown = counters["corrected"][1] - counters["corrected"][0]
    assert 0.8 * 5000 <= grown / counters["seconds"] <= 1.2 * 5000
    first, last = counters["nvlink"]["crc_flit"]
    assert [4] == [link for link in range(18) if last[link] > first[link]]


def test_an_old_driver_is_asked_by_the_older_names(answer):
    newer = ["nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetMemoryInfo_v2",
             "nvmlDeviceGetMarginTemperature"]
    found = answer({"nvml": [{"call": call, "absent": True} for call in newer]})
    gpu = found["gpus"][0]
    assert [1, 1, 1] == gpu["samples"]["event_reasons"]
    assert (3, {"absent": "FUNCTION_NOT_FOUND"}) == (gpu["fabric"]["state"], gpu["fabric"]["health_mask"])
    assert {"absent": "FUNCTION_NOT_FOUND"} == gpu["thermal"]["margin_celsius"]
    assert gpu["memory"]["total_bytes"] > 79 << 30
    assert {"absent": "FUNCTION_NOT_FOUND"} == gpu["memory"]["used_bytes"]


def test_a_hung_call_is_named_and_left_behind(answer):
    began = time.monotonic()
    found = answer({"nvml": [{"call": "nvmlDeviceGetTemperature", "gpu": 5, "hang": True}]})
    assert time.monotonic() - began < 20
    assert "GPU 5: nvmlDeviceGetTemperature (process state S)" == found["driver"]["hung_call"]
    assert (8, []) == (found["driver"]["device_nodes"], found["gpus"])
    assert found["driver"]["init_code"]["absent"].startswith("NVML did not answer")


def test_a_missing_library_and_a_missing_driver_are_told_apart(answer):
    assert "DRIVER_NOT_LOADED" == answer({"faults": ["driver-not-loaded"]})["driver"]["init_code"]
    assert "LIBRARY_NOT_FOUND" == answer({"faults": ["library-missing"]})["driver"]["init_code"]


def test_a_host_without_gpus_answers_at_once(answer):
    found = answer(profile="cpu-host")
    assert [] == found["gpus"]
    assert "SUCCESS" != found["driver"]["init_code"]


def test_processes_name_their_owner_and_job_but_not_their_arguments(answer):
    found = answer({
        "nvml": [{"call": "nvmlDeviceGetComputeRunningProcesses_v3", "gpu": 1, "value": [{"pid": 4711, "usedGpuMemory": 1 << 30}]}],
        "files": {"/proc/4711/status": "Name:\tpython3\nState:\tS (sleeping)\nUid:\t1000\t1000\t1000\t1000\n",
                  "/proc/4711/cgroup": "0::/system.slice/slurmstepd.scope/job_815/step_0/user/task_0\n",
                  "/proc/4711/cmdline": "python3\0--token=secret\0"},
    })
    assert [{"kind": "compute", "pid": 4711, "memory_bytes": 1 << 30, "uid": 1000, "name": "python3", "state": "S", "job": "815"}] == (
        found["gpus"][1]["processes"])
    assert "secret" not in json.dumps(found)


@pytest.mark.parametrize(("profile", "links"), [("a100-sxm4-80-8", 12), ("b200-sxm-8", 18), ("gb200-nvl72-tray", 18)])
def test_other_boards_tell_their_own_number_of_links(answer, profile, links):
    found = answer(profile=profile)
    assert {links} == {len(states) for states in every_gpu(found, "nvlink", "state")}
    assert {""} == {code for gpu in found["gpus"] for code in gpu["calls"]["bad"].values()}


def test_the_pci_bus_tells_widths_ports_and_errors(answer):
    found = answer({"files": {
        "/sys/bus/pci/devices/0000:61:00.0/current_link_width": "8\n",
        "/sys/bus/pci/devices/0000:61:00.0/aer_dev_nonfatal": "UnsupReq 2\nCmpltTO 1\nTOTAL_ERR_NONFATAL 3\n",
        "/sys/bus/pci/devices/0000:61:00.0/aer_dev_correctable": "garbage\n",
    }}, collector="pci")
    function = next(each for each in found["functions"] if each["address"] == "0000:61:00.0")
    assert ("gpu", 8, 16, "nvidia") == tuple(function[name] for name in ("kind", "current_width", "maximum_width", "driver"))
    assert (3, 2, 0) == tuple(function["aer"][name] for name in ("nonfatal", "nonfatal_unsupported_requests", "fatal"))
    assert [{"absent": "the counter file holds no total"}] * 2 == function["aer"]["correctable"]
    assert function["port"].startswith("0000:")


def test_node_code_runs_on_the_oldest_python_here(answer):
    """Python 3.6 where there is one; that its syntax is 3.6 everywhere, another test reads from the source."""
    oldest = min(pythons(), key=lambda path: int(re.search(r"3\.(\d+)", f"{Path(path).resolve()} 3.99")[1]))
    assert 8 == len(answer(python=oldest)["gpus"])
