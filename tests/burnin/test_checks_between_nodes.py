"""Results of fixed seeds across nodes of one profile: the odd node is blamed by a majority of three, nobody without one."""

from __future__ import annotations

from typing import Any

import loadevidence
import pytest
import yaml
from fleetrun import CHECKS, run_pytest
from loadevidence import GPUS, changed, gpu, healthy, sums

NODES = [f"n{number}" for number in range(1, 6)]
OTHER = {key: value for number in range(GPUS) for key, value in sums(number).items()}
"""Every GPU of a node computes another result in one case."""


@pytest.fixture
def compared(tmp_path):
    """A replay of the one check over five nodes, of which some differ: its result, and the run."""
    def run(**changes: Any) -> Any:
        sound = healthy()
        nodes = {name: {} for name in NODES if changes.get(name, {}) is not None}
        (tmp_path / "f.yaml").write_text(yaml.safe_dump({"fleet": "f", "defaults": {"profile": "h100-sxm5-8"}, "nodes": nodes}))
        (tmp_path / "recorded").mkdir()
        (tmp_path / "recorded" / "plan.jsonl").touch()
        slim = {"sdc": sound["sdc"], "load": sound["load"]}
        lines = [loadevidence.line(name, changed(slim, changes.get(name) or {})) for name in nodes]
        (tmp_path / "recorded" / "evidence.jsonl").write_text("\n".join(lines) + "\n")
        done = run_pytest(f"{CHECKS}/burnin/test_data_corruption.py", "--inventory", "f.yaml", "--replay", "recorded", "--tier", "full", "-q",
                          "-p", "no:cacheprovider", cwd=tmp_path)
        found = [each for each in done.lines("results") if each["check"] == "test_nodes_agree_with_each_other"]
        return found[0], done
    return run


def test_nodes_that_agree_pass_as_one_item_of_the_fleet(compared):
    result, _ = compared()
    assert ("passed", "", NODES) == (result["outcome"], result["node"], result["nodes"])
    assert "5 of 5 nodes" in result["coverage"]


def test_the_odd_node_is_blamed_and_only_it(compared):
    result, done = compared(n3=OTHER)
    assert ("failed", ["n3"]) == (result["outcome"], result["nodes"])
    assert "n3: result of gemm-bf16-4096 is 00000bad, on 4 of 5 nodes it is 000000005eed" in result["message"]
    assert ["n3"] == [name for name, node in done.verdicts["nodes"].items() if node["verdict"] == "degraded"]


def test_without_a_majority_nobody_is_blamed(compared):
    result, done = compared(n1=OTHER, n2=OTHER, n5=None)
    assert "failed" == result["outcome"] and "no majority says who is wrong" in result["message"]
    assert [] == [name for name, node in done.verdicts["nodes"].items() if node["verdict"] == "degraded"]


def test_nodes_of_other_software_are_compared_among_themselves(compared):
    newer = {"sdc.software.torch": "2.8.0"}
    result, _ = compared(n4={**OTHER, **newer}, n5={**OTHER, **newer})
    assert "passed" == result["outcome"]


def test_one_node_of_each_software_is_nothing_to_compare(compared):
    newer = {"sdc.software.torch": "2.8.0"}
    result, _ = compared(n1=newer, n3=None, n4=None, n5=None)
    assert "error" == result["outcome"] and "nothing to compare" in result["message"]


def test_a_gpu_that_differs_in_its_node_blames_itself_and_not_the_node(compared):
    result, done = compared(n3=sums(3))
    assert "passed" == result["outcome"]
    (own,) = [each for each in done.lines("results") if each["check"] == "test_gpus_agree_with_each_other" and each["outcome"] == "failed"]
    assert ("n3", ["GPU 3"]) == (own["node"], [part["label"] for part in own["parts"]])


def test_a_node_without_results_is_left_to_its_own_checks(compared):
    result, _ = compared(n2={"sdc.devices": []}, n4={gpu("sdc", "checksums"): "none"})
    assert ("passed", True) == (result["outcome"], "of 5 nodes" in result["coverage"])
