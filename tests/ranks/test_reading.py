"""From what members say to a trial: outcomes, whom it names, figures, and answers that are not to be trusted."""

import math

import pytest
from told import BENCHES, answered, bench, rank, unanswered

from fleetcheck.collective.bench import FACTORS, busbw, percentile
from fleetcheck.collective.ranks import member
from fleetcheck.collective.reading_ranks import trial_of
from fleetcheck.collective.trial import as_record, from_record
from fleetcheck.records import GIVEN_UP


def run(*evidence, benches=BENCHES):
    return trial_of("t1", 1, "pair" if len(evidence) == 2 else "group", [member(each) for each in evidence], benches)


def numbers(told):
    return {(value.metric, value.sender, value.receiver, value.rail): value.number for value in told.trial.values}


def test_a_healthy_pair_is_a_trial_with_figures_that_is_kept_whole():
    told = run(answered("n1", [rank(0)]), answered("n2", [rank(1)]))
    assert ("ok", "", ("n1", "n2")) == (told.trial.outcome, told.trial.message, told.trial.members)
    assert told.trial == from_record(as_record(told.trial))
    assert {"all_reduce_p50_us_8B", "all_reduce_busbw_gb_s_1MiB", "all_reduce_algbw_gb_s_1MiB"} == {value.metric for value in told.trial.values}


@pytest.mark.parametrize(("kind", "message"), [("refused", "x"), ("authentication", "x"), ("no-python", "x"), ("controller", "x"),
                                               ("disconnected", GIVEN_UP), ("garbled", "x")])
def test_trouble_that_is_no_matter_of_the_interconnect_makes_no_trial(kind, message):
    told = run(answered("n1", [rank(0, [], arrived=True, failed="missing", ended="exit 1")]), unanswered("n2", kind, message))
    assert told.trial is None and {"n2": kind} == {name: failure.kind for name, failure in told.refused.items()}


@pytest.mark.parametrize(("evidence", "outcome", "message"), [
    (unanswered("n2", "disconnected", "the connection ended"), "crash", "n2: the connection ended"),
    (unanswered("n2", "deadline", "no complete reply within 300 s"), "timeout", "n2: no complete reply within 300 s"),
    (answered("n2", [rank(1, [], ended="signal 11", at="all_reduce of 8 bytes", output="boom\nlast")]), "crash",
     "rank 1 of n2: signal 11 in all_reduce of 8 bytes, saying 'last'"),
    (answered("n2", [rank(1, [], ended="exit 1", at="all_reduce of 8 bytes", failed="broken", why="RuntimeError: NCCL error")]), "crash",
     "rank 1 of n2: exit 1 in all_reduce of 8 bytes, saying 'RuntimeError: NCCL error'"),
    (answered("n2", [rank(1, [], ended="timeout", failed="timeout", why="nothing more for 35 s in: barrier of 0 bytes")]), "timeout",
     "rank 1 of n2: nothing more for 35 s in: barrier of 0 bytes"),
    (answered("n2", [rank(1, [], arrived=False, ended="exit 1", failed="connect-timeout", why="no answer from the master, n1 port 1, for 60 s")]),
     "timeout", "rank 1 of n2 never arrived: no answer from the master, n1 port 1, for 60 s"),
    (answered("n2", [rank(1, [bench(size=8), bench(wrong=3, wrong_from={"": 3})])]), "wrong-data", "n2 got 3 wrong elements, first in "
     "all_reduce of 1MiB"),
])
def test_what_went_wrong_is_the_outcome_and_names_ranks_and_node(evidence, outcome, message):
    told = run(answered("n1", [rank(0)]), evidence)
    assert (outcome, message) == (told.trial.outcome, told.trial.message)
    assert (outcome == "wrong-data") == bool(told.trial.values)


@pytest.mark.parametrize(("kind", "words"), [("no-torch", "torch_python of the inventory"), ("name", "DNS or /etc/hosts"),
                                             ("no-device", "accelerators"), ("memory", "what else holds memory there")])
