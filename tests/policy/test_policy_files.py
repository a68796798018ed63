"""What an inventory or a profile says about checks: read whole at load, mistakes in one line, waivers by their day."""

from __future__ import annotations

import datetime
import textwrap
from pathlib import Path

import pytest

from fleetcheck import plan, policy
from fleetcheck.inventory import InventoryError, load

TODAY = datetime.date(2026, 11, 30)
HEAD = "fleet: f\ndefaults: {profile: site}\nnodes: {'n[01-08]': }\ngroups: {front: 'n[01-04]'}\npolicy:\n"  # a case begins in line 6


@pytest.fixture
def site(tmp_path: Path):
    """Loads an inventory with this policy, its nodes of a profile with that policy."""
    def write(text: str = "  {}", profile: str = ""):
        (tmp_path / "profiles").mkdir(exist_ok=True)
        (tmp_path / "profiles" / "site.yaml").write_text(f"extends: cpu-host\n{profile}")
        (tmp_path / "x.yaml").write_text(f"{HEAD}{textwrap.indent(textwrap.dedent(text).strip(), '  ')}\n")
        return load(tmp_path / "x.yaml", today=TODAY)
    return write


def word(inventory, check="test_a", node="n03"):
    return plan.policy(inventory, next(each for each in inventory.nodes if each.name == node), check)


def test_a_check_nobody_speaks_of_stays_as_marked(site):
    assert policy.AS_MARKED is word(site())


def test_the_inventory_goes_before_the_profile_word_by_word(site):
    inventory = site("test_a: {severity: warn}", "policy: {test_a: {severity: fatal, action: reboot, reason: r}}\n")
    assert ("warn", "reboot") == (word(inventory).severity, word(inventory).action)


@pytest.mark.parametrize(("nodes", "waived"), [
    ("'n[03,07]'", {"n03", "n07"}), ("'@front,!n01'", {"n02", "n03", "n04"}), ("[n01, n08]", {"n01", "n08"}),
])
def test_a_waiver_covers_the_nodes_it_names_and_no_other(site, nodes, waived):
    inventory = site(f"test_a: {{waivers: [{{nodes: {nodes}, until: 2026-12-24, reason: old board}}]}}")
    assert waived == {node.name for node in inventory.nodes if word(inventory, node=node.name).waiver}


@pytest.mark.parametrize(("until", "counts"), [("2026-11-29", False), ("2026-11-30", True), ("2026-12-24", True)])
def test_a_waiver_counts_up_to_its_last_day_and_is_named_after_it(site, until, counts):
    inventory = site(f"test_a: {{waivers: [{{nodes: n03, until: {until}, reason: old board}}]}}")
    named = [] if counts else [f"waiver of test_a for n03 ({inventory.path}:6) expired after {until}: old board"]
    assert (counts, named) == (bool(word(inventory).waiver), inventory.expired())


def test_a_profiles_waiver_covers_every_node_of_it(site):
    inventory = site(profile="policy: {test_a: {waivers: [{until: 2026-12-24, reason: known firmware fault}]}}\n")
    assert "known firmware fault" == word(inventory, node="n08").waiver.reason


def test_a_profiles_expired_waiver_is_named_too(site):
    inventory = site(profile="policy: {test_a: {waivers: [{until: 2026-01-01, reason: r}]}}\n")
    assert ["waiver of test_a for every node (profile site) expired after 2026-01-01: r"] == inventory.expired()


def test_a_waiver_says_nothing_of_a_check_of_the_whole_fleet(site):
    inventory = site("test_a: {severity: warn, waivers: [{nodes: n03, until: 2026-12-24, reason: r}]}")
    assert policy.Word(severity="warn") == plan.policy(inventory, None, "test_a")


