"""Faults of loads in a sandbox's description: checked word by word, realised as the environment of the node's commands alone."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from fleetcheck import inventory
from fleetcheck.sandbox import faults, loads
from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.sandbox.fleet import realise_all
from fleetcheck.sandbox.plan import plan

NAMED = ("slow-gpu", "wrong-bit", "throttled-under-load", "memory-stuck-bit", "load-killed", "disk-corrupts")


@pytest.fixture
def planned(tmp_path):
    def make(described):
        file = tmp_path / "x.yaml"
        file.write_text("fleet: x\ndefaults: {profile: cpu-host}\nnodes: {'n[1-2]': }\nsandbox:\n  nodes:\n" + textwrap.indent(described, "    "))
        return plan(inventory.load(file))
    return make


def test_faults_reach_the_commands_of_their_node_alone(planned, tmp_path):
    one, other = realise_all(planned("n1: {loads: [{load: gemm, device: 3, slow: 2}, {device: 1, corrupt: true}]}"), tmp_path)
    assert [{"load": "gemm", "device": 3, "slow": 2.0}, {"device": 1, "corrupt": True}] == json.loads(one.environment[loads.VARIABLE])
    assert loads.VARIABLE not in other.environment


def test_named_faults_and_own_ones_add_up(planned):
    first, _ = planned("n1: {faults: [wrong-bit, disk-corrupts], loads: [{load: gemm, die: 3.5}]}")
    assert [("sdc", 5, None), ("disk", None, True), ("gemm", None, None)] == [(each.load, each.flip, each.corrupt) for each in first.overrides.loads]


@pytest.mark.parametrize("name", NAMED)
def test_the_faults_of_loads_are_shipped(name):
    fault = faults.shipped()[name]
    assert fault.loads or fault.nvml


@pytest.mark.parametrize(("entry", "words"), [
    ("{load: gemms, slow: 2}", "gemm"), ("{load: gemm}", "expected one of slow, flip, stuck, die, corrupt"),
    ("{slow: 0.5}", "greater than or equal to 1"), ("{device: -1, slow: 2}", "greater than or equal to 0"),
    ("{slow: .inf}", "valid number"), ("{flips: 1}", "unknown key 'flips'"), ("{flip: 0}", "greater than or equal to 1"), ("{die: soon}", "die"),
])
def test_what_no_stand_in_knows_is_refused_with_its_line(planned, entry, words):
    with pytest.raises(SandboxError, match=r"x.yaml:6: ") as refused:
        planned(f"n1: {{loads: [{entry}]}}")
    assert words in str(refused.value)


def test_the_node_code_reads_the_same_words():
    text = (Path(loads.__file__).parents[1] / "node" / "loads" / "faults.py").read_text()
    assert all(f'"{word}"' in text for word in (*loads.WRONG, "load", "device", loads.VARIABLE))
