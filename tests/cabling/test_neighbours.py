"""What lldpctl and smpquery print, as neighbours; what an inventory may say of cables."""

import json

import pytest

from fleetcheck import inventory
from fleetcheck.cabled import End
from fleetcheck.node.collectors import neighbours
from fleetcheck.sandbox import SandboxError, plan

SWITCH = {"id": {"type": "mac", "value": "0c:11:22:33:44:55"}, "descr": "Cumulus", "mgmt-ip": "10.0.0.9", "capability": {"type": "Bridge", "enabled": True}}
PORT = {"id": {"type": "ifname", "value": "swp7"}, "descr": "to rack12-n07", "ttl": "120"}
EXPECTED = {"switch": ["leaf1", "0c:11:22:33:44:55"], "port": ["swp7", "to rack12-n07"], "how": "LLDP"}
INFO = """# Node info: DR path slid 65535; dlid 65535; 0,1
BaseVers:........................1
NodeType:........................Switch
Guid:............................0xb83fd2030080302e
LocalPort:.......................9
"""


def table(*entries):
    return {"lldp": {"interface": entries[0] if len(entries) == 1 else list(entries)}}


def entry(**chassis):
    return {"eth0": {"via": "LLDP", "chassis": chassis, "port": PORT}}


def said(stdout, status=0, stderr=""):
    return {"stdout": stdout, "status": status, "stderr": stderr}


@pytest.mark.parametrize(("document", "expected"), [
    pytest.param(table(entry(leaf1=SWITCH)), {"eth0": [EXPECTED]}, id="one interface is a mapping"),
    pytest.param(table(entry(leaf1=SWITCH), entry(leaf1=SWITCH)), {"eth0": [EXPECTED] * 2}, id="two neighbours on one interface"),
    pytest.param(table(entry(**SWITCH)), {"eth0": [{**EXPECTED, "switch": ["0c:11:22:33:44:55"]}]}, id="a switch without a name"),
    pytest.param(table({"eth0": {"via": "CDPv2", "chassis": {}, "port": {}}}), {}, id="another protocol"),
    pytest.param({"lldp": {}}, {}, id="nobody heard"),
    pytest.param(table({"eth0": {"chassis": [1], "port": "x"}}), {"eth0": [{"switch": [], "port": [], "how": "LLDP"}]}, id="no mapping"),
    pytest.param({"lldp": [3]}, {"absent": "lldpctl printed no lldp section"}, id="no section"),
    pytest.param({"absent": "program not found: lldpctl"}, {"absent": "program not found: lldpctl"}, id="no program"),
])
def test_lldpctl_in_all_its_shapes(document, expected):
    assert expected == neighbours.lldp(document)


def test_a_talkative_network_is_cut():
    heard = neighbours.lldp(json.loads(json.dumps(table(*[entry(**{"s" * 999: SWITCH})] * 99))))
    assert 16 == len(heard["eth0"])
    assert 120 == len(heard["eth0"][0]["switch"][0])


@pytest.mark.parametrize(("output", "expected"), [
    (said(INFO), "9"), (said("LocalPort:.....\n"), None), (said(""), None), (said(INFO, 1, "ibwarn: timeout"), None),
])
def test_the_port_at_which_a_query_came_in(output, expected):
    assert expected == neighbours.fields(output).get("LocalPort")


HEAD = "fleet: f\ndefaults: {profile: cpu-host}\n"


def loaded(tmp_path, text):
    path = tmp_path / "x.yaml"
    path.write_text(HEAD + text)
    return inventory.load(path)


def test_labels_are_filled_in_and_ranges_dealt_out(tmp_path):
    nodes = loaded(tmp_path, """nodes:
  n[1-4]: {leaf: L1, cables: {eth0: "mgmt/swp[11-14]"}}
  n3: {cables: {eth1: null}, slot: 7}
groups:
  odd: {nodes: "n[1,3]", cables: {eth1: "{leaf}/Ethernet1/[8-9]"}}
""").nodes
    assert {"eth0": End("mgmt", "swp11"), "eth1": End("L1", "Ethernet1/8")} == nodes[0].cables
    assert {"eth0": End("mgmt", "swp13")} == nodes[2].cables


@pytest.mark.parametrize(("text", "expected"), [
    ("nodes:\n  n1: {cables: {eth0: 'leaf 1/2'}}\n", "x.yaml:4: cable eth0: 'leaf 1/2' is no end of a cable; expected SWITCH/PORT"),
    ("nodes:\n  n1: {cables: {eth0: leaf1/}}\n", "x.yaml:4: cable eth0: 'leaf1/' is no end of a cable"),
    ("nodes:\n  n1: {cables: {eth0: '{leaf}/1'}}\n", "x.yaml:4: cable eth0: '{leaf}/1': node n1 has no label 'leaf'; expected one of name"),
    ("nodes:\n  n[1-3]: {cables: {eth0: 'leaf1/[1-2]'}}\n", "x.yaml:4: cable eth0: '[1-2]' are 2 ports for the 3 nodes"),
    ("nodes:\n  n[1-2]:\n    cables: {eth0: leaf1/1}\n",
     "x.yaml:5: the cables of n1 eth0 and n2 eth0 both end in leaf1/1; expected one each"),
    ("nodes:\n  n1: {cables: [eth0]}\n", "x.yaml:4: nodes.n1.cables is a list; expected a mapping"),
    ("groups:\n  g: {nodes: n1, cables: {eth0: /1}}\nnodes: {n1: }\n", "x.yaml:4: cable eth0: '/1' is no end of a cable"),
])
def test_a_cable_that_cannot_be_is_refused_with_its_line(tmp_path, text, expected):
    with pytest.raises(inventory.InventoryError) as refused:
        loaded(tmp_path, text)
    assert str(refused.value).replace(str(tmp_path) + "/", "").startswith(expected), refused.value


def test_many_cables_may_end_in_a_switch_of_which_no_port_is_named(tmp_path):
    assert 3 == len(loaded(tmp_path, "nodes:\n  n[1-3]: {cables: {eth0: leaf1}}\n").nodes)


def test_a_sandbox_cables_only_what_the_inventory_names(tmp_path):
    with pytest.raises(SandboxError, match=r"x.yaml:6: the inventory names no cable 'eth9' of n1; expected one of: eth0"):
        plan.plan(loaded(tmp_path, "nodes:\n  n1: {cables: {eth0: leaf1/1}}\nsandbox:\n  nodes: {n1: {cables: {eth9: leaf1/2}}}\n"))
