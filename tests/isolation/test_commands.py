"""isolate and release with the file backend: dry run, guards, audit log, and what is left alone."""

import fcntl
import json

import pytest
from nights import FAULT, inventory_text

FIRST, SECOND, THIRD = "20261130-020000-aaaa", "20261130-030000-bbbb", "20261130-040000-cccc"
WARNING = ("failed", "warn", "observe", "old kernel")
DEGRADED = ("failed", "degraded", "reset-gpu", "remap pending")


def lines(site):
    return [json.loads(line) for line in site.audit.read_text().splitlines()]


def test_a_dry_run_shows_exactly_what_would_change_and_changes_nothing(site):
    run = site.night(FIRST, {"n2": FAULT})
    code, said = site.command("isolate", run)
    assert 0 == code
    assert "WOULD ISOLATE: 1 node" in said and f"add to {site.list}: n2 fleetcheck[{FIRST} quick " in said
    assert "test_no_gpu_is_lost: GPU 3: lost" in said and "nothing was changed; --apply does it" in said
    assert not site.list.exists() and not site.audit.exists()


def test_a_faulty_node_is_isolated_confirmed_and_audited(site):
    run = site.night(FIRST, {"n2": FAULT})
    code, said = site.command("isolate", run, "--apply")
    assert (0, True) == (code, "ISOLATED: 1 node" in said), said
    assert "read back: listed" in said
    assert site.list.read_text().startswith(f"n2 fleetcheck[{FIRST} quick ")
    assert [("n2", "intended"), ("n2", "confirmed")] == [(each["node"], each["step"]) for each in lines(site)]
    assert {FIRST} == {each["run"] for each in lines(site)} and all(each["user"] and each["at"] and each["host"] for each in lines(site))


def test_isolating_twice_is_isolating_once(site):
    run = site.night(FIRST, {"n2": FAULT})
    site.command("isolate", run, "--apply")
    first = site.list.read_text()
    code, said = site.command("isolate", run, "--apply")
    assert (0, first) == (code, site.list.read_text())
    assert f"n2: isolated already, by run {FIRST}" in said and 2 == len(lines(site))


def test_a_healthy_night_asks_for_nothing(site):
    code, said = site.command("isolate", site.night(FIRST), "--apply")
    assert (0, "nothing to isolate, nothing was changed") == (code, said.splitlines()[-1])
    assert not site.list.exists()


@pytest.mark.parametrize("found", [WARNING, DEGRADED, ("error", "fatal", "reboot", "no answer")])
def test_warnings_one_soft_fault_and_gaps_isolate_nobody(site, found):
    code, said = site.command("isolate", site.night(FIRST, {"n2": found}), "--apply")
    assert 0 == code and "nothing to isolate" in said and not site.list.exists()


def test_a_soft_fault_isolates_in_the_night_in_which_it_comes_again(site):
    first = site.night(FIRST, {"n2": DEGRADED}, weighed=True, age_seconds=7200)
    code, said = site.command("isolate", first, "--apply")
    assert 0 == code and "nothing to isolate" in said and not site.list.exists()
    code, said = site.command("isolate", site.night(SECOND, {"n2": DEGRADED}, weighed=True), "--apply")
    assert 0 == code and "ISOLATED: 1 node" in said and "n2: test_no_gpu_is_lost: remap pending" in said


def test_a_fault_that_this_night_did_not_measure_again_isolates_nobody(site):
    site.night(FIRST, {"n2": FAULT}, weighed=True, age_seconds=7200)
    second = site.night(SECOND, {"n2": ("error", "fatal", "reboot", "no answer")}, weighed=True)
    assert "n2" == second.conclusions()["isolate"]
    code, said = site.command("isolate", second, "--apply")
    assert 1 == code and "[unmeasured]" in said and not site.list.exists()


def test_anybody_elses_entry_stays_byte_for_byte(site):
    run = site.night(FIRST, {"n2": FAULT, "n3": FAULT})
    before = "# out of service\r\nn2  fans are loud \n\nn[7-9] cabling\n"
    site.list.write_text(before, newline="")
    code, said = site.command("isolate", run, "--apply")
    assert 0 == code and "n2: out of service already: listed, 'fans are loud'" in said
    assert site.list.read_bytes().decode().startswith(before)
    healed = site.night(SECOND, age_seconds=-10)
    site.command("release", healed, "--apply")
    assert before == site.list.read_bytes().decode()


def test_a_node_is_released_by_a_later_complete_run_that_certifies_it(site):
    site.command("isolate", site.night(FIRST, {"n2": FAULT}), "--apply")
    healed = site.night(SECOND, age_seconds=-5, nodes="n2")
    code, said = site.command("release", healed)
    assert (0, True) == (code, "WOULD RELEASE: 1 node" in said) and "n2" in site.list.read_text()
    code, said = site.command("release", healed, "--apply")
    assert 0 == code and "RELEASED: 1 node" in said and f"after it failed quick in run {FIRST}" in said
    assert "" == site.list.read_text()
    assert ["isolate", "isolate", "release", "release"] == [each["kind"] for each in lines(site)]
    code, said = site.command("release", healed, "--apply")
    assert 0 == code and "nothing to release" in said


