"""A campaign over a simulated fabric: its rounds, its end, what it keeps, and going on after a break."""

import pytest
from simulated_fabric import answered, fleet
from standinlauncher import TOLD, Culprit, StandIn

from fleetcheck.collective.campaign.campaign import Campaign
from fleetcheck.collective.campaign.course import Course, fit, next_step, standing
from fleetcheck.collective.campaign.ran import Ran
from fleetcheck.collective.campaign.record import recorded, trial_line
from fleetcheck.collective.rounds import Planned
from fleetcheck.collective.slow import Limit
from fleetcheck.collective.topology import topology
from fleetcheck.journal import Journal

LIMITS = {"rail_gbytes_per_second": Limit("rail_gbytes_per_second", low=20.0)}.get


def campaign(course, launcher, path, **more):
    journal = Journal(path)
    found = Campaign("r1", [course], launcher, journal.append, **more)
    found.go()
    journal.close()
    return found


def blamed(course, trials):
    return {answered(finding) for finding in standing(course, trials).findings if finding.blames}


@pytest.mark.parametrize("culprits", [
    (), (Culprit("node", ("n0005",), "timeout"),), (Culprit("node", ("n0000",), "wrong-data"), Culprit("link", ("n0001", "n0005"), "slow", 0.4)),
    (Culprit("rail", ("n0003",), "slow", 0.5, rail="2"),), (Culprit("leaf", ("n0004", "n0005", "n0006", "n0007"), "timeout", name="L001"),),
], ids=["nobody", "node", "node and link", "rail", "leaf"])
def test_exactly_the_culprits_are_named_and_the_rest_runs_together(tmp_path, culprits):
    course = Course(fleet(16), limit=LIMITS)
    done = campaign(course, StandIn(course.topology, culprits), tmp_path / "evidence.jsonl")
    assert {culprit.answer for culprit in culprits} == blamed(course, done.trials)
    whole = done.trials[-1]
    touched = {node for culprit in culprits for node in (culprit.nodes[1:] if culprit.kind == "link" else culprit.nodes)}
    assert set(course.topology.nodes) - touched == set(whole.members) == set(fit(course, standing(course, done.trials)))
    assert "whole" == whole.kind and "ok" == whole.outcome and None is next_step(course, done.trials)


def test_what_was_recorded_is_what_was_run(tmp_path):
    course = Course(fleet(16), limit=LIMITS)
    done = campaign(course, StandIn(course.topology, [Culprit("node", ("n0005",), "crash")]), tmp_path / "evidence.jsonl")
    kept = recorded(tmp_path / "evidence.jsonl")
    assert sorted(done.trials, key=lambda each: each.id) == sorted(kept.trials, key=lambda each: each.id)
    assert {"pairs", "retests", "groups"} == {each.step for each in kept.kept}
    assert TOLD == kept.kept[0].told[kept.kept[0].members[0]]


@pytest.mark.parametrize("cut", [1, 9, 17, 20, 23])
def test_a_campaign_goes_on_where_it_stood(tmp_path, cut):
    course, culprits = Course(fleet(16), limit=LIMITS), [Culprit("node", ("n0005",), "timeout")]
    path = tmp_path / "evidence.jsonl"
    whole = campaign(course, StandIn(course.topology, culprits), path)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:cut]))
    before, again = recorded(path), StandIn(course.topology, culprits, seed=2)
    done = campaign(course, again, path, before=before.kept)
    assert len(whole.trials) - 4 <= len(again.asked) + cut <= len(whole.trials) + 4
    known = {frozenset(each.members) for each in before.kept if each.step == "pairs"}
    assert not known & {frozenset(planned.members) for _, planned in again.asked}
    assert {culprits[0].answer} == blamed(course, done.trials)
    assert len(recorded(path).kept) == len(done.trials) == len({trial.id for trial in done.trials})


def test_a_node_that_cannot_be_asked_is_dropped_and_its_partners_are_tried_with_others(tmp_path):
    course = Course(fleet(16), limit=LIMITS)
    done = campaign(course, StandIn(course.topology, lost=["n0002"]), tmp_path / "evidence.jsonl")
    assert {"n0002": "n0002: login refused"} == done.lost
    assert set() == blamed(course, done.trials)
    assert {*course.topology.nodes} - {"n0002"} == set(done.trials[-1].members)
    unrun = [each for each in recorded(tmp_path / "evidence.jsonl").kept if not each.trial]
    assert {"n0002: login refused"} == {each.not_run for each in unrun} and len(unrun) <= 3


