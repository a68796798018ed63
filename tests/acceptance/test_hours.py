"""The clock of an acceptance over recorded runs: what counts, what begins it anew, what is withheld, and that every report says so."""

import json
from dataclasses import dataclass, field

import madefleet
import pytest

from fleetcheck import inventory, rejudge
from fleetcheck.acceptance import limits
from fleetcheck.acceptance.ledger import FILE, loaded_seconds
from fleetcheck.records import Answer, Evidence
from fleetcheck.report import terminal

HOURS = 'acceptance_hours: {{low: {hours}, unit: h, source: contract 7, date: 2026-11-30}}'
PROFILE = "name: made\nextends: cpu-host\nlimits: {{" + HOURS + "}}\n{more}"
INVENTORY = "fleet: made\ndefaults: {{profile: made{defaults}}}\nnodes: {{n1: , n2: }}\n{policy}"
CHECK = ("test_some", "checks/burnin/test_some.py", "os", "Some is well.")


@dataclass
class Site:
    """Acceptance runs of two nodes, one after the other; what is said of n1 stands in ``now``."""

    folder: object
    hours: float = 10.0
    more: str = ""
    defaults: str = ""
    policy: str = ""
    runs: int = 0
    now: dict = field(default_factory=lambda: {"boot": "b1", "serial": "S1", "drive": "N1", "after": "b1"})

    def inventory(self):
        profiles = self.folder / "profiles"
        profiles.mkdir(exist_ok=True)
        (profiles / "made.yaml").write_text(PROFILE.format(hours=self.hours, more=self.more))
        return INVENTORY.format(defaults=self.defaults, policy=self.policy)

    def night(self, seconds=18000.0, outcome="passed", tier="acceptance", **about):
        """One run; the verdict on n1."""
        self.runs += 1
        run = f"202611{self.runs:02d}-200000-ab12"
        results = [madefleet.result(run, CHECK, node, outcome if node == "n1" else "passed", "degraded", message="it is not") for node in ("n1", "n2")]
        made = madefleet.record(self.folder, run, results, [each for node in ("n1", "n2") for each in self.evidence(run, node, seconds)], self.inventory(),
                                tier=tier, began=f"2026-11-{self.runs:02d}T20:00:00+00:00", **about)
        self.last = made
        return made.conclusions()["nodes"]["n1"]

    def evidence(self, run, node, seconds):
        told = self.now if node == "n1" else {"boot": "b", "serial": "S", "drive": "N", "after": "b"}
        system = {"boot_id": told["boot"], "serial": told["serial"], "machine": {}}
        drives = {"nvme": {"nvme0": {"serial": told["drive"], "slot": "0000:01:00.0"}}}
        began = "2026-11-30T20:00:00+00:00"
        yield Evidence(run, "facts", "facts-fast", node, began, 1.0, answers={"system": Answer(True, data=system), "drives": Answer(True, data=drives)})
        result = {"ok": True, "error": "", "seconds": seconds, "devices": []}
        yield Evidence(run, "load", "load", node, began, 20000.0, answers={
            "cpu": Answer(True, data=result), "load": Answer(True, data={"boot_id": told["after"], "started_boot_id": told["boot"]}),
            "snapshots": Answer(True, data={"before": {}, "after": {"drives": {"ok": True, "data": drives}}})})


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def hours(verdict):
    return verdict["acceptance"]["loaded_hours"]


def test_hours_of_several_nights_add_up_and_the_certificate_waits_for_them(site):
    first = site.night()
    assert not first["certified"] and "healthy" == first["verdict"]
    assert "5 of 10 hours under load" == first["reason"] and 5.0 == hours(first)
    second = site.night()
    assert second["certified"] and "" == second["reason"] and 10.0 == hours(second)
    told = second["acceptance"]
    assert ("2026-11-01T20:00:00+00:00", 10.0, "") == (told["since"], told["required_hours"], told["restarted"])
    assert "profile made: contract 7 (2026-11-30)" == told["required_by"] and 2 == len(told["runs"])


@pytest.mark.parametrize(("change", "said"), [
    ({"boot": "b2", "after": "b2"}, "rebooted: boot id b1, then b2"),
    ({"serial": "S2"}, "another machine: serial S1, then S2"),
    ({"drive": "N2"}, "nvme 0000:01:00.0 was exchanged: serial N1, then N2"),
    ({"serial": ""}, "serial number was not told"),
])
def test_a_swap_or_a_reboot_between_nights_begins_anew(site, change, said):
    site.night()
    site.now |= change
    verdict = site.night()
    restarted = verdict["acceptance"]["restarted"]
    assert not verdict["certified"] and said in restarted and said in verdict["reason"]
    assert (5.0 if change.get("serial") != "" else 0.0) == hours(verdict)
    assert 10.0 == hours(site.last.conclusions()["nodes"]["n2"]), "its neighbour's clock runs on"


def test_a_reboot_during_the_run_leaves_none_of_its_hours(site):
    site.now |= {"after": "b2"}
    verdict = site.night()
    assert 0.0 == hours(verdict) and "during run 20261101-200000-ab12: rebooted: boot id b1, then b2" == verdict["acceptance"]["restarted"]


def test_a_run_that_found_the_node_at_fault_begins_anew(site):
    site.night()
    site.night(outcome="failed")
    verdict = site.night()
    assert 5.0 == hours(verdict) and "run 20261102-200000-ab12 found: test_some: it is not" == verdict["acceptance"]["restarted"]