@pytest.mark.parametrize(("more", "said"), [
    ({"failing": {"n2": FAULT}}, "it is failed and not certified"),
    ({"failing": {"n2": WARNING}}, "it is healthy and not certified: test_no_gpu_is_lost failed"),
    ({"failing": {"n2": ("error", "fatal", "reboot", "no answer")}}, "and not certified"),
    ({"complete": False}, "the run is partial: 1 of 8 planned items have no outcome"),
    ({"narrowed": "-k gpu"}, "the run is partial: narrowed by -k gpu"),
    ({"age_seconds": 600}, "min before it was isolated"),
    ({"silent": ["n2"]}, "its evidence is not there any more"),
])
def test_anything_less_than_a_complete_passed_retest_releases_nobody(site, more, said):
    site.command("isolate", site.night(FIRST, {"n2": FAULT}), "--apply")
    listed = site.list.read_text()
    code, told = site.command("release", site.night(SECOND, **{"age_seconds": -5, **more}), "--apply")
    assert 1 == code and said in told, told
    assert listed == site.list.read_text() and "refused" == lines(site)[-1]["step"]


def test_the_tier_that_failed_must_pass(site):
    site.command("isolate", site.night(FIRST, {"n2": FAULT}, tier="burnin"), "--apply")
    code, said = site.command("release", site.night(SECOND, age_seconds=-5, tier="full"), "--apply")
    assert 1 == code and "it failed tier burnin, and this run is of tier full: prove it with --tier burnin" in said
    code, _ = site.command("release", site.night(THIRD, age_seconds=-5, tier="acceptance"), "--apply")
    assert (0, "") == (code, site.list.read_text())


def test_a_retest_of_other_nodes_says_so_and_releases_nobody(site):
    site.command("isolate", site.night(FIRST, {"n2": FAULT}), "--apply")
    code, said = site.command("release", site.night(SECOND, age_seconds=-5, nodes="n[1,3]"), "--apply")
    assert 0 == code and "n2: this run did not check it [unproven]" in said and "n2 fleetcheck" in site.list.read_text()


def test_a_reason_that_was_changed_since_is_not_ours_any_more(site):
    site.command("isolate", site.night(FIRST, {"n2": FAULT}), "--apply")
    site.list.write_text(site.list.read_text().replace("lost", "lost; vendor comes on Friday, keep"))
    code, said = site.command("release", site.night(SECOND, age_seconds=-5), "--apply")
    assert 1 == code and "its reason was changed since we gave it" in said and "vendor comes" in site.list.read_text()


def test_a_node_that_somebody_else_lists_too_stays(site):
    site.command("isolate", site.night(FIRST, {"n2": FAULT}), "--apply")
    with site.list.open("a") as file:
        file.write("n[1-2] power work in the rack\n")
    kept = site.list.read_text()
    code, said = site.command("release", site.night(SECOND, age_seconds=-5), "--apply")
    assert 0 == code and "n2: not ours: listed, 'power work in the rack'" in said and kept == site.list.read_text()


def test_more_than_two_or_one_percent_isolate_nobody_and_say_so(site):
    code, said = site.command("isolate", site.night(FIRST, dict.fromkeys(("n1", "n2", "n3"), FAULT), count=5), "--apply")
    assert 1 == code and "3 of 5 nodes would be taken out at once, more than 2" in said
    assert not site.list.exists() and ["number"] * 3 == [each["guard"] for each in lines(site)]


def test_two_more_than_those_already_out_are_believed(site):
    site.command("isolate", site.night(FIRST, dict.fromkeys(("n1", "n2"), FAULT), count=5), "--apply")
    code, said = site.command("isolate", site.night(SECOND, dict.fromkeys(("n1", "n2", "n3"), FAULT), count=5), "--apply")
    assert 0 == code and 3 == len(site.list.read_text().splitlines()), said


def test_a_partial_run_isolates_nobody(site):
    code, said = site.command("isolate", site.night(FIRST, {"n2": FAULT}, complete=False), "--apply")
    assert 1 == code and "n2: the run is partial: 1 of 8 planned items have no outcome [partial]" in said and not site.list.exists()


@pytest.mark.parametrize(("more", "said"), [
    ({"age_seconds": 13 * 3600}, "its evidence is 13 h old, more than 12 h (max_age)"),
    ({"age_seconds": -3600}, "which is yet to come: set the clock right"),
    ({"silent": ["n2"]}, "its evidence is not there any more"),
])
def test_old_evidence_isolates_nobody(site, more, said):
    code, told = site.command("isolate", site.night(FIRST, {"n2": FAULT}, **more), "--apply")
    assert 1 == code and said in told and not site.list.exists(), told


