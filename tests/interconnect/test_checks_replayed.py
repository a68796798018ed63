"""The checks of several nodes on recorded trials (those of nodes alone: test_nvlink_sharp.py): each fault fails exactly its checks, nobody else is blamed, and what was not run is not
measured. One replay a case, as a user starts it."""

import json
from pathlib import Path

import pytest
from fleetrun import CHECKS
from standinlauncher import IB, SOCKET, Culprit
from trialsite import NAMES, TrialSite, refusal

from fleetcheck import checkbook, inventory

EACH = ("test_no_collective_dies_of_this_node", "test_no_collective_hangs_on_this_node", "test_collective_data_of_this_node_is_right",
        "test_node_is_as_fast_with_others_as_its_peers", "test_no_rail_of_the_node_is_slow")


def found(done, outcome):
    """{check[node or its pair]: message} of an outcome."""
    return {each["nodeid"].rpartition("::")[2]: each["message"] for each in done.lines("results") if each["outcome"] == outcome}


def certified(done):
    return {name for name, each in done.verdicts["nodes"].items() if each["certified"]}


def test_every_check_has_its_fault_here():
    names = {entry.name for entry in checkbook.read(CHECKS) if "/interconnect/" in entry.file and "cabling" not in entry.file}
    told = "".join(Path(__file__).with_name(name).read_text() for name in ("test_checks_replayed.py", "test_nvlink_sharp.py"))
    assert set() == {name for name in names if name not in told}


def test_healthy_nodes_pass_and_are_certified(tmp_path):
    done = TrialSite(tmp_path).record().replay()
    assert {} == found(done, "failed") == found(done, "error"), done.output
    assert set(NAMES) == certified(done) and "" == done.verdicts["isolate"]
    pairs = [each for each in done.lines("results") if each["check"] == "test_no_trial_blames_the_link"]
    assert 16 == len(pairs) == sum(2 == len(each["nodes"]) for each in pairs)


@pytest.mark.parametrize(("culprit", "check", "words"), [
    (Culprit("node", ("n0005",), "crash"), EACH[0], "n0005: crash: n0005 fails with"),
    (Culprit("node", ("n0005",), "timeout"), EACH[1], "n0005: timeout: n0005 fails with"),
    (Culprit("node", ("n0005",), "wrong-data"), EACH[2], "n0005: wrong-data: n0005 fails with"),
    (Culprit("node", ("n0005",), "slow", 0.5), EACH[3], "all_reduce_busbw_gb_s_128MiB"),
    (Culprit("rail", ("n0005",), "slow", 0.5, rail="2"), EACH[4], "n0005: slow: rail 2 of n0005 fails with"),
], ids=["crash", "timeout", "wrong data", "slow", "rail"])
def test_a_faulty_node_fails_exactly_its_check_and_its_partners_are_certified(tmp_path, culprit, check, words):
    done = TrialSite(tmp_path).record([culprit]).replay()
    failed = found(done, "failed")
    assert {f"{check}[n0005]"} == set(failed), done.output
    assert words in failed[f"{check}[n0005]"] and "confidence 0." in failed[f"{check}[n0005]"]
    assert set(NAMES) - {"n0005"} == certified(done)
    severe = culprit.symptom in ("crash", "timeout", "wrong-data")
    assert ("n0005" if severe else "") == done.verdicts["isolate"]
    assert ("failed" if severe else "degraded") == done.verdicts["nodes"]["n0005"]["verdict"]
    assert all("n0005" in name for name in found(done, "error"))
    assert [] == done.verdicts["fleet_findings"]


def test_the_rail_is_named_by_its_adapter(tmp_path):
    done = TrialSite(tmp_path).record([Culprit("rail", ("n0005",), "slow", 0.5, rail="2")]).replay()
    (failed,) = (each for each in done.lines("results") if each["outcome"] == "failed")
    assert [{"kind": "nic", "label": "mlx5_2", "slot": "rail 2", "serial": ""}] == failed["parts"]


