"""Ranks that hang, die, compute wrong data, are slow, or never arrive: each trial's outcome names them, whatever their rank."""

import re

import pytest
from rack import Rack, ranks_left

from fleetcheck.collective.bench import Bench
from fleetcheck.collective.launcher import Terms

BENCHES = [Bench("all_reduce", (8, 1 << 19), iterations=10, warmup=1), Bench("all_gather", (1 << 18,), iterations=3, warmup=1)]
FAULTS = {"hangs": "op: all_reduce, hang: 3", "dies": "die: 2", "wrong": "op: all_gather, wrong: 1", "late": "late_barrier: 0.05",
          "absent": "absent: true", "broken": "exit: 139"}
BRIEF = Terms("r1", seconds=60, stall_seconds=4, rendezvous_seconds=6)


@pytest.fixture(scope="module")
def rack(tmp_path_factory):
    faults = {**FAULTS, "g1": "", "g2": "", "g3": "", "g4": ""}
    found = Rack(tmp_path_factory.mktemp("rack"), faults, asked=False)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def launched(rack):
    first = rack.trials([("g2", "dies"), ("wrong", "g3"), ("g4", "late")], BENCHES)
    second = rack.trials([("hangs", "g3"), ("g1", "absent"), ("broken", "g2")], BENCHES, BRIEF)
    return {set(pair.run.members[place].node for place in (0, 1)).difference({"g1", "g2", "g3", "g4"}).pop(): pair
            for pair in (*first.values(), *second.values())}


def trial(launched, name):
    return launched[name].run.trial


def reports(launched, name):
    return {report.node: report for report in trial(launched, name).reports}


def test_one_that_hangs_is_a_timeout_named_with_its_place(launched):
    assert "timeout" == trial(launched, "hangs").outcome
    assert re.match(r"rank 0 of hangs: nothing more for \d+ s in: all_reduce of 8 bytes; rank 1 of g3: exit 1 in all_reduce of 8 bytes, saying "
                    r"'RuntimeError: Timed out waiting", trial(launched, "hangs").message)
    hung = next(rank for member in launched["hangs"].run.members for rank in member.ranks if member.node == "hangs")
    assert "before_call" in hung.output, "its last words say where it hangs"


def test_one_that_dies_is_a_crash_and_its_partner_the_victim(launched):
    told = trial(launched, "dies")
    assert "crash" == told.outcome and () == told.values
    assert told.message.startswith("rank 1 of dies: signal 9 in all_reduce of 8 bytes; rank 0 of g2: exit 1 in all_reduce")
    assert {"dies": "signal 9", "g2": "exit 1"} == {name: report.ended for name, report in reports(launched, "dies").items()}


def test_wrong_data_is_counted_and_its_sender_told(launched):
    told = trial(launched, "wrong")
    assert "wrong-data" == told.outcome
    assert {"wrong": True, "g3": None} == {name: report.wrong for name, report in reports(launched, "wrong").items()}
    assert "g3 got 4 wrong elements, first in all_gather of 256KiB, those of single senders sent by rank 0" in told.message


def test_one_that_is_late_is_the_slowest_and_the_trial_is_well(launched):
    assert "ok" == trial(launched, "late").outcome
    assert {"late": True, "g4": False} == {name: report.slowest for name, report in reports(launched, "late").items()}


def test_one_that_never_arrives_is_named(launched):
    told = trial(launched, "absent")
    assert "timeout" == told.outcome and re.match(r"rank 1 of absent never arrived: nothing more for \d+ s in: going to the master", told.message)
    assert {"absent": False, "g1": True} == {name: report.arrived for name, report in reports(launched, "absent").items()}


def test_a_broken_master_is_named_and_who_waited_for_it_is_not(launched):
    told = trial(launched, "broken")
    assert "crash" == told.outcome and told.message.startswith("rank 0 of broken never arrived: exit 139 in going to the master; "
                                                               "rank 1 of g2 waited for the master: ")
    assert {"broken": False, "g2": None} == {name: report.arrived for name, report in reports(launched, "broken").items()}


def test_nothing_is_left_on_the_nodes(rack, launched):
    assert [] == ranks_left(rack.sandbox.directory)