@pytest.mark.parametrize(("text", "expected"), [
    ("test_a: {severity: mild}", "x.yaml:6: policy.test_a.severity: 'mild' is unknown; expected one of: warn, degraded, fatal"),
    ("test_a: {action: rebot}", "x.yaml:6: policy.test_a.action: 'rebot' is unknown; expected one of: none, observe, fix-config, "
     "restart-service, reset-gpu, reboot, isolate, replace (did you mean 'reboot'?)"),
    ("test_a:\n  sevrity: warn", "x.yaml:7: unknown key 'sevrity' under policy.test_a; expected one of: severity, action, reason, "
     "waivers (did you mean 'severity'?)"),
    ("test_a:\n  waivers:\n    - {nodes: n03, until: 2026-12-24}",
     "x.yaml:8: key 'reason' is missing under policy.test_a.waivers.0; expected reason: …"),
    ("test_a:\n  waivers:\n    - {nodes: n03, reason: r}",
     "x.yaml:8: key 'until' is missing under policy.test_a.waivers.0; expected until: …"),
    ("test_a:\n  waivers:\n    - {until: 2026-12-24, reason: r}",
     "x.yaml:8: key 'nodes' is missing under policy.test_a.waivers.0; expected nodes: …"),
    ("test_a:\n  waivers:\n    - nodes: n03\n      until: christmas\n      reason: r",
     "x.yaml:9: policy.test_a.waivers.0.until: 'christmas' is no date; expected one such as 2026-11-30"),
    ("test_a:\n  waivers: [{nodes: n03, until: 2026-12-24, reason: ' '}]",
     "x.yaml:7: policy.test_a.waivers.0.reason: ' ' is no reason; expected a sentence on one line"),
    ("test_a:\n  waivers:\n    - {nodes: n09, until: 2026-12-24, reason: r}", "x.yaml:8: waiver of test_a: unknown node n09; "
     "expected nodes of the inventory (n[01-08])"),
    ("test_a:\n  waivers:\n    - {nodes: 'n03,!n03', until: 2026-12-24, reason: r}",
     "x.yaml:8: waiver of test_a: there is no node in it; expected some of n[01-08]"),
    ("test_a: {waivers: {nodes: n03}}", "x.yaml:6: policy.test_a.waivers is a mapping; expected a valid tuple"),
    ("test_a: 5", "x.yaml:6: policy.test_a is '5'; expected a mapping of keys"),
])
def test_a_mistake_is_refused_in_one_line(site, tmp_path, text, expected):
    with pytest.raises(InventoryError) as caught:
        site(text)
    assert expected == str(caught.value).replace(f"{tmp_path}/", "")


def test_a_mistake_in_a_profile_names_the_profiles_file(site, tmp_path):
    with pytest.raises(InventoryError) as caught:
        site(profile="policy:\n  test_a: {waivers: [{until: 2026-12-24, reason: r, nodes: n03}]}\n")
    assert str(caught.value).startswith(f"{tmp_path}/profiles/site.yaml:3: unknown key 'nodes' under policy.test_a.waivers.0")


@pytest.mark.parametrize(("said", "expected"), [
    ({"test_ecc": "x.yaml:6"}, ""),
    ({"test_eccc": "x.yaml:6"}, "x.yaml:6: policy of an unknown check 'test_eccc'; expected the name of a check function "
     "(did you mean 'test_ecc'?)"),
    ({"zzz": "x.yaml:6", "yyy": "x.yaml:9"}, "x.yaml:6: policy of an unknown check 'zzz'; expected the name of a check function; "
     "fleetcheck explain lists them (and 1 more)"),
])
def test_an_unknown_check_is_named_with_what_comes_near(said, expected):
    assert expected == policy.unknown(said, {"test_ecc", "test_links"})


def test_a_check_of_several_nodes_has_no_waiver(site):
    inventory = site("test_a: {waivers: [{nodes: n03, until: 2026-12-24, reason: r}]}")
    said = plan.policed(inventory)
    assert f"{inventory.path}:6: test_a is no check of one node" in policy.unwaivable(inventory.policy, said, ["test_a"])
    assert "" == policy.unwaivable(inventory.policy, said, ["test_b"])


def test_how_earlier_runs_weigh_has_defaults_and_is_said_beside_the_checks(site):
    assert policy.Repeats(isolate_after=2, of_runs=3, window_days=28, flaky_changes=3) == site().repeats
    inventory = site("history: {isolate_after: 3, of_runs: 5}\ntest_a: {severity: warn}")
    assert (3, 5, 28, ["test_a"]) == (inventory.repeats.isolate_after, inventory.repeats.of_runs, inventory.repeats.window_days, list(inventory.policy))


@pytest.mark.parametrize(("text", "expected"), [
    ("history: {isolate_afer: 2}", "x.yaml:6: unknown key 'isolate_afer' under policy.history; expected one of: isolate_after, of_runs, window_days, "
                                   "flaky_changes (did you mean 'isolate_after'?)"),
    ("history: {isolate_after: 0}", "x.yaml:6: policy.history.isolate_after is '0'; expected a value greater than or equal to 1"),
    ("history: {of_runs: many}", "x.yaml:6: policy.history.of_runs is 'many'; expected a valid integer, unable to parse string as an integer"),
    ("history: {isolate_after: 4}", "x.yaml:6: policy.history: isolate_after 4 never comes in 3 runs; expected of_runs of at least as many"),
    ("history: 5", "x.yaml:6: policy.history is '5'; expected a mapping of keys"),
])
def test_a_mistake_in_how_runs_weigh_is_refused_in_one_line(site, tmp_path, text, expected):
    with pytest.raises(InventoryError) as caught:
        site(text)
    assert expected == str(caught.value).replace(f"{tmp_path}/", "")