def test_nobody_can_be_asked_ends_the_campaign(tmp_path):
    course = Course(fleet(16), limit=LIMITS)
    done = campaign(course, StandIn(course.topology, lost=course.topology.nodes), tmp_path / "evidence.jsonl")
    assert [] == done.trials and 16 == len(done.lost)


def test_halves_are_well_and_the_whole_fails_is_taken_apart_to_the_two(tmp_path):
    course = Course(fleet(16), limit=LIMITS)
    done = campaign(course, StandIn(course.topology, wide=[{"n0001", "n0014", "n0002"}]), tmp_path / "evidence.jsonl")
    assert set() == blamed(course, done.trials)
    smallest = min((trial for trial in done.trials if trial.outcome == "timeout"), key=lambda trial: len(trial.members))
    assert {"n0001", "n0014", "n0002"} <= set(smallest.members) and len(smallest.members) < 16
    assert "parts" in {each.step for each in recorded(tmp_path / "evidence.jsonl").kept}


def test_full_tries_every_pair_once(tmp_path):
    course = Course(fleet(6, 0), "full", LIMITS)
    done = campaign(course, StandIn(course.topology), tmp_path / "evidence.jsonl")
    assert 15 == len({frozenset(trial.members) for trial in done.trials if len(trial.members) == 2})


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_few_and_odd_nodes(tmp_path, count):
    of = topology({f"n{at}": {} for at in range(count)})
    done = campaign(Course(of, limit=LIMITS), StandIn(of), tmp_path / "evidence.jsonl")
    assert ({*of.nodes} if count > 1 else set()) == {node for trial in done.trials for node in trial.members}


def test_two_kinds_of_nodes_are_tried_side_by_side_and_never_together(tmp_path):
    one, two = topology({f"a{at}": {} for at in range(4)}), topology({f"b{at}": {} for at in range(4)})
    both = topology({node: {} for node in (*one.nodes, *two.nodes)})
    journal = Journal(tmp_path / "evidence.jsonl")
    done = Campaign("r1", [Course(one), Course(two)], StandIn(both), journal.append)
    done.go()
    assert all(len({node[0] for node in trial.members}) == 1 for trial in done.trials)
    assert {1} == {trial.round for trial in done.trials if set(trial.members) in ({"a0", "a3"}, {"b0", "b3"})}


def test_it_ends_when_it_must_and_says_so(tmp_path):
    course = Course(fleet(16), limit=LIMITS)
    left = iter(["", "", "no time left before 06:00"])
    done = campaign(course, StandIn(course.topology), tmp_path / "evidence.jsonl", stop=lambda: next(left))
    assert "no time left before 06:00" == done.ended and 16 == len(done.trials)


def test_a_node_that_is_somebody_elses_by_now_is_tried_no_more(tmp_path):
    course = Course(fleet(16), limit=LIMITS)
    rounds = iter([{}, {"n0003": "Slurm job 7 is PREEMPTED"}])
    done = campaign(course, StandIn(course.topology), tmp_path / "evidence.jsonl", gone=lambda: next(rounds, {}))
    assert {"n0003": "Slurm job 7 is PREEMPTED"} == done.lost
    assert {1} == {trial.round for trial in done.trials if "n0003" in trial.members} and max(trial.round for trial in done.trials) > 2


def test_an_interruption_ends_the_trials_and_blames_nobody(tmp_path):
    course = Course(fleet(16), limit=LIMITS)
    launcher, ticks = StandIn(course.topology), iter([None] * 2)

    def tick():
        if next(ticks, "over") == "over":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        campaign(course, launcher, tmp_path / "evidence.jsonl", tick=tick, lanes=2)
    assert launcher.closed and 1 <= len(recorded(tmp_path / "evidence.jsonl").kept) < 16


def test_a_mistake_of_ours_costs_one_trial(tmp_path):
    course, launcher = Course(fleet(16), limit=LIMITS), StandIn(fleet(16))
    run, calls = launcher.run, iter([True])
    launcher.run = lambda *words: 1 / 0 if next(calls, False) else run(*words)
    done = campaign(course, launcher, tmp_path / "evidence.jsonl", lanes=2)
    assert set(course.topology.nodes) == set(done.trials[-1].members)
    assert any("ZeroDivisionError" in each.not_run for each in recorded(tmp_path / "evidence.jsonl").kept)


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "evidence.jsonl"
    journal = Journal(path)
    journal.append(trial_line("r1", "pairs", 1, "1-1", Planned("pair", ("a", "b")), Ran(None, "refused"), "", 0.1))
    journal.close()
    path.write_text(path.read_text().replace('"round":1', '"round":"x"'))
    with pytest.raises(Exception, match=r"evidence.jsonl:1: damaged line .*resume the run"):
        recorded(path)
