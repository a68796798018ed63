"""Cables of a simulated fleet against its inventory: swapped ones named, missing ones a finding, unheard ones not measured."""

import pytest
import yaml
from fleetrun import CHECKS, run_pytest

WHERE, SWAPPED = "test_cables_end_where_they_should", "test_no_cables_of_two_nodes_are_swapped"
NODES = ("well", "swap-a", "swap-b", "rails", "stray", "unplugged", "no-link", "unheard", "blind", "garbled", "alike", "elsewhere-unheard")
LLDP_ALIKE = """{"lldp": {"interface": [{"eth0": {"via": "LLDP", "age": "1 day", "chassis": {"MGMT.dc1.example": {"id": {"type": "mac",
  "value": "02:00:00:00:00:01"}}}, "port": {"id": {"type": "mac", "value": "02:00:00:00:00:99"}, "descr": "SWP11"}}}]}}"""
INJECTED = {
    "swap-a": {"cables": {"eth0": "mgmt/swp3"}},
    "swap-b": {"cables": {"eth0": "mgmt/swp2"}},
    "rails": {"cables": {"mlx5_0": "leaf1-r1/4", "mlx5_3": "leaf1-r0/4"}},
    "stray": {"cables": {"mlx5_3": "leaf2-r1/40"}},
    "unplugged": {"files": {"/sys/class/net/eth0/carrier": "0\n"}},
    "no-link": {"files": {"/sys/class/infiniband/mlx5_0/ports/1/phys_state": "2: Polling\n"}},
    "unheard": {"cables": {"eth0": None}},
    "blind": {"commands": {"lldpctl": None, "smpquery": None}},
    "garbled": {"commands": {"lldpctl": {"stdout": '{"lldp": {"interface": [{"eth0": {"chassis": 5, "port": []}}, 7]}}'},
                             "smpquery": {"stdout": "LocalPort:\n\x00"}}},
    "alike": {"commands": {"lldpctl": {"stdout": LLDP_ALIKE}}},
    "elsewhere-unheard": {"cables": {"eth0": None, "mlx5_0": "leaf9-r0/1"}},
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The run of them all."""
    folder = tmp_path_factory.mktemp("cabling")
    (folder / "fleet.yaml").write_text(yaml.safe_dump({
        "fleet": "cabled",
        "defaults": {"profile": "h100-sxm5-8", "leaf": "leaf1", "cables": {
            "eth0": "mgmt/swp{slot}", "mlx5_0": "{leaf}-r0/{slot}", "mlx5_3": "{leaf}-r1/{slot}"}},
        "nodes": {**{name: {"slot": str(number)} for number, name in enumerate(NODES, 1)}, "uncabled": {"cables": dict.fromkeys(
            ("eth0", "mlx5_0", "mlx5_3"))}},
        "sandbox": {"nodes": INJECTED}}))
    done = run_pytest(CHECKS / "interconnect" / "test_cabling.py", "--inventory", "fleet.yaml", "-n", "4", "-p", "no:cacheprovider", cwd=folder)
    assert 1 == done.status, done.output
    return done


@pytest.fixture(scope="module")
def of_nodes(ended):
    """{node: its result}"""
    return {line["node"]: line for line in ended.lines("results") if line["check"] == WHERE}


@pytest.mark.parametrize(("node", "words"), [
    ("swap-a", "eth0: ends in mgmt/swp3, should end in mgmt/swp2"),
    ("swap-b", "eth0: ends in mgmt/swp2, should end in mgmt/swp3"),
    ("rails", "mlx5_0: ends in leaf1-r1/4, mlx5_3 in leaf1-r0/4: these two cables are swapped"),
    ("stray", "mlx5_3: ends in leaf2-r1/40, should end in leaf1-r1/5"),
    ("unplugged", "eth0: no carrier, should end in mgmt/swp6"),
    ("no-link", "mlx5_0: Polling, should end in leaf1-r0/7"),
    ("elsewhere-unheard", "mlx5_0: ends in leaf9-r0/1, should end in leaf1-r0/12"),
])
def test_a_cable_in_a_wrong_place_is_named_with_both_places(of_nodes, node, words):
    assert ("failed", "degraded", "fix-config") == tuple(of_nodes[node][key] for key in ("outcome", "severity", "action"))
    assert words in of_nodes[node]["message"]


@pytest.mark.parametrize(("node", "words"), [
    ("unheard", "eth0: its link is up, but no neighbour was heard"), ("blind", "program not found"), ("garbled", "no neighbour was heard"),
])
def test_an_end_that_was_not_heard_is_not_measured(of_nodes, node, words):
    assert "error" == of_nodes[node]["outcome"]
    assert words in of_nodes[node]["message"]


def test_names_in_other_case_with_a_domain_or_in_the_description_are_the_same(of_nodes):
    assert ["passed", "passed"] == [of_nodes[node]["outcome"] for node in ("well", "alike")], of_nodes["alike"]["message"]


def test_a_node_without_cables_in_the_inventory_is_left_alone(of_nodes):
    assert ("skipped", "the inventory names no cables of this node") == (of_nodes["uncabled"]["outcome"], of_nodes["uncabled"]["message"])


def test_cables_swapped_between_two_nodes_are_named_with_both(ended):
    (found,) = [line for line in ended.lines("results") if line["check"] == SWAPPED]
    assert "failed" == found["outcome"]
    assert "swap-a eth0 ends in mgmt/swp3 and swap-b eth0 in mgmt/swp2: these two cables are swapped" in found["message"]
    assert not [name for name in ("well", "alike", "stray", "rails") if name in found["message"]]


def test_the_swapped_pair_is_blamed_even_where_half_the_fleet_is_wired_wrong(ended):
    """What fails on so many nodes is one finding about the inventory; which two cables to exchange is known all the same."""
    assert {"swap-a", "swap-b"} == {name for name, node in ended.verdicts["nodes"].items() if node["verdict"] in ("degraded", "failed")}