@pytest.mark.parametrize("less", [{"outcome": "error"}, {"narrowed": "-k some"}, {"interrupted": True}])
def test_hours_of_a_run_that_could_not_certify_do_not_count_but_end_nothing(site, less):
    site.night()
    site.night(**less)
    verdict = site.night()
    assert 10.0 == hours(verdict) and ["20261103-200000-ab12", "20261101-200000-ab12"] == [each["run"] for each in verdict["acceptance"]["runs"]]


@pytest.mark.parametrize("other", [{"tier": "burnin"}, {"replay_of": "20261101-200000-ab12"}])
def test_hours_of_other_tiers_and_of_replays_do_not_count(site, other):
    site.night()
    site.night(**other)
    assert 10.0 == hours(site.night())


def test_a_damaged_run_begins_anew_and_is_named(site):
    site.night()
    (site.last.path / FILE).write_text('{"node": "n1", "began": {}}\n')
    verdict = site.night()
    assert 5.0 == hours(verdict) and "run 20261101-200000-ab12 cannot be read" in verdict["acceptance"]["restarted"]


def test_hours_are_asked_for_by_the_profile_or_for_a_node_or_not_at_all(site):
    site.defaults = ", load: {acceptance_hours: 5}"
    verdict = site.night()
    assert verdict["certified"] and ("inventory", 5.0) == (verdict["acceptance"]["required_by"], verdict["acceptance"]["required_hours"])
    site.defaults = ", load: {acceptance_hours: many}"
    with pytest.raises(inventory.InventoryError, match=r"made.yaml:2: defaults.load.acceptance_hours is 'many'"):
        site.night()


def test_an_acceptance_without_all_loads_is_withheld(site):
    site.defaults = ", load: {loads: [cpu, dram], acceptance_hours: 1}"
    verdict = site.night()
    assert not verdict["certified"] and "the inventory leaves out disk, and acceptance runs every load" == verdict["reason"]
    assert not verdict["acceptance"]["counts"]


def test_without_required_hours_none_are_waited_for(site):
    site.hours, site.more = 0, ""
    assert site.night(seconds=60.0)["certified"]


@pytest.mark.parametrize(("results", "seconds"), [
    ({"cpu": 100.0, "dram": 50.0}, 150.0), ({"cpu": 1e9}, 400.0), ({"cpu": -5}, 0.0), ({"cpu": "x"}, 0.0), ({"cpu": True}, 0.0), ({"cpu": float("nan")}, 0.0),
])
def test_only_seconds_that_passed_count(results, seconds):
    answers = {name: Answer(True, data={"ok": True, "seconds": told}) for name, told in results.items()}
    answers |= {"disk": Answer(True, data={"ok": False, "seconds": 90.0}), "telemetry": Answer(True, data={"ok": True, "seconds": 9.0})}
    assert seconds == loaded_seconds(Evidence("r", "load", "load", "n", "", 400.0, answers=answers))


def test_serials_and_firmware_are_kept_with_the_run(site):
    site.night()
    line = json.loads((site.last.path / FILE).read_text().splitlines()[0])
    assert ("n1", "S1", "N1", 18000.0) == (line["node"], line["began"]["machine"], line["ended"]["serials"]["nvme 0000:01:00.0"], line["seconds"])


WAIVER = "policy: {test_some: {waivers: [{nodes: n2, until: 2099-01-01, reason: old switch}]}}"


def test_the_hash_of_the_limits_follows_limits_policy_and_hours_and_nothing_else(site):
    def found(**changes):
        made = Site(site.folder, **changes)
        (site.folder / "x.yaml").write_text(made.inventory())
        loaded = inventory.load(site.folder / "x.yaml")
        return limits.fingerprint(loaded, loaded.nodes)

    same = found()
    assert same.startswith("sha256:") and 71 == len(same)
    assert same == found(defaults=", note: other words, rack: 7")
    changed = {found(hours=11.0), found(policy=WAIVER), found(defaults=", load: {acceptance_hours: 3}"), found(policy=WAIVER.replace("2099", "2098")),
               found(policy="policy: {test_some: {severity: warn}}"), found(more="memory: {total_bytes: {low: 2, unit: B, source: s, date: 2026-11-30}}\n")}
    assert 6 == len(changed) and same not in changed


def page(site):
    verdicts = site.last.conclusions()
    return terminal.summary(verdicts, list(site.last.judged()), rejudge.selected(site.last, site.last.inventory()), site.last.path, "made.yaml")


def test_terminal_and_certificate_state_hours_waivers_and_hash(site):
    site.policy = WAIVER
    site.night()
    site.now |= {"boot": "b2", "after": "b2"}
    site.night()
    shown, told = page(site), site.last.conclusions()
    assert f"limits {told['limits'][:23]}" in shown and "no waivers in force" in shown
    assert "    n1: 5.0 h, 10 asked for (profile made: contract 7 (2026-11-30)), since 2026-11-02T20:00; began anew: between run" in shown
    assert "    n2: 10.0 h, 10 asked for" in shown and "certified for acceptance: 1 of 2 in service: n2" in shown
    rejudge.report_again(site.last, page=True)
    text = (site.last.path / "report.html").read_text()
    assert told["limits"] in text and "n1: 5.0 h, 10 asked for" in text and "rebooted: boot id b1, then b2" in text


def test_hours_that_were_judged_by_other_limits_are_named(site):
    site.night()
    site.policy = "policy: {test_other: {severity: warn}}"
    site.night()
    assert "judged by other limits then: 20261101-200000-ab12" in page(site)


def test_another_tier_says_nothing_of_hours(site):
    assert "acceptance" not in site.night(tier="full") and "hours under load" not in page(site) and not (site.last.path / FILE).exists()
