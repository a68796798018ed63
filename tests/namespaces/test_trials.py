"""Trials over real links with real faults: figures as iperf3 has them, and of each campaign exactly the culprits, with their symptom."""

import json

import pytest
from fleetrun import CHECKS, run_pytest
from netrack import NetRack, write

from fleetcheck.collective.bench import Bench
from fleetcheck.collective.rounds import Planned
from fleetcheck.collective.slow import Limit

MBITS = 200
SHARE = 0.03
ATTEMPTS = 3
"""Another process may have the processor for a moment; a wrong formula is wrong every time."""
SLOW = """
link: {rate_mbits_per_second: 200}
nodes:
  n2: {link: {rate_mbits_per_second: 40}}
  n4: {link: {loss_percent: 4}}
  n6: {link: {delay_milliseconds: 2}}
"""
LIMITS = (Limit("all_reduce_busbw_gb_s_2MiB", low=0.6 * MBITS / 8000, effect=0.4),
          Limit("all_reduce_p50_us_8B", high=1800.0, worse="high", effect=5.0),
          Limit("all_reduce_p99_us_8B", high=100_000.0, worse="high", effect=100.0))
"""Far from a healthy link's figures even where other processes want the same two cores."""
BROKEN = """
nodes:
  n2: {ranks: [{hang: 2}]}
  n4: {ranks: [{die: 2}]}
  n5: {ranks: [{wrong: 1}]}
  n7: {link: {blocked_ports: 29500-29599}}
"""
HANGS, DIES, WRONG = "test_no_collective_hangs_on_this_node", "test_no_collective_dies_of_this_node", "test_collective_data_of_this_node_is_right"


@pytest.fixture
def rack(spaces, tmp_path):
    """``rack(nodes, section)`` → a NetRack, stopped at the end."""
    running = []

    def start(*words):
        running.append(NetRack(tmp_path, *words))
        assert {} == running[-1].refused
        return running[-1]

    yield start
    for each in running:
        each.stop()


def iperf(rack):
    """What iperf3 receives from n2 at n1, in Mbit/s."""
    rack.run("n1", "/usr/bin/iperf3 -s -1 -D")
    return json.loads(rack.run("n2", "/usr/bin/iperf3 -c 10.77.0.1 -O 1 -t 2 -J"))["end"]["sum_received"]["bits_per_second"] / 1e6


def busbw(trial):
    """Collective → its bandwidths in Mbit/s, one a direction."""
    found = {}
    for value in trial.values:
        if "_busbw_" in value.metric:
            found.setdefault(value.metric.partition("_busbw")[0], []).append(round(value.number * 8000, 1))
    return found


def test_bandwidth_is_what_iperf3_measures_on_that_link(rack):
    """One direction at a time as send_recv, both at once as an all-reduce of two."""
    link = rack("n[1-2]", f"link: {{rate_mbits_per_second: {MBITS}}}\n")
    benches = [Bench("send_recv", (8 << 20,), iterations=2, warmup=1), Bench("all_reduce", (16 << 20,), iterations=3, warmup=1)]
    told = []
    for _ in range(ATTEMPTS):
        theirs = iperf(link)
        ours = busbw(link.trial(Planned("pair", ("n1", "n2")), benches).run.trial)
        told.append(f"iperf3 {theirs:.1f}, ours {ours}")
        if all(abs(mine / theirs - 1) <= SHARE for mine in (*ours["send_recv"], *ours["all_reduce"])):
            break
    else:
        pytest.fail(f"Mbit/s: {told}")
    print(told[-1])


def blamed(standing):
    return {(finding.kind, finding.members, finding.symptom) for finding in standing.findings}


def test_a_slow_a_lossy_and_a_late_link_are_named_and_nobody_else(rack):
    links = rack("n[1-7]", SLOW)
    campaign, standing = links.campaign(
        [Bench("all_reduce", (8,), iterations=120, warmup=5), Bench("all_reduce", (2 << 20,), iterations=3, warmup=1)], LIMITS, lanes=2)
    assert {("node", (name,), "slow") for name in ("n2", "n4", "n6")} == blamed(standing), told(campaign, standing)
    words = {finding.members[0]: why(campaign, standing, finding) for finding in standing.findings}
    assert "busbw" in words["n2"]
    assert "p99" in words["n4"]
    assert "p50" in words["n6"]


def test_what_hangs_dies_computes_wrong_or_answers_nothing_is_named_and_nobody_else(spaces, tmp_path):
    """As a user starts it."""
    write(tmp_path / "rack.yaml", "n[1-9]", BROKEN)
    ended = run_pytest(CHECKS / "interconnect" / "test_pairs.py", "--inventory", "rack.yaml", "--tier", "full", "--pairs", "quick", "-n", "6",
                       "--no-html", "-p", "no:cacheprovider", cwd=tmp_path, timeout=600)
    results = [line for line in ended.lines("results") if line["check"] in (HANGS, DIES, WRONG)]
    assert {("n2", HANGS), ("n4", DIES), ("n5", WRONG), ("n7", HANGS)} == {
        (line["node"], line["check"]) for line in results if line["outcome"] == "failed"}, ended.output
    assert {"n1", "n3", "n6", "n8", "n9"} == {line["node"] for line in results} - {
        line["node"] for line in results if line["outcome"] != "passed"}, ended.output
    assert "no answer from the master, 10.77.0.7 port 295" in (ended.run / "evidence.jsonl").read_text()


def why(campaign, standing, finding):
    """What was slow in the trials that a finding rests on."""
    return " ".join(words for trial in finding.trials for found in standing.judged.paces[trial].slow.values() for words in found)


def told(campaign, standing):
    """For whoever reads a failure."""
    trials = [(trial.id, trial.members, trial.outcome, trial.message[:200], [(v.metric, round(v.number, 4)) for v in trial.values])
              for trial in campaign.trials]
    return "\n".join(map(str, [*trials, *standing.findings]))
