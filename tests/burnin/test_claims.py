"""A node is loaded only when it is ours: the forms of a claim over programs of Slurm's names, and what is refused."""

import json
import os
import stat
import time
from dataclasses import replace

import pytest
from fakeloads import FAST, Fleet, controlled, evidence, inventory_of

from fleetcheck.burnin import claims
from fleetcheck.burnin.preflight import trouble
from fleetcheck.burnin.terms import Asked, LoadRefused, settle
from fleetcheck.common_cause import common_checks
from fleetcheck.inventory import InventoryError, load
from fleetcheck.observed import Observed
from fleetcheck.records import Answer, Evidence, Failure, Result

PROGRAM = """#!/bin/sh
echo "$(basename $0) $*" >> "$SLURM_FOLDER/calls"
case "$(basename $0) $*" in
{cases}
esac
exit 0
"""
IDLE = {"squeue*--nodelist=*": "", "sbatch*": "echo 4711", "squeue*--jobs=*": "echo RUNNING None", "squeue*--name=*": "echo 4711 RUNNING None",
        "scontrol show reservation*": "echo ReservationName=fleetcheck_r1_n1 StartTime=x Nodes=n1 NodeCnt=1 State=ACTIVE"}


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Slurm's programs on PATH; ``slurm(cases)`` says what they answer, ``slurm.calls()`` what they were asked."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_FOLDER", str(tmp_path))

    def install(cases):
        answers = {**cases, **{pattern: IDLE[pattern] for pattern in IDLE if pattern not in cases}}  # the first that fits
        text = PROGRAM.format(cases="\n".join(f"{pattern.replace(' ', chr(92) + ' ')}) {answer} ;;" for pattern, answer in answers.items()))
        for name in ("sbatch", "squeue", "scancel", "scontrol"):
            (folder / name).write_text(text)
            (folder / name).chmod((folder / name).stat().st_mode | stat.S_IXUSR)

    install.calls = lambda: [line.split()[0] for line in (tmp_path / "calls").read_text().splitlines()]
    install.lines = lambda: (tmp_path / "calls").read_text()
    return install


def loaded(folder, claim, fleet=None, every=None):
    """The evidence of n1, claimed like this, and the fleet."""
    fleet = fleet or Fleet()
    inventory = inventory_of(folder, "n1")
    text = (folder / "x.yaml").read_text().replace("claim: none", f"claim: {claim}")
    (folder / "x.yaml").write_text(text)
    inventory = load(folder / "x.yaml")
    with controlled(folder, fleet, inventory, duration=600 if every else 60, run="r1", every=every) as (loads, futures):
        loads.ready("n1", None)
        return evidence(folder, futures["n1"]), fleet


def test_an_exclusive_job_holds_the_node_while_it_is_loaded(tmp_path, slurm):
    slurm({})
    told, _ = loaded(tmp_path, "slurm-job")
    assert told.failure is None and "slurm-job" == told.answers["load"].data["claim"]
    assert ["squeue", "scontrol", "sbatch", "squeue"] == slurm.calls()[:4] and "scancel" == slurm.calls()[-1]
    assert "--exclusive" in slurm.lines() and "--nodelist=n1" in slurm.lines() and "scancel 4711" in slurm.lines()


def test_a_reservation_holds_the_node_while_it_is_loaded(tmp_path, slurm):
    slurm({})
    told, _ = loaded(tmp_path, "slurm-reservation")
    assert told.failure is None
    assert "scontrol create reservation ReservationName=fleetcheck_r1_n1 StartTime=now" in slurm.lines() and "Nodes=n1" in slurm.lines()
    assert "scontrol delete ReservationName=fleetcheck_r1_n1" in slurm.lines()


@pytest.mark.parametrize(("reason", "held_by"), [
    ("fleetcheck[20261130-020000-aaaa burnin 2026-11-30T03:20:00Z] slow", "reservation"), ("vendor is here", "job"),
])
def test_a_node_that_fleetcheck_isolated_is_reserved_for_its_retest(tmp_path, slurm, reason, held_by):
    slurm({"scontrol show*": f"echo '   Reason={reason} [root@2026-11-30T03:20:00]'"})
    assert claims.take("slurm-job", "n1", "r1", 60).startswith(held_by)
    assert ("sbatch" in slurm.calls()) == (held_by == "job")


