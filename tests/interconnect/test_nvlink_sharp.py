"""All-reduce of nodes by themselves, with NVLink SHARP and without: when a campaign runs it, what it shows, and over real ranks what arrives."""

import sys
from dataclasses import replace

import pytest
from rack import TERMS, Rack
from simulated_fabric import fleet
from standinlauncher import NO_SHARP, SHARP, Culprit, StandIn
from trialsite import NAMES, TrialSite

from fleetcheck import inventory
from fleetcheck.collective.bench import Bench
from fleetcheck.collective.campaign.begin import courses
from fleetcheck.collective.campaign.benches import GIB, benches
from fleetcheck.collective.campaign.campaign import Campaign
from fleetcheck.collective.campaign.course import Course
from fleetcheck.collective.campaign.launch import Ranks
from fleetcheck.collective.campaign.record import Begun, Recorded, recorded
from fleetcheck.collective.campaign.terms import settle
from fleetcheck.collective.rounds import Planned
from fleetcheck.collective.trial import ALONE, WITHOUT_NVLS
from fleetcheck.facts.interconnect import Interconnect
from fleetcheck.facts.load_limits import LIMITS
from fleetcheck.journal import Journal

SLOW, GAIN = "test_nvlinks_are_fast_without_nvlink_sharp", "test_nvlink_sharp_speeds_all_reduce_up"


def by_outcome(done):
    """{check[node]: (outcome, message)}."""
    return {each["nodeid"].rpartition("::")[2]: (each["outcome"], each["message"]) for each in done.lines("results")}


def replayed(tmp_path, profile="h100-sxm5-8", extra=None, **more):
    site = TrialSite(tmp_path, profile, extra).record(**{"tier": "acceptance", **more})
    return by_outcome(site.replay("--tier", "acceptance", "-k", "nvlink_sharp"))


def campaign(path, launcher, course, **more):
    journal = Journal(path)
    Campaign("r1", [course], launcher, journal.append, **more).go()
    journal.close()
    return recorded(path).kept


def test_every_node_is_tried_by_itself_after_all_else_also_one_at_fault_with_others(tmp_path):
    course = Course(fleet(8, 4), alone=True)
    kept = campaign(tmp_path / "e.jsonl", StandIn(course.topology, [Culprit("node", ("n0003",), "crash")]), course)
    alone = [each for each in kept if each.step == "alone"]
    assert alone == list(kept[-len(alone):])
    assert sorted((node, kind) for node in course.topology.nodes for kind in (ALONE, WITHOUT_NVLS)) == sorted((each.members[0], each.trial.kind) for each in alone)
    assert {ALONE} == {each.trial.kind for each in alone[:8]} and 2 == len({each.round for each in alone})


def test_after_a_break_what_is_missing_is_run(tmp_path):
    path, course = tmp_path / "e.jsonl", Course(fleet(4, 0), alone=True)
    campaign(path, StandIn(course.topology), course)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))
    again = StandIn(course.topology)
    campaign(path, again, course, before=recorded(path).kept)
    assert [WITHOUT_NVLS] * 3 == [planned.kind for _, planned in again.asked]


def test_a_node_that_cannot_be_asked_by_itself_is_not_asked_twice(tmp_path):
    course, launcher = Course(fleet(4, 0), alone=True), StandIn(fleet(4, 0))
    run = launcher.by_itself
    launcher.by_itself = lambda planned, *words: 1 / 0 if planned.members == ("n0001",) else run(planned, *words)
    kept = campaign(tmp_path / "e.jsonl", launcher, course)
    assert [None] == [each.trial for each in kept if each.members == ("n0001",)]


@pytest.mark.parametrize(("profile", "tier", "tried"), [
    ("h100-sxm5-8", "acceptance", True), ("gb200-nvl72-tray", "acceptance", True), ("h100-sxm5-8", "full", False),
    ("a100-sxm4-80-8", "acceptance", False), ("cpu-host", "acceptance", False),
])
def test_it_belongs_to_acceptance_of_nodes_with_nvlink_sharp(tmp_path, profile, tier, tried):
    (tmp_path / "x.yaml").write_text(f"fleet: f\ndefaults: {{profile: {profile}, claim: none}}\nnodes: {{'n[1-4]': }}\n")
    site = inventory.load(tmp_path / "x.yaml")
    terms = settle(site, {"n1", "n2", "n3", "n4"}, "quick", tier=tier)
    assert (tried, 60.0 * (5 if tried else 3)) == (terms.by_themselves, terms.seconds)
    assert [tried] == [course.alone for course in courses(site, terms, terms.kinds, {"n1"})]
    assert [False] == [course.alone for course in courses(site, terms, terms.kinds, {})], "no accelerator is seen"


def test_it_is_one_large_all_reduce():
    assert (Bench("all_reduce", (8 * GIB,), 20, 5),) == benches(ALONE, 1, "full", "cuda") == benches(WITHOUT_NVLS, 1, "quick", "cuda")


def test_nodes_with_a_gain_pass_and_the_figures_are_shown(tmp_path):
    done = TrialSite(tmp_path).record(tier="acceptance").replay("--tier", "acceptance", "-k", "nvlink_sharp")
    assert {f"{check}[{name}]": ("passed", "") for check in (SLOW, GAIN) for name in NAMES} == by_outcome(done), done.output
    (result,) = (each for each in done.lines("results") if each["nodeid"].endswith(f"{GAIN}[n0001]"))
    shown = {name: next(iter(parts.values())) for name, parts in result["metrics"].items()}
    assert 1.25 < shown["alone.nvlink_sharp_gain"] < 1.35 and shown["alone.nvlink_sharp"], result
    assert shown["alone.all_reduce_busbw_gb_s"] > 470 > 380 > shown["alone.all_reduce_busbw_gb_s_without_nvls"], result


