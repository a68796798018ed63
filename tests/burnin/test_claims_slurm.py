"""Claims against a real Slurm on this machine; the nodes under them answer from recordings."""

import signal
import tempfile
import threading
import time
from dataclasses import replace

import pytest
from fakeloads import FAST, Fleet, controlled, evidence, inventory_of
from realslurm import RealSlurm, missing

from fleetcheck.collective.campaign.hold import Hold
from fleetcheck.collective.campaign.record import Begun, campaign_line, recorded
from fleetcheck.inventory import load
from fleetcheck.journal import Journal

PATIENCE = replace(FAST, stagger=0.1, claim=1800, claim_look=6, held=0)
PACE = 60.0
NODES = ("n1", "n2", "n3")

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def site():
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, RealSlurm(folder, NODES) as running:
        yield running


@pytest.fixture
def slurm(site, monkeypatch):
    """Its programs are those that claims find; afterwards every job and reservation is gone, every node idle."""
    for name, value in site.environment.items():
        monkeypatch.setenv(name, value)
    for name in ("SBATCH_ACCOUNT", "SBATCH_PARTITION"):
        monkeypatch.delenv(name, raising=False)
    yield site
    for line in jobs(site):
        site.call("scancel", line.split()[0])
    for name in reservations(site):
        site.call("scontrol", "delete", f"ReservationName={name}")
    until(lambda: states(site) == ["idle"] * len(NODES))


def states(slurm):
    return slurm.call("sinfo", "--noheader", "-N", "--format=%T").split()


def jobs(slurm):
    """Those that wait or run: ``ID NAME STATE``."""
    return slurm.call("squeue", "--noheader", "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED", "--format=%i %j %T").splitlines()


def reservations(slurm):
    lines = slurm.call("scontrol", "show", "reservation", "--oneliner").splitlines()
    return [line.split()[0].partition("=")[2] for line in lines if line.startswith("ReservationName=")]


def until(ready):
    """Wait for what Slurm or another thread does; the suite's timeout ends what never happens."""
    while not ready():
        time.sleep(0.05)


def run(folder, fleet, claim, nodes="n1", duration=90, patience=PATIENCE):
    """The controller over these nodes, claimed like this; its clock runs fast, Slurm's does not."""
    inventory_of(folder, nodes)
    (folder / "x.yaml").write_text((folder / "x.yaml").read_text().replace("claim: none", f"claim: {claim}"))
    return controlled(folder, fleet, load(folder / "x.yaml"), duration=duration, run="r1", every=20, pace=PACE, patience=patience)


def test_an_exclusive_job_holds_each_node_and_is_given_back(tmp_path, slurm):
    fleet = Fleet()
    with run(tmp_path, fleet, "slurm-job", "n[1-3]", duration=240) as (loads, futures):
        for name in loads.under:
            loads.ready(name, None)
        until(lambda: len(fleet.loads) == 3)
        assert ["fleetcheck-r1 RUNNING"] * 3 == [line.split(" ", 1)[1] for line in jobs(slurm)]
        assert ["allocated"] * 3 == states(slurm)
        assert [None] * 3 == [evidence(tmp_path, future).failure for future in futures.values()]
    assert [] == jobs(slurm) and {"n1": 1, "n2": 1, "n3": 1} == fleet.count("load_end")


def test_a_reservation_holds_the_node_and_is_given_back(tmp_path, slurm):
    fleet = Fleet()
    with run(tmp_path, fleet, "slurm-reservation") as (loads, futures):
        loads.ready("n1", None)
        until(lambda: fleet.loads)
        assert ["fleetcheck_r1_n1"] == reservations(slurm)
        assert evidence(tmp_path, futures["n1"]).failure is None
    assert [] == reservations(slurm)


def test_a_node_with_a_job_is_deferred_and_the_job_runs_on(tmp_path, slurm):
    job = slurm.call("sbatch", "--parsable", "--nodelist=n1", "--output=/dev/null", "--job-name=train", "--chdir=/", "--wrap=sleep 600").strip()
    until(lambda: jobs(slurm) == [f"{job} train RUNNING"])
    for claim in ("slurm-job", "slurm-reservation"):
        folder, fleet = tmp_path / claim, Fleet()
        folder.mkdir()
        with run(folder, fleet, claim) as (loads, futures):
            loads.ready("n1", None)
            failure = evidence(folder, futures["n1"]).failure
        assert ("deferred", f"n1: deferred: job {job}") == (failure.kind, failure.message) and {} == fleet.count("load_start")
    assert [f"{job} train RUNNING"] == jobs(slurm) and [] == reservations(slurm)