@pytest.mark.parametrize("claim", ["slurm-job", "slurm-reservation"])
def test_a_node_with_a_job_is_deferred_and_nothing_is_submitted(tmp_path, slurm, claim):
    slurm({"squeue*--nodelist=*": "echo 123 train"})
    told, fleet = loaded(tmp_path, claim)
    assert Failure("deferred", "n1: deferred: job 123") == told.failure
    assert {"squeue"} == set(slurm.calls()) and {} == fleet.count("load_start")


def test_a_job_that_slurm_does_not_start_is_taken_back(tmp_path, slurm):
    slurm({"squeue*--jobs=*": "echo PENDING Resources"})
    told, fleet = loaded(tmp_path, "slurm-job")
    assert ("deferred", "n1: deferred: Slurm job waits for it (PENDING Resources)") == (told.failure.kind, told.failure.message)
    assert "scancel" == slurm.calls()[-1] and {} == fleet.count("load_start")


@pytest.mark.parametrize(("claim", "cases", "said"), [
    ("slurm-job", {"sbatch*": "echo 'sbatch: error: Invalid account' >&2; exit 1"}, "sbatch: 'sbatch: error: Invalid account'"),
    ("slurm-job", {"sbatch*": "echo hello"}, "sbatch: 'hello'"),
    ("slurm-job", {"squeue*--jobs=*": "echo FAILED NodeDown"}, "Slurm job 4711 is FAILED (NodeDown) before its load began"),
    ("slurm-job", {"squeue*--nodelist=*": "echo 'Invalid node name n1' >&2; exit 1"}, "is n1 its name in Slurm?"),
    ("slurm-reservation", {"scontrol*": "echo 'Access/permission denied' >&2; exit 1"}, "claim: slurm-job needs no such right"),
])
def test_a_claim_that_fails_is_our_trouble_not_the_nodes(tmp_path, slurm, claim, cases, said):
    slurm(cases)
    told, fleet = loaded(tmp_path, claim)
    assert "controller" == told.failure.kind and said in told.failure.message, told.failure.message
    assert {} == fleet.count("load_start")


def test_a_claim_is_given_back_when_the_run_is_ended(tmp_path, slurm):
    slurm({"squeue*--jobs=*": "echo PENDING Resources"})
    inventory_of(tmp_path, "n1")
    (tmp_path / "x.yaml").write_text((tmp_path / "x.yaml").read_text().replace("claim: none", "claim: slurm-job"))
    with controlled(tmp_path, Fleet(), load(tmp_path / "x.yaml"), pace=1) as (loads, _):
        loads.ready("n1", None)
        while not loads.under["n1"].kept.claim:
            time.sleep(0.005)
    assert "scancel 4711" in slurm.lines()


def test_our_own_job_does_not_make_the_node_busy():
    assert ["9"] == claims.others("7 fleetcheck-r1\n9 fleetcheck-r2\n", "r1")


def test_a_missing_program_is_refused_before_anything_starts(tmp_path):
    inventory_of(tmp_path)
    (tmp_path / "x.yaml").write_text((tmp_path / "x.yaml").read_text().replace("claim: none", "claim: slurm-job"))
    inventory = load(tmp_path / "x.yaml")
    with pytest.raises(LoadRefused, match="claim: slurm-job of n1 needs sbatch, squeue, scancel on this machine, and sbatch is not on PATH"):
        settle(Asked("full"), inventory, {"n1": ("gemm",)}, None, which=lambda name: None)


def test_a_node_without_a_claim_is_refused_and_told_the_words(tmp_path):
    inventory_of(tmp_path)
    (tmp_path / "x.yaml").write_text((tmp_path / "x.yaml").read_text().replace(", claim: none", ""))
    with pytest.raises(LoadRefused, match="no claim is given, and a load needs one; write claim: slurm-job"):
        settle(Asked("full"), load(tmp_path / "x.yaml"), {"n1": ("gemm",)}, None)


