"""The controller over nodes that answer from recordings: every course a load can take ends in one piece of evidence and a clean node."""

import json
import threading
import time

import pytest
from fakeloads import FAST, Fleet, controlled, evidence, inventory_of

from fleetcheck.burnin.book import NAME, Book, heads, rest_at, windows_at
from fleetcheck.burnin.ends import Patience
from fleetcheck.burnin.record import Kept, answers, evidence_text, recalled
from fleetcheck.records import Evidence, Failure, evidence_of


def book(folder, node=None):
    return [(line.node, line.what, line.about) for _, _, line in heads(folder / NAME) if line.node and node in (None, line.node)]


def words(folder, node):
    return [what for _, what, _ in book(folder, node)]


def until(ready):
    """Wait for what other threads do; the suite's timeout ends what never happens."""
    while not ready():
        time.sleep(0.002)


def whole(windows, seconds=600):
    """Every window of a load, each once."""
    return [each["t"] for each in windows] == [10.0 * number for number in range(int(seconds / 10))]


def ready(loads, *nodes):
    for node in nodes or list(loads.under):
        loads.ready(node, None)


def test_every_node_is_loaded_fetched_whole_and_cleaned(tmp_path):
    fleet, inventory = Fleet(events={"n2": [{"t": 3.0, "kind": "xid", "text": "Xid 79"}]}), inventory_of(tmp_path)
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        ready(loads)
        told = {name: evidence(tmp_path, future) for name, future in futures.items()}
    for name, each in told.items():
        assert each.failure is None and ("load", "load") == (each.stage, each.probe)
        assert {"gemm", "cpu", "telemetry", "snapshots", "load"} == set(each.answers)
        assert whole(each.answers["telemetry"].data["windows"]) and f"boot-{name}" == each.answers["telemetry"].data["boot_id"]
        life = each.answers["load"].data
        assert ("ended", "done", f"boot-{name}", f"boot-{name}") == (life["state"], life["ended_why"], life["boot_id"], life["started_boot_id"])
        assert (600, "burnin", "none") == (life["asked_seconds"], life["tier"], life["claim"])
    assert [{"t": 3.0, "kind": "xid", "text": "Xid 79"}] == told["n2"].answers["telemetry"].data["events"]
    assert {} == fleet.loads and {"n1": 1, "n2": 1, "n3": 1} == fleet.count("load_end")


def test_no_more_nodes_are_loaded_at_once_than_allowed(tmp_path):
    fleet, inventory = Fleet(), inventory_of(tmp_path, "n[1-5]")
    with controlled(tmp_path, fleet, inventory, max_loaded=2, duration=120) as (loads, futures):
        ready(loads)
        assert all(evidence(tmp_path, future).failure is None for future in futures.values())
    assert 2 == fleet.most


def test_starts_are_staggered(tmp_path):
    fleet, inventory = Fleet(), inventory_of(tmp_path, "n[1-4]")
    with controlled(tmp_path, fleet, inventory, patience=Patience(stagger=10, closing=5), pace=100, duration=120) as (loads, futures):
        began = fleet.clock()
        ready(loads)
        for future in futures.values():
            future.result(30)
    starts = sorted(moment for moment, _, what, _ in fleet.asked if what == "load_start")
    assert all(moment >= began + 10 * number for number, moment in enumerate(starts))


def test_a_node_without_facts_is_not_loaded(tmp_path):
    fleet, inventory = Fleet(), inventory_of(tmp_path)
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        loads.ready("n1", Failure("no-route", "n1: no route (so it was not loaded)"))
        assert "no-route" == evidence(tmp_path, futures["n1"]).failure.kind
    assert {} == fleet.count("load_start") and ["unloaded"] == words(tmp_path, "n1")