FAULTS = {
    "n0000": ((480.0, 250.0, SHARP), SLOW, "all-reduce within the node, NVLink SHARP off reaches 2"),
    "n0002": ((480.0, "timeout", SHARP), SLOW, "all-reduce within the node, NVLink SHARP off: timeout"),
    "n0004": ((300.0, 370.0, SHARP), GAIN, "GB/s with NVLink SHARP, 0.8"),
    "n0006": (("crash", 370.0), GAIN, "all-reduce within the node: crash"),
    "n0008": ((372.0, 370.0, NO_SHARP), GAIN, "NCCL finds no NVLink SHARP"),
    "n0010": ((385.0, 370.0, SHARP), GAIN, "all-reduce within the node reaches 38"),
}
"""Node → what it shows with NVLink SHARP, without, NCCL's line; the check that fails; its words."""


def test_a_fault_is_named_by_its_check_alone_and_what_does_not_show_is_not_measured(tmp_path):
    silent = {"n0012": (480.0, 370.0)}
    found = replayed(tmp_path, alone={name: shown for name, (shown, _, _) in FAULTS.items()} | silent)
    failed = {name: message for name, (outcome, message) in found.items() if outcome == "failed"}
    assert {f"{check}[{name}]" for name, (_, check, _) in FAULTS.items()} == set(failed), found
    assert [] == [name for name, (_, check, words) in FAULTS.items() if words not in failed[f"{check}[{name}]"]], failed
    assert {f"{GAIN}[n0002]", f"{GAIN}[n0012]"} == {name for name, (outcome, _) in found.items() if outcome == "error"}, found
    assert "NVLink SHARP off ended in timeout: nothing to compare with" in found[f"{GAIN}[n0002]"][1]
    assert "NCCL's log says nothing of NVLink SHARP" in found[f"{GAIN}[n0012]"][1]


def test_where_no_floor_is_known_the_other_nodes_are_the_measure(tmp_path):
    plain = "extends: h100-sxm5-8\ninterconnect: {floor_bytes: 17179869184}\n"
    found = replayed(tmp_path, "mine", {"mine": plain}, alone={"n0005": (480.0, 320.0, SHARP)})
    assert {f"{SLOW}[n0005]"} == {name for name, (outcome, _) in found.items() if outcome == "failed"}, found
    assert "of the other nodes" in found[f"{SLOW}[n0005]"][1]


def test_without_its_trials_nothing_is_measured(tmp_path):
    found = replayed(tmp_path, tier="full")
    assert {"error"} == {outcome for outcome, _ in found.values()}
    assert "all-reduce within the node, NVLink SHARP off was not run" in found[f"{SLOW}[n0000]"][1], found


def test_it_does_not_apply_to_nodes_without_nvlink_sharp(tmp_path):
    assert {"skipped"} == {outcome for outcome, _ in replayed(tmp_path, "a100-sxm4-80-8", tier="full").values()}


@pytest.mark.parametrize(("told", "words"), [
    ("{device: cpu}", "processors stand in"), ("{environment: {NCCL_NVLS_ENABLE: '0'}}", "the inventory turns NVLink SHARP off"),
])
def test_it_does_not_apply_where_processors_stand_in_nor_what_the_site_turned_off(tmp_path, told, words):
    (tmp_path / "x.yaml").write_text(f"fleet: f\ndefaults: {{profile: h100-sxm5-8, claim: none, interconnect: {told}}}\nnodes: {{n1: , n2: }}\n")
    site = inventory.load(tmp_path / "x.yaml")
    with pytest.raises(pytest.skip.Exception, match=words):
        Interconnect.of(Recorded(Begun("quick", {"h100-sxm5-8": ("n1", "n2")})), site).alone(site.nodes[0]).no_gain(LIMITS["nvlink_sharp_gain"])


def test_real_ranks_find_it_off_in_their_environment_and_the_figures_are_kept(tmp_path):
    spy = tmp_path / "python"
    spy.write_text(f'#!/bin/sh\necho "${{NCCL_NVLS_ENABLE-as it is}}" >> {tmp_path}/seen\nexec {sys.executable} "$@"\n')
    spy.chmod(0o755)
    rack = Rack(tmp_path, {"n1": ""}, {"n1": f"{{torch_python: {spy}, interconnect: {{device: cpu, most_bytes: 1048576}}}}"}, asked=False)
    try:
        ranks = Ranks(rack.exchange, rack.nodes, {"n1": replace(rack.ready["n1"], ranks=2)}, TERMS, "quick", "cpu")
        ran = [ranks.run(Planned(kind, ("n1",)), 1, f"1-{kind}") for kind in (ALONE, WITHOUT_NVLS)]
    finally:
        rack.stop()
    assert ["ok", "ok"] == [each.trial.outcome for each in ran], ran
    assert all("all_reduce_busbw_gb_s_1MiB" in {value.metric for value in each.trial.values} for each in ran)
    assert ["as it is"] * 2 + ["0"] * 2 == (tmp_path / "seen").read_text().splitlines()