def test_software_and_configuration_refuse_the_node_and_make_no_trial(kind, words):
    told = run(answered("n1", [rank(0, [], failed="missing", ended="exit 1")]),
               answered("n2", [rank(1, [], arrived=False, failed=kind, why="so it is", ended="exit 1")], why="so it is"))
    assert told.trial is None and told.refused["n2"].message.startswith("n2: it cannot take part: so it is; look at") and words in \
        told.refused["n2"].message


def test_the_rank_order_plays_no_part_in_who_is_named_first():
    victim = answered("n1", [rank(0, [], ended="exit 1", failed="peer-lost", why="Connection closed by peer", at="all_reduce of 8 bytes")])
    for order in (1, -1):
        told = run(*[victim, answered("n2", [rank(1, [], ended="signal 9", at="all_reduce of 8 bytes")])][::order])
        assert "crash" == told.trial.outcome and told.trial.message.startswith("rank 1 of n2: signal 9")


def test_ranks_that_ended_well_without_figures_are_not_measured():
    told = run(answered("n1", [rank(0)]), answered("n2", [rank(1, [bench()])]))
    assert told.trial is None and "its ranks ended well and told no figures of all_reduce of 8B" in told.refused["n2"].message


@pytest.mark.parametrize("ranks", [
    None, "x", [{}], [rank(0, [bench(seconds=["fast"])])], [rank(0, [bench(seconds=[math.inf])])], [rank(0, [bench(seconds=[-1.0])])],
    [rank(0, [bench(wrong=-1)])], [rank(-1)], [rank(0, [{"op": "all_reduce"}])], [rank(0, [bench(wrong_from={"x": 1})])], [rank(0, 7)],
    [rank(0, [bench(bytes=1 << 70)])], [rank(True)], [rank(0, missing=["all"])],
])
def test_an_answer_of_another_shape_is_not_measured(ranks):
    evidence = answered("n2", [])
    evidence.answers["rank_run"].data["ranks"] = ranks
    told = run(answered("n1", [rank(0)]), evidence)
    assert told.trial is None and "garbled" == told.refused["n2"].kind


def test_words_of_a_node_are_made_harmless():
    told = run(answered("n1", [rank(0)]), answered("n2", [rank(1, [], ended="exit 3", at="\x1b[2Jhere\n", output="\x07" * 9000)]))
    assert "\x1b" not in told.trial.message and "\x07" not in told.trial.message and "\n" not in told.trial.message
    assert len(told.members[1].ranks[0].output) <= 4096


def test_bandwidth_is_that_of_nccl_tests():
    """Columns of nccl-tests: 4194304 bytes in 401.09 µs are algbw 10.46; busbw by PERFORMANCE.md."""
    assert 10.457 == pytest.approx(busbw("broadcast", 4194304, 401.09e-6, 8), rel=1e-4)
    factors = {name: factor(8) for name, factor in FACTORS.items()}
    assert {"all_reduce": 1.75, "all_gather": 0.875, "reduce_scatter": 0.875, "all_to_all": 0.875, "broadcast": 1.0, "send_recv": 1.0} == factors


def test_an_iteration_lasts_as_long_as_its_slowest_rank_and_the_median_counts():
    fast, slow = [bench(size=8), bench(seconds=[0.001] * 5)], [bench(size=8), bench(seconds=[0.001, 0.004, 0.004, 0.004, 0.9])]
    told = numbers(run(answered("n1", [rank(0, fast)]), answered("n2", [rank(1, slow)])))
    assert told["all_reduce_busbw_gb_s_1MiB", "", "", ""] == pytest.approx((1 << 20) / 0.004 / 1e9)


def test_percentiles_are_of_times_that_were_measured():
    times = [index * 1e-6 for index in range(1, 101)]
    assert (times[49], times[98]) == (percentile(times, 0.5), percentile(times, 0.99))
    entries = [bench(size=8, seconds=times), bench()]
    told = numbers(run(answered("n1", [rank(0, entries)]), answered("n2", [rank(1, entries)])))
    assert told["all_reduce_p50_us_8B", "", "", ""] == pytest.approx(50) and told["all_reduce_p99_us_8B", "", "", ""] == pytest.approx(99)
    few = numbers(run(answered("n1", [rank(0)]), answered("n2", [rank(1)])))
    assert not [name for name, *_ in few if "p99" in name], "five times have no 99th percentile"


