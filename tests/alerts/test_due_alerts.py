"""What is a ticket, what is a page, and what ends an alert."""

import pytest


def heads(lines):
    return [" ".join(line.split()[:2]) for line in lines]


def test_a_healthy_fleet_gives_cause_for_nothing(site):
    site.night(1)
    assert [] == site.standing(1)
    assert "nothing stands against the fleet" in site.tell(1)[1]


def test_a_node_is_a_ticket_with_its_cause(site):
    site.night(1, failed=["n03"])
    assert ["TICKET FleetcheckNodeFailed n03"] == site.standing(1)
    assert "n03 failed: GPU 5: GPU_IS_LOST  [since 2026-11-01 03:15]" in site.tell(1)[1]


def test_many_nodes_with_the_same_failure_are_one_page_and_no_ticket(site):
    site.night(1, failed=["n03", "n04", "n05", "n06"])
    assert ["PAGE FleetcheckCommonCause test_no_gpu_is_lost:"] == site.standing(1)


@pytest.mark.parametrize(("floor", "pages"), [("12", 1), ("11", 0), ("91%", 0), ("92%", 1)])
def test_capacity_below_the_floor_pages(site, floor, pages):
    site.extra = f", capacity_floor: {floor}"
    site.night(1, failed=["n03"])
    assert pages == sum(line.startswith("PAGE FleetcheckCapacityLow") for line in site.standing(1))


def test_no_complete_run_in_26_hours_pages(site):
    site.night(1)
    assert [] == site.standing(2, hour=5)
    assert ["PAGE FleetcheckNoCompleteRun"] == heads(site.standing(2, hour=6))


@pytest.mark.parametrize("about", [{"narrowed": "-k gpu"}, {"interrupted": True}, {"replay_of": "20261101-031500-quaa"}, {"nodes": "n01", "names": ["n01"]}],
                         ids=["partial", "interrupted", "replay", "some nodes"])
def test_what_is_no_complete_run_does_not_end_the_page(site, about):
    site.night(1)
    site.night(2, **about)
    assert ["PAGE FleetcheckNoCompleteRun"] == heads(site.standing(2))


def test_a_fleet_that_never_ran_pages_since_it_was_first_said(site):
    (site.folder / "reports").mkdir()
    assert "since 2026-11-01 07:00" in site.tell(1)[1]
    assert "since 2026-11-01 07:00" in site.tell(3)[1]


def test_a_later_complete_run_of_another_tier_keeps_the_fleet_fresh(site):
    site.night(1)
    site.night(2, tier="full")
    assert [] == site.standing(2)


def test_a_finding_that_nobody_measured_again_stays_open(site):
    site.night(1, hot=["n03"])
    site.tell(1)
    site.night(2, names=[name for name in site_names() if name != "n03"])
    said = site.tell(2)[1]
    assert "TICKET FleetcheckNodeDegraded  n03 degraded: GPU 1: 95 °C" in said


def site_names():
    return [f"n{number:02}" for number in range(1, 13)]


def test_a_passed_check_ends_it_and_says_where(site):
    site.night(1, hot=["n03"])
    site.tell(1)
    site.night(2)
    assert "ENDED  FleetcheckNodeDegraded  n03 degraded: GPU 1: 95 °C  [certified in 20261102-031500-quaa]" in site.tell(2)[1]
    assert "ENDED" not in site.tell(2)[1]


def test_a_retest_of_the_node_alone_ends_it(site):
    site.night(1, failed=["n03"])
    site.tell(1)
    site.night(2, names=["n03"], nodes="n03")
    assert "ENDED  FleetcheckNodeFailed  n03" in site.tell(2)[1]


def test_a_partial_run_ends_nothing_and_may_find_a_fault(site):
    site.night(1, failed=["n03"])
    site.tell(1)
    site.night(2, failed=["n05"], narrowed="-k gpu")
    assert {"TICKET FleetcheckNodeFailed n03", "TICKET FleetcheckNodeFailed n05"} <= set(site.standing(2))


def test_the_tier_that_found_it_has_to_pass_again(site):
    site.night(1, tier="full", failed=["n03"])
    site.tell(1)
    site.night(2)
    assert ["TICKET FleetcheckNodeFailed n03"] == site.standing(2)
    site.night(3, tier="full")
    site.night(4)
    assert [] == site.standing(4)


def test_a_node_certified_for_nothing_is_healed_by_the_check_that_found_it(site):
    site.night(1, hot=["n03"])
    site.tell(1)
    site.night(2, unmeasured=["n03"])
    assert "ENDED  FleetcheckNodeDegraded  n03 degraded: GPU 1: 95 °C  [passed in 20261102-031500-quaa]" in site.tell(2)[1]


def test_a_node_taken_out_of_service_has_no_alert(site):
    site.night(1, failed=["n03"])
    site.tell(1)
    site.state = "  n03: {state: rma}\n"
    assert "ENDED  FleetcheckNodeFailed  n03 failed: GPU 5: GPU_IS_LOST  [no longer in service]" in site.tell(1)[1]


def test_a_page_ends_when_it_is_no_longer_so(site):
    site.night(1)
    site.tell(3)
    site.night(4)
    assert "ENDED  FleetcheckNoCompleteRun" in site.tell(4)[1]


def test_hostile_words_of_a_node_stay_on_their_line(site):
    run = site.night(1, failed=["n03"])
    text = (run.path / "verdicts.json").read_text().replace("GPU_IS_LOST", "\\u001b[31m\\nPAGE FleetcheckCommonCause x")
    (run.path / "verdicts.json").write_text(text)
    said = site.tell(1, apply=False)[1]
    assert "\x1b" not in said
    assert ["TICKET FleetcheckNodeFailed"] == heads(site.standing(1))


def test_a_node_that_cannot_be_reached_is_a_ticket_until_it_answers(site):
    site.night(1, silent=["n03"])
    assert "TICKET FleetcheckNodeUnreachable  n03 unreachable: TCP to 192.0.2.1 port 22: refused; power it on" in site.tell(1)[1]
    site.night(2, unmeasured=["n03"])
    assert "ENDED  FleetcheckNodeUnreachable" in site.tell(2)[1]


def test_a_node_that_was_failing_and_is_now_silent_has_both_tickets(site):
    site.night(1, hot=["n03"])
    site.tell(1)
    site.night(2, silent=["n03"])
    assert ["TICKET FleetcheckNodeDegraded n03", "TICKET FleetcheckNodeUnreachable n03"] == sorted(site.standing(2))


def test_many_silent_nodes_are_one_page(site):
    site.night(1, silent=[f"n{number:02}" for number in range(1, 9)])
    assert ["PAGE FleetcheckCommonCause no"] == site.standing(1)


def test_a_silent_rack_is_one_page_and_a_node_of_it_that_stays_silent_is_a_ticket(site):
    site.night(1, silent=["n09", "n10", "n11", "n12"], racks=True)
    assert ["PAGE FleetcheckCommonCause no"] == site.standing(1)
    site.night(2, silent=["n09"], racks=True)
    assert ["TICKET FleetcheckNodeUnreachable n09"] == site.standing(2)


@pytest.mark.parametrize(("kind", "expected"), [("no-python", ["TICKET FleetcheckNodeNotMeasured n03"]), ("deferred", []), ("deadline", [])])
def test_a_node_that_told_nothing_is_a_ticket_where_configuration_is_the_cure(site, kind, expected):
    site.night(1, silent=["n03"], kind=kind)
    assert expected == site.standing(1)
