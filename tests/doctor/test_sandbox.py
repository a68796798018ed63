"""fleetcheck doctor against simulated nodes: real SSH, real node code, rights and programs taken away."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FLEET = """
fleet: d
defaults: {profile: h100-sxm5-8}
nodes:
  sim-[01-06]: {}
  sim-06: {state: spare}
sandbox:
  nodes:
    sim-02:
      files: {/dev/kmsg: {errno: EACCES}}
      commands:
        dmesg: {stderr: "dmesg: read kernel buffer failed: Operation not permitted", exit: 1}
        journalctl: {stderr: No journal files were opened due to insufficient permissions., exit: 1}
    sim-03: {unreachable: refused}
    sim-04: {commands: {ethtool: null}}
    sim-05: {nvml: [{call: nvmlDeviceGetSramEccErrorStatus, return: NO_PERMISSION}]}
"""


def doctor(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "fleetcheck.cli", "doctor", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    path = tmp_path_factory.mktemp("doctor") / "d.yaml"
    path.write_text(FLEET)
    return doctor("--inventory", str(path), "--json")


@pytest.fixture(scope="module")
def nodes(examined):
    return json.loads(examined.stdout)["nodes"]


def gaps(node, collector):
    return {(gap["lack"], gap["what"]) for gap in node["collectors"][collector]["gaps"]}


def test_something_missing_is_exit_code_1(examined):
    assert (1, False) == (examined.returncode, json.loads(examined.stdout)["ok"]), examined.stderr


def test_nodes_out_of_service_are_not_asked(nodes):
    assert ["sim-01", "sim-02", "sim-03", "sim-04", "sim-05"] == list(nodes)


def test_a_healthy_node_is_read_fully(nodes):
    assert nodes["sim-01"]["ok"], nodes["sim-01"]
    assert {"full"} == {each["state"] for each in nodes["sim-01"]["collectors"].values()}


def test_a_restricted_kernel_log_is_partly_read_with_every_way_out(nodes):
    log = nodes["sim-02"]["collectors"]["kernel_log"]
    assert "partly" == log["state"]
    assert {"permission"} == {lack for lack, _ in gaps(nodes["sim-02"], "kernel_log")}
    assert any("sudoers.d" in fix for fix in log["fixes"]) and any("systemd-journal" in fix for fix in log["fixes"])


def test_a_node_nobody_can_log_in_to_is_named_with_the_reason(nodes):
    assert "refused" == nodes["sim-03"]["login"]["kind"]


def test_a_missing_program_names_its_package(nodes):
    assert ("program", "ethtool") in gaps(nodes["sim-04"], "network")
    assert ["install ethtool (for ethtool)"] == nodes["sim-04"]["collectors"]["network"]["fixes"]


def test_what_nvml_tells_root_only_is_named(nodes):
    assert {("permission", "NVML")} == gaps(nodes["sim-05"], "gpu")


def test_everything_read_is_exit_code_0_and_a_plain_table_outside_a_terminal(tmp_path):
    (tmp_path / "d.yaml").write_text(FLEET)
    done = doctor("--inventory", str(tmp_path / "d.yaml"), "--nodes", "sim-01")
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "kernel_log\tsim-01\tfully\n" in done.stdout
    assert "everything can be read on 1 of 1 nodes: sim-01\n" in done.stdout


@pytest.mark.parametrize("words", [("--inventory", "/nowhere.yaml"), (), ("--inventory", "{fleet}", "--nodes", "sim-99")])
def test_a_mistake_on_the_command_line_is_exit_code_4(tmp_path: Path, words):
    (tmp_path / "d.yaml").write_text(FLEET)
    done = doctor(*(word.format(fleet=tmp_path / "d.yaml") for word in words))
    assert 4 == done.returncode
    assert "Traceback" not in done.stderr
