"""Since when, how often, which step next, flaky: what earlier nights make of tonight's finding."""

from dataclasses import replace

import pytest
from earliernights import GPU3, GPU5, judged_tonight, nights


def tonight(made, word, outcome="failed", repeats=None, about=None, part=GPU3, severity="degraded", action="isolate", boots=None, boot_id="", **more):
    lines = nights(word, severity=severity, action=action, **more)
    if boots:
        lines = [replace(each, boot_id=boot) for each, boot in zip(lines, boots[::-1], strict=True)]
    parts = ((part,) if part else ()) if outcome == "failed" else ()
    results = [made.result("n1", "test_ecc", outcome, severity, action, parts=parts, message="GPU 3: bad", boot_id=boot_id)]
    return judged_tonight(made, results, lines, repeats, about=about or {})


HYSTERESIS = [
    # why, earlier nights, policy, run, changes of the finding → isolated, suspect, (failed, measured)
    ("the first time", "", {}, {}, {}, False, True, (1, 1)),
    ("one healthy night before", "P", {}, {}, {}, False, True, (1, 2)),
    ("the second night", "F", {}, {}, {}, True, False, (2, 2)),
    ("two of three", "FP", {}, {}, {}, True, False, (2, 3)),
    ("too long ago", "FPP", {}, {}, {}, False, True, (1, 3)),
    ("nights that did not measure it do not count", "F..P.", {}, {}, {}, True, False, (2, 3)),
    ("three of five asked for", "F", {"isolate_after": 3, "of_runs": 5}, {}, {}, False, True, (2, 2)),
    ("three of five reached", "FFPP", {"isolate_after": 3, "of_runs": 5}, {}, {}, True, False, (3, 5)),
    ("at once", "", {"isolate_after": 1, "of_runs": 1}, {}, {}, True, False, (1, 1)),
    ("a partial run isolates nobody anew", "F", {}, {"narrowed": "-k ecc"}, {}, False, True, (1, 1)),
    ("partial nights do not count", "F", {}, {}, {"complete": False}, False, True, (1, 1)),
    ("another part", "F", {}, {}, {"part": GPU5}, False, True, (1, 2)),
    ("configuration is no reason to isolate", "FF", {}, {}, {"action": "fix-config"}, False, False, (3, 3)),
    ("something to keep an eye on is none either", "FF", {}, {}, {"action": "observe"}, False, False, (3, 3)),
]


@pytest.mark.parametrize(("word", "repeats", "about", "more", "isolated", "suspect", "counted"), [case[1:] for case in HYSTERESIS],
                         ids=[case[0] for case in HYSTERESIS])
def test_a_soft_finding_isolates_when_it_repeats(made, word, repeats, about, more, isolated, suspect, counted):
    said, verdicts = tonight(made, word, repeats=repeats, about=about, **more)
    finding = said["findings"][0]
    assert "degraded" == said["verdict"]
    assert (isolated, suspect) == ("n1" == verdicts["isolate"], bool(finding.get("suspect")))
    assert counted == (finding.get("failed", 0), finding["measured"])
    assert suspect == ("failing" in [each["state"] for each in said["suspects"]])


def test_a_hard_fault_isolates_at_once(made):
    said, verdicts = tonight(made, "", severity="fatal", action="reboot")
    assert ("failed", "n1", []) == (said["verdict"], verdicts["isolate"], said["suspects"])


LADDER = [
    # why, earlier nights, own action, boots of those nights and tonight's → action, time
    ("the first time", "", "reset-gpu", None, "", "reset-gpu", 1),
    ("still there", "F", "reset-gpu", None, "", "reset-gpu", 1),
    ("back after it was gone", "FP", "reset-gpu", None, "", "reboot", 2),
    ("back again", "FPFP", "reset-gpu", None, "", "replace", 3),
    ("and again", "FPFPFP", "reset-gpu", None, "", "replace", 4),
    ("a reboot did not help", "F", "reboot", ["a"], "b", "replace", 2),
    ("no reboot in between", "F", "reboot", ["a"], "a", "reboot", 1),
    ("which boot is not known", "F", "reboot", [""], "b", "reboot", 1),
    ("isolate is no step", "FP", "isolate", None, "", "isolate", 2),
    ("configuration is no step", "FP", "fix-config", None, "", "fix-config", 2),
]


