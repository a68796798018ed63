"""A third of the corpus, a third of its look-alikes and fifty healthy nodes in one run over SSH: each is judged as it should be.

The third changes by the day, so that three days run all; ``FLEETCHECK_SEED=1|2|3`` chooses one. ``make detection`` runs all at once.
"""

from __future__ import annotations

import datetime
import fcntl
import os
import pickle
import re
from collections import Counter

import corpus
import detection
import faultrun
import noise
import pytest
from fleetrun import ROOT

SHARE = 3
SEED = int(os.environ.get("FLEETCHECK_SEED", datetime.date.today().toordinal() % SHARE + 1))
HEALTHY = 50
FAULTS = corpus.faults()
CHOSEN = list(corpus.chosen(FAULTS, SEED, SHARE))
FAULTY = [each for each in CHOSEN if not each.fault.silent]
SILENT = [each for each in CHOSEN if each.fault.silent]


@pytest.fixture(scope="session")
def told(tmp_path_factory):
    """{injection's name: what the run told of its node}; one run for all xdist workers."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "faults"
    folder.mkdir(exist_ok=True)
    kept = folder / "told"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            found = faultrun.run([*CHOSEN, *noise.healthy(HEALTHY, SEED)], folder, SEED)
            kept.write_bytes(pickle.dumps({each.injection.name: each for each in found}))
    return pickle.loads(kept.read_bytes())


@pytest.mark.parametrize("name", [each.name for each in FAULTY])
def test_a_fault_is_found_named_and_judged(told, name):
    node = told[name]
    assert ([], [], []) == (node.missed, node.misjudged, node.false_alarms), f"FLEETCHECK_SEED={SEED}, {node.injection.profile}"


@pytest.mark.parametrize("name", [each.name for each in SILENT])
def test_a_look_alike_degrades_nothing(told, name):
    node = told[name]
    assert ([], []) == (node.misjudged, node.false_alarms), f"FLEETCHECK_SEED={SEED}, {node.injection.profile}"


def test_healthy_nodes_raise_nothing(told):
    healthy = [each for each in told.values() if each.injection.fault.component == "noise"]
    assert HEALTHY == len(healthy)
    assert [] == [(each.injection.name, each.misjudged, each.false_alarms) for each in healthy if each.misjudged or each.false_alarms]


def test_every_check_has_a_fault():
    assert [] == detection.checks_without_fault(FAULTS)


def test_no_fault_waits_for_its_check():
    assert [] == [each.id for each in FAULTS if each.pending]


def test_every_name_is_given_once():
    assert [] == [name for name, count in Counter(each.id for each in FAULTS).items() if count > 1]


def test_three_seeds_inject_every_fault():
    injected = {each.fault.id for seed in range(1, SHARE + 1) for each in corpus.chosen(FAULTS, seed, SHARE)}
    assert {each.id for each in FAULTS} == injected


def test_injections_repeat_with_their_seed_and_differ_between_each_other():
    fault = next(each for each in FAULTS if each.id == "xid-fallen-off-the-bus")
    first, second = corpus.injections(fault, 7)[:2]
    assert first == corpus.injections(fault, 7)[0]
    assert first.overrides != second.overrides


def test_a_word_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"\$gup: no such word; there are .*gpu"):
        corpus.filled({"files": ["GPU $gup is lost"]}, {"gpu": 3})


def test_an_entry_with_an_unknown_key_is_refused(tmp_path):
    (tmp_path / "odd.yaml").write_text("- {id: x, component: gpu, serverity: fatal}\n")
    with pytest.raises(ValueError, match=r"odd.yaml: x: unknown serverity"):
        corpus.faults(tmp_path)


def test_the_page_begins_with_its_three_figures():
    fault = corpus.Fault("x", "gpu", fails=["test_a"], severity="fatal", action="reboot")
    result = {"message": "GPU 3: lost", "parts": [], "severity": "fatal", "action": "reboot"}
    found = faultrun.Told(corpus.Injection(fault, 0, "h100-sxm5-8", {}), "n0", {"test_a": result}, {}, {"verdict": "failed", "action": "reboot"})
    missed = faultrun.Told(corpus.Injection(fault, 1, "h100-sxm5-8", {}), "n1", {"test_b": result}, {}, {"verdict": "failed", "action": "reboot"})
    page = detection.report([found, missed, found], [fault], 1).split("\n")
    assert ["recall: 66.6 %", "right action: 66.6 %", "false alarms: 1"] == page[:3]
    assert "- x-1 (h100-sxm5-8): test_a: passed" in page


def test_the_published_figures_are_of_this_corpus():
    page = (ROOT / "docs" / "detection.md").read_text()
    assert re.match(r"recall: \d+\.\d %\nright action: \d+\.\d %\nfalse alarms: \d+\n", page)
    kinds = sum(not each.silent for each in FAULTS), sum(each.silent for each in FAULTS)
    assert kinds == tuple(map(int, re.search(r": (\d+) faults in \d+ injections, (\d+) look-alikes", page).groups())), "run make detection"
