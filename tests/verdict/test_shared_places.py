"""A switch, a rack or a power feed that is down is one finding about it; nodes that are bad by themselves stay bad."""

import pytest

FAILED = {"outcome": "failed", "severity": "fatal", "action": "isolate"}
PORT = {"kind": "nic", "label": "mlx5_3", "slot": "0000:9a:00.0", "serial": ""}


def fleet(made, leaves=4, size=16, **labels):
    """So many leaves of so many nodes."""
    return [made.node(f"n{leaf}{number:02}", labels={"leaf": f"leaf{leaf}", **labels}) for leaf in range(leaves) for number in range(size)]


def run(made, nodes, bad, check="test_links_are_up", component="nic", **more):
    results = [made.result(each.name, check, component=component, message=f"{each.name}: link down" if each.name in bad else "",
                           **({**FAILED, **more} if each.name in bad else {})) for each in nodes]
    return made.judged(results, nodes)


def some(nodes, leaf, count):
    return {each.name for each in [each for each in nodes if each.labels["leaf"] == leaf][:count]}


CASES = [
    # why, failing per leaf, kinds of fleet findings, how many isolated
    ("a leaf of sixteen", {"leaf1": 16}, ["place"], 0),
    ("nearly all of a leaf", {"leaf1": 12}, ["place"], 0),
    ("two leaves", {"leaf1": 16, "leaf2": 16}, ["place", "place"], 0),
    ("one node elsewhere is a node's own fault", {"leaf1": 16, "leaf2": 1}, ["place"], 1),
    ("half of a leaf is more than a tenth of the fleet", {"leaf1": 8}, ["common-cause"], 0),
    ("three nodes of a leaf are three nodes", {"leaf1": 3}, [], 3),
    ("a few everywhere", {"leaf0": 2, "leaf1": 2, "leaf2": 2, "leaf3": 2}, ["common-cause"], 0),
    ("everywhere", {f"leaf{number}": 16 for number in range(4)}, ["common-cause"], 0),
    ("nobody", {}, [], 0),
]


@pytest.mark.parametrize(("failing", "kinds", "isolated"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_leaf_switch_down_is_one_finding(made, failing, kinds, isolated):
    nodes = fleet(made)
    bad = set().union(*(some(nodes, leaf, count) for leaf, count in failing.items()))
    verdicts = run(made, nodes, bad)
    assert kinds == [each["kind"] for each in verdicts["fleet_findings"]]
    assert isolated == verdicts["counts"]["nodes"]["failed"]


def test_it_names_the_leaf_the_port_and_its_nodes_and_certifies_none_of_them(made):
    nodes = fleet(made)
    verdicts = run(made, nodes, some(nodes, "leaf1", 16), parts=(PORT,))
    finding = verdicts["fleet_findings"][0]
    assert ("n[100-115]", 16, 16, ["test_links_are_up"]) == tuple(finding[key] for key in ("nodes", "failed", "of", "checks"))
    assert "leaf leaf1, mlx5_3: look there" in finding["message"] and finding["message"].endswith("link down")
    said = verdicts["nodes"]["n100"]
    assert ("healthy", False, True) == (said["verdict"], said["certified"], said["findings"][0]["common_cause"])
    assert verdicts["nodes"]["n000"]["certified"]


def test_several_checks_of_one_leaf_are_one_finding(made):
    nodes = fleet(made)
    bad = some(nodes, "leaf1", 16)
    results = [made.result(each.name, check, component="rdma", **(FAILED if each.name in bad else {}))
               for each in nodes for check in ("test_a", "test_b", "test_c")]
    assert [["test_a", "test_b", "test_c"]] == [each["checks"] for each in made.judged(results, nodes)["fleet_findings"]]


@pytest.mark.parametrize(("component", "labels", "kinds"), [
    ("gpu", {}, ["common-cause"]), ("gpu-memory", {}, ["common-cause"]), ("rdma", {}, ["place"]), ("fabric", {}, ["place"]),
])
def test_only_what_a_switch_can_spoil_is_the_switchs(made, component, labels, kinds):
    nodes = fleet(made)
    verdicts = run(made, nodes, some(nodes, "leaf1", 16), component=component)
    assert kinds == [each["kind"] for each in verdicts["fleet_findings"]]


def test_in_a_large_fleet_gpus_that_fail_on_one_leaf_are_faults_of_these_nodes(made):
    nodes = fleet(made, leaves=12)
    verdicts = run(made, nodes, some(nodes, "leaf1", 16), component="gpu")
    assert ([], 16) == (verdicts["fleet_findings"], verdicts["counts"]["nodes"]["failed"])
    assert ["place"] == [each["kind"] for each in run(made, nodes, some(nodes, "leaf1", 16))["fleet_findings"]]


def test_different_kernel_events_on_one_leaf_are_different_faults(made):
    nodes = fleet(made, leaves=12)
    bad = some(nodes, "leaf1", 16)
    results = [made.result(each.name, component="nic", causes=(each.name,) if each.name in bad else (), **(FAILED if each.name in bad else {}))
               for each in nodes]
    assert [] == made.judged(results, nodes)["fleet_findings"]


def test_without_labels_nothing_is_laid_on_a_place(made):
    nodes = [made.node(f"n{number:03}") for number in range(200)]
    assert 16 == run(made, nodes, {f"n{number:03}" for number in range(16)})["counts"]["nodes"]["failed"]


SILENCE = [
    ("a dark leaf", {"leaf1": 16}, "refused", ["place"]),
    ("all of it but one", {"leaf1": 15}, "connect-timeout", ["place"]),
    ("half of it", {"leaf1": 8}, "connect-timeout", []),
    ("the whole fleet", {f"leaf{number}": 16 for number in range(4)}, "no-route", ["login"]),
    ("refused logins are configuration", {"leaf1": 16}, "authentication", ["login"]),
]


@pytest.mark.parametrize(("silent", "kind", "kinds"), [case[1:] for case in SILENCE], ids=[case[0] for case in SILENCE])
def test_a_place_that_is_silent_is_one_finding_beside_its_unreachable_nodes(made, silent, kind, kinds):
    nodes = fleet(made, rack="r1")
    lost = {name: made.Failure(kind, f"{name}: why") for leaf, count in silent.items() for name in some(nodes, leaf, count)}
    results = [made.result(each.name, outcome="error" if each.name in lost else "passed") for each in nodes]
    verdicts = made.judged(results, nodes, lost)
    assert kinds == [each["kind"] for each in verdicts["fleet_findings"]]
    assert (len(lost), "") == (verdicts["counts"]["nodes"]["unreachable"], verdicts["isolate"])


def test_one_machine_under_two_names_is_neither_certified_nor_isolated(made):
    results = [made.result(name, **(FAILED if name != "n3" else {})) for name in ("n1", "n2", "n3")] + [made.result("n4", **FAILED)]
    verdicts = made.judged(results, serials={"n1": "SN-1", "n2": "SN-1", "n3": "SN-3", "n4": "SN-4"})
    assert ("n4", "failed", ["n2"]) == (verdicts["isolate"], verdicts["nodes"]["n1"]["verdict"], verdicts["nodes"]["n1"]["same_machine"])
    healthy = made.judged([made.result("n1"), made.result("n2")], serials={"n1": "SN-1", "n2": "SN-1"})["nodes"]["n2"]
    assert (False, "one machine answers as n2 and n1") == (healthy["certified"], healthy["reason"])
    apart = made.judged([made.result("n1"), made.result("n2")], serials={"n1": "Default string", "n2": "Default string"})
    assert apart["nodes"]["n1"]["certified"], "a filler tells nothing apart"