def test_directions_and_rails_are_kept_apart():
    def entries(local):
        one = [bench("send_recv", seconds=[0.001 * (1 + local)] * 5, rail=str(local), **{"from": a, "to": b}) for a, b in ((0, 1), (1, 0))]
        one[1]["seconds"] = [0.01] * 5
        return [bench(size=8), bench(), *one]

    ranks = [[rank(2 * node + local, entries(local), local_rank=local) for local in range(2)] for node in range(2)]
    told = numbers(run(answered("n1", ranks[0]), answered("n2", ranks[1])))
    size = "send_recv_busbw_gb_s_1MiB"
    assert {(size, "n1", "n2", "0"), (size, "n1", "n2", "1"), (size, "n2", "n1", "0"), (size, "n2", "n1", "1")} == {key for key in told if key[0] == size}
    assert told[size, "n1", "n2", "1"] == pytest.approx((1 << 20) / 0.002 / 1e9) and told[size, "n2", "n1", "0"] == pytest.approx(0.1048576)


def test_a_size_that_did_not_fit_has_no_figure_and_is_no_fault():
    skipped = {"op": "all_reduce", "bytes": 1 << 20, "moved_bytes": 1 << 20, "skipped": "the rank with the least memory has 9 free"}
    told = run(answered("n1", [rank(0, [bench(size=8), skipped])]), answered("n2", [rank(1, [bench(size=8), skipped])]))
    assert "ok" == told.trial.outcome and {"all_reduce_p50_us_8B"} == {value.metric for value in told.trial.values}


@pytest.mark.parametrize(("own", "other", "slowest"), [
    ([0.001] * 10, [0.010] * 10, True),                         # it waits least: the others wait for it
    ([0.010] * 10, [0.0101] * 10, False),                       # alike
    ([0.001, 0.012] * 5, [0.012, 0.001] * 5, False),            # now one, now the other
])
def test_the_slowest_is_named_only_when_it_nearly_always_is(own, other, slowest):
    told = run(*(answered(f"n{number + 1}", [rank(number, [bench(size=8, seconds=times), bench(seconds=times)])])
                 for number, times in enumerate((own, other))))
    assert [slowest, False] == [report.slowest for report in told.trial.reports]


def test_overlap_is_the_longer_alone_over_both_together():
    def phases(alone, together):
        return {"op": "overlap", "bytes": 1 << 20, "products": 3, "alone_compute": [alone] * 3, "alone_communication": [0.004] * 3,
                "together": [together] * 3, "wrong": 0, "wrong_from": {}}

    told = numbers(run(answered("n1", [rank(0, [bench(size=8), bench(), phases(0.005, 0.006)])]),
                       answered("n2", [rank(1, [bench(size=8), bench(), phases(0.003, 0.010)])])))
    assert 0.5 == told["overlap_ratio_1MiB", "", "", ""]


WATCHDOG = "[rank0]:[E1] [PG ID 0 PG GUID 0 Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=30000)"
LOST = "[Rank 0] NCCL watchdog thread terminated with exception: NCCL error: remote process exited or there was a network error"


@pytest.mark.parametrize(("line", "other", "outcome"), [
    (WATCHDOG, rank(1, [], ended="timeout", failed="timeout", why="nothing more for 35 s in: all_reduce of 8 bytes"), "timeout"),
    (LOST, rank(1, [], ended="signal 9", at="all_reduce of 8 bytes"), "crash"),
])
def test_a_rank_that_its_own_watchdog_aborts_is_a_victim(line, other, outcome):
    victim = rank(0, [], ended="signal 6", at="all_reduce of 8 bytes", output="frame #3\n" * 400, transport=[line])
    told = run(answered("n1", [victim]), answered("n2", [other]))
    assert outcome == told.trial.outcome and told.trial.message.startswith("rank 1 of n2: ")
