"""``--nodes`` and ``--group`` choose nodes of an inventory, in its order."""

from __future__ import annotations

import pytest

from fleetcheck.inventory import Inventory, InventoryError, fold, load, select


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    path = tmp_path_factory.mktemp("rack") / "rack.yaml"
    path.write_text("fleet: f\ndefaults: {profile: cpu-host}\n"
                    "nodes: {'n[01-32]': , n07: {state: maintenance}, login: }\n"
                    "groups: {leaf1: 'n[01-16]', feed: 'n[09-24]'}\n")
    return load(path)


@pytest.mark.parametrize(("nodes", "group", "expected"), [
    ("", "", "login,n[01-32]"),
    ("n[01-08],!n03", "", "n[01-02,04-08]"),
    ("n[01-08]!n03", "", "n[01-02,04-08]"),
    ("n[01-08], login", "", "login,n[01-08]"),
    ("n[01-08/2]", "", "n[01,03,05,07]"),
    ("@leaf1", "", "n[01-16]"),
    ("@leaf1&@feed", "", "n[09-16]"),
    ("@leaf1,@feed!n[10-20]", "", "n[01-09,21-24]"),
    ("n01!n01,n02", "", "n02"),
    ("", "leaf1", "n[01-16]"),
    ("n[12-20]", "leaf1", "n[12-16]"),
])
def test_union_difference_and_intersection_from_left_to_right(
        rack: Inventory, nodes: str, group: str, expected: str) -> None:
    assert expected == fold(node.name for node in select(rack, nodes, group))


def test_selected_nodes_keep_the_order_of_the_inventory(rack: Inventory) -> None:
    assert ["n02", "n09", "login"] == [node.name for node in select(rack, "login,n09,n02")]


def test_a_node_out_of_service_stays_selected_to_be_listed(rack: Inventory) -> None:
    assert [("n07", False)] == [(node.name, node.in_service) for node in select(rack, "n07")]


@pytest.mark.parametrize(("nodes", "group", "expected"), [
    ("n[30-34]", "", "unknown nodes n[33-34]; expected nodes of the inventory (login,n[01-32])"),
    ("logim", "", "unknown node logim; expected nodes of the inventory (login,n[01-32]) (did you mean 'login'?)"),
    ("n1", "", "unknown node n1; expected nodes of the inventory (login,n[01-32]) (did you mean 'n31'?)"),
    ("@leaf", "", "unknown group 'leaf'; expected one of: feed, leaf1 (did you mean 'leaf1'?)"),
    ("", "leaf9", "unknown group 'leaf9'; expected one of: feed, leaf1 (did you mean 'leaf1'?)"),
    ("n01!n01", "", "--nodes 'n01!n01' selects no node; expected some of login,n[01-32]"),
    ("n30", "leaf1", "--nodes 'n30' with --group 'leaf1' selects no node; expected some of login,n[01-32]"),
    ("n[01:08]", "", "bad range 'n[01:08]'; expected a ClusterShell range: 'n[01-08]'"),
    ("n[01-", "", "bad range 'n[01-'; expected a ClusterShell range such as 'n[01-32]'"),
    (",", "", "bad selection ','; expected node ranges joined by , ! or &"),
    ("n01!!n02", "", "bad selection operator '!!'; expected one of , ! &"),
    ("n01\x1b[2J", "", "bad range 'n01\\x1b[2J'; expected a ClusterShell range such as 'n[01-32]'"),
])
def test_a_selection_that_cannot_be_meant_is_refused(rack: Inventory, nodes: str, group: str, expected: str) -> None:
    with pytest.raises(InventoryError) as caught:
        select(rack, nodes, group)
    assert f"{rack.path}: {expected}" == str(caught.value)
