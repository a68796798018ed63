"""Small campaigns by hand: who is blamed, on what evidence, and who never is."""

import dataclasses
import json

import pytest

from fleetcheck.collective.localise import localise
from fleetcheck.collective.slow import Limit, bound
from fleetcheck.collective.suspects import next_round
from fleetcheck.collective.topology import topology
from fleetcheck.collective.trial import Report, Trial, Value, as_record, from_record

LIMITS = (Limit("busbw_gbytes_per_second", low=300.0),)
NODES = "abcdef"
PLAIN = topology({node: {} for node in NODES})


def trial(members, outcome="ok", values=(), kind="pair", reports=()):
    trial.count += 1
    return Trial(f"t{trial.count}", 1, kind, tuple(members), outcome, tuple(values), tuple(reports))


trial.count = 0


def busbw(number, **where):
    return Value("busbw_gbytes_per_second", number, **where)


def blamed(trials, of=PLAIN, limits=LIMITS):
    return [(each.kind, "".join(each.members), each.symptom, each.rail) for each in localise(trials, of, limits) if each.blames]


def test_nothing_failed_finds_nothing():
    assert [] == localise([trial("ab"), trial("cd")], PLAIN)


@pytest.mark.parametrize("outcome", ["crash", "timeout", "wrong-data", "slow"])
def test_a_node_is_blamed_after_three_partners_of_which_two_are_good(outcome):
    trials = [trial("ab", outcome), trial("cd"), trial("ac", outcome), trial("bd")]
    assert [] == blamed(trials)
    [retest] = [planned.members for planned in next_round(trials, PLAIN) if "a" in planned.members]
    trials.append(trial(retest, outcome))
    assert [("node", "a", outcome, "")] == blamed(trials)


def test_the_first_rank_is_never_blamed_for_being_first():
    trials = [trial("ab", "timeout"), trial("cd"), trial("ac"), trial("bd", "timeout"), trial("be", "timeout"), trial("ef")]
    assert [("node", "b", "timeout", "")] == blamed(trials)


def test_a_failing_pair_blames_nobody_before_each_side_was_tried_with_another():
    [finding] = localise([trial("ab", "crash"), trial("cd")], PLAIN)
    assert ("nobody", ("a", "b"), "crash") == (finding.kind, finding.members, finding.symptom)
    assert "not tried enough" in finding.message


def test_a_link_is_blamed_when_only_its_pair_fails_again():
    once = [trial("ab", "timeout"), trial("cd"), trial("ef"), trial("ac"), trial("bd")]
    assert [] == blamed(once)
    [again] = next_round(once, PLAIN)
    assert ("a", "b") == again.members
    assert [("link", "ab", "timeout", "")] == blamed([*once, trial("ab", "timeout")])
    assert [] == blamed([*once, trial("ab")])
    assert () == next_round([*once, trial("ab")], PLAIN)


def test_where_all_fail_nobody_is_blamed():
    [finding] = localise([trial("ab", "crash"), trial("cd", "crash"), trial("ac", "crash"), trial("bd", "crash")], PLAIN)
    assert "nobody" == finding.kind
    assert "configuration or fabric" in finding.message


def test_two_nodes_alone_cannot_tell_which():
    two = topology({"a": {}, "b": {}})
    assert ["nobody"] == [each.kind for each in localise([trial("ab", "timeout"), trial("ab", "timeout")], two)]
    assert () == next_round([trial("ab", "timeout")], two)


def test_crash_and_slowness_are_kept_apart():
    fast, slow = [busbw(370.0)], [busbw(90.0)]
    trials = [trial("ab", "crash"), trial("cd", values=slow), trial("ac", "crash"), trial("bd", values=slow), trial("ad", "crash"),
              trial("bc", values=fast), trial("ae", "crash"), trial("de", values=slow), trial("be", values=fast), trial("df", values=slow)]
    assert {("node", "a", "crash", ""), ("node", "d", "slow", "")} == set(blamed(trials))


def test_a_report_of_wrong_data_is_evidence_to_read_not_the_verdict():
    liar = [Report("b", wrong=True)]
    trials = [trial("ab", "wrong-data", reports=liar), trial("cd"), trial("ac", "wrong-data"), trial("bd"), trial("ad", "wrong-data")]
    assert [("node", "a", "wrong-data", "")] == blamed(trials)


def rails(*speeds):
    return [busbw(speed, rail=str(rail)) for rail, speed in enumerate(speeds)]


def test_one_slow_rail_is_named_and_not_its_node():
    well, bad = rails(370, 370, 370, 370), rails(370, 370, 110, 370)
    trials = [trial("ab", values=bad), trial("cd", values=well), trial("ac", values=bad), trial("bd", values=well), trial("ae", values=bad)]
    assert [("rail", "a", "slow", "2")] == blamed([*trials, trial("ef", values=well)])


def test_a_rail_that_is_slow_everywhere_is_named_without_nodes():
    trials = [trial(pair, values=rails(370, 90)) for pair in ("ab", "cd", "ac", "bd")]
    assert [("rail", "", "slow", "1")] == blamed(trials)


def test_other_limits_judge_the_same_trials_anew():
    trials = [trial(pair, values=[busbw(330.0)]) for pair in ("ab", "cd", "ac", "bd")]
    assert [] == localise(trials, PLAIN, LIMITS)
    assert "nobody" == localise(trials, PLAIN, [dataclasses.replace(LIMITS[0], low=340.0)])[0].kind