def test_a_busy_node_is_deferred_with_its_job(tmp_path):
    fleet, inventory = Fleet(busy={"n1": ["slurm 123"]}), inventory_of(tmp_path)
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        loads.ready("n1", None, fresh=False)
        loads.ready("n2", None, fresh=False)
        assert Failure("deferred", "n1: deferred: job 123") == evidence(tmp_path, futures["n1"]).failure
        assert evidence(tmp_path, futures["n2"]).failure is None
    assert {"n2": 1} == fleet.count("load_start")


def test_a_node_that_somebody_else_loads_is_deferred_and_left_alone(tmp_path):
    refused = {"state": "refused", "holder": {"id": "x", "run": "20261129-010203-abcd", "pid": 99, "since": "2026-11-29T01:02:03"}}
    fleet, inventory = Fleet(starts={"n1": [refused]}), inventory_of(tmp_path)
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        ready(loads, "n1")
        failure = evidence(tmp_path, futures["n1"]).failure
    assert "deferred" == failure.kind and "run 20261129-010203-abcd, pid 99, since 2026-11-29T01:02:03" in failure.message
    assert {} == fleet.count("load_end")


def test_a_lost_answer_to_the_start_is_asked_for_again(tmp_path):
    fleet, inventory = Fleet(starts={"n1": [Failure("disconnected", "n1: gone")]}), inventory_of(tmp_path)
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        ready(loads, "n1")
        assert whole(evidence(tmp_path, futures["n1"]).answers["telemetry"].data["windows"])


def test_a_start_that_never_comes_through_is_a_failure_and_the_node_is_told_to_end(tmp_path):
    fleet, inventory = Fleet(starts={"n1": [Failure("disconnected", "n1: gone")] * 9}), inventory_of(tmp_path)
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        ready(loads, "n1")
        failure = evidence(tmp_path, futures["n1"]).failure
    assert ("disconnected", "n1: gone (load_start, 3 times)") == (failure.kind, failure.message)
    assert {"n1": 1} == fleet.count("load_end")


def test_an_expired_login_during_polls_loses_no_sample(tmp_path):
    fleet, inventory = Fleet(), inventory_of(tmp_path)
    with controlled(tmp_path, fleet, inventory, every=60) as (loads, futures):
        began = fleet.clock()
        fleet.silent["n1"] = lambda: Failure("authentication", "n1: Kerberos ticket expired") if 100 < fleet.clock() - began < 640 else None
        ready(loads, "n1")
        told = evidence(tmp_path, futures["n1"])
    assert told.failure is None and whole(told.answers["telemetry"].data["windows"])
    assert "silent" in words(tmp_path, "n1")


def test_a_node_that_stays_away_is_given_up_after_its_end_and_a_grace_and_keeps_its_samples(tmp_path):
    fleet, inventory = Fleet(silent={"n1": Failure("no-route", "n1: no route")}), inventory_of(tmp_path)
    with controlled(tmp_path, fleet, inventory, every=60) as (loads, futures):
        ready(loads, "n1")
        failure = evidence(tmp_path, futures["n1"]).failure
    assert "no-route" == failure.kind and "could not be fetched; --resume r1 fetches it" in failure.message
    assert "lost" == words(tmp_path, "n1")[-1] and {} == fleet.count("load_end") and "n1" in fleet.loads
    moments = [moment for moment, _, what, _ in fleet.asked if what == "load_poll"]
    assert moments[-1] - moments[0] > 500


def test_a_lost_load_is_fetched_whole_by_a_later_session(tmp_path):
    inventory = inventory_of(tmp_path)
    fleet = Fleet(silent={"n1": Failure("no-route", "n1: no route")})
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        ready(loads, "n1")
        assert evidence(tmp_path, futures["n1"]).failure
    fleet.silent, fleet.loads["n1"].began = {}, -1e6
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        ready(loads, "n1")
        assert whole(evidence(tmp_path, futures["n1"]).answers["telemetry"].data["windows"])
    assert {"n1": 1} == fleet.count("load_start") and {} == fleet.loads


