"""What is seen during a load on simulated nodes: windows, and events with the GPU, the load and the minute."""

from __future__ import annotations

import dataclasses
import itertools
import threading

import pytest
from loadnode import LoadNode, base_below

from fleetcheck import inventory, sandbox
from fleetcheck.exchange import Request
from fleetcheck.profiles import load_profile, shipped_profiles
from fleetcheck.sandbox.machine.base import base

NODES = """fleet: test
defaults: {profile: h100-sxm5-8}
nodes:
  n[1-4]: {}
sandbox:
  nodes:
    n2:
      nvml:
        - {call: nvmlDeviceGetTotalEccErrors, gpu: 3, args: {errorType: 0, counterType: 0}, value: {start: 7, per_second: 3}}
        - {call: nvmlDeviceGetNvLinkErrorCounter, gpu: 5, args: {link: 4, counter: 2}, value: {start: 90, per_second: 12}}
        - {call: nvmlDeviceGetCurrentClocksEventReasons, gpu: 1, value: 0x48}
        - {call: nvmlDeviceGetPowerUsage, gpu: 6, return: GPU_IS_LOST}
      files:
        /sys/bus/pci/devices/{gpu2.pci}/aer_dev_correctable: {text: "RxErr 0\\nTOTAL_ERR_COR {n}\\n", n: {start: 5, per_second: 9}}
        /sys/devices/system/edac/mc/mc0/ce_count: {start: 0, per_second: 2}
    n3:
      nvml:
        - {call: nvmlDeviceGetTemperature, gpu: 1, hang: true}
        - {call: "*", gpu: 4, hang: true}
    n4: {faults: [library-missing]}
"""
ADDRESSES = [place.address for place in base(load_profile("h100-sxm5-8", shipped_profiles())).gpus.places]
RUN = {"load": "fake", "seconds": 2.5}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    path = tmp_path_factory.mktemp("inventory") / "fleet.yaml"
    path.write_text(NODES.replace("{gpu2.pci}", ADDRESSES[2]))
    with sandbox.start(inventory.load(path)) as running:
        yield running


@pytest.fixture
def loaded(fleet):
    nodes = []

    def run(name, *entries, **more):
        found = next(node for node in fleet.inventory.nodes if node.name == name)
        root = fleet.directory / "nodes" / name / "root"
        nodes.append(LoadNode(dataclasses.replace(found), base_below(root)))
        nodes[-1].start(*(entries or (RUN,)), devices=8, **{"sample_seconds": 0.2, "window_seconds": 1.0, **more})
        return nodes[-1], root

    yield run
    for node in nodes:
        node.close()


def test_windows_hold_what_nvml_told_of_every_gpu(loaded):
    node, _ = loaded("n1")
    told = node.ended()
    window = next(window for window in told["windows"] if window["load"] == "fake" and window["samples"] >= 3)
    assert [str(index) for index in range(8)] == sorted(window["gpus"])
    gpu = window["gpus"]["0"]
    low, mean, high = gpu["temperature"]
    assert 20 < low <= mean <= high < 60 and 0 < gpu["power"][1] < 200 and gpu["uuid"].startswith("GPU-")
    assert [5, 16] == [max(gpu["pcie"][0], 5), gpu["pcie"][1]] and 0 == gpu["ecc"]["corrected"] == gpu["ecc"]["uncorrected"] == gpu["nvlink_errors"]
    assert window["cpu"]["load"] > 0 and [] == told["events"]
    assert window["metrics"]["7"]["tflops_bf16"] == [107.0, 107.0, 107.0]


def test_what_grows_is_an_event_with_its_gpu_and_what_throttles_is_counted(loaded):
    node, _ = loaded("n2")
    told = node.ended()
    events = {(event["kind"], event["gpu"]): event for event in told["events"]}
    assert {("ecc", 3), ("nvlink", 5), ("aer", 2), ("ecc", None)} <= set(events), told["events"]
    assert "GPU 3: ecc corrected grew by" in events["ecc", 3]["text"] and events["ecc", 3]["uuid"].startswith("GPU-")
    assert "crc_flit of link 4 grew by" in events["nvlink", 5]["text"] and "correctable of 0000:" in events["aer", 2]["text"]
    assert "corrected by mc0 grew by" in events["ecc", None]["text"]
    assert all(event["time"].startswith("20") and 0 <= event["t"] < 60 for event in told["events"])
    during = [window for window in told["windows"] if window["load"] == "fake"]
    grown = [window["gpus"]["3"]["ecc"]["corrected"] for window in during]
    assert sum(grown) > 0 and all(0 == window["gpus"]["0"]["ecc"]["corrected"] for window in during)
    held = during[0]["gpus"]["1"]["throttled_seconds"]
    assert {"hw_slowdown", "hw_thermal_slowdown"} == set(held) and held["hw_slowdown"] > 0
    assert {"absent": "GPU_IS_LOST"} == during[0]["gpus"]["6"]["power"] and during[0]["gpus"]["6"]["temperature"][1] > 0


