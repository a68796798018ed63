"""NEW, STILL, HEALED and UNPROVEN: what changed since the last complete run."""

import copy

from fleetcheck.report.changes import blocks, compare, title

GPU = {"kind": "gpu", "label": "GPU 5", "slot": "5d:00.0", "serial": "1"}


def finding(check="test_gpu", severity="fatal", message="GPU 5: lost", parts=(GPU,), action="reboot"):
    return {"check": check, "severity": severity, "action": action, "message": message, "component": "gpu", "parts": list(parts), "common_cause": False}


def node(*findings, serial="S1", unreachable=None, state="in-service", measured=10):
    return {"findings": list(findings), "serial": serial, "unreachable": unreachable, "state": state, "action": "none",
            "coverage": {"planned": 10, "measured": measured}}


def run(number, **nodes):
    return {"run": f"run-{number}", "started": f"2026-11-{number:02}T03:15:00+00:00", "nodes": nodes}


SILENT = {"which": "powered off", "kind": "refused", "message": "a: refused"}
PASSED = {("a", "test_gpu")}


def states(now, *earlier, passed=frozenset()):
    return [(each.state, each.node, each.check) for each in compare(now, earlier, passed).changes]


def test_without_an_earlier_complete_run_nothing_is_compared():
    found = compare(run(30, a=node(finding())), [], set())
    assert "" == found.against and ["a"] == [each.node for each in found.changes]


def test_a_finding_the_last_run_did_not_have_is_new():
    assert [("NEW", "a", "test_gpu")] == states(run(30, a=node(finding())), run(29, a=node()))


def test_a_finding_seen_before_is_still_there_since_the_oldest_run_without_a_gap():
    broken = node(finding())
    found = compare(run(30, a=broken), [run(29, a=broken), run(28, a=broken), run(27, a=node()), run(26, a=broken)], set())
    assert [("STILL", "2026-11-28T03:15:00+00:00")] == [(each.state, each.since) for each in found.changes]


def test_only_a_measured_pass_heals():
    before = run(29, a=node(finding()))
    assert [("HEALED", "a", "test_gpu")] == states(run(30, a=node()), before, passed=PASSED)
    unproven = compare(run(30, a=node()), [before], set()).changes
    assert [("UNPROVEN", "test_gpu was not measured")] == [(each.state, each.note) for each in unproven]


def test_a_node_that_is_silent_or_gone_has_not_healed():
    before = run(29, a=node(finding()))
    assert ("UNPROVEN", "a", "test_gpu") in states(run(30, a=node(unreachable=SILENT)), before, passed=PASSED)
    assert [("UNPROVEN", "a", "test_gpu")] == states(run(30), before)
    assert [("UNPROVEN", "a", "test_gpu")] == states(run(30, a=node(state="rma")), before)


def test_a_node_that_answers_again_has_healed():
    before = run(29, a=node(unreachable=SILENT, serial=""))
    assert [("HEALED", "a", "login")] == states(run(30, a=node()), before)
    assert [("UNPROVEN", "a", "login")] == states(run(30, a=node(measured=0)), before)
    assert [("STILL", "a", "login")] == states(run(30, a=node(unreachable=SILENT)), before)


def test_another_part_with_the_same_fault_is_new_and_the_first_one_healed():
    other = {**GPU, "label": "GPU 2", "slot": "2a:00.0", "serial": "2"}
    found = states(run(30, a=node(finding(parts=[other], message="GPU 2: lost"))), run(29, a=node(finding())))
    assert [("NEW", "a", "test_gpu"), ("HEALED", "a", "test_gpu")] == found


def test_a_replaced_part_at_the_same_place_is_new():
    replaced = {**GPU, "serial": "9"}
    found = states(run(30, a=node(finding(parts=[replaced]))), run(29, a=node(finding())))
    assert ("NEW", "a", "test_gpu") in found and not [each for each in found if each[0] == "STILL"]


def test_another_machine_under_the_same_name_is_new_and_said():
    now, before = run(30, a=node(serial="S2")), run(29, a=node(finding()))
    assert "another machine now: serial S2, was S1" == compare(now, [before], PASSED).changes[0].note
    assert [("NEW", "a", "test_gpu")] == states(run(30, a=node(finding(), serial="S2")), before)[:1]


def test_what_follows_from_a_cause_is_counted_not_listed():
    lost = node(finding(), finding("test_nvlink", message="no links"), finding("test_warn", "warn"))
    found = compare(run(30, a=lost), [run(29, a=node())], set()).changes
    assert [("test_gpu", 2)] == [(each.check, each.also) for each in found]


def test_warnings_and_common_causes_are_no_changes():
    shared = {**finding(), "common_cause": True}
    assert [] == states(run(30, a=node(shared, finding("test_w", "warn"))), run(29, a=node()))


def test_runs_beyond_the_last_open_finding_are_not_read():
    def runs():
        yield run(29, a=node())
        raise AssertionError("read too far")
    assert [("NEW", "a", "test_gpu")] == [(e.state, e.node, e.check) for e in compare(run(30, a=node(finding())), runs(), set()).changes]


def test_equal_changes_are_folded_for_the_terminal():
    broken = node(finding())
    nodes = {name: copy.deepcopy(broken) for name in ("n1", "n2")}
    found = compare(run(30, **nodes), [run(29, n1=node(), n2=node())], set())
    assert ["    NEW n[1-2]: GPU 5: lost  [test_gpu]"] == [str(line) for block in blocks(found) for line in block]
    assert "SINCE run-29, the last complete run, 2026-11-29T03:15:00+00:00: 2 NEW" == title(found)


def told(**more):
    """A finding as verdicts tell it since history weighs: dated, and folded."""
    return {**finding(), "since": "2026-11-20T03:15:00", **more}


def test_a_finding_that_was_carried_is_unproven_and_says_which_run_measured_it():
    carried = node(told(open_since="run-27", tier="burnin", runs=2))
    found = compare(run(30, a=carried), [run(29, a=carried)], set()).changes
    assert [("UNPROVEN", "2026-11-20T03:15:00", "2 runs, not measured again since run run-27, tier burnin")] == [
        (each.state, each.since, each.note) for each in found]


def test_a_silent_node_with_an_open_finding_is_told_as_both():
    silent = node(told(open_since="run-29"), unreachable=SILENT)
    assert [("NEW", "a", "login"), ("UNPROVEN", "a", "test_gpu")] == states(run(30, a=silent), run(29, a=node(finding())))


def test_a_finding_is_as_old_as_the_oldest_run_of_any_tier_that_saw_it():
    found = compare(run(30, a=node(told(time=2))), [run(29, a=node(told()))], set()).changes
    assert [("STILL", "2026-11-20T03:15:00", "2nd time")] == [(each.state, each.since, each.note) for each in found]


def test_what_follows_from_a_cause_is_no_change_of_its_own():
    both = node(told(consequences=["test_link"]), told(check="test_link", follows="test_gpu", parts=()))
    assert [("NEW", "test_gpu", 1)] == [(each.state, each.check, each.also) for each in compare(run(30, a=both), [run(29, a=node())], set()).changes]