def test_latency_is_slow_when_it_is_high():
    limit = [Limit("latency_p50_seconds", high=1e-4, worse="high", effect=0.5)]
    slow, fast = [Value("latency_p50_seconds", 2e-3)], [Value("latency_p50_seconds", 3e-5)]
    trials = [trial("ab", values=slow), trial("cd", values=fast), trial("ac", values=slow), trial("bd", values=fast), trial("ae", values=slow),
              trial("ef", values=fast)]
    assert [("node", "a", "slow", "")] == blamed(trials, limits=limit)


LEAVES = topology({f"{leaf}{slot}": {"leaf": leaf} for leaf in "ABC" for slot in range(3)})


def named(*pairs):
    return [trial(pair.split("-"), outcome) for pair, outcome in pairs]


def test_a_leaf_is_blamed_when_all_its_nodes_fail_with_good_outsiders():
    trials = named(("A0-B0", "timeout"), ("A1-C1", "timeout"), ("A2-B2", "timeout"), ("A0-A1", "timeout"), ("B0-B1", "ok"), ("C0-C1", "ok"),
                   ("B2-C2", "ok"))
    [finding] = localise(trials, LEAVES)
    assert ("switch", "leaf", "A", "all", ("A0", "A1", "A2")) == (finding.kind, finding.label, finding.name, finding.scope, finding.members)


def test_uplinks_are_blamed_when_a_leaf_is_well_inside():
    trials = named(("A0-B0", "timeout"), ("A1-C1", "timeout"), ("A2-B2", "timeout"), ("A0-A1", "ok"), ("A1-A2", "ok"), ("B0-C0", "ok"),
                   ("C1-B1", "ok"), ("B2-C2", "ok"))
    [finding] = localise(trials, LEAVES)
    assert ("switch", "A", "uplinks") == (finding.kind, finding.name, finding.scope)


def test_where_all_trials_between_leaves_fail_no_leaf_is_blamed():
    trials = named(("A0-B0", "timeout"), ("A1-C1", "timeout"), ("B2-C2", "timeout"), ("A0-A1", "ok"), ("B0-B1", "ok"), ("C0-C1", "ok"))
    findings = localise(trials, LEAVES)
    assert ["nobody"] == [each.kind for each in findings]
    assert "between leaves" in findings[0].message


def test_a_finding_names_the_trials_it_rests_on():
    trials = [trial("ab", "crash"), trial("cd"), trial("ac", "crash"), trial("bd"), trial("ad", "crash")]
    [finding] = localise(trials, PLAIN)
    assert tuple(each.id for each in trials if each.outcome == "crash") == finding.trials
    assert 0.8 == finding.confidence


def test_a_group_that_fails_with_a_known_culprit_is_explained():
    pairs = [trial("ab", "crash"), trial("cd"), trial("ac", "crash"), trial("bd"), trial("ad", "crash")]
    assert [("node", "a", "crash", "")] == blamed([*pairs, trial("abcd", "crash", kind="group")])


def test_failing_row_and_column_name_the_node_at_their_crossing():
    groups = [trial("abc", "crash", kind="group"), trial("def", kind="group"), trial("bcf", kind="group"), trial("ade", "crash", kind="group")]
    assert [("node", "a", "crash", "")] == blamed(groups)


def test_a_whole_that_fails_though_its_parts_are_well_blames_nobody():
    groups = [trial("abc", kind="group"), trial("def", kind="group"), trial("abcdef", "timeout", kind="whole")]
    [finding] = localise(groups, PLAIN)
    assert "nobody" == finding.kind
    assert "well in parts" in finding.message


def test_a_trial_survives_its_record():
    kept = trial("ab", values=[busbw(370.0, sender="a", receiver="b", rail="0")], reports=[Report("a", arrived=True)])
    assert kept == from_record(json.loads(json.dumps(as_record(kept))))


@pytest.mark.parametrize("change", [{"kind": "pear"}, {"outcome": "fine"}, {"members": ["a"]}, {"members": ["a", "a"]}, {"values": [{"x": 1}]}])
def test_a_broken_record_is_refused(change):
    with pytest.raises(ValueError, match="not a trial"):
        from_record({**as_record(trial("ab")), **change})


def test_a_tight_fleet_does_not_make_small_differences_slow():
    edge = bound([370.0] * 40, Limit("busbw_gbytes_per_second"))
    assert 333.0 == pytest.approx(edge)


def test_most_values_slow_do_not_hide_themselves():
    assert bound([100.0] * 20 + [370.0] * 12, Limit("busbw_gbytes_per_second")) > 300


def test_the_odd_node_that_no_round_took_is_tried():
    [planned] = next_round([trial("ab"), trial("cd")], topology({node: {} for node in "abcde"}))
    assert "e" in planned.members


def test_a_node_behind_bad_uplinks_is_tried_with_its_own_leaf():
    trials = named(("A0-B0", "timeout"), ("A1-C1", "timeout"), ("A2-B2", "timeout"), ("A0-A1", "ok"), ("B0-C0", "ok"), ("C1-B1", "ok"),
                   ("B2-C2", "ok"), ("A0-B1", "timeout"))
    [planned] = [each for each in next_round(trials, LEAVES) if "A2" in each.members]
    assert {"A2"} < set(planned.members) <= {"A0", "A1", "A2"}
