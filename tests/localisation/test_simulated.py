"""Twenty simulated campaigns a setting: exactly the culprits, nobody else, in few rounds. `make localisation` runs thousands."""

import pytest
from simulation import simulate

TRIALS = 20
SIZES = {16: 20, 64: 20, 256: 20, 1024: 4, 4096: 1}


@pytest.mark.parametrize("count", range(6))
@pytest.mark.parametrize("size", SIZES)
def test_exactly_the_culprits_are_named(size, count):
    told = [simulate(size, count, 10_000 + seed) for seed in range(SIZES[size])]
    assert [] == [each for each in told if not each.exact]


@pytest.mark.parametrize("size", (16, 64))
def test_every_pair_finds_links_that_quick_rounds_never_use(size):
    told = [simulate(size, 3, 10_000 + seed, mode="full") for seed in range(TRIALS if size == 16 else 5)]
    assert [] == [each for each in told if not each.exact]


def test_without_labels_and_rails_nodes_and_links_are_named():
    assert [] == [each for each in (simulate(64, 3, seed, rails=0, leaf=0) for seed in range(TRIALS)) if not each.exact]


def test_trials_that_are_slow_by_chance_blame_nobody():
    assert [] == [each for each in (simulate(256, 0, seed, hiccups=0.002) for seed in range(TRIALS)) if each.findings]


def test_up_to_three_culprits_take_at_most_four_rounds():
    told = [simulate(64, count, 10_000 + seed) for count in (1, 2, 3) for seed in range(TRIALS)]
    assert [] == [each for each in told if each.rounds > 4]
