"""Trials over simulated nodes: every collective measured and right, rails apart, nothing left behind."""

from dataclasses import replace

import pytest
from rack import TERMS, Rack, ranks_left

from fleetcheck.collective.bench import Bench


@pytest.fixture(scope="module")
def rack(tmp_path_factory):
    found = Rack(tmp_path_factory.mktemp("rack"), {"n1": "", "n2": "", "n3": ""})
    yield found
    found.stop()


def test_every_node_can_take_part(rack):
    assert ["n1", "n2", "n3"] == sorted(rack.ready) and {} == rack.refused


def test_rails_are_measured_each_by_itself(rack):
    ready = {name: replace(each, ranks=2) for name, each in rack.ready.items()}
    trial = rack.trial("n1", "n2", benches=[Bench("all_reduce", (1 << 18,), 5, 1, rail="each"), Bench("send_recv", (1 << 18,), 3, 1)],
                       ready=ready).run.trial
    assert ("ok", "") == (trial.outcome, trial.message)
    rails = {(value.metric, value.sender, value.rail) for value in trial.values}
    assert {("all_reduce_busbw_gb_s_256KiB", "", "0"), ("all_reduce_busbw_gb_s_256KiB", "", "1")} <= rails
    assert {("send_recv_busbw_gb_s_256KiB", sender, rail) for sender in ("n1", "n2") for rail in "01"} <= rails


def test_every_collective_is_measured_and_right(rack):
    names = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")
    benches = [*(Bench(name, (8, 1 << 18), iterations=20, warmup=1) for name in names), Bench("barrier", iterations=20),
               Bench("overlap", (1 << 18,), iterations=3, warmup=1)]
    trial = rack.trial("n1", "n2", "n3", benches=benches).run.trial
    assert ("ok", "") == (trial.outcome, trial.message)
    assert {f"{name}_{what}" for name in names for what in ("p50_us_8B", "p99_us_8B", "busbw_gb_s_256KiB")} | {
        "barrier_p50_us", "barrier_p99_us", "overlap_ratio_256KiB"} <= {value.metric for value in trial.values}
    ways = {(value.sender, value.receiver) for value in trial.values if value.metric == "send_recv_busbw_gb_s_256KiB"}
    assert {("n1", "n2"), ("n2", "n3"), ("n3", "n1"), ("n2", "n1"), ("n3", "n2"), ("n1", "n3")} == ways
    assert [(True, False, "exit 0")] * 3 == [(report.arrived, report.wrong, report.ended) for report in trial.reports]
    assert [] == ranks_left(rack.sandbox.directory)


def test_benchmarks_end_in_time_and_keep_what_they_measured(rack):
    trial = rack.trial("n1", "n2", benches=[Bench("all_reduce", (1 << 18,), iterations=100000), Bench("broadcast", (1 << 18,)),
                                            Bench("send_recv", (1 << 18,)), Bench("overlap", (1 << 18,))], terms=replace(TERMS, seconds=2)).run.trial
    assert ("ok", "") == (trial.outcome, trial.message)
    assert {"all_reduce_busbw_gb_s_256KiB", "all_reduce_algbw_gb_s_256KiB"} == {value.metric for value in trial.values}
