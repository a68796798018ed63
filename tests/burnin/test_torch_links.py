"""Links of stand-ins: to the host by NUMA node, to each other as a matrix; a slow or damaging one is named."""

import os

import pytest
from torchload import run_load

from fleetcheck.node.loads import numa
from fleetcheck.node.loads.links import Links, worst


@pytest.fixture(scope="module")
def hosts():
    return run_load("hostlink")


@pytest.fixture(scope="module")
def bad_hosts():
    """Device 1 is slow, device 2 damages what is copied."""
    return run_load("hostlink", {"device": 1, "slow": 2.0}, {"device": 2, "corrupt": True})


@pytest.fixture(scope="module")
def peers():
    return run_load("peerlink", devices=4)


def of(ran, kind):
    return [link for link in ran.result["links"] if link["kind"] == kind]


def test_every_device_copies_both_ways_from_every_numa_node(hosts):
    sides = {numa.label(number) for number in numa.nodes()}
    assert {(side, index) for side in sides for index in range(3)} == {(link["from"], link["to"]) for link in of(hosts, "h2d")}
    assert {(index, side) for side in sides for index in range(3)} == {(link["from"], link["to"]) for link in of(hosts, "d2h")}
    assert all(link["gb_s"] > 0 and 0 == link["mismatch_count"] for link in hosts.result["links"])
    assert hosts.result["ok"]
    assert [] == hosts.wrong


def test_the_best_numa_side_is_the_devices_rate(hosts):
    for index, rate in enumerate(hosts.metrics("h2d_gb_s")):
        assert rate == max(link["gb_s"] for link in of(hosts, "h2d") if link["to"] == index)


def test_a_slow_host_link_is_named_as_the_worst(bad_hosts):
    assert 1 in (bad_hosts.result["worst"]["from"], bad_hosts.result["worst"]["to"])
    assert bad_hosts.metrics("h2d_gb_s")[1] < 0.7 * bad_hosts.metrics("h2d_gb_s")[0]


def test_damage_on_the_way_is_found_in_both_directions(bad_hosts):
    assert [2] == bad_hosts.wrong
    damaged = [link for link in bad_hosts.result["links"] if link["mismatch_count"]]
    assert {("h2d", 2), ("d2h", 2)} == {(link["kind"], link["to" if link["kind"] == "h2d" else "from"]) for link in damaged}
    assert {"h2d", "d2h"} <= {each["pattern"] for each in bad_hosts.device(2)["mismatches"]}


def test_all_ordered_pairs_are_measured(peers):
    pairs = {(one, other) for one in range(4) for other in range(4) if one != other}
    assert pairs == {(link["from"], link["to"]) for link in of(peers, "p2p")}
    assert all(link["gb_s"] > 0 and 0 == link["mismatch_count"] for link in peers.result["links"])
    assert peers.result["ok"]


def test_a_slow_device_slows_its_links_and_the_worst_one_leads_to_it():
    ran = run_load("peerlink", {"device": 3, "slow": 3.0}, devices=5)
    slow = {(link["from"], link["to"]) for link in ran.result["links"] if link["gb_s"] < 0.6}
    assert {(one, other) for one in range(5) for other in range(5) if one != other and 3 in (one, other)} == slow
    assert 3 in (ran.result["worst"]["from"], ran.result["worst"]["to"])
    rates = ran.metrics("p2p_gb_s")
    assert rates[3] < 0.6 * min(rates[:3] + rates[4:])


def test_damage_between_devices_is_found_on_the_links_of_the_one_that_damages():
    ran = run_load("peerlink", {"device": 0, "corrupt": True})
    assert {(0, 1), (0, 2), (1, 0), (2, 0)} == {(link["from"], link["to"]) for link in ran.result["links"] if link["mismatch_count"]}


def test_a_single_device_has_no_peers_and_ends_well():
    ran = run_load("peerlink", devices=1, seconds=0.3)
    assert (True, [], {}) == (ran.result["ok"], ran.result["links"], ran.result["worst"])


def test_pairs_for_which_no_time_was_left_are_named():
    ran = run_load("peerlink", seconds=0.001, devices=8, settings={"buffer_bytes": 64 << 20})
    assert not ran.result["ok"]
    assert ran.result["error"].startswith("no rate of ")


@pytest.mark.parametrize(("text", "expected"), [("0-3", {0, 1, 2, 3}), ("0,4-5\n", {0, 4, 5}), ("", set()), ("7", {7})])
def test_lists_of_processors_are_read(text, expected):
    assert expected == numa.parsed(text)


def machine(folder, **nodes):
    for name, processors in nodes.items():
        (folder / name).mkdir()
        (folder / name / "cpulist").write_text(processors)
    return str(folder)


def test_numa_nodes_without_usable_processors_are_told_apart(tmp_path):
    first = min(os.sched_getaffinity(0))
    folder = machine(tmp_path, node0=f"{first}\n", node1="100000-100003\n", node2="\n", node10="junk\n")
    assert {0: {first}} == numa.nodes(folder)
    assert [1] == numa.left_out(folder)


def test_a_machine_without_numa_nodes_is_one_side(tmp_path):
    assert {numa.ANYWHERE: os.sched_getaffinity(0)} == numa.nodes(str(tmp_path / "none"))
    assert "host" == numa.label(numa.ANYWHERE)


def test_a_thread_comes_back_to_its_processors():
    before = os.sched_getaffinity(0)
    with numa.bound({min(before)}):
        assert {min(before)} == os.sched_getaffinity(0)
    assert before == os.sched_getaffinity(0)


def test_a_link_is_rated_by_the_median_of_its_turns():
    links = Links()
    for rate in (10.0, 50.0, 52.0):
        links.add(("p2p", 0, 1), rate, 0)
    links.failed(("p2p", 1, 0), "it broke")
    assert [{"from": 0, "to": 1, "kind": "p2p", "mismatch_count": 0, "gb_s": 50.0, "turns": 3},
            {"from": 1, "to": 0, "kind": "p2p", "mismatch_count": 0, "error": "it broke"}] == links.told()
    assert {"from": 0, "to": 1, "kind": "p2p", "gb_s": 50.0} == worst(links.told())
