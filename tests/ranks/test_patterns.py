"""What ranks send and expect: exact in every dtype for any number of ranks, and every kind of damage is seen."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; pip install '.[torch]'")

from fleetcheck.node.ranks import asked, bench, pattern, reach, sendrecv  # noqa: E402
from fleetcheck.node.ranks.device import Processors  # noqa: E402


@pytest.mark.parametrize("ranks", [2, 3, 16, 100])
@pytest.mark.parametrize("dtype", sorted(pattern.EXACT))
def test_the_sum_over_all_ranks_is_exact(dtype, ranks):
    own = pattern.Pattern(torch, Processors(torch), dtype, ranks)
    total, part = torch.zeros(1009, dtype=own.dtype), torch.empty(1009, dtype=own.dtype)
    for one in range(ranks):
        own.fill(part, one, 7)
        total += part
    assert 0 == own.wrong(total, None, 7) and own.wrong(total, None, 8) > 900


def test_damage_shows_wherever_it_is():
    own = pattern.Pattern(torch, Processors(torch), "float32", 4)
    count = 2 * pattern.CHUNK + 3
    got = torch.empty(count)
    own.fill(got, 2, 5)
    assert 0 == own.wrong(got, 2, 5)
    for place in (0, pattern.CHUNK - 1, pattern.CHUNK, count - 1):
        kept = got[place].item()
        for value in (kept + 1, float("nan"), float("inf")):
            got[place] = value
            assert 1 == own.wrong(got, 2, 5)
        got[place] = kept
    assert own.wrong(torch.roll(got, 4096), 2, 5) > count // 2, "a block in another place"
    assert own.wrong(got, 3, 5) > count // 2, "the data of another rank"
    assert count == own.wrong(torch.full((count,), float(pattern.UNTOUCHED)), 2, 5), "nothing came"


@pytest.mark.parametrize("nodes", range(2, 9))
def test_each_direction_of_the_ring_is_measured_once_and_none_twice_at_a_time(nodes):
    rounds = sendrecv.directions(nodes)
    ring = {(one, (one + 1) % nodes) for one in range(nodes)} if nodes > 2 else {(0, 1)}
    edges = [edge for edges in rounds for edge in edges]
    assert sorted(ring | {(to, sender) for sender, to in ring}) == sorted(edges)
    assert all(len({node for edge in edges for node in edge}) == 2 * len(edges) for edges in rounds)


def test_times_of_many_ranks_are_thinned_alike():
    times = list(range(100))
    assert times == bench.thinned(times, 256) and list(range(0, 100, 5)) == bench.thinned(times, 257) and [] == bench.thinned([], 1000)


TRIAL = {"id": "t", "master_addr": "n1", "master_port": 29500, "nnodes": 2, "node_rank": 0, "per_node": 1, "bench": [{"op": "all_reduce", "bytes": [8]}]}


@pytest.mark.parametrize(("change", "words"), [
    ({"nnodes": 0}, "nnodes is 0"), ({"node_rank": 2}, "node_rank is 2"), ({"per_node": True}, "per_node is True"), ({"master_port": 0}, "master_port"),
    ({"master_addr": ""}, "master_addr is ''"), ({"seconds": -1}, "seconds is -1"), ({"seconds": float("inf")}, "seconds is inf"),
    ({"environment": {"RANK": "7"}}, "environment sets RANK"), ({"environment": ["A"]}, "expected names and values"), ({"device": "tpu"}, "device is"),
    ({"bench": [{"op": "all_sort"}]}, "op one of all_reduce"), ({"bench": [{"op": "barrier", "iterations": 0}]}, "iterations is 0"),
    ({"bench": [{"op": "barrier", "bytes": [-8]}]}, "bytes of barrier"), ({"bench": [{"op": "barrier", "dtype": "int4"}]}, "dtype of barrier"),
    ({"bench": [None]}, "a benchmark is"),
])
def test_a_trial_of_another_shape_is_refused_before_anything_starts(change, words):
    with pytest.raises(ValueError, match=words):
        asked.checked({**TRIAL, **change})
    assert 2 == asked.checked(TRIAL)["nnodes"]


def test_refusal_silence_and_unknown_names_are_kept_apart():
    import socket

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with pytest.raises(reach.Unreached, match=r"port \d+: Connection refused, for 0.1 s") as met:
            reach.reach("127.0.0.1", closed.getsockname()[1], 0.1)
        assert "refused" == met.value.kind and reach.free(closed.getsockname()[1]) is False
    with pytest.raises(reach.Unreached, match="does not resolve here") as met:
        reach.reach("nowhere.invalid", 1, 0.1)
    assert "name" == met.value.kind
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]  # more than the queue of one that accepts nobody takes
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        with pytest.raises(reach.Unreached, match="no answer from the master") as met:
            reach.attempt("127.0.0.1", full.getsockname()[1], 0.3)
        for each in waiting:
            each.close()
    assert "connect-timeout" == met.value.kind