@pytest.mark.parametrize(("words", "said"), [
    ("claim: kubernetes", "x.yaml:2: defaults.claim is 'kubernetes'; expected 'none', 'slurm-job' or 'slurm-reservation'"),
    ("claim: none, load: {device: tpu}", "x.yaml:2: defaults.load.device is 'tpu'; expected 'auto', 'cuda' or 'cpu'"),
    ("claim: none, load: {loads: [gemm, burn]}", "x.yaml:2: defaults.load.loads.1 is 'burn'; expected 'gemm', 'hbm'"),
    ("claim: none, load: {devices: 0}", "x.yaml:2: defaults.load.devices is '0'; expected a value greater than or equal to 1"),
    ("claim: none, load: {dev: cpu}", "x.yaml:2: unknown key 'dev' under defaults.load; expected one of: device, devices, loads, prefix, settings, acceptance_hours"),
])
def test_any_other_claim_or_load_is_refused_with_its_line(tmp_path, words, said):
    (tmp_path / "x.yaml").write_text(f"fleet: f\ndefaults: {{profile: cpu-host, {words}}}\nnodes: {{n1: }}\n")
    with pytest.raises(InventoryError) as refused:
        load(tmp_path / "x.yaml")
    assert said in str(refused.value)


def system(**data):
    return Evidence("r", "facts", "facts-fast", "n1", "", 1.0, answers={"system": Answer(True, data=data)})


@pytest.mark.parametrize(("facts", "said"), [
    ([system(busy=[])], None),
    ([system(busy=["slurm 123", "slurm 124"])], "n1: deferred: job 123, 124"),
    ([system(busy={"absent": "permission denied: /proc"})], "n1: deferred: whether a job runs there is unknown: permission denied: /proc"),
    ([system()], "n1: deferred: whether a job runs there is unknown: it says None"),
    ([], "n1: deferred: whether a job runs there is unknown: nobody asked"),
    ([system(busy=[]), Evidence("r", "facts", "facts-slow", "n1", "", 1.0, failure=Failure("deadline", "n1: too slow"))], "n1: too slow (so it was not loaded)"),
    ([system(busy=["slurm \x1b[2J"])], "n1: deferred: job \\x1b[2J"),
])
def test_only_a_node_known_to_be_idle_is_loaded(facts, said):
    found = trouble("n1", facts)
    assert said == (found.message if found else None)


def unmeasured(name, failure):
    """A node whose load check could not be measured, among checks that were."""
    words = {"run": "r", "stage": "load", "component": "gpu", "node": name, "severity": "fatal", "action": "reboot"}
    return Observed(name, "in-service", failure=failure, results=(
        Result(**words, check="test_load", outcome="error", message=failure.message), Result(**words, check="test_fact", outcome="passed")))


@pytest.mark.parametrize(("kind", "common"), [("deferred", []), ("unclaimed", []), ("claim-lost", []), ("garbled", ["test_load"])])
def test_many_busy_nodes_are_no_finding_about_the_fleet(kind, common):
    nodes = {name: unmeasured(name, Failure(kind, f"{name}: put off: job 1")) for name in ("n1", "n2", "n3", "n4", "n5")}
    assert common == [each.check for each in common_checks(nodes)]


def test_a_claim_is_remembered_for_a_later_session(tmp_path, slurm):
    slurm({})
    loaded(tmp_path, "slurm-job")
    claimed = [json.loads(line) for line in (tmp_path / "loads.jsonl").read_text().splitlines() if '"claimed"' in line]
    assert ["job 4711"] == [line["about"]["ref"] for line in claimed]


LOST = [
    ("slurm-job", {"squeue*--name=*": "echo 4711 PREEMPTED None"}, "n1: Slurm job 4711 is PREEMPTED, so its load was ended and nothing of it is judged"),
    ("slurm-job", {"squeue*--name=*": "echo 4711 CANCELLED admin"}, "Slurm job 4711 is CANCELLED (admin)"),
    ("slurm-job", {"squeue*--name=*": "echo 4711 SUSPENDED None"}, "Slurm job 4711 is SUSPENDED"),
    ("slurm-job", {"squeue*--name=*": "echo 99 RUNNING None"}, "Slurm knows its job 4711 no more: it was cancelled"),
    ("slurm-reservation", {"scontrol show*": "echo No reservations in the system"}, "its reservation fleetcheck_r1_n1 is gone"),
    ("slurm-reservation", {"scontrol show*": "echo ReservationName=fleetcheck_r1_n1 StartTime=x Nodes=n7 NodeCnt=1"}, "its reservation fleetcheck_r1_n1 is of n7 now"),
]


