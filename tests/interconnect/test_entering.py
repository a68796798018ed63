"""Who enters a campaign: terms settled before anything starts, findings of its own, claims; and an inventory that gives no claim."""

import datetime
from concurrent.futures import Future

import pytest
from smallsite import Site

from fleetcheck import inventory
from fleetcheck.burnin.begin import facts_of
from fleetcheck.burnin.claims import Said
from fleetcheck.burnin.terms import LoadRefused
from fleetcheck.collective.campaign.hold import Hold
from fleetcheck.collective.campaign.pairs import pair_groups
from fleetcheck.collective.campaign.preflight import accelerated, busy, unwell
from fleetcheck.collective.campaign.terms import settle
from fleetcheck.records import Answer, Evidence, Failure, Result

FLEET = """fleet: f
defaults: {{profile: cpu-host{claim}}}
nodes: {{'n[1-6]': , g1: {{profile: h100-sxm5-8}}}}
"""
CHECKS = """
    import pytest

    @pytest.mark.check(component="interconnect", severity="fatal", action="isolate")
    def test_others_are_well_with_it(node, interconnect, taking_part):
        assert interconnect.node(node)

    @pytest.mark.check(component="interconnect", severity="fatal", action="isolate", per="pair")
    def test_pair_is_well(group, interconnect, taking_part_by_node):
        assert interconnect.pair(group)
"""


def fleet(tmp_path, claim=", claim: none"):
    path = tmp_path / "f.yaml"
    path.write_text(FLEET.format(claim=claim))
    return inventory.load(path)


def names(of):
    return {node.name for node in of.nodes}


def result(node, severity="degraded", check="test_x", outcome="failed"):
    return Result("r", "facts", check, "gpu", node, outcome, severity, "isolate", f"{node}: broken", nodeid=f"{check}[{node}]")


def test_nodes_of_one_profile_are_tried_and_the_only_one_of_another_is_alone(tmp_path):
    of = fleet(tmp_path)
    settled = settle(of, names(of), "quick")
    assert {"cpu-host": ("n1", "n2", "n3", "n4", "n5", "n6")} == settled.kinds and ("g1",) == settled.alone


def test_without_any_claim_it_is_refused_as_loads_are(tmp_path):
    of = fleet(tmp_path, "")
    with pytest.raises(LoadRefused, match=r"f.yaml: g1,n\[1-6\]: no claim is given, and trials of several nodes need one; write claim"):
        settle(of, names(of), "quick")
    assert {} == settle(of, {"n1"}, "quick").kinds, "one node needs no claim for what does not apply to it"


def test_a_claim_whose_programs_are_missing_is_refused(tmp_path):
    of = fleet(tmp_path, ", claim: slurm-job")
    with pytest.raises(LoadRefused, match="sbatch is not on PATH"):
        settle(of, names(of), "quick", which=lambda program: None)


def test_no_round_begins_shortly_before_the_end(tmp_path):
    until = datetime.datetime(2026, 11, 30, 6, 0, tzinfo=datetime.UTC)
    of = fleet(tmp_path)
    settled = settle(of, names(of), "quick", until)
    assert "" == settled.over(until - datetime.timedelta(minutes=5))
    assert "no time left before 06:00" == settled.over(until - datetime.timedelta(minutes=1))


def test_a_node_with_a_finding_stays_out_and_says_which(tmp_path):
    of = fleet(tmp_path)
    out = unwell(of.nodes, [], [result("n1"), result("n2", "warn"), result("n3", outcome="error"), result("n4", "fatal", "test_y")], {})
    assert {"n1": Failure("excluded", "n1: not tried with others: test_x failed: broken"), "n4": out.get("n4")} == out
    assert "test_y" in out["n4"].message


def test_what_most_nodes_show_keeps_nobody_out(tmp_path):
    of = fleet(tmp_path)
    out = unwell(of.nodes, [], [*(result(f"n{at}") for at in range(1, 7)), result("n2", check="test_y")], {})
    assert ["n2"] == list(out) and "test_y" in out["n2"].message


@pytest.mark.parametrize(("jobs", "words"), [
    ([], None), (["slurm 123"], "n1: deferred: job 123"), ({"absent": "no squeue"}, "whether a job runs there is unknown: no squeue")])
def test_a_busy_node_is_left_alone(jobs, words):
    told = Evidence("r", "pairs", "rank_ready", "n1", "", 1.0, answers={
        "system": Answer(True, data={"busy": jobs}), "rank_ready": Answer(True, data={"accelerators": ["H100"]})})
    why = busy("n1", told)
    assert (why is None) if words is None else words in why.message
    assert accelerated(told)


