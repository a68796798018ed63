"""Entries of an inventory become nodes: ranges, refinements, defaults, groups, paths and addresses."""

from __future__ import annotations

import datetime
import time
from pathlib import Path

import pytest

from fleetcheck.inventory import Inventory, Node, fold, load

TODAY = datetime.date(2026, 11, 30)
REPOSITORY = Path(__file__).parents[2]


def loaded(folder: Path, text: str, today: datetime.date = TODAY) -> Inventory:
    path = folder / "x.yaml"
    path.write_text(f"fleet: f\ndefaults: {{profile: cpu-host}}\n{text}")
    return load(path, today=today)


def only(folder: Path, text: str, today: datetime.date = TODAY) -> Node:
    (node,) = loaded(folder, text, today).nodes
    return node


@pytest.mark.parametrize(("key", "names"), [
    ("n[08-11]", ["n08", "n09", "n10", "n11"]),
    ("n[1-9/4]", ["n1", "n5", "n9"]),
    ("n[2,7-8]", ["n2", "n7", "n8"]),
    ("r[1-2]-n[1-2]", ["r1-n1", "r1-n2", "r2-n1", "r2-n2"]),
    ("evo1[1-1]", ["evo11"]),
    ("gpu.dc1.example", ["gpu.dc1.example"]),
])
def test_ranges_unfold_as_clustershell_does(tmp_path: Path, key: str, names: list[str]) -> None:
    assert names == [node.name for node in loaded(tmp_path, f"nodes: {{'{key}': }}\n").nodes]


def test_names_fold_into_one_range() -> None:
    assert "sim-[02,07]" == fold(["sim-07", "sim-02"])


def test_the_order_of_nodes_is_that_of_the_file(tmp_path: Path) -> None:
    assert ["z2", "a", "z1"] == [node.name for node in loaded(tmp_path, "nodes: {z2: , a: , z1: }\n").nodes]


def test_a_narrower_range_refines_a_wider_one(tmp_path: Path) -> None:
    nodes = loaded(tmp_path, "nodes:\n  n[1-4]: {rack: 12, slot: x}\n  n[2-3]: {slot: y}\n  n3: {state: rma}\n").nodes
    assert [("12", "x"), ("12", "y"), ("12", "y"), ("12", "x")] == [(n.labels["rack"], n.labels["slot"]) for n in nodes]
    assert ["in-service", "in-service", "rma", "in-service"] == [node.state for node in nodes]


def test_ranges_beside_each_other_may_both_refine(tmp_path: Path) -> None:
    nodes = loaded(tmp_path, "nodes: {'n[1-4]': {slot: a}, 'n[1-2]': {slot: b}, 'n[3-4]': {slot: c}}\n").nodes
    assert ["b", "b", "c", "c"] == [node.labels["slot"] for node in nodes]


def test_a_node_wins_over_its_group_and_a_group_over_the_defaults(tmp_path: Path) -> None:
    nodes = loaded(tmp_path, (
        "ssh: {user: file, port: 1}\nnodes: {a: {ssh: {user: node}}, b: , c: }\n"
        "groups: {g: {nodes: 'a,b', become: sudo -n, ssh: {user: group}}}\n")).nodes
    assert [("node", 1), ("group", 1), ("file", 1)] == [(node.ssh.user, node.ssh.port) for node in nodes]
    assert [("sudo", "-n"), ("sudo", "-n"), ()] == [node.become for node in nodes]
    assert [("g",), ("g",), ()] == [node.groups for node in nodes]


def test_null_takes_back_what_was_said_for_all(tmp_path: Path) -> None:
    nodes = loaded(tmp_path, "ssh: {jump: bastion}\nnodes: {a: , b: {ssh: {jump: null}}}\n").nodes
    assert ["bastion", None] == [node.ssh.jump for node in nodes]


def test_what_is_not_said_is_left_to_ssh(tmp_path: Path) -> None:
    ssh = only(tmp_path, "nodes: {a: }\n").ssh
    assert [None] * 6 == [ssh.user, ssh.port, ssh.identity_file, ssh.known_hosts, ssh.jump, ssh.config_file]


def test_labels_stay_the_text_that_was_typed(tmp_path: Path) -> None:
    node = only(tmp_path, "nodes: {a: {rack: 010, leaf: on, slot: 1_0, labels: {cooling: no, u: 1e3}}}\n")
    assert {"rack": "010", "leaf": "on", "slot": "1_0", "cooling": "no", "u": "1e3"} == dict(node.labels)


def test_paths_lie_beside_the_inventory_and_a_tilde_is_home(tmp_path: Path) -> None:
    ssh = only(tmp_path, "ssh: {identity_file: keys/id, known_hosts: ~/kh, config_file: /etc/x}\nnodes: {a: }\n").ssh
    assert (tmp_path / "keys/id", Path.home() / "kh", Path("/etc/x")) == (
        ssh.identity_file, ssh.known_hosts, ssh.config_file)


