"""The backend slurm: states in every form, and what is left when something goes wrong on the way."""

import json
import os

import pytest
from fakescontrol import FakeSlurm
from nights import FAULT, inventory_text

from fleetcheck.burnin import claims
from fleetcheck.facts import scheduler
from fleetcheck.isolation.slurm import standing, standings
from fleetcheck.recording import Recording, recorded

FIRST, SECOND = "20261130-020000-aaaa", "20261130-030000-bbbb"
OURS = "fleetcheck[20261130-020000-aaaa quick 2026-11-30T03:20:00Z] lost"


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    fake = FakeSlurm(tmp_path / "slurm", ["n1", "n2", "n3", "n4"])
    monkeypatch.setenv("PATH", f"{fake.folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return fake


@pytest.mark.parametrize(("state", "reason", "held", "away", "trouble", "unsettled"), [
    ("IDLE", "", False, False, False, False),
    ("IDLE+DRAIN", "fans", True, False, False, False),
    ("MIXED+DRAIN", "fans", True, False, False, False),
    ("ALLOCATED+DRAIN", "fans", True, False, False, False),
    ("MIXED+DRAIN+REBOOT_REQUESTED", "Reboot ASAP", True, False, False, True),
    ("IDLE+DRAIN+REBOOT_ISSUED", OURS, True, False, False, True),
    ("DRAINED", "fans", True, False, False, False),
    ("draining*", "fans", True, True, False, False),
    ("IDLE+COMPLETING", "", False, False, False, False),
    ("IDLE*", "", False, True, False, False),
    ("IDLE+NOT_RESPONDING", "", False, True, False, False),
    ("DOWN*", "Not responding", False, True, False, False),
    ("DOWN", "Node unexpectedly rebooted", False, True, False, False),
    ("DOWN", "power work", True, True, False, False),
    ("DOWN", OURS, False, True, False, False),
    ("DOWN+DRAIN+NOT_RESPONDING", OURS, True, True, False, False),
    ("IDLE+FAIL", "raid", True, True, False, False),
    ("IDLE+MAINT", "", False, True, False, False),
    ("IDLE+RESERVED", "", False, False, False, False),
    ("IDLE+CLOUD+POWERED_DOWN", "", False, False, False, False),
    ("IDLE~", "", False, False, False, False),
    ("UNKNOWN*", "", False, True, True, False),
    ("FUTURE", "", False, False, True, False),
    ("IDLE+MELTING", "", False, False, True, False),
    ("", "", False, False, True, False),
])
def test_every_part_of_a_state_counts(state, reason, held, away, trouble, unsettled):
    found = standing(state, reason)
    assert (held, away, trouble, unsettled) == (found.held, found.away, bool(found.trouble), bool(found.unsettled))


RECORD = "NodeName={0} Arch=x86_64\n   OS=Linux State=DOWN\n   State={1} ThreadsPerCore=1\n   Partitions=batch,long \n{2}\n"


def test_a_record_is_read_by_its_lines():
    found = standings(RECORD.format("n1", "IDLE+DRAIN", f"   Reason={OURS} State=IDLE [ops@2026-11-30T03:20:00]\n   Comment=Reason=x\n"))["n1"]
    assert ("IDLE+DRAIN", f"{OURS} State=IDLE", "ops", ("batch", "long")) == (found.state, found.reason, found.by, found.partitions)


@pytest.mark.parametrize("said", [
    RECORD.format("n1", "IDLE+DRAIN", f"   Reason=fans [root@2026]\n   Comment=x\n   Reason={OURS}\n"),
    RECORD.format("n1", "IDLE+DRAIN", "   Comment=x\n   State=IDLE\n"),
    RECORD.format("n2", "IDLE", f"   Comment=x\n{RECORD.format('n1', 'IDLE+DRAIN', f'   Reason={OURS}')}") + RECORD.format("n1", "IDLE", ""),
    "NodeName=n1 Arch=x86_64\n",
])
def test_what_a_comment_could_have_forged_is_in_doubt(said):
    assert standings(said)["n1"].trouble and not standings(said)["n1"].mark


@pytest.mark.parametrize("said", ["", "\x00\xff", "No nodes in the system"])
def test_no_record_is_no_node(said):
    assert {} == standings(said)


def test_a_node_is_drained_by_one_call_without_a_shell(site, slurm):
    run = site.night(FIRST, {"n2": ("failed", "fatal", "reboot", "GPU 3: $(reboot) `id` \"lost\"; State=DOWN\n")})
    code, said = site.command("isolate", run, "--apply", backend="slurm")
    assert 0 == code, said
    (update,) = slurm.updates
    assert ["update", "NodeName=n2", "State=DRAIN"] == update[:3] and update[3].endswith("$(reboot) `id` 'lost'; State=DOWN")
    assert "IDLE+DRAIN" == slurm.nodes["n2"]["state"]


def test_a_dry_run_asks_and_changes_nothing(site, slurm):
    code, said = site.command("isolate", site.night(FIRST, {"n2": FAULT}), backend="slurm")
    assert 0 == code and [] == slurm.updates and "scontrol update NodeName=n2 State=DRAIN 'Reason=fleetcheck[" in said


def test_slurm_may_call_nodes_otherwise(site, slurm):
    slurm.nodes = {"n2-ib": {"state": "IDLE", "reason": ""}}
    text = inventory_text(4, "isolation: {slurm: {node: '{name}-ib'}}\n")
    assert 0 == site.command("isolate", site.night(FIRST, {"n2": FAULT}, text=text), "--apply", backend="slurm")[0]
    assert "NodeName=n2-ib" == slurm.updates[0][1]


def test_no_call_reaches_every_node(site, slurm):
    text = "fleet: made\ndefaults: {profile: h100-sxm5-8}\nnodes: {ALL: {}, n1: {}}\n"
    code, said = site.command("isolate", site.night(FIRST, {"ALL": FAULT}, text=text), "--apply", backend="slurm")
    assert 3 == code and "a node called ALL cannot be addressed" in said and [] == slurm.updates


def test_a_node_slurm_does_not_know_is_said(site, slurm):
    slurm.nodes = {"n1": {"state": "IDLE", "reason": ""}}
    code, said = site.command("isolate", site.night(FIRST, {"n2": FAULT}), "--apply", backend="slurm")
    assert 1 == code and "n2: the backend does not know this node; is this its name there? [unknown]" in said


def test_a_controller_that_is_down_leaves_everything_as_it_is(site, slurm):
    slurm.trouble(gone_from=1)
    code, said = site.command("isolate", site.night(FIRST, {"n2": FAULT}), "--apply", backend="slurm")
    assert 3 == code and "Unable to contact slurm controller" in said and "nothing was changed" in said
    assert [] == slurm.updates and "" == site.audit.read_text()


def test_a_missing_scontrol_is_one_sentence(site, monkeypatch):
    run = site.night(FIRST, {"n2": FAULT})
    monkeypatch.setenv("PATH", "/nonexistent")
    code, said = site.command("isolate", run, "--apply", backend="slurm")
    assert 3 == code and "scontrol: No such file or directory; is Slurm's scontrol on this machine" in said


def test_a_scontrol_that_hangs_is_left_at_its_deadline(site, slurm, monkeypatch):
    monkeypatch.setattr(claims, "PROGRAM_SECONDS", 0.3)
    slurm.trouble(hang=True)
    code, said = site.command("isolate", site.night(FIRST, {"n2": FAULT}), "--apply", backend="slurm")
    assert 3 == code and "scontrol did not answer within 0.3 s" in said


def test_a_controller_that_goes_away_on_the_way_leaves_whole_acts(site, slurm):
    slurm.trouble(gone_from=5)  # read all; read, drain, read n1; then nothing more
    code, said = site.command("isolate", site.night(FIRST, {"n1": FAULT, "n2": FAULT}), "--apply", backend="slurm")
    assert 1 == code and "ISOLATED: 1 node" in said and "n2: failed: scontrol show node: 'slurm_load_node error: Unable to contact" in said
    assert ["DRAIN" in slurm.nodes[name]["state"] for name in ("n1", "n2")] == [True, False]


def test_after_a_failure_nothing_more_is_tried(site, slurm):
    slurm.trouble(refuse="slurm_update error: Access/permission denied")
    code, said = site.command("isolate", site.night(FIRST, {"n1": FAULT, "n2": FAULT}), "--apply", backend="slurm")
    assert 1 == code and "n1: failed: scontrol update NodeName=n1 State=DRAIN: 'slurm_update error: Access/permission denied'; it stands at: IDLE" in said
    assert "n2: not tried: n1 failed before it" in said and 1 == len(slurm.updates)
    assert ["intended", "failed"] == [json.loads(line)["step"] for line in site.audit.read_text().splitlines()]


def test_an_answer_that_was_lost_is_no_failure(site, slurm):
    slurm.trouble(lost=True)
    code, said = site.command("isolate", site.night(FIRST, {"n1": FAULT}), "--apply", backend="slurm")
    assert 0 == code and "ISOLATED: 1 node" in said


def test_an_act_that_shows_no_effect_is_not_confirmed(site, slurm):
    slurm.trouble(ignore=True)
    code, said = site.command("isolate", site.night(FIRST, {"n1": FAULT}), "--apply", backend="slurm")
    assert 1 == code and "n1: failed: no error was told; it stands at: IDLE" in said


def test_a_drain_that_came_in_between_is_not_overwritten(site, slurm):
    slurm.trouble(between={"1": {"n1": {"state": "IDLE+DRAIN", "reason": "mine", "by": "ann"}}})
    code, said = site.command("isolate", site.night(FIRST, {"n1": FAULT}), "--apply", backend="slurm")
    assert 0 == code and "n1: left: out of service in the meantime: IDLE+DRAIN by ann, 'mine'" in said
    assert [] == slurm.updates and "mine" == slurm.nodes["n1"]["reason"]


def test_a_node_that_is_down_by_itself_is_drained_so_that_it_does_not_come_back(site, slurm):
    slurm.set("n1", "DOWN+NOT_RESPONDING", "Not responding", "slurm")
    assert 0 == site.command("isolate", site.night(FIRST, {"n1": FAULT}), "--apply", backend="slurm")[0]
    assert "DOWN+NOT_RESPONDING+DRAIN" == slurm.nodes["n1"]["state"] and slurm.nodes["n1"]["reason"].startswith("fleetcheck[")


def test_only_the_drain_is_taken_back(site, slurm):
    site.command("isolate", site.night(FIRST, {"n1": FAULT}), "--apply", backend="slurm")
    slurm.set("n3", "IDLE+DRAIN", "fleetcheck says so, ann")
    retest = site.night(SECOND, age_seconds=-5)
    slurm.set("n1", "DOWN+DRAIN", slurm.nodes["n1"]["reason"])
    code, _ = site.command("release", retest, "--apply", backend="slurm")
    assert 0 == code and ["update", "NodeName=n1", "State=UNDRAIN"] == slurm.updates[-1]
    assert "DOWN" == slurm.nodes["n1"]["state"] and "IDLE+DRAIN" == slurm.nodes["n3"]["state"]


def test_a_reboot_under_way_is_waited_for(site, slurm):
    site.command("isolate", site.night(FIRST, {"n1": FAULT}), "--apply", backend="slurm")
    slurm.set("n1", "IDLE+DRAIN+REBOOT_ISSUED", slurm.nodes["n1"]["reason"])
    code, said = site.command("release", site.night(SECOND, age_seconds=-5), "--apply", backend="slurm")
    assert 1 == code and "n1: a reboot is under way: IDLE+DRAIN+REBOOT_ISSUED" in said


@pytest.mark.parametrize(("reason", "concerned"), [
    ("Kill task failed", True), ("Prolog error", True), (OURS.replace("lost", "test_x: GPU 3 is not responding"), False),
    (OURS.replace("lost", "test_x: epilog scripts fail"), False), ("fleetcheck: not responding", True),
])
def test_the_words_of_our_own_drain_do_not_speak_against_the_node_in_a_retest(reason, concerned):
    told = {"state": "IDLE+DRAIN", "reason": f"{reason} [root@2026-11-30T03:20:00]", "gres": "(null)"}
    with recorded(Recording()):
        found = scheduler.build({"scontrol": told, "sinfo": told}, None, None)
        assert concerned == bool(found.out_of_work or found.failed_script)


def test_a_partition_of_slurms_has_its_budget(site, slurm):
    text = inventory_text(4, "isolation: {budgets: {partition: 1}}\n")
    slurm.set("n4", "DOWN+NOT_RESPONDING", "Not responding")
    code, said = site.command("isolate", site.night(FIRST, {"n1": FAULT}, text=text), "--apply", backend="slurm")
    assert 1 == code and "n1: partition batch: 1 of 4 nodes are out, and 1 may be (budget 1) [budget]" in said