@pytest.mark.parametrize(("trouble", "said"), [
    ("rebooted", "the node rebooted during the load: boot id boot-n1 before, boot-new now"),
    ("gone", "its supervisor is gone"),
])
def test_a_load_that_broke_off_says_how(tmp_path, trouble, said):
    fleet, inventory = Fleet(), inventory_of(tmp_path)
    with controlled(tmp_path, fleet, inventory, every=100) as (loads, futures):
        ready(loads, "n1")
        until(lambda: fleet.count("load_poll")["n1"])
        getattr(fleet, trouble).add("n1")
        told = evidence(tmp_path, futures["n1"])
    assert told.failure is None and told.answers["telemetry"].data["windows"]
    assert not told.answers["cpu"].ok and said in told.answers["cpu"].error
    assert told.answers["gemm"].ok
    life = told.answers["load"].data
    assert (trouble, "boot-n1") == (life["state"], life["started_boot_id"])
    assert {"n1": 1} == fleet.count("load_end")


def test_capped_answers_are_asked_for_until_all_is_told(tmp_path):
    fleet, inventory = Fleet(cap=7), inventory_of(tmp_path)
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        ready(loads, "n1")
        assert whole(evidence(tmp_path, futures["n1"]).answers["telemetry"].data["windows"])


@pytest.mark.parametrize("hostile", [
    {"state": "fine"}, {"state": ["running"]}, {"windows": 7}, {}, {"state": "\x1b[2Jrunning"},
])
def test_answers_of_another_shape_end_as_not_measured(tmp_path, hostile):
    fleet, inventory = Fleet(), inventory_of(tmp_path)
    fleet._load_poll = lambda name, asked: hostile
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        ready(loads, "n1")
        failure = evidence(tmp_path, futures["n1"]).failure
    assert "garbled" == failure.kind and failure.message.isprintable()


def test_ending_the_run_ends_every_load_that_has_begun(tmp_path):
    fleet, inventory = Fleet(), inventory_of(tmp_path, "n[1-6]")
    with controlled(tmp_path, fleet, inventory, max_loaded=4, pace=10) as (loads, _):
        ready(loads)
        until(lambda: len(fleet.loads) >= 4)
    assert {} == fleet.loads and 4 == len(fleet.count("load_end"))
    assert ["ended"] * 4 == [what for _, what, _ in book(tmp_path) if what == "ended"]


def test_ending_the_run_waits_for_nobody_beyond_its_deadline(tmp_path):
    fleet, inventory = Fleet(), inventory_of(tmp_path)
    fleet._load_end = lambda name, asked: Failure("no-route", f"{name}: no route")
    with controlled(tmp_path, fleet, inventory, pace=10) as (loads, _):
        ready(loads)
        until(lambda: len(fleet.loads) >= 3)
    assert "started" == words(tmp_path, "n1")[-1]


def test_a_killed_run_attaches_by_id_and_loses_no_sample(tmp_path):
    inventory, fleet = inventory_of(tmp_path), Fleet()
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with controlled(first, fleet, inventory, every=50) as (loads, futures):
        ready(loads, "n1")
        until(lambda: loads.under["n1"].kept.windows)
        text = (first / NAME).read_text()
        (second / NAME).write_text(text + '{"node":"n1","what":"polled","ti')  # as kill -9 leaves it
        held, elapsed = fleet.loads["n1"], fleet.clock() - fleet.loads["n1"].began
    fleet.loads["n1"] = held
    with controlled(second, fleet, inventory, every=50) as (loads, futures):
        held.began = fleet.clock() - elapsed
        ready(loads, "n1")
        told = evidence(second, futures["n1"])
    assert whole(told.answers["telemetry"].data["windows"]) and 600 == told.answers["load"].data["asked_seconds"]
    assert {"n1": 1} == fleet.count("load_start") and {} == fleet.loads