@pytest.mark.parametrize(("word", "action", "boots", "boot", "then", "time"), [case[1:] for case in LADDER], ids=[case[0] for case in LADDER])
@pytest.mark.parametrize("severity", ["fatal", "degraded"])
def test_the_same_fault_back_on_the_same_part_asks_for_more(made, word, action, boots, boot, then, time, severity):
    said, _ = tonight(made, word, severity=severity, action=action, boots=boots, boot_id=boot)
    finding = said["findings"][0]
    assert (then, then, time) == (said["action"], finding["action"], finding.get("time"))


def test_outside_the_window_on_another_part_or_on_no_part_it_is_the_first_time(made):
    assert "reset-gpu" == tonight(made, "FP", action="reset-gpu", last=1 + 1)[0]["action"]
    assert "reboot" == tonight(made, "FP", action="reset-gpu", last=1 + 1, repeats={"window_days": 40})[0]["action"]
    assert "reset-gpu" == tonight(made, "FP", action="reset-gpu", part=GPU5)[0]["action"]
    said = judged_tonight(made, [made.result("n1", "test_ecc", "failed", "fatal", "reset-gpu")], nights("FP", part=None))[0]
    assert ("reset-gpu", 2) == (said["action"], said["findings"][0]["time"])


FLAKY = [
    ("FPF", "passed", {}, True), ("PFP", "failed", {}, True), ("FF", "failed", {}, False), ("FP", "passed", {}, False), ("FP", "failed", {}, False),
    ("FP", "failed", {"flaky_changes": 2}, True), ("", "failed", {}, False), ("P.F.P.", "failed", {}, True),
]


@pytest.mark.parametrize(("word", "outcome", "repeats", "flaky"), FLAKY)
def test_what_passes_and_fails_in_turn_is_flaky_whichever_it_does_tonight(made, word, outcome, repeats, flaky):
    said, verdicts = tonight(made, word, outcome, repeats)
    assert flaky == any(each["flaky"] for each in said["suspects"])
    assert ("healthy" if outcome == "passed" else "degraded") == said["verdict"]
    if outcome == "passed":
        assert "" == verdicts["isolate"]


def test_what_was_seen_within_four_weeks_and_is_gone_stays_a_suspect_that_blames_nobody(made):
    said, verdicts = tonight(made, "PFP", "passed")
    assert [("passed since", 1, 4)] == [(each["state"], each["failed"], each["measured"]) for each in said["suspects"]]
    assert ("healthy", True, "") == (said["verdict"], said["certified"], verdicts["isolate"])
    assert [] == judged_tonight(made, [made.result("n1")], [])[0]["suspects"]


def test_a_finding_says_since_when_and_by_how_many_runs(made):
    finding = tonight(made, "FPFF")[0]["findings"][0]
    assert ("2026-11-28T02:00:00", 3, 2) == (finding["since"], finding["runs"], finding["time"])
    fatal = tonight(made, "FPFF", severity="fatal", complete=False)[0]["findings"][0]
    assert "2026-11-26T02:00:00" == fatal["since"], "a partial run proves nothing gone"


def test_without_a_history_the_verdict_says_so_and_this_run_decides_alone(made):
    said, verdicts = tonight(made, "")
    assert "judged by this run alone" in verdicts["history"]["note"] and "degraded" == said["verdict"]
    _, verdicts = tonight(made, "F")
    assert (1, "") == (verdicts["history"]["runs"], verdicts["history"]["note"])