@pytest.mark.parametrize(("ends", "check"), [
    ("n0000+n0012", "test_no_trial_blames_the_link[n0000+n0012]"), ("n0001+n0005", "test_no_other_link_is_to_blame[h100-sxm5-8]"),
], ids=["of a planned pair", "found among larger groups"])
def test_a_bad_link_names_both_ends_and_isolates_nobody(tmp_path, ends, check):
    ends = ends.split("+")
    done = TrialSite(tmp_path).record([Culprit("link", tuple(ends), "slow", 0.4)]).replay()
    (name, message), = found(done, "failed").items()
    assert check == name and f"{ends[0]} and {ends[1]} fail with each other" in message, done.output
    assert "" == done.verdicts["isolate"] and set(NAMES) - set(ends) == certified(done)
    (finding,) = done.verdicts["fleet_findings"]
    assert (inventory.fold(ends), "degraded", "observe") == (finding["nodes"], finding["severity"], finding["action"])
    assert {"healthy"} == {each["verdict"] for each in done.verdicts["nodes"].values()}


def test_a_bad_switch_is_a_finding_of_the_fleet(tmp_path):
    leaf = ("n0004", "n0005", "n0006", "n0007")
    done = TrialSite(tmp_path).record([Culprit("leaf", leaf, "timeout", name="L001")]).replay()
    (name, message), = found(done, "failed").items()
    assert "test_no_switch_is_to_blame[h100-sxm5-8]" == name and "leaf L001: all" in message, done.output
    (finding,) = (each for each in done.verdicts["fleet_findings"] if each["kind"] == "fleet-check")
    assert "n[0004-0007]" == finding["nodes"] and "" == done.verdicts["isolate"]
    assert set(NAMES) - set(leaf) == certified(done)


def test_where_all_trials_fail_nobody_is_blamed(tmp_path):
    done = TrialSite(tmp_path).record(broken="crash").replay()
    (name, message), = found(done, "failed").items()
    assert "test_every_failed_trial_is_explained[h100-sxm5-8]" == name and "all trials fail: configuration or fabric" in message, done.output
    assert "" == done.verdicts["isolate"] and set() == certified(done)
    assert not {"failed", "degraded"} & {each["verdict"] for each in done.verdicts["nodes"].values()}


def test_without_trials_nothing_is_measured(tmp_path):
    done = TrialSite(tmp_path).record(campaign=False).replay()
    outcomes = {each["outcome"] for each in done.lines("results")}
    assert {"error"} == outcomes and 1 == done.status, done.output
    assert any("pairs was not gathered in the recorded run" in message for message in found(done, "error").values())


def test_a_node_that_did_not_enter_is_not_measured_and_its_partners_are(tmp_path):
    busy = {"n0002": refusal("deferred", "n0002: deferred: job 123")}
    done = TrialSite(tmp_path).record(left_out=busy).replay()
    errors = found(done, "error")
    assert {} == found(done, "failed") and all("n0002" in name for name in errors) and "n0002: deferred: job 123" in errors[f"{EACH[0]}[n0002]"]
    assert set(NAMES) - {"n0002"} == certified(done), done.output