def test_a_run_killed_before_the_node_answered_begins_again(tmp_path):
    inventory, fleet = inventory_of(tmp_path), Fleet()
    (tmp_path / NAME).write_text(json.dumps({"node": "n1", "what": "starting", "time": "2026-11-30T01:00:00+00:00", "about": {}, "told": {}},
                                            separators=(",", ":")) + "\n")
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        ready(loads, "n1")
        assert whole(evidence(tmp_path, futures["n1"]).answers["telemetry"].data["windows"])
    assert {"n1": 1} == fleet.count("load_start")


def test_what_was_fetched_but_not_cleaned_is_cleaned_by_the_next_session(tmp_path):
    inventory, fleet = inventory_of(tmp_path), Fleet()
    line = {"node": "n1", "what": "fetched", "time": "2026-11-30T01:00:00+00:00", "about": {}, "told": {}}
    (tmp_path / NAME).write_text(json.dumps(line, separators=(",", ":")) + "\n")
    with controlled(tmp_path, fleet, inventory) as (loads, _):
        loads.tidy([(each.node, each.request) for each in loads.under.values()], recalled(tmp_path / NAME))
        until(lambda: fleet.count("load_end"))
    assert {"n1": 1} == fleet.count("load_end")


def test_telemetry_is_kept_once_when_all_is_over(tmp_path):
    fleet, inventory = Fleet(), inventory_of(tmp_path)
    with controlled(tmp_path, fleet, inventory, every=100) as (loads, futures):
        ready(loads, "n1")
        assert whole(evidence(tmp_path, futures["n1"]).answers["telemetry"].data["windows"])
    polls = [offset for offset, _, line in heads(tmp_path / NAME) if line.what == "polled"]
    assert len(polls) > 2 and all([] == windows_at(tmp_path / NAME, offset) for offset in polls[:-1])
    assert 60 == recalled(tmp_path / NAME)["n1"].windows and "results" in rest_at(tmp_path / NAME, polls[-1])


def test_hostile_windows_cannot_leave_their_place(tmp_path):
    hostile = [{"a": '],"events":[', "events": [1], "b": "\\"}, {"c": '}},"told":{"windows":['}, 7, {"d": "\u2028"}]
    book = Book(tmp_path / NAME)
    offset = book.write_poll("n1", {"windows": 4}, hostile, [{"x": ',"results":{}}'}], {"results": {"gemm": {"ok": True}}})
    book.close()
    kept = Kept(polls=[offset, offset], boot_id='"}')
    line = evidence_text(tmp_path / NAME, kept, Evidence("r", "load", "load", "n1", "", 1.0, answers=answers(tmp_path / NAME, kept, ("gemm",), "")), "")
    told = evidence_of(json.loads(line)).answers
    assert hostile * 2 == told["telemetry"].data["windows"] and 2 == len(told["telemetry"].data["events"])
    assert '"}' == told["telemetry"].data["boot_id"] and {"ok": True} == told["gemm"].data


def test_a_mistake_of_ours_costs_one_node_not_the_run(tmp_path):
    inventory, fleet = inventory_of(tmp_path), Fleet()
    original = fleet._load_poll
    fleet._load_poll = lambda name, asked: original(name, asked) if name != "n1" else 1 / 0
    with controlled(tmp_path, fleet, inventory) as (loads, futures):
        ready(loads)
        failure = evidence(tmp_path, futures["n1"]).failure
        assert "controller" == failure.kind and "ZeroDivisionError" in failure.message
        assert evidence(tmp_path, futures["n2"]).failure is None


def test_no_thread_is_bound_to_a_loaded_node(tmp_path):
    fleet, inventory = Fleet(), inventory_of(tmp_path, "n[001-100]")
    before = threading.active_count()
    with controlled(tmp_path, fleet, inventory, max_loaded=100, patience=Patience(stagger=0.1), pace=10) as (loads, _):
        ready(loads)
        until(lambda: len(fleet.loads) >= 100)
        assert threading.active_count() <= before + 4 + 1


def test_patience_is_what_the_tests_say():
    assert 600 == Patience().grace and FAST.grace < 600