def test_a_copy_kept_elsewhere_keeps_the_paths_of_the_original(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("fleet: f\ndefaults: {profile: cpu-host}\nssh: {identity_file: id}\nnodes: {a: }\n")
    assert Path("/srv/fleet/id") == load(path, base=Path("/srv/fleet")).nodes[0].ssh.identity_file


@pytest.mark.parametrize(("address", "expected"), [
    ("", ["n1", "n2"]),
    ("'{name}.example'", ["n1.example", "n2.example"]),
    ("'%h-ib'", ["n1-ib", "n2-ib"]),
    ("'192.0.2.[31-32]'", ["192.0.2.31", "192.0.2.32"]),
    ("'10.[1-2].0.1'", ["10.1.0.1", "10.2.0.1"]),
])
def test_every_node_of_a_range_has_its_own_address(tmp_path: Path, address: str, expected: list[str]) -> None:
    given = f"address: {address}" if address else ""
    assert expected == [node.address for node in loaded(tmp_path, f"nodes: {{'n[1-2]': {{{given}}}}}\n").nodes]


@pytest.mark.parametrize("address", ["2001:db8::10", "fe80::1%eth0", "192.0.2.1", "node_1.example", "Node-1.example."])
def test_addresses_of_every_kind_are_taken(tmp_path: Path, address: str) -> None:
    assert address == only(tmp_path, f"nodes: {{a: {{address: '{address}'}}}}\n").address


@pytest.mark.parametrize("text", [
    "a: {address: h, ssh: {port: 1}}, b: {address: h, ssh: {port: 2}}",
    "a: {address: 10.0.0.1, ssh: {jump: one}}, b: {address: 10.0.0.1, ssh: {jump: two}}",
    "a: {address: h, transport: local}, b: {address: h, transport: local}",
])
def test_one_address_may_serve_several_nodes_when_they_differ_otherwise(tmp_path: Path, text: str) -> None:
    assert 2 == len(loaded(tmp_path, f"nodes: {{{text}}}\n").nodes)


def test_only_nodes_in_service_are_to_be_contacted(tmp_path: Path) -> None:
    states = ["in-service", "spare", "maintenance", "rma", "decommissioned"]
    nodes = loaded(tmp_path, f"nodes: {{{', '.join(f'n{i}: {{state: {s}}}' for i, s in enumerate(states))}}}\n").nodes
    assert [True, False, False, False, False] == [node.in_service for node in nodes]


def test_a_state_whose_end_has_passed_holds_and_says_so(tmp_path: Path) -> None:
    text = "nodes: {a: {state: maintenance, until: 2026-11-29, note: new board}}\n"
    node = only(tmp_path, text)
    assert not node.in_service
    assert "new board; maintenance was until 2026-11-29, which has passed" == node.note
    assert "new board" == only(tmp_path, text, today=datetime.date(2026, 11, 29)).note


def test_become_is_words_and_never_a_shell_line(tmp_path: Path) -> None:
    assert ("sudo", "-n", "-u", "a b; c") == only(tmp_path, "nodes: {a: {become: sudo -n -u 'a b; c'}}\n").become


def test_a_group_may_be_a_range_a_list_or_name_another_below_it(tmp_path: Path) -> None:
    groups = loaded(tmp_path, (
        "nodes: {'n[1-6]': }\n"
        "groups: {all: '@left,@right', left: 'n[3,1]', right: [n4, 'n[5-6]!n6'], rest: '@all!@left'}\n")).groups
    left, right = ("n1", "n3"), ("n4", "n5")
    assert {"all": left + right, "left": left, "right": right, "rest": right} == dict(groups)


def test_the_sandbox_section_keeps_numbers_booleans_and_its_lines(tmp_path: Path) -> None:
    inventory = loaded(tmp_path, (
        "nodes: {a: }\nsandbox:\n  nodes:\n    a:\n"
        "      nvml: [{gpu: 5, value: 0x1F, hang: true, args: ['7', 570.133.20]}]\n      files: {/etc/x: null}\n"))
    assert inventory.sandbox == {"nodes": {"a": {
        "nvml": [{"gpu": 5, "value": 31, "hang": True, "args": ["7", "570.133.20"]}], "files": {"/etc/x": None}}}}
    assert f"{tmp_path}/x.yaml:7" == inventory.where("sandbox", "nodes", "a", "nvml")


@pytest.mark.parametrize("section", ["sandbox:", "sandbox: {}"])
def test_an_empty_sandbox_section_asks_for_plain_machines_not_for_real_ones(tmp_path: Path, section: str) -> None:
    assert {} == loaded(tmp_path, f"nodes: {{a: }}\n{section}\n").sandbox
    assert loaded(tmp_path, "nodes: {a: }\n").sandbox is None


def test_a_sandboxed_node_is_what_the_sandbox_simulates(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("fleet: f\nnodes: {a: }\nsandbox: {profile: h100-sxm5-8}\n")
    assert "h100-sxm5-8" == load(path).nodes[0].profile


@pytest.mark.parametrize("path", sorted((REPOSITORY / "inventories").glob("*.yaml")), ids=lambda path: path.name)
def test_shipped_inventories_load(path: Path) -> None:
    assert load(path).nodes


def test_the_example_shows_real_use() -> None:
    inventory = load(REPOSITORY / "inventories" / "rack12.yaml", today=TODAY)
    node = {node.name: node for node in inventory.nodes}
    assert 33 == len(inventory.nodes)
    assert ("maintenance", datetime.date(2026, 12, 3)) == (node["rack12-n07"].state, node["rack12-n07"].until)
    assert ("bastion.example", ("sudo", "-n")) == (node["rack12-n01"].ssh.jump, node["rack12-n01"].become)
    assert (None, ()) == (node["rack12-login"].ssh.jump, node["rack12-login"].become)


def test_twelve_thousand_nodes_written_one_by_one_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = "".join(f"  n{n:05d}: {{rack: {n // 32}, address: 10.0.{n >> 8}.{n & 255}}}\n" for n in range(12_500))
    started = time.perf_counter()
    inventory = loaded(tmp_path, f"nodes:\n{nodes}groups: {{all: 'n[00000-12499]'}}\n")
    with capsys.disabled():
        print(f"\n12,500 nodes loaded in {time.perf_counter() - started:.1f} s")
    assert 12_500 == len(inventory.nodes) == len(inventory.groups["all"])
