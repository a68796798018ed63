"""Peers: who is below its cohort, who is not, and what it takes to be blamed; consistency: who differs from the majority."""

import random
import sys
from pathlib import Path

import pytest

from fleetcheck.consistency import odd
from fleetcheck.outliers import Sample, compare, repeats, worst

sys.path.insert(0, str(Path(__file__).parent))
from peers_simulation import NOISES, false_alarms, found


def cohort(nodes=40, seed=1, spread=0.01, **values):
    """Samples of so many nodes about 100, some with values of their own."""
    rng = random.Random(seed)
    return [Sample(f"n{i}", "c", "tflops_bf16", values.get(f"n{i}", 100 * (1 + rng.gauss(0, spread)))) for i in range(nodes)]


def blamed(samples):
    return [each.sample.node for each in compare(samples)[0]]


@pytest.mark.parametrize(("samples", "below"), [
    (cohort(), []), (cohort(n7=80.0), ["n7"]), (cohort(n7=96.0), []), (cohort(n7=120.0), []), (cohort(nodes=31, n7=50.0), []),
    (cohort(spread=0.0, n7=95.5), []), (cohort(spread=0.0, n7=94.5), ["n7"]), (cohort(n7=80.0, n8=81.0, n9=82.0), []),
    (cohort(nodes=400, n7=80.0, n8=81.0, n9=82.0), ["n7", "n8", "n9"]), (cohort(spread=0.05, n7=80.0), []),
])
def test_only_a_lone_node_far_below_is_an_outlier(samples, below):
    assert below == blamed(samples)


def test_many_low_nodes_are_a_second_kind():
    _, splits = compare(cohort(n7=80.0, n8=81.0, n9=82.0))
    assert [("n7", "n8", "n9")] == [each.nodes for each in splits]


def test_a_node_lower_than_a_second_kind_is_still_an_outlier():
    samples = cohort(n0=91, n1=90.5, n2=92, n3=70)
    found, (split,) = compare(samples)
    assert ["n3"] == [each.sample.node for each in found]
    assert ("n0", "n1", "n2", "n3") == split.nodes


def test_three_nodes_of_another_batch_are_a_kind_though_not_all_of_them_reach_the_limit():
    found, (split,) = compare(cohort(32, n0=91, n1=93.6, n2=95.1))
    assert [] == found and ("n0", "n1", "n2") == split.nodes


def test_cohorts_are_compared_apart_and_a_node_counts_with_its_worst_part():
    slower = [Sample(f"m{i}", "air-cooled", "tflops_bf16", 70.0) for i in range(40)]
    assert [] == blamed([*cohort(), *slower])
    parts = worst([Sample("n1", "c", "m", 5.0, "GPU 0"), Sample("n1", "c", "m", 3.0, "GPU 1"), Sample("n1", "c", "m", 4.0, "GPU 2")])
    assert ["GPU 1"] == [each.part for each in parts]


def test_disks_may_vary_more():
    disks = [Sample(each.node, "c", "disk.metrics.disk_write_mb_s", each.value) for each in cohort(spread=0.01, n7=82.0)]
    assert [] == blamed(disks)


@pytest.mark.parametrize(("earlier", "blames"), [([], False), ([True], False), ([True, True], True), ([False, True, False, True], True),
                                                 ([False, False, False, True, True], False)])
def test_a_node_is_blamed_when_it_is_below_in_three_of_five_runs(earlier, blames):
    assert blames == repeats(earlier)


@pytest.mark.parametrize("noise", [NOISES[0], NOISES[2], NOISES[5]], ids=lambda noise: noise.name)
def test_no_healthy_node_is_blamed(noise):
    assert 0 == false_alarms(noise, 32, 40, seed=5, fleets=2)[2]


def test_a_loss_of_a_sixth_is_found():
    assert 1.0 == found(NOISES[0], 64, 0.15, trials=10, seed=5)


def told(**values):
    return {"gpu.identity.vbios": {f"n{i}": frozenset({values.get(f"n{i}", "96.01")}) for i in range(8)}}


@pytest.mark.parametrize(("values", "allowed", "who"), [
    (told(), (), []), (told(n3="95.00"), (), [("n3",)]), (told(n3="95.00"), ("95.00", "96.01"), []),
    (told(n3="95.00", n4="94.00"), ("95.00",), [("n4",)]), (told(**{f"n{i}": "95.00" for i in range(4)}), (), [tuple(f"n{i}" for i in range(8))]),
    (told(**{f"n{i}": "95.00" for i in range(4)}), ("95.00", "96.01"), []),
])
def test_who_differs_from_the_majority_and_from_every_allowed_bundle_is_odd(values, allowed, who):
    profiles = {f"n{i}": "h100" for i in range(8)}
    assert who == [each.nodes for each in odd(values, profiles, {("h100", "vbios"): frozenset(allowed)})]
