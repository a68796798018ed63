"""A fatal finding stays open until the failed tier passes again or the part is another one."""

import pytest
from earliernights import GPU3, GPU5, judged_tonight, nights, told

from fleetcheck.measured import Machine
from fleetcheck.past import placed, with_serials
from fleetcheck.recording import Part

FATAL = {"outcome": "failed", "severity": "fatal", "action": "reset-gpu", "parts": (GPU3,), "message": "GPU 3: bad"}

CARRIED = [
    # why, earlier nights, this run's checks, run → verdict, whether it is carried
    ("not measured tonight", nights("F"), [{"outcome": "error"}], {}, "failed", True),
    ("another check passed tonight", nights("F"), [{"check": "test_other"}], {}, "failed", True),
    ("measured and passed in the same tier", nights("F"), [{}], {}, "healthy", False),
    ("passed in a wider tier", nights("F"), [{}], {"tier": "full"}, "healthy", False),
    ("passed in a lesser tier", nights("F", tier="burnin"), [{}], {}, "failed", True),
    ("passed in a partial run", nights("F"), [{}], {"narrowed": "-k ecc"}, "failed", True),
    ("passed, but the node fails fatally elsewhere", nights("F"), [{}, {"check": "test_b", **FATAL, "parts": ()}], {}, "failed", True),
    ("passed, a degraded finding of another component beside it", nights("F"),
     [{}, {"check": "test_b", "outcome": "failed", "severity": "degraded", "action": "observe", "component": "disk"}], {}, "degraded", False),
    ("passed, a degraded finding of the same component beside it", nights("F"),
     [{}, {"check": "test_b", "outcome": "failed", "severity": "degraded", "action": "observe"}], {}, "failed", True),
    ("passed in between", nights("FP"), [{"outcome": "error"}, {"check": "test_b"}], {}, "healthy", False),
    ("passed in between, in a partial run", [told(28), told(29, "passed", complete=False)], [{"outcome": "error"}, {"check": "test_b"}], {}, "failed", True),
    ("failed again since", nights("FPF"), [{"outcome": "error"}], {}, "failed", True),
    ("carried by the run before", [told(29, "open", since="2026-08-01T02:00:00", tier="burnin")], [{}], {}, "failed", True),
    ("only degraded", nights("F", severity="degraded"), [{"outcome": "error"}, {"check": "test_b"}], {}, "healthy", False),
    ("the other GPU fails tonight", nights("F"), [{**FATAL, "parts": (GPU5,)}], {}, "failed", True),
    ("no history", [], [{"outcome": "error"}, {"check": "test_b"}], {}, "healthy", False),
]


@pytest.mark.parametrize(("lines", "outcomes", "about", "verdict", "carried"), [case[1:] for case in CARRIED], ids=[case[0] for case in CARRIED])
def test_a_fatal_finding_stays_open(made, lines, outcomes, about, verdict, carried):
    results = [made.result("n1", **outcome) for outcome in outcomes]
    said, verdicts = judged_tonight(made, results, lines, about=about)
    assert verdict == said["verdict"]
    assert carried == bool([each for each in said["findings"] if each.get("open_since")]) == bool(said["open"])
    assert (carried or verdict == "failed") == ("n1" == verdicts["isolate"])


def test_an_open_finding_says_since_when_and_which_run_measured_it_last(made):
    said, _ = judged_tonight(made, [made.result("n1", outcome="error")], nights("PFF"))
    finding = said["findings"][0]
    assert ("2026-11-28T02:00:00", 2, "20261129-020000-aa", "quick") == tuple(finding[key] for key in ("since", "runs", "open_since", "tier"))
    carried = told(29, "open", since="2026-08-01T02:00:00", last="20260801-020000-aa")
    finding = judged_tonight(made, [made.result("n1", outcome="error")], [carried])[0]["findings"][0]
    assert ("2026-08-01T02:00:00", "20260801-020000-aa") == (finding["since"], finding["open_since"])


def test_an_unreachable_node_with_an_open_finding_is_both(made):
    lost = {"n1": made.Failure("refused", "n1: refused")}
    said, verdicts = judged_tonight(made, [made.result("n1", outcome="error")], nights("F"), failures=lost)
    assert ("failed", "refused", "n1") == (said["verdict"], said["unreachable"]["kind"], verdicts["isolate"])
    said, verdicts = judged_tonight(made, [made.result("n1", outcome="error")], failures=lost)
    assert ("unreachable", "") == (said["verdict"], verdicts["isolate"])


def test_a_node_out_of_service_keeps_what_is_open_and_is_not_judged(made):
    nodes = [made.node("n1", state="rma")]
    said, verdicts = judged_tonight(made, [], nights("F"), nodes=nodes)
    assert ("unknown", [], 1, "") == (said["verdict"], said["findings"], len(said["open"]), verdicts["isolate"])


def test_an_open_finding_of_configuration_isolates_nobody(made):
    said, verdicts = judged_tonight(made, [made.result("n1", outcome="error")], nights("F", action="fix-config"))
    assert ("failed", "fix-config", "") == (said["verdict"], said["action"], verdicts["isolate"])


HERE = Part("gpu", "GPU 3", "0000:61:00.0", "1650003")
OTHER = Part("gpu", "GPU 3", "0000:61:00.0", "1650099")
PLACES = [
    ("as it was", {"n1": Machine("p", "SN-1", {"GPU 3": HERE})}, ["n1"]),
    ("told nothing", {"n1": Machine("p")}, ["n1"]),
    ("not contacted", {}, ["n1"]),
    ("the GPU was replaced", {"n1": Machine("p", "SN-1", {"GPU 3": OTHER})}, []),
    ("the GPU moved to another node", {"n1": Machine("p", "SN-1", {"GPU 3": OTHER}), "n2": Machine("p", "SN-2", {"GPU 3": HERE})}, ["n2"]),
    ("another machine has the name", {"n1": Machine("p", "SN-9")}, []),
    ("the machine has another name", {"n1": Machine("p", "SN-9"), "n5": Machine("p", "SN-1")}, ["n5"]),
    ("a serial that tells nothing apart", {"n1": Machine("p", "To Be Filled By O.E.M.")}, ["n1"]),
]


@pytest.mark.parametrize(("machines", "where"), [case[1:] for case in PLACES], ids=[case[0] for case in PLACES])
def test_history_follows_serial_numbers(machines, where):
    assert where == list(placed(nights("F"), machines))


@pytest.mark.parametrize(("installed", "serial"), [
    ([("20261101-020000-aa", "1650001"), ("20261102-020000-aa", "1650002"), ("20261130-020000-aa", "1650009")], "1650002"), ([], ""),
])
def test_a_part_that_did_not_tell_its_serial_has_the_one_last_seen_in_its_slot(installed, serial):
    silent = told(29, serial="")
    assert [serial] == [each.serial for each in with_serials([silent], {("n1", "0000:61:00.0"): installed})]