def test_what_a_node_left_around_its_trials_is_judged(tmp_path):
    told = {"n0001": {"way": [IB, SOCKET]}, "n0002": {"grew": {"mlx5_3/1 symbol_error": 900, "mlx5_3/1 tx_dropped": 5}},
            "n0003": {"kernel": ["NVRM: Xid (PCI:0000:61:00): 79, pid=1, GPU has fallen off the bus."]},
            "n0004": {"kernel": {"absent": "permission denied: /dev/kmsg"}, "grew": {"absent": "no counters were told"}, "way": []},
            "n0005": {"counted": ["eth0", "tcp", *(f"mlx5_{number}/1" for number in range(7))]}, "n0007": {"counted": ["tcp"]},
            "n0006": {"grew": {"mlx5_3/1 out_of_sequence": 900000}, "kernel": ["eth0: link is up"]}}
    done = TrialSite(tmp_path).record(told=told).replay()
    failed, errors = found(done, "failed"), found(done, "error")
    assert {"test_collectives_use_the_fabric[n0001]", "test_links_count_no_errors_during_trials[n0002]",
            "test_kernel_reports_nothing_during_trials[n0003]"} == set(failed), done.output
    assert "NCCL fell back to sockets where 8 HCAs is expected" in failed["test_collectives_use_the_fabric[n0001]"]
    assert "mlx5_3/1: 4500 symbol_error during 5 trials" in failed["test_links_count_no_errors_during_trials[n0002]"]
    assert "xid-79 in trial 1-" in failed["test_kernel_reports_nothing_during_trials[n0003]"]
    assert {"test_collectives_use_the_fabric[n0004]", "test_links_count_no_errors_during_trials[n0004]",
            "test_kernel_reports_nothing_during_trials[n0004]", "test_links_count_no_errors_during_trials[n0005]",
            "test_links_count_no_errors_during_trials[n0007]"} == set(errors)
    assert "error counters of mlx5_7 were not read" in errors["test_links_count_no_errors_during_trials[n0005]"]


def test_trials_cut_short_clear_no_switch(tmp_path):
    """What one node showed in its trials stands; that nothing else is at fault takes all of them."""
    errors = found(TrialSite(tmp_path).record(over=False).replay(), "error")
    assert {"test_no_switch_is_to_blame", "test_no_other_link_is_to_blame", "test_every_failed_trial_is_explained"} == {
        name.partition("[")[0] for name in errors}, errors
    assert all("not all trials were run: " in message for message in errors.values())


def test_a_node_that_answers_late_is_named(tmp_path):
    done = TrialSite(tmp_path).record(late={"n0009": 5.0}).replay()
    failed = found(done, "failed")
    assert ["test_node_answers_others_as_soon_as_its_peers[n0009]"] == list(failed), done.output
    assert "all_reduce_p50_us_8B" in failed["test_node_answers_others_as_soon_as_its_peers[n0009]"]
    assert set(NAMES) - {"n0009"} == certified(done)


@pytest.mark.parametrize(("fault", "check", "words"), [
    ({"overlap": 0.52}, "test_collectives_hide_behind_computation[h100-sxm5-8]", "all-reduce and matrix products at once reach 0.5"),
    ({"large": {4: 0.8, 8: 0.7, 16: 0.55}}, "test_bandwidth_holds_with_more_nodes[h100-sxm5-8]", "all-reduce among 16 nodes reaches"),
    ({"large": {2: 0.3, 4: 0.3, 8: 0.3, 16: 0.3}}, "test_bandwidth_grows_with_the_size_of_messages[h100-sxm5-8]", "all-reduce of 64MiB among 16 nodes reaches"),
], ids=["does not overlap", "does not scale", "dips"])
def test_what_all_show_together_is_a_finding_of_the_fleet(tmp_path, fault, check, words):
    done = TrialSite(tmp_path).record(**fault).replay()
    failed = found(done, "failed")
    assert [check] == list(failed) and words in failed[check], done.output
    assert "" == done.verdicts["isolate"]


def test_another_limit_gives_another_verdict_of_the_same_trials(tmp_path):
    site = TrialSite(tmp_path, "mine", {"mine": "extends: h100-sxm5-8\n"}).record(rails=0)
    assert {} == found(site.replay(), "failed")
    site.profiles({"mine": "extends: h100-sxm5-8\ninterconnect:\n  floor_bytes: 1048576\n  pair_busbw_gbytes_per_second:\n"
                           "    all_reduce: {low: 900, unit: GB/s, source: wish, date: 2026-11-30}\n"})
    done = site.replay()
    assert "all trials fail: configuration or fabric" in json.dumps(found(done, "failed")), done.output