def test_a_job_that_somebody_cancels_ends_the_load(tmp_path, slurm):
    fleet = Fleet()
    with run(tmp_path, fleet, "slurm-job", duration=6000) as (loads, futures):
        loads.ready("n1", None)
        until(lambda: fleet.loads)
        slurm.call("scancel", jobs(slurm)[0].split()[0])
        failure = evidence(tmp_path, futures["n1"]).failure
    assert "claim-lost" == failure.kind and "CANCELLED" in failure.message.replace("COMPLETING", "CANCELLED")
    assert {} == fleet.loads and {"n1": 1} == fleet.count("load_end")


def test_a_reservation_that_somebody_deletes_ends_the_load(tmp_path, slurm):
    fleet = Fleet()
    with run(tmp_path, fleet, "slurm-reservation", duration=6000) as (loads, futures):
        loads.ready("n1", None)
        until(lambda: fleet.loads)
        slurm.call("scontrol", "delete", "ReservationName=fleetcheck_r1_n1")
        failure = evidence(tmp_path, futures["n1"]).failure
    assert "claim-lost" == failure.kind and "its reservation fleetcheck_r1_n1 is gone" in failure.message and {} == fleet.loads


def test_a_job_that_slurm_keeps_waiting_is_taken_back(tmp_path, slurm):
    slurm.call("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=new fans")
    fleet = Fleet()
    try:
        with run(tmp_path, fleet, "slurm-job", patience=replace(PATIENCE, claim=20)) as (loads, futures):
            loads.ready("n1", None)
            failure = evidence(tmp_path, futures["n1"]).failure
    finally:
        slurm.call("scontrol", "update", "NodeName=n1", "State=RESUME")
    assert "deferred" == failure.kind and "Slurm job waits for it (PENDING" in failure.message
    assert [] == jobs(slurm) and {} == fleet.count("load_start")


def test_a_node_that_slurm_does_not_know_is_our_trouble(tmp_path, slurm):
    with run(tmp_path, Fleet(), "slurm-job", "n9") as (loads, futures):
        loads.ready("n9", None)
        failure = evidence(tmp_path, futures["n9"]).failure
    assert "controller" == failure.kind and "is n9 its name in Slurm?" in failure.message


def test_a_run_that_is_ended_gives_everything_back(tmp_path, slurm):
    fleet = Fleet()
    with run(tmp_path, fleet, "slurm-job", duration=6000) as (loads, _):
        loads.ready("n1", None)
        until(lambda: fleet.loads)
    assert {} == fleet.loads and [] == jobs(slurm)


def claimed(folder, claim):
    """The first two nodes, claimed like this."""
    inventory_of(folder, "n[1-2]")
    (folder / "x.yaml").write_text((folder / "x.yaml").read_text().replace("claim: none", f"claim: {claim}"))
    return load(folder / "x.yaml").nodes


def noted(folder, held):
    """Claims as a campaign writes them down, read back as the resumed run reads them."""
    journal = Journal(folder / "evidence.jsonl")
    journal.append(campaign_line("r1", Begun("quick", {}, {}, held), ""))
    journal.close()
    return recorded(folder / "evidence.jsonl").begun.claims


def test_a_campaign_holds_its_nodes_by_jobs_and_a_run_that_was_killed_is_given_back_by_the_next(tmp_path, slurm):
    hold = Hold("r1")
    assert {} == hold.take(claimed(tmp_path, "slurm-job"), 600) == hold.lost()
    assert ["fleetcheck-r1 RUNNING"] * 2 == [line.split(" ", 1)[1] for line in jobs(slurm)]
    assert ["allocated", "allocated", "idle"] == states(slurm)
    left = noted(tmp_path, hold.held)
    assert [] == Hold("r1", left).release() and [] == jobs(slurm)


def test_a_campaign_holds_its_nodes_by_reservations_and_gives_them_back(tmp_path, slurm):
    hold = Hold("r1")
    assert {} == hold.take(claimed(tmp_path, "slurm-reservation"), 600)
    assert ["fleetcheck_r1_n1", "fleetcheck_r1_n2"] == sorted(reservations(slurm))
    assert [] == hold.release() and [] == reservations(slurm) and {} == hold.held


def test_a_campaign_that_is_interrupted_while_slurm_keeps_a_node_waiting_gives_both_back(tmp_path, slurm):
    slurm.call("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=new fans")
    hold, main = Hold("r1"), threading.main_thread().ident

    def ctrl_c():
        until(lambda: sorted(line.split()[2] for line in jobs(slurm)) == ["PENDING", "RUNNING"])
        signal.pthread_kill(main, signal.SIGINT)

    pressed, before = threading.Thread(target=ctrl_c), signal.signal(signal.SIGINT, signal.default_int_handler)  # xdist's workers ignore it
    pressed.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            hold.take(claimed(tmp_path, "slurm-job"), 600)
        assert [] == hold.release() and [] == jobs(slurm)
    finally:
        pressed.join()
        signal.signal(signal.SIGINT, before)
        slurm.call("scontrol", "update", "NodeName=n2", "State=RESUME")
