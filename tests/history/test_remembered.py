"""What a run remembers of earlier ones: findings by the machine and part they belong to today, and by the site's word of today."""

from dataclasses import replace

import pytest

from fleetcheck import history_queries as asks
from fleetcheck import inventory as inventories
from fleetcheck.conclude import conclude
from fleetcheck.history import History
from fleetcheck.measured import Machine
from fleetcheck.measurements import FILE, Draft
from fleetcheck.recording import Part
from fleetcheck.records import Planned, Result
from fleetcheck.remembered import kept_rows, remembered
from fleetcheck.run import Run
from fleetcheck.verdict import RunInfo, judge

GPU = {"kind": "gpu", "label": "GPU 3", "slot": "0000:61:00.0", "serial": ""}
FLEET = "fleet: f\ndefaults: {{profile: h100-sxm5-8}}\nnodes: {{'n[1-9]': }}\npolicy: {policy}\n"


def machine(name, serial="165", silent=False):
    return Machine("h100-sxm5-8", f"SN-{name}", {} if silent else {"GPU 3": Part("gpu", "GPU 3", "0000:61:00.0", f"{serial}{name}")})


def result(node, outcome="failed", severity="fatal", check="test_ecc", **more):
    return Result(run="r", stage="facts", check=check, component="gpu", node=node, outcome=outcome, severity=severity, action="reboot",
                  parts=(GPU,) if outcome == "failed" else (), message="GPU 3: bad" if outcome == "failed" else "", **more)


@pytest.fixture
def fleet(tmp_path):
    def loaded(policy="{}"):
        (tmp_path / "f.yaml").write_text(FLEET.format(policy=policy))
        return inventories.load(tmp_path / "f.yaml")

    return loaded


def night(reports, inventory, day, results, machines, fleet="f"):
    """One night judged and kept as a run does it; its verdicts."""
    run = Run(reports / f"202611{day:02d}-020000-ab12")
    run.path.mkdir(parents=True)
    started = f"2026-11-{day:02d}T02:00:00+00:00"
    with Draft(run) as draft:
        found = conclude(run, draft, results, machines, inventory.nodes, inventory)
        planned = [Planned("r", each.stage, each.check, each.node, "", each.component, each.severity, each.action) for each in results]
        verdicts = judge(RunInfo(run.id, fleet, "quick", started), inventory.nodes, planned, results, {}, past=found.past)
        draft.add(kept_rows(verdicts, machines))
        draft.keep({"started": started, "tier": "quick", "fleet": fleet}, True)
    return verdicts


def past(reports, inventory, machines):
    with History(reports, before="20261130") as history:
        return remembered(history, inventory, machines)


def test_failures_come_with_the_passes_of_their_checks_and_with_nothing_else(tmp_path, fleet):
    machines = {"n1": machine("n1"), "n2": machine("n2")}
    others = [result("n1", check="test_other", outcome="passed"), result("n2", outcome="passed"), result("n2", severity="warn", check="test_w")]
    night(tmp_path / "r", fleet(), 1, [result("n1"), *others], machines)
    night(tmp_path / "r", fleet(), 2, [result("n1", outcome="passed"), *others], machines)
    night(tmp_path / "r", fleet(), 3, [result("n1", severity="degraded")], machines, fleet="another")
    found = past(tmp_path / "r", fleet(), machines)
    assert [("20261102-020000-ab12", "passed", ""), ("20261101-020000-ab12", "failed", "165n1")] == [
        (each.run, each.outcome, each.serial) for each in found.told["n1"]]
    assert (["n1"], 2, "2026-11-01T02:00:00") == (list(found.told), found.runs, found.since)


def test_a_gpu_that_told_no_serial_when_it_was_lost_is_known_by_its_slot(tmp_path, fleet):
    night(tmp_path / "r", fleet(), 1, [result("n1", outcome="passed")], {"n1": machine("n1")})
    night(tmp_path / "r", fleet(), 2, [result("n1")], {"n1": machine("n1", silent=True)})
    assert "165n1" == past(tmp_path / "r", fleet(), {"n1": machine("n1")}).told["n1"][0].serial
    assert {} == past(tmp_path / "r", fleet(), {"n1": machine("n1", serial="999")}).told


def test_a_machine_under_another_name_keeps_its_past(tmp_path, fleet):
    night(tmp_path / "r", fleet(), 1, [result("n1")], {"n1": machine("n1")})
    night(tmp_path / "r", fleet(), 2, [result("n5", outcome="passed")], {"n5": machine("n1")})
    found = past(tmp_path / "r", fleet(), {"n5": machine("n1"), "n1": machine("n7")}).told
    assert [("n5", ["passed", "failed"])] == [(name, [each.outcome for each in lines]) for name, lines in found.items()]


@pytest.mark.parametrize(("policy", "severities"), [
    ("{}", ["fatal"]),
    ("{test_ecc: {severity: degraded}}", ["degraded"]),
    ("{test_ecc: {waivers: [{nodes: n1, until: 2999-01-01, reason: known}]}}", []),
    ("{test_ecc: {waivers: [{nodes: n2, until: 2999-01-01, reason: known}]}}", ["fatal"]),
    ("{test_ecc: {waivers: [{nodes: n1, until: 2020-01-01, reason: known}]}}", ["fatal"]),
])
def test_the_sites_word_of_today_holds_for_the_past(tmp_path, fleet, policy, severities):
    night(tmp_path / "r", fleet(), 1, [result("n1")], {"n1": machine("n1")})
    assert severities == [each.severity for each in past(tmp_path / "r", fleet(policy), {"n1": machine("n1")}).told["n1"]]