def test_how_old_evidence_may_be_is_the_sites_to_say(site):
    text = inventory_text(4, "isolation: {max_age: 2d}\n")
    assert 0 == site.command("isolate", site.night(FIRST, {"n2": FAULT}, age_seconds=13 * 3600, text=text), "--apply")[0]


def test_a_replay_is_as_old_as_its_evidence(site):
    old = site.night(FIRST, {"n2": FAULT}, age_seconds=13 * 3600)
    replay = site.night(SECOND, {"n2": FAULT}, replay_of=FIRST)
    replay.evidence.write_bytes(old.evidence.read_bytes())
    code, said = site.command("isolate", replay, "--apply")
    assert 1 == code and "13 h old" in said


def test_a_node_that_passed_since_is_not_isolated_for_the_night_before(site):
    run = site.night(FIRST, {"n2": FAULT}, age_seconds=600)
    site.night(SECOND, age_seconds=10)
    code, said = site.command("isolate", run, "--apply")
    assert 1 == code and f"it was certified since, in run {SECOND} [passed-since]" in said and not site.list.exists()


def test_a_later_run_of_a_lower_tier_does_not_stand_against_it(site):
    run = site.night(FIRST, {"n2": FAULT}, age_seconds=600, tier="full")
    site.night(SECOND, age_seconds=10, tier="quick")
    assert 0 == site.command("isolate", run, "--apply")[0]


def test_nothing_is_done_from_a_prolog(site, monkeypatch):
    run = site.night(FIRST, {"n2": FAULT})
    monkeypatch.setenv("SLURM_SCRIPT_CONTEXT", "prolog_slurmd")
    for word in ("isolate", "release"):
        code, said = site.command(word, run, "--apply")
        assert 4 == code and "inside Slurm's 'prolog_slurmd'" in said and not site.list.exists()


def test_one_acts_at_a_time(site):
    run = site.night(FIRST, {"n2": FAULT})
    with site.audit.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        code, said = site.command("isolate", run, "--apply")
        assert 4 == code and "another fleetcheck isolate or release is at work" in said and not site.list.exists()


def test_the_log_is_only_added_to_also_after_half_a_line(site):
    site.audit.parent.mkdir()
    site.audit.write_text('{"at": "2026-11-30T0')
    site.command("isolate", site.night(FIRST, {"n2": FAULT}), "--apply")
    told = site.audit.read_text().splitlines()
    assert '{"at": "2026-11-30T0' == told[0] and ["intended", "confirmed"] == [json.loads(line)["step"] for line in told[1:]]


@pytest.mark.parametrize("listed", ["n[1-", "\udcff", "n9;reboot x"])
def test_a_list_that_cannot_be_read_is_one_sentence_and_nothing_is_done(site, listed):
    run = site.night(FIRST, {"n2": FAULT})
    site.list.write_bytes(listed.encode(errors="surrogateescape"))
    before = site.list.read_bytes()
    code, said = site.command("isolate", run, "--apply")
    assert 3 == code and f"backend file: {site.list}:" in said and "nothing was changed" in said and before == site.list.read_bytes()


def test_an_unknown_backend_is_a_mistake_of_usage(site):
    code, said = site.command("isolate", site.night(FIRST), backend="slurmm")
    assert 4 == code and "no backend 'slurmm'; expected one of: " in said


def test_hostile_words_of_a_node_reach_no_terminal_and_no_list(site):
    run = site.night(FIRST, {"n2": ("failed", "fatal", "reboot", 'x\nn4 fleetcheck[x]\x1b[2J "quoted" \u202e')})
    code, said = site.command("isolate", run, "--apply")
    assert 0 == code and 1 == len(site.list.read_text().splitlines()) and "\x1b" not in said + site.list.read_text()


@pytest.mark.parametrize(("words", "said"), [
    ("{budgets: {rack: many}}", "made.yaml:7: isolation.budgets.rack: 'many' is no budget; expected a number of nodes such as 2, or a part such as 10%"),
    ("{budgets: {leaf: 2}}", "made.yaml:7: no node has a label 'leaf'; expected one of: fleet, partition, rack"),
    ("{max_age: soon}", "made.yaml:7: isolation.max_age: 'soon' is no duration"),
    ("{backend: slurm}", "made.yaml:7: unknown key 'backend' under isolation; expected one of: max_age, budgets"),
    ("{webhook: {url: ftp://x, secret_env: X}}", "made.yaml:7: isolation.webhook.url: 'ftp://x' is no address; expected one such as https://"),
    ("{webhook: {url: https://x}}", "a webhook is signed; expected one of secret_file: and secret_env:"),
    ("{kubernetes: {node: rack}}", "made.yaml:7: isolation.kubernetes.node: 'rack' is no name; expected one with {name} in it"),
])
def test_bad_settings_are_refused_with_their_line(site, words, said):
    with pytest.raises(Exception) as refused:
        site.night(FIRST, text=inventory_text(3, f"isolation: {words}\n"))
    assert said in str(refused.value)
