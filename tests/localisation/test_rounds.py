"""Rounds are disjoint and complete; groups double; bisection ends at the culprit."""

import random
from collections import Counter

import pytest
from simulated_fabric import fleet

from fleetcheck.collective.bisection import next_groups, smallest
from fleetcheck.collective.rounds import circle, plan
from fleetcheck.collective.topology import topology
from fleetcheck.collective.trial import Trial
from fleetcheck.collective.widening import grid, widen


def disjoint(turn):
    members = [node for planned in turn for node in planned.members]
    return len(members) == len(set(members))


@pytest.mark.parametrize("size", [2, 3, 7, 16, 33])
def test_the_circle_method_meets_every_pair_once(size):
    met = [frozenset(pair) for turn in circle(range(size)) for pair in turn]
    assert size * (size - 1) // 2 == len(met) == len(set(met))


@pytest.mark.parametrize("leaf", [0, 1, 3, 4, 8])
@pytest.mark.parametrize("size", [2, 3, 5, 16, 17, 60])
def test_quick_rounds_are_disjoint_and_leave_out_one_node_at_most(size, leaf):
    of = fleet(size, leaf)
    for turn in plan(of, "quick", 3):
        assert disjoint(turn)
        assert size // 2 == len(turn)


def test_quick_rounds_run_across_leaves_and_within_them():
    of = fleet(64, 8)
    across, within = plan(of)
    assert all(of.apart(pair.members) for pair in across)
    assert not any(of.apart(pair.members) for pair in within)


def test_the_partners_of_a_leaf_hang_on_many_leaves():
    of = fleet(64, 8)
    first = {of.leaves[node] for pair in plan(of)[0] for node in pair.members if any(of.leaves[each] == "L000" for each in pair.members)}
    assert 8 == len(first)


def test_nodes_of_one_rail_are_paired_across_leaves():
    of = topology({f"n{at}": {"leaf": f"L{at // 4}", "rail": str(at % 4)} for at in range(16)})
    assert all(of.rails[pair.members[0]] == of.rails[pair.members[1]] for pair in plan(of)[0])


def test_other_modes_are_refused():
    with pytest.raises(ValueError, match="'quick'"):
        plan(fleet(4), "some")


def test_one_node_makes_no_pairs():
    assert () == plan(fleet(1))


def test_groups_widen_to_all():
    turns = widen([f"n{at}" for at in range(37)])
    assert [9, 4, 2, 1] == [len(turn) for turn in turns]
    assert all(disjoint(turn) and 37 == sum(len(group.members) for group in turn) for turn in turns)


@pytest.mark.parametrize("size", [6, 7, 12, 37])
def test_rows_and_columns_hold_every_node_and_cross_in_few(size):
    rows, columns = grid(list(range(size)))
    for turn in (rows, columns):
        assert disjoint(turn) and size == sum(len(group.members) for group in turn)
    assert 3 >= max(len(set(row.members) & set(column.members)) for row in rows for column in columns)


def bisected(size, bad):
    nodes = tuple(f"n{at:02d}" for at in range(size))
    trials, turn = [Trial("whole", 1, "whole", nodes, "crash")], 1
    while groups := next_groups(nodes, trials):
        turn += 1
        assert disjoint(groups) and turn < 40
        trials += [Trial(f"{turn}-{at}", turn, each.kind, each.members, "crash" if bad(set(each.members)) else "ok") for at, each in enumerate(groups)]
    return smallest(nodes, trials)


@pytest.mark.parametrize("seed", range(20))
def test_halves_pass_and_the_whole_fails_ends_at_the_pair(seed):
    chance = random.Random(seed)
    size = chance.randrange(3, 70)
    pair = sorted(chance.sample([f"n{at:02d}" for at in range(size)], 2))
    assert [tuple(pair)] == bisected(size, lambda members: members.issuperset(pair))


def test_a_group_that_fails_only_for_its_size_stays_whole():
    [left] = bisected(16, lambda members: len(members) > 9)
    assert 16 == len(left)


@pytest.mark.parametrize("size", [4, 7, 16, 33, 256])
def test_within_two_rounds_every_node_with_two_partners_keeps_the_port_once(size):
    rounds = plan(fleet(size))
    met = Counter(node for each in rounds for pair in each for node in pair.members)
    first = Counter(pair.members[0] for each in rounds for pair in each)
    assert {node for node, count in met.items() if count == 2} <= set(first)
    assert 1 == max(first.values())