def test_kernel_lines_that_come_are_events_with_load_and_gpu(loaded):
    node, root = loaded("n1", {"load": "fake", "seconds": 20}, window_seconds=3.0)
    told = node.until(lambda told: any(window["metrics"] for window in told["windows"]))
    uuid = told["windows"][-1]["gpus"]["3"]["uuid"]
    log = root / "dev/kmsg"
    number = len(log.read_text().splitlines()) + 100
    with log.open("a") as file:
        file.write(f"6,{number},9000000000,-;usb 1-1: new high-speed USB device\n")
        file.write(f"3,{number + 1},9000000001,-;NVRM: Xid (PCI:{ADDRESSES[3].rpartition('.')[0]}): 79, pid='<unknown>', GPU has fallen off the bus.\n")
        file.writelines(f"4,{number + 2 + each},9000000002,-;EDAC MC0: {each} CE memory read error on CPU_SrcID#0\n" for each in range(100))
    told = node.until(lambda told: any("more kernel lines" in event["text"] for event in told["events"]))
    xid, = [event for event in told["events"] if event["kind"] == "xid"]
    assert (3, uuid, "fake") == (xid["gpu"], xid["uuid"], xid["load"]) and "Xid" in xid["text"] and xid["t"] > 0
    flood = [event for event in told["events"] if event["kind"] == "ecc"]
    assert 21 == len(flood) and "80 more kernel lines like: EDAC MC#: # CE" in flood[-1]["text"]
    assert not any("usb" in event["text"] for event in told["events"])


def test_a_hung_call_costs_its_own_value_and_a_hung_gpu_itself(loaded):
    node, _ = loaded("n3", {"load": "fake", "seconds": 14}, stall_seconds=1.0, seconds=120)
    told = node.until(lambda told: told["windows"] and told["windows"][-1]["gpus"].get("1", {}).get("temperature") == {"absent": "HUNG"}
                      and isinstance(told["windows"][-1]["gpus"]["0"]["power"], list))
    window = told["windows"][-1]
    assert window["gpus"]["1"]["power"][1] > 0 and window["gpus"]["0"]["temperature"][1] > 0
    assert {"absent": "HUNG"} == window["gpus"]["4"]["temperature"]
    hung = [event for event in told["events"] if event["kind"] == "telemetry"]
    assert any(event["gpu"] == 1 and "hung for" in event["text"] and "GPU 1: nvmlDeviceGetTemperature" in event["text"] for event in hung)
    assert {1, 4} == {event["gpu"] for event in hung}
    told = node.ended()
    assert "done" == told["ended_why"] and told["results"]["fake"]["ok"]


def test_a_connection_that_drops_in_the_middle_of_an_ask_costs_the_load_nothing(loaded):
    node, _ = loaded("n1", {"load": "fake", "seconds": 6}, window_seconds=0.5)
    asking = threading.Thread(target=lambda: node.exchange.ask(node.node, Request("run", "load", "load", ("load_poll", "gpu"), 60, {"load": {"id": "load-1"}})))
    asking.start()
    node.exchange.close()
    asking.join()
    again = LoadNode(node.node, node.base)
    told = again.ended()
    assert "done" == told["ended_why"] and told["results"]["fake"]["ok"]
    during = [window for window in told["windows"] if window["load"] == "fake"]
    assert len(during) >= 8 and all(abs(later["t"] - window["t"] - window["seconds"]) < 0.2 for window, later in itertools.pairwise(during))
    assert {"state": "cleaned", "left": []} == again.end() and not again.base.exists()
    again.close()
    node.ids.clear()


def test_without_nvml_the_load_runs_and_the_absence_has_a_reason(loaded):
    node, _ = loaded("n4")
    told = node.ended()
    assert told["results"]["fake"]["ok"]
    assert all({} == window["gpus"] and window["absent"] for window in told["windows"] if window["load"])