def test_what_many_nodes_shared_counts_for_nothing_later_nor_in_the_fleets_history(tmp_path, fleet):
    machines = {f"n{number}": machine(f"n{number}") for number in range(1, 10)}
    for day in (1, 2):
        verdicts = night(tmp_path / "r", fleet(), day, [result(name) for name in machines], machines)
        assert "" == verdicts["isolate"]
    assert {} == past(tmp_path / "r", fleet(), machines).told
    with History(tmp_path / "r") as history:
        for sql in (asks.OFFENDERS, asks.SUSPECTS, asks.MTBF):
            assert () == history.ask(sql, {"since": "2026-10-01"} if "$since" in sql else None).rows


def test_an_open_finding_is_handed_on_from_run_to_run_beyond_the_window(tmp_path, fleet):
    machines = {"n1": machine("n1", silent=True)}
    night(tmp_path / "r", fleet(), 1, [result("n1")], machines)
    for day in (2, 3):
        finding = night(tmp_path / "r", fleet(), day, [result("n1", outcome="error")], machines)["nodes"]["n1"]["findings"][0]
        assert ("2026-11-01T02:00:00", "20261101-020000-ab12") == (finding["since"], finding["open_since"])
    (tmp_path / "r" / "20261101-020000-ab12" / FILE).unlink()
    (tmp_path / "r" / "20261102-020000-ab12" / FILE).unlink()
    finding = night(tmp_path / "r", fleet(), 4, [result("n1", outcome="error")], machines)["nodes"]["n1"]["findings"][0]
    assert ("2026-11-01T02:00:00", "20261101-020000-ab12") == (finding["since"], finding["open_since"])
    with History(tmp_path / "r") as history:
        assert [("n1", True, False)] == [(row["node"], row["open"], row["passed_since"]) for row in history.ask(asks.SUSPECTS, {"since": "2026-10-01"})]


@pytest.mark.parametrize("content", [b"", b"PAR1 no parquet"])
def test_a_damaged_night_is_said_and_the_others_count(tmp_path, fleet, content):
    machines = {"n1": machine("n1")}
    for day in (1, 2):
        night(tmp_path / "r", fleet(), day, [result("n1", severity="degraded")], machines)
    (tmp_path / "r" / "20261101-020000-ab12" / FILE).write_bytes(content)
    verdicts = night(tmp_path / "r", fleet(), 3, [result("n1", severity="degraded")], machines)
    assert (1, 1) == (verdicts["history"]["runs"], len(verdicts["history"]["damaged"]))
    assert 2 == verdicts["nodes"]["n1"]["findings"][0]["runs"]
    (tmp_path / "r" / "20261102-020000-ab12" / FILE).write_bytes(content)
    (tmp_path / "r" / "20261103-020000-ab12" / FILE).write_bytes(content)
    verdicts = night(tmp_path / "r", fleet(), 4, [result("n1", severity="degraded")], machines)
    assert "this run alone" in verdicts["history"]["note"] and 3 == len(verdicts["history"]["damaged"])
    assert ("degraded", True) == (verdicts["nodes"]["n1"]["verdict"], verdicts["nodes"]["n1"]["findings"][0]["suspect"])


def test_a_node_that_its_peers_say_nothing_of_was_not_below_them_that_night(tmp_path, fleet):
    machines = {"n1": machine("n1")}
    for day in range(1, 6):
        below = [result("n1", severity="degraded", check="below_its_peers")] if day in (1, 5) else []
        night(tmp_path / "r", fleet(), day, [*(replace(each, component="peers") for each in below), result("n2", outcome="passed")], machines)
    assert ["failed", *["passed"] * 3, "failed"] == [each.outcome for each in past(tmp_path / "r", fleet(), machines).told["n1"]]


def test_a_check_of_several_nodes_that_passes_has_passed_on_each(tmp_path, fleet):
    machines = {"n1": machine("n1"), "n2": machine("n2")}
    group = Result(run="r", stage="facts", check="test_group", component="fabric", node="", outcome="failed", severity="fatal", action="reboot",
                   nodes=("n1", "n2"), parts=({"kind": "node", "label": "n2"},), message="n2 is odd")
    assert ["n2"] == [name for name, node in night(tmp_path / "r", fleet(), 1, [group], machines)["nodes"].items() if node["verdict"] == "failed"]
    silent = night(tmp_path / "r", fleet(), 2, [replace(group, outcome="error", parts=())], machines)
    assert ("failed", "20261101-020000-ab12") == (silent["nodes"]["n2"]["verdict"], silent["nodes"]["n2"]["findings"][0]["open_since"])
    passed = replace(group, outcome="passed", parts=())
    assert [] == night(tmp_path / "r", fleet(), 3, [passed], machines)["nodes"]["n2"]["findings"]
    assert [] == night(tmp_path / "r", fleet(), 4, [replace(group, outcome="error", parts=())], machines)["nodes"]["n2"]["findings"]
