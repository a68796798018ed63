"""Checks of several nodes: one item per NVLink domain, the odd node blamed, nobody where no majority says who is wrong."""

import json

import pytest

from fleetcheck.groups import ByNode, Group
from fleetcheck.nodes import Node
from fleetcheck.plan import CheckError, mark

CHECK = """
    import pytest
    from fleetcheck.absent import NotMeasured

    def membership(gpus):
        return ", ".join(sorted({f"{gpu.fabric.uuid} clique {gpu.fabric.clique}" for gpu in gpus}))

    @pytest.mark.check(component="fabric", severity="degraded", action="fix-config", per="nvlink_domain")
    def test_domain_is_one(group, gpus_by_node):
        assert not gpus_by_node.odd("NVLink cluster", membership)
"""
OTHER = "nvml: [{call: nvmlDeviceGetGpuFabricInfoV, value: {cliqueId: 7}}]"
FLEET = """
fleet: rack
defaults: {{profile: gb200-nvl72-tray}}
nodes:
  sim-[01-05]: {{nvlink_domain: d1}}
  sim-06: {{nvlink_domain: alone}}
  sim-07: {{}}
sandbox: {{nodes: {{{faults}}}}}
"""


@pytest.fixture
def domain(site):
    def run(faults="", *options):
        site.write(CHECK)
        (site.folder / "rack.yaml").write_text(FLEET.format(faults=faults))
        return site.run("checks", "--inventory", "rack.yaml", *options)
    return run


def only(done):
    results = done.lines("results")
    assert len(results) == 1
    return results[0]


def test_a_domain_of_one_cluster_passes_and_names_how_many_were_seen(domain):
    done = domain("")
    result = only(done)
    assert (result["outcome"], result["nodeid"].partition("::")[2], result["node"]) == ("passed", "test_domain_is_one[d1]", "")
    assert result["nodes"] == [f"sim-0{number}" for number in range(1, 6)] and result["coverage"].endswith("5 of 5 nodes")
    assert done.lines("plan")[0]["nodes"] == result["nodes"]


def test_the_odd_node_is_blamed_and_only_it(domain):
    done = domain(f"sim-03: {{{OTHER}}}")
    result = only(done)
    assert result["outcome"] == "failed" and result["nodes"] == ["sim-03"]
    assert "sim-03: NVLink cluster is" in result["message"] and "on 4 of 5 nodes" in result["message"]
    verdicts = {name: node["verdict"] for name, node in done.verdicts["nodes"].items()}
    assert verdicts.pop("sim-03") == "degraded" and "degraded" not in verdicts.values()


def test_two_odd_nodes_are_both_blamed(domain):
    done = domain(f"sim-03: {{{OTHER}}}, sim-05: {{{OTHER}}}")
    assert only(done)["nodes"] == ["sim-03", "sim-05"]
    assert [name for name, node in done.verdicts["nodes"].items() if node["verdict"] == "degraded"] == ["sim-03", "sim-05"]


def test_without_a_majority_nobody_is_blamed_and_nobody_certified(domain):
    done = domain(f"sim-03: {{{OTHER}}}, sim-05: {{{OTHER}}}, sim-04: {{unreachable: refused}}")
    result = only(done)
    assert result["outcome"] == "failed" and "no majority" in result["message"] and len(result["nodes"]) == 5
    assert not [name for name, node in done.verdicts["nodes"].items() if node["verdict"] == "degraded"]
    assert done.status == 1 and not any(node["certified"] for node in done.verdicts["nodes"].values())


def test_a_silent_node_is_left_to_its_own_checks(domain):
    result = only(domain("sim-04: {unreachable: refused}"))
    assert result["outcome"] == "passed" and result["coverage"].endswith("4 of 5 nodes")


def test_one_node_that_told_is_nothing_to_compare(domain):
    result = only(domain("sim-01: {unreachable: refused}, sim-02: {unreachable: refused}, sim-03: {unreachable: refused}, "
                         "sim-04: {unreachable: refused}"))
    assert result["outcome"] == "error" and "1 of 5 nodes told it" in result["message"]


def test_a_replay_judges_the_same(domain, site):
    first = domain(f"sim-03: {{{OTHER}}}")
    again = site.run("checks", "--replay", "latest")
    assert json.dumps(only(again)["parts"]) == json.dumps(only(first)["parts"])


def test_a_fleet_without_domains_has_no_such_item(site):
    site.write(CHECK + """
    @pytest.mark.check(component="os", severity="fatal", action="reboot")
    def test_kernel_is_told(system):
        assert system.kernel
""")
    (site.folder / "rack.yaml").write_text("fleet: x\ndefaults: {profile: cpu-host}\nnodes: {sim-01: }\nsandbox: {}\n")
    done = site.run("checks", "--inventory", "rack.yaml")
    assert done.status == 0 and done.verdicts["complete"] and list(done.outcomes()) == ["test_kernel_is_told[sim-01]"]


def test_grouping_by_something_else_is_refused():
    with pytest.raises(CheckError, match="per is one of fleet, profile, rack"):
        mark("x", (), {"component": "os", "severity": "warn", "action": "none", "per": "colour"})


def test_a_node_to_which_the_fact_does_not_apply_is_left_out():
    def ask(node):
        if node.name == "n1":
            pytest.skip("left out")
        return node.name > "n3"

    nodes = tuple(Node(f"n{number}", "", "") for number in (1, 2, 3, 4))
    assert [] == ByNode(Group("profile", "p", nodes), ask).odd("size", lambda fact: fact)[1:]
    with pytest.raises(pytest.skip.Exception, match="it applies to 1 of 2 nodes: left out"):
        list(ByNode(Group("profile", "p", nodes[:2]), ask))
