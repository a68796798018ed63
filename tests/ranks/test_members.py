"""Who can take part in trials, from what nodes say of themselves: versions, accelerators, addresses and names, the odd one named."""

import pytest

from fleetcheck.collective import talk
from fleetcheck.collective.members import members, ports_of
from fleetcheck.nodes import Node
from fleetcheck.records import Answer, Evidence, Failure

SOFTWARE = {"python": "3.11", "torch": "2.7.0", "cuda": "12.8", "nccl": "2.26.2"}
NAMES = ("n1", "n2", "n3", "n4")


def said(**more):
    return {"software": SOFTWARE, "backends": ["nccl", "gloo"], "accelerators": ["H100"] * 8, "said": "", "addresses": {"bond0": ["10.0.0.1"]},
            "free_ports": [29500, 29501], "partners": {name: ["10.0.0.9"] for name in NAMES}, **more}


def fleet(told, interconnect=None):
    """(ready, refused messages) of four nodes, of whom some say something else."""
    evidence = {}
    for name in NAMES:
        own = told.get(name, said())
        failure = own if isinstance(own, Failure) else None
        answers = {} if failure else {"rank_ready": own if isinstance(own, Answer) else Answer(ok=True, data=own)}
        evidence[name] = Evidence("r", "pairs", "rank_ready", name, "", 1.0, failure=failure, answers=answers)
    nodes = {name: Node(name, name, "p", interconnect=interconnect or {}) for name in NAMES}
    ready, refused = members(evidence, nodes)
    return ready, {name: failure.message for name, failure in refused.items()}


def test_nodes_that_are_alike_take_part():
    ready, refused = fleet({})
    assert {} == refused and list(NAMES) == list(ready)
    assert (8, "n1", (29500, 29501)) == (ready["n1"].ranks, ready["n1"].address, ready["n1"].free_ports)


@pytest.mark.parametrize(("own", "message"), [
    (said(software={**SOFTWARE, "torch": "2.6.0"}), "torch 2.6.0, where 3 of 4 nodes have 2.7.0"),
    (said(software={**SOFTWARE, "nccl": "2.21.5"}), "nccl 2.21.5, where 3 of 4 nodes have 2.26.2"),
    (said(accelerators=["H100"] * 7), "accelerators 7, where 3 of 4 nodes have 8"),
    (said(software={"absent": "torch was not imported: No module named 'torch'"}, said="No module named 'torch'"), "No module named 'torch'; "
     "give the Python that has torch: torch_python"),
    (said(backends=["gloo"]), "its torch 2.7.0 has no nccl; install a build with it"),
    (said(partners={**{name: ["10.0.0.9"] for name in NAMES}, "n1": {"absent": "n1 does not resolve: Name or service not known"}}),
     "n1 does not resolve there; correct its DNS or /etc/hosts"),
    (said(partners={**{name: ["10.0.0.9"] for name in NAMES}, "n1": ["127.0.1.1"]}), "n1 resolves to 127.0.1.1, where 2 of 3 nodes have 10.0.0.9"),
    (Answer(ok=False, error="no answer within 115 s, killed"), "rank_ready: no answer within 115 s, killed"),
    (Failure("refused", "n3: facts over ssh: connection refused"), "n3: facts over ssh: connection refused"),
    ({}, "it tells no torch"),
])
def test_the_odd_node_is_named_and_the_others_take_part(own, message):
    ready, refused = fleet({"n3": own})
    assert ["n3"] == list(refused) and message in refused["n3"] and refused["n3"].startswith("n3: ")
    assert {"n1", "n2", "n4"} == set(ready)


def test_without_a_majority_nobody_is_right():
    other = said(software={**SOFTWARE, "torch": "2.6.0"})
    ready, refused = fleet({"n3": other, "n4": other})
    assert {} == ready and set(NAMES) == set(refused)
    assert "torch 2.7.0, and the fleet has no majority (2 × 2.7.0, 2 × 2.6.0)" in refused["n1"]


def test_the_address_is_that_of_the_interface_that_ranks_use():
    ready, _ = fleet({"n3": said(addresses={"bond0": ["10.0.0.3"]}), "n4": said(addresses={"eth0": ["1.1.1.1"]})}, {"interface": "bond0"})
    assert {"n1": "10.0.0.1", "n2": "10.0.0.1", "n3": "10.0.0.3"} == {name: each.address for name, each in ready.items()}


def test_fewer_accelerators_than_ranks_are_refused():
    _, refused = fleet({"n3": said(accelerators=["H100"] * 3)}, {"device": "cuda", "per_node": 4})
    assert "n3: torch sees 3 accelerators there, and trials need 4" == refused["n3"]


@pytest.mark.parametrize("span", ["", "29500", "0-5", "29600-29500", "1-70000", "a-b", "29500-29599 "])
def test_ports_are_a_range(span):
    with pytest.raises(ValueError, match="expected a range such as 29500-29599"):
        ports_of(span)


def test_the_inventorys_own_variables_win():
    node = Node("n", "n", "p", interconnect={"interface": "bond0", "plugin": "aws-ofi", "environment": {"NCCL_SOCKET_IFNAME": "=eth3"}})
    assert {"NCCL_SOCKET_IFNAME": "=eth3", "GLOO_SOCKET_IFNAME": "bond0", "NCCL_NET_PLUGIN": "aws-ofi"} == talk.environment(node)