def test_a_load_waits_for_facts_and_not_for_trials_that_come_after_it():
    asked = {("n1", probe): Future() for probe in ("facts-fast", "facts-slow", "load", "pairs")}
    assert [("n1", "facts-fast"), ("n1", "facts-slow")] == list(facts_of(asked))


class Slurm:
    """sbatch and its like: jobs of others by node; what was asked."""

    def __init__(self, taken=()):
        self.taken, self.asked = set(taken), []

    def __call__(self, argv):
        self.asked.append(list(argv))
        if argv[0] == "sbatch":
            return Said(0, f"{100 + len(self.asked)}\n", "")
        if argv[0] == "squeue" and argv[2].startswith("--nodelist"):
            return Said(0, "7 train\n" if argv[2].partition("=")[2] in self.taken else "", "")
        return Said(0, "RUNNING None\n" if argv[0] == "squeue" else "", "")


def test_all_nodes_are_claimed_and_given_back(tmp_path):
    slurm = Slurm(taken=["n2"])
    hold = Hold("r1", ask=slurm)
    refused = hold.take(fleet(tmp_path, ", claim: slurm-job").nodes[:3], 600)
    assert {"n2": Failure("deferred", "n2: deferred: job 7")} == refused and {"n1", "n3"} == set(hold.held)
    assert [] == hold.release() and {} == hold.held
    assert 2 == sum(argv[0] == "scancel" for argv in slurm.asked)


def test_a_claim_that_is_not_granted_in_time_is_given_back(tmp_path):
    slurm, clock = Slurm(), iter(range(0, 10_000, 60))
    hold = Hold("r1", ask=lambda argv: Said(0, "PENDING Resources\n", "") if "--states=all" in argv else slurm(argv),
                sleep=lambda seconds: None, clock=lambda: next(clock))
    refused = hold.take(fleet(tmp_path, ", claim: slurm-job").nodes[:1], 600)
    assert "n1: deferred: Slurm job waits for it (PENDING Resources)" == refused["n1"].message and {} == hold.held


def test_a_claim_that_was_lost_meanwhile_is_noticed(tmp_path):
    slurm, now = Slurm(), [0.0]
    told = iter(["{0} RUNNING None\n{1} RUNNING None\n", "{0} RUNNING None\n{1} PREEMPTED None\n"])

    def ask(argv):
        jobs = [held.partition(" ")[2] for held in hold.held.values()]
        return Said(0, next(told).format(*jobs), "") if "--name=fleetcheck-r1" in argv else slurm(argv)

    hold = Hold("r1", ask=ask, clock=lambda: now[0])
    hold.take(fleet(tmp_path, ", claim: slurm-job").nodes[:2], 600)
    names = list(hold.held)
    assert {} == hold.lost()
    now[0] = 60.0
    assert [names[1]] == list(lost := hold.lost()) and "is PREEMPTED" in lost[names[1]]


def test_pairs_are_those_of_the_planned_rounds(tmp_path):
    of = fleet(tmp_path)
    quick, full = (pair_groups(of.nodes, mode) for mode in ("quick", "full"))
    assert 6 == len(quick) and 15 == len(full) and {each.name for each in quick} <= {each.name for each in full}
    assert all("g1" not in each.name for each in full)


def test_one_node_alone_does_not_apply_and_a_fleet_without_claims_is_told_so(tmp_path):
    site = Site(tmp_path)
    (site.checks.parent / "interconnect").mkdir()
    site.checks = site.checks.parent / "interconnect"
    site.write(CHECKS)
    (tmp_path / "x.yaml").write_text("fleet: f\ndefaults: {profile: cpu-host}\nnodes: {'n[1-2]': }\nsandbox: {}\n")
    refused = site.run("checks/interconnect", "--inventory", "x.yaml", "--tier", "full")
    assert 4 == refused.status and "n[1-2]: no claim is given, and trials of several nodes need one" in refused.output
    assert not [run for run in site.runs() if (run / "plan.jsonl").exists()]
    alone = site.run("checks/interconnect", "--inventory", "x.yaml", "--tier", "full", "--nodes", "n1")
    assert {"test_others_are_well_with_it[n1]": "skipped"} == alone.outcomes(), alone.output
    (message,) = {each["message"] for each in alone.lines("results")}
    assert "n1 is the only selected node of profile cpu-host" in message