@pytest.mark.parametrize(("claim", "cases", "said"), LOST)
def test_a_claim_that_is_lost_ends_the_load_at_once_and_blames_nobody(tmp_path, slurm, claim, cases, said):
    slurm(cases)
    told, fleet = loaded(tmp_path, claim, every=100)
    assert "claim-lost" == told.failure.kind and said in told.failure.message and {} == told.answers
    assert {"n1": 1} == fleet.count("load_end") and {} == fleet.loads
    begun, ended = (next(moment for moment, _, what, _ in fleet.asked if what == asked) for asked in ("load_start", "load_end"))
    assert ended - begun < 400, "at the first poll, not at the end of its 600 s"
    assert [] == common_checks({name: unmeasured(name, told.failure) for name in ("n1", "n2", "n3", "n4", "n5")})


@pytest.mark.parametrize("cases", [
    {"squeue*--name=*": "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"},
    {"squeue*--name=*": "echo 4711 CONFIGURING None; echo 4712 CANCELLED None"},
])
def test_slurm_that_does_not_answer_or_speaks_of_others_takes_no_claim_away(tmp_path, slurm, cases):
    slurm(cases)
    told, _ = loaded(tmp_path, "slurm-job", every=100)
    assert told.failure is None and "ended" == told.answers["load"].data["state"]


def test_one_question_to_slurm_is_for_all_nodes_of_a_run(tmp_path, slurm):
    slurm({"sbatch*n1*": "echo 1", "sbatch*n2*": "echo 2", "sbatch*n3*": "echo 3", "squeue*--name=*": "for n in 1 2 3; do echo $n RUNNING None; done"})
    inventory_of(tmp_path)
    (tmp_path / "x.yaml").write_text((tmp_path / "x.yaml").read_text().replace("claim: none", "claim: slurm-job"))
    fleet = Fleet()
    with controlled(tmp_path, fleet, load(tmp_path / "x.yaml"), run="r1", every=20, patience=replace(FAST, held=1e6)) as (loads, futures):
        for name in loads.under:
            loads.ready(name, None)
        assert [None] * 3 == [evidence(tmp_path, future).failure for future in futures.values()]
    assert 1 == slurm.lines().count("--name=fleetcheck-r1 --states=all") and fleet.count("load_poll")["n1"] > 2


def test_a_load_that_cannot_be_ended_at_once_is_ended_later(tmp_path, slurm):
    slurm({"squeue*--name=*": "echo 4711 PREEMPTED None"})
    fleet = Fleet()
    original, refused = fleet._load_end, []

    def busy(name, asked):
        if not refused:
            refused.append(name)
            return Failure("disconnected", "n1: gone")
        return original(name, asked)

    fleet._load_end = busy
    inventory_of(tmp_path, "n1")
    (tmp_path / "x.yaml").write_text((tmp_path / "x.yaml").read_text().replace("claim: none", "claim: slurm-job"))
    with controlled(tmp_path, fleet, load(tmp_path / "x.yaml"), run="r1", every=100) as (loads, futures):
        loads.ready("n1", None)
        assert "claim-lost" == evidence(tmp_path, futures["n1"]).failure.kind
        while fleet.loads:
            time.sleep(0.005)
    assert 2 == fleet.count("load_end")["n1"]


def test_a_load_that_ended_before_its_claim_did_is_fetched_whole(tmp_path, slurm):
    """A later session finds the job over long ago, and the samples still on the node."""
    slurm({"squeue*--name=*": "echo 4711 COMPLETED None"})
    told, _ = loaded(tmp_path, "slurm-job", every=10_000)
    assert told.failure is None and "ended" == told.answers["load"].data["state"]
